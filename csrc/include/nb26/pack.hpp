// Pack<T, N>: N independent problems side by side, for bodies that are templates on a number type.
//
// A plain array with loops of fixed length rather than a vector type: compilers lower vector types
// before they inline the body into the wrapper that sets the instruction set.
#pragma once

#include "nb26/hd.hpp"
#include "nb26/math.hpp"

namespace nb26 {

template <typename T, int N>
struct Pack {
  T lane[N];

  Pack() = default;
  NB26_HD Pack(T value) {
    for (int i = 0; i < N; ++i) lane[i] = value;
  }
};

template <typename T, int N>
NB26_HD Pack<T, N> load(const T* from) {
  Pack<T, N> out;
  for (int i = 0; i < N; ++i) out.lane[i] = from[i];
  return out;
}

template <typename T, int N>
NB26_HD void store(const Pack<T, N>& pack, T* to) {
  for (int i = 0; i < N; ++i) to[i] = pack.lane[i];
}

#define NB26_PACK_OPERATOR(op)                                               \
  template <typename T, int N>                                               \
  NB26_HD Pack<T, N> operator op(const Pack<T, N>& a, const Pack<T, N>& b) { \
    Pack<T, N> out;                                                          \
    for (int i = 0; i < N; ++i) out.lane[i] = a.lane[i] op b.lane[i];        \
    return out;                                                              \
  }

NB26_PACK_OPERATOR(+)
NB26_PACK_OPERATOR(-)
NB26_PACK_OPERATOR(*)
NB26_PACK_OPERATOR(/)
#undef NB26_PACK_OPERATOR

#define NB26_PACK_FUNCTION(name)                               \
  template <typename T, int N>                                 \
  NB26_HD Pack<T, N> name(const Pack<T, N>& a) {               \
    Pack<T, N> out;                                            \
    for (int i = 0; i < N; ++i) out.lane[i] = name(a.lane[i]); \
    return out;                                                \
  }

NB26_PACK_FUNCTION(exp)
NB26_PACK_FUNCTION(log)
NB26_PACK_FUNCTION(log1p)
NB26_PACK_FUNCTION(sigmoid)
#undef NB26_PACK_FUNCTION

}  // namespace nb26
