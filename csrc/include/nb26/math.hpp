// exp, log, log1p and sigmoid without branches or table look-ups, so that loops over them vectorise
// and every instruction set gives the same bits.
//
//   exp      saturates: arguments below -708 (float -87) or above 709 (float 88) count as that bound
//   log      0 gives -inf, negative arguments NaN, +inf itself; subnormal arguments are exact inputs
//   log1p    -1 gives -inf, smaller arguments NaN, +inf itself, -0 itself
//   sigmoid  1 / (1 + exp(-x)), accurate in both tails, saturating where exp does
//
// NaN gives NaN everywhere.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "nb26/hd.hpp"

namespace nb26 {

// Layout of the floating-point types and the constants of the argument reductions.
template <typename T>
struct FloatTraits;

template <>
struct FloatTraits<double> {
  using Bits = std::uint64_t;
  using Signed = std::int64_t;
  static constexpr int kMantissa = 52;
  static constexpr Signed kBias = 1023;
  static constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to integer
  static constexpr double kLog2E = 1.4426950408889634074;
  // ln 2 in two parts; the first has 21 trailing zero bits, so that k * kLn2Hi is exact
  static constexpr double kLn2Hi = 0x1.62e42feep-1;
  static constexpr double kLn2Lo = 0x1.a39ef35793c76p-33;
  static constexpr double kExpMin = -708.0;
  static constexpr double kExpMax = 709.0;
  static constexpr double kSqrtHalf = 0.70710678118654752440;
  static constexpr double kSubnormalScale = 18014398509481984.0;  // 2^54
  static constexpr double kSubnormalShift = 54.0;
  static constexpr int kExpTerms = 13;
  static constexpr int kLogTerms = 11;
};

template <>
struct FloatTraits<float> {
  using Bits = std::uint32_t;
  using Signed = std::int32_t;
  static constexpr int kMantissa = 23;
  static constexpr Signed kBias = 127;
  static constexpr float kRound = 12582912.0f;  // 1.5 * 2^23
  static constexpr float kLog2E = 1.44269504f;
  static constexpr float kLn2Hi = 0x1.62e4p-1f;
  static constexpr float kLn2Lo = 0x1.7f7d1cp-20f;
  static constexpr float kExpMin = -87.0f;
  static constexpr float kExpMax = 88.0f;
  static constexpr float kSqrtHalf = 0.70710678f;
  static constexpr float kSubnormalScale = 33554432.0f;  // 2^25
  static constexpr float kSubnormalShift = 25.0f;
  static constexpr int kExpTerms = 7;
  static constexpr int kLogTerms = 5;
};

template <typename To, typename From>
NB26_HD To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

}  // namespace nb26
