// Fits of learning networks that advance together: the same bits for any company, slice and number
// of threads, by hand too; gradients of the objective; fixed coordinates; starts that diverge.
#include "cpu/learning_fit.cpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "check.hpp"
#include "cpu/learning.cpp"
#include "cpu/philox.cpp"
#include "cpu/threads.cpp"

namespace nb26 {

// Lanes of one size: those of all take minutes under a sanitizer.
const LearnPieces* learn_pieces_1l(const LearnModel& m, int problems) {
  return m.d == 3 ? learn_kind<LearnCurve::kLine, false, 0, 3>(m, problems) : nullptr;
}
const LearnPieces* learn_pieces_2l(const LearnModel&, int) { return nullptr; }
const LearnPieces* learn_pieces_2nl(const LearnModel&, int) { return nullptr; }

}  // namespace nb26

namespace {

using nb26::BoxedEnd;
using nb26::BoxedOptions;
using nb26::LearnCurve;
using nb26::LearnFit;
using nb26::LearnModel;
using nb26::LearnOptimum;
using nb26::LearnPrior;
using nb26::LearnRule;
using nb26::LearnTask;
using Vector = std::vector<double>;

#ifdef __SANITIZE_THREAD__
constexpr int kThreads = 1;  // ThreadSanitizer does not see the barriers of OpenMP's library
#else
constexpr int kThreads = 2;
#endif

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

LearnModel shallow() {
  LearnModel m{};
  m.rule = LearnRule::kRpe;
  m.k = 2;
  m.d = 3;
  m.ratio = 1.0;
  m.limit = 1e4;
  return m;
}

LearnModel deep() {
  LearnModel m = shallow();
  m.deep = true;
  m.curve = LearnCurve::kSigmoid;
  m.rule = LearnRule::kReinforce;
  m.k = 1;
  m.h = 2;
  m.lapse = true;
  return m;
}

LearnTask animal(const LearnModel& model, std::int64_t n, std::int64_t problems, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  LearnTask task;
  const int p = model.p(), q = model.q();
  for (std::int64_t t = 0; t < n; ++t) {
    const double side = uniform(random);
    task.x.insert(task.x.end(), {side < 0.0 ? -side : 0.0, side > 0.0 ? side : 0.0, 1.0});
    const bool right = side + 0.7 * uniform(random) > 0.0;
    const double reward = right == (side > 0.0) ? 1.0 : 0.0;
    task.trials.push_back(nb26::learn_trial(model, right, t % 9 == 8 ? std::nan("") : reward));
  }
  // two masks: all trials, and those but the last third
  for (std::int64_t t = 0; t < n; ++t) task.masks.push_back(1);
  for (std::int64_t t = 0; t < n; ++t) task.masks.push_back(3 * t < 2 * n);
  for (std::int64_t i = 0; i < problems; ++i) {
    task.which.push_back(i % 2);
    for (int j = 0; j < p; ++j) {
      const double u = uniform(random);
      task.starts.push_back(j < q ? u : j == q ? -4.0 + u : j == q + 1 ? u : -3.0 + u);
      // every third problem has its first weight fixed
      task.free.push_back(i % 3 != 0 || j != 0);
    }
  }
  for (int j = 0; j < p; ++j) {
    task.lower.push_back(j < q ? -5.0 : j == q ? -14.0 : j == q + 1 ? -2.0 : -9.0);
    task.upper.push_back(j < q ? 5.0 : j == q ? 0.0 : j == q + 1 ? 4.0 : 9.0);
  }
  return task;
}

struct Found {
  Vector u, gradient;
  LearnOptimum rest;
};

std::vector<Found> optima(const LearnFit& fit, int p) {
  std::vector<Found> out;
  for (std::int64_t i = 0; i < fit.size(); ++i) {
    Found found{Vector(size(p)), Vector(size(p)), {}};
    found.rest.u = found.u.data();
    found.rest.gradient = found.gradient.data();
    fit.optimum(i, &found.rest);
    out.push_back(found);
  }
  return out;
}

bool same(const Found& a, const Found& b) {
  return a.u == b.u && a.gradient == b.gradient && a.rest.objective == b.rest.objective &&
         a.rest.log_likelihood == b.rest.log_likelihood && a.rest.iterations == b.rest.iterations &&
         a.rest.evaluations == b.rest.evaluations && a.rest.end == b.rest.end;
}

BoxedOptions few() {
  BoxedOptions options;
  options.max_iter = 40;
  return options;
}

std::vector<Found> run(const LearnModel& model, const LearnPrior& prior,
                       const std::vector<LearnTask>& tasks, double seconds, int n_threads) {
  LearnFit fit(model, prior, few());
  for (const LearnTask& task : tasks) fit.add(task);
  std::int64_t finished = 0;
  while (fit.unfinished() > 0) finished += fit.advance(seconds, false, n_threads);
  CHECK(finished == fit.size());
  CHECK(fit.advance(seconds, false, n_threads) == 0);
  return optima(fit, model.p());
}

LearnTask one(const LearnTask& task, std::size_t i, std::size_t p) {
  LearnTask out = task;
  const auto cut = [i, p](const auto& from) {
    const auto first = from.begin() + static_cast<std::ptrdiff_t>(i * p);
    return std::decay_t<decltype(from)>(first, first + static_cast<std::ptrdiff_t>(p));
  };
  out.which = {task.which[i]};
  out.starts = cut(task.starts);
  out.free = cut(task.free);
  return out;
}

void test_company(const LearnModel& model) {
  const int p = model.p();
  const LearnPrior prior{Vector(size(p), 0.1), Vector(size(p), 3.0)};
  const std::vector<LearnTask> tasks = {animal(model, 70, 19, 1), animal(model, 50, 5, 2)};
  const std::vector<Found> whole = run(model, prior, tasks, 60.0, 1);
  const std::vector<Found> threads = run(model, prior, tasks, 60.0, kThreads);
  const std::vector<Found> slices = run(model, prior, tasks, 0.0, kThreads);
  int converged = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    CHECK(same(whole[i], threads[i]));
    CHECK(same(whole[i], slices[i]));
    converged += whole[i].rest.end == BoxedEnd::kConverged;
    const LearnTask& task = tasks[i < 19 ? 0 : 1];
    const std::size_t at = i < 19 ? i : i - 19;
    for (int j = 0; j < p; ++j) {
      CHECK(whole[i].u[size(j)] >= task.lower[size(j)]);
      CHECK(whole[i].u[size(j)] <= task.upper[size(j)]);
    }
    if (!task.free[at * size(p)]) {
      CHECK(whole[i].u[0] == task.starts[at * size(p)]);
      CHECK(whole[i].gradient[0] == 0.0);
    }
  }
  CHECK(converged > 0);
  for (std::size_t i : {0u, 7u, 18u}) {
    CHECK(same(run(model, prior, {one(tasks[0], i, size(p))}, 60.0, 1)[0], whole[i]));
  }
  // by hand, with what the points are worth from elsewhere
  LearnFit fit(model, prior, few());
  fit.add(tasks[1]);
  const nb26::LearnData data{tasks[1].x.data(), tasks[1].trials.data(), 50};
  while (fit.unfinished() > 0) {
    for (std::int64_t i = 0; i < fit.size(); ++i) {
      if (!fit.running(i)) continue;
      Vector theta(size(p)), gradient(size(p));
      double value;
      std::int64_t diverged;
      fit.ask(i, theta.data());
      nb26::learn_batch(model, data,
                        {theta.data(), tasks[1].masks.data(), &tasks[1].which[size(i)], 1}, false,
                        1, {&value, gradient.data(), &diverged});
      fit.tell(i, value, gradient.data(), diverged);
    }
  }
  const std::vector<Found> hand = optima(fit, p);
  for (std::size_t i = 0; i < hand.size(); ++i) CHECK(same(hand[i], whole[19 + i]));
}

