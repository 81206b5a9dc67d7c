// Entry points of the kernels for sparse rows on the CPU, put together like those of oja_entry.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "nb26/isa.hpp"
#include "nb26/oja_sparse.hpp"
#include "nb26/oja_sparse_api.hpp"
#include "oja_entry.hpp"

namespace nb26 {

namespace {

template <int Isa>
struct SparseLevel;

#define NB26_OJA_SPARSE_LEVEL(isa, target)                                            \
  template <>                                                                         \
  struct SparseLevel<isa> {                                                           \
    template <typename T, int L, int N, bool Dense>                                   \
    target static void gather(const OjaSparseProduct<T>& x, const T* w, T* out) {     \
      oja_gather_body<isa, T, L, N, Dense>(x, w, out);                                \
    }                                                                                 \
    template <typename T, int L, int N, bool Dense>                                   \
    target static void scatter(const OjaSparseProduct<T>& x, const T* change, T* w) { \
      oja_scatter_body<isa, T, L, N, Dense>(x, change, w);                            \
    }                                                                                 \
  };

NB26_OJA_SPARSE_LEVEL(0, )
NB26_OJA_SPARSE_LEVEL(1, NB26_TARGET_1)
NB26_OJA_SPARSE_LEVEL(2, NB26_TARGET_2)

template <int Isa, typename T, int L>
constexpr OjaSparsePieces<T> sparse_pieces() {
  using At = SparseLevel<Isa>;
  constexpr int kMost = kOjaSparseUnits<Isa>, k2 = std::min(2, kMost), k3 = std::min(3, kMost);
  return {kMost,
          {{At::template gather<T, L, 1, false>, At::template gather<T, L, k2, false>,
            At::template gather<T, L, k3, false>, At::template gather<T, L, kMost, false>},
           {At::template gather<T, L, 1, true>, At::template gather<T, L, k2, true>,
            At::template gather<T, L, k3, true>, At::template gather<T, L, kMost, true>}},
          {{At::template scatter<T, L, 1, false>, At::template scatter<T, L, k2, false>,
            At::template scatter<T, L, k3, false>, At::template scatter<T, L, kMost, false>},
           {At::template scatter<T, L, 1, true>, At::template scatter<T, L, k2, true>,
            At::template scatter<T, L, k3, true>, At::template scatter<T, L, kMost, true>}}};
}

// The estimate's pieces, or those of a group of replicates.
template <typename T>
const OjaSparsePieces<T>& sparse_table(bool group) {
  constexpr int L = 64 / sizeof(T);
  static constexpr OjaSparsePieces<T> kOne[] = {sparse_pieces<0, T, 1>(), sparse_pieces<1, T, 1>(),
                                                sparse_pieces<2, T, 1>()};
  static constexpr OjaSparsePieces<T> kGroup[] = {
      sparse_pieces<0, T, L>(), sparse_pieces<1, T, L>(), sparse_pieces<2, T, L>()};
  return group ? kGroup[isa_level()] : kOne[isa_level()];
}

// Closes open blocks of sparse rows; its scratch is made at the first.
template <typename T>
class SparseCloser {
 public:
  SparseCloser(const OjaShape& shape, bool center, const OjaSparseState<T>& state,
               const OjaSparseRows<T>& rows, const OjaSparseSlots<T>& slots)
      : shape_(shape), center_(center), state_(state), rows_(rows), slots_(slots) {}
  void close(std::int64_t begin, std::int64_t slot) {
    if (!columns_) {
      const std::int64_t block = oja_slot_rows(shape_);
      columns_.emplace(rounded(shape_.columns) * shape_.tracked);
      lanes_.emplace(shape_.tracked, block, 1);
      loose_.emplace((block + 1) * shape_.tracked);
      places_.assign(static_cast<std::size_t>(shape_.columns), -1);
      products_.resize(static_cast<std::size_t>(block * block));
      dots_.resize(static_cast<std::size_t>(block));
    }
    const std::int64_t m = state_.own.counts[kRowsOpen];
    const std::int64_t first = rows_.starts[begin > 0 ? begin - 1 : 0];
    const auto entries = static_cast<std::size_t>(rows_.starts[begin + m] - first);
    if (values_.size() < entries) {
      held_.resize(entries);
      rows_of_.resize(entries);
      values_.resize(entries);
    }
    oja_sparse_close_block<T>(oja_pieces<T>(false), sparse_table<T>(false), shape_, center_, state_,
                              rows_, begin, slots_, slot, columns_->data(), lanes_->view(),
                              loose_->data(),
                              {places_.data(), held_.data(), rows_of_.data(), values_.data(),
                               products_.data(), dots_.data()});
  }

