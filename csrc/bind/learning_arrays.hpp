// Arrays of a learning problem, checked.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <vector>

#include "arrays.hpp"
#include "nb26/learning_api.hpp"

namespace nb26::bind {

// Options in the order of Model.native().
inline LearnModel learning_model(const py::tuple& o) {
  if (o.size() != 13) throw py::value_error("options must be those of Model.native()");
  const int architecture = o[0].cast<int>(), rule = o[1].cast<int>(), curve = o[5].cast<int>();
  LearnModel m{};
  m.deep = architecture > 0;
  m.k = o[2].cast<int>();
  m.h = m.deep ? o[3].cast<int>() : 0;
  m.d = o[4].cast<int>();
  m.bias = m.deep && o[6].cast<bool>();
  m.lapse = o[7].cast<bool>();
  m.baseline = o[8].cast<double>();
  m.skip = o[9].cast<bool>();
  m.ratio = o[10].cast<double>();
  m.decay = o[11].cast<double>();
  m.limit = o[12].cast<double>();
  if (architecture < 0 || architecture > 2 || rule < 0 || rule > 4 || curve < 0 || curve > 2 ||
      m.k < 1 || m.k > 2 || m.d < 1 || m.d > 100000 || m.h > kLearnMostHidden ||
      (m.deep && m.h < 1)) {
    throw py::value_error("options out of range");
  }
  m.rule = static_cast<LearnRule>(rule);
  m.curve = architecture == 2 ? static_cast<LearnCurve>(curve + 1) : LearnCurve::kLine;
  return m;
}

class LearningArrays {
 public:
  LearningArrays(const LearnModel& model, const py::array& x, const py::array& choice,
                 const py::array& drive)
      : x_(read<double>(x, "x", {kAny, model.d})) {
    const py::ssize_t n = x_.shape[0];
    if (n < 1) throw py::value_error("x must have at least one trial");
    const auto choices = read<std::int8_t>(choice, "choice", {n});
    const auto drives = read<double>(drive, "drive", {n});
    trials_ = learn_trials(model, choices.data, drives.data, n);
  }
  LearnData data() const { return {x_.data, trials_.data(), x_.shape[0]}; }

 private:
  View<const double, 2> x_;
  std::vector<LearnTrial> trials_;
};

// Evaluate(model, data, batch, out) on arrays as Python gives them.
template <class Evaluate>
py::tuple learning_batch(const py::array& x, const py::array& choice, const py::array& drive,
                         const py::array& masks, const py::array& which, const py::array& theta,
                         const py::tuple& options, bool gradient, const Evaluate& run) {
  const LearnModel model = learning_model(options);
  const LearningArrays in(model, x, choice, drive);
  const py::ssize_t p = model.p();
  const auto rows = read<double>(theta, "theta", {kAny, p});
  const py::ssize_t m = rows.shape[0];
  const auto own = read<std::uint8_t>(masks, "masks", {kAny, in.data().n});
  const auto from = read<std::int64_t>(which, "which_mask", {m});
  for (py::ssize_t i = 0; i < m; ++i) {
    if (from.data[i] < 0 || from.data[i] >= own.shape[0]) {
      throw py::value_error("which_mask must name a row of masks");
    }
  }
  py::array_t<double> log_likelihood(m), slopes({gradient ? m : 0, p});
  py::array_t<std::int64_t> diverged(m);
  const LearnOut out{log_likelihood.mutable_data(), gradient ? slopes.mutable_data() : nullptr,
                     diverged.mutable_data()};
  {
    py::gil_scoped_release release;
    run(model, in.data(), LearnBatch{rows.data, own.data, from.data, m}, out);
  }
  if (gradient) return py::make_tuple(log_likelihood, slopes, diverged);
  return py::make_tuple(log_likelihood, diverged);
}

}  // namespace nb26::bind
