// Entry points of the Oja kernels on the CPU: one copy of each piece per instruction set, threads
// over groups of replicates. Each number type has a source file of its own, so that the two compile
// side by side.
#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <vector>

#include "nb26/isa.hpp"
#include "nb26/oja_api.hpp"
#include "nb26/oja_errors.hpp"
#include "nb26/oja_lanes.hpp"
#include "nb26/oja_rows.hpp"
#include "nb26/threads.hpp"

namespace nb26 {
namespace {

template <int Isa>
struct Level;

// Members of one level. The target attribute is the only difference between the copies.
#define NB26_OJA_LEVEL(isa, target)                                                                \
  template <>                                                                                      \
  struct Level<isa> {                                                                              \
    template <typename T, int L, int C>                                                            \
    target static void strip(const OjaStrip<T>& s) {                                               \
      oja_strip_body<isa, T, L, C>(s);                                                             \
    }                                                                                              \
    template <typename T, int L>                                                                   \
    target static void recursion(T* p, const T* gram, std::int64_t m8, std::int64_t used,          \
                                 const T* weights) {                                               \
      oja_recursion_body<isa, T, L, false>(p, gram, m8, used, weights);                            \
    }                                                                                              \
    template <typename T, int L>                                                                   \
    target static void paired(T* p, const T* gram, std::int64_t m8, std::int64_t used,             \
                              const T* weights) {                                                  \
      oja_recursion_body<isa, T, L, true>(p, gram, m8, used, weights);                             \
    }                                                                                              \
    template <typename T, int L, int N>                                                            \
    target static void dots(const T* w, std::int64_t step, std::int64_t j, std::int64_t i,         \
                            std::int64_t n, double* out) {                                         \
      oja_dots_body<isa, T, L, N>(w, step, j, i, n, out);                                          \
    }                                                                                              \
    template <int L>                                                                               \
    target static void factor(double* s, std::int64_t k, double* finished) {                       \
      oja_factor_body<L>(s, k, finished);                                                          \
    }                                                                                              \
    template <typename T, int L>                                                                   \
    target static void solve(T* w, std::int64_t d8, std::int64_t k, const T* factor) {             \
      oja_solve_body<isa, T, L>(w, d8, k, factor);                                                 \
    }                                                                                              \
    template <typename T, int L, OjaMultiplier Kind>                                               \
    target static void weights(const OjaWeights& how, std::int64_t first, std::int64_t first_row,  \
                               const double* steps, std::int64_t m, std::int64_t m8, T* out) {     \
      oja_weights_body<T, L, Kind>(how, first, first_row, steps, m, m8, out);                      \
    }                                                                                              \
    template <typename T, int L>                                                                   \
    target static void paired_weights(const OjaWeights& how, std::int64_t first,                   \
                                      std::int64_t first_row, const double* steps, std::int64_t m, \
                                      std::int64_t m8, T* out) {                                   \
      oja_paired_weights_body<T, L>(how, first, first_row, steps, m, m8, out);                     \
    }                                                                                              \
    template <typename T>                                                                          \
    target static OjaPause rows(const OjaShape& shape, const OjaRule& rule,                        \
                                const OjaState<T>& state, const T* x, const double* steps,         \
                                std::int64_t n, T* scores) {                                       \
      return oja_rows_body<isa, T>(shape, rule, state, x, steps, n, scores);                       \
    }                                                                                              \
    template <typename T>                                                                          \
    target static void gram(const T* rows, std::int64_t stride, std::int64_t padded,               \
                            std::int64_t m, std::int64_t m8, T* out) {                             \
      oja_gram_body<isa, T>(rows, stride, padded, m, m8, out);                                     \
    }                                                                                              \
    template <typename T, int L>                                                                   \
    target static void errors(const T* w, const double* u, std::int64_t d, std::int64_t k,         \
                              double* overlap, double* out) {                                      \
      oja_errors_body<isa, T, L>(w, u, d, k, overlap, out);                                        \
    }                                                                                              \
  };

NB26_OJA_LEVEL(0, )
NB26_OJA_LEVEL(1, NB26_TARGET_1)
NB26_OJA_LEVEL(2, NB26_TARGET_2)

template <int Isa, typename T, int L>
constexpr OjaPieces<T> pieces() {
  using At = Level<Isa>;
  constexpr int kWidest = kOjaTileComponents<Isa>;
  return {L,
          kWidest,
          {At::template strip<T, L, 1>, At::template strip < T, L, kWidest < 2 ? 1 : 2 >,
           At::template strip<T, L, kWidest>},
          At::template recursion<T, L>,
          At::template paired<T, L>,
          {At::template dots<T, L, 1>, At::template dots<T, L, 2>, At::template dots<T, L, 3>,
           At::template dots<T, L, 4>, At::template dots<T, L, 5>},
          At::template factor<L>,
          At::template solve<T, L>};
}

// Everything the level in force offers for one number type.
template <typename T>
struct Table {
  OjaPieces<T> one;       // the estimate
  OjaPieces<T> group;     // a group of replicates
  OjaDraw<T> weights[3];  // by OjaMultiplier
  OjaPause (*rows)(const OjaShape&, const OjaRule&, const OjaState<T>&, const T*, const double*,
                   std::int64_t, T*);
  void (*gram)(const T*, std::int64_t, std::int64_t, std::int64_t, std::int64_t, T*);
  void (*errors)(const T*, const double*, std::int64_t, std::int64_t, double*, double*);
};

template <typename T, int Isa>
constexpr Table<T> table_of() {
  using At = Level<Isa>;
  constexpr int L = 64 / sizeof(T);
  return {
      pieces<Isa, T, 1>(),
      pieces<Isa, T, L>(),
      {At::template weights<T, L, OjaMultiplier::kDouble>,
       At::template weights<T, L, OjaMultiplier::kExponential>, At::template paired_weights<T, L>},
      At::template rows<T>,
      At::template gram<T>,
      At::template errors<T, L>};
}

template <typename T>
const Table<T>& table() {
  static constexpr Table<T> kTables[] = {table_of<T, 0>(), table_of<T, 1>(), table_of<T, 2>()};
  return kTables[isa_level()];
}

constexpr std::size_t kLine = 64;

// Zeroed scratch that starts on a cache line.
template <typename T>
class Scratch {
 public:
  explicit Scratch(std::int64_t n) : bytes_(static_cast<std::size_t>(n) * sizeof(T) + kLine) {}
  T* data() {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    return reinterpret_cast<T*>((address + kLine - 1) / kLine * kLine);
  }

