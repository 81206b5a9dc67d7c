// The kernels of sparse rows against those of dense rows: the same estimate and replicates up to
// rounding, the same bits for any cut, any thread count and any rows around a block.
#include <cmath>
#include <random>
#include <vector>

#include "check.hpp"
#include "cpu/oja.cpp"
#include "cpu/oja_double.cpp"
#include "cpu/oja_float.cpp"
#include "cpu/oja_sparse_double.cpp"
#include "cpu/oja_sparse_float.cpp"
#include "cpu/threads.cpp"

namespace {

using nb26::OjaMultiplier;
using nb26::OjaShape;

std::int64_t up(std::int64_t n) { return (n + 7) / 8 * 8; }

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

// Rows, dense and sparse, of which a part is not zero; the first column never is.
template <typename T>
struct Rows {
  std::int64_t d;
  std::vector<T> dense, values;
  std::vector<std::int32_t> columns;
  std::vector<std::int64_t> starts{0};

  Rows(std::int64_t n, std::int64_t width, double share) : d(width), dense(size(n * width)) {
    std::mt19937_64 engine(static_cast<std::uint64_t>(width));
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t c = 0; c < d; ++c) {
        const double value = 0.5 + normal(engine) * (c < 2 ? 3.0 : 1.0);
        if (c > 0 && uniform(engine) > share) continue;
        dense[size(i * d + c)] = static_cast<T>(value);
        values.push_back(static_cast<T>(value));
        columns.push_back(static_cast<std::int32_t>(c));
      }
      starts.push_back(static_cast<std::int64_t>(values.size()));
    }
  }
  // Rows a..b-1.
  nb26::OjaSparseRows<T> part(std::int64_t a, std::int64_t b) const {
    return {values.data(), columns.data(), starts.data() + a, b - a};
  }
};

// A state without a pilot, for either kind of rows, and its replicates.
template <typename T>
struct Stream {
  OjaShape shape;
  nb26::OjaRule rule;
  nb26::OjaWeights weights;
  std::int64_t slots, groups;
  std::vector<T> directions, open_rows, last_row, slot_rows, gram, replicates, middle;
  std::vector<double> mean, open_steps, tracked, sums, slot_steps, total, base, projected, moments;
  std::vector<std::int64_t> counts, sizes;

  Stream(std::int64_t d, std::int64_t k, std::int64_t block, std::int64_t n_slots, bool center,
         bool paired = false)
      : shape{d, k, k < d ? k + 1 : d, nb26::oja_stride<T>(d), block, paired},
        rule{4.0, 1.5, 0.5, center, false, false},
        weights{99, paired ? OjaMultiplier::kPaired : OjaMultiplier::kDouble, paired ? 1 : 3},
        slots(n_slots),
        groups(2),
        directions(size(shape.tracked * shape.stride)),
        open_rows(size(nb26::oja_slot_rows(shape) * shape.stride)),
        last_row(size(shape.stride)),
        slot_rows(size(slots * nb26::oja_slot_rows(shape) * shape.stride)),
        gram(size(slots * nb26::oja_slot_rows(shape) * nb26::oja_slot_rows(shape))),
        replicates(size(groups * up(d) * k * nb26::kOjaLanes<T>)),
        middle(size(slots * up(d))),
        mean(size(d)),
        open_steps(size(nb26::oja_slot_rows(shape))),
        tracked(size(nb26::kOjaTracks * shape.tracked)),
        sums(nb26::kOjaSums),
        slot_steps(size(slots * nb26::oja_slot_rows(shape))),
        total(size(d)),
        base(size(d)),
        projected(size(shape.tracked)),
        moments(nb26::kOjaMoments),
        counts(nb26::kOjaCounts),
        sizes(size(3 * slots)) {
    for (std::int64_t j = 0; j < shape.tracked; ++j) directions[size(j * shape.stride + j)] = T(1);
    for (std::int64_t g = 0; g < groups; ++g) {
      for (std::int64_t j = 0; j < k; ++j) {
        for (std::int64_t lane = 0; lane < nb26::kOjaLanes<T>; ++lane) {
          replicates[size(((g * up(d) + j) * k + j) * nb26::kOjaLanes<T> + lane)] = T(1);
        }
      }
    }
  }

