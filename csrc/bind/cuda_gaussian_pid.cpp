#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "gaussian_pid_arrays.hpp"

namespace nb26::bind {

void register_gaussian_pid(py::module_& m) {
  using py::arg;
  m.def(
      "gaussian_pid",
      [](const py::array& covs, const py::tuple& dims, const py::object& bartlett) {
        return pid_covariance_arrays(covs, dims, bartlett,
                                     [](const PidCovariances& in, const PidDraws& draws,
                                        const PidOut& out) { gaussian_pid_cuda(in, draws, out); });
      },
      arg("covs"), arg("dims"), arg("bartlett"),
      "I_X, I_Y, I_XY, I_U in nats (m, 4) of covariances (m, d, d) in the order X, Y, M, their\n"
      "means over the draws L A A' L', A in bartlett (B, d, d), or None, and how each ended:\n"
      "0 good, 1 not positive definite, 2 infinite information.");
  m.def(
      "gaussian_pid_channels",
      [](const py::array& r, const py::array& k, const py::object& bartlett) {
        return pid_channel_arrays(
            r, k, bartlett, [](const PidChannels& in, const PidDraws& draws, const PidOut& out) {
              gaussian_pid_cuda(in, draws, out);
            });
      },
      arg("r"), arg("k"), arg("bartlett"),
      "The same in white coordinates: Y = r (z_x, z_{y|x}) with r (bins, dy, dx + dy), and\n"
      "M = k (z_x, z_{y|x}) + noise of covariance I - k k', k (bins, n, dm, dx + dy).");
}

}  // namespace nb26::bind
