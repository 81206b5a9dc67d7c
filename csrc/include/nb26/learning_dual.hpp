// Numbers that carry N derivatives along, for gradients in one pass forward.
#pragma once

#include "nb26/hd.hpp"
#include "nb26/madd.hpp"
#include "nb26/math.hpp"

namespace nb26 {

template <int N>
struct Dual {
  double x;
  double d[N];

  Dual() = default;
  // implicit, so that bodies can mix numbers and constants
  NB26_HD Dual(double value) : x(value) {
    for (int i = 0; i < N; ++i) d[i] = 0.0;
  }

  // f(a) given f and f' at a.x
  static NB26_HD Dual chain(const Dual& a, double f, double slope) {
    Dual out;
    out.x = f;
    for (int i = 0; i < N; ++i) out.d[i] = slope * a.d[i];
    return out;
  }

  friend NB26_HD Dual operator+(const Dual& a, const Dual& b) {
    Dual out;
    out.x = a.x + b.x;
    for (int i = 0; i < N; ++i) out.d[i] = a.d[i] + b.d[i];
    return out;
  }
  friend NB26_HD Dual operator-(const Dual& a, const Dual& b) {
    Dual out;
    out.x = a.x - b.x;
    for (int i = 0; i < N; ++i) out.d[i] = a.d[i] - b.d[i];
    return out;
  }
  friend NB26_HD Dual operator-(const Dual& a) { return chain(a, -a.x, -1.0); }
  friend NB26_HD Dual operator*(const Dual& a, const Dual& b) {
    Dual out;
    out.x = a.x * b.x;
    for (int i = 0; i < N; ++i) out.d[i] = a.d[i] * b.x + a.x * b.d[i];
    return out;
  }
  friend NB26_HD Dual operator/(const Dual& a, const Dual& b) {
    Dual out;
    out.x = a.x / b.x;
    for (int i = 0; i < N; ++i) out.d[i] = (a.d[i] - out.x * b.d[i]) / b.x;
    return out;
  }
  friend NB26_HD Dual exp(const Dual& a) {
    const double f = ::nb26::exp(a.x);
    return chain(a, f, f);
  }
  friend NB26_HD Dual log(const Dual& a) { return chain(a, ::nb26::log(a.x), 1.0 / a.x); }
  friend NB26_HD Dual log1p(const Dual& a) {
    return chain(a, ::nb26::log1p(a.x), 1.0 / (1.0 + a.x));
  }
  friend NB26_HD Dual sigmoid(const Dual& a) {
    const double f = ::nb26::sigmoid(a.x);
    return chain(a, f, f * (1.0 - f));
  }
  friend NB26_HD Dual pick(bool condition, const Dual& a, const Dual& b) {
    return condition ? a : b;
  }
  friend NB26_HD double learn_value(const Dual& a) { return a.x; }
};

template <bool Fused, int N>
NB26_HD Dual<N> madd(const Dual<N>& a, const Dual<N>& b, const Dual<N>& c) {
  return a * b + c;
}

template <bool Fused, int N>
NB26_HD Dual<N> sigmoid_quick(const Dual<N>& a, Dual<N>* rest) {
  double less;
  const double f = sigmoid_quick<Fused>(a.x, &less);
  *rest = Dual<N>::chain(a, less, -(f * less));
  return Dual<N>::chain(a, f, f * less);
}

}  // namespace nb26