  nb26::OjaState<T> state() {
    return {directions.data(), mean.data(),    open_rows.data(), open_steps.data(),
            last_row.data(),   tracked.data(), counts.data(),    sums.data()};
  }
  nb26::OjaSparseState<T> sparse_state() {
    return {{directions.data(), nullptr, nullptr, open_steps.data(), nullptr, tracked.data(),
             counts.data(), sums.data()},
            total.data(),
            base.data(),
            projected.data(),
            moments.data()};
  }
  nb26::OjaSparseSlots<T> sparse_slots() {
    return {middle.data(), gram.data(), slot_steps.data(), sizes.data(), slots};
  }
  std::vector<double> steps(std::int64_t n) const {
    std::vector<double> out;
    for (std::int64_t i = 0; i < n; ++i) {
      out.push_back(0.4 / (20.0 + static_cast<double>(counts[0] + i)));
    }
    return out;
  }
  void take_dense(const Rows<T>& x, std::int64_t a, std::int64_t b) {
    const nb26::OjaSlots<T> slot{slot_rows.data(), gram.data(), slot_steps.data(), sizes.data(),
                                 slots};
    const auto done = nb26::oja_rows<T>(shape, rule, state(), x.dense.data() + a * x.d,
                                        steps(b - a).data(), b - a, slot, true);
    CHECK(done.rows == b - a && done.stop == nb26::OjaStop::kEnd);
    nb26::oja_replicates<T>(shape, weights, slot, done.blocks, replicates.data(), groups, 0, 1);
  }
  void take(const Rows<T>& x, std::int64_t a, std::int64_t b, int n_threads) {
    const auto rows = x.part(a - nb26::oja_sparse_held(counts.data()), b);
    const auto done = nb26::oja_sparse_rows<T>(shape, rule, sparse_state(), rows,
                                               steps(b - a).data(), sparse_slots(), true);
    CHECK(done.rows == b - a && done.stop == nb26::OjaStop::kEnd);
    nb26::oja_sparse_replicates<T>(shape, rule.center, weights, rows, sparse_slots(), done.blocks,
                                   replicates.data(), groups, 0, n_threads);
  }
  void close(const Rows<T>& x, std::int64_t at) {
    const auto rows = x.part(at - nb26::oja_sparse_held(counts.data()), at);
    const auto blocks =
        nb26::oja_sparse_close<T>(shape, rule.center, sparse_state(), rows, sparse_slots());
    nb26::oja_sparse_replicates<T>(shape, rule.center, weights, rows, sparse_slots(), blocks,
                                   replicates.data(), groups, 0, 1);
  }
};

