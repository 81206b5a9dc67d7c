#include <pybind11/pybind11.h>

namespace nb26::bind {
void register_density(pybind11::module_& m);
void register_device(pybind11::module_& m);
void register_gaussian_pid(pybind11::module_& m);
void register_learning(pybind11::module_& m);
void register_oja(pybind11::module_& m);
}  // namespace nb26::bind

PYBIND11_MODULE(_cuda, m, pybind11::mod_gil_not_used()) {
  m.doc() = "CUDA kernels; called by the package only. Imports without a driver.";
  nb26::bind::register_density(m);
  nb26::bind::register_device(m);
  nb26::bind::register_gaussian_pid(m);
  nb26::bind::register_learning(m);
  nb26::bind::register_oja(m);
}
