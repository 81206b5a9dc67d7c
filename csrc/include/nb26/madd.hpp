// Multiply-add, fused or not, and loops over register tiles that must be unrolled.
#pragma once

#include "nb26/hd.hpp"

#if defined(__CUDA_ARCH__)
#define NB26_UNROLL _Pragma("unroll")
#elif defined(__CUDACC__)
#define NB26_UNROLL
#else
#define NB26_UNROLL _Pragma("GCC unroll 16")
#endif

namespace nb26 {

template <bool Fused>
NB26_HD double madd(double a, double b, double c) {
#ifdef __CUDA_ARCH__
  return fma(a, b, c);
#else
  return Fused ? __builtin_fma(a, b, c) : a * b + c;
#endif
}

template <bool Fused>
NB26_HD float madd(float a, float b, float c) {
#ifdef __CUDA_ARCH__
  return fmaf(a, b, c);
#else
  return Fused ? __builtin_fmaf(a, b, c) : a * b + c;
#endif
}

}  // namespace nb26