template <typename V>
double distance(const std::vector<V>& a, const std::vector<V>& b) {
  double most = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::fmax(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return most;
}

template <typename T>
void check_agreement(std::int64_t d, std::int64_t k, std::int64_t block, double share, bool center,
                     bool paired = false) {
  const std::int64_t n = 150;
  const double near = sizeof(T) == 8 ? 1e-12 : 1e-4;
  const Rows<T> x(n, d, share);
  Stream<T> before(d, k, block, n, center, paired);
  for (int isa = 0; isa <= nb26::isa_supported(); ++isa) {
    nb26::isa_force(isa);
    Stream<T> dense(d, k, block, n, center, paired), thin = dense;
    dense.take_dense(x, 0, n);
    thin.take(x, 0, n, 1);
    CHECK(dense.counts == thin.counts);
    CHECK(distance(dense.directions, thin.directions) < near);
    CHECK(distance(dense.replicates, thin.replicates) < near);
    CHECK(distance(dense.sums, thin.sums) < 1e3 * near);
    CHECK(distance(dense.tracked, thin.tracked) < 1e6 * near);
    thin.close(x, n);
    CHECK(thin.counts[1] == 0);
    // levels 1 and 2 both fuse, in the same order
    if (isa == 2) CHECK(before.replicates == thin.replicates);
    before = thin;
  }
  nb26::isa_force(nb26::isa_supported());
}

template <typename T>
void check_cuts_and_threads(bool center, bool paired = false) {
  const Rows<T> x(200, 21, 0.3);
  Stream<T> whole(21, 3, 16, 200, center, paired);
  whole.take(x, 0, 200, 1);
  for (const std::int64_t step : {1, 7, 16, 33}) {
    Stream<T> cut(21, 3, 16, 200, center, paired);
#ifndef __SANITIZE_THREAD__
    const int n_threads = 2;
#else
    const int n_threads = 1;  // ThreadSanitizer does not see the barriers of OpenMP's library
#endif
    for (std::int64_t a = 0; a < 200; a += step) {
      cut.take(x, a, std::min<std::int64_t>(200, a + step), n_threads);
    }
    CHECK(cut.replicates == whole.replicates && cut.directions == whole.directions);
    CHECK(cut.sums == whole.sums && cut.tracked == whole.tracked && cut.counts == whole.counts);
    CHECK(cut.total == whole.total && cut.base == whole.base && cut.moments == whole.moments);
  }
}

// Directions times the sum of all rows, and its square, kept row by row and made anew.
void check_sums() {
  const Rows<double> x(90, 21, 0.3);
  Stream<double> kept(21, 3, 64, 90, true);
  kept.take(x, 0, 90, 1);
  CHECK(kept.counts[1] > 0);
  Stream<double> anew = kept;
  nb26::oja_sparse_settle<double>(anew.shape, anew.sparse_state());
  CHECK(distance(kept.projected, anew.projected) < 1e-12);
  CHECK(std::abs(kept.moments[0] - anew.moments[0]) < 1e-10);
  CHECK(kept.total == anew.total && anew.base == anew.total);
}

void check_refusals() {
  Rows<float> x(20, 5, 0.5);
  x.values[size(x.starts[3])] = 1e25f;
  Stream<float> s(5, 2, 16, 20, true);
  auto done = nb26::oja_sparse_rows<float>(s.shape, s.rule, s.sparse_state(), x.part(0, 20),
                                           s.steps(20).data(), s.sparse_slots(), true);
  CHECK(done.rows == 3 && done.stop == nb26::OjaStop::kTooLarge && s.counts[0] == 3);
  Stream<float> p(5, 2, 16, 20, true);
  done = nb26::oja_sparse_pilot<float>(p.shape, p.rule, p.sparse_state(), x.part(0, 20));
  CHECK(done.rows == 3 && done.stop == nb26::OjaStop::kTooLarge && p.counts[0] == 3);
  const Rows<float> good(20, 5, 0.5);
  Stream<float> t(5, 2, 4, 2, true);
  done = nb26::oja_sparse_rows<float>(t.shape, t.rule, t.sparse_state(), good.part(0, 20),
                                      t.steps(20).data(), t.sparse_slots(), true);
  CHECK(done.blocks == 2 && done.stop == nb26::OjaStop::kFull);
}

}  // namespace

int main() {
  for (const bool center : {true, false}) {
    check_agreement<double>(13, 3, 16, 0.3, center);
    check_agreement<double>(150, 5, 64, 0.05, center);
    check_agreement<double>(3, 3, 9, 1.0, center);
    check_agreement<double>(1, 1, 1, 1.0, center);
    check_agreement<float>(70, 7, 20, 0.2, center);
    check_agreement<double>(40, 3, 16, 0.2, center, true);
    check_agreement<float>(9, 2, 8, 0.5, center, true);
    check_cuts_and_threads<double>(center);
    check_cuts_and_threads<double>(center, true);
    check_cuts_and_threads<float>(center);
  }
  check_sums();
  check_refusals();
  return failures != 0;
}
