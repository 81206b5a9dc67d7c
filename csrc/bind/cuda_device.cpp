#include <pybind11/pybind11.h>

#include "nb26/device_api.hpp"

namespace nb26::bind {

void register_device(pybind11::module_& m) {
  m.def("device_count", &device_count, "Number of usable CUDA devices.");
  m.def("device_reason", &device_reason, "Why there is no usable device; empty when there is one.");
}

}  // namespace nb26::bind
