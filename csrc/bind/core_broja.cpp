#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstdint>

#include "arrays.hpp"
#include "nb26/broja_api.hpp"

namespace nb26::bind {
namespace {

// Tables of so many cells, times symbols of the target, are asked for Ctrl-C at every iteration;
// smaller ones end before anybody would notice.
constexpr py::ssize_t kLarge = 4096;

bool interrupted() {
  const py::gil_scoped_acquire acquire;
  return PyErr_CheckSignals() != 0;
}

py::tuple decompose(const py::array& pmfs, double tol, int max_iter, int n_threads) {
  const auto given = read<double>(pmfs, "pmfs", {kAny, kAny, kAny, kAny});
  const auto [m, nx, ny, ns] = given.shape;
  // so many that every place in the solver's arrays fits an int
  constexpr py::ssize_t kMost = py::ssize_t{1} << 28;
  if (nx < 1 || ny < 1 || ns < 1 || nx > kMost || ny > kMost || ns > kMost ||
      std::max(nx, ny) > kMost / ns / ns || nx > kMost / ny / ns) {
    throw py::value_error("pmfs must have at least one symbol per axis and not too many");
  }
  if (!(tol > 0.0) || max_iter < 1 || max_iter > 1000000) {
    throw py::value_error("tol must be positive and max_iter lie in [1, 1000000]");
  }
  for (py::ssize_t i = 0; i < m; ++i) {
    double total = 0.0;
    for (py::ssize_t j = 0; j < nx * ny * ns; ++j) {
      const double mass = given.data[i * nx * ny * ns + j];
      if (!(mass >= 0.0)) throw py::value_error("pmfs must not be negative");
      total += mass;
    }
    if (!(total > 0.0 && total < 1e300)) throw py::value_error("pmfs must have a positive sum");
  }
  py::array_t<double> information({m, py::ssize_t{4}}), gap(m), q({m, nx, ny, ns});
  py::array_t<bool> converged(m);
  py::array_t<std::int64_t> n_iter(m);
  const BrojaOut out{information.mutable_data(), gap.mutable_data(), converged.mutable_data(),
                     n_iter.mutable_data(), q.mutable_data()};
  {
    py::gil_scoped_release release;
    broja(given.data, m, static_cast<int>(nx), static_cast<int>(ny), static_cast<int>(ns), tol,
          max_iter, n_threads, out, nx * ny * ns >= kLarge ? interrupted : nullptr);
  }
  if (PyErr_Occurred()) throw py::error_already_set();
  return py::make_tuple(information, gap, converged, n_iter, q);
}

}  // namespace

void register_broja(py::module_& m) {
  using py::arg;
  m.def(
      "broja", decompose, arg("pmfs"), arg("tol"), arg("max_iter"), arg("n_threads"),
      "BROJA decomposition of tables (m, nX, nY, nS): I_X, I_Y, I_XY and I_U in nats (m, 4), gap,\n"
      "converged, n_iter (m,), and the tables of least information (m, nX, nY, nS).");
}

}  // namespace nb26::bind
