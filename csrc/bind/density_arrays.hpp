// Arrays of the conditional-density bootstrap, checked: the same for the CPU and the device.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>

#include "arrays.hpp"
#include "nb26/density_api.hpp"

namespace nb26::bind {

// (x (p, n), y (n), k, hx, hy, counts (B, n)).
inline DensityArm density_arm(const py::tuple& given, const std::string& name) {
  if (given.size() != 6) throw py::value_error(name + " must be (x, y, k, hx, hy, counts)");
  const auto array = [&](int i) { return given_array(given[i], name.c_str()); };
  const auto x = read<double>(array(0), (name + " x").c_str(), {kAny, kAny});
  const auto y = read<double>(array(1), (name + " y").c_str(), {x.shape[1]});
  const auto counts = read<std::uint16_t>(array(5), (name + " counts").c_str(), {kAny, x.shape[1]});
  const DensityArm arm{x.data,
                       y.data,
                       x.shape[1],
                       x.shape[0],
                       given[2].cast<std::int64_t>(),
                       given[3].cast<double>(),
                       given[4].cast<double>(),
                       counts.data};
  if (arm.n < 2 || arm.n > INT32_MAX) throw py::value_error(name + " must have 2 rows or more");
  if (arm.k < 1 || arm.k >= arm.n) throw py::value_error(name + ": k must lie in [1, n - 1]");
  if (!(arm.hx > 0.0) || !(arm.hy > 0.0)) throw py::value_error(name + ": widths must be positive");
  return arm;
}

// Runs call(arms, queries, rule, out) without the lock.
template <class Call>
py::tuple density_arrays(const py::tuple& control, const py::tuple& treated, const py::array& x,
                         const py::object& y, const py::tuple& own, const py::array& grid,
                         const py::tuple& rule, bool resamples, bool curves, Call call) {
  const DensityArm arms[2] = {density_arm(control, "control"), density_arm(treated, "treated")};
  const auto at = read<double>(x, "x", {kAny, arms[0].p});
  const py::ssize_t m = at.shape[0];
  const auto points = read<double>(grid, "grid", {kAny});
  const py::ssize_t g = points.shape[0];
  const py::ssize_t n_bootstrap = given_array(control[5], "counts").shape(0);
  if (arms[1].p != arms[0].p || given_array(treated[5], "counts").shape(0) != n_bootstrap) {
    throw py::value_error("the arms must have the same columns and resamples");
  }
  if (g < 1 || n_bootstrap < 1) throw py::value_error("a point and a resample at least");
  if (rule.size() != 3) throw py::value_error("rule must be (quantile, threshold, ratio_quantile)");
  DensityQueries queries{at.data, nullptr, {}, m};
  if (!y.is_none()) queries.y = read<double>(given_array(y, "y"), "y", {m}).data;
  if (own.size() != 2) throw py::value_error("own must be a pair");
  for (int a = 0; a < 2; ++a) {
    const auto rows = read<std::int64_t>(given_array(own[a], "own"), "own", {m});
    for (py::ssize_t i = 0; i < m; ++i) {
      if (rows.data[i] < -1 || rows.data[i] >= arms[a].n) {
        throw py::value_error("own[" + std::to_string(i) + "] is no row of its arm");
      }
    }
    queries.own[a] = rows.data;
  }
  const DensityRule how{
      points.data,           g, n_bootstrap, rule[0].cast<double>(), rule[1].cast<double>(),
      rule[2].cast<double>()};
  for (const double q : {how.quantile, how.ratio_quantile}) {
    if (!(q >= 0.0 && q <= 1.0)) throw py::value_error("a quantile must lie in [0, 1]");
  }
  using Array = py::array_t<double>;
  Array prior(m), lfdr(m), mean({py::ssize_t{2}, m}), ess({py::ssize_t{2}, m});
  DensityOut out{};
  out.prior = prior.mutable_data();
  out.lfdr = lfdr.mutable_data();
  py::object prior_b = py::none(), mean_b = py::none(), point = py::none(), bounds = py::none();
  double *means = nullptr, *points_out = nullptr, *bounds_out = nullptr;
  if (resamples) {
    Array of_prior({m, n_bootstrap}), of_mean({py::ssize_t{2}, m, n_bootstrap});
    out.prior_b = of_prior.mutable_data();
    means = of_mean.mutable_data();
    prior_b = of_prior;
    mean_b = of_mean;
  }
  if (curves) {
    Array fits({py::ssize_t{2}, m, g}), limits({py::ssize_t{2}, py::ssize_t{2}, m, g});
    points_out = fits.mutable_data();
    bounds_out = limits.mutable_data();
    point = fits;
    bounds = limits;
  }
  for (int a = 0; a < 2; ++a) {
    out.mean[a] = mean.mutable_data() + a * m;
    out.ess[a] = ess.mutable_data() + a * m;
    if (means) out.mean_b[a] = means + a * m * n_bootstrap;
    if (!curves) continue;
    out.point[a] = points_out + a * m * g;
    out.lower[a] = bounds_out + a * m * g;
    out.upper[a] = bounds_out + (2 + a) * m * g;
  }
  {
    py::gil_scoped_release release;
    call(arms, queries, how, out);
  }
  return py::make_tuple(prior, lfdr, mean, ess, prior_b, mean_b, point, bounds);
}

}  // namespace nb26::bind
