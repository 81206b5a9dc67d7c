// exp, log, log1p, sigmoid and cos without branches or tables, so that loops over them vectorise
// and every instruction set gives the same bits. Errors where nothing saturates: exp, log, log1p
// and cos below 2 ulp, sigmoid below 2.5 ulp.
//
//   exp      saturates: arguments outside [-708, 709] (float: [-87, 88]) count as the nearer bound
//   log      0 gives -inf, negative arguments NaN, +inf itself; subnormal arguments are handled
//   log1p    -1 gives -inf, smaller arguments NaN, +inf and both zeros themselves
//   sigmoid  1 / (1 + exp(-x)) with full relative accuracy in both tails; saturates where exp does
//   cos      for arguments in [-1000, 1000], near its zeros too; infinite ones give NaN
//
// NaN gives NaN everywhere.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "nb26/hd.hpp"
#include "nb26/madd.hpp"

namespace nb26 {

// Constants rather than calls, which device code could not make.
template <typename T>
struct MathLimits {
  static constexpr T kInfinity = std::numeric_limits<T>::infinity();
  static constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  static constexpr T kLargest = std::numeric_limits<T>::max();
  static constexpr T kSmallestNormal = std::numeric_limits<T>::min();
};

template <typename T>
struct MathTraits;

template <>
struct MathTraits<double> : MathLimits<double> {
  using Bits = std::uint64_t;
  static constexpr int kMantissa = 52;
  static constexpr Bits kBias = 1023;
  static constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to integer
  static constexpr double kLog2E = 1.4426950408889634074;
  // ln 2 in two parts, the first short enough that k * kLn2Hi is exact for every exponent k
  static constexpr double kLn2Hi = 0x1.62e42feep-1;
  static constexpr double kLn2Lo = 0x1.a39ef35793c76p-33;
  static constexpr double kExpMin = -708.0;
  static constexpr double kExpMax = 709.0;
  static constexpr Bits kSqrtHalfBits = 0x3FE6A09E667F3BCDu;
  static constexpr double kTinyScale = 18014398509481984.0;  // 2^54 makes any subnormal normal
  static constexpr double kTinyShift = 54.0;
  static constexpr int kExpDegree = 13;
  static constexpr int kLogTerms = 11;
};

template <>
struct MathTraits<float> : MathLimits<float> {
  using Bits = std::uint32_t;
  static constexpr int kMantissa = 23;
  static constexpr Bits kBias = 127;
  static constexpr float kRound = 12582912.0f;  // 1.5 * 2^23
  static constexpr float kLog2E = 1.44269504f;
  static constexpr float kLn2Hi = 0x1.62e4p-1f;
  static constexpr float kLn2Lo = 0x1.7f7d1cp-20f;
  static constexpr float kExpMin = -87.0f;
  static constexpr float kExpMax = 88.0f;
  static constexpr Bits kSqrtHalfBits = 0x3F3504F3u;
  static constexpr float kTinyScale = 33554432.0f;  // 2^25
  static constexpr float kTinyShift = 25.0f;
  static constexpr int kExpDegree = 7;
  static constexpr int kLogTerms = 5;
};

template <typename To, typename From>
NB26_HD To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "bits_as keeps the size");
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

// condition ? a : b through a mask: a branch on a constant would be threaded through the code
// behind it, and the loop would no longer vectorise
template <typename T>
NB26_HD T pick(bool condition, T a, T b) {
  using Bits = typename MathTraits<T>::Bits;
  const Bits mask = Bits(0) - Bits(condition);
  return bits_as<T>((bits_as<Bits>(a) & mask) | (bits_as<Bits>(b) & ~mask));
}

template <int N>
inline constexpr double kFactorial = N * kFactorial<N - 1>;
template <>
inline constexpr double kFactorial<0> = 1.0;

// sum over i = I..Last of r^(i-I) / i!
template <int I, int Last, typename T>
NB26_HD T exp_series(T r) {
  constexpr T kTerm = static_cast<T>(1.0 / kFactorial<I>);
  if constexpr (I == Last) {
    return kTerm;
  } else {
    return kTerm + r * exp_series<I + 1, Last>(r);
  }
}

// sum over i = I..Last of 2 z^(i-I+1) / (2 i + 1); from I = 1 it is log((1+s)/(1-s)) / s - 2 at z =
// s^2
template <int I, int Last, typename T>
NB26_HD T log_series(T z) {
  constexpr T kTerm = static_cast<T>(2.0 / (2 * I + 1));
  if constexpr (I == Last) {
    return z * kTerm;
  } else {
    return z * (kTerm + log_series<I + 1, Last>(z));
  }
}

// sum over i = I..Last of (-z)^(i-I) / (2 i + Odd)!, parts of the cosine and the sine series
template <int I, int Last, int Odd>
NB26_HD double cos_series(double z) {
  constexpr double kTerm = 1.0 / kFactorial<2 * I + Odd>;
  if constexpr (I == Last) {
    return kTerm;
  } else {
    return kTerm - z * cos_series<I + 1, Last, Odd>(z);
  }
}

template <typename T>
NB26_HD T exp(T x) {
  using C = MathTraits<T>;
  using Bits = typename C::Bits;
  x = pick(x < C::kExpMin, C::kExpMin, x);
  x = pick(x > C::kExpMax, C::kExpMax, x);
  const T shifted = x * C::kLog2E + C::kRound;
  const T k = shifted - C::kRound;
  const T r = (x - k * C::kLn2Hi) - k * C::kLn2Lo;
  // the low bits of shifted hold k in two's complement
  const Bits power = (bits_as<Bits>(shifted) + C::kBias) << C::kMantissa;
  // 1 and r are added last, so that their sum takes nearly all of the rounding
  const T e = T(1) + (r + r * r * exp_series<2, C::kExpDegree>(r));
  return e * bits_as<T>(power);
}