 private:
  std::vector<std::byte> bytes_;
};

std::int64_t rounded(std::int64_t n) { return (n + 7) / 8 * 8; }

// Scratch for blocks of k columns, `lanes` iterates side by side.
template <typename T>
class LaneScratch {
 public:
  LaneScratch(std::int64_t k, std::int64_t block, std::int64_t lanes)
      : projections_(k * rounded(block) * lanes),
        weights_(2 * rounded(block) * lanes),
        factor_(k * (k + 1) / 2 * lanes),
        solve_(k * (k + 1) / 2 * lanes),
        finished_(lanes) {}
  OjaLaneScratch<T> view() {
    return {projections_.data(), weights_.data(), factor_.data(), solve_.data(), finished_.data()};
  }

 private:
  Scratch<T> projections_, weights_;
  Scratch<double> factor_;
  Scratch<T> solve_;
  Scratch<double> finished_;
};

// Closes open blocks; its scratch is made at the first.
template <typename T>
class Closer {
 public:
  Closer(const OjaShape& shape, const OjaState<T>& state, const OjaSlots<T>& slots)
      : shape_(shape), state_(state), slots_(slots) {}
  void close(std::int64_t slot) {
    if (!columns_) {
      columns_.emplace(rounded(shape_.columns) * shape_.tracked);
      lanes_.emplace(shape_.tracked, oja_slot_rows(shape_), 1);
    }
    oja_close_block<T>(table<T>().one, table<T>().gram, shape_, state_, slots_, slot,
                       columns_->data(), lanes_->view());
  }

