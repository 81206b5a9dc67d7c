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
    order(m);
    index.resize(at(m));
    square.resize(at(m));
    for (std::size_t r = 0; r < at(m); ++r) {
      square[r] = ordered_[r].first;
      index[r] = ordered_[r].second;
    }
    return m == others;
  }

 private:
  using Row = std::pair<double, std::int32_t>;

  // By distance, then by row.
  static bool nearer(const Row& a, const Row& b) {
    return a.first != b.first ? a.first < b.first : a.second < b.second;
  }

  // Rows among which the m nearest are: all within a distance that a sample suggests, or all.
  void collect(std::int64_t n, std::int64_t m, std::int64_t own) {
    constexpr double kMost = std::numeric_limits<double>::max();
    const std::int64_t step = n / kSample;
    if (step > 1) {
      sample_.clear();
      for (std::int64_t j = step / 2; j < n; j += step) sample_.push_back(all_[at(j)]);
      const double share = static_cast<double>(m) / static_cast<double>(step);
      const auto rank = static_cast<std::size_t>(share + 4.0 * std::sqrt(share) + 4.0);
      if (rank < sample_.size()) {
        std::nth_element(sample_.begin(), sample_.begin() + static_cast<std::ptrdiff_t>(rank),
                         sample_.end());
        // of what has no finite distance, the row itself is one
        if (sample_[rank] <= kMost && within(n, sample_[rank]) >= m) return;
      }
    }
    near_.clear();
    for (std::int64_t j = 0; j < n; ++j) {
      // what is no number would not sort
      const double square_j = all_[at(j)] <= kMost ? all_[at(j)] : kMost;
      if (j != own) near_.push_back({square_j, static_cast<std::int32_t>(j)});
    }
  }

  // The first m of the candidates in order: buckets of equal width, then each bucket by itself.
  void order(std::int64_t m) {
    const auto n = static_cast<std::int64_t>(near_.size());
    double least = near_[0].first, most = least;
    for (const Row& row : near_) {
      least = std::min(least, row.first);
      most = std::max(most, row.first);
    }
    ordered_.resize(at(n));
    starts_.assign(at(n + 1), 0);
    bucket_.resize(at(n));
    const double scale = most > least ? static_cast<double>(n - 1) / (most - least) : 0.0;
    for (std::int64_t j = 0; j < n; ++j) {
      bucket_[at(j)] = static_cast<std::int32_t>((near_[at(j)].first - least) * scale);
      ++starts_[at(bucket_[at(j)] + 1)];
    }
    std::int64_t buckets = 0;  // as many as hold m rows
    for (; buckets < n && starts_[at(buckets)] < m; ++buckets) {
      starts_[at(buckets + 1)] += starts_[at(buckets)];
    }
    ends_.assign(starts_.begin(), starts_.begin() + buckets);
    for (std::int64_t j = 0; j < n; ++j) {
      if (bucket_[at(j)] < buckets) ordered_[at(ends_[at(bucket_[at(j)])]++)] = near_[at(j)];
    }
    for (std::int64_t b = 0; b < buckets; ++b) {
      const auto first = ordered_.begin() + starts_[at(b)], last = ordered_.begin() + ends_[at(b)];
      if (last - first > 1) std::sort(first, last, nearer);
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
  std::vector<Row> near_, ordered_;
  std::vector<std::int32_t> bucket_, starts_, ends_;
};

}  // namespace nb26
