// Likelihood of the settings of a conditional density: threads over the rows left out.

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

}  // namespace nb26