 private:
  const OjaShape& shape_;
  const OjaState<T>& state_;
  const OjaSlots<T>& slots_;
  std::optional<Scratch<T>> columns_;
  std::optional<LaneScratch<T>> lanes_;
};

// Multiply-adds for which waking a thread pays.
constexpr std::int64_t kThreadWork = 4'000'000;

// Threads for the groups; cost: multiply-adds of one of them.
int threads_worth(std::int64_t groups, std::int64_t cost, int n_threads) {
  const std::int64_t worth = n_threads == 0 ? 1 + groups * cost / kThreadWork : groups;
  return threads_for(n_threads, std::min(groups, worth));
}

// work(scratch, replicates of the group, index of its first) for every group, in parallel.
template <typename T, typename Work>
void over_groups(const OjaShape& shape, T* replicates, std::int64_t groups, std::int64_t cost,
                 int n_threads, const Work& work) {
  const int threads = threads_worth(groups, cost, n_threads);
  const std::int64_t lanes = kOjaLanes<T>;
  const std::int64_t size = rounded(shape.columns) * shape.components * lanes;
  std::vector<LaneScratch<T>> scratch;
  for (int thread = 0; thread < threads; ++thread) {
    scratch.emplace_back(shape.components, oja_slot_rows(shape), lanes);
  }
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int thread = 0; thread < threads; ++thread) {
    const OjaLaneScratch<T> own = scratch[static_cast<std::size_t>(thread)].view();
    for (std::int64_t g = thread; g < groups; g += threads) {
      work(own, replicates + g * size, g * lanes);
    }
  }
}

// Slots a..a+n-1.
template <typename T>
OjaSlots<T> some_slots(const OjaShape& shape, const OjaSlots<T>& slots, std::int64_t a,
                       std::int64_t n) {
  const std::int64_t m8 = oja_slot_rows(shape);
  return {slots.rows + a * m8 * shape.stride, slots.gram + a * m8 * m8, slots.steps + a * m8,
          slots.sizes + 2 * a, n};
}

// The blocks of the first slots for one group of replicates, the first of which has index `first`.
template <typename T>
void apply_blocks(const OjaShape& shape, const OjaWeights& weights, const OjaSlots<T>& slots,
                  std::int64_t blocks, T* w, std::int64_t first, const OjaLaneScratch<T>& scratch) {
  const OjaPieces<T>& run = table<T>().group;
  const OjaDraw<T> draw = table<T>().weights[static_cast<int>(weights.kind)];
  const std::int64_t m8 = oja_slot_rows(shape), d8 = rounded(shape.columns);
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t m = slots.sizes[2 * b];
    draw(weights, first, slots.sizes[2 * b + 1], slots.steps + b * m8, m, m8, scratch.weights);
    oja_lanes_block<T>(run, w, d8, shape.components, shape.stride, m, m8,
                       slots.rows + b * m8 * shape.stride, slots.gram + b * m8 * m8, scratch,
                       shape.paired);
  }
}

}  // namespace

// For the kernels of sparse rows, which have source files of their own and take these from
// oja_double.cpp and oja_float.cpp.
template <typename T>
const OjaPieces<T>& oja_pieces(bool group) {
  return group ? table<T>().group : table<T>().one;
}

template <typename T>
OjaDraw<T> oja_draw(OjaMultiplier kind) {
  return table<T>().weights[static_cast<int>(kind)];
}

extern template const OjaPieces<double>& oja_pieces<double>(bool);
extern template const OjaPieces<float>& oja_pieces<float>(bool);
extern template OjaDraw<double> oja_draw<double>(OjaMultiplier);
extern template OjaDraw<float> oja_draw<float>(OjaMultiplier);

