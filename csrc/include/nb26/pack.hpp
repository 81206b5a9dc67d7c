// Pack<T, N>: N independent problems side by side, for bodies that are templates on a number type.
//
// A plain array with loops of fixed length rather than a vector type: compilers lower vector types
// before they inline the body into the wrapper that sets the instruction set.
#pragma once

#include "nb26/hd.hpp"
#include "nb26/math.hpp"

namespace nb26 {

#define NB26_PACK_OPERATOR(op)                                        \
  friend NB26_HD Pack operator op(const Pack& a, const Pack& b) {     \
    Pack out;                                                         \
    for (int i = 0; i < N; ++i) out.lane[i] = a.lane[i] op b.lane[i]; \
    return out;                                                       \
  }

#define NB26_PACK_FUNCTION(name)                                       \
  friend NB26_HD Pack name(const Pack& a) {                            \
    Pack out;                                                          \
    for (int i = 0; i < N; ++i) out.lane[i] = ::nb26::name(a.lane[i]); \
    return out;                                                        \
  }

template <typename T, int N>
struct Pack {
  T lane[N];

  Pack() = default;
  // implicit, so that bodies can mix packs and constants
  NB26_HD Pack(T value) {
    for (int i = 0; i < N; ++i) lane[i] = value;
  }

  static NB26_HD Pack load(const T* from) {
    Pack out;
    for (int i = 0; i < N; ++i) out.lane[i] = from[i];
    return out;
  }

  NB26_HD void store(T* to) const {
    for (int i = 0; i < N; ++i) to[i] = lane[i];
  }

  NB26_PACK_OPERATOR(+)
  NB26_PACK_OPERATOR(-)
  NB26_PACK_OPERATOR(*)
  NB26_PACK_OPERATOR(/)
  NB26_PACK_FUNCTION(exp)
  NB26_PACK_FUNCTION(log)
  NB26_PACK_FUNCTION(log1p)
  NB26_PACK_FUNCTION(sigmoid)
  NB26_PACK_FUNCTION(cos)
};

#undef NB26_PACK_OPERATOR
#undef NB26_PACK_FUNCTION

}  // namespace nb26
