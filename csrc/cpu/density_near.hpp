// The rows nearest to a point.
#pragma once

#include <algorithm>
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
    ranked_ = all_;
    std::nth_element(ranked_.begin(), ranked_.begin() + (m - 1), ranked_.end());
    const double last = ranked_[static_cast<std::size_t>(m - 1)];
    // rows below the last distance, and of those at it the first ones
    near_.clear();
    std::int64_t below = 0;
    for (std::int64_t j = 0; j < n; ++j) below += all_[static_cast<std::size_t>(j)] < last;
    std::int64_t tied = m - below;
    for (std::int64_t j = 0; j < n; ++j) {
      const double square_j = all_[static_cast<std::size_t>(j)];
      if (square_j < last || (square_j == last && tied-- > 0)) {
        near_.push_back({square_j, static_cast<std::int32_t>(j)});
      }
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
  std::vector<double> all_, ranked_;
  std::vector<std::pair<double, std::int32_t>> near_;
};

}  // namespace nb26
