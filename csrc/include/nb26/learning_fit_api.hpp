// Maximum of the log-likelihood (or log-posterior) of learning networks in a box: many problems of
// many animals advance together.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "nb26/boxed.hpp"
#include "nb26/learning_api.hpp"

namespace nb26 {

// Optimiser coordinates u: weights, log alpha, log beta, logit(2 lapse).
void learn_natural(const LearnModel& model, const double* u, double* theta);

// Gaussian on u; both empty: none. An infinite sd leaves its coordinate free.
struct LearnPrior {
  std::vector<double> mean, sd;
};

// Points u (m, p) of one animal, each with its mask: what the objective is there. gradient: rows of
// p in u, or null. The numbers of a point do not depend on the others.
struct LearnPoints {
  const double* u;
  const std::uint8_t* masks;
  const std::int64_t* which;
  std::int64_t m;
};

void learn_objective(const LearnModel& model, const LearnPrior& prior, const LearnData& data,
                     const LearnPoints& points, bool forward_mode, int n_threads, double* objective,
                     const LearnOut& out);

// One animal: its trials and masks, and the problems posed on them.
struct LearnTask {
  std::vector<double> x;
  std::vector<LearnTrial> trials;
  std::vector<std::uint8_t> masks;
  std::vector<std::int64_t> which;
  std::vector<double> starts;      // (m, p)
  std::vector<std::uint8_t> free;  // (m, p)
  std::vector<double> lower, upper;
};

// How a problem stands; u and gradient have p entries, the gradient none for fixed coordinates.
struct LearnOptimum {
  double* u;
  double* gradient;
  double objective, log_likelihood;
  std::int64_t iterations, evaluations;
  BoxedEnd end;
};

class LearnFit {
 public:
  LearnFit(const LearnModel& model, LearnPrior prior, const BoxedOptions& options);
  ~LearnFit();
  LearnFit(LearnFit&&) noexcept;

  // Before the first advance or ask. Problems are numbered on, task by task.
  void add(LearnTask task);

  std::int64_t size() const;
  std::int64_t unfinished() const;

  // For about so many seconds; returns the problems that finished.
  std::int64_t advance(double seconds, bool forward_mode, int n_threads);

  // The same by hand: the parameters theta (p) at which problem i must be evaluated, then its
  // log-likelihood, natural gradient and divergence there.
  bool running(std::int64_t i) const;
  void ask(std::int64_t i, double* theta) const;
  void tell(std::int64_t i, double log_likelihood, const double* gradient, std::int64_t diverged);

  void optimum(std::int64_t i, LearnOptimum* out) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nb26
