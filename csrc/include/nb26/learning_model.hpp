// A network that learns from its own choices: its sizes and options, and what a trial means for it.
#pragma once

#include <cstdint>

#include "nb26/hd.hpp"

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
NB26_HD LearnTrial learn_trial(const LearnModel& model, bool right, double drive) {
  LearnTrial out{{0.0, 0.0, 0.0, 0.0}, right ? 1.0 : -1.0, 1.0};
  const bool known = drive == drive;
  if (!known && model.skip) return out;
  const double r = known ? drive : 0.5;
  out.keep = 1.0 - model.decay;
  const double a = right ? 1.0 : 0.0;
  double* c = out.c;
  switch (model.rule) {
    case LearnRule::kRpe:
      if (model.k == 2) {
        c[right ? 1 : 0] = r;
        c[right ? 3 : 2] = -1.0;
      } else {
        c[0] = out.sign * (2.0 * r - 1.0);
        c[2] = -1.0;
      }
      break;
    case LearnRule::kSquared:
      c[0] = model.k == 2 ? 1.0 - r : 2.0 * r - 1.0;
      c[1] = model.k == 2 ? r : 0.0;
      c[2] = -1.0;
      c[3] = model.k == 2 ? -1.0 : 0.0;
      break;
    case LearnRule::kReinforce:
      c[0] = (r - model.baseline) * a;
      c[1] = -(r - model.baseline);
      break;
    case LearnRule::kExpectedReward:
      c[1] = 2.0 * r - 1.0;
      c[2] = -c[1];
      break;
    case LearnRule::kCrossEntropy:
      c[0] = r;
      c[1] = -1.0;
      break;
  }
  return out;
}

// Log-likelihood of a problem that diverged at trial t of n: below every ordinary one, and lower
// the earlier it happened.
NB26_HD double learn_diverged(std::int64_t t, std::int64_t n) {
  return -1e6 * static_cast<double>(n) - 1e3 * static_cast<double>(n - t);
}

}  // namespace nb26
