#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>

#include "nb26/oja_sparse_api.hpp"
#include "oja_arrays.hpp"

namespace nb26::bind {
namespace {

// (values, columns, starts). The kernels trust places in memory that these arrays hold, so every
// one of them is looked at.
template <typename T>
OjaSparseRows<T> sparse_rows(const OjaShape& shape, const py::tuple& arrays) {
  const auto values = read<T>(given_array(arrays[0], "values"), "values", {kAny});
  const auto columns = read<std::int32_t>(given_array(arrays[1], "columns"), "columns",
                                          {static_cast<py::ssize_t>(values.shape[0])});
  const auto starts = read<std::int64_t>(given_array(arrays[2], "starts"), "starts", {kAny});
  const std::int64_t n = starts.shape[0] - 1;
  bool good = n >= 0 && starts.data[0] >= 0 && starts.data[n] <= values.shape[0];
  for (std::int64_t i = 0; good && i < n; ++i) good = starts.data[i] <= starts.data[i + 1];
  if (!good) throw py::value_error("starts must ascend within the values");
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t last = -1;
    for (std::int64_t at = starts.data[i]; at < starts.data[i + 1]; ++at) {
      const std::int64_t column = columns.data[at];
      if (column <= last || column >= shape.columns) {
        throw py::value_error("columns must ascend within a row and lie below the features");
      }
      last = column;
    }
  }
  return {values.data, columns.data, starts.data, n};
}

// (directions, open_steps, tracked, counts, sums, total, base, projected, moments)
template <typename T>
class SparseCall {
 public:
  SparseCall(const OjaShape& shape, const py::tuple& arrays)
      : state_(members(shape, arrays)), counts_(shape, state_.own.counts) {
    state_.own.counts = counts_.data();
  }
  const OjaSparseState<T>& state() const { return state_; }

 private:
  static OjaSparseState<T> members(const OjaShape& shape, const py::tuple& arrays) {
    const std::int64_t m8 = oja_slot_rows(shape), d = shape.columns, k0 = shape.tracked;
    return {{oja_member<T>(arrays, 0, "directions", {k0, shape.stride}), nullptr, nullptr,
             oja_member<double>(arrays, 1, "open_steps", {m8}), nullptr,
             oja_member<double>(arrays, 2, "tracked", {kOjaTracks, k0}),
             oja_member<std::int64_t>(arrays, 3, "counts", {kOjaCounts}),
             oja_member<double>(arrays, 4, "sums", {kOjaSums})},
            oja_member<double>(arrays, 5, "total", {d}),
            oja_member<double>(arrays, 6, "base", {d}),
            oja_member<double>(arrays, 7, "projected", {k0}),
            oja_member<double>(arrays, 8, "moments", {kOjaMoments})};
  }
  OjaSparseState<T> state_;
  OjaCounts counts_;
};

// (mean, gram, steps, sizes)
template <typename T>
OjaSparseSlots<T> sparse_slots(const OjaShape& shape, const py::tuple& arrays) {
  const std::int64_t m8 = oja_slot_rows(shape);
  const auto sizes = given_array(arrays[3], "sizes");
  const std::int64_t slots = sizes.ndim() > 0 ? sizes.shape(0) : 0;
  if (slots < 1) throw py::value_error("there must be at least one slot");
  return {oja_member<T>(arrays, 0, "mean", {slots, oja_rounded(shape.columns)}),
          oja_member<T>(arrays, 1, "gram", {slots, m8, m8}),
          oja_member<double>(arrays, 2, "steps", {slots, m8}),
          oja_member<std::int64_t>(arrays, 3, "sizes", {slots, 3}), slots};
}

// The first rows of a matrix must be those that the state says it holds.
template <typename T>
void check_held(const OjaSparseState<T>& state, const OjaSparseRows<T>& rows) {
  if (oja_sparse_held(state.own.counts) > rows.n) {
    throw py::value_error("rows must start with those of the open block");
  }
}

template <typename T>
py::tuple pilot(const OjaShape& shape, const OjaRule& rule, const py::tuple& arrays,
                const py::tuple& row_arrays) {
  SparseCall<T> call(shape, arrays);
  const auto rows = sparse_rows<T>(shape, row_arrays);
  check_apart(arrays, row_arrays);
  OjaProgress done{};
  {
    py::gil_scoped_release release;
    done = oja_sparse_pilot<T>(shape, rule, call.state(), rows);
  }
  return py::make_tuple(done.rows, static_cast<int>(done.stop));
}

template <typename T>
void settle(const OjaShape& shape, const py::tuple& arrays) {
  SparseCall<T> call(shape, arrays);
  check_apart(arrays);
  py::gil_scoped_release release;
  oja_sparse_settle<T>(shape, call.state());
}

template <typename T>
py::tuple rows(const OjaShape& shape, const OjaRule& rule, const py::tuple& arrays,
               const py::tuple& row_arrays, const py::object& steps, const py::tuple& slot_arrays,
               const py::object& replicates, const OjaWeights& weights, std::int64_t first,
               int n_threads) {
  SparseCall<T> call(shape, arrays);
  const auto input = sparse_rows<T>(shape, row_arrays);
  check_held(call.state(), input);
  const auto slots = sparse_slots<T>(shape, slot_arrays);
  const OjaReplicates<T> own = oja_replicate_array<T>(shape, replicates);
  const py::ssize_t fresh = input.n - oja_sparse_held(call.state().own.counts);
  const double* step =
      steps.is_none() ? nullptr : read<double>(given_array(steps, "steps"), "steps", {fresh}).data;
  check_apart(arrays, row_arrays, steps, slot_arrays, replicates);
  OjaProgress done{};
  {
    // the estimate and its replicates advance in one call, so that an interrupt cannot leave them
    // at different rows
    py::gil_scoped_release release;
    done = oja_sparse_rows<T>(shape, rule, call.state(), input, step, slots, own.data != nullptr);
    if (own.data != nullptr && done.blocks > 0) {
      oja_sparse_replicates<T>(shape, rule.center, weights, input, slots, done.blocks, own.data,
                               own.groups, first, n_threads);
    }
  }
  return py::make_tuple(done.rows, done.blocks, static_cast<int>(done.stop));
}

template <typename T>
std::int64_t close(const OjaShape& shape, const OjaRule& rule, const py::tuple& arrays,
                   const py::tuple& row_arrays, const py::tuple& slot_arrays) {
  SparseCall<T> call(shape, arrays);
  const auto input = sparse_rows<T>(shape, row_arrays);
  check_held(call.state(), input);
  const auto slots = sparse_slots<T>(shape, slot_arrays);
  check_apart(arrays, row_arrays, slot_arrays);
  py::gil_scoped_release release;
  return oja_sparse_close<T>(shape, rule.center, call.state(), input, slots);
}

template <typename T>
void replicates(const OjaShape& shape, const OjaRule& rule, const OjaWeights& weights,
                const py::tuple& row_arrays, const py::tuple& slot_arrays, std::int64_t blocks,
                const py::object& array, std::int64_t first, int n_threads) {
  const auto input = sparse_rows<T>(shape, row_arrays);
  const auto slots = sparse_slots<T>(shape, slot_arrays);
  const OjaReplicates<T> own = oja_replicate_array<T>(shape, array);
  check_apart(row_arrays, slot_arrays, array);
  oja_check_blocks(shape, slots.sizes, 3, slots.slots, blocks);
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t begin = slots.sizes[3 * b + 2];
    if (begin < 0 || begin > input.n - slots.sizes[3 * b]) {
      throw py::value_error("a slot must lie in the rows");
    }
  }
  py::gil_scoped_release release;
  oja_sparse_replicates<T>(shape, rule.center, weights, input, slots, blocks, own.data, own.groups,
                           first, n_threads);
}

}  // namespace