template <typename T>
OjaProgress oja_center(const OjaShape& shape, const OjaRule& rule, const OjaState<T>& state,
                       const T* x, std::int64_t n, T* out) {
  return oja_center_body<T>(shape, rule, state, x, n, out);
}

template <typename T>
OjaProgress oja_rows(const OjaShape& shape, const OjaRule& rule, const OjaState<T>& state,
                     const T* x, const double* steps, std::int64_t n, const OjaSlots<T>& slots,
                     bool keep) {
  Closer<T> closer(shape, state, slots);
  Scratch<T> scores(shape.tracked);
  std::int64_t at = 0, blocks = 0;
  while (at < n) {
    if (keep && blocks == slots.slots) return {at, blocks, OjaStop::kFull};
    const OjaPause pause = table<T>().rows(shape, rule, state, x + at * shape.columns,
                                           steps ? steps + at : nullptr, n - at, scores.data());
    at += pause.rows;
    if (pause.stop != OjaStop::kEnd) return {at, blocks, pause.stop};
    if (pause.block_due) closer.close(keep ? blocks : 0);
    blocks += pause.block_due;
    if (state.counts[kRowsSeen] == state.counts[kNextRefresh]) {
      oja_refresh(shape, rule, state.tracked, state.counts, state.sums);
    }
  }
  return {n, blocks, OjaStop::kEnd};
}

template <typename T>
std::int64_t oja_close(const OjaShape& shape, const OjaState<T>& state, const OjaSlots<T>& slots) {
  if (state.counts[kRowsOpen] == 0) return 0;
  Closer<T>(shape, state, slots).close(0);
  return 1;
}

template <typename T>
void oja_replicates(const OjaShape& shape, const OjaWeights& weights, const OjaSlots<T>& slots,
                    std::int64_t blocks, T* replicates, std::int64_t groups, std::int64_t first,
                    int n_threads) {
  const std::int64_t m8 = oja_slot_rows(shape), d8 = rounded(shape.columns);
  const std::int64_t cost = 2 * blocks * m8 * d8 * shape.components * kOjaLanes<T>;
  over_groups<T>(shape, replicates, groups, cost, n_threads,
                 [&](const OjaLaneScratch<T>& scratch, T* w, std::int64_t offset) {
                   apply_blocks<T>(shape, weights, slots, blocks, w, first + offset, scratch);
                 });
}

template <typename T>
OjaProgress oja_advance(const OjaShape& shape, const OjaRule& rule, const OjaState<T>& state,
                        const T* x, const double* steps, std::int64_t n, const OjaSlots<T>& slots,
                        const OjaWeights& weights, T* replicates, std::int64_t groups,
                        std::int64_t first, int n_threads) {
  const std::int64_t lanes = kOjaLanes<T>;
  const std::int64_t size = rounded(shape.columns) * shape.components * lanes;
  const std::int64_t cost = 2 * (state.counts[kRowsOpen] + n) * size;
  const int threads = threads_worth(groups, cost, n_threads);
  // with threads to share the work, one of them closes the next blocks meanwhile
  const std::int64_t half = threads > 1 ? slots.slots / 2 : 0;
  const OjaSlots<T> part[2] = {some_slots<T>(shape, slots, 0, half > 0 ? half : slots.slots),
                               some_slots<T>(shape, slots, half, half > 0 ? half : slots.slots)};
  std::vector<LaneScratch<T>> scratch;
  OjaProgress total{0, 0, OjaStop::kEnd};
  OjaProgress done = oja_rows<T>(shape, rule, state, x, steps, n, part[0], true);
  for (int now = 0;; now = 1 - now) {
    total = {total.rows + done.rows, total.blocks + done.blocks, done.stop};
    if (done.blocks == 0) return total;
    const bool more = done.stop == OjaStop::kFull;
    const auto rows = [&] {
      return oja_rows<T>(shape, rule, state, x + total.rows * shape.columns,
                         steps ? steps + total.rows : nullptr, n - total.rows, part[1 - now], true);
    };
    while (scratch.size() < static_cast<std::size_t>(threads)) {
      scratch.emplace_back(shape.components, oja_slot_rows(shape), lanes);
    }
    OjaProgress next{0, 0, OjaStop::kEnd};
    std::atomic<std::int64_t> turn{0};
    std::exception_ptr error;
#pragma omp parallel num_threads(threads)
    {
      const int thread = omp_get_thread_num();
      if (thread == 0 && more && half > 0) {
        try {
          next = rows();
        } catch (...) {
          error = std::current_exception();
        }
      }
      const OjaLaneScratch<T> own = scratch[static_cast<std::size_t>(thread)].view();
      for (std::int64_t g = turn++; g < groups; g = turn++) {
        apply_blocks<T>(shape, weights, part[now], done.blocks, replicates + g * size,
                        first + g * lanes, own);
      }
    }
    if (error) std::rethrow_exception(error);
    if (!more) return total;
    done = half > 0 ? next : rows();
  }
}

