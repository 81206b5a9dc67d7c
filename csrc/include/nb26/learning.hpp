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
template <LearnCurve C, bool Deep, bool Policy, int K, int H, int D>
struct LearnSizes {
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

template <class T>
NB26_HD T learn_curve(LearnCurve curve, const T& u) {
  switch (curve) {
    case LearnCurve::kSigmoid:
      return sigmoid(u);
    case LearnCurve::kTanh:
      return 2.0 * sigmoid(2.0 * u) - 1.0;
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

// Outputs o of one lane, and its hidden units h, with the constant of the bias behind them.
template <int L, class S, class T>
NB26_HD void learn_outputs(const S& s, const T* w, int l, const double* x, T* h, T* o) {
  const int K = s.k(), H = s.h(), D = s.d(), columns = learn_columns(s);
  if (s.deep()) {
    NB26_UNROLL
    for (int i = 0; i < H; ++i) {
      T u = T(0.0);
      NB26_UNROLL
      for (int d = 0; d < D; ++d) u = u + w[(i * D + d) * L + l] * x[d];
      h[i] = learn_curve(s.curve(), u);
    }
    if (s.bias()) h[H] = T(1.0);
    NB26_UNROLL
    for (int k = 0; k < K; ++k) {
      o[k] = T(0.0);
      NB26_UNROLL
      for (int i = 0; i < columns; ++i) {
        o[k] = o[k] + w[(H * D + k * columns + i) * L + l] * h[i];
      }
    }
  } else {
    NB26_UNROLL
    for (int k = 0; k < K; ++k) {
      o[k] = T(0.0);
      NB26_UNROLL
      for (int d = 0; d < D; ++d) o[k] = o[k] + w[(k * D + d) * L + l] * x[d];
    }
  }
}

template <class S, class T>
NB26_HD T learn_readout(const S& s, const T* o) {
  return s.k() == 2 ? o[s.k() - 1] - o[0] : o[0];
}

// Error e; p is P(right).
template <class S, class T>
NB26_HD void learn_error(const S& s, const LearnTrial& trial, const T& beta, const T& p, const T* o,
                         T* e) {
  const int K = s.k();
  if (s.policy()) {
    e[K - 1] = beta * (trial.c[0] + p * (trial.c[1] + p * trial.c[2]));
    if (K == 2) e[0] = -e[K - 1];
  } else {
    NB26_UNROLL
    for (int k = 0; k < K; ++k) e[k] = trial.c[k] + trial.c[2 + k] * o[k];
  }
}

// Moves the weights of one lane; false when one of them has diverged (or is NaN).
template <int L, class S, class T>
NB26_HD bool learn_move(const S& s, T* w, int l, const double* x, const LearnTrial& trial,
                        const T& alpha, double ratio, double limit, const T* h, const T* e) {
  const int K = s.k(), H = s.h(), D = s.d(), columns = learn_columns(s);
  bool good = true;
  if (s.deep()) {
    NB26_UNROLL
    for (int i = 0; i < columns; ++i) {
      T back = T(0.0);
      NB26_UNROLL
      for (int k = 0; k < K; ++k) {
        T& weight = w[(H * D + k * columns + i) * L + l];
        back = back + weight * e[k];
        weight = weight + ratio * alpha * e[k] * h[i];
        if (s.decay()) weight = weight * trial.keep;
        const double size = learn_value(weight);
        good &= pick(size < 0.0, -size, size) < limit;
      }
      if (s.bias() && i == H) break;
      const T step = alpha * (back * learn_slope(s.curve(), h[i]));
      NB26_UNROLL
      for (int d = 0; d < D; ++d) {
        T& weight = w[(i * D + d) * L + l];
        weight = weight + step * x[d];
        if (s.decay()) weight = weight * trial.keep;
        const double size = learn_value(weight);
        good &= pick(size < 0.0, -size, size) < limit;
      }
    }
  } else {
    NB26_UNROLL
    for (int k = 0; k < K; ++k) {
      const T step = alpha * e[k];
      NB26_UNROLL
      for (int d = 0; d < D; ++d) {
        T& weight = w[(k * D + d) * L + l];
        weight = weight + step * x[d];
        if (s.decay()) weight = weight * trial.keep;
        const double size = learn_value(weight);
        good &= pick(size < 0.0, -size, size) < limit;
      }
    }
  }
  return good;
}

// log((1 - lapse) P(choice) + lapse / 2) of a choice with logit q, tail = exp(-|q|).
template <class T>
NB26_HD T learn_log_lapsed(const T& lapse, const T& q, const T& tail) {
  const bool likely = learn_value(q) >= 0.0;
  const T chosen = pick(likely, T(1.0), tail) / (1.0 + tail);
  const T mixed = (1.0 - lapse) * chosen + 0.5 * lapse;
  if (learn_value(lapse) > 0.0) return log(mixed);
  // the last term is 0, and carries the derivative by the lapse
  return (pick(likely, T(0.0), q) - log1p(tail)) + lapse * ((0.5 - chosen) / chosen);
}

// Log-likelihoods (L) of the masked choices, and when each problem diverged: a trial, or -1.
// mask (n, L); trace (n, learn_trace, R) where Trace is set, of whose R the first L are filled.
template <bool Trace, int L, int R = L, class S, class T>
NB26_HD void learn_forward(const S& s, const double* x_all, const LearnTrial* trials,
                           const std::uint8_t* masks, std::int64_t n, double ratio, double limit,
                           const LearnProblems<T>& v, T* log_likelihood, double* when, T* trace) {
  T product[L], linear[L], alpha[L], beta[L];
  for (int l = 0; l < L; ++l) {
    product[l] = T(1.0);
    linear[l] = log_likelihood[l] = T(0.0);
    when[l] = -1.0;
    alpha[l] = v.alpha[l];
    beta[l] = v.beta[l];
  }
  T* w = v.w;
  for (std::int64_t t = 0; t < n; ++t) {
    const double* x = x_all + t * s.d();
    const LearnTrial trial = trials[t];
    const std::uint8_t* mask = masks + t * L;
    T* row = Trace ? trace + t * learn_trace(s) * R : nullptr;
    const double now = static_cast<double>(t);
    NB26_LANES
    for (int l = 0; l < L; ++l) {
      T h[S::kH], o[S::kK] = {}, e[S::kK] = {};
      learn_outputs<L>(s, w, l, x, h, o);
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
      const T z = beta[l] * learn_readout(s, o);
      const bool left = learn_value(z) < 0.0;
      const T tail = exp(pick(left, z, -z));
      const T p = pick(left, tail, T(1.0)) / (1.0 + tail);
      if (Trace) row[(learn_trace(s) - 1) * R + l] = p;
      const double m = mask[l];
      const T q = trial.sign * z;
      if (s.lapse()) {
        linear[l] = linear[l] + m * learn_log_lapsed(v.lapse[l], q, tail);
      } else {
        // log P(choice) = min(q, 0) - log(1 + tail); products take one log for sixteen trials
        linear[l] = linear[l] + m * pick(learn_value(q) < 0.0, q, T(0.0));
        product[l] = product[l] * (1.0 + m * tail);
      }
      learn_error(s, trial, beta[l], p, o, e);
      const bool good = learn_move<L>(s, w, l, x, trial, alpha[l], ratio, limit, h, e);
      when[l] = pick(!good & (when[l] < 0.0), now, when[l]);
    }
    if ((t & 15) == 15 || t + 1 == n) {
      for (int l = 0; l < L; ++l) {
        log_likelihood[l] = log_likelihood[l] + (linear[l] - log(product[l]));
        linear[l] = T(0.0);
        product[l] = T(1.0);
      }
    }
  }
}

// The way back after learn_forward<true>: gradient g (q + 3, L) for weights, alpha, beta, lapse. On
// entry it is that of the trials that follow, or zero.
template <int L, int R = L, class S>
NB26_HD void learn_backward(const S& s, const double* x_all, const LearnTrial* trials,
                            const std::uint8_t* masks, std::int64_t n, double ratio,
                            const LearnProblems<double>& v, const double* trace, double* g) {
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
    NB26_LANES
    for (int l = 0; l < L; ++l) {
      double h[S::kH], o[S::kK] = {}, e[S::kK] = {}, to_e[S::kK] = {}, to_o[S::kK] = {};
      double slope[S::kH], to_step[S::kH], to_h[S::kH], to_u[S::kH];
      const double* w2 = row + H * R;
      const double p = row[(learn_trace(s) - 1) * R + l], m = mask[l];
      if (s.deep()) {
        NB26_UNROLL
        for (int i = 0; i < H; ++i) {
          h[i] = row[i * R + l];
          slope[i] = learn_slope(s.curve(), h[i]);
        }
        if (s.bias()) h[H] = 1.0;
        NB26_UNROLL
        for (int k = 0; k < K; ++k) {
          o[k] = 0.0;
          NB26_UNROLL
          for (int i = 0; i < columns; ++i) o[k] += w2[(k * columns + i) * R + l] * h[i];
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
      double moved = 0.0;
      NB26_UNROLL
      for (int k = 0; k < K; ++k) {
        double along = 0.0;
        if (s.deep()) {
          NB26_UNROLL
          for (int i = 0; i < columns; ++i) along += g2[(k * columns + i) * L + l] * h[i];
          along *= ratio;
        } else {
          NB26_UNROLL
          for (int d = 0; d < D; ++d) along += g1[(k * D + d) * L + l] * x[d];
        }
        to_e[k] = alpha[l] * along;
        moved += e[k] * along;
      }
      NB26_UNROLL
      for (int i = 0; i < H; ++i) {
        double along = 0.0, to_layer = 0.0, back = 0.0;
        NB26_UNROLL
        for (int d = 0; d < D; ++d) along += g1[(i * D + d) * L + l] * x[d];
        NB26_UNROLL
        for (int k = 0; k < K; ++k) {
          to_layer += w2[(k * columns + i) * R + l] * e[k];
          back += g2[(k * columns + i) * L + l] * e[k];
        }
        moved += along * (slope[i] * to_layer);
        to_h[i] = ratio * alpha[l] * back;
        const double step = alpha[l] * along;
        to_u[i] = learn_bend(s.curve(), h[i], slope[i]) * to_layer * step;
        to_step[i] = step * slope[i];
        NB26_UNROLL
        for (int k = 0; k < K; ++k) to_e[k] += w2[(k * columns + i) * R + l] * to_step[i];
      }
      to_alpha[l] += moved;
      if (s.policy()) {
        const double to_g = learn_readout(s, to_e);
        to_beta[l] += to_g * (trial.c[0] + p * (trial.c[1] + p * trial.c[2]));
        to_z += beta[l] * to_g * (trial.c[1] + 2.0 * trial.c[2] * p) * (p * (1.0 - p));
        NB26_UNROLL
        for (int k = 0; k < K; ++k) to_o[k] = 0.0;
      } else {
        NB26_UNROLL
        for (int k = 0; k < K; ++k) to_o[k] = trial.c[2 + k] * to_e[k];
      }
      to_beta[l] += to_z * learn_readout(s, o);
      const double out = beta[l] * to_z;
      to_o[K - 1] += out;
      if (K == 2) to_o[0] -= out;
      if (s.deep()) {
        NB26_UNROLL
        for (int i = 0; i < columns; ++i) {
          const bool unit = i < H;
          NB26_UNROLL
          for (int k = 0; k < K; ++k) {
            if (unit) to_h[i] += w2[(k * columns + i) * R + l] * to_o[k];
            g2[(k * columns + i) * L + l] += to_o[k] * h[i] + (unit ? e[k] * to_step[i] : 0.0);
          }
          if (!unit) continue;
          to_u[i] += slope[i] * to_h[i];
          NB26_UNROLL
          for (int d = 0; d < D; ++d) g1[(i * D + d) * L + l] += to_u[i] * x[d];
        }
      } else {
        NB26_UNROLL
        for (int k = 0; k < K; ++k) {
          NB26_UNROLL
          for (int d = 0; d < D; ++d) g1[(k * D + d) * L + l] += to_o[k] * x[d];
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
