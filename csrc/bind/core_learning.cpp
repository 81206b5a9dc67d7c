#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <vector>

#include "learning_arrays.hpp"
#include "nb26/learning_api.hpp"

namespace nb26::bind {
namespace {

py::tuple evaluate(const py::array& x, const py::array& choice, const py::array& drive,
                   const py::array& masks, const py::array& which, const py::array& theta,
                   const py::tuple& options, bool gradient, bool forward_mode, int n_threads) {
  return learning_batch(
      x, choice, drive, masks, which, theta, options, gradient,
      [=](const LearnModel& model, const LearnData& data, const LearnBatch& batch,
          const LearnOut& out) { learn_batch(model, data, batch, forward_mode, n_threads, out); });
}

py::tuple path(const py::array& x, const py::array& choice, const py::array& drive,
               const py::array& theta, const py::tuple& options) {
  const LearnModel model = learning_model(options);
  const LearningArrays in(model, x, choice, drive);
  const auto at = read<double>(theta, "theta", {model.p()});
  const py::ssize_t n = in.data().n;
  py::array_t<double> weights({n + 1, static_cast<py::ssize_t>(model.q())}), left(n), right(n);
  double* const to[3] = {weights.mutable_data(), left.mutable_data(), right.mutable_data()};
  std::int64_t diverged = -1;
  {
    py::gil_scoped_release release;
    diverged = learn_path(model, in.data(), at.data, to[0], to[1], to[2]);
  }
  return py::make_tuple(weights, left, right, diverged);
}

py::tuple simulate(const py::array& x, const py::array& side, const py::array& theta,
                   const py::tuple& options, std::int64_t first_run, std::int64_t n_runs,
                   std::uint64_t seed, int n_threads) {
  const LearnModel model = learning_model(options);
  const auto inputs = read<double>(x, "x", {kAny, model.d});
  const py::ssize_t n = inputs.shape[0], runs = n_runs;
  const auto sides = read<double>(side, "side", {n});
  const auto at = read<double>(theta, "theta", {model.p()});
  if (first_run < 0 || n_runs < 0) throw py::value_error("runs must not be negative");
  py::array_t<std::int8_t> choice({runs, n});
  py::array_t<double> reward({runs, n}), p_right({runs, n});
  py::array_t<double> weights({runs, static_cast<py::ssize_t>(model.q())});
  const LearnRuns out{choice.mutable_data(), reward.mutable_data(), p_right.mutable_data(),
                      weights.mutable_data()};
  {
    py::gil_scoped_release release;
    learn_simulate(model, inputs.data, sides.data, n, at.data, seed, first_run, n_runs, n_threads,
                   out);
  }
  return py::make_tuple(choice, reward, p_right, weights);
}

}  // namespace

void register_learning(py::module_& m) {
  using py::arg;
  m.def(
      "learning_loglik",
      [](const py::array& x, const py::array& choice, const py::array& drive,
         const py::array& masks, const py::array& which_mask, const py::array& theta,
         const py::tuple& options, int n_threads) {
        return evaluate(x, choice, drive, masks, which_mask, theta, options, false, false,
                        n_threads);
      },
      arg("x"), arg("choice"), arg("drive"), arg("masks"), arg("which_mask"), arg("theta"),
      arg("options"), arg("n_threads"),
      "Log-likelihoods (n,) of one animal's choices under each row of theta (n, P), and the trial\n"
      "at which each diverged, or -1.");
  m.def(
      "learning_gradient",
      [](const py::array& x, const py::array& choice, const py::array& drive,
         const py::array& masks, const py::array& which_mask, const py::array& theta,
         const py::tuple& options, bool forward_mode, int n_threads) {
        return evaluate(x, choice, drive, masks, which_mask, theta, options, true, forward_mode,
                        n_threads);
      },
      arg("x"), arg("choice"), arg("drive"), arg("masks"), arg("which_mask"), arg("theta"),
      arg("options"), arg("forward_mode"), arg("n_threads"),
      "Log-likelihoods (n,), gradients (n, P) and divergences (n,).");
  m.def("learning_trajectory", path, arg("x"), arg("choice"), arg("drive"), arg("theta"),
        arg("options"),
        "Weights before each trial and at the end (T+1, q), logarithms of P(left) and P(right)\n"
        "(T,), and the trial of divergence, or -1.");
  m.def("learning_simulate", simulate, arg("x"), arg("side"), arg("theta"), arg("options"),
        arg("first_run"), arg("n_runs"), arg("seed"), arg("n_threads"),
        "Choices, rewards and P(right) (runs, T) of runs that choose for themselves, and their\n"
        "weights at the end (runs, q).");
}

}  // namespace nb26::bind
