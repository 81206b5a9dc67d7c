// The rows nearest to a point.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "nb26/density.hpp"
#include "nb26/isa.hpp"

namespace nb26 {

NB26_ISA_TABLE(squares_at_level, density_squares,
               (const double* x, std::int64_t n, std::int64_t p, const double* query,
                double* square),
               (x, n, p, query, square))

struct DensityNear {
  std::vector<std::int32_t> index;  // by distance, then by row
  std::vector<double> square;

  // The `depth` rows of x (p, n) nearest to the query, without row own; true where these are all.
  bool find(const double* x, std::int64_t n, std::int64_t p, const double* query, std::int64_t own,
            std::int64_t depth) {
    const std::int64_t others = n - (own >= 0);
    const std::int64_t m = std::min(depth, others);
    all_.resize(static_cast<std::size_t>(n));
    squares_at_level(x, n, p, query, all_.data());
    if (own >= 0) all_[static_cast<std::size_t>(own)] = std::numeric_limits<double>::infinity();
    collect(n, m, own);
    // by distance, then by row, as pairs order
    if (static_cast<std::int64_t>(near_.size()) > m) {
      std::nth_element(near_.begin(), near_.begin() + (m - 1), near_.end());
      near_.resize(static_cast<std::size_t>(m));
    }
    std::sort(near_.begin(), near_.end());
    index.resize(near_.size());
    square.resize(near_.size());
    for (std::size_t r = 0; r < near_.size(); ++r) {
      square[r] = near_[r].first;
      index[r] = near_[r].second;
    }
    return m == others;
  }

 private:
  // Rows among which the m nearest are: all within a distance that a sample suggests, or all.
  void collect(std::int64_t n, std::int64_t m, std::int64_t own) {
    const std::int64_t step = n / kSample;
    if (step > 1) {
      sample_.clear();
      for (std::int64_t j = step / 2; j < n; j += step) sample_.push_back(all_[at(j)]);
      const double share = static_cast<double>(m) / static_cast<double>(step);
      const auto rank = static_cast<std::size_t>(share + 4.0 * std::sqrt(share) + 4.0);
      if (rank < sample_.size()) {
        std::nth_element(sample_.begin(), sample_.begin() + static_cast<std::ptrdiff_t>(rank),
                         sample_.end());
        if (within(n, sample_[rank]) >= m) return;
      }
    }
    constexpr double kMost = std::numeric_limits<double>::max();
    near_.clear();
    for (std::int64_t j = 0; j < n; ++j) {
      // what is no number would not sort
      const double square_j = all_[at(j)] <= kMost ? all_[at(j)] : kMost;
      if (j != own) near_.push_back({square_j, static_cast<std::int32_t>(j)});
    }
  }

  std::int64_t within(std::int64_t n, double last) {
    near_.resize(at(n));
    std::int64_t count = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      near_[at(count)] = {all_[at(j)], static_cast<std::int32_t>(j)};
      count += all_[at(j)] <= last;
    }
    near_.resize(at(count));
    return count;
  }

  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  static constexpr std::int64_t kSample = 256;
  std::vector<double> all_, sample_;
  std::vector<std::pair<double, std::int32_t>> near_;
};

}  // namespace nb26
