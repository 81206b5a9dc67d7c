// Oja's estimate and its replicates from rows of a sparse matrix.
//
// With Xi the sum of the rows before row t, the centred row is y = alpha (x - Xi / (t - 1)),
// alpha = sqrt((t - 1) / t). Every product with centred rows is one with the rows themselves and
// one with the mean of the rows before the block, followed by running sums; no centred row is made.
#pragma once

#include <cstdint>

#include "nb26/oja_api.hpp"

namespace nb26 {

// Row i has values at columns[starts[i]..starts[i + 1]), which ascend.
template <typename T>
struct OjaSparseRows {
  const T* values;
  const std::int32_t* columns;
  const std::int64_t* starts;  // (n + 1)
  std::int64_t n;
};

// Members of moments, in this order.
enum OjaMoment {
  kTotalSquare,      // |Xi|^2
  kBaseSquare,       // the same where the open block starts
  kLastTotalSquare,  // |Xi|^2 before the last row
  kLastTotalDot,     // Xi before the last row, times that row
  kLastSquare,       // squared length of the last row
  kHasRowBefore,     // 1 where the row before the open block is known; without one the first row
                     // of the block has none that paired weights could take from
  kOjaMoments
};

template <typename T>
struct OjaSparseState {
  OjaState<T> own;    // mean, open_rows and last_row are null
  double* total;      // (d) Xi
  double* base;       // (d) Xi where the open block starts
  double* projected;  // (k0) directions times Xi
  double* moments;    // (kOjaMoments)
};

// Closed blocks on their way to the replicates. Their rows stay where the call found them; with
// paired weights a block starts with the row before it, if that is known.
template <typename T>
struct OjaSparseSlots {
  T* mean;              // (slots, d rounded up to 8) of the rows before the block
  T* gram;              // as in OjaSlots
  double* steps;        // as in OjaSlots
  std::int64_t* sizes;  // (slots, 3): as in OjaSlots, then the place of the first row in the call
  std::int64_t slots;
};

// Count rows into the pilot; stops like oja_rows.
template <typename T>
OjaProgress oja_sparse_pilot(const OjaShape&, const OjaRule&, const OjaSparseState<T>&,
                             const OjaSparseRows<T>&);

// What depends on the directions or starts a block, computed anew from them and from total.
template <typename T>
void oja_sparse_settle(const OjaShape&, const OjaSparseState<T>&);

// Rows of the matrix that the state has seen already: the open block, and the row before it once
// the pilot is over.
inline std::int64_t oja_sparse_held(const std::int64_t* counts) {
  return counts[kRowsOpen] + (counts[kRowsSeen] - counts[kRowsOpen] > counts[kPilotRows] ? 1 : 0);
}

// Absorb the rows after the first oja_sparse_held; like oja_rows otherwise.
template <typename T>
OjaProgress oja_sparse_rows(const OjaShape&, const OjaRule&, const OjaSparseState<T>&,
                            const OjaSparseRows<T>&, const double* steps, const OjaSparseSlots<T>&,
                            bool keep);

// Close the open block, which the matrix ends with, into slot 0.
template <typename T>
std::int64_t oja_sparse_close(const OjaShape&, bool center, const OjaSparseState<T>&,
                              const OjaSparseRows<T>&, const OjaSparseSlots<T>&);

template <typename T>
void oja_sparse_replicates(const OjaShape&, bool center, const OjaWeights&, const OjaSparseRows<T>&,
                           const OjaSparseSlots<T>&, std::int64_t blocks, T* replicates,
                           std::int64_t groups, std::int64_t first, int n_threads);

}  // namespace nb26
