// Information of Gaussian sources X, Y about a Gaussian target M: I_X, I_Y, I_XY and I_U in nats.
#pragma once

#include <cstdint>

#include "nb26/hd.hpp"

namespace nb26 {

struct PidDims {
  std::int64_t x, y, m;
  NB26_HD constexpr std::int64_t sources() const { return x + y; }
  NB26_HD constexpr std::int64_t all() const { return x + y + m; }
};

// How a problem ended.
enum class PidEnd : std::int8_t {
  kGood = 0,
  kNotPositive = 1,  // the covariance is not positive definite
  kInfinite = 2      // the target is a function of the sources
};

// Lower factors A (n, d, d) of Wishart draws: a problem with factor L gets the covariances
// L A A' L'. None when n is 0.
struct PidDraws {
  const double* factors;
  std::int64_t n;
};

// covs (n, d, d) in the order X, Y, M; out: information (n, 4), means over the draws (n, 4), not
// touched without draws, ends (n).
struct PidCovariances {
  const double* covs;
  std::int64_t n;
  PidDims dims;
};

// Problems in white coordinates (z_x, z_{y|x}, z_m), several per bin: Y = r (z_x, z_{y|x}) with
// r (bins, dy, dx + dy), M = k (z_x, z_{y|x}) + rest with k (bins, n, dm, dx + dy) and Cov(M) = I.
struct PidChannels {
  const double* r;
  const double* k;
  std::int64_t bins, n;
  PidDims dims;
};

struct PidOut {
  double* information;
  double* means;
  PidEnd* ends;
};

void gaussian_pid_cpu(const PidCovariances& in, const PidDraws& draws, const PidOut& out,
                      int n_threads);
void gaussian_pid_cpu(const PidChannels& in, const PidDraws& draws, const PidOut& out,
                      int n_threads);
void gaussian_pid_cuda(const PidCovariances& in, const PidDraws& draws, const PidOut& out);
void gaussian_pid_cuda(const PidChannels& in, const PidDraws& draws, const PidOut& out);

}  // namespace nb26
