#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "learning_arrays.hpp"
#include "nb26/learning_api.hpp"

namespace nb26::bind {
namespace {

py::tuple evaluate(const py::array& x, const py::array& choice, const py::array& drive,
                   const py::array& masks, const py::array& which, const py::array& theta,
                   const py::tuple& options, bool gradient, bool forward_mode) {
  const std::int64_t n_masks = masks.ndim() == 2 ? masks.shape(0) : 0;
  return learning_batch(x, choice, drive, masks, which, theta, options, gradient,
                        [=](const LearnModel& model, const LearnData& data, const LearnBatch& batch,
                            const LearnOut& out) {
                          learn_batch_cuda(model, data, batch, n_masks, forward_mode, out);
                        });
}

}  // namespace

void register_learning(py::module_& m) {
  using py::arg;
  m.def(
      "learning_loglik",
      [](const py::array& x, const py::array& choice, const py::array& drive,
         const py::array& masks, const py::array& which_mask, const py::array& theta,
         const py::tuple& options) {
        return evaluate(x, choice, drive, masks, which_mask, theta, options, false, false);
      },
      arg("x"), arg("choice"), arg("drive"), arg("masks"), arg("which_mask"), arg("theta"),
      arg("options"),
      "Log-likelihoods (n,) of one animal's choices under each row of theta (n, P), and the trial\n"
      "at which each diverged, or -1.");
  m.def(
      "learning_gradient",
      [](const py::array& x, const py::array& choice, const py::array& drive,
         const py::array& masks, const py::array& which_mask, const py::array& theta,
         const py::tuple& options, bool forward_mode) {
        return evaluate(x, choice, drive, masks, which_mask, theta, options, true, forward_mode);
      },
      arg("x"), arg("choice"), arg("drive"), arg("masks"), arg("which_mask"), arg("theta"),
      arg("options"), arg("forward_mode"),
      "Log-likelihoods (n,), gradients (n, P) and divergences (n,).");
}

}  // namespace nb26::bind