void register_oja_sparse(py::module_& m) {
  using py::arg;
  m.def(
      "oja_sparse_pilot",
      [](const py::tuple& sizes, const py::tuple& rule, const py::tuple& state,
         const py::tuple& rows) {
        const auto [shape, narrow] = oja_sizes(sizes);
        const auto call = narrow ? pilot<float> : pilot<double>;
        return call(shape, oja_rule(rule), state, rows);
      },
      arg("sizes"), arg("rule"), arg("state"), arg("rows"),
      "Count sparse rows into the pilot: (rows taken, why it stopped).");
  m.def(
      "oja_sparse_settle",
      [](const py::tuple& sizes, const py::tuple& state) {
        const auto [shape, narrow] = oja_sizes(sizes);
        const auto call = narrow ? settle<float> : settle<double>;
        call(shape, state);
      },
      arg("sizes"), arg("state"),
      "Recompute what depends on the directions and on the sum of the rows.");
  m.def(
      "oja_sparse_rows",
      [](const py::tuple& sizes, const py::tuple& rule, const py::tuple& state, const py::tuple& x,
         const py::object& steps, const py::tuple& slots, const py::object& replicates,
         const py::tuple& weights, std::int64_t first, int n_threads) {
        const auto [shape, narrow] = oja_sizes(sizes);
        const auto call = narrow ? rows<float> : rows<double>;
        return call(shape, oja_rule(rule), state, x, steps, slots, replicates,
                    oja_weights(shape, weights), first, n_threads);
      },
      arg("sizes"), arg("rule"), arg("state"), arg("rows"), arg("steps"), arg("slots"),
      arg("replicates"), arg("weights"), arg("first"), arg("n_threads"),
      "Absorb the sparse rows after those that the state holds; closed blocks reach `replicates`:\n"
      "(rows taken, blocks closed, why it stopped).");
  m.def(
      "oja_sparse_close",
      [](const py::tuple& sizes, const py::tuple& rule, const py::tuple& state,
         const py::tuple& rows, const py::tuple& slots) {
        const auto [shape, narrow] = oja_sizes(sizes);
        const auto call = narrow ? close<float> : close<double>;
        return call(shape, oja_rule(rule), state, rows, slots);
      },
      arg("sizes"), arg("rule"), arg("state"), arg("rows"), arg("slots"),
      "Close the open block of sparse rows, if there is one: the number of blocks closed.");
  m.def(
      "oja_sparse_replicates",
      [](const py::tuple& sizes, const py::tuple& rule, const py::tuple& weights,
         const py::tuple& rows, const py::tuple& slots, std::int64_t blocks,
         const py::object& array, std::int64_t first, int n_threads) {
        const auto [shape, narrow] = oja_sizes(sizes);
        const auto call = narrow ? replicates<float> : replicates<double>;
        call(shape, oja_rule(rule), oja_weights(shape, weights), rows, slots, blocks, array, first,
             n_threads);
      },
      arg("sizes"), arg("rule"), arg("weights"), arg("rows"), arg("slots"), arg("blocks"),
      arg("replicates"), arg("first"), arg("n_threads"),
      "Apply the blocks of sparse rows in the first slots to the replicates.");
}

}  // namespace nb26::bind
