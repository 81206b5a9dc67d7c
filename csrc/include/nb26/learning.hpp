// A network that learns from its own choices: log-likelihood of an animal's choices and its exact
// gradient by one pass forward and one back, for L problems side by side that share the trials.
//
// Problems are interleaved: entry i of lane l lies at i * L + l. The loop over lanes goes round the
// whole of a trial, so that what happens within stays in registers.
#pragma once

#include <cstdint>

#include "nb26/hd.hpp"
#include "nb26/learning_model.hpp"
#include "nb26/madd.hpp"
#include "nb26/math.hpp"

namespace nb26 {

#if defined(__CUDACC__)
#define NB26_LANES
#else
#define NB26_LANES _Pragma("GCC ivdep")
#endif

// Sizes that are known when this is compiled, of a network without bias, lapse or decay.
template <LearnCurve C, bool Deep, bool Policy, int K, int H, int D, bool Fused = false>
struct LearnSizes {
  static constexpr bool kFused = Fused;
  static constexpr int kH = Deep ? H : 1, kK = K;
  NB26_HD static constexpr bool deep() { return Deep; }
  NB26_HD static constexpr bool policy() { return Policy; }
  NB26_HD static constexpr LearnCurve curve() { return C; }
  NB26_HD static constexpr int k() { return K; }
  NB26_HD static constexpr int h() { return Deep ? H : 0; }
  NB26_HD static constexpr int d() { return D; }
  NB26_HD static constexpr bool bias() { return false; }
  NB26_HD static constexpr bool lapse() { return false; }
  NB26_HD static constexpr bool decay() { return false; }
};

// Any sizes and options.
struct LearnAny {
  static constexpr bool kFused = false;
  static constexpr int kH = kLearnMostHidden + 1, kK = 2;
  LearnModel m;
  NB26_HD bool deep() const { return m.deep; }
  NB26_HD bool policy() const { return m.policy(); }
  NB26_HD LearnCurve curve() const { return m.curve; }
  NB26_HD int k() const { return m.k; }
  NB26_HD int h() const { return m.h; }
  NB26_HD int d() const { return m.d; }
  NB26_HD bool bias() const { return m.bias; }
  NB26_HD bool lapse() const { return m.lapse; }
  NB26_HD bool decay() const { return m.decay != 0.0; }
};

template <class S>
NB26_HD constexpr int learn_columns(const S& s) {
  return s.h() + (s.bias() ? 1 : 0);
}

template <class S>
NB26_HD constexpr int learn_first(const S& s) {
  return s.deep() ? s.h() * s.d() : 0;
}

template <class S>
NB26_HD constexpr int learn_weights(const S& s) {
  return s.deep() ? s.h() * s.d() + s.k() * learn_columns(s) : s.k() * s.d();
}

// What the way back needs of a trial: hidden units and layer 2, or the outputs; P(right) last.
template <class S>
NB26_HD constexpr int learn_trace(const S& s) {
  return s.deep() ? s.h() + s.k() * learn_columns(s) + 1 : s.k() + 1;
}

NB26_HD double learn_value(double x) { return x; }

template <bool Fused, class T>
NB26_HD T learn_curve(LearnCurve curve, const T& u) {
  T rest;
  switch (curve) {
    case LearnCurve::kSigmoid:
      return sigmoid_quick<Fused>(u, &rest);
    case LearnCurve::kTanh:
      return 2.0 * sigmoid_quick<Fused>(2.0 * u, &rest) - 1.0;
    case LearnCurve::kRelu:
      return pick(learn_value(u) > 0.0, u, T(0.0));
    default:
      return u;
  }
}

// First and second derivative of the curve, from its value.
template <class T>
NB26_HD T learn_slope(LearnCurve curve, const T& h) {
  switch (curve) {
    case LearnCurve::kSigmoid:
      return h * (1.0 - h);
    case LearnCurve::kTanh:
      return 1.0 - h * h;
    case LearnCurve::kRelu:
      return pick(learn_value(h) > 0.0, T(1.0), T(0.0));
    default:
      return T(1.0);
  }
}

NB26_HD double learn_bend(LearnCurve curve, double h, double slope) {
  switch (curve) {
    case LearnCurve::kSigmoid:
      return slope * (1.0 - 2.0 * h);
    case LearnCurve::kTanh:
      return -2.0 * h * slope;
    default:
      return 0.0;
  }
}

// The parameters of L problems; w is changed in place.
template <class T>
struct LearnProblems {
  T* w;  // (q, L)
  const T* alpha;
  const T* beta;
  const T* lapse;
};

// What layer 1 of one lane makes of the inputs: its sums, as many as it has rows.
template <int L, class S, class T>
NB26_HD void learn_sums(const S& s, const T* w, int l, const double* x, T* sums) {
  const int rows = s.deep() ? s.h() : s.k(), D = s.d();
  NB26_UNROLL
  for (int i = 0; i < rows; ++i) {
    T u = w[i * D * L + l] * T(x[0]);
    NB26_UNROLL
    for (int d = 1; d < D; ++d) u = madd<S::kFused>(w[(i * D + d) * L + l], T(x[d]), u);
    sums[i] = u;
  }
}

// Outputs o of one lane, and its hidden units h, with the constant of the bias behind them.
template <int L, class S, class T>
NB26_HD void learn_outputs(const S& s, const T* w, int l, const T* sums, T* h, T* o) {
  const int K = s.k(), H = s.h(), D = s.d(), columns = learn_columns(s);
  if (s.deep()) {
    NB26_UNROLL
    for (int i = 0; i < H; ++i) h[i] = learn_curve<S::kFused>(s.curve(), sums[i]);
    if (s.bias()) h[H] = T(1.0);
    NB26_UNROLL
    for (int k = 0; k < K; ++k) {
      o[k] = w[(H * D + k * columns) * L + l] * h[0];
      NB26_UNROLL
      for (int i = 1; i < columns; ++i) {
        o[k] = madd<S::kFused>(w[(H * D + k * columns + i) * L + l], h[i], o[k]);
      }
    }
  } else {
    NB26_UNROLL
    for (int k = 0; k < K; ++k) o[k] = sums[k];
  }
}

template <class S, class T>
NB26_HD T learn_readout(const S& s, const T* o) {
  return s.k() == 2 ? o[s.k() - 1] - o[0] : o[0];
}

// The logit of P(right), beta times the readout. Where the error waits for it beta goes to the
// weights of layer 2, which are known before the hidden units are; with one output at compile time
// there is no bias.
template <int L, class S, class T>
NB26_HD T learn_logit(const S& s, const T* w, int l, const T& beta, const T* h, const T* o) {
  if (!(s.deep() && s.policy() && S::kK == 1)) return beta * learn_readout(s, o);
  const int H = s.h();
  const T* w2 = w + learn_first(s) * L + l;
  T z = T(0.0);
  NB26_UNROLL
  for (int i = 0; i < H; ++i) {
    const T along = beta * w2[i * L];
    z = i == 0 ? along * h[0] : madd<S::kFused>(along, h[i], z);
  }
  return z;
}

// The factor g of a policy rule.
template <bool Fused, class T>
NB26_HD T learn_gain(const LearnTrial& trial, const T& p) {
  const T inner = madd<Fused>(p, T(trial.c[2]), T(trial.c[1]));
  return madd<Fused>(p, inner, T(trial.c[0]));
}

// Error e; p is P(right).
template <class S, class T>
NB26_HD void learn_error(const S& s, const LearnTrial& trial, const T& beta, const T& p, const T* o,
                         T* e) {
  const int K = s.k();
  if (s.policy()) {
    e[K - 1] = beta * learn_gain<S::kFused>(trial, p);
    if (K == 2) e[0] = -e[K - 1];
  } else {
    NB26_UNROLL
    for (int k = 0; k < K; ++k) e[k] = madd<S::kFused>(T(trial.c[2 + k]), o[k], T(trial.c[k]));
  }
}

NB26_HD double learn_size(double x) { return bits_as<double>(bits_as<std::uint64_t>(x) << 1 >> 1); }

// The inputs of a trial, those of the one that follows, and their product.
struct LearnInputs {
  const double* x;
  const double* next;
  double both;
};

NB26_HD LearnInputs learn_inputs(const double* x, int d, bool last) {
  LearnInputs out{x, last ? x : x + d, 0.0};
  for (int i = 0; i < d; ++i) out.both += out.x[i] * out.next[i];
  return out;
}

// Moves the weights of one lane; 0 when one of them has diverged (or is NaN), otherwise 1. sums
// become those of the next trial: from the weights before the move, so that what waits for the
// error is one operation.
template <int L, class S, class T>
NB26_HD double learn_move(const S& s, T* w, int l, const LearnInputs& in, const LearnTrial& trial,
                          const T& alpha, double ratio, double limit, const T* h, const T* e,
                          T* sums) {
  const int K = s.k(), H = s.h(), D = s.d(), columns = learn_columns(s);
  learn_sums<L>(s, w, l, in.next, sums);
  // a number: conditions would not be laid side by side with numbers
  double good = 1.0;
  if (s.deep()) {
    const T alpha_2 = ratio * alpha;
    NB26_UNROLL
    for (int i = 0; i < columns; ++i) {
      T back = T(0.0);
      const T before = w[(H * D + i) * L + l];
      NB26_UNROLL
      for (int k = 0; k < K; ++k) {
        T& weight = w[(H * D + k * columns + i) * L + l];
        back = k == 0 ? weight * e[0] : madd<S::kFused>(weight, e[k], back);
        weight = madd<S::kFused>(alpha_2 * h[i], e[k], weight);
        if (s.decay()) weight = weight * trial.keep;
        const double size = learn_value(weight);
        good = pick(learn_size(size) < limit, good, 0.0);
      }
      if (s.bias() && i == H) break;
      // with one output all but the error is known early
      const T slope = alpha * learn_slope(s.curve(), h[i]);
      const T share = S::kK == 1 ? slope * before : slope;
      const T moved = S::kK == 1 ? e[0] : back;
      const T step = share * moved;
      sums[i] = madd<S::kFused>(share * in.both, moved, sums[i]);
      if (s.decay()) sums[i] = sums[i] * trial.keep;
      NB26_UNROLL
      for (int d = 0; d < D; ++d) {
        T& weight = w[(i * D + d) * L + l];
        weight = madd<S::kFused>(step, T(in.x[d]), weight);
        if (s.decay()) weight = weight * trial.keep;
        const double size = learn_value(weight);
        good = pick(learn_size(size) < limit, good, 0.0);
      }
    }
  } else {
    NB26_UNROLL
    for (int k = 0; k < K; ++k) {
      const T step = alpha * e[k];
      sums[k] = madd<S::kFused>(alpha * in.both, e[k], sums[k]);
      if (s.decay()) sums[k] = sums[k] * trial.keep;
      NB26_UNROLL
      for (int d = 0; d < D; ++d) {
        T& weight = w[(k * D + d) * L + l];
        weight = madd<S::kFused>(step, T(in.x[d]), weight);
        if (s.decay()) weight = weight * trial.keep;
        const double size = learn_value(weight);
        good = pick(learn_size(size) < limit, good, 0.0);
      }
    }
  }
  return good;
}

// log((1 - lapse) P(choice) + lapse / 2) of a choice with logit q; chosen = P(choice), likelier
// that of the likelier choice.
template <class T>
NB26_HD T learn_log_lapsed(const T& lapse, const T& q, const T& chosen, const T& likelier) {
  if (learn_value(lapse) > 0.0) return log((1.0 - lapse) * chosen + 0.5 * lapse);
  // the last term is nothing but the derivative by a lapse of 0
  return pick(learn_value(q) >= 0.0, T(0.0), q) + log(likelier) + lapse * (0.5 / chosen - 1.0);
}

// Log-likelihoods (L) of the masked choices, and when each problem diverged: a trial, or -1.
// mask (n, L); trace (n, learn_trace, R) where Trace is set, of whose R the first L are filled.
template <bool Trace, int L, int R = L, class S, class T>
NB26_HD void learn_forward(const S& s, const double* x_all, const LearnTrial* trials,
                           const std::uint8_t* masks, std::int64_t n, double ratio, double limit,
                           const LearnProblems<T>& v, T* log_likelihood, double* when, T* trace,
                           bool one_row = false) {
  constexpr int kRows = S::kH > S::kK ? S::kH : S::kK;
  T product[L], linear[L], alpha[L], beta[L], carried[kRows * L];
  double first[L];
  for (int l = 0; l < L; ++l) {
    product[l] = T(1.0);
    linear[l] = log_likelihood[l] = T(0.0);
    first[l] = -1.0;
    alpha[l] = v.alpha[l];
    beta[l] = v.beta[l];
  }
  T* w = v.w;
  for (int l = 0; l < L && n > 0; ++l) {
    T sums[kRows];
    learn_sums<L>(s, w, l, x_all, sums);
    for (int i = 0; i < kRows; ++i) carried[i * L + l] = sums[i];
  }
  for (std::int64_t t = 0; t < n; ++t) {
    const LearnInputs in = learn_inputs(x_all + t * s.d(), s.d(), t + 1 == n);
    const LearnTrial trial = trials[t];
    const std::uint8_t* mask = masks + t * L;
    T* row = Trace ? trace + (one_row ? 0 : t) * learn_trace(s) * R : nullptr;
    const double now = static_cast<double>(t);
    // bytes in the loop below would make its vectors short
    double counted[L];
    for (int l = 0; l < L; ++l) counted[l] = mask[l];
    NB26_LANES
    for (int l = 0; l < L; ++l) {
      T sums[kRows], h[S::kH], o[S::kK] = {}, e[S::kK] = {};
      NB26_UNROLL
      for (int i = 0; i < kRows; ++i) sums[i] = carried[i * L + l];
      learn_outputs<L>(s, w, l, sums, h, o);
      if (Trace) {
        const int K = s.k(), H = s.h(), layer_2 = K * learn_columns(s);
        if (s.deep()) {
          NB26_UNROLL
          for (int i = 0; i < H; ++i) row[i * R + l] = h[i];
          NB26_UNROLL
          for (int i = 0; i < layer_2; ++i) {
            row[(H + i) * R + l] = w[(learn_first(s) + i) * L + l];
          }
        } else {
          NB26_UNROLL
          for (int k = 0; k < K; ++k) row[k * R + l] = o[k];
        }
      }
      const T z = learn_logit<L>(s, w, l, beta[l], h, o);
      T left;
      const T p = sigmoid_quick<S::kFused>(z, &left);
      if (Trace) row[(learn_trace(s) - 1) * R + l] = p;
      const double m = counted[l];
      const T q = trial.sign * z;
      const T likelier = pick(learn_value(z) < 0.0, left, p);
      if (s.lapse()) {
        const T chosen = pick(trial.sign > 0.0, p, left);
        linear[l] = linear[l] + m * learn_log_lapsed(v.lapse[l], q, chosen, likelier);
      } else {
        // log P(choice) = min(q, 0) + log P(likelier); one log for the product of many trials
        linear[l] = madd<S::kFused>(T(m), pick(learn_value(q) < 0.0, q, T(0.0)), linear[l]);
        product[l] = product[l] * madd<S::kFused>(T(m), likelier - 1.0, T(1.0));
      }
      // every move is alpha times e, and beta may be in either of them
      constexpr bool kOne = S::kK == 1;
      if (kOne && s.policy()) {
        e[0] = learn_gain<S::kFused>(trial, p);
      } else {
        learn_error(s, trial, beta[l], p, o, e);
      }
      const T rate = kOne && s.policy() ? alpha[l] * beta[l] : alpha[l];
      const double good = learn_move<L>(s, w, l, in, trial, rate, ratio, limit, h, e, sums);
      NB26_UNROLL
      for (int i = 0; i < kRows; ++i) carried[i * L + l] = sums[i];
      first[l] = pick(first[l] < 0.0, pick(good > 0.0, -1.0, now), first[l]);
    }
    if ((t & 255) == 255 || t + 1 == n) {
      for (int l = 0; l < L; ++l) {
        log_likelihood[l] = log_likelihood[l] + (linear[l] + log(product[l]));
        linear[l] = T(0.0);
        product[l] = T(1.0);
      }
    }
  }
  for (int l = 0; l < L; ++l) when[l] = first[l];
}

// The way back after learn_forward<true>: gradient g (q + 3, L) for weights, alpha, beta, lapse. On
// entry it is that of the trials that follow, or zero.
template <int L, int R = L, class S>
NB26_HD void learn_backward(const S& s, const double* x_all, const LearnTrial* trials,
                            const std::uint8_t* masks, std::int64_t n, double ratio,
                            const LearnProblems<double>& v, const double* trace, double* g) {
  constexpr bool F = S::kFused;
  const int K = s.k(), H = s.h(), D = s.d(), columns = learn_columns(s), q = learn_weights(s);
  double* g1 = g;
  double* g2 = g + learn_first(s) * L;
  double alpha[L], beta[L], to_alpha[L], to_beta[L], to_lapse[L];
  for (int l = 0; l < L; ++l) {
    alpha[l] = v.alpha[l];
    beta[l] = v.beta[l];
    to_alpha[l] = g[q * L + l];
    to_beta[l] = g[(q + 1) * L + l];
    to_lapse[l] = g[(q + 2) * L + l];
  }
  for (std::int64_t t = n - 1; t >= 0; --t) {
    const double* x = x_all + t * D;
    const LearnTrial trial = trials[t];
    const std::uint8_t* mask = masks + t * L;
    const double* row = trace + t * learn_trace(s) * R;
    const double right = 0.5 * (trial.sign + 1.0);
    double counted[L];
    for (int l = 0; l < L; ++l) counted[l] = mask[l];
    NB26_LANES
    for (int l = 0; l < L; ++l) {
      double h[S::kH], o[S::kK] = {}, e[S::kK] = {}, to_e[S::kK] = {}, to_o[S::kK] = {};
      double slope[S::kH], to_step[S::kH], to_h[S::kH], to_u[S::kH];
      const double* w2 = row + H * R;
      const double p = row[(learn_trace(s) - 1) * R + l], m = counted[l];
      if (s.deep()) {
        NB26_UNROLL
        for (int i = 0; i < H; ++i) {
          h[i] = row[i * R + l];
          slope[i] = learn_slope(s.curve(), h[i]);
        }
        if (s.bias()) h[H] = 1.0;
        NB26_UNROLL
        for (int k = 0; k < K; ++k) {
          o[k] = w2[k * columns * R + l] * h[0];
          NB26_UNROLL
          for (int i = 1; i < columns; ++i) {
            o[k] = madd<F>(w2[(k * columns + i) * R + l], h[i], o[k]);
          }
        }
      } else {
        NB26_UNROLL
        for (int k = 0; k < K; ++k) o[k] = row[k * R + l];
      }
      double to_z = m * (right - p);
      if (s.lapse()) {
        const double lapse = v.lapse[l], chosen = pick(trial.sign > 0.0, p, 1.0 - p);
        const double mixed = (1.0 - lapse) * chosen + 0.5 * lapse;
        // where both vanish the form without lapse is the limit
        if (lapse > 0.0) to_z = m * (1.0 - lapse) * trial.sign * (p * (1.0 - p)) / mixed;
        to_lapse[l] += m * (0.5 - chosen) / mixed;
      }
      learn_error(s, trial, beta[l], p, o, e);
      // the weights after the trial, in the end, back to those before it and to the error
      if (s.decay()) {
        for (int i = 0; i < q; ++i) g[i * L + l] *= trial.keep;
      }
      const double alpha_2 = ratio * alpha[l];
      double moved = 0.0;
      NB26_UNROLL
      for (int k = 0; k < K; ++k) {
        double along;
        if (s.deep()) {
          along = g2[k * columns * L + l] * h[0];
          NB26_UNROLL
          for (int i = 1; i < columns; ++i) {
            along = madd<F>(g2[(k * columns + i) * L + l], h[i], along);
          }
          along *= ratio;
        } else {
          along = g1[k * D * L + l] * x[0];
          NB26_UNROLL
          for (int d = 1; d < D; ++d) along = madd<F>(g1[(k * D + d) * L + l], x[d], along);
        }
        to_e[k] = alpha[l] * along;
        moved = madd<F>(e[k], along, moved);
      }
      NB26_UNROLL
      for (int i = 0; i < H; ++i) {
        double along = g1[i * D * L + l] * x[0];
        NB26_UNROLL
        for (int d = 1; d < D; ++d) along = madd<F>(g1[(i * D + d) * L + l], x[d], along);
        double to_layer = w2[i * R + l] * e[0], back = g2[i * L + l] * e[0];
        NB26_UNROLL
        for (int k = 1; k < K; ++k) {
          to_layer = madd<F>(w2[(k * columns + i) * R + l], e[k], to_layer);
          back = madd<F>(g2[(k * columns + i) * L + l], e[k], back);
        }
        moved = madd<F>(along, slope[i] * to_layer, moved);
        to_h[i] = alpha_2 * back;
        const double step = alpha[l] * along;
        to_u[i] = learn_bend(s.curve(), h[i], slope[i]) * (to_layer * step);
        to_step[i] = step * slope[i];
        NB26_UNROLL
        for (int k = 0; k < K; ++k) {
          to_e[k] = madd<F>(w2[(k * columns + i) * R + l], to_step[i], to_e[k]);
        }
      }
      to_alpha[l] += moved;
      if (s.policy()) {
        const double to_g = learn_readout(s, to_e);
        to_beta[l] = madd<F>(to_g, learn_gain<F>(trial, p), to_beta[l]);
        const double bend = madd<F>(2.0 * trial.c[2], p, trial.c[1]);
        to_z = madd<F>(beta[l] * to_g, bend * (p * (1.0 - p)), to_z);
        NB26_UNROLL
        for (int k = 0; k < K; ++k) to_o[k] = 0.0;
      } else {
        NB26_UNROLL
        for (int k = 0; k < K; ++k) to_o[k] = trial.c[2 + k] * to_e[k];
      }
      to_beta[l] = madd<F>(to_z, learn_readout(s, o), to_beta[l]);
      const double out = beta[l] * to_z;
      to_o[K - 1] += out;
      if (K == 2) to_o[0] -= out;
      if (s.deep()) {
        NB26_UNROLL
        for (int i = 0; i < columns; ++i) {
          const bool unit = i < H;
          NB26_UNROLL
          for (int k = 0; k < K; ++k) {
            double& grown = g2[(k * columns + i) * L + l];
            grown = madd<F>(to_o[k], h[i], grown);
            if (!unit) continue;
            to_h[i] = madd<F>(w2[(k * columns + i) * R + l], to_o[k], to_h[i]);
            grown = madd<F>(e[k], to_step[i], grown);
          }
          if (!unit) continue;
          to_u[i] = madd<F>(slope[i], to_h[i], to_u[i]);
          NB26_UNROLL
          for (int d = 0; d < D; ++d) {
            double& grown = g1[(i * D + d) * L + l];
            grown = madd<F>(to_u[i], x[d], grown);
          }
        }
      } else {
        NB26_UNROLL
        for (int k = 0; k < K; ++k) {
          NB26_UNROLL
          for (int d = 0; d < D; ++d) {
            double& grown = g1[(k * D + d) * L + l];
            grown = madd<F>(to_o[k], x[d], grown);
          }
        }
      }
    }
  }
  for (int l = 0; l < L; ++l) {
    g[q * L + l] = to_alpha[l];
    g[(q + 1) * L + l] = to_beta[l];
    g[(q + 2) * L + l] = to_lapse[l];
  }
}

}  // namespace nb26
