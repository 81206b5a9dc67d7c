// The search for the settings of a conditional density: threads over the rows left out.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "density_near.hpp"
#include "nb26/density.hpp"
#include "nb26/density_api.hpp"
#include "nb26/isa.hpp"
#include "nb26/math.hpp"
#include "nb26/threads.hpp"

namespace nb26 {
namespace {

// Log densities of one row under every setting from its nearest others: square, own (n), y of the
// row. Room for kernels (n), outcomes (n, wide) and sums (wide), wide being n_hy rounded up to 8.
struct LooRow {
  const double *square, *own;
  std::int64_t n;
  double y;
  DensityGrid settings;
  std::int64_t wide;
  double *exponent, *kernel, *outcomes, *sums, *out;
};

NB26_HD void loo_body(const LooRow& g) {
  const DensityGrid& s = g.settings;
  for (std::int64_t h = 0; h < s.n_hy; ++h) {
    const double scale = 1.0 / s.hy[h];
    for (std::int64_t r = 0; r < g.n; ++r) {
      const double z = (g.y - g.own[r]) * scale;
      g.outcomes[r * g.wide + h] = density_kernel(-0.5 * z * z);
    }
  }
  for (std::int64_t w = 0; w < s.n_hx; ++w) {
    density_exponents(g.square, g.n, s.hx[w], g.exponent, g.kernel);
    for (std::int64_t h = 0; h < g.wide; ++h) g.sums[h] = 0.0;
    double total = 0.0;
    std::int64_t r = 0;
    for (std::int64_t v = 0; v < s.n_k; ++v) {
      const std::int64_t k = s.k[v] < g.n ? s.k[v] : g.n;
      for (; r < k; ++r) {
        const double weight = g.kernel[r];
        const double* __restrict from = g.outcomes + r * g.wide;
        double* __restrict sums = g.sums;
        total += weight;
        for (std::int64_t h = 0; h < g.wide; ++h) sums[h] += weight * from[h];
      }
      double* to = g.out + (v * s.n_hx + w) * s.n_hy;
      for (std::int64_t h = 0; h < s.n_hy; ++h) {
        to[h] = log(density_clip(g.sums[h] / (total * (s.hy[h] * kRootTwoPi))));
      }
    }
  }
}

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

NB26_ISA_TABLE(loo_at_level, loo_body, (const LooRow& g), (g))

}  // namespace

void density_loo_cpu(const double* x, const double* y, std::int64_t n, std::int64_t p,
                     const DensityGrid& settings, std::int64_t first, std::int64_t last,
                     int n_threads, double* out) {
  const std::int64_t most = settings.k[settings.n_k - 1];
  const std::int64_t size = settings.n_k * settings.n_hx * settings.n_hy;
  const std::int64_t wide = (settings.n_hy + kDensityLanes - 1) / kDensityLanes * kDensityLanes;
  const int threads = threads_for(n_threads, last - first);
#pragma omp parallel num_threads(threads)
  {
    DensityNear near;
    std::vector<double> own, query(static_cast<std::size_t>(p)),
        room(static_cast<std::size_t>(most * (wide + 2) + wide));
#pragma omp for schedule(dynamic, 16)
    for (std::int64_t i = first; i < last; ++i) {
      for (std::int64_t c = 0; c < p; ++c) query[static_cast<std::size_t>(c)] = x[c * n + i];
      near.find(x, n, p, query.data(), i, most);
      const std::size_t found = near.index.size();
      own.resize(found);
      for (std::size_t r = 0; r < found; ++r) own[r] = y[near.index[r]];
      double* outcomes = room.data() + 2 * most;
      loo_at_level({near.square.data(), own.data(), static_cast<std::int64_t>(found), y[i],
                    settings, wide, room.data(), room.data() + most, outcomes,
                    outcomes + most * wide, out + (i - first) * size});
    }
  }
}

void density_spread_cpu(const double* x, std::int64_t n, std::int64_t p, const std::int64_t* ranks,
                        std::int64_t n_ranks, std::int64_t first, std::int64_t last, int n_threads,
                        double* out) {
  if (p == 1) return spread_of_numbers(x, n, ranks, n_ranks, first, last, n_threads, out);
  const int threads = threads_for(n_threads, last - first);
#pragma omp parallel num_threads(threads)
  {
    std::vector<double> square(static_cast<std::size_t>(n)), query(static_cast<std::size_t>(p));
#pragma omp for schedule(dynamic, 16)
    for (std::int64_t i = first; i < last; ++i) {
      for (std::int64_t c = 0; c < p; ++c) query[static_cast<std::size_t>(c)] = x[c * n + i];
      squares_at_level(x, n, p, query.data(), square.data());
      // the row itself goes to the end, and the ranks are found from the largest down
      std::swap(square[static_cast<std::size_t>(i)], square.back());
      auto end = square.end() - 1;
      for (std::int64_t r = n_ranks - 1; r >= 0; --r) {
        const auto at = square.begin() + (ranks[r] - 1);
        std::nth_element(square.begin(), at, end);
        out[(i - first) * n_ranks + r] = std::sqrt(*at);
        end = at;
      }
    }
  }
}

}  // namespace nb26
