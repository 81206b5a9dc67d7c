// A network that learns from its own choices: its sizes and options, and what a trial means for it.
#pragma once

#include <cstdint>

#include "nb26/hd.hpp"
#include "nb26/math.hpp"

namespace nb26 {

constexpr int kLearnMostHidden = 64;

enum class LearnRule { kRpe = 0, kSquared, kReinforce, kExpectedReward, kCrossEntropy };

// What the hidden units make of their sums.
enum class LearnCurve { kLine = 0, kSigmoid, kTanh, kRelu };

struct LearnModel {
  bool deep;
  LearnCurve curve;
  LearnRule rule;
  int k, h, d;  // outputs, hidden units (0 for one layer), inputs
  bool bias;    // a constant 1 beside the hidden units
  bool lapse;   // whether theta ends with a lapse rate
  double baseline;
  bool skip;     // no update where the outcome is not known; otherwise the mean update
  double ratio;  // learning rate of layer 2 over that of layer 1
  double decay;  // share of each weight lost per update
  double limit;  // a weight of this size has diverged

  NB26_HD constexpr bool policy() const { return rule >= LearnRule::kReinforce; }
  NB26_HD constexpr int columns() const { return h + (bias ? 1 : 0); }
  NB26_HD constexpr int q() const { return deep ? h * d + k * columns() : k * d; }
  // weights, alpha, beta and lapse
  NB26_HD constexpr int p() const { return q() + 2 + (lapse ? 1 : 0); }
};

// One choice and its outcome. The error of a value rule is affine in the outputs,
// e_k = c[k] + c[2 + k] o_k; that of a policy rule is beta g along the readout with
// g = c[0] + p (c[1] + c[2] p), p = P(right).
struct LearnTrial {
  double c[4];
  double sign;  // 1 for right, -1 for left
  double keep;  // what decay leaves of each weight
};

// drive: the reward for rpe and reinforce, the correct side for the others; NaN where not known.
// Without branches on the choice, which no processor foresees.
NB26_HD LearnTrial learn_trial(const LearnModel& model, bool right, double drive) {
  const bool known = drive == drive, moves = known || !model.skip, two = model.k == 2;
  const double r = pick(known, drive, 0.5), sign = pick(right, 1.0, -1.0);
  double c0 = 0.0, c1 = 0.0, c2 = 0.0, c3 = 0.0;
  switch (model.rule) {
    case LearnRule::kRpe:
      c0 = two ? pick(right, 0.0, r) : sign * (2.0 * r - 1.0);
      c1 = two ? pick(right, r, 0.0) : 0.0;
      c2 = two ? pick(right, 0.0, -1.0) : -1.0;
      c3 = two ? pick(right, -1.0, 0.0) : 0.0;
      break;
    case LearnRule::kSquared:
      c0 = two ? 1.0 - r : 2.0 * r - 1.0;
      c1 = two ? r : 0.0;
      c2 = -1.0;
      c3 = two ? -1.0 : 0.0;
      break;
    case LearnRule::kReinforce:
      c0 = pick(right, r - model.baseline, 0.0);
      c1 = model.baseline - r;
      break;
    case LearnRule::kExpectedReward:
      c1 = 2.0 * r - 1.0;
      c2 = 1.0 - 2.0 * r;
      break;
    case LearnRule::kCrossEntropy:
      c0 = r;
      c1 = -1.0;
      break;
  }
  return {{pick(moves, c0, 0.0), pick(moves, c1, 0.0), pick(moves, c2, 0.0), pick(moves, c3, 0.0)},
          sign,
          pick(moves, 1.0 - model.decay, 1.0)};
}

// Log-likelihood of a problem that diverged at trial t of n: below every ordinary one, and lower
// the earlier it happened.
NB26_HD double learn_diverged(std::int64_t t, std::int64_t n) {
  return -1e6 * static_cast<double>(n) - 1e3 * static_cast<double>(n - t);
}

}  // namespace nb26
