// a * b + c with one rounding or with two, as the instruction set of the caller has it.
#pragma once

#include "nb26/hd.hpp"

namespace nb26 {

template <bool Fused>
NB26_HD double madd(double a, double b, double c) {
  return Fused ? __builtin_fma(a, b, c) : a * b + c;
}

template <bool Fused>
NB26_HD float madd(float a, float b, float c) {
  return Fused ? __builtin_fmaf(a, b, c) : a * b + c;
}

}  // namespace nb26
