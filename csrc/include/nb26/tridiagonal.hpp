// Symmetric matrices made tridiagonal by Householder reflections, L of them side by side (Parlett,
// The Symmetric Eigenvalue Problem, chapter 7).
//
// Entry i of lane l of an array lies at [i * S + l]: S = L on the CPU, and on the device L = 1 with
// the lanes of a warp S apart. Lanes never mix.
#pragma once

#include <cmath>
#include <cstdint>

#include "nb26/hd.hpp"
#include "nb26/madd.hpp"
#include "nb26/math.hpp"

namespace nb26 {

struct LaneTridiagonal {
  double* matrix;    // (m (m + 1) / 2) columns from the diagonal down; reflections take their place
  double* diagonal;  // (m)
  double* side;      // (m) below the diagonal, side[i] between i and i + 1
  double* tau;       // (m)
  double* work;      // (3, m)
  std::int64_t m;
};

// Column c of the matrix; its row r >= c lies at [r].
template <int S>
NB26_HD double* tridiagonal_column(const LaneTridiagonal& g, std::int64_t c) {
  return g.matrix + (c * g.m - c * (c + 1) / 2) * S;
}

// A -= v w' + w v' and p += A x, for R columns of A from c on and all rows below.
template <bool Fused, int L, int S, int R>
NB26_HD void tridiagonal_columns(const LaneTridiagonal& g, std::int64_t c,
                                 const double* __restrict v, const double* __restrict w,
                                 const double* __restrict x, double* __restrict p) {
  double* column[R];
  double vc[R][L], wc[R][L], xc[R][L], sum[R][L];
  NB26_UNROLL
  for (int s = 0; s < R; ++s) {
    column[s] = tridiagonal_column<S>(g, c + s);
    for (int l = 0; l < L; ++l) vc[s][l] = -v[(c + s) * S + l];
    for (int l = 0; l < L; ++l) wc[s][l] = -w[(c + s) * S + l];
    for (int l = 0; l < L; ++l) xc[s][l] = x[(c + s) * S + l];
    for (int l = 0; l < L; ++l) sum[s][l] = p[(c + s) * S + l];
  }
  NB26_UNROLL
  for (int q = 0; q < R; ++q) {
    double wq[L], vq[L];
    for (int l = 0; l < L; ++l) wq[l] = w[(c + q) * S + l];
    for (int l = 0; l < L; ++l) vq[l] = v[(c + q) * S + l];
    NB26_UNROLL
    for (int s = 0; s <= q; ++s) {
      double* entry = column[s] + (c + q) * S;
      double a[L];
      for (int l = 0; l < L; ++l) a[l] = madd<Fused>(vc[s][l], wq[l], entry[l]);
      for (int l = 0; l < L; ++l) a[l] = madd<Fused>(wc[s][l], vq[l], a[l]);
      for (int l = 0; l < L; ++l) entry[l] = a[l];
      for (int l = 0; l < L; ++l) sum[q][l] = madd<Fused>(a[l], xc[s][l], sum[q][l]);
      if (s < q) {
        for (int l = 0; l < L; ++l) sum[s][l] = madd<Fused>(a[l], xc[q][l], sum[s][l]);
      }
    }
  }
  for (std::int64_t r = (c + R) * S; r < g.m * S; r += S) {
    double wr[L], vr[L], xr[L], pr[L];
    for (int l = 0; l < L; ++l) wr[l] = w[r + l];
    for (int l = 0; l < L; ++l) vr[l] = v[r + l];
    for (int l = 0; l < L; ++l) xr[l] = x[r + l];
    for (int l = 0; l < L; ++l) pr[l] = p[r + l];
    NB26_UNROLL
    for (int s = 0; s < R; ++s) {
      double a[L];
      for (int l = 0; l < L; ++l) a[l] = madd<Fused>(vc[s][l], wr[l], column[s][r + l]);
      for (int l = 0; l < L; ++l) a[l] = madd<Fused>(wc[s][l], vr[l], a[l]);
      for (int l = 0; l < L; ++l) column[s][r + l] = a[l];
      for (int l = 0; l < L; ++l) sum[s][l] = madd<Fused>(a[l], xr[l], sum[s][l]);
      for (int l = 0; l < L; ++l) pr[l] = madd<Fused>(a[l], xc[s][l], pr[l]);
    }
    for (int l = 0; l < L; ++l) p[r + l] = pr[l];
  }
  NB26_UNROLL
  for (int s = 0; s < R; ++s) {
    for (int l = 0; l < L; ++l) p[(c + s) * S + l] = sum[s][l];
  }
}

// The same for the whole rest of A, in one pass.
template <bool Fused, int L, int S>
NB26_HD void tridiagonal_pass(const LaneTridiagonal& g, std::int64_t first, const double* v,
                              const double* w, const double* x, double* p) {
  std::int64_t c = first;
  for (; c + 2 <= g.m; c += 2) tridiagonal_columns<Fused, L, S, 2>(g, c, v, w, x, p);
  for (; c < g.m; ++c) tridiagonal_columns<Fused, L, S, 1>(g, c, v, w, x, p);
}

// Reflection that makes x (n) a multiple of the first unit vector: x becomes v, v_0 = 1.
template <int L, int S>
NB26_HD void tridiagonal_reflection(double* __restrict x, std::int64_t n, double* __restrict side,
                                    double* __restrict tau) {
  double rest[L] = {}, scale[L];
  for (std::int64_t r = 1; r < n; ++r) {
    for (int l = 0; l < L; ++l) rest[l] += x[r * S + l] * x[r * S + l];
  }
  double first[L];
  for (int l = 0; l < L; ++l) first[l] = x[l];
  double new_side[L], new_tau[L];
  for (int l = 0; l < L; ++l) {
    const double length = std::sqrt(first[l] * first[l] + rest[l]);
    const double beta = pick(first[l] > 0.0, -length, length);
    const bool some = rest[l] > 0.0;
    new_side[l] = pick(some, beta, first[l]);
    new_tau[l] = pick(some, (beta - first[l]) / beta, 0.0);
    scale[l] = pick(some, 1.0 / (first[l] - beta), 0.0);
  }
  for (int l = 0; l < L; ++l) side[l] = new_side[l];
  for (int l = 0; l < L; ++l) tau[l] = new_tau[l];
  for (int l = 0; l < L; ++l) x[l] = 1.0;
  for (std::int64_t r = 1; r < n; ++r) {
    for (int l = 0; l < L; ++l) x[r * S + l] *= scale[l];
  }
}

template <bool Fused, int L, int S>
NB26_HD void tridiagonal_lanes(const LaneTridiagonal& g) {
  const std::int64_t m = g.m;
  double* w = g.work;
  double* p = g.work + m * S;
  const double* v = g.work + 2 * m * S;  // zeros before the first reflection
  for (std::int64_t r = 0; r < 3 * m; ++r) {
    for (int l = 0; l < L; ++l) g.work[r * S + l] = 0.0;
  }
  for (std::int64_t i = 0; i < m; ++i) {
    double* x = tridiagonal_column<S>(g, i);
    for (std::int64_t r = i; r < m; ++r) {
      for (int l = 0; l < L; ++l) {
        const double once = madd<Fused>(-v[r * S + l], w[i * S + l], x[r * S + l]);
        x[r * S + l] = madd<Fused>(-w[r * S + l], v[i * S + l], once);
      }
    }
    for (int l = 0; l < L; ++l) g.diagonal[i * S + l] = x[i * S + l];
    if (i + 1 == m) break;
    double* tau = g.tau + i * S;
    tridiagonal_reflection<L, S>(x + (i + 1) * S, m - i - 1, g.side + i * S, tau);
    for (std::int64_t r = i + 1; r < m; ++r) {
      for (int l = 0; l < L; ++l) p[r * S + l] = 0.0;
    }
    tridiagonal_pass<Fused, L, S>(g, i + 1, v, w, x, p);
    double half[L] = {};
    for (std::int64_t r = i + 1; r < m; ++r) {
      for (int l = 0; l < L; ++l) half[l] = madd<Fused>(p[r * S + l], x[r * S + l], half[l]);
    }
    for (int l = 0; l < L; ++l) half[l] *= -0.5 * tau[l] * tau[l];
    for (std::int64_t r = i + 1; r < m; ++r) {
      for (int l = 0; l < L; ++l) {
        p[r * S + l] = madd<Fused>(half[l], x[r * S + l], tau[l] * p[r * S + l]);
      }
    }
    double* other = w;
    w = p;
    p = other;
    v = x;
  }
}

inline constexpr int kQlSweeps = 40;          // two or three are usual
inline constexpr double kQlTiny = 1e-140;     // keeps a pivot of a sweep from being zero
inline constexpr double kQlSmall = 0x1p-108;  // square of 2^-54

// Eigenvalues, in no order, of a tridiagonal matrix with entries of order one: they take the place
// of the diagonal, `side` is lost. QL without square roots (Pal, Walker and Kahan; Parlett, section
// 8.15); a lane that is done waits for the others.
template <int L, int S>
NB26_HD void tridiagonal_values(const LaneTridiagonal& g) {
  const std::int64_t m = g.m;
  double* d = g.diagonal;
  double* e = g.side;
  for (std::int64_t i = 0; i + 1 < m; ++i) {
    for (int l = 0; l < L; ++l) e[i * S + l] *= e[i * S + l];
  }
  // a sweep begins by writing there
  for (int l = 0; l < L; ++l) e[(m - 1) * S + l] = 0.0;
  for (std::int64_t j = 0; j + 1 < m; ++j) {
    for (int sweep = 0; sweep < kQlSweeps; ++sweep) {
      double top[L], below[L], open[L], sigma[L], s[L], gamma[L], p[L], any = 0.0;
      for (int l = 0; l < L; ++l) top[l] = d[j * S + l];
      for (int l = 0; l < L; ++l) below[l] = e[j * S + l];
      for (int l = 0; l < L; ++l) open[l] = pick(below[l] > kQlSmall, 1.0, 0.0);
      for (int l = 0; l < L; ++l) any += open[l];
      if (!(any > 0.0)) break;
      for (int l = 0; l < L; ++l) sigma[l] = d[(j + 1) * S + l];
      for (int l = 0; l < L; ++l) gamma[l] = d[(m - 1) * S + l];
      for (int l = 0; l < L; ++l) {
        const double root = std::sqrt(pick(open[l] > 0.0, below[l], 1.0));
        const double half = 0.5 * (sigma[l] - top[l]) / root;
        const double length = std::sqrt(half * half + 1.0);
        sigma[l] = top[l] - root / (half + pick(half < 0.0, -length, length));
        const double start = gamma[l] - sigma[l];
        gamma[l] = pick(std::fabs(start) < kQlTiny, kQlTiny, start);
        p[l] = gamma[l] * gamma[l];
      }
      for (int l = 0; l < L; ++l) s[l] = 0.0;
      for (std::int64_t i = m - 2; i >= j; --i) {
        double here[L], square[L], next[L], above[L];
        for (int l = 0; l < L; ++l) here[l] = d[i * S + l];
        for (int l = 0; l < L; ++l) square[l] = e[i * S + l];
        for (int l = 0; l < L; ++l) next[l] = d[(i + 1) * S + l];
        for (int l = 0; l < L; ++l) above[l] = e[(i + 1) * S + l];
        for (int l = 0; l < L; ++l) {
          const double r = p[l] + square[l];
          const double inverse = 1.0 / r, grow = r / p[l];
          const double cosine = p[l] * inverse, sine = square[l] * inverse;
          const double now = cosine * (here[l] - sigma[l]) - sine * gamma[l];
          above[l] = pick(open[l] > 0.0, s[l] * r, above[l]);
          next[l] = pick(open[l] > 0.0, gamma[l] + (here[l] - now), next[l]);
          s[l] = sine;
          gamma[l] = pick(std::fabs(now) < kQlTiny, kQlTiny, now);
          p[l] = gamma[l] * gamma[l] * grow;
        }
        for (int l = 0; l < L; ++l) e[(i + 1) * S + l] = above[l];
        for (int l = 0; l < L; ++l) d[(i + 1) * S + l] = next[l];
      }
      for (int l = 0; l < L; ++l) below[l] = pick(open[l] > 0.0, s[l] * p[l], below[l]);
      for (int l = 0; l < L; ++l) top[l] = pick(open[l] > 0.0, sigma[l] + gamma[l], top[l]);
      for (int l = 0; l < L; ++l) e[j * S + l] = below[l];
      for (int l = 0; l < L; ++l) d[j * S + l] = top[l];
    }
  }
}

}  // namespace nb26
