// Distance of the span of L iterates side by side from a given span: lane = replicate.
#pragma once

#include <cstdint>

#include "nb26/hd.hpp"
#include "nb26/oja_lanes.hpp"

namespace nb26 {

// overlap[s] = <row j + s of u, column i of w>, for N rows at a time.
template <int Isa, typename T, int L, int N>
NB26_HD void oja_overlaps(const T* __restrict w, const double* __restrict u, std::int64_t d,
                          std::int64_t step, double* __restrict overlap) {
  double sum[N][L];
  NB26_UNROLL
  for (int s = 0; s < N; ++s) {
    for (int l = 0; l < L; ++l) sum[s][l] = 0.0;
  }
  for (std::int64_t c = 0; c < d; ++c) {
    double b[L];
    for (int l = 0; l < L; ++l) b[l] = static_cast<double>(w[c * step + l]);
    NB26_UNROLL
    for (int s = 0; s < N; ++s) {
      const double a = u[s * d + c];
      for (int l = 0; l < L; ++l) sum[s][l] = madd<kOjaFused<Isa>>(a, b[l], sum[s][l]);
    }
  }
  NB26_UNROLL
  for (int s = 0; s < N; ++s) {
    for (int l = 0; l < L; ++l) overlap[s * L + l] = sum[s][l];
  }
}

// out[l] = sum of squares of what of the columns of w (d, k, L) is outside the span of the
// orthonormal rows of u (k, d): the residual itself, since one minus the overlap would cancel when
// the spans are close. overlap: room for (k, L).
template <int Isa, typename T, int L>
NB26_HD void oja_errors_body(const T* __restrict w, const double* __restrict u, std::int64_t d,
                             std::int64_t k, double* __restrict overlap, double* __restrict out) {
  double total[L];
  for (int l = 0; l < L; ++l) total[l] = 0.0;
  for (std::int64_t i = 0; i < k; ++i) {
    const T* column = w + i * L;
    std::int64_t j = 0;
    for (; j + 4 <= k; j += 4) {
      oja_overlaps<Isa, T, L, 4>(column, u + j * d, d, k * L, overlap + j * L);
    }
    for (; j < k; ++j) oja_overlaps<Isa, T, L, 1>(column, u + j * d, d, k * L, overlap + j * L);
    for (std::int64_t c = 0; c < d; ++c) {
      double rest[L];
      for (int l = 0; l < L; ++l) rest[l] = static_cast<double>(column[c * k * L + l]);
      for (j = 0; j < k; ++j) {
        const double part = -u[j * d + c];
        double b[L];
        for (int l = 0; l < L; ++l) b[l] = overlap[j * L + l];
        for (int l = 0; l < L; ++l) rest[l] = madd<kOjaFused<Isa>>(part, b[l], rest[l]);
      }
      for (int l = 0; l < L; ++l) total[l] = madd<kOjaFused<Isa>>(rest[l], rest[l], total[l]);
    }
  }
  for (int l = 0; l < L; ++l) out[l] = total[l];
}

}  // namespace nb26
