#include "nb26/math.hpp"

#include "nb26/isa.hpp"
#include "nb26/math_api.hpp"
#include "nb26/pack.hpp"

namespace nb26 {

// Packs of one AVX-512 register, then the rest one by one; a lane and a scalar give the same bits.
#define NB26_ARRAY_FUNCTION(name, T)                                                           \
  static NB26_HD void name##_##T##_body(const T* x, T* y, std::int64_t n) {                    \
    constexpr int kLanes = 64 / sizeof(T);                                                     \
    std::int64_t i = 0;                                                                        \
    for (; i + kLanes <= n; i += kLanes) name(Pack<T, kLanes>::load(x + i)).store(y + i);      \
    for (; i < n; ++i) y[i] = name(x[i]);                                                      \
  }                                                                                            \
  NB26_ISA_TABLE(name##_##T, name##_##T##_body, (const T* x, T* y, std::int64_t n), (x, y, n)) \
  void name##_array(const T* x, T* y, std::int64_t n) { name##_##T(x, y, n); }

NB26_ARRAY_FUNCTION(exp, double)
NB26_ARRAY_FUNCTION(exp, float)
NB26_ARRAY_FUNCTION(log, double)
NB26_ARRAY_FUNCTION(log, float)
NB26_ARRAY_FUNCTION(log1p, double)
NB26_ARRAY_FUNCTION(log1p, float)
NB26_ARRAY_FUNCTION(sigmoid, double)
NB26_ARRAY_FUNCTION(sigmoid, float)
NB26_ARRAY_FUNCTION(cos, double)
NB26_ARRAY_FUNCTION(cos, float)
#undef NB26_ARRAY_FUNCTION

}  // namespace nb26
