#include <pybind11/pybind11.h>

namespace nb26::bind {
void register_broja(pybind11::module_& m);
void register_density(pybind11::module_& m);
void register_gaussian_pid(pybind11::module_& m);
void register_learning(pybind11::module_& m);
void register_learning_fit(pybind11::module_& m);
void register_math(pybind11::module_& m);
void register_oja(pybind11::module_& m);
void register_oja_pilot(pybind11::module_& m);
void register_oja_sparse(pybind11::module_& m);
void register_tools(pybind11::module_& m);
}  // namespace nb26::bind

PYBIND11_MODULE(_core, m, pybind11::mod_gil_not_used()) {
  m.doc() = "Native kernels; called by the package only.";
  nb26::bind::register_broja(m);
  nb26::bind::register_density(m);
  nb26::bind::register_gaussian_pid(m);
  nb26::bind::register_learning(m);
  nb26::bind::register_learning_fit(m);
  nb26::bind::register_math(m);
  nb26::bind::register_oja(m);
  nb26::bind::register_oja_pilot(m);
  nb26::bind::register_oja_sparse(m);
  nb26::bind::register_tools(m);
}
