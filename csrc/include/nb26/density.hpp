// Pieces of the conditional-density bootstrap: kernels, sums over counted rows, quantiles.
//
// One query's k nearest rows and their kernels are the same in every resample but for how often
// each row counts. So a query needs its rows once, sorted by distance, with a table of outcome
// kernels (row, column); a resample walks the rows until their counts reach k and sums counted rows
// of the table. The columns: the g grid points, the query's own y, the outcome itself, and 1.
#pragma once

#include <cmath>
#include <cstdint>

#include "nb26/hd.hpp"
#include "nb26/madd.hpp"
#include "nb26/math.hpp"

namespace nb26 {

inline constexpr double kDensityLow = 1e-100, kDensityHigh = 1e100;
// kernels below exp(-350) count as 0, so that a product of two never leaves the normal numbers
inline constexpr double kDensityTail = -350.0;
// a resample whose nearest row has less weight than exp(-50) is weighed relative to that row
inline constexpr double kDensityFaint = -50.0;
inline constexpr double kRootTwoPi = 2.5066282746310002;
inline constexpr int kDensityLanes = 8;
inline constexpr std::int64_t kDensityExtra = 3;  // columns behind the grid

NB26_HD std::int64_t density_columns(std::int64_t g) {
  return (g + kDensityExtra + kDensityLanes - 1) / kDensityLanes * kDensityLanes;
}

// Rows that a resample needs, nearly always, until their counts reach k.
inline std::int64_t density_depth(std::int64_t k) {
  return k + static_cast<std::int64_t>(6.0 * std::sqrt(static_cast<double>(k))) + 10;
}

NB26_HD double density_kernel(double exponent) {
  const double value = exp(exponent);
  return pick(exponent < kDensityTail, 0.0, value);
}

NB26_HD double density_clip(double f) {
  f = pick(f < kDensityLow, kDensityLow, f);
  return pick(f > kDensityHigh, kDensityHigh, f);
}

NB26_HD double unit_clip(double v) {
  v = pick(v < 0.0, 0.0, v);
  return pick(v > 1.0, 1.0, v);
}

// Ranks and weight of a quantile of n values, interpolated linearly.
struct QuantileAt {
  std::int64_t low, high;
  double part;
};

NB26_HD QuantileAt quantile_at(std::int64_t n, double q) {
  const double at = q * static_cast<double>(n - 1);
  auto low = static_cast<std::int64_t>(at);
  if (low > n - 1) low = n - 1;
  const std::int64_t high = low + 1 < n ? low + 1 : n - 1;
  return {low, high, at - static_cast<double>(low)};
}

// Between two neighbours in rank; from the nearer one, as NumPy does.
NB26_HD double between(double a, double b, double part) {
  const double step = b - a;
  return pick(part < 0.5, a + step * part, b - step * (1.0 - part));
}

// Squared distances of the n rows of x (p, n) to the query.
NB26_HD void density_squares(const double* x, std::int64_t n, std::int64_t p, const double* query,
                             double* square) {
  for (std::int64_t j = 0; j < n; ++j) square[j] = 0.0;
  for (std::int64_t c = 0; c < p; ++c) {
    const double* __restrict column = x + c * n;
    const double at = query[c];
    for (std::int64_t j = 0; j < n; ++j) {
      const double d = column[j] - at;
      square[j] += d * d;
    }
  }
}

// Outcome kernels of n outcomes at g points, without their constant; out (n, columns).
NB26_HD void density_outcomes(const double* y, std::int64_t n, const double* points, std::int64_t g,
                              double hy, std::int64_t columns, double* out) {
  const double scale = 1.0 / hy;
  for (std::int64_t i = 0; i < n; ++i) {
    double* __restrict row = out + i * columns;
    for (std::int64_t c = 0; c < g; ++c) {
      const double z = (points[c] - y[i]) * scale;
      row[c] = density_kernel(-0.5 * z * z);
    }
  }
}

// Kernels of ordered squared distances, relative to the first.
NB26_HD void density_exponents(const double* square, std::int64_t n, double hx, double* exponent,
                               double* kernel) {
  const double first = square[0], scale = 1.0 / (2.0 * hx * hx);
  for (std::int64_t r = 0; r < n; ++r) {
    const double e = (first - square[r]) * scale;
    exponent[r] = e;
    kernel[r] = density_kernel(e);
  }
}

// Adds sum over i < n of weight[i] * table[row[i]], U * 8 columns; table has `columns` to a row.
template <bool Fused, int U>
NB26_HD void density_sum_panel(const double* __restrict table, std::int64_t columns,
                               const std::int32_t* __restrict row, const double* __restrict weight,
                               std::int64_t n, double* __restrict out) {
  double sum[U][kDensityLanes];
  NB26_UNROLL
  for (int u = 0; u < U; ++u) {
    for (int l = 0; l < kDensityLanes; ++l) sum[u][l] = out[u * kDensityLanes + l];
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const double* __restrict from = table + row[i] * columns;
    const double w = weight[i];
    NB26_UNROLL
    for (int u = 0; u < U; ++u) {
      for (int l = 0; l < kDensityLanes; ++l) {
        sum[u][l] = madd<Fused>(w, from[u * kDensityLanes + l], sum[u][l]);
      }
    }
  }
  NB26_UNROLL
  for (int u = 0; u < U; ++u) {
    for (int l = 0; l < kDensityLanes; ++l) out[u * kDensityLanes + l] = sum[u][l];
  }
}

// Orders rows low[i] and high[i] of values (n, 8) in every lane, for i < n_pairs.
NB26_HD void density_exchange(double* values, const std::int32_t* __restrict pairs,
                              std::int64_t n_pairs) {
  for (std::int64_t i = 0; i < n_pairs; ++i) {
    double* a = values + pairs[2 * i] * kDensityLanes;
    double* b = values + pairs[2 * i + 1] * kDensityLanes;
    double u[kDensityLanes], v[kDensityLanes];
    for (int l = 0; l < kDensityLanes; ++l) u[l] = a[l];
    for (int l = 0; l < kDensityLanes; ++l) v[l] = b[l];
    for (int l = 0; l < kDensityLanes; ++l) a[l] = pick(v[l] < u[l], v[l], u[l]);
    for (int l = 0; l < kDensityLanes; ++l) b[l] = pick(v[l] < u[l], u[l], v[l]);
  }
}

// Ratios of two densities at n points.
NB26_HD void density_ratios(const double* __restrict treated, const double* __restrict control,
                            std::int64_t n, double* __restrict out) {
  for (std::int64_t c = 0; c < n; ++c) out[c] = density_clip(treated[c]) / density_clip(control[c]);
}

// Fits (n, columns) of sums become densities at g + 1 points with the mean behind them.
NB26_HD void density_scale(double* fits, std::int64_t n, std::int64_t columns, std::int64_t g,
                           double hy) {
  for (std::int64_t b = 0; b < n; ++b) {
    double* __restrict fit = fits + b * columns;
    const double sum = fit[g + 2], scale = 1.0 / (sum * (hy * kRootTwoPi)), mean = fit[g + 1] / sum;
    for (std::int64_t c = 0; c < columns; ++c) fit[c] *= scale;
    fit[g + 1] = mean;
  }
}

// Threshold lowered by tenths until one of the n values lies above it.
NB26_HD double density_threshold(const double* upper, std::int64_t n, double threshold) {
  double most = upper[0];
  for (std::int64_t c = 1; c < n; ++c) most = pick(upper[c] > most, upper[c], most);
  // no end for NaN otherwise
  while (!(most > threshold) && threshold > kDensityLow * kDensityLow) threshold *= 0.9;
  return threshold;
}

}  // namespace nb26
