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
  bool one_row;  // of the trace, over and over
  double* g;
};

struct LearnPieces {
  void (*forward)(const LearnStretch&);
  void (*backward)(const LearnStretch&);
  int trace;  // numbers per trial and lane
  int lanes;
};

constexpr int kLearnFew = 4;

// Pieces in force for so many problems of a model, or null where its sizes have none of their own.
const LearnPieces* learn_pieces_1l(const LearnModel& model, int problems);
const LearnPieces* learn_pieces_2l(const LearnModel& model, int problems);
const LearnPieces* learn_pieces_2nl(const LearnModel& model, int problems);

namespace {

template <int Level, class S>
struct LearnLevel;

// Without a gradient the trace is one row, written again and again: a forward pass without one
// saves a twentieth of the time and costs a third of the code.
#define NB26_LEARN_LEVEL(level, lanes, target)                                             \
  template <class S>                                                                       \
  struct LearnLevel<level, S> {                                                            \
    target static void forward(const LearnStretch& a) {                                    \
      learn_forward<true, lanes>(S(), a.x, a.trials, a.masks, a.n, a.ratio, a.limit, a.v,  \
                                 a.log_likelihood, a.when, a.trace, a.one_row);            \
    }                                                                                      \
    target static void backward(const LearnStretch& a) {                                   \
      learn_backward<lanes>(S(), a.x, a.trials, a.masks, a.n, a.ratio, a.v, a.trace, a.g); \
    }                                                                                      \
    static constexpr LearnPieces kPieces = {forward, backward, learn_trace(S()), lanes};   \
  };

NB26_LEARN_LEVEL(0, kLearnLanes, )
NB26_LEARN_LEVEL(1, kLearnLanes, NB26_TARGET_1)
NB26_LEARN_LEVEL(2, kLearnLanes, NB26_TARGET_2)
NB26_LEARN_LEVEL(3, kLearnFew, NB26_TARGET_1)
NB26_LEARN_LEVEL(4, 1, NB26_TARGET_1)
NB26_LEARN_LEVEL(5, 1, NB26_TARGET_2)
#undef NB26_LEARN_LEVEL

// The pieces in force; for up to kLearnFew problems those of fewer lanes, which end as soon with a
// quarter of the work. A problem alone waits for each of its operations, which are quicker on one
// number: that pays for the code only in the sizes that are usual.
template <LearnCurve C, bool Deep, bool Policy, int K, int H, int D>
const LearnPieces* learn_level(int problems) {
  // fused multiply-add from level 1 on: 10.4 against 13.6 ns per trial and problem with AVX-512
  using Plain = LearnSizes<C, Deep, Policy, K, H, D, false>;
  using Fused = LearnSizes<C, Deep, Policy, K, H, D, true>;
  const int level = isa_level();
  if (level == 0) return &LearnLevel<0, Plain>::kPieces;
  if constexpr (D == 3 && (!Deep || H == 2)) {
    if (problems == 1) {
      return level == 1 ? &LearnLevel<4, Fused>::kPieces : &LearnLevel<5, Fused>::kPieces;
    }
  }
  if (problems <= kLearnFew) return &LearnLevel<3, Fused>::kPieces;
  return level == 1 ? &LearnLevel<1, Fused>::kPieces : &LearnLevel<2, Fused>::kPieces;
}

template <LearnCurve C, bool Deep, int H, int D>
const LearnPieces* learn_kind(const LearnModel& m, int problems) {
  if (m.policy()) return m.k == 1 ? learn_level<C, Deep, true, 1, H, D>(problems) : nullptr;
  return m.k == 1 ? learn_level<C, Deep, false, 1, H, D>(problems)
                  : learn_level<C, Deep, false, 2, H, D>(problems);
}

// Two hidden units are the default; three inputs are what a contrast gives, two those without the
// constant, four those with one more.
template <LearnCurve C>
const LearnPieces* learn_deep(const LearnModel& m, int problems) {
  if (m.h == 2 && m.d == 2) return learn_kind<C, true, 2, 2>(m, problems);
  if (m.h == 2 && m.d == 4) return learn_kind<C, true, 2, 4>(m, problems);
  if (m.d != 3) return nullptr;
  switch (m.h) {
    case 1:
      return learn_kind<C, true, 1, 3>(m, problems);
    case 2:
      return learn_kind<C, true, 2, 3>(m, problems);
    case 3:
      return learn_kind<C, true, 3, 3>(m, problems);
    case 4:
      return learn_kind<C, true, 4, 3>(m, problems);
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace nb26
