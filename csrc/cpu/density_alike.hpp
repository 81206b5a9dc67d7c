// Sums for arms without covariates: all rows are equally near, so that queries differ by the row
// that they are themselves and by their outcome.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "aligned.hpp"
#include "nb26/density.hpp"
#include "nb26/density_api.hpp"
#include "nb26/threads.hpp"

namespace nb26 {

// Level: the pieces at one instruction set.
template <class Level>
class DensityAlike {
 public:
  // Whether every query counts all rows of the arm, but for one.
  static bool holds(const DensityArm& arm) { return arm.p == 0 && arm.k >= arm.n - 1; }

  // table (n, columns): outcome kernels at the grid, 0, the outcome and 1.
  DensityAlike(const DensityArm& arm, const double* table, const DensityRule& rule, int n_threads)
      : arm_(&arm),
        table_(table),
        fits_(rule.n_bootstrap + 1),
        g_(rule.g),
        columns_(density_columns(rule.g)),
        wide_((fits_ + kDensityLanes - 1) / kDensityLanes * kDensityLanes) {
    row_.resize(at(arm.n));
    std::iota(row_.begin(), row_.end(), 0);
    counts_.assign(at(arm.n * wide_), 0.0);
    whole_.assign(at(fits_ * columns_), 0.0);
    last_.assign(at(fits_), -1);
    const int threads = threads_for(n_threads, fits_);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::int64_t b = 0; b < fits_; ++b) add_all(b);
  }

  // Sums (fits, columns) of a query; false where a resample has nothing but the query itself. y:
  // its outcome, or null. kernel (n) and lanes (wide): room.
  bool sums(std::int64_t own, const double* y, LineVector& kernel, LineVector& lanes,
            double* fits) const {
    kernel.resize(at(arm_->n));
    lanes.assign(at(wide_), 0.0);
    if (y) {
      Level::outcomes(y, 1, arm_->y, arm_->n, arm_->hy, arm_->n, kernel.data());
      if (own >= 0) kernel[at(own)] = 0.0;
      for (std::int64_t c = 0; c < wide_; c += kDensityLanes) {
        Level::template panel<1>(counts_.data() + c, wide_, row_.data(), kernel.data(), arm_->n,
                                 lanes.data() + c);
      }
    }
    std::copy_n(whole_.data(), fits_ * columns_, fits);
    for (std::int64_t b = 0; b < fits_; ++b) {
      double* __restrict fit = fits + b * columns_;
      const std::int64_t last = last_[at(b)], count = own < 0 ? 0 : counted(b, own);
      if (count == arm_->n) return false;
      fit[g_] = lanes[at(b)];
      if (count == 0) continue;
      add(-counts_[at(own * wide_ + b)], own, fit);
      if (last >= 0 && last != own) {  // the query makes room for it
        add(1.0, last, fit);
        if (y) fit[g_] += kernel[at(last)];
      }
      // what rounding leaves far from all other rows
      for (std::int64_t c = 0; c < g_; ++c) fit[c] = fit[c] < 0.0 ? 0.0 : fit[c];
    }
    return true;
  }

 private:
  std::int64_t counted(std::int64_t b, std::int64_t j) const {
    return b + 1 < fits_ ? arm_->counts[b * arm_->n + j] : 1;
  }

  // Counts of fit b and their sum; at most k count, the last rows first to go.
  void add_all(std::int64_t b) {
    std::int64_t excess = -arm_->k;
    for (std::int64_t j = 0; j < arm_->n; ++j) {
      counts_[at(j * wide_ + b)] = static_cast<double>(counted(b, j));
      excess += counted(b, j);
    }
    if (excess > 0) {
      std::int64_t last = arm_->n - 1;
      while (counted(b, last) == 0) --last;
      counts_[at(last * wide_ + b)] -= 1.0;
      last_[at(b)] = last;
    }
    std::vector<double> weight(at(arm_->n));
    for (std::int64_t j = 0; j < arm_->n; ++j) weight[at(j)] = counts_[at(j * wide_ + b)];
    for (std::int64_t c = 0; c < columns_; c += kDensityLanes) {
      Level::template panel<1>(table_ + c, columns_, row_.data(), weight.data(), arm_->n,
                               whole_.data() + b * columns_ + c);
    }
  }

  void add(double weight, std::int64_t j, double* __restrict fit) const {
    const double* __restrict from = table_ + j * columns_;
    for (std::int64_t c = 0; c < columns_; ++c) fit[c] += weight * from[c];
  }

  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  const DensityArm* arm_;
  const double* table_;
  std::int64_t fits_, g_, columns_, wide_;
  std::vector<std::int32_t> row_;   // 0, 1, ...
  std::vector<std::int64_t> last_;  // (fits) row of which one count is left out; -1 for none
  LineVector counts_;               // (n, wide)
  LineVector whole_;                // (fits, columns)
};

}  // namespace nb26
