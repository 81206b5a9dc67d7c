// The lanes of learning.hpp for one set of sizes, at every instruction set.
#pragma once

#include <cstdint>

#include "nb26/isa.hpp"
#include "nb26/learning.hpp"
#include "nb26/learning_api.hpp"

namespace nb26 {

// One stretch of trials for kLearnLanes problems.
struct LearnStretch {
  const double* x;
  const LearnTrial* trials;
  const std::uint8_t* masks;
  std::int64_t n;
  double ratio, limit;
  LearnProblems<double> v;
  double* log_likelihood;
  double* when;
  double* trace;
  double* g;
};

struct LearnPieces {
  void (*forward)(const LearnStretch&);
  void (*traced)(const LearnStretch&);
  void (*backward)(const LearnStretch&);
  int trace;  // numbers per trial and lane
};

// Pieces in force for a model, or null where its sizes have none of their own.
const LearnPieces* learn_pieces_1l(const LearnModel& model);
const LearnPieces* learn_pieces_2l(const LearnModel& model);
const LearnPieces* learn_pieces_2nl(const LearnModel& model);

namespace {

template <int Level, class S>
struct LearnLevel;

#define NB26_LEARN_LEVEL(level, target)                                                          \
  template <class S>                                                                             \
  struct LearnLevel<level, S> {                                                                  \
    target static void forward(const LearnStretch& a) {                                          \
      learn_forward<false, kLearnLanes>(S(), a.x, a.trials, a.masks, a.n, a.ratio, a.limit, a.v, \
                                        a.log_likelihood, a.when, a.trace);                      \
    }                                                                                            \
    target static void traced(const LearnStretch& a) {                                           \
      learn_forward<true, kLearnLanes>(S(), a.x, a.trials, a.masks, a.n, a.ratio, a.limit, a.v,  \
                                       a.log_likelihood, a.when, a.trace);                       \
    }                                                                                            \
    target static void backward(const LearnStretch& a) {                                         \
      learn_backward<kLearnLanes>(S(), a.x, a.trials, a.masks, a.n, a.ratio, a.v, a.trace, a.g); \
    }                                                                                            \
    static constexpr LearnPieces kPieces = {forward, traced, backward, learn_trace(S())};        \
  };

NB26_LEARN_LEVEL(0, )
NB26_LEARN_LEVEL(1, NB26_TARGET_1)
NB26_LEARN_LEVEL(2, NB26_TARGET_2)
#undef NB26_LEARN_LEVEL

template <class S>
const LearnPieces* learn_level() {
  static constexpr const LearnPieces* kLevels[3] = {
      &LearnLevel<0, S>::kPieces, &LearnLevel<1, S>::kPieces, &LearnLevel<2, S>::kPieces};
  return kLevels[isa_level()];
}

template <LearnCurve C, bool Deep, int H, int D>
const LearnPieces* learn_kind(const LearnModel& m) {
  if (m.policy()) return m.k == 1 ? learn_level<LearnSizes<C, Deep, true, 1, H, D>>() : nullptr;
  return m.k == 1 ? learn_level<LearnSizes<C, Deep, false, 1, H, D>>()
                  : learn_level<LearnSizes<C, Deep, false, 2, H, D>>();
}

// Three inputs are what a contrast gives; two hidden units are the default.
template <LearnCurve C>
const LearnPieces* learn_deep(const LearnModel& m) {
  switch (m.d * 8 + m.h) {
    case 2 * 8 + 2:
      return learn_kind<C, true, 2, 2>(m);
    case 3 * 8 + 1:
      return learn_kind<C, true, 1, 3>(m);
    case 3 * 8 + 2:
      return learn_kind<C, true, 2, 3>(m);
    case 3 * 8 + 3:
      return learn_kind<C, true, 3, 3>(m);
    case 3 * 8 + 4:
      return learn_kind<C, true, 4, 3>(m);
    case 4 * 8 + 2:
      return learn_kind<C, true, 2, 4>(m);
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace nb26
