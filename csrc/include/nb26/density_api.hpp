// Conditional densities of two arms by nearest rows and Gaussian kernels, and their bootstrap.
#pragma once

#include <cstdint>

namespace nb26 {

inline constexpr std::uint32_t kDensitySalt = 0x63326700u;

// Rows of one arm and how their density is estimated at x: of the k rows nearest to x, weighted by
// a Gaussian of the distance with width hx, the Gaussians around y with width hy.
struct DensityArm {
  const double* x;  // (p, n): by columns
  const double* y;  // (n)
  std::int64_t n, p, k;
  double hx, hy;
  const std::uint16_t* counts;  // (B, n) how often each resample counts each row
};

// Where densities are wanted. own: the query's row in each arm, which is left out; -1 for none.
struct DensityQueries {
  const double* x;  // (m, p)
  const double* y;  // (m), or null
  const std::int64_t* own[2];
  std::int64_t m;
};

struct DensityRule {
  const double* grid;  // (g)
  std::int64_t g, n_bootstrap;
  double quantile, threshold, ratio_quantile;
};

// Arm 0 is control, 1 treated. Of the arrays behind ess all but prior_b and mean_b together may be
// null.
struct DensityOut {
  double *prior, *lfdr;                    // (m); lfdr NaN without y
  double *mean[2], *ess[2];                // (m)
  double *prior_b, *mean_b[2];             // (m, B), or null
  double *point[2], *lower[2], *upper[2];  // (m, g), or null
};

void density_bootstrap_cpu(const DensityArm (&arms)[2], const DensityQueries& queries,
                           const DensityRule& rule, int n_threads, const DensityOut& out);
void density_bootstrap_cuda(const DensityArm (&arms)[2], const DensityQueries& queries,
                            const DensityRule& rule, const DensityOut& out);

// counts (B, n): how often each resample of an arm (0 control, 1 treated) counts each row.
void density_resamples(std::int64_t n, std::int64_t n_bootstrap, int arm, std::uint64_t seed,
                       int n_threads, std::uint16_t* counts);

// Settings of one arm: every combination of k (ascending), hx and hy.
struct DensityGrid {
  const std::int64_t* k;
  const double *hx, *hy;
  std::int64_t n_k, n_hx, n_hy;
};

// Log density of the rows first..last given all others; out (last - first, n_k, n_hx, n_hy).
void density_loo_cpu(const double* x, const double* y, std::int64_t n, std::int64_t p,
                     const DensityGrid& settings, std::int64_t first, std::int64_t last,
                     int n_threads, double* out);

// Distance of the rows first..last to their ranks-th nearest other row (ranks ascending, from 1);
// out (last - first, n_ranks).
void density_spread_cpu(const double* x, std::int64_t n, std::int64_t p, const std::int64_t* ranks,
                        std::int64_t n_ranks, std::int64_t first, std::int64_t last, int n_threads,
                        double* out);

}  // namespace nb26
