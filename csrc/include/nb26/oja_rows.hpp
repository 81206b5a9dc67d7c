// The estimate itself, row by row on the host: centring, steps, tracked sums, closing of blocks.
//
// Everything that decides where a block closes is a double recursion over single rows, so it does
// not depend on how the rows were cut into calls.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "nb26/hd.hpp"
#include "nb26/oja_lanes.hpp"

namespace nb26 {

// Sum of L lanes in a fixed tree.
template <typename T, int L>
NB26_HD T oja_lane_sum(const T* lane) {
  T part[L];
  for (int i = 0; i < L; ++i) part[i] = lane[i];
  for (int half = L / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) part[i] += part[i + half];
  }
  return part[0];
}

// N dot products of a with rows of b, all of `padded` elements (a multiple of the lanes).
template <bool Fused, typename T, int N>
NB26_HD void oja_row_dots(const T* a, const T* b, std::int64_t stride, std::int64_t padded,
                          T* out) {
  constexpr int L = 64 / sizeof(T);
  T sum[N][L];
  NB26_UNROLL
  for (int r = 0; r < N; ++r) {
    for (int lane = 0; lane < L; ++lane) sum[r][lane] = T(0);
  }
  for (std::int64_t c = 0; c < padded; c += L) {
    NB26_UNROLL
    for (int r = 0; r < N; ++r) {
      for (int lane = 0; lane < L; ++lane) {
        sum[r][lane] = madd<Fused>(a[c + lane], b[r * stride + c + lane], sum[r][lane]);
      }
    }
  }
  NB26_UNROLL
  for (int r = 0; r < N; ++r) out[r] = oja_lane_sum<T, L>(sum[r]);
}

template <bool Fused, typename T>
NB26_HD void oja_all_dots(const T* a, const T* b, std::int64_t stride, std::int64_t padded,
                          std::int64_t n, T* out) {
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    oja_row_dots<Fused, T, 4>(a, b + i * stride, stride, padded, out + i);
  }
  for (; i < n; ++i) oja_row_dots<Fused, T, 1>(a, b + i * stride, stride, padded, out + i);
}

// Squared length of the next centred row, without changing anything; no fused operations, so that
// blocks close at the same rows with every instruction set.
template <typename T>
NB26_HD double oja_next_square(const T* x, const double* mean, std::int64_t d, double scale,
                               bool center) {
  double lane[8] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
  std::int64_t c = 0;
  for (; c + 8 <= d; c += 8) {
    for (int i = 0; i < 8; ++i) {
      const double value = static_cast<double>(x[c + i]);
      const double y = center ? scale * (value - mean[c + i]) : value;
      lane[i] += y * y;
    }
  }
  for (int i = 0; c + i < d; ++i) {
    const double value = static_cast<double>(x[c + i]);
    const double y = center ? scale * (value - mean[c + i]) : value;
    lane[i] += y * y;
  }
  return oja_lane_sum<double, 8>(lane);
}

// Row t of the data becomes y, and the mean takes it in.
template <typename T>
NB26_HD void oja_center_row(const T* x, double* mean, std::int64_t d, double scale, double part,
                            bool center, T* y) {
  if (!center) {
    for (std::int64_t c = 0; c < d; ++c) y[c] = x[c];
    return;
  }
  for (std::int64_t c = 0; c < d; ++c) {
    const double difference = static_cast<double>(x[c]) - mean[c];
    y[c] = static_cast<T>(scale * difference);
    mean[c] += difference * part;
  }
}

// A length or step that the number type can hold: nothing above its range, no positive step below.
template <typename T>
NB26_HD bool oja_holds(double value) {
  return value <= static_cast<double>(std::numeric_limits<T>::max());
}

// Most that one row may stretch an iterate. Its entries grow by no more than this, by the weight
// (exponential ones stay below 37) and by what the open block holds already; in double their
// squares are summed as well, in float such columns are shortened first.
template <typename T>
inline constexpr double kOjaMostGrowth = sizeof(T) == 4 ? 1e32 : 1e148;

