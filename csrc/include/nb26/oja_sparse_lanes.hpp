// The block update for sparse rows. The iterates are laid out as in oja_lanes.hpp: W is (d8, k, L),
// and all k L numbers of one column of the data lie together.
//
// Lanes never mix, and every sum is one chain in a fixed order: over the entries of a row as they
// are stored, over rows as they came.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "nb26/hd.hpp"
#include "nb26/oja_lanes.hpp"
#include "nb26/oja_sparse_api.hpp"

namespace nb26 {

// Units of L numbers that a sum keeps in registers.
template <int Isa>
inline constexpr int kOjaSparseUnits = Isa == 2   ? 4
                                       : Isa == 1 ? 2
                                                  : 1;

// A sparse matrix against W, of which `step` numbers belong to one column of the data. Without
// columns the entries of a row are those of columns 0, 1, 2, ...
template <typename T>
struct OjaSparseProduct {
  const T* values;
  const std::int32_t* columns;
  const std::int64_t* starts;
  std::int64_t n;
  std::int64_t step;
};

// out (n, step) += rows W, for N units of L numbers from where w and out point.
template <int Isa, typename T, int L, int N, bool Dense>
NB26_HD void oja_gather_body(const OjaSparseProduct<T>& x, const T* __restrict w,
                             T* __restrict out) {
  for (std::int64_t i = 0; i < x.n; ++i) {
    T sum[N][L];
    NB26_UNROLL
    for (int u = 0; u < N; ++u) {
      for (int lane = 0; lane < L; ++lane) sum[u][lane] = out[i * x.step + u * L + lane];
    }
    const std::int64_t begin = x.starts[i], end = x.starts[i + 1];
    for (std::int64_t at = begin; at < end; ++at) {
      const std::int64_t c = Dense ? at - begin : static_cast<std::int64_t>(x.columns[at]);
      const T value = x.values[at];
      const T* __restrict row = w + c * x.step;
      NB26_UNROLL
      for (int u = 0; u < N; ++u) {
        for (int lane = 0; lane < L; ++lane) {
          sum[u][lane] = madd<kOjaFused<Isa>>(value, row[u * L + lane], sum[u][lane]);
        }
      }
    }
    NB26_UNROLL
    for (int u = 0; u < N; ++u) {
      for (int lane = 0; lane < L; ++lane) out[i * x.step + u * L + lane] = sum[u][lane];
    }
  }
}

// W += rows' change, change (n, step), for N units of L numbers.
template <int Isa, typename T, int L, int N, bool Dense>
NB26_HD void oja_scatter_body(const OjaSparseProduct<T>& x, const T* __restrict change,
                              T* __restrict w) {
  for (std::int64_t i = 0; i < x.n; ++i) {
    T part[N][L];
    NB26_UNROLL
    for (int u = 0; u < N; ++u) {
      for (int lane = 0; lane < L; ++lane) part[u][lane] = change[i * x.step + u * L + lane];
    }
    const std::int64_t begin = x.starts[i], end = x.starts[i + 1];
    for (std::int64_t at = begin; at < end; ++at) {
      const std::int64_t c = Dense ? at - begin : static_cast<std::int64_t>(x.columns[at]);
      const T value = x.values[at];
      T* __restrict row = w + c * x.step;
      NB26_UNROLL
      for (int u = 0; u < N; ++u) {
        for (int lane = 0; lane < L; ++lane) {
          row[u * L + lane] = madd<kOjaFused<Isa>>(value, part[u][lane], row[u * L + lane]);
        }
      }
    }
  }
}

// The pieces of one level for one number type and lane count.
template <typename T>
struct OjaSparsePieces {
  std::int64_t widest;  // units at a time, at most 4
  // [rows, or one dense row][units - 1]
  void (*gather[2][4])(const OjaSparseProduct<T>&, const T*, T*);
  void (*scatter[2][4])(const OjaSparseProduct<T>&, const T*, T*);
};

// Every unit of a product.
template <typename T>
void oja_over_units(void (*const (&piece)[4])(const OjaSparseProduct<T>&, const T*, T*),
                    std::int64_t widest, std::int64_t lanes, const OjaSparseProduct<T>& x,
                    const T* from, T* to) {
  for (std::int64_t at = 0; at < x.step; at += widest * lanes) {
    const std::int64_t units = std::min(widest, (x.step - at) / lanes);
    piece[units - 1](x, from + at, to + at);
  }
}

// The rows of one block: m of them from `begin`, the first of which is row first_row of the data.
template <typename T>
struct OjaSparseBlock {
  OjaSparseRows<T> rows;
  std::int64_t begin, m, first_row;
  const T* mean;  // of the rows before, (d); null without centring
};

// Columns of W that are worked on at a time where one pass over W does two things.
inline constexpr std::int64_t kOjaSparseStrip = 2 * kOjaDotColumns;

// Columns first.. of a dense row, at most a strip of them.
template <typename T>
struct OjaDenseStrip {
  std::int64_t starts[2];
  OjaSparseProduct<T> row;
  OjaDenseStrip(const T* dense, std::int64_t first, std::int64_t d, std::int64_t step)
      : starts{0, std::max<std::int64_t>(0, std::min(kOjaSparseStrip, d - first))},
        row{dense + first, nullptr, starts, 1, step} {}
  OjaDenseStrip(const OjaDenseStrip&) = delete;
  OjaDenseStrip& operator=(const OjaDenseStrip&) = delete;
};

// middle (k L) += mean W.
template <typename T>
void oja_mean_product(const OjaSparsePieces<T>& sparse, std::int64_t lanes, const T* mean,
                      const T* w, std::int64_t d, std::int64_t step, T* middle) {
  for (std::int64_t first = 0; first < d; first += kOjaSparseStrip) {
    const OjaDenseStrip<T> strip(mean, first, d, step);
    oja_over_units<T>(sparse.gather[1], sparse.widest, lanes, strip.row, w + first * step, middle);
  }
}

// W <- Q of (W + mean' middle), and after it middle = next W: W is large, so that it is read and
// written twice only.
template <typename T>
void oja_sparse_finish(const OjaPieces<T>& run, const OjaSparsePieces<T>& sparse, T* w,
                       std::int64_t d, std::int64_t k, const T* mean, const T* next, T* middle,
                       const OjaLaneScratch<T>& scratch) {
  const std::int64_t d8 = (d + 7) / 8 * 8, lanes = run.lanes, step = k * lanes;
  std::fill(scratch.finished, scratch.finished + lanes, 0.0);
  std::fill(scratch.factor, scratch.factor + k * (k + 1) / 2 * lanes, 0.0);
  for (std::int64_t first = 0; first < d8; first += kOjaSparseStrip) {
    if (mean) {
      const OjaDenseStrip<T> strip(mean, first, d, step);
      oja_over_units<T>(sparse.scatter[1], sparse.widest, lanes, strip.row, middle,
                        w + first * step);
    }
    oja_inner_products<T>(run, w + first * step, std::min(kOjaSparseStrip, d8 - first), k,
                          scratch.factor);
  }
  const bool done = oja_lanes_factor<T>(run, w, d8, k, 0, scratch);
  std::fill(middle, middle + step, T(0));
  for (std::int64_t first = 0; first < d8; first += kOjaSparseStrip) {
    run.solve(w + first * step, std::min(kOjaSparseStrip, d8 - first), k, scratch.solve);
    if (done && next) {
      const OjaDenseStrip<T> strip(next, first, d, step);
      oja_over_units<T>(sparse.gather[1], sparse.widest, lanes, strip.row, w + first * step,
                        middle);
    }
  }
  if (done) return;
  oja_lanes_orthonormalise<T>(run, w, d8, k, scratch, 1);
  if (next) oja_mean_product<T>(sparse, lanes, next, w, d, step, middle);
}

// One block applied to the iterates w (d8, k, L). The weights lie in the scratch; loose is scratch
// for (slot rows + 1) k L numbers, of which the first k L are the product of the block's mean with
// W, and on return that of `next`, the mean before the next block, if there is one.
template <typename T>
void oja_sparse_block(const OjaPieces<T>& run, const OjaSparsePieces<T>& sparse, T* w,
                      const OjaShape& shape, std::int64_t k, const OjaSparseBlock<T>& block,
                      const T* next, const T* gram, const OjaLaneScratch<T>& scratch, T* loose,
                      bool paired) {
  const std::int64_t m8 = oja_slot_rows(shape), lanes = run.lanes, step = k * lanes;
  const std::int64_t m = block.m, used = (m + 7) / 8 * 8;
  const OjaSparseProduct<T> rows{block.rows.values, block.rows.columns,
                                 block.rows.starts + block.begin, m, step};
  T* p = scratch.projections;
  T *middle = loose, *products = loose + step;

  std::fill(products, products + m * step, T(0));
  oja_over_units<T>(sparse.gather[0], sparse.widest, lanes, rows, w, products);
  for (std::int64_t i = 0; i < used; ++i) {
    const double t = static_cast<double>(block.first_row + i);
    const T alpha = static_cast<T>(std::sqrt((t - 1.0) / t)), part = static_cast<T>(1.0 / t);
    for (std::int64_t j = 0; j < k; ++j) {
      T* out = p + (j * m8 + i) * lanes;
      T* product = products + i * step + j * lanes;
      T* running = middle + j * lanes;
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        if (i >= m) {
          out[lane] = T(0);
        } else if (!block.mean) {
          out[lane] = product[lane];
        } else {
          const T difference = product[lane] - running[lane];
          out[lane] = alpha * difference;
          running[lane] += part * difference;
        }
      }
    }
  }
  for (std::int64_t j = 0; j < k; ++j) {
    (paired ? run.paired : run.recursion)(p + j * m8 * lanes, gram, m8, used, scratch.weights);
  }
  // backwards through the same recursion: what each row and the mean contribute
  std::fill(middle, middle + step, T(0));
  for (std::int64_t i = m - 1; i >= 0; --i) {
    const double t = static_cast<double>(block.first_row + i);
    const T alpha = static_cast<T>(std::sqrt((t - 1.0) / t)), part = static_cast<T>(1.0 / t);
    for (std::int64_t j = 0; j < k; ++j) {
      const T* change = p + (j * m8 + i) * lanes;
      T* product = products + i * step + j * lanes;
      T* running = middle + j * lanes;
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        if (!block.mean) {
          product[lane] = change[lane];
        } else {
          product[lane] = alpha * change[lane] + part * running[lane];
          running[lane] -= product[lane];
        }
      }
    }
  }
  oja_over_units<T>(sparse.scatter[0], sparse.widest, lanes, rows, products, w);
  oja_sparse_finish<T>(run, sparse, w, shape.columns, k, block.mean, next, middle, scratch);
}

}  // namespace nb26
