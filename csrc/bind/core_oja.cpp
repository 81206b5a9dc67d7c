#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>

#include "oja_arrays.hpp"

namespace nb26::bind {
namespace {

template <typename T>
py::tuple center(const OjaShape& shape, const OjaRule& rule, const py::tuple& arrays,
                 const py::array& x, py::array& out) {
  const OjaCall<T> call(shape, arrays);
  const auto rows = read<T>(x, "x", {kAny, shape.columns});
  const auto target = write<T>(out, "out", {rows.shape[0], shape.columns});
  check_apart(arrays, x, out);
  OjaProgress done{};
  {
    py::gil_scoped_release release;
    done = oja_center<T>(shape, rule, call.state(), rows.data, rows.shape[0], target.data);
  }
  return py::make_tuple(done.rows, static_cast<int>(done.stop));
}

template <typename T>
py::tuple rows(const OjaShape& shape, const OjaRule& rule, const py::tuple& arrays,
               const py::array& x, const py::object& steps, const py::tuple& slot_arrays,
               const py::object& replicates, const OjaWeights& weights, std::int64_t first,
               bool keep, int n_threads) {
  const OjaCall<T> call(shape, arrays);
  const OjaSlots<T> slots = oja_slots<T>(shape, slot_arrays);
  const OjaReplicates<T> own = oja_replicate_array<T>(shape, replicates);
  const auto input = read<T>(x, "x", {kAny, shape.columns});
  const double* step =
      steps.is_none() ? nullptr
                      : read<double>(given_array(steps, "steps"), "steps", {input.shape[0]}).data;
  check_apart(arrays, x, steps, slot_arrays, replicates);
  OjaProgress done{};
  {
    // the estimate and its replicates advance in one call, so that an interrupt cannot leave them
    // at different rows
    py::gil_scoped_release release;
    done =
        own.data == nullptr
            ? oja_rows<T>(shape, rule, call.state(), input.data, step, input.shape[0], slots, keep)
            : oja_advance<T>(shape, rule, call.state(), input.data, step, input.shape[0], slots,
                             weights, own.data, own.groups, first, n_threads);
  }
  return py::make_tuple(done.rows, done.blocks, static_cast<int>(done.stop));
}

template <typename T>
std::int64_t close(const OjaShape& shape, const py::tuple& arrays, const py::tuple& slot_arrays,
                   const py::object& replicates, const OjaWeights& weights, std::int64_t first,
                   int n_threads) {
  const OjaCall<T> call(shape, arrays);
  const OjaSlots<T> slots = oja_slots<T>(shape, slot_arrays);
  const OjaReplicates<T> own = oja_replicate_array<T>(shape, replicates);
  check_apart(arrays, slot_arrays, replicates);
  py::gil_scoped_release release;
  const std::int64_t blocks = oja_close<T>(shape, call.state(), slots);
  if (own.data != nullptr && blocks > 0) {
    oja_replicates<T>(shape, weights, slots, blocks, own.data, own.groups, first, n_threads);
  }
  return blocks;
}

template <typename T>
void replicates(const OjaShape& shape, const OjaWeights& weights, const py::tuple& slot_arrays,
                std::int64_t blocks, const py::object& array, std::int64_t first, int n_threads) {
  const OjaSlots<T> slots = oja_slots<T>(shape, slot_arrays);
  const OjaReplicates<T> own = oja_replicate_array<T>(shape, array);
  check_apart(slot_arrays, array);
  oja_check_blocks(shape, slots.sizes, 2, slots.slots, blocks);
  py::gil_scoped_release release;
  oja_replicates<T>(shape, weights, slots, blocks, own.data, own.groups, first, n_threads);
}

template <typename T>
void orthonormalise(const OjaShape& shape, const py::object& replicates, int n_threads) {
  const OjaReplicates<T> own = oja_replicate_array<T>(shape, replicates);
  py::gil_scoped_release release;
  oja_orthonormalise<T>(shape, own.data, own.groups, n_threads);
}

template <typename T>
py::array_t<double> errors(const OjaShape& shape, const py::array& directions,
                           const py::object& replicates, int n_threads) {
  const OjaReplicates<T> own = oja_replicate_array<T>(shape, replicates);
  const auto rows = read<double>(directions, "directions", {shape.components, shape.columns});
  py::array_t<double> out({own.groups, kOjaLanes<T>});
  double* to = out.mutable_data();
  {
    py::gil_scoped_release release;
    oja_errors<T>(shape, rows.data, own.data, own.groups, to, n_threads);
  }
  return out;
}

}  // namespace

void register_oja(py::module_& m) {
  using py::arg;
  m.def(
      "oja_lanes",
      [](int itemsize) { return oja_narrow(itemsize) ? kOjaLanes<float> : kOjaLanes<double>; },
      arg("itemsize"), "Replicates that are computed side by side.");
  m.def(
      "oja_stride", [](const py::tuple& sizes) { return oja_sizes(sizes).shape.stride; },
      arg("sizes"), "Elements from one stored row to the next.");
  m.def(
      "oja_center",
      [](const py::tuple& sizes, const py::tuple& rule, const py::tuple& state, const py::array& x,
         py::array& out) {
        const auto [shape, narrow] = oja_sizes(sizes);
        const auto call = narrow ? center<float> : center<double>;
        return call(shape, oja_rule(rule), state, x, out);
      },
      arg("sizes"), arg("rule"), arg("state"), arg("x"), arg("out"),
      "Centre rows of `x` into `out`: (rows taken, why it stopped).");
  m.def(
      "oja_rows",
      [](const py::tuple& sizes, const py::tuple& rule, const py::tuple& state, const py::array& x,
         const py::object& steps, const py::tuple& slots, const py::object& replicates,
         const py::tuple& weights, std::int64_t first, bool keep, int n_threads) {
        const auto [shape, narrow] = oja_sizes(sizes);
        const auto call = narrow ? rows<float> : rows<double>;
        return call(shape, oja_rule(rule), state, x, steps, slots, replicates,
                    oja_weights(shape, weights), first, keep, n_threads);
      },
      arg("sizes"), arg("rule"), arg("state"), arg("x"), arg("steps"), arg("slots"),
      arg("replicates"), arg("weights"), arg("first"), arg("keep"), arg("n_threads"),
      "Absorb rows of `x`; closed blocks reach `replicates` or, with `keep`, stay in `slots`:\n"
      "(rows taken, blocks closed, why it stopped).");
  m.def(
      "oja_close",
      [](const py::tuple& sizes, const py::tuple& state, const py::tuple& slots,
         const py::object& replicates, const py::tuple& weights, std::int64_t first,
         int n_threads) {
        const auto [shape, narrow] = oja_sizes(sizes);
        const auto call = narrow ? close<float> : close<double>;
        return call(shape, state, slots, replicates, oja_weights(shape, weights), first, n_threads);
      },
      arg("sizes"), arg("state"), arg("slots"), arg("replicates"), arg("weights"), arg("first"),
      arg("n_threads"), "Close the open block, if there is one: the number of blocks closed.");
  m.def(
      "oja_replicates",
      [](const py::tuple& sizes, const py::tuple& weights, const py::tuple& slots,
         std::int64_t blocks, const py::object& array, std::int64_t first, int n_threads) {
        const auto [shape, narrow] = oja_sizes(sizes);
        const auto call = narrow ? replicates<float> : replicates<double>;
        call(shape, oja_weights(shape, weights), slots, blocks, array, first, n_threads);
      },
      arg("sizes"), arg("weights"), arg("slots"), arg("blocks"), arg("replicates"), arg("first"),
      arg("n_threads"), "Apply the blocks in the first slots to the replicates.");
  m.def(
      "oja_orthonormalise",
      [](const py::tuple& sizes, const py::object& replicates, int n_threads) {
        const auto [shape, narrow] = oja_sizes(sizes);
        const auto call = narrow ? orthonormalise<float> : orthonormalise<double>;
        call(shape, replicates, n_threads);
      },
      arg("sizes"), arg("replicates"), arg("n_threads"),
      "Orthonormalise every replicate in place.");
  m.def(
      "oja_errors",
      [](const py::tuple& sizes, const py::array& directions, const py::object& replicates,
         int n_threads) {
        const auto [shape, narrow] = oja_sizes(sizes);
        const auto call = narrow ? errors<float> : errors<double>;
        return call(shape, directions, replicates, n_threads);
      },
      arg("sizes"), arg("directions"), arg("replicates"), arg("n_threads"),
      "Squared subspace error (groups, lanes) of every replicate around the rows of `directions`.");
  m.def(
      "oja_refresh",
      [](const py::tuple& sizes, const py::tuple& rule, py::array& tracked, py::array& counts,
         py::array& sums) {
        const OjaShape shape = oja_sizes(sizes).shape;
        check_apart(tracked, counts, sums);
        oja_refresh(shape, oja_rule(rule),
                    write<double>(tracked, "tracked", {kOjaTracks, shape.tracked}).data,
                    write<std::int64_t>(counts, "counts", {kOjaCounts}).data,
                    write<double>(sums, "sums", {kOjaSums}).data);
      },
      arg("sizes"), arg("rule"), arg("tracked"), arg("counts"), arg("sums"),
      "Recompute the gap and the automatic step from the sums of the epoch.");
  m.def(
      "oja_multipliers",
      [](const py::tuple& weights, std::int64_t first, std::int64_t n_replicates, std::int64_t row,
         std::int64_t n) {
        if (first < 0 || n_replicates < 0 || row < 1 || n < 0) {
          throw py::value_error("first, n_replicates, n must be at least 0 and row at least 1");
        }
        const OjaWeights how = oja_weights(weights);
        py::array_t<double> out({n_replicates, n});
        double* to = out.mutable_data();
        {
          py::gil_scoped_release release;
          oja_multipliers(how, first, n_replicates, row, n, to);
        }
        return out;
      },
      arg("weights"), arg("first"), arg("n_replicates"), arg("row"), arg("n"),
      "Weights of replicates (first, ...) for rows (row, ...), counted from 1.");
}

}  // namespace nb26::bind
