#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "density_arrays.hpp"

namespace nb26::bind {

void register_density(py::module_& m) {
  using py::arg;
  m.def(
      "density_bootstrap",
      [](const py::tuple& control, const py::tuple& treated, const py::array& x,
         const py::object& y, const py::tuple& own, const py::array& grid, const py::tuple& rule,
         bool resamples, bool curves) {
        return density_arrays(
            control, treated, x, y, own, grid, rule, resamples, curves,
            [](const DensityArm(&arms)[2], const DensityQueries& queries, const DensityRule& how,
               const DensityOut& out) { density_bootstrap_cuda(arms, queries, how, out); });
      },
      arg("control"), arg("treated"), arg("x"), arg("y"), arg("own"), arg("grid"), arg("rule"),
      arg("resamples"), arg("curves"),
      "Bounds at queries x (m, p), y (m,) or None, own rows (m,) in each arm. An arm is x (p, n),\n"
      "y (n,), k, hx, hy, counts (B, n); rule is (quantile, threshold, ratio_quantile). Returns\n"
      "prior, lfdr (m,), mean, ess (2, m), prior_b (m, B), mean_b (2, m, B) or None, and the\n"
      "densities (2, m, G) with lower and upper bounds (2, 2, m, G), bound first, or None.");
}

}  // namespace nb26::bind