// With paired weights a block can be stretched twice: by its last row, and by the row before it.
template <typename T>
inline constexpr double kOjaMostPairedGrowth = sizeof(T) == 4 ? 1e16 : 1e74;

// gram[j][l] for j <= l of the m rows; zeros in the rest of the rows and columns that are looked
// at, m rounded up to 8.
template <int Isa, typename T>
NB26_HD void oja_gram_body(const T* rows, std::int64_t stride, std::int64_t padded, std::int64_t m,
                           std::int64_t m8, T* gram) {
  const std::int64_t used = (m + 7) / 8 * 8;
  for (std::int64_t j = 0; j < used; ++j) std::fill(gram + j * m8, gram + j * m8 + used, T(0));
  for (std::int64_t j = 0; j < m; ++j) {
    oja_all_dots<kOjaFused<Isa>, T>(rows + j * stride, rows + j * stride, stride, padded, m - j,
                                    gram + j * m8 + j);
  }
}

// The steps of the m rows of a block into a slot, and as weights of the estimate; zeros for the row
// before it, if it is there, and after row m.
template <typename T>
void oja_open_steps(std::int64_t before, std::int64_t m, std::int64_t m8, const double* open,
                    double* steps, T* weights) {
  for (std::int64_t j = 0; j < m8; ++j) {
    steps[j] = j >= before && j < m ? open[j - before] : 0.0;
    weights[j] = static_cast<T>(steps[j]);
  }
}

// The estimate as iterates (d8, k0, 1) side by side, and back.
template <typename T>
void oja_as_columns(const OjaShape& shape, const T* directions, T* columns) {
  const std::int64_t d = shape.columns, d8 = (d + 7) / 8 * 8, k0 = shape.tracked;
  for (std::int64_t j = 0; j < k0; ++j) {
    for (std::int64_t c = 0; c < d8; ++c) {
      columns[c * k0 + j] = c < d ? directions[j * shape.stride + c] : T(0);
    }
  }
}

template <typename T>
void oja_from_columns(const OjaShape& shape, const T* columns, T* directions) {
  const std::int64_t k0 = shape.tracked;
  for (std::int64_t j = 0; j < k0; ++j) {
    for (std::int64_t c = 0; c < shape.columns; ++c) {
      directions[j * shape.stride + c] = columns[c * k0 + j];
    }
  }
}

// Moves the open block into a slot and applies it to the estimate; columns is scratch for its
// iterate as (d8, k0, 1).
template <typename T>
void oja_close_block(const OjaPieces<T>& run,
                     void (*products)(const T*, std::int64_t, std::int64_t, std::int64_t,
                                      std::int64_t, T*),
                     const OjaShape& shape, const OjaState<T>& state, const OjaSlots<T>& slots,
                     std::int64_t slot, T* columns, const OjaLaneScratch<T>& scratch) {
  const std::int64_t open = state.counts[kRowsOpen], m8 = oja_slot_rows(shape);
  const std::int64_t absorbed = state.counts[kRowsSeen] - open;
  // the row before the block, unless that row was in the pilot
  const std::int64_t before = shape.paired && absorbed > state.counts[kPilotRows] ? 1 : 0;
  const std::int64_t m = open + before;
  const std::int64_t d = shape.columns, d8 = (d + 7) / 8 * 8, k0 = shape.tracked;
  const std::int64_t stride = shape.stride, used = (m + 7) / 8 * 8;
  const std::int64_t padded = (d + kOjaLanes<T> - 1) / kOjaLanes<T> * kOjaLanes<T>;
  T* rows = slots.rows + slot * m8 * stride;
  T* gram = slots.gram + slot * m8 * m8;
  double* steps = slots.steps + slot * m8;

  T* kept = state.open_rows + shape.block * stride;
  if (before) std::copy(kept, kept + stride, rows);
  std::copy(state.open_rows, state.open_rows + open * stride, rows + before * stride);
  if (shape.paired) std::copy(rows + (m - 1) * stride, rows + m * stride, kept);
  std::fill(rows + m * stride, rows + used * stride, T(0));
  products(rows, stride, padded, m, m8, gram);
  oja_open_steps<T>(before, m, m8, state.open_steps, steps, scratch.weights);
  slots.sizes[2 * slot] = m;
  slots.sizes[2 * slot + 1] = absorbed + 1 - before;

  oja_as_columns<T>(shape, state.directions, columns);
  oja_lanes_block<T>(run, columns, d8, k0, stride, m, m8, rows, gram, scratch, false);
  oja_from_columns<T>(shape, columns, state.directions);
  state.counts[kRowsOpen] = 0;
  state.sums[kGrowth] = 0.0;
}

