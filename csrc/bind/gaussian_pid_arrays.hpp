// Arrays of the Gaussian partial information, checked: the same for the CPU and the device.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "nb26/gaussian_pid_api.hpp"

namespace nb26::bind {

inline PidDraws pid_draws(const py::object& bartlett, std::int64_t d) {
  if (bartlett.is_none()) return {nullptr, 0};
  const auto view = read<double>(given_array(bartlett, "bartlett"), "bartlett", {kAny, d, d});
  return {view.data, view.shape[0]};
}

// Runs call(in, draws, out) without the lock; shape: of the problems.
template <class In, class Call>
py::tuple pid_run(const In& in, const PidDraws& draws, std::vector<py::ssize_t> shape, Call call) {
  py::array_t<std::int8_t> ends(shape);
  shape.push_back(4);
  py::array_t<double> information(shape);
  py::object means = py::none();
  double* means_data = nullptr;
  if (draws.n > 0) {
    py::array_t<double> array(shape);
    means_data = array.mutable_data();
    means = array;
  }
  const PidOut out{information.mutable_data(), means_data,
                   reinterpret_cast<PidEnd*>(ends.mutable_data())};
  {
    py::gil_scoped_release release;
    call(in, draws, out);
  }
  return py::make_tuple(information, means, ends);
}

template <class Call>
py::tuple pid_covariance_arrays(const py::array& covs, const py::tuple& sizes,
                                const py::object& bartlett, Call call) {
  if (sizes.size() != 3) throw py::value_error("dims must be (dx, dy, dm)");
  const PidDims dims{sizes[0].cast<std::int64_t>(), sizes[1].cast<std::int64_t>(),
                     sizes[2].cast<std::int64_t>()};
  if (dims.x < 1 || dims.y < 1 || dims.m < 1) throw py::value_error("dims must be at least 1");
  const auto view = read<double>(covs, "covs", {kAny, dims.all(), dims.all()});
  return pid_run(PidCovariances{view.data, view.shape[0], dims}, pid_draws(bartlett, dims.all()),
                 {view.shape[0]}, call);
}

template <class Call>
py::tuple pid_channel_arrays(const py::array& r, const py::array& k, const py::object& bartlett,
                             Call call) {
  const auto own = read<double>(r, "r", {kAny, kAny, kAny});
  const auto gains = read<double>(k, "k", {own.shape[0], kAny, kAny, own.shape[2]});
  const PidDims dims{own.shape[2] - own.shape[1], own.shape[1], gains.shape[2]};
  if (dims.x < 1 || dims.y < 1 || dims.m < 1) {
    throw py::value_error(
        "r (bins, dy, dx + dy) and k must have rows, and r more columns than rows");
  }
  return pid_run(PidChannels{own.data, gains.data, own.shape[0], gains.shape[1], dims},
                 pid_draws(bartlett, dims.all()), {own.shape[0], gains.shape[1]}, call);
}

}  // namespace nb26::bind