// p = 1 / (1 + exp(-x)) and rest = 1 - p for chains of dependent steps: in a third of the latency
// of sigmoid, with errors below 2.5 and 4 ulp in both tails; x outside [-708, 708] counts as the
// nearer bound. Fused: with fused multiply-add, which rounds differently.
template <bool Fused>
NB26_HD double sigmoid_quick(double x, double* rest) {
  using C = MathTraits<double>;
  constexpr double kMost = -C::kExpMin;
  x = x > kMost ? kMost : x;
  x = x < -kMost ? -kMost : x;
  const double shifted = madd<Fused>(x, -C::kLog2E, C::kRound);
  const double k = shifted - C::kRound;
  const double r = madd<Fused>(-k, C::kLn2Lo, madd<Fused>(-k, C::kLn2Hi, -x));
  // exp(r) - 1 on [-ln 2 / 2, ln 2 / 2] to 2^-55, from Chebyshev nodes
  const double r2 = r * r, r4 = r2 * r2;
  const double a = madd<Fused>(0.16666666666666669, r, 0.5000000000000001);
  const double b = madd<Fused>(0.008333333333330051, r, 0.04166666666662399);
  const double c = madd<Fused>(0.00019841269863105968, r, 0.0013888888917281794);
  const double d = madd<Fused>(2.7557268378684192e-06, r, 2.480152119021773e-05);
  const double e = madd<Fused>(2.5100424157005067e-08, r, 2.7620138719733994e-07);
  const double low = madd<Fused>(madd<Fused>(c, r2, b), r4, madd<Fused>(a, r2, r));
  const double grown = madd<Fused>(madd<Fused>(e, r2, d), r4 * r4, low);
  // the low bits of shifted hold k in two's complement
  const double power =
      bits_as<double>((bits_as<std::uint64_t>(shifted) + C::kBias) << C::kMantissa);
  const double p = 1.0 / madd<Fused>(power, grown, 1.0 + power);
  *rest = madd<Fused>(power, grown, power) * p;
  return p;
}

// log(u) + correction for a normal u > 0; shift is taken off the exponent of u
template <typename T>
NB26_HD T log_corrected(T u, T correction, T shift) {
  using C = MathTraits<T>;
  using Bits = typename C::Bits;
  const Bits bits = bits_as<Bits>(u);
  // biased so that the shift is logical: AVX2 has no arithmetic one on 64 bits
  const Bits biased = (bits - C::kSqrtHalfBits + (C::kBias << C::kMantissa)) >> C::kMantissa;
  const Bits exponent = biased - C::kBias;
  const T m = bits_as<T>(bits - (exponent << C::kMantissa));  // in [sqrt(1/2), sqrt(2))
  const T k = (bits_as<T>(bits_as<Bits>(C::kRound) + exponent) - C::kRound) - shift;
  const T f = m - T(1);
  const T s = f / (T(2) + f);
  const T half_square = T(0.5) * f * f;
  const T series = log_series<1, C::kLogTerms>(s * s);
  const T low = s * (half_square + series) + (k * C::kLn2Lo + correction);
  return k * C::kLn2Hi - ((half_square - low) - f);
}

template <typename T>
NB26_HD T log(T x) {
  using C = MathTraits<T>;
  const bool tiny = x < C::kSmallestNormal;
  T y = log_corrected(x * pick(tiny, C::kTinyScale, T(1)), T(0), pick(tiny, C::kTinyShift, T(0)));
  y = pick(x > C::kLargest, x, y);
  y = pick(x == T(0), -C::kInfinity, y);
  return pick(x >= T(0), y, C::kNan);
}

template <typename T>
NB26_HD T log1p(T x) {
  using C = MathTraits<T>;
  const T u = T(1) + x;
  const T back = u - T(1);
  const T e = (T(1) - (u - back)) + (x - back);  // 1 + x is u + e exactly
  T y = log_corrected(u, e / u, T(0));
  y = pick(x > C::kLargest, x, y);
  y = pick(x == T(0), x, y);
  y = pick(x == T(-1), -C::kInfinity, y);
  return pick(x >= T(-1), y, C::kNan);
}

template <typename T>
NB26_HD T sigmoid(T x) {
  const T t = exp(pick(x < T(0), x, -x));
  return pick(x < T(0), t, T(1)) / (T(1) + t);
}

NB26_HD double cos(double x) {
  using C = MathTraits<double>;
  // pi / 2 in three parts, the first two so short that their products with n are exact
  constexpr double kHi = 0x1.921fb544p+0, kMid = 0x1.0b4611a6p-34, kLo = 0x1.3198a2e037073p-69;
  const double shifted = x * 0x1.45f306dc9c883p-1 + C::kRound;
  const double n = shifted - C::kRound;
  const std::uint64_t quadrant = bits_as<std::uint64_t>(shifted);
  // x - n pi / 2 = r + low
  const double a = x - n * kHi, b = n * kMid;
  const double r = a - b;
  const double low = ((a - r) - b) - n * kLo;
  const double z = r * r;
  const double sine = r + (low * (1.0 - 0.5 * z) - r * z * cos_series<1, 8, 1>(z));
  const double half = 0.5 * z, top = 1.0 - half;
  const double cosine = top + (((1.0 - top) - half) + (z * z * cos_series<2, 9, 0>(z) - r * low));
  const double y = pick((quadrant & 1) != 0, sine, cosine);
  return pick(((quadrant + 1) & 2) != 0, -y, y);
}

NB26_HD float cos(float x) { return static_cast<float>(cos(static_cast<double>(x))); }

}  // namespace nb26