// Sums for the gap and the eigenvalues, from a row before it is absorbed. Returns the part of its
// squared length outside the leading space, 0 where that is no more than `noise` or has no lag yet.
template <typename T, typename Score>
NB26_HD double oja_track_scores(const OjaShape& shape, const OjaState<T>& state,
                                const Score* scores, double square, double t, double noise) {
  const std::int64_t k = shape.components, k0 = shape.tracked;
  double* epoch = state.tracked + kEpochSquares * k0;
  double* weighted = state.tracked + kWeightedSquares * k0;
  double explained = 0.0;
  for (std::int64_t j = 0; j < k0; ++j) {
    const double score = static_cast<double>(scores[j]);
    epoch[j] += score * score;
    weighted[j] += t * (score * score);
    if (j < k) explained += score * score;
  }
  state.counts[kEpochRows] += 1;
  state.sums[kTotal] += t * square;
  state.sums[kWeight] += t;
  const bool second = state.counts[kRowsSeen] - state.counts[kPilotRows] >= 2;
  const double residual = square - explained;
  return k < shape.columns && second && residual > noise ? residual : 0.0;
}

// Sums for the lag-1 correlation of score times residual; lag: product of the row with the row
// before.
template <typename T, typename Score>
NB26_HD void oja_track_lag(const OjaShape& shape, const OjaState<T>& state, const Score* scores,
                           double residual, double lag) {
  const std::int64_t k = shape.components, k0 = shape.tracked;
  double* product = state.tracked + kLagProduct * k0;
  double* lag_square = state.tracked + kLagSquare * k0;
  const double* last = state.tracked + kLastScore * k0;
  double overlap = 0.0;
  for (std::int64_t j = 0; j < k; ++j) overlap += static_cast<double>(scores[j]) * last[j];
  const double residual_lag = lag - overlap;
  for (std::int64_t j = 0; j < k; ++j) {
    const double score = static_cast<double>(scores[j]);
    product[j] += score * last[j] * residual_lag;
    lag_square[j] += score * score * residual;
  }
}

template <typename T, typename Score>
NB26_HD void oja_keep_scores(const OjaShape& shape, const OjaState<T>& state, const Score* scores) {
  double* last = state.tracked + kLastScore * shape.tracked;
  for (std::int64_t j = 0; j < shape.components; ++j) last[j] = static_cast<double>(scores[j]);
}

template <int Isa, typename T>
NB26_HD void oja_track_row(const OjaShape& shape, const OjaState<T>& state, const T* y,
                           double square, double t, T* scores) {
  constexpr bool kFused = kOjaFused<Isa>;
  const std::int64_t padded = (shape.columns + kOjaLanes<T> - 1) / kOjaLanes<T> * kOjaLanes<T>;
  oja_all_dots<kFused, T>(y, state.directions, shape.stride, padded, shape.tracked, scores);
  // what rounding leaves of a row inside the leading space is not a residual
  const double noise = 64.0 * static_cast<double>(std::numeric_limits<T>::epsilon()) * square;
  const double residual = oja_track_scores<T>(shape, state, scores, square, t, noise);
  if (residual > 0.0) {
    T lag;
    oja_row_dots<kFused, T, 1>(y, state.last_row, 0, padded, &lag);
    oja_track_lag<T>(shape, state, scores, residual, static_cast<double>(lag));
  }
  oja_keep_scores<T>(shape, state, scores);
  std::copy(y, y + padded, state.last_row);
}

