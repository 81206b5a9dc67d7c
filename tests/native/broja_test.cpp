// The discrete BROJA solver: known tables, marginals and certificate on tables of many shapes, the
// same bits for any thread count and any neighbours, and the room of one problem.
#include "cpu/broja.cpp"

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "check.hpp"
#include "cpu/threads.cpp"

namespace {

// libgomp's barriers are unknown to the sanitizer, which takes its pool for a race
#ifdef __SANITIZE_THREAD__
constexpr int kThreads = 1;
#else
constexpr int kThreads = 2;
#endif

struct Batch {
  std::int64_t m;
  int nx, ny, ns;
  std::vector<double> pmfs;

  Batch(std::int64_t count, int x, int y, int s, double concentration, double share)
      : m(count), nx(x), ny(y), ns(s), pmfs(static_cast<std::size_t>(count * x * y * s)) {
    std::mt19937_64 engine(static_cast<std::uint64_t>(count + 10 * x + 100 * y + 1000 * s));
    std::gamma_distribution<double> gamma(concentration);
    std::uniform_real_distribution<double> uniform;
    const std::size_t size = static_cast<std::size_t>(x * y * s);
    for (std::size_t i = 0; i < pmfs.size(); i += size) {
      double total = 0.0;
      for (std::size_t j = 0; j < size; ++j) {
        pmfs[i + j] = j == 0 || uniform(engine) < share ? gamma(engine) + 1e-9 : 0.0;
        total += pmfs[i + j];
      }
      for (std::size_t j = 0; j < size; ++j) pmfs[i + j] /= total;
    }
  }
};

struct Answer {
  std::vector<double> information, gap, q;
  std::vector<std::int64_t> n_iter;
  std::vector<char> converged;

