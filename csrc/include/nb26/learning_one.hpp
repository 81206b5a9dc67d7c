// One problem of a learning network from theta to its numbers: what a thread of the device runs,
// and what a test runs on the host.
#pragma once

#include <cstdint>

#include "nb26/learning.hpp"
#include "nb26/learning_api.hpp"
#include "nb26/learning_dual.hpp"

namespace nb26 {

inline constexpr int kLearnWarp = 32;  // problems whose traces are interleaved
inline constexpr int kLearnDuals = 8;  // derivatives of one pass forward
inline constexpr double kLearnGradientLimit = 1e12;

template <class S>
NB26_HD constexpr int learn_parameters(const S& s) {
  return learn_weights(s) + 2 + (s.lapse() ? 1 : 0);
}

// Writes one problem's numbers, or those of one that diverged; entries of g lie `stride` apart.
template <class S>
NB26_HD void learn_settle(const S& s, std::int64_t n, double log_likelihood, double when,
                          const double* g, int stride, std::int64_t at, const LearnOut& out) {
  const int p = learn_parameters(s);
  const bool gradient = out.gradient != nullptr;
  std::int64_t diverged = when >= 0.0 ? static_cast<std::int64_t>(when) : -1;
  double square = 0.0;
  NB26_UNROLL
  for (int i = 0; i < p; ++i) square += gradient ? g[i * stride] * g[i * stride] : 0.0;
  const bool good =
      log_likelihood - log_likelihood == 0.0 && square <= kLearnGradientLimit * kLearnGradientLimit;
  // what overflows on the way back has no trial of its own: the last stands for it
  if (diverged < 0 && !good) diverged = n - 1;
  out.diverged[at] = diverged;
  out.log_likelihood[at] = diverged < 0 ? log_likelihood : learn_diverged(diverged, n);
  if (!gradient) return;
  NB26_UNROLL
  for (int i = 0; i < p; ++i) out.gradient[at * p + i] = diverged < 0 ? g[i * stride] : 0.0;
}

// What a thread works in beside the trace: sizes known when this is compiled in memory of its own,
// any sizes in `room` (learn_room numbers).
template <class S>
struct LearnOwn {
  static constexpr int kSize = learn_weights(S()) + 3;
  double theta[kSize], g[kSize];
  NB26_HD LearnOwn(const LearnModel&, double*) {}
};

template <>
struct LearnOwn<LearnAny> {
  double* theta;
  double* g;
  NB26_HD LearnOwn(const LearnModel& model, double* room) : theta(room), g(room + model.q() + 3) {}
};

enum class LearnMode { kValue, kReverse, kForward };

inline std::int64_t learn_room(const LearnModel& model, LearnMode mode) {
  const std::int64_t size = model.q() + 3;
  return mode == LearnMode::kForward ? size * (kLearnDuals + 1) + model.p() : 2 * size;
}

// Problem `at` by one pass forward and, with a gradient, one back; entries of the trace lie
// kLearnWarp apart.
template <bool Gradient, class S>
NB26_HD void learn_one(const S& s, const LearnModel& model, const LearnData& data,
                       const LearnBatch& batch, std::int64_t at, double* room, double* trace,
                       const LearnOut& out) {
  LearnOwn<S> own(model, room);
  const int q = learn_weights(s), p = learn_parameters(s);
  own.theta[q + 2] = 0.0;
  NB26_UNROLL
  for (int i = 0; i < p; ++i) own.theta[i] = batch.theta[at * p + i];
  const LearnProblems<double> v{own.theta, own.theta + q, own.theta + q + 1, own.theta + q + 2};
  const std::uint8_t* mask = batch.masks + batch.which[at] * data.n;
  double log_likelihood, when;
  learn_forward<Gradient, 1, kLearnWarp>(s, data.x, data.trials, mask, data.n, model.ratio,
                                         model.limit, v, &log_likelihood, &when, trace);
  if (Gradient) {
    NB26_UNROLL
    for (int i = 0; i < q + 3; ++i) own.g[i] = 0.0;
    learn_backward<1, kLearnWarp>(s, data.x, data.trials, mask, data.n, model.ratio, v, trace,
                                  own.g);
  }
  learn_settle(s, data.n, log_likelihood, when, own.g, 1, at, out);
}

// Problem `at` by passes forward alone, kLearnDuals derivatives in each.
NB26_HD void learn_one_forward(const LearnModel& model, const LearnData& data,
                               const LearnBatch& batch, std::int64_t at, double* room,
                               const LearnOut& out) {
  using Number = Dual<kLearnDuals>;
  const int q = model.q(), p = model.p();
  Number* numbers = reinterpret_cast<Number*>(room);
  double* g = room + (q + 3) * (kLearnDuals + 1);
  const std::uint8_t* mask = batch.masks + batch.which[at] * data.n;
  const LearnAny s{model};
  double log_likelihood = 0.0, when = -1.0;
  for (int first = 0; first < p; first += kLearnDuals) {
    for (int i = 0; i < q + 3; ++i) {
      numbers[i] = Number(i < p ? batch.theta[at * p + i] : 0.0);
      if (i >= first && i < first + kLearnDuals) numbers[i].d[i - first] = 1.0;
    }
    const LearnProblems<Number> v{numbers, numbers + q, numbers + q + 1, numbers + q + 2};
    Number sum;
    learn_forward<false, 1>(s, data.x, data.trials, mask, data.n, model.ratio, model.limit, v, &sum,
                            &when, static_cast<Number*>(nullptr));
    log_likelihood = sum.x;
    for (int i = first; i < p && i < first + kLearnDuals; ++i) g[i] = sum.d[i - first];
  }
  learn_settle(s, data.n, log_likelihood, when, g, 1, at, out);
}

// Calls run(sizes) with the sizes of the model where they have code of their own.
template <class Run>
void learn_dispatch(const LearnModel& m, const Run& run) {
  const bool plain = !m.bias && !m.lapse && m.decay == 0.0 && m.d == 3;
  if (plain && !m.deep) {
    if (m.policy() && m.k == 1) return run(LearnSizes<LearnCurve::kLine, false, true, 1, 0, 3>());
    if (!m.policy() && m.k == 2) return run(LearnSizes<LearnCurve::kLine, false, false, 2, 0, 3>());
  }
  if (plain && m.deep && m.h == 2 && m.curve == LearnCurve::kLine) {
    if (m.policy() && m.k == 1) return run(LearnSizes<LearnCurve::kLine, true, true, 1, 2, 3>());
    if (!m.policy() && m.k == 2) return run(LearnSizes<LearnCurve::kLine, true, false, 2, 2, 3>());
  }
  if (plain && m.deep && m.h == 2 && m.curve == LearnCurve::kSigmoid) {
    using Policy = LearnSizes<LearnCurve::kSigmoid, true, true, 1, 2, 3>;
    using Value = LearnSizes<LearnCurve::kSigmoid, true, false, 2, 2, 3>;
    if (m.policy() && m.k == 1) return run(Policy());
    if (!m.policy() && m.k == 2) return run(Value());
  }
  run(LearnAny{m});
}

}  // namespace nb26