template <typename T>
NB26_HD OjaProgress oja_center_body(const OjaShape& shape, const OjaRule& rule,
                                    const OjaState<T>& state, const T* x, std::int64_t n, T* out) {
  const std::int64_t d = shape.columns;
  for (std::int64_t i = 0; i < n; ++i) {
    const double t = static_cast<double>(state.counts[kRowsSeen] + 1);
    const double scale = std::sqrt((t - 1.0) / t);
    const double square = oja_next_square(x + i * d, state.mean, d, scale, rule.center);
    if (!oja_holds<T>(square)) return {i, 0, OjaStop::kTooLarge};
    oja_center_row(x + i * d, state.mean, d, scale, 1.0 / t, rule.center, out + i * d);
    state.counts[kRowsSeen] += 1;
    state.sums[kSquares] += square;
  }
  return {n, 0, OjaStop::kEnd};
}

// Why oja_rows_body came back: the rows ended, one was refused, or its caller has work to do.
struct OjaPause {
  std::int64_t rows;
  OjaStop stop;
  bool block_due;
};

// The step of row t, or why the row cannot be taken.
template <typename T>
NB26_HD OjaStop oja_row_step(const OjaState<T>& state, double t, double square, const double* given,
                             double* step, double most = kOjaMostGrowth<T>) {
  if (!oja_holds<T>(square)) return OjaStop::kTooLarge;
  *step = given ? *given : state.sums[kStepScale] / (state.sums[kStepOffset] + t);
  if (!oja_holds<T>(*step) || !(static_cast<T>(*step) > T(0))) return OjaStop::kBadStep;
  return *step * square <= most ? OjaStop::kEnd : OjaStop::kTooFar;
}

// Counts a row into the open block; whether the block is now due.
template <typename T>
NB26_HD bool oja_open_row(const OjaShape& shape, const OjaRule& rule, const OjaState<T>& state,
                          double step, double square) {
  state.open_steps[state.counts[kRowsOpen]] = step;
  state.counts[kRowsOpen] += 1;
  state.sums[kGrowth] += step * square;
  return state.counts[kRowsOpen] == shape.block ||
         state.sums[kGrowth] > rule.growth_limit * (1.0 + 1e-9);
}

template <int Isa, typename T>
NB26_HD OjaPause oja_rows_body(const OjaShape& shape, const OjaRule& rule, const OjaState<T>& state,
                               const T* x, const double* steps, std::int64_t n, T* scores) {
  const std::int64_t d = shape.columns;
  for (std::int64_t i = 0; i < n; ++i) {
    const double t = static_cast<double>(state.counts[kRowsSeen] + 1);
    const double scale = std::sqrt((t - 1.0) / t);
    const double square = oja_next_square(x + i * d, state.mean, d, scale, rule.center);
    double step = 0.0;
    const double most = shape.paired ? kOjaMostPairedGrowth<T> : kOjaMostGrowth<T>;
    const double* given = steps ? steps + i : nullptr;
    const OjaStop stop = oja_row_step<T>(state, t, square, given, &step, most);
    if (stop != OjaStop::kEnd) return {i, stop, false};
    T* y = state.open_rows + state.counts[kRowsOpen] * shape.stride;
    oja_center_row(x + i * d, state.mean, d, scale, 1.0 / t, rule.center, y);
    state.counts[kRowsSeen] += 1;
    state.sums[kSquares] += square;
    state.sums[kSteps] += step;
    oja_track_row<Isa, T>(shape, state, y, square, t, scores);
    const bool due = oja_open_row<T>(shape, rule, state, step, square);
    if (due || state.counts[kRowsSeen] == state.counts[kNextRefresh]) {
      return {i + 1, OjaStop::kEnd, due};
    }
  }
  return {n, OjaStop::kEnd, false};
}

}  // namespace nb26
