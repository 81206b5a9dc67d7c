// How far the neighbours of a row are: candidates for the widths of a conditional density.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "density_near.hpp"
#include "nb26/density_api.hpp"
#include "nb26/isa.hpp"
#include "nb26/math.hpp"
#include "nb26/threads.hpp"

namespace nb26 {
namespace {

// Distance to the rank-th nearest other of the ordered values to the one at place i: the shorter of
// the longer sides of the stretches of rank + 1 values around it.
double sorted_distance(const std::vector<double>& sorted, std::int64_t i, std::int64_t rank) {
  const auto value = [&sorted](std::int64_t j) { return sorted[static_cast<std::size_t>(j)]; };
  const auto n = static_cast<std::int64_t>(sorted.size());
  std::int64_t first = std::max<std::int64_t>(0, i - rank), last = std::min(i, n - 1 - rank);
  // the leftmost stretch whose right side is the longer one, and the one before it
  while (first < last) {
    const std::int64_t middle = (first + last) / 2;
    if (value(middle + rank) - value(i) >= value(i) - value(middle)) {
      last = middle;
    } else {
      first = middle + 1;
    }
  }
  const auto longer = [&](std::int64_t j) {
    return std::max(value(j + rank) - value(i), value(i) - value(j));
  };
  const std::int64_t before = std::max({first - 1, i - rank, std::int64_t{0}});
  return std::min(longer(first), longer(before));
}

// The same as of points, for numbers: no distance is computed but those that are wanted.
void spread_of_numbers(const double* x, std::int64_t n, const std::int64_t* ranks,
                       std::int64_t n_ranks, std::int64_t first, std::int64_t last, int n_threads,
                       double* out) {
  std::vector<double> sorted(x, x + n);
  std::sort(sorted.begin(), sorted.end());
  const int threads = threads_for(n_threads, last - first);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t i = first; i < last; ++i) {
    const auto place = std::lower_bound(sorted.begin(), sorted.end(), x[i]) - sorted.begin();
    for (std::int64_t r = 0; r < n_ranks; ++r) {
      out[(i - first) * n_ranks + r] = sorted_distance(sorted, place, ranks[r]);
    }
  }
}

// Buckets of equal width, n of them, into which n numbers fall.
NB26_HD void bucket_body(const double* __restrict values, std::int64_t n,
                         std::int32_t* __restrict out) {
  double least = MathTraits<double>::kLargest, most = -least;
  for (std::int64_t j = 0; j < n; ++j) {
    least = pick(values[j] < least, values[j], least);
    most = pick(values[j] > most, values[j], most);
  }
  const double last = static_cast<double>(n - 1);
  const double scale = most > least ? last / (most - least) : 0.0;
  for (std::int64_t j = 0; j < n; ++j) {
    // what is no number goes to the end
    double at = (values[j] - least) * scale;
    at = pick(at < last, at, last);
    out[j] = static_cast<std::int32_t>(pick(at > 0.0, at, 0.0));
  }
}

NB26_ISA_TABLE(buckets_at_level, bucket_body,
               (const double* values, std::int64_t n, std::int32_t* out), (values, n, out))

// Values of some ranks (ascending, from 1) among n numbers: only buckets with such a rank are
// looked into.
class Ranked {
 public:
  void find(const double* values, std::int64_t n, const std::int64_t* ranks, std::int64_t n_ranks,
            double* out) {
    bucket_.resize(at(n));
    below_.assign(at(n + 1), 0);
    group_.assign(at(n), -1);
    buckets_at_level(values, n, bucket_.data());
    for (std::int64_t j = 0; j < n; ++j) ++below_[at(bucket_[at(j)] + 1)];
    for (std::int64_t b = 0; b < n; ++b) below_[at(b + 1)] += below_[at(b)];
    // buckets that hold a rank, by the number of the first such rank
    std::int64_t b = 0;
    groups_.resize(at(n_ranks));
    wanted_.clear();
    for (std::int64_t r = 0; r < n_ranks; ++r) {
      while (below_[at(b + 1)] < ranks[r]) ++b;
      if (group_[at(b)] < 0) {
        group_[at(b)] = static_cast<std::int32_t>(wanted_.size());
        groups_[wanted_.size()].clear();
        wanted_.push_back(b);
      }
    }
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int32_t group = group_[at(bucket_[at(j)])];
      if (group >= 0) groups_[at(group)].push_back(values[j]);
    }
    b = 0;
    for (std::int64_t r = 0; r < n_ranks; ++r) {
      while (below_[at(b + 1)] < ranks[r]) ++b;
      std::vector<double>& held = groups_[at(group_[at(b)])];
      const auto place = held.begin() + (ranks[r] - below_[at(b)] - 1);
      std::nth_element(held.begin(), place, held.end());
      out[r] = *place;
    }
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  std::vector<std::int32_t> bucket_, below_, group_;
  std::vector<std::vector<double>> groups_;
  std::vector<std::int64_t> wanted_;
};

}  // namespace

void density_spread_cpu(const double* x, std::int64_t n, std::int64_t p, const std::int64_t* ranks,
                        std::int64_t n_ranks, std::int64_t first, std::int64_t last, int n_threads,
                        double* out) {
  if (p == 1) return spread_of_numbers(x, n, ranks, n_ranks, first, last, n_threads, out);
  const int threads = threads_for(n_threads, last - first);
#pragma omp parallel num_threads(threads)
  {
    std::vector<double> square(static_cast<std::size_t>(n)), query(static_cast<std::size_t>(p));
    Ranked ranked;
#pragma omp for schedule(dynamic, 16)
    for (std::int64_t i = first; i < last; ++i) {
      for (std::int64_t c = 0; c < p; ++c) query[static_cast<std::size_t>(c)] = x[c * n + i];
      squares_at_level(x, n, p, query.data(), square.data());
      std::swap(square[static_cast<std::size_t>(i)], square.back());
      double* to = out + (i - first) * n_ranks;
      ranked.find(square.data(), n - 1, ranks, n_ranks, to);
      for (std::int64_t r = 0; r < n_ranks; ++r) to[r] = std::sqrt(to[r]);
    }
  }
}

}  // namespace nb26
