#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>

#include "oja_arrays.hpp"

namespace nb26::bind {
namespace {

template <typename T>
void replicates(const OjaShape& shape, const OjaWeights& weights, const py::tuple& slot_arrays,
                std::int64_t blocks, const py::object& array, std::int64_t first) {
  const OjaSlots<T> slots = oja_slots<T>(shape, slot_arrays);
  const OjaReplicates<T> own = oja_replicate_array<T>(shape, array);
  check_apart(slot_arrays, array);
  oja_check_blocks(shape, slots.sizes, 2, slots.slots, blocks);
  py::gil_scoped_release release;
  oja_replicates_cuda<T>(shape, weights, slots, blocks, own.data, own.groups, first);
}

}  // namespace

void register_oja(py::module_& m) {
  using py::arg;
  m.def(
      "oja_fits",
      [](const py::tuple& sizes) {
        const auto [shape, narrow] = oja_sizes(sizes);
        return oja_fits_cuda(shape, narrow);
      },
      arg("sizes"), "Whether replicates of these sizes stay in the device's shared memory.");
  m.def(
      "oja_replicates",
      [](const py::tuple& sizes, const py::tuple& weights, const py::tuple& slots,
         std::int64_t blocks, const py::object& array, std::int64_t first) {
        const auto [shape, narrow] = oja_sizes(sizes);
        const auto call = narrow ? replicates<float> : replicates<double>;
        call(shape, oja_weights(shape, weights), slots, blocks, array, first);
      },
      arg("sizes"), arg("weights"), arg("slots"), arg("blocks"), arg("replicates"), arg("first"),
      "Apply the blocks in the first slots to the replicates.");
}

}  // namespace nb26::bind
