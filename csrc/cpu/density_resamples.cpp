// How often each resample of an arm counts each row.

#include <algorithm>
#include <cstdint>

#include "nb26/density_api.hpp"
#include "nb26/philox.hpp"
#include "nb26/threads.hpp"

namespace nb26 {

void density_resamples(std::int64_t n, std::int64_t n_bootstrap, int arm, std::uint64_t seed,
                       int n_threads, std::uint16_t* counts) {
  const PhiloxKey key = philox_key(seed, kDensitySalt);
  const int threads = threads_for(n_threads, n_bootstrap);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t b = 0; b < n_bootstrap; ++b) {
    std::uint16_t* row = counts + b * n;
    std::fill_n(row, n, std::uint16_t{0});
    const auto stream = 2 * static_cast<std::uint64_t>(b) + static_cast<std::uint64_t>(arm);
    for (std::int64_t j = 0; j < n; ++j) {
      const PhiloxWords w = philox(static_cast<std::uint64_t>(j), stream, key);
      // floor(n (r0 + 2^32 r1) / 2^64) without numbers of 128 bits
      const std::uint64_t rows = static_cast<std::uint64_t>(n);
      ++row[(rows * w.r1 + (rows * w.r0 >> 32)) >> 32];
    }
  }
}

}  // namespace nb26
