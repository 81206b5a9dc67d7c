// Entry points of the Oja kernels that have no number type.

#include "nb26/oja.hpp"

#include <algorithm>
#include <cstdint>

#include "nb26/oja_api.hpp"

namespace nb26 {

void oja_refresh(const OjaShape& shape, const OjaRule& rule, double* tracked, std::int64_t* counts,
                 double* sums) {
  const std::int64_t k = shape.components, k0 = shape.tracked;
  double* epoch = tracked + kEpochSquares * k0;
  const double rows = static_cast<double>(counts[kEpochRows]);
  const double t = static_cast<double>(counts[kRowsSeen]);
  const double trace = sums[kSquares] / t;
  bool resolved = true;
  if (rule.refresh_gap) {
    const double last = epoch[k - 1] / rows;
    const double gap = k0 > k ? last - epoch[k] / rows : last;
    const double least = std::max(1e-3 * last, 1e-8 * trace);
    sums[kGap] = std::max(gap, least);
    resolved = gap >= least;
    sums[kGapAtFloor] = resolved ? 0.0 : 1.0;
  }
  // a gap that went out of sight, as in drifting rows, must not bring the first steps back
  if (rule.refresh_steps && (resolved || !(sums[kStepScale] > 0.0))) {
    sums[kStepScale] = rule.c / sums[kGap];
    sums[kStepOffset] = std::max(0.0, sums[kStepScale] * trace / rule.kappa - t);
  }
  for (std::int64_t j = 0; j < k0; ++j) epoch[j] = 0.0;
  counts[kEpochRows] = 0;
  counts[kNextRefresh] = 2 * counts[kRowsSeen];
}

void oja_multipliers(const OjaWeights& weights, std::int64_t first, std::int64_t n_replicates,
                     std::int64_t row, std::int64_t n, double* out) {
  const PhiloxKey key = philox_key(weights.seed, kOjaSalt);
  for (std::int64_t b = 0; b < n_replicates; ++b) {
    const auto replicate = static_cast<std::uint64_t>(first + b);
    for (std::int64_t j = 0; j < n; ++j) {
      const std::uint64_t index = oja_weight_index(weights, row + j);
      double* omega = out + b * n + j;
      if (weights.kind == OjaMultiplier::kDouble) {
        *omega = oja_weight<OjaMultiplier::kDouble>(index, replicate, key);
      } else if (weights.kind == OjaMultiplier::kExponential) {
        *omega = oja_weight<OjaMultiplier::kExponential>(index, replicate, key);
      } else {
        *omega = oja_weight<OjaMultiplier::kPaired>(index, replicate, key);
      }
    }
  }
}

}  // namespace nb26