template <typename T>
void oja_orthonormalise(const OjaShape& shape, T* replicates, std::int64_t groups, int n_threads) {
  const OjaPieces<T>& run = table<T>().group;
  const std::int64_t k = shape.components, cost = 2 * k * k * shape.columns * kOjaLanes<T>;
  over_groups<T>(shape, replicates, groups, cost, n_threads,
                 [&](const OjaLaneScratch<T>& scratch, T* w, std::int64_t) {
                   oja_lanes_orthonormalise<T>(run, w, rounded(shape.columns), shape.components,
                                               scratch);
                 });
}

template <typename T>
void oja_errors(const OjaShape& shape, const double* directions, const T* replicates,
                std::int64_t groups, double* errors, int n_threads) {
  const std::int64_t k = shape.components, lanes = kOjaLanes<T>;
  const std::int64_t size = rounded(shape.columns) * k * lanes;
  const int threads = threads_worth(groups, 2 * k * size, n_threads);
  std::vector<Scratch<double>> overlaps;
  for (int thread = 0; thread < threads; ++thread) overlaps.emplace_back(k * lanes);
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int thread = 0; thread < threads; ++thread) {
    for (std::int64_t g = thread; g < groups; g += threads) {
      table<T>().errors(replicates + g * size, directions, shape.columns, k,
                        overlaps[static_cast<std::size_t>(thread)].data(), errors + g * lanes);
    }
  }
}

#define NB26_OJA_INSTANCES(T)                                                                     \
  template const OjaPieces<T>& oja_pieces<T>(bool);                                               \
  template OjaDraw<T> oja_draw<T>(OjaMultiplier);                                                 \
  template OjaProgress oja_center<T>(const OjaShape&, const OjaRule&, const OjaState<T>&,         \
                                     const T*, std::int64_t, T*);                                 \
  template OjaProgress oja_rows<T>(const OjaShape&, const OjaRule&, const OjaState<T>&, const T*, \
                                   const double*, std::int64_t, const OjaSlots<T>&, bool);        \
  template std::int64_t oja_close<T>(const OjaShape&, const OjaState<T>&, const OjaSlots<T>&);    \
  template void oja_replicates<T>(const OjaShape&, const OjaWeights&, const OjaSlots<T>&,         \
                                  std::int64_t, T*, std::int64_t, std::int64_t, int);             \
  template OjaProgress oja_advance<T>(const OjaShape&, const OjaRule&, const OjaState<T>&,        \
                                      const T*, const double*, std::int64_t, const OjaSlots<T>&,  \
                                      const OjaWeights&, T*, std::int64_t, std::int64_t, int);    \
  template void oja_orthonormalise<T>(const OjaShape&, T*, std::int64_t, int);                    \
  template void oja_errors<T>(const OjaShape&, const double*, const T*, std::int64_t, double*, int);

}  // namespace nb26
