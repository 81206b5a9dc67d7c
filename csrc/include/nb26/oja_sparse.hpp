// The estimate from sparse rows, row by row on the host, as in oja_rows.hpp; see oja_sparse_api.hpp
// for how rows are centred. No fused operations in the sums that decide where a block closes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "nb26/oja_rows.hpp"
#include "nb26/oja_sparse_api.hpp"
#include "nb26/oja_sparse_lanes.hpp"

namespace nb26 {

// What a column of the block holds: `held` of `count` entries so far, from `begin`.
struct OjaSparseColumn {
  std::int64_t begin, held, count;
};

// Scratch for the products of rows.
struct OjaSparseScratch {
  std::int64_t* places;      // (d) number of each column that the block has seen, -1 between calls
  OjaSparseColumn* columns;  // one for each entry of the block, as are the next two
  std::int64_t* rows;
  double* values;
  double* products;  // (m, m)
  double* dots;      // (m)
};

// products[l][j] = x_l' x_j for j <= l, by the columns that the rows share; those with one entry
// cost nothing.
template <typename T>
void oja_sparse_products(const OjaSparseRows<T>& rows, std::int64_t begin, std::int64_t m,
                         const OjaSparseScratch& scratch) {
  const std::int64_t first = rows.starts[begin], end = rows.starts[begin + m];
  std::int64_t seen = 0;
  for (std::int64_t at = first; at < end; ++at) {
    std::int64_t& place = scratch.places[rows.columns[at]];
    if (place < 0) {
      place = seen++;
      scratch.columns[place] = {0, 0, 0};
    }
    scratch.columns[place].count += 1;
  }
  std::int64_t used = 0;
  for (std::int64_t i = 0; i < seen; ++i) {
    scratch.columns[i].begin = used;
    used += scratch.columns[i].count;
  }
  std::fill(scratch.products, scratch.products + m * m, 0.0);
  for (std::int64_t l = 0; l < m; ++l) {
    double* product = scratch.products + l * m;
    for (std::int64_t at = rows.starts[begin + l]; at < rows.starts[begin + l + 1]; ++at) {
      const double value = static_cast<double>(rows.values[at]);
      OjaSparseColumn& column = scratch.columns[scratch.places[rows.columns[at]]];
      product[l] += value * value;
      if (column.count == 1) continue;
      const std::int64_t* row = scratch.rows + column.begin;
      const double* other = scratch.values + column.begin;
      for (std::int64_t e = 0; e < column.held; ++e) product[row[e]] += value * other[e];
      scratch.rows[column.begin + column.held] = l;
      scratch.values[column.begin + column.held] = value;
      column.held += 1;
    }
  }
  for (std::int64_t at = first; at < end; ++at) scratch.places[rows.columns[at]] = -1;
}

// gram[j][l] = y_j' y_l for j <= l, zeros in the rest of what is looked at. scratch.products holds
// x_l' x_j, scratch.dots the products of the rows with Xi at the start of the block.
template <typename T>
void oja_sparse_gram(std::int64_t m, std::int64_t m8, std::int64_t first_row, bool center,
                     double base_square, const OjaSparseScratch& scratch, T* gram) {
  const std::int64_t used = (m + 7) / 8 * 8;
  for (std::int64_t j = 0; j < used; ++j) std::fill(gram + j * m8, gram + j * m8 + used, T(0));
  const double* products = scratch.products;
  double* dots = scratch.dots;  // x_l' Xi_j, Xi_j being the sum of the rows before row j
  double square = base_square;  // |Xi_j|^2
  for (std::int64_t j = 0; j < m; ++j) {
    const double t = static_cast<double>(first_row + j), scale = std::sqrt((t - 1.0) / t);
    const double part = t > 1.0 ? 1.0 / (t - 1.0) : 0.0;
    double forward = dots[j];  // x_j' Xi_l
    double across = square;    // Xi_j' Xi_l
    const double length = products[j * m + j] - 2.0 * (dots[j] * part) + square * part * part;
    gram[j * m8 + j] = static_cast<T>(center ? (t - 1.0) / t * length : products[j * m + j]);
    for (std::int64_t l = j + 1; l < m; ++l) {
      if (!center) {
        gram[j * m8 + l] = static_cast<T>(products[l * m + j]);
        continue;
      }
      forward += products[(l - 1) * m + j];
      across += dots[l - 1];
      const double u = static_cast<double>(first_row + l), other = 1.0 / (u - 1.0);
      const double value =
          products[l * m + j] - forward * other - dots[l] * part + across * part * other;
      gram[j * m8 + l] = static_cast<T>(scale * std::sqrt((u - 1.0) / u) * value);
    }
    square += 2.0 * dots[j] + products[j * m + j];
    for (std::int64_t l = j + 1; l < m; ++l) dots[l] += products[l * m + j];
  }
}

// Product of a direction with a dense vector; no fused operations, as everywhere in the sums that
// decide where a block closes.
template <typename T>
double oja_dense_dot(const T* a, const double* b, std::int64_t d) {
  double lane[8] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
  std::int64_t c = 0;
  for (; c + 8 <= d; c += 8) {
    for (int i = 0; i < 8; ++i) lane[i] += static_cast<double>(a[c + i]) * b[c + i];
  }
  for (int i = 0; c + i < d; ++i) lane[i] += static_cast<double>(a[c + i]) * b[c + i];
  return oja_lane_sum<double, 8>(lane);
}

// Product of a row with a dense vector.
template <typename T, typename V>
double oja_sparse_dot(const OjaSparseRows<T>& rows, std::int64_t i, const V* dense) {
  double sum = 0.0;
  for (std::int64_t at = rows.starts[i]; at < rows.starts[i + 1]; ++at) {
    sum += static_cast<double>(rows.values[at]) * static_cast<double>(dense[rows.columns[at]]);
  }
  return sum;
}

// Product of two rows.
template <typename T>
double oja_sparse_pair(const OjaSparseRows<T>& rows, std::int64_t i, std::int64_t j) {
  std::int64_t a = rows.starts[i], b = rows.starts[j];
  const std::int64_t a_end = rows.starts[i + 1], b_end = rows.starts[j + 1];
  double sum = 0.0;
  while (a < a_end && b < b_end) {
    const std::int32_t left = rows.columns[a], right = rows.columns[b];
    if (left == right) {
      sum += static_cast<double>(rows.values[a]) * static_cast<double>(rows.values[b]);
    }
    a += left <= right;
    b += right <= left;
  }
  return sum;
}

template <typename T>
void oja_sparse_settle_body(const OjaShape& shape, const OjaSparseState<T>& state) {
  const std::int64_t d = shape.columns;
  for (std::int64_t j = 0; j < shape.tracked; ++j) {
    state.projected[j] = oja_dense_dot<T>(state.own.directions + j * shape.stride, state.total, d);
  }
  state.moments[kTotalSquare] = oja_dense_dot<double>(state.total, state.total, d);
  state.moments[kBaseSquare] = state.moments[kTotalSquare];
}

// What one row adds, before it is absorbed.
struct OjaSparseRow {
  double raw;     // |x|^2
  double dot;     // x' Xi
  double part;    // 1 / (t - 1), 0 for the first row and without centring
  double scale;   // alpha, 1 without centring
  double size;    // |x|^2 + |Xi|^2 / (t - 1)^2: what rounding is measured by
  double square;  // |y|^2
};

template <typename T>
OjaSparseRow oja_sparse_row(const OjaRule& rule, const OjaSparseState<T>& state,
                            const OjaSparseRows<T>& rows, std::int64_t i) {
  const double t = static_cast<double>(state.own.counts[kRowsSeen] + 1);
  OjaSparseRow row{0.0, 0.0, 0.0, 1.0, 0.0, 0.0};
  for (std::int64_t at = rows.starts[i]; at < rows.starts[i + 1]; ++at) {
    const double value = static_cast<double>(rows.values[at]);
    row.raw += value * value;
    if (rule.center) row.dot += value * state.total[rows.columns[at]];
  }
  row.size = row.square = row.raw;
  if (!rule.center) return row;
  row.part = t > 1.0 ? 1.0 / (t - 1.0) : 0.0;
  row.scale = std::sqrt((t - 1.0) / t);
  const double middle = state.moments[kTotalSquare] * row.part * row.part;
  row.size += middle;
  // where rows that are all alike cancel, rounding leaves no length behind
  const double value = row.raw - 2.0 * (row.dot * row.part) + middle;
  const double noise = 64.0 * std::numeric_limits<double>::epsilon() * row.size;
  row.square = value <= noise ? 0.0 : (t - 1.0) / t * value;
  if (!oja_holds<T>(row.size)) row.square = row.size;
  return row;
}

// The sums over all rows take the row in.
template <typename T>
void oja_sparse_add(const OjaRule& rule, const OjaSparseState<T>& state,
                    const OjaSparseRows<T>& rows, std::int64_t i, const OjaSparseRow& row) {
  double* moments = state.moments;
  moments[kLastTotalSquare] = moments[kTotalSquare];
  moments[kLastTotalDot] = row.dot;
  moments[kLastSquare] = row.raw;
  if (!rule.center) return;
  moments[kTotalSquare] += 2.0 * row.dot + row.raw;
  for (std::int64_t at = rows.starts[i]; at < rows.starts[i + 1]; ++at) {
    state.total[rows.columns[at]] += static_cast<double>(rows.values[at]);
  }
}

// Product of centred rows t and t - 1.
template <typename T>
double oja_sparse_lag(const OjaRule& rule, const OjaSparseState<T>& state,
                      const OjaSparseRows<T>& rows, std::int64_t i, const OjaSparseRow& row,
                      double t) {
  const double pair = oja_sparse_pair<T>(rows, i, i - 1);
  if (!rule.center) return pair;
  if (t < 3.0) return 0.0;
  const double* last = state.moments;
  const double before = 1.0 / (t - 2.0);
  const double value = pair - (row.dot - pair) * before -
                       (last[kLastTotalDot] + last[kLastSquare]) * row.part +
                       (last[kLastTotalSquare] + last[kLastTotalDot]) * row.part * before;
  return row.scale * std::sqrt((t - 2.0) / (t - 1.0)) * value;
}

template <typename T>
OjaProgress oja_sparse_pilot_body(const OjaRule& rule, const OjaSparseState<T>& state,
                                  const OjaSparseRows<T>& rows) {
  for (std::int64_t i = 0; i < rows.n; ++i) {
    const OjaSparseRow row = oja_sparse_row<T>(rule, state, rows, i);
    if (!oja_holds<T>(row.square)) return {i, 0, OjaStop::kTooLarge};
    oja_sparse_add<T>(rule, state, rows, i, row);
    state.own.counts[kRowsSeen] += 1;
    state.own.sums[kSquares] += row.square;
  }
  return {rows.n, 0, OjaStop::kEnd};
}

// Rows begin..rows.n-1 up to where a block or a refresh is due; scores: scratch for 2 k0 numbers.
template <typename T>
OjaPause oja_sparse_rows_body(const OjaShape& shape, const OjaRule& rule,
                              const OjaSparseState<T>& state, const OjaSparseRows<T>& rows,
                              std::int64_t begin, const double* steps, double* scores) {
  const OjaState<T>& own = state.own;
  double* products = scores + shape.tracked;
  for (std::int64_t i = begin; i < rows.n; ++i) {
    const double t = static_cast<double>(own.counts[kRowsSeen] + 1);
    const OjaSparseRow row = oja_sparse_row<T>(rule, state, rows, i);
    double step = 0.0;
    const double most = shape.paired ? kOjaMostPairedGrowth<T> : kOjaMostGrowth<T>;
    const double* given = steps ? steps + (i - begin) : nullptr;
    const OjaStop stop = oja_row_step<T>(own, t, row.square, given, &step, most);
    if (stop != OjaStop::kEnd) return {i - begin, stop, false};
    own.counts[kRowsSeen] += 1;
    own.sums[kSquares] += row.square;
    own.sums[kSteps] += step;
    for (std::int64_t j = 0; j < shape.tracked; ++j) {
      products[j] = oja_sparse_dot<T, T>(rows, i, own.directions + j * shape.stride);
      scores[j] = row.scale * (products[j] - state.projected[j] * row.part);
    }
    // what rounding leaves of a row inside the leading space is not a residual
    const double noise = 64.0 * static_cast<double>(std::numeric_limits<T>::epsilon()) * row.square;
    const double residual =
        oja_track_scores<T>(shape, own, scores, row.square, t,
                            noise + 64.0 * std::numeric_limits<double>::epsilon() * row.size);
    if (residual > 0.0) {
      const double lag = oja_sparse_lag<T>(rule, state, rows, i, row, t);
      oja_track_lag<T>(shape, own, scores, residual, lag);
    }
    oja_keep_scores<T>(shape, own, scores);
    oja_sparse_add<T>(rule, state, rows, i, row);
    if (rule.center) {
      for (std::int64_t j = 0; j < shape.tracked; ++j) state.projected[j] += products[j];
    }
    const bool due = oja_open_row<T>(shape, rule, own, step, row.square);
    if (due || own.counts[kRowsSeen] == own.counts[kNextRefresh]) {
      return {i - begin + 1, OjaStop::kEnd, due};
    }
  }
  return {rows.n - begin, OjaStop::kEnd, false};
}

// The mean of the rows before a block; x: the row that the block starts with although base holds
// it, or -1.
template <typename T>
void oja_mean_before(const OjaShape& shape, const double* base, std::int64_t n,
                     const OjaSparseRows<T>& rows, std::int64_t x, T* mean) {
  const double part = n > 0 ? 1.0 / static_cast<double>(n) : 0.0;
  for (std::int64_t c = 0; c < shape.columns; ++c) mean[c] = static_cast<T>(base[c] * part);
  if (x < 0) return;
  for (std::int64_t at = rows.starts[x]; at < rows.starts[x + 1]; ++at) {
    const std::int32_t c = rows.columns[at];
    mean[c] = static_cast<T>((base[c] - static_cast<double>(rows.values[at])) * part);
  }
}

// Puts the open block, the first row of which is row `begin` of the matrix, into a slot and applies
// it to the estimate; columns is scratch for its iterate as (d8, k0, 1), loose as in
// oja_sparse_block.
template <typename T>
void oja_sparse_close_block(const OjaPieces<T>& run, const OjaSparsePieces<T>& sparse,
                            const OjaShape& shape, bool center, const OjaSparseState<T>& state,
                            const OjaSparseRows<T>& rows, std::int64_t begin,
                            const OjaSparseSlots<T>& slots, std::int64_t slot, T* columns,
                            const OjaLaneScratch<T>& lanes, T* loose,
                            const OjaSparseScratch& scratch) {
  const bool known = begin > 0 && state.moments[kHasRowBefore] > 0.0;
  const std::int64_t before = shape.paired && known ? 1 : 0, first = begin - before;
  const std::int64_t open = state.own.counts[kRowsOpen], m = open + before;
  const std::int64_t m8 = oja_slot_rows(shape), d = shape.columns, d8 = (d + 7) / 8 * 8;
  const std::int64_t first_row = state.own.counts[kRowsSeen] - m + 1;
  T* gram = slots.gram + slot * m8 * m8;
  T* mean = slots.mean + slot * d8;
  double square = state.moments[kBaseSquare];

  oja_sparse_products<T>(rows, first, m, scratch);
  for (std::int64_t j = 0; j < m; ++j) {
    scratch.dots[j] = center ? oja_sparse_dot<T, double>(rows, first + j, state.base) : 0.0;
  }
  if (center && before) {
    // the sum of the rows before the block, less the row that it now starts with
    square += scratch.products[0] - 2.0 * scratch.dots[0];
    for (std::int64_t j = 0; j < m; ++j) scratch.dots[j] -= scratch.products[j * m];
  }
  if (center) {
    oja_mean_before<T>(shape, state.base, first_row - 1, rows, before ? first : -1, mean);
  }
  oja_sparse_gram<T>(m, m8, first_row, center, square, scratch, gram);
  oja_open_steps<T>(before, m, m8, state.own.open_steps, slots.steps + slot * m8, lanes.weights);
  std::int64_t* sizes = slots.sizes + 3 * slot;
  sizes[0] = m;
  sizes[1] = first_row;
  sizes[2] = first;

  oja_as_columns<T>(shape, state.own.directions, columns);
  const T* own_mean = center ? mean : nullptr;
  std::fill(loose, loose + shape.tracked, T(0));
  if (center) oja_mean_product<T>(sparse, 1, mean, columns, d, shape.tracked, loose);
  oja_sparse_block<T>(run, sparse, columns, shape, shape.tracked,
                      {rows, first, m, first_row, own_mean}, nullptr, gram, lanes, loose, false);
  oja_from_columns<T>(shape, columns, state.own.directions);
  state.own.counts[kRowsOpen] = 0;
  state.own.sums[kGrowth] = 0.0;
  state.moments[kHasRowBefore] = 1.0;
  if (!center) return;
  for (std::int64_t at = rows.starts[begin]; at < rows.starts[begin + open]; ++at) {
    state.base[rows.columns[at]] = state.total[rows.columns[at]];
  }
  oja_sparse_settle_body<T>(shape, state);
}

}  // namespace nb26
