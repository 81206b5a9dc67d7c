// Entry points of the learning networks: log-likelihoods, gradients, trajectories, simulations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "nb26/learning_model.hpp"

namespace nb26 {

// n trials of one animal: inputs (n, d) and what each means for the model.
struct LearnData {
  const double* x;
  const LearnTrial* trials;
  std::int64_t n;
};

inline std::vector<LearnTrial> learn_trials(const LearnModel& model, const std::int8_t* choice,
                                            const double* drive, std::int64_t n) {
  std::vector<LearnTrial> out(static_cast<std::size_t>(n));
  LearnTrial* to = out.data();
  for (std::int64_t t = 0; t < n; ++t) to[t] = learn_trial(model, choice[t] != 0, drive[t]);
  return out;
}

constexpr int kLearnLanes = 16;

// Numbers that are written before they are read: a vector would set them to zero first, which takes
// a tenth of the time of a single problem.
class LearnTrace {
 public:
  double* data() const { return data_.get(); }
  void resize(std::size_t n) {
    if (n > size_) data_.reset(new double[n]);
    if (n > size_) size_ = n;
  }

 private:
  std::unique_ptr<double[]> data_;
  std::size_t size_ = 0;
};

// Memory of one thread, kept from call to call.
struct LearnWork {
  LearnTrace trace;
  std::vector<double> lanes, starts;
  std::vector<std::uint8_t> masks;
};

// Up to kLearnLanes problems of one animal: theta (p) and mask (n trials) of each.
struct LearnGroup {
  const double* theta[kLearnLanes];
  const std::uint8_t* mask[kLearnLanes];
  int n;
};

// What comes of each problem. diverged: the trial at which it did, or -1; log-likelihood and
// gradient are then those of learn_diverged and zero.
struct LearnOut {
  double* log_likelihood;
  double* gradient;  // rows of p, or null
  std::int64_t* diverged;
};

// The numbers of a problem depend neither on its lane nor on the other problems of the group.
void learn_group(const LearnModel& model, const LearnData& data, const LearnGroup& group,
                 LearnWork& work, const LearnOut& out);

// Gradient of one problem by one pass forward.
void learn_forward_mode(const LearnModel& model, const LearnData& data, const double* theta,
                        const std::uint8_t* mask, LearnWork& work, const LearnOut& out);

// m problems: theta (m, p), and masks (any, n) of which which[i] is that of problem i.
struct LearnBatch {
  const double* theta;
  const std::uint8_t* masks;
  const std::int64_t* which;
  std::int64_t m;
};

void learn_batch(const LearnModel& model, const LearnData& data, const LearnBatch& batch,
                 bool forward_mode, int n_threads, const LearnOut& out);

// n_masks: how many rows masks has.
void learn_batch_cuda(const LearnModel& model, const LearnData& data, const LearnBatch& batch,
                      std::int64_t n_masks, bool forward_mode, const LearnOut& out);

// Along the choices that were made: weights before each trial and at the end (n + 1, q),
// logarithms of P(left) and P(right) (n); returns the trial of divergence, or -1.
std::int64_t learn_path(const LearnModel& model, const LearnData& data, const double* theta,
                        double* weights, double* log_left, double* log_right);

// Runs that choose for themselves, side: that of the correct choice, NaN where there is none.
// choice, reward, p_right (runs, n); weights at the end (runs, q).
struct LearnRuns {
  std::int8_t* choice;
  double* reward;
  double* p_right;
  double* weights;
};

void learn_simulate(const LearnModel& model, const double* x, const double* side, std::int64_t n,
                    const double* theta, std::uint64_t seed, std::int64_t first_run,
                    std::int64_t n_runs, int n_threads, const LearnRuns& out);

}  // namespace nb26