  Answer(const Batch& b, int threads, int max_iter = 100, double tol = 1e-9,
         bool (*stop)() = nullptr)
      : information(static_cast<std::size_t>(4 * b.m)),
        gap(static_cast<std::size_t>(b.m)),
        q(b.pmfs.size()),
        n_iter(gap.size()),
        converged(gap.size()) {
    static_assert(sizeof(bool) == sizeof(char), "converged is written as bytes");
    nb26::broja(b.pmfs.data(), b.m, b.nx, b.ny, b.ns, tol, max_iter, threads,
                {information.data(), gap.data(), reinterpret_cast<bool*>(converged.data()),
                 n_iter.data(), q.data()},
                stop);
  }
};

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

// Largest difference between the marginals (x, s) and (y, s) of two tables.
double apart(const double* p, const double* q, int nx, int ny, int ns) {
  double most = 0.0;
  for (int s = 0; s < ns; ++s) {
    for (int x = 0; x < nx; ++x) {
      double sum = 0.0;
      for (int y = 0; y < ny; ++y) sum += p[(x * ny + y) * ns + s] - q[(x * ny + y) * ns + s];
      most = std::fmax(most, std::fabs(sum));
    }
    for (int y = 0; y < ny; ++y) {
      double sum = 0.0;
      for (int x = 0; x < nx; ++x) sum += p[(x * ny + y) * ns + s] - q[(x * ny + y) * ns + s];
      most = std::fmax(most, std::fabs(sum));
    }
  }
  return most;
}

void check_known() {
  const double half = std::log(2.0);
  Batch gates(2, 2, 2, 2, 1.0, 1.0);
  std::fill(gates.pmfs.begin(), gates.pmfs.end(), 0.0);
  for (int x = 0; x < 2; ++x) {
    for (int y = 0; y < 2; ++y) {
      gates.pmfs[static_cast<std::size_t>((x * 2 + y) * 2 + (x ^ y))] = 0.25;
      gates.pmfs[static_cast<std::size_t>(8 + (x * 2 + y) * 2 + (x & y))] = 0.25;
    }
  }
  const Answer out(gates, 1);
  const double* exclusive = out.information.data();
  CHECK(std::fabs(exclusive[0]) < 1e-15 && std::fabs(exclusive[1]) < 1e-15);
  CHECK(std::fabs(exclusive[2] - half) < 1e-15 && std::fabs(exclusive[3]) < 2e-8);
  const double* both = out.information.data() + 4;
  CHECK(std::fabs(both[0] / half - 0.31127812) < 1e-8);
  CHECK(std::fabs(both[3] - both[0]) < 2e-8);
}

void check_shapes() {
  const int shapes[][3] = {{1, 1, 1}, {1, 3, 2}, {3, 1, 2}, {2, 3, 1},  {2, 2, 2}, {2, 5, 3},
                           {5, 2, 4}, {3, 4, 9}, {9, 2, 2}, {3, 3, 17}, {4, 4, 8}, {2, 9, 5}};
  for (const auto& shape : shapes) {
    for (const double share : {1.0, 0.4}) {
      const Batch batch(3, shape[0], shape[1], shape[2], 0.5, share);
      const Answer one(batch, 1), two(batch, kThreads);
      CHECK(same(one.information, two.information) && same(one.q, two.q) && same(one.gap, two.gap));
      const std::size_t size = batch.pmfs.size() / 3;
      for (std::size_t i = 0; i < 3; ++i) {
        CHECK(one.converged[i] && one.gap[i] >= 0.0 && one.gap[i] < 2e-8);
        CHECK(apart(&batch.pmfs[i * size], &one.q[i * size], shape[0], shape[1], shape[2]) < 1e-14);
        const double* info = &one.information[4 * i];
        CHECK(info[3] > std::fmax(info[0], info[1]) - one.gap[i] - 1e-12);
        CHECK(info[3] < std::fmin(info[0] + info[1], info[2]) + one.gap[i] + 1e-12);
        Batch alone(1, shape[0], shape[1], shape[2], 1.0, 1.0);
        std::copy_n(&batch.pmfs[i * size], size, alone.pmfs.begin());
        const Answer own(alone, 1);
        CHECK(std::memcmp(own.information.data(), info, 4 * sizeof(double)) == 0);
      }
    }
  }
}

void check_levels() {
  const Batch batch(4, 4, 3, 4, 0.3, 1.0);
  const int most = nb26::isa_supported();
  nb26::isa_force(0);
  const Answer plain(batch, 1);
  for (int level = 1; level <= most; ++level) {
    nb26::isa_force(level);
    const Answer wide(batch, 1);
    for (std::size_t i = 0; i < plain.information.size(); ++i) {
      CHECK(std::fabs(plain.information[i] - wide.information[i]) < 1e-9);
    }
  }
  nb26::isa_force(most);
}

// No tolerance below rounding is met; what comes back is still a bound.
void check_open() {
  const Batch batch(4, 3, 3, 3, 0.1, 1.0);
  const Answer good(batch, 1), poor(batch, 1, 100, 1e-17);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(!poor.converged[i]);
    CHECK(poor.information[4 * i + 3] - poor.gap[i] < good.information[4 * i + 3] + 1e-12);
    CHECK(poor.information[4 * i + 3] > good.information[4 * i + 3] - good.gap[i] - 1e-12);
  }
}

int asked = 0;

bool third_time() { return ++asked == 3; }

// Two iterations, the second answer of the caller's being the last no; no table after that.
void check_stop() {
  const Batch batch(2, 6, 6, 6, 1.0, 1.0);
  const Answer out(batch, 1, 100, 1e-9, third_time);
  CHECK(out.n_iter[0] == 2 && !out.converged[0] && out.gap[0] > 0.0);
  CHECK(out.n_iter[1] == 0 && !out.converged[1]);
}

}  // namespace

int main() {
  check_known();
  check_shapes();
  check_levels();
  check_open();
  check_stop();
  return failures == 0 ? 0 : 1;
}
