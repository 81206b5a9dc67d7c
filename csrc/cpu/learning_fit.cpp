// Fits of learning networks: groups of lanes formed anew for every sweep, threads over groups.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "nb26/learning_fit_api.hpp"
#include "nb26/math.hpp"
#include "nb26/threads.hpp"

namespace nb26 {
namespace {

constexpr int kAtOnce = kLearnLanes;

std::size_t extent(std::int64_t n) { return static_cast<std::size_t>(n); }

// Minus the logarithm of the prior without its constant; adds the slope to gradient, if there is.
double penalty(const LearnPrior& prior, const double* u, double* gradient) {
  double sum = 0.0;
  for (std::size_t i = 0; i < prior.mean.size(); ++i) {
    const double z = (u[i] - prior.mean[i]) / prior.sd[i];
    sum += 0.5 * z * z;
    if (gradient) gradient[i] -= z / prior.sd[i];
  }
  return sum;
}

// A gradient for theta becomes one for u.
void chain(const LearnModel& model, const double* theta, double* gradient) {
  const int q = model.q();
  gradient[q] *= theta[q];
  gradient[q + 1] *= theta[q + 1];
  if (model.lapse) gradient[q + 2] *= theta[q + 2] * (1.0 - 2.0 * theta[q + 2]);
}

void evaluate(const LearnModel& model, const LearnData& data, const LearnGroup& group,
              bool forward_mode, LearnWork& work, const LearnOut& out) {
  if (!forward_mode || !out.gradient) {
    learn_group(model, data, group, work, out);
    return;
  }
  for (int l = 0; l < group.n; ++l) {
    learn_forward_mode(model, data, group.theta[l], group.mask[l], work,
                       {out.log_likelihood + l, out.gradient + l * model.p(), out.diverged + l});
  }
}

}  // namespace

void learn_natural(const LearnModel& model, const double* u, double* theta) {
  const int q = model.q();
  std::copy(u, u + q, theta);
  theta[q] = exp(u[q]);
  theta[q + 1] = exp(u[q + 1]);
  if (model.lapse) theta[q + 2] = 0.5 * sigmoid(u[q + 2]);
}

void learn_objective(const LearnModel& model, const LearnPrior& prior, const LearnData& data,
                     const LearnPoints& points, bool forward_mode, int n_threads, double* objective,
                     const LearnOut& out) {
  const std::int64_t p = model.p(), groups = (points.m + kAtOnce - 1) / kAtOnce;
  const int threads = threads_for(n_threads, groups);
#pragma omp parallel num_threads(threads)
  {
    LearnWork work;
    std::vector<double> theta(extent(kAtOnce * p));
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::int64_t first = g * kAtOnce;
      LearnGroup group;
      group.n = static_cast<int>(std::min<std::int64_t>(kAtOnce, points.m - first));
      for (int l = 0; l < group.n; ++l) {
        learn_natural(model, points.u + (first + l) * p, &theta[extent(l * p)]);
        group.theta[l] = &theta[extent(l * p)];
        group.mask[l] = points.masks + points.which[first + l] * data.n;
      }
      double* slopes = out.gradient ? out.gradient + first * p : nullptr;
      evaluate(model, data, group, forward_mode, work,
               {out.log_likelihood + first, slopes, out.diverged + first});
      for (int l = 0; l < group.n; ++l) {
        double* slope = slopes ? slopes + l * p : nullptr;
        // a diverged point keeps its zero gradient
        if (out.diverged[first + l] >= 0) slope = nullptr;
        if (slope) chain(model, group.theta[l], slope);
        objective[first + l] =
            out.log_likelihood[first + l] - penalty(prior, points.u + (first + l) * p, slope);
      }
    }
  }
}

struct LearnFit::State {
  struct Problem {
    std::size_t task;
    const std::uint8_t* mask;
    std::vector<double> u;  // fixed coordinates stay
    std::vector<std::size_t> free;
    Boxed boxed;
  };

  LearnModel model;
  LearnPrior prior;
  BoxedOptions options;
  std::deque<LearnTask> tasks;
  std::vector<Problem> problems;
  std::vector<std::deque<std::int64_t>> ready;  // of each task, those not being evaluated
  std::mutex mutex;

  LearnData data(std::size_t task) const {
    const LearnTask& t = tasks[task];
    return {t.x.data(), t.trials.data(), static_cast<std::int64_t>(t.trials.size())};
  }

  void point(const Problem& problem, double* u) const {
    std::copy(problem.u.begin(), problem.u.end(), u);
    const Boxed::Vector& at = problem.boxed.ask();
    for (std::size_t i = 0; i < at.size(); ++i) u[problem.free[i]] = at[i];
  }

  // Up to a group of problems of the first task that has any, so that tasks end one after another;
  // false when all that are left are being evaluated.
  bool take(std::vector<std::int64_t>* group) {
    group->clear();
    for (std::size_t task = 0; task < ready.size() && group->empty(); ++task) {
      std::deque<std::int64_t>& queue = ready[task];
      while (!queue.empty() && group->size() < extent(kAtOnce)) {
        group->push_back(queue.front());
        queue.pop_front();
      }
    }
    return !group->empty();
  }
};

LearnFit::LearnFit(const LearnModel& model, LearnPrior prior, const BoxedOptions& options)
    : state_(std::make_unique<State>()) {
  state_->model = model;
  state_->prior = std::move(prior);
  state_->options = options;
}

