// The minimiser in a box: known minima, active bounds, cliffs, kinks, limits, bad starts.
#include "nb26/boxed.hpp"

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "check.hpp"

namespace {

using nb26::Boxed;
using nb26::BoxedEnd;
using nb26::BoxedOptions;
using Vector = std::vector<double>;
// value, gradient; false where it has diverged
using Function = std::function<bool(const Vector&, double*, Vector*)>;

constexpr double kWide = 1e3;
constexpr double kCliff = 1e9;

Boxed run(const Function& function, const Vector& start, const Vector& lower, const Vector& upper,
          const BoxedOptions& options = {}) {
  Boxed problem(start, lower, upper, options);
  std::int64_t calls = 0;
  while (problem.running() && calls < 5000) {
    const Vector point = problem.ask();
    for (std::size_t i = 0; i < point.size(); ++i) {
      CHECK(point[i] >= lower[i] && point[i] <= upper[i]);
    }
    double f = kCliff;
    Vector g(point.size(), 0.0);
    const bool good = function(point, &f, &g);
    problem.tell(good ? f : kCliff, good ? g.data() : Vector(point.size(), 0.0).data(), !good);
    ++calls;
  }
  CHECK(problem.evaluations() == calls);
  return problem;
}

bool rosenbrock(const Vector& x, double* f, Vector* g) {
  *f = 0.0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    const double a = x[i + 1] - x[i] * x[i], b = 1.0 - x[i];
    *f += 100.0 * a * a + b * b;
    (*g)[i] += -400.0 * a * x[i] - 2.0 * b;
    (*g)[i + 1] += 200.0 * a;
  }
  return true;
}

double distance(const Vector& a, const Vector& b) {
  double most = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(a[i] - b[i]));
  return most;
}

void test_rosenbrock() {
  BoxedOptions tight;
  tight.ftol = 1e-15;
  tight.gtol = 1e-8;
  const Boxed wide = run(rosenbrock, {-1.2, 1.0}, {-kWide, -kWide}, {kWide, kWide}, tight);
  CHECK(wide.end() == BoxedEnd::kConverged);
  CHECK(distance(wide.ask(), {1.0, 1.0}) < 1e-7);
  CHECK(wide.evaluations() < 80);
  // with x <= 0.5 the minimum is at (0.5, 0.25)
  const Boxed cut = run(rosenbrock, {-1.2, 1.0}, {-2.0, -2.0}, {0.5, 2.0}, tight);
  CHECK(cut.end() == BoxedEnd::kConverged);
  CHECK(cut.ask()[0] == 0.5);
  CHECK(std::fabs(cut.ask()[1] - 0.25) < 1e-7);
  // with y >= 1.5 on its bound, where 400 x (x^2 - 1.5) = 2 (1 - x)
  const Boxed floor = run(rosenbrock, {-1.2, 1.0}, {0.0, 1.5}, {3.0, 3.0}, tight);
  CHECK(floor.end() == BoxedEnd::kConverged);
  CHECK(floor.ask()[1] == 1.5);
  const double x = floor.ask()[0];
  CHECK(std::fabs(400.0 * x * (x * x - 1.5) - 2.0 * (1.0 - x)) < 1e-6);
  const Vector many(20, -0.5);
  const Boxed large = run(rosenbrock, many, Vector(20, -kWide), Vector(20, kWide), tight);
  CHECK(large.end() == BoxedEnd::kConverged);
  CHECK(distance(large.ask(), Vector(20, 1.0)) < 1e-6);
}

// sum a_i (x_i - c_i)^2 / 2 turned by a reflection: the minimum in the box is checked by its
// conditions, gradient zero inside and outward on a bound.
struct Quadratic {
  Vector a, c, v;
  bool operator()(const Vector& x, double* f, Vector* g) const {
    const std::size_t n = x.size();
    Vector y(n), slope(n);
    double along = 0.0, back = 0.0;
    for (std::size_t i = 0; i < n; ++i) along += v[i] * (x[i] - c[i]);
    *f = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = x[i] - c[i] - 2.0 * along * v[i];
      *f += 0.5 * a[i] * y[i] * y[i];
      slope[i] = a[i] * y[i];
      back += v[i] * slope[i];
    }
    for (std::size_t i = 0; i < n; ++i) (*g)[i] = slope[i] - 2.0 * back * v[i];
    return true;
  }
};

void test_quadratics() {
  std::uint64_t state = 7;
  const auto next = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  BoxedOptions tight;
  tight.ftol = 1e-14;
  tight.gtol = 1e-6;
  int on_bounds = 0;
  for (std::size_t n : {1u, 2u, 3u, 8u, 15u, 40u}) {
    for (int round = 0; round < 10; ++round) {
      Quadratic q{Vector(n), Vector(n), Vector(n)};
      Vector start(n);
      double norm = 0.0;
      for (std::size_t i = 0; i < n; ++i) {
        q.a[i] = std::pow(10.0, 4.0 * next() - 1.0);
        q.c[i] = 4.0 * next() - 2.0;
        q.v[i] = next() - 0.5;
        norm += q.v[i] * q.v[i];
        start[i] = 4.0 * next() - 2.0;
      }
      for (double& v : q.v) v /= std::sqrt(norm);
      const Vector lower(n, -1.0), upper(n, 1.0);
      const Boxed found = run(q, start, lower, upper, tight);
      CHECK(found.end() == BoxedEnd::kConverged);
      double f;
      Vector g(n);
      q(found.ask(), &f, &g);
      CHECK(f == found.value());
      for (std::size_t i = 0; i < n; ++i) {
        CHECK(g[i] == found.gradient()[i]);
        const double x = found.ask()[i];
        if (x == -1.0) {
          CHECK(g[i] >= -1e-4);
        } else if (x == 1.0) {
          CHECK(g[i] <= 1e-4);
        } else {
          CHECK(std::fabs(g[i]) <= 1e-4);
        }
        on_bounds += x == 1.0 || x == -1.0;
      }
    }
  }
  CHECK(on_bounds > 50);
}

