// Arithmetic of the Oja update that the CPU and the device share, and the update of one replicate
// by a team of threads.
//
// For a block of rows Y (m, d) and an iterate W (d, k), with steps eta and weights omega:
//   P = Y W,  G = Y Y';   for j = 1..m:  C_j = eta_j omega_j P_j,  P_l += G_jl C_j for l > j;
//   W += Y' C;  W = Q of its QR factorisation with a positive diagonal.
// This equals m row-by-row updates exactly; every sum runs in one fixed order.
//
// Paired weights: W + eta [(1 + g) y y' - g z z'] W, z the row before y. With S_l = P_l + sum over
// j < l of G_jl C_j as above, b_l the change along row l - 1 that comes with row l, and b_1 = 0:
//   A_l = eta_l (1 + g_l) (S_l - G_l-1,l b_l),   b_l+1 = -eta_l+1 g_l+1 (S_l + G_ll A_l),
//   C_l = A_l + b_l+1.
// The row before the block comes first in it, with a step of zero.
#pragma once

#include <cmath>
#include <cstdint>

#include "nb26/hd.hpp"
#include "nb26/math.hpp"
#include "nb26/oja_api.hpp"
#include "nb26/philox.hpp"

namespace nb26 {

inline constexpr std::uint32_t kOjaSalt = 0x6F6A6100u;

// A pivot below this part of the column's squared length asks for another pass.
inline constexpr double kOjaGoodPivot = 0.5;
inline constexpr double kOjaLeastPivot = 1e-14;
inline constexpr int kOjaMostPasses = 6;

NB26_HD std::uint64_t oja_weight_index(const OjaWeights& weights, std::int64_t row) {
  return static_cast<std::uint64_t>((row - 1) / weights.rows_per_weight);
}

// Weights of row j of a block with steps eta: its own, and what the row after it gives to row j.
struct OjaPair {
  double own, next;
};

NB26_HD OjaPair oja_pair(double step, double weight) {
  return {step * weight, step * (1.0 - weight)};
}

template <OjaMultiplier Kind>
NB26_HD double oja_weight(std::uint64_t index, std::uint64_t replicate, PhiloxKey key) {
  const PhiloxWords words = philox(index, replicate, key);
  if constexpr (Kind == OjaMultiplier::kDouble) {
    return static_cast<double>((words.r0 >> 31) << 1);
  } else if constexpr (Kind == OjaMultiplier::kPaired) {
    // one plus a normal number of variance 1/2
    const double length =
        std::sqrt(0.5) * std::sqrt(-2.0 * log(philox_uniform(words.r0, words.r1)));
    return 1.0 + length * cos(6.283185307179586 * philox_uniform(words.r2, words.r3));
  } else {
    return -log(philox_uniform(words.r0, words.r1));
  }
}

// Cholesky factor of L matrices side by side. s holds w_i' w_j, i <= j, at [(j (j + 1) / 2 + i) L];
// on return R_ij, with 1 / R_jj on the diagonal. worst: the smallest pivot as a part of w_j' w_j.
template <int L>
NB26_HD void oja_cholesky(double* s, std::int64_t k, double* worst) {
  for (int lane = 0; lane < L; ++lane) worst[lane] = 1.0;
  for (std::int64_t j = 0; j < k; ++j) {
    double* column = s + (j * (j + 1) / 2) * L;
    for (std::int64_t i = 0; i < j; ++i) {
      const double* other = s + (i * (i + 1) / 2) * L;
      for (std::int64_t h = 0; h < i; ++h) {
        for (int lane = 0; lane < L; ++lane) {
          column[i * L + lane] -= other[h * L + lane] * column[h * L + lane];
        }
      }
      for (int lane = 0; lane < L; ++lane) column[i * L + lane] *= other[i * L + lane];
    }
    for (int lane = 0; lane < L; ++lane) {
      const double length = column[j * L + lane];
      double pivot = length;
      for (std::int64_t h = 0; h < j; ++h) pivot -= column[h * L + lane] * column[h * L + lane];
      const double ratio = pivot / length;
      worst[lane] = ratio < worst[lane] ? ratio : worst[lane];
      // a column that vanished in rounding is kept finite; the next pass separates it
      const double least = kOjaLeastPivot * length;
      pivot = pivot > least ? pivot : least;
      // nothing but zeros can only be left as it is
      column[j * L + lane] = 1.0 / std::sqrt(pivot > 0.0 ? pivot : 1.0);
    }
  }
}

// One pass of orthonormalisation leaves an iterate alone once the pass before was well conditioned.
template <int L>
NB26_HD void oja_hold_finished(double* s, std::int64_t k, const double* finished) {
  for (std::int64_t j = 0; j < k; ++j) {
    double* column = s + (j * (j + 1) / 2) * L;
    for (std::int64_t i = 0; i <= j; ++i) {
      const double identity = i == j ? 1.0 : 0.0;
      for (int lane = 0; lane < L; ++lane) {
        column[i * L + lane] = finished[lane] > 0.0 ? identity : column[i * L + lane];
      }
    }
  }
}

// Scratch of one team: the projections, the weights and the factor of one replicate.
template <typename T>
struct OjaTeamScratch {
  T* projections;  // (k, m8)
  T* weights;      // (2, m8), the second half for paired weights
  double* factor;  // (k (k + 1) / 2)
  double* worst;   // (1)
};

template <typename T, typename Team>
NB26_HD void oja_team_orthonormalise(const Team& team, std::int64_t d, std::int64_t k, T* w,
                                     const OjaTeamScratch<T>& scratch) {
  for (int pass = 0; pass < kOjaMostPasses; ++pass) {
    for (std::int64_t pair = team.warp(); pair < k * (k + 1) / 2; pair += team.warps()) {
      std::int64_t j = 0;
      while ((j + 1) * (j + 2) / 2 <= pair) ++j;
      const T* a = w + (pair - j * (j + 1) / 2) * d;
      const T* b = w + j * d;
      double sum = 0.0;
      for (std::int64_t c = team.lane(); c < d; c += team.lanes()) {
        sum += static_cast<double>(a[c]) * static_cast<double>(b[c]);
      }
      sum = team.warp_sum(sum);
      if (team.lane() == 0) scratch.factor[pair] = sum;
    }
    team.sync();
    if (team.rank() == 0) oja_cholesky<1>(scratch.factor, k, scratch.worst);
    team.sync();
    for (std::int64_t c = team.rank(); c < d; c += team.size()) {
      for (std::int64_t j = 0; j < k; ++j) {
        const double* column = scratch.factor + j * (j + 1) / 2;
        T value = w[j * d + c];
        for (std::int64_t i = 0; i < j; ++i) value -= static_cast<T>(column[i]) * w[i * d + c];
        w[j * d + c] = value * static_cast<T>(column[j]);
      }
    }
    const bool good = *scratch.worst >= kOjaGoodPivot;
    team.sync();
    if (good) return;
  }
}

// One block of m rows applied to one replicate w (k, d): rows (m, stride), gram (m8, m8).
template <typename T, typename Team>
NB26_HD void oja_team_block(const Team& team, const OjaShape& shape, const OjaWeights& weights,
                            std::uint64_t replicate, std::int64_t m, std::int64_t first_row,
                            const T* rows, const T* gram, const double* steps, T* w,
                            const OjaTeamScratch<T>& scratch) {
  const std::int64_t d = shape.columns, k = shape.components, stride = shape.stride;
  const std::int64_t m8 = oja_slot_rows(shape);
  const PhiloxKey key = philox_key(weights.seed, kOjaSalt);
  T* p = scratch.projections;

  T* next = scratch.weights + m8;
  for (std::int64_t j = team.rank(); j < m; j += team.size()) {
    const std::uint64_t index = oja_weight_index(weights, first_row + j);
    if (shape.paired) {
      const double one = j == 0 ? 1.0 : oja_weight<OjaMultiplier::kPaired>(index, replicate, key);
      const OjaPair pair = oja_pair(steps[j], one);
      scratch.weights[j] = static_cast<T>(pair.own);
      if (j > 0) next[j - 1] = static_cast<T>(pair.next);
      if (j + 1 == m) next[j] = T(0);
      continue;
    }
    const double omega = weights.kind == OjaMultiplier::kDouble
                             ? oja_weight<OjaMultiplier::kDouble>(index, replicate, key)
                             : oja_weight<OjaMultiplier::kExponential>(index, replicate, key);
    scratch.weights[j] = static_cast<T>(steps[j] * omega);
  }
  for (std::int64_t cell = team.warp(); cell < m * k; cell += team.warps()) {
    const T* y = rows + (cell / k) * stride;
    const T* direction = w + (cell % k) * d;
    T sum = T(0);
    for (std::int64_t c = team.lane(); c < d; c += team.lanes()) sum += y[c] * direction[c];
    sum = team.warp_sum(sum);
    if (team.lane() == 0) p[(cell % k) * m8 + cell / k] = sum;
  }
  team.sync();
  for (std::int64_t i = team.warp(); i < k; i += team.warps()) {
    T* column = p + i * m8;
    T before = T(0);
    for (std::int64_t j = 0; j < m; ++j) {
      T change;
      if (shape.paired) {
        const T sum = column[j];
        const T apart = j > 0 ? gram[(j - 1) * m8 + j] * before : T(0);
        change = scratch.weights[j] * (sum - apart);
        before = next[j] * (sum + gram[j * m8 + j] * change);
        change += before;
      } else {
        change = scratch.weights[j] * column[j];
      }
      team.warp_sync();
      if (team.lane() == 0) column[j] = change;
      for (std::int64_t l = j + 1 + team.lane(); l < m; l += team.lanes()) {
        column[l] += gram[j * m8 + l] * change;
      }
      team.warp_sync();
    }
  }
  team.sync();
  for (std::int64_t c = team.rank(); c < d; c += team.size()) {
    for (std::int64_t i = 0; i < k; ++i) {
      T value = w[i * d + c];
      for (std::int64_t j = 0; j < m; ++j) value += p[i * m8 + j] * rows[j * stride + c];
      w[i * d + c] = value;
    }
  }
  team.sync();
  oja_team_orthonormalise(team, d, k, w, scratch);
}

}  // namespace nb26