LearnFit::~LearnFit() = default;
LearnFit::LearnFit(LearnFit&&) noexcept = default;

void LearnFit::add(LearnTask task) {
  State& s = *state_;
  s.tasks.push_back(std::move(task));
  s.ready.emplace_back();
  const LearnTask& t = s.tasks.back();
  const std::size_t p = extent(s.model.p());
  for (std::size_t j = 0; j < t.which.size(); ++j) {
    State::Problem problem{s.tasks.size() - 1,
                           t.masks.data() + extent(t.which[j]) * t.trials.size(),
                           {t.starts.begin() + static_cast<std::ptrdiff_t>(j * p),
                            t.starts.begin() + static_cast<std::ptrdiff_t>((j + 1) * p)},
                           {},
                           Boxed({}, {}, {}, s.options)};
    Boxed::Vector start, lower, upper;
    for (std::size_t i = 0; i < p; ++i) {
      if (!t.free[j * p + i]) continue;
      problem.free.push_back(i);
      start.push_back(problem.u[i]);
      lower.push_back(t.lower[i]);
      upper.push_back(t.upper[i]);
    }
    problem.boxed = Boxed(std::move(start), std::move(lower), std::move(upper), s.options);
    s.ready.back().push_back(size());
    s.problems.push_back(std::move(problem));
  }
}

std::int64_t LearnFit::size() const { return static_cast<std::int64_t>(state_->problems.size()); }

std::int64_t LearnFit::unfinished() const {
  return std::count_if(state_->problems.begin(), state_->problems.end(),
                       [](const State::Problem& problem) { return problem.boxed.running(); });
}

bool LearnFit::running(std::int64_t i) const { return state_->problems[extent(i)].boxed.running(); }

void LearnFit::ask(std::int64_t i, double* theta) const {
  const State& s = *state_;
  std::vector<double> u(extent(s.model.p()));
  s.point(s.problems[extent(i)], u.data());
  learn_natural(s.model, u.data(), theta);
}

void LearnFit::tell(std::int64_t i, double log_likelihood, const double* gradient,
                    std::int64_t diverged) {
  const State& s = *state_;
  State::Problem& problem = state_->problems[extent(i)];
  const std::size_t p = extent(s.model.p());
  std::vector<double> u(p), theta(p), slope(gradient, gradient + p), down(problem.free.size());
  s.point(problem, u.data());
  learn_natural(s.model, u.data(), theta.data());
  chain(s.model, theta.data(), slope.data());
  const double cost = penalty(s.prior, u.data(), slope.data()) - log_likelihood;
  for (std::size_t k = 0; k < down.size(); ++k) down[k] = -slope[problem.free[k]];
  problem.boxed.tell(cost, down.data(), diverged >= 0);
}

std::int64_t LearnFit::advance(double seconds, bool forward_mode, int n_threads) {
  using Clock = std::chrono::steady_clock;
  State& s = *state_;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  const std::int64_t p = s.model.p(), before = unfinished();
  std::int64_t groups = 0;
  for (const auto& queue : s.ready)
    groups += (static_cast<std::int64_t>(queue.size()) + kAtOnce - 1) / kAtOnce;
  const int threads = threads_for(n_threads, groups);
#pragma omp parallel num_threads(threads)
  {
    LearnWork work;
    std::vector<double> theta(extent(kAtOnce * p)), gradient(extent(kAtOnce * p));
    std::vector<std::int64_t> members;
    for (bool more = true; more;) {
      {
        const std::lock_guard<std::mutex> lock(s.mutex);
        more = s.take(&members);
      }
      if (!more) break;
      LearnGroup group;
      group.n = static_cast<int>(members.size());
      const std::size_t task = s.problems[extent(members[0])].task;
      for (int l = 0; l < group.n; ++l) {
        double* at = &theta[extent(l * p)];
        ask(members[extent(l)], at);
        group.theta[l] = at;
        group.mask[l] = s.problems[extent(members[extent(l)])].mask;
      }
      double log_likelihood[kAtOnce];
      std::int64_t diverged[kAtOnce];
      evaluate(s.model, s.data(task), group, forward_mode, work,
               {log_likelihood, gradient.data(), diverged});
      for (int l = 0; l < group.n; ++l) {
        tell(members[extent(l)], log_likelihood[l], &gradient[extent(l * p)], diverged[l]);
      }
      const std::lock_guard<std::mutex> lock(s.mutex);
      for (const std::int64_t i : members) {
        if (running(i)) s.ready[task].push_back(i);
      }
      more = Clock::now() < end;
    }
  }
  return before - unfinished();
}

void LearnFit::optimum(std::int64_t i, LearnOptimum* out) const {
  const State& s = *state_;
  const State::Problem& problem = s.problems[extent(i)];
  s.point(problem, out->u);
  std::fill(out->gradient, out->gradient + s.model.p(), 0.0);
  for (std::size_t k = 0; k < problem.free.size(); ++k) {
    out->gradient[problem.free[k]] = -problem.boxed.gradient()[k];
  }
  out->objective = -problem.boxed.value();
  out->log_likelihood = out->objective + penalty(s.prior, out->u, nullptr);
  out->iterations = problem.boxed.iterations();
  out->evaluations = problem.boxed.evaluations();
  out->end = problem.boxed.end();
}

}  // namespace nb26