// A valley beside a cliff: from x + y > 1.5 on, nothing is known.
void test_divergence() {
  int cliffs = 0;
  const Function valley = [&cliffs](const Vector& x, double* f, Vector* g) {
    if (x[0] + x[1] > 1.5) {
      ++cliffs;
      return false;
    }
    const double a = x[0] - 0.7, b = x[1] - 0.75;
    *f = 1e3 * a * a + 0.5 * b * b + 1e3;
    *g = {2e3 * a, b};
    return true;
  };
  BoxedOptions tight;
  tight.ftol = 1e-15;
  for (const Vector& start : {Vector{-3.0, -0.3}, {0.1, -3.0}}) {
    const Boxed found = run(valley, start, {-50.0, -50.0}, {50.0, 50.0}, tight);
    CHECK(found.end() == BoxedEnd::kConverged);
    CHECK(distance(found.ask(), {0.7, 0.75}) < 1e-4);
  }
  // a well whose flat rim invites long steps, and the cliff on its other side
  for (double x : {-2.5, -2.0, -1.5, -1.0}) {
    const Function well = [&cliffs](const Vector& x, double* f, Vector* g) {
      if (x[0] > 1.2) {
        ++cliffs;
        return false;
      }
      const double a = x[0] - 0.7;
      *f = -10.0 * std::exp(-a * a);
      *g = {-2.0 * a * *f};
      return true;
    };
    const Boxed found = run(well, {x}, {-50.0}, {50.0}, tight);
    CHECK(found.end() == BoxedEnd::kConverged);
    CHECK(distance(found.ask(), {0.7}) < 1e-4);
  }
  CHECK(cliffs > 0);
  // from afar the way down leads to the cliff and ends there, which is no minimum
  const Boxed far = run(valley, {-40.0, 33.0}, {-50.0, -50.0}, {50.0, 50.0});
  CHECK(far.end() == BoxedEnd::kAbnormal);
  // a start that has diverged is no minimum, flat as it looks
  const Boxed lost = run(valley, {2.0, 2.0}, {-50.0, -50.0}, {50.0, 50.0});
  CHECK(lost.end() == BoxedEnd::kStartDiverged);
  CHECK(lost.evaluations() == 1);
  // least value on the cliff itself: downhill until nothing more can be gained, and never beyond
  const Function slide = [](const Vector& x, double* f, Vector* g) {
    if (x[0] > 1.0) return false;
    *f = -x[0];
    *g = {-1.0};
    return true;
  };
  const Boxed edge = run(slide, {0.0}, {-10.0}, {10.0});
  CHECK(edge.end() == BoxedEnd::kAbnormal);
  CHECK(edge.ask()[0] <= 1.0 && edge.ask()[0] > 1.0 - 1e-3);
}

void test_ends() {
  // a kink that no gradient announces
  const Function kink = [](const Vector& x, double* f, Vector* g) {
    *f = std::fabs(x[0]) + 2.0 * std::fabs(x[0] - x[1]);
    const double a = x[0] < 0.0 ? -1.0 : 1.0, b = x[0] < x[1] ? -2.0 : 2.0;
    *g = {a + b, -b};
    return true;
  };
  const Boxed bent = run(kink, {3.0, -5.0}, {-9.0, -9.0}, {9.0, 9.0});
  CHECK(!bent.running());
  CHECK(bent.value() < 13.0);
  // gradients of the wrong sign: no step helps
  const Function wrong = [](const Vector& x, double* f, Vector* g) {
    *f = 0.5 * x[0] * x[0];
    *g = {-x[0]};
    return true;
  };
  const Boxed stuck = run(wrong, {1.0}, {-9.0}, {9.0});
  CHECK(stuck.end() == BoxedEnd::kAbnormal);
  CHECK(stuck.ask()[0] == 1.0 && stuck.value() == 0.5);
  BoxedOptions few;
  few.max_iter = 3;
  const Boxed cut = run(rosenbrock, {-1.2, 1.0}, {-kWide, -kWide}, {kWide, kWide}, few);
  CHECK(cut.end() == BoxedEnd::kMaxIter);
  CHECK(cut.iterations() == 3);
  // nothing to do, no room, nothing to vary
  CHECK(run(rosenbrock, {1.0, 1.0}, {-2.0, -2.0}, {2.0, 2.0}).evaluations() == 1);
  CHECK(run(rosenbrock, {7.0, 7.0}, {2.0, 3.0}, {2.0, 3.0}).ask() == (Vector{2.0, 3.0}));
  CHECK(run(rosenbrock, {}, {}, {}).end() == BoxedEnd::kConverged);
  // a start outside is moved into the box
  CHECK(run(rosenbrock, {70.0, -70.0}, {0.0, 0.0}, {2.0, 2.0}).end() == BoxedEnd::kConverged);
}

}  // namespace

int main() {
  test_rosenbrock();
  test_quadratics();
  test_divergence();
  test_ends();
  return failures ? 1 : 0;
}