// Gradients in u are the slopes of the objective, in both modes.
void test_objective(const LearnModel& model) {
  const int p = model.p();
  LearnPrior prior{Vector(size(p), 0.1), Vector(size(p), 0.5)};
  prior.sd[1] = INFINITY;
  const LearnTask task = animal(model, 60, 1, 3);
  const nb26::LearnData data{task.x.data(), task.trials.data(), 60};
  const std::int64_t m = 2 * p + 1;
  Vector u, values(size(m)), likelihoods(size(m)), slopes(size(m * p));
  std::vector<std::int64_t> which(size(m), 1), diverged(size(m));
  constexpr double kStep = 1e-5;
  for (std::int64_t i = 0; i < m; ++i) {
    u.insert(u.end(), task.starts.begin(), task.starts.end());
    if (i < 2 * p) u[size(i * p + i / 2)] += i % 2 ? -kStep : kStep;
  }
  for (bool forward : {false, true}) {
    nb26::learn_objective(model, prior, data, {u.data(), task.masks.data(), which.data(), m},
                          forward, kThreads, values.data(),
                          {likelihoods.data(), slopes.data(), diverged.data()});
    double penalty = 0.0;
    for (int j = 0; j < p; ++j) {
      const double slope = (values[size(2 * j)] - values[size(2 * j + 1)]) / (2.0 * kStep);
      CHECK(std::fabs(slopes[size(2 * p * p + j)] - slope) < 1e-5 * (1.0 + std::fabs(slope)));
      const double z = (task.starts[size(j)] - 0.1) / prior.sd[size(j)];
      penalty += 0.5 * z * z;
    }
    CHECK(std::fabs(values[size(2 * p)] - likelihoods[size(2 * p)] + penalty) < 1e-9);
  }
}

void test_divergence() {
  LearnModel model = shallow();
  model.limit = 2.0;
  LearnTask task = animal(model, 40, 4, 4);
  // a weight beyond the limit from the outset
  task.starts[0] = 3.0;
  const std::vector<Found> found = run(model, {}, {task}, 60.0, 1);
  CHECK(found[0].rest.end == BoxedEnd::kStartDiverged);
  CHECK(found[0].rest.evaluations == 1);
  CHECK(found[0].rest.log_likelihood <= -40e6);
  for (std::size_t i = 1; i < found.size(); ++i) {
    CHECK(found[i].rest.log_likelihood > -1e3);
    for (int j = 0; j < model.q(); ++j) CHECK(std::fabs(found[i].u[size(j)]) < 2.1);
  }
}

}  // namespace

int main() {
  test_company(shallow());
  test_company(deep());
  test_objective(shallow());
  test_objective(deep());
  test_divergence();
  return failures ? 1 : 0;
}