 private:
  const OjaShape& shape_;
  const bool center_;
  const OjaSparseState<T>& state_;
  const OjaSparseRows<T>& rows_;
  const OjaSparseSlots<T>& slots_;
  std::optional<Scratch<T>> columns_, loose_;
  std::optional<LaneScratch<T>> lanes_;
  std::vector<std::int64_t> places_, rows_of_;
  std::vector<OjaSparseColumn> held_;
  std::vector<double> values_, products_, dots_;
};

}  // namespace

template <typename T>
OjaProgress oja_sparse_pilot(const OjaShape&, const OjaRule& rule, const OjaSparseState<T>& state,
                             const OjaSparseRows<T>& rows) {
  return oja_sparse_pilot_body<T>(rule, state, rows);
}

template <typename T>
void oja_sparse_settle(const OjaShape& shape, const OjaSparseState<T>& state) {
  std::copy(state.total, state.total + shape.columns, state.base);
  state.moments[kHasRowBefore] = 0.0;
  oja_sparse_settle_body<T>(shape, state);
}

template <typename T>
OjaProgress oja_sparse_rows(const OjaShape& shape, const OjaRule& rule,
                            const OjaSparseState<T>& state, const OjaSparseRows<T>& rows,
                            const double* steps, const OjaSparseSlots<T>& slots, bool keep) {
  SparseCloser<T> closer(shape, rule.center, state, rows, slots);
  std::vector<double> scores(static_cast<std::size_t>(2 * shape.tracked));
  std::int64_t* counts = state.own.counts;
  const std::int64_t held = oja_sparse_held(counts);
  std::int64_t at = held, blocks = 0;
  while (at < rows.n) {
    if (keep && blocks == slots.slots) return {at - held, blocks, OjaStop::kFull};
    const OjaPause pause = oja_sparse_rows_body<T>(
        shape, rule, state, rows, at, steps ? steps + (at - held) : nullptr, scores.data());
    at += pause.rows;
    if (pause.stop != OjaStop::kEnd) return {at - held, blocks, pause.stop};
    if (pause.block_due) closer.close(at - counts[kRowsOpen], keep ? blocks : 0);
    blocks += pause.block_due;
    if (counts[kRowsSeen] == counts[kNextRefresh]) {
      oja_refresh(shape, rule, state.own.tracked, counts, state.own.sums);
    }
  }
  return {at - held, blocks, OjaStop::kEnd};
}

template <typename T>
std::int64_t oja_sparse_close(const OjaShape& shape, bool center, const OjaSparseState<T>& state,
                              const OjaSparseRows<T>& rows, const OjaSparseSlots<T>& slots) {
  const std::int64_t open = state.own.counts[kRowsOpen];
  if (open == 0) return 0;
  SparseCloser<T>(shape, center, state, rows, slots).close(rows.n - open, 0);
  return 1;
}

template <typename T>
void oja_sparse_replicates(const OjaShape& shape, bool center, const OjaWeights& weights,
                           const OjaSparseRows<T>& rows, const OjaSparseSlots<T>& slots,
                           std::int64_t blocks, T* replicates, std::int64_t groups,
                           std::int64_t first, int n_threads) {
  const OjaPieces<T>& run = oja_pieces<T>(true);
  const OjaSparsePieces<T>& sparse = sparse_table<T>(true);
  const OjaDraw<T> draw = oja_draw<T>(weights.kind);
  const std::int64_t m8 = oja_slot_rows(shape), d8 = rounded(shape.columns), k = shape.components;
  const std::int64_t loose = (m8 + 1) * k * kOjaLanes<T>;
  const std::int64_t entries = rows.n ? rows.starts[rows.n] - rows.starts[0] : 0;
  const std::int64_t cost = (2 * entries + blocks * d8 * (k + 4)) * k * kOjaLanes<T>;
  over_groups<T>(shape, replicates, groups, cost, n_threads,
                 [&](const OjaLaneScratch<T>& scratch, T* w, std::int64_t offset) {
                   Scratch<T> own(loose);
                   if (center && blocks > 0) {
                     oja_mean_product<T>(sparse, kOjaLanes<T>, slots.mean, w, shape.columns,
                                         k * kOjaLanes<T>, own.data());
                   }
                   for (std::int64_t b = 0; b < blocks; ++b) {
                     const std::int64_t* sizes = slots.sizes + 3 * b;
                     const T* mean = center ? slots.mean + b * d8 : nullptr;
                     const T* next = center && b + 1 < blocks ? mean + d8 : nullptr;
                     draw(weights, first + offset, sizes[1], slots.steps + b * m8, sizes[0], m8,
                          scratch.weights);
                     oja_sparse_block<T>(
                         run, sparse, w, shape, k, {rows, sizes[2], sizes[0], sizes[1], mean}, next,
                         slots.gram + b * m8 * m8, scratch, own.data(), shape.paired);
                   }
                 });
}

#define NB26_OJA_SPARSE_INSTANCES(T)                                                            \
  template OjaProgress oja_sparse_pilot<T>(const OjaShape&, const OjaRule&,                     \
                                           const OjaSparseState<T>&, const OjaSparseRows<T>&);  \
  template void oja_sparse_settle<T>(const OjaShape&, const OjaSparseState<T>&);                \
  template OjaProgress oja_sparse_rows<T>(const OjaShape&, const OjaRule&,                      \
                                          const OjaSparseState<T>&, const OjaSparseRows<T>&,    \
                                          const double*, const OjaSparseSlots<T>&, bool);       \
  template std::int64_t oja_sparse_close<T>(const OjaShape&, bool, const OjaSparseState<T>&,    \
                                            const OjaSparseRows<T>&, const OjaSparseSlots<T>&); \
  template void oja_sparse_replicates<T>(const OjaShape&, bool, const OjaWeights&,              \
                                         const OjaSparseRows<T>&, const OjaSparseSlots<T>&,     \
                                         std::int64_t, T*, std::int64_t, std::int64_t, int);

}  // namespace nb26
