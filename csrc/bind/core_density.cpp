#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>

#include "density_arrays.hpp"

namespace nb26::bind {
namespace {

void check_rows(std::int64_t first, std::int64_t last, std::int64_t n) {
  if (n < 2 || n > INT32_MAX) throw py::value_error("x must have 2 rows or more");
  if (first < 0 || first > last || last > n) {
    throw py::value_error("rows must lie in [0, " + std::to_string(n) + "]");
  }
}

py::array_t<std::uint16_t> resamples(std::int64_t n, std::int64_t n_bootstrap, int arm,
                                     std::uint64_t seed, int n_threads) {
  if (n < 1 || n > INT32_MAX || n_bootstrap < 0 || arm < 0 || arm > 1) {
    throw py::value_error("n must be at least 1, n_bootstrap at least 0 and arm 0 or 1");
  }
  py::array_t<std::uint16_t> counts({n_bootstrap, n});
  std::uint16_t* data = counts.mutable_data();
  {
    py::gil_scoped_release release;
    density_resamples(n, n_bootstrap, arm, seed, n_threads, data);
  }
  return counts;
}

py::array_t<double> loo(const py::array& x, const py::array& y, const py::array& k,
                        const py::array& hx, const py::array& hy, std::int64_t first,
                        std::int64_t last, int n_threads) {
  const auto rows = read<double>(x, "x", {kAny, kAny});
  const auto own = read<double>(y, "y", {rows.shape[1]});
  const auto ks = read<std::int64_t>(k, "k", {kAny});
  const auto wide_x = read<double>(hx, "hx", {kAny});
  const auto wide_y = read<double>(hy, "hy", {kAny});
  check_rows(first, last, rows.shape[1]);
  const DensityGrid grid{ks.data,     wide_x.data,     wide_y.data,
                         ks.shape[0], wide_x.shape[0], wide_y.shape[0]};
  if (grid.n_k < 1 || grid.n_hx < 1 || grid.n_hy < 1) {
    throw py::value_error("k, hx and hy must not be empty");
  }
  for (py::ssize_t i = 0; i < grid.n_k; ++i) {
    if (grid.k[i] <= (i ? grid.k[i - 1] : 0)) {
      throw py::value_error("k must be positive and ascend");
    }
  }
  for (py::ssize_t i = 0; i < grid.n_hx; ++i) {
    if (!(grid.hx[i] > 0.0)) throw py::value_error("hx must be positive");
  }
  for (py::ssize_t i = 0; i < grid.n_hy; ++i) {
    if (!(grid.hy[i] > 0.0)) throw py::value_error("hy must be positive");
  }
  py::array_t<double> out({last - first, grid.n_k, grid.n_hx, grid.n_hy});
  double* data = out.mutable_data();
  {
    py::gil_scoped_release release;
    density_loo_cpu(rows.data, own.data, rows.shape[1], rows.shape[0], grid, first, last, n_threads,
                    data);
  }
  return out;
}

py::array_t<double> spread(const py::array& x, const py::array& ranks, std::int64_t first,
                           std::int64_t last, int n_threads) {
  const auto rows = read<double>(x, "x", {kAny, kAny});
  const auto at = read<std::int64_t>(ranks, "ranks", {kAny});
  check_rows(first, last, rows.shape[1]);
  for (py::ssize_t i = 0; i < at.shape[0]; ++i) {
    if (at.data[i] <= (i ? at.data[i - 1] : 0) || at.data[i] >= rows.shape[1]) {
      throw py::value_error("ranks must ascend in [1, n - 1]");
    }
  }
  py::array_t<double> out({static_cast<py::ssize_t>(last - first), at.shape[0]});
  double* data = out.mutable_data();
  {
    py::gil_scoped_release release;
    density_spread_cpu(rows.data, rows.shape[1], rows.shape[0], at.data, at.shape[0], first, last,
                       n_threads, data);
  }
  return out;
}

}  // namespace

void register_density(py::module_& m) {
  using py::arg;
  m.def(
      "density_bootstrap",
      [](const py::tuple& control, const py::tuple& treated, const py::array& x,
         const py::object& y, const py::tuple& own, const py::array& grid, const py::tuple& rule,
         bool resamples, bool curves, int n_threads) {
        return density_arrays(control, treated, x, y, own, grid, rule, resamples, curves,
                              [n_threads](const DensityArm(&arms)[2], const DensityQueries& queries,
                                          const DensityRule& how, const DensityOut& out) {
                                density_bootstrap_cpu(arms, queries, how, n_threads, out);
                              });
      },
      arg("control"), arg("treated"), arg("x"), arg("y"), arg("own"), arg("grid"), arg("rule"),
      arg("resamples"), arg("curves"), arg("n_threads"),
      "Bounds at queries x (m, p), y (m,) or None, own rows (m,) in each arm. An arm is x (p, n),\n"
      "y (n,), k, hx, hy, counts (B, n); rule is (quantile, threshold, ratio_quantile). Returns\n"
      "prior, lfdr (m,), mean, ess (2, m), prior_b (m, B), mean_b (2, m, B) or None, and the\n"
      "densities (2, m, G) with lower and upper bounds (2, 2, m, G), bound first, or None.");
  m.def("density_resamples", &resamples, arg("n"), arg("n_bootstrap"), arg("arm"), arg("seed"),
        arg("n_threads") = 0,
        "How often each resample of an arm (0 control, 1 treated) counts each row, (B, n).");
  m.def("density_loo", &loo, arg("x"), arg("y"), arg("k"), arg("hx"), arg("hy"), arg("first"),
        arg("last"), arg("n_threads"),
        "Log density of the rows first..last of x (p, n), y (n,) given all others under every\n"
        "setting: (rows, k, hx, hy).");
  m.def("density_spread", &spread, arg("x"), arg("ranks"), arg("first"), arg("last"),
        arg("n_threads"),
        "Distance of the rows first..last of x (p, n) to their ranks-th nearest other row.");
}

}  // namespace nb26::bind
