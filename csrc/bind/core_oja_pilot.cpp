#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>

#include "oja_arrays.hpp"

namespace nb26::bind {
namespace {

py::tuple vectors(const OjaWeights& weights, const py::array& gram, std::int64_t k,
                  std::int64_t first, std::int64_t groups, int n_threads) {
  const auto products = read<double>(gram, "gram", {kAny, kAny});
  const std::int64_t n = products.shape[0];
  if (n != products.shape[1] || n < 1) throw py::value_error("gram must be square");
  if (k < 1 || k > n || first < 0 || groups < 0) {
    throw py::value_error("k must lie in [1, n]; first and groups must be at least 0");
  }
  py::array_t<double> coefficients({groups, n, k, kPilotLanes});
  py::array_t<std::int8_t> ends({groups, kPilotLanes});
  double* to = coefficients.mutable_data();
  auto* how = reinterpret_cast<PilotEnd*>(ends.mutable_data());
  {
    py::gil_scoped_release release;
    oja_pilot_vectors(weights, products.data, n, k, first, groups, to, how, n_threads);
  }
  return py::make_tuple(coefficients, ends);
}

template <typename T>
void start(const OjaShape& shape, const py::array& rows, const py::array& coefficients,
           const py::object& replicates, int n_threads) {
  const OjaReplicates<T> own = oja_replicate_array<T>(shape, replicates);
  const auto pilot = read<double>(rows, "rows", {kAny, shape.columns});
  const std::int64_t groups = own.groups * kOjaLanes<T> / kPilotLanes;
  const auto parts = read<double>(coefficients, "coefficients",
                                  {groups, pilot.shape[0], shape.components, kPilotLanes});
  check_apart(rows, coefficients, replicates);
  py::gil_scoped_release release;
  oja_pilot_start<T>(shape, pilot.data, pilot.shape[0], parts.data, groups, own.data, n_threads);
}

}  // namespace

void register_oja_pilot(py::module_& m) {
  using py::arg;
  m.def(
      "oja_pilot_vectors",
      [](const py::tuple& weights, const py::array& gram, std::int64_t k, std::int64_t first,
         std::int64_t groups, int n_threads) {
        const OjaWeights how = oja_weights(weights);
        if (how.kind == OjaMultiplier::kPaired) {
          throw py::value_error("a pilot has no use for weights below zero");
        }
        return vectors(how, gram, k, first, groups, n_threads);
      },
      arg("weights"), arg("gram"), arg("k"), arg("first"), arg("groups"), arg("n_threads"),
      "Leading directions of the weighted pilots of eight replicates per group, as coefficients\n"
      "of its rows (groups, n, k, 8), and how each ended: 0 good, 1 rank below k, 2 unsure.");
  m.def(
      "oja_pilot_start",
      [](const py::tuple& sizes, const py::array& rows, const py::array& coefficients,
         const py::object& replicates, int n_threads) {
        const auto [shape, narrow] = oja_sizes(sizes);
        const auto call = narrow ? start<float> : start<double>;
        call(shape, rows, coefficients, replicates, n_threads);
      },
      arg("sizes"), arg("rows"), arg("coefficients"), arg("replicates"), arg("n_threads"),
      "Replicates from the coefficients of the pilot's rows.");
}

}  // namespace nb26::bind
