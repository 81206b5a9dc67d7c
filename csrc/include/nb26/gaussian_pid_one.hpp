// The pieces of the Gaussian body for one problem per thread, the lanes of a warp side by side in
// memory: what the device runs, and what a test runs on the host.
#pragma once

#include <cstdint>

#include "nb26/gaussian_pid.hpp"

// not inlined: the pieces are called from several places, and registers are few
#ifdef __CUDACC__
#define NB26_ONE_PIECE __host__ __device__ __noinline__ static void
#else
#define NB26_ONE_PIECE static void
#endif

namespace nb26 {

inline constexpr int kPidWarp = 32;

struct PidOpsOne {
  static constexpr int kLanes = 1, kStride = kPidWarp, kTile = 4;

  NB26_ONE_PIECE product(const LaneProduct& p) {
    lane_product<false, kLanes, kStride, kTile, false>(p);
  }
  NB26_ONE_PIECE product_shared(const LaneProduct& p) {
    lane_product<false, kLanes, kStride, kTile, true>(p);
  }
  NB26_ONE_PIECE solve(const LaneSolve& p) { lane_solve<false, kLanes, kStride, kTile>(p); }
  NB26_ONE_PIECE cholesky(const LaneCholesky& p) {
    lane_cholesky<false, kLanes, kStride, kTile>(p);
  }
  NB26_ONE_PIECE tridiagonal(const LaneTridiagonal& g) {
    tridiagonal_lanes<false, kLanes, kStride>(g);
    tridiagonal_values<kLanes, kStride>(g);
  }
  NB26_ONE_PIECE pencil(std::int64_t m, const PidWork& w) { pid_pencil<kLanes, kStride>(m, w); }
  NB26_ONE_PIECE transpose(std::int64_t m, const double* a, double* out) {
    pid_transpose<kLanes, kStride>(m, a, out);
  }
  NB26_ONE_PIECE columns(std::int64_t m, const double* a, double* out) {
    pid_columns<kLanes, kStride>(m, a, out);
  }
  NB26_ONE_PIECE identity(std::int64_t m, double* out) { pid_identity<kLanes, kStride>(m, out); }
  NB26_ONE_PIECE put_rest(const PidDims& dims, const double* a, double* t) {
    pid_put_rest<kLanes, kStride>(dims, a, t);
  }
  NB26_ONE_PIECE split(const PidDims& dims, const PidWork& w) {
    pid_split<kLanes, kStride>(dims, w);
  }
  NB26_ONE_PIECE finish(const PidDims& dims, const PidWork& w, const double* t) {
    pid_finish<kLanes, kStride>(dims, w, t);
  }
};

// Doubles that a warp works in.
inline std::int64_t pid_warp_room(const PidDims& dims, bool channels, bool draws) {
  PidRoom room{nullptr, kPidWarp, 0};
  pid_work(room, dims, channels, draws);
  return room.used * kPidWarp;
}

// Values, sums and end of one problem go to its place; NaN where there are none.
NB26_HD void pid_store_one(const double* information, const double* sums, PidEnd end,
                           std::int64_t at, std::int64_t draws, const PidOut& out) {
  const bool good = end == PidEnd::kGood;
  out.ends[at] = end;
  for (std::int64_t i = 0; i < 4; ++i) {
    out.information[at * 4 + i] = good ? information[i] : MathTraits<double>::kNan;
    if (draws == 0) continue;
    const double mean = sums[i] / static_cast<double>(draws);
    out.means[at * 4 + i] = good ? mean : MathTraits<double>::kNan;
  }
}

// Problem `at`; memory: the warp's, from this lane on.
NB26_HD void pid_covariance_one(const PidCovariances& in, const PidDraws& turned, const PidOut& out,
                                std::int64_t at, double* memory) {
  const std::int64_t d = in.dims.all();
  PidRoom room{memory, kPidWarp, 0};
  const PidWork w = pid_work(room, in.dims, false, turned.n > 0);
  const double* covs[1] = {in.covs + at * d * d};
  double information[4] = {}, sums[4] = {};
  PidEnd end[1] = {PidEnd::kGood};
  pid_covariances<PidOpsOne>(covs, in.dims, turned, w, end, information, sums);
  pid_store_one(information, sums, end[0], at, turned.n, out);
}

// Problem `at` of all bins; bases (bins, 1 + draws, dy, dx + dy).
NB26_HD void pid_channel_one(const PidChannels& in, const double* bases, const PidDraws& turned,
                             const PidOut& out, std::int64_t at, double* memory) {
  const std::int64_t p = in.dims.sources(), bin = at / in.n;
  PidRoom room{memory, kPidWarp, 0};
  const PidWork w = pid_work(room, in.dims, true, turned.n > 0);
  const double* k[1] = {in.k + at * in.dims.m * p};
  double information[4] = {}, sums[4] = {};
  PidEnd end[1] = {PidEnd::kGood};
  pid_channels<PidOpsOne>(k, in.dims, bases + bin * (turned.n + 1) * in.dims.y * p, turned, w, end,
                          information, sums);
  pid_store_one(information, sums, end[0], at, turned.n, out);
}

// Basis `at` of all bins and draws.
NB26_HD void pid_basis_one(const PidChannels& in, const PidDraws& turned, std::int64_t at,
                           double* bases) {
  const std::int64_t d = in.dims.all(), size = in.dims.y * in.dims.sources();
  const std::int64_t bin = at / (turned.n + 1), b = at % (turned.n + 1);
  const double* a = b > 0 ? turned.factors + (b - 1) * d * d : nullptr;
  pid_basis(in.dims, in.r + bin * size, a, bases + at * size);
}

}  // namespace nb26
