// Gaussian partial information: threads over groups of eight problems, lane = problem.

#include "nb26/gaussian_pid.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "nb26/gaussian_pid_api.hpp"
#include "nb26/isa.hpp"
#include "nb26/threads.hpp"

namespace nb26 {
namespace {

constexpr int kL = 8;

#define NB26_PIECE(target, name, body, parameters, arguments) \
  target __attribute__((noinline)) static void name parameters { body arguments; }

// The pieces of the body at one level, each compiled on its own: see oja_lanes.hpp. Fused
// multiply-add from level 1 on, and the largest register tile that the level has room for.
#define NB26_PID_OPS(type, target, fused, tile)                                                   \
  struct type {                                                                                   \
    static constexpr int kLanes = kL, kStride = kL;                                               \
    NB26_PIECE(target, product, (lane_product<fused, kL, kL, tile, false>),                       \
               (const LaneProduct& p), (p))                                                       \
    NB26_PIECE(target, product_shared, (lane_product<fused, kL, kL, tile, true>),                 \
               (const LaneProduct& p), (p))                                                       \
    NB26_PIECE(target, solve, (lane_solve<fused, kL, kL, tile>), (const LaneSolve& p), (p))       \
    NB26_PIECE(target, cholesky, (lane_cholesky<fused, kL, kL, tile>), (const LaneCholesky& p),   \
               (p))                                                                               \
    NB26_PIECE(target, reflect, (tridiagonal_lanes<fused, kL, kL>), (const LaneTridiagonal& g),   \
               (g))                                                                               \
    NB26_PIECE(target, values, (tridiagonal_values<kL, kL>), (const LaneTridiagonal& g), (g))     \
    NB26_PIECE(target, pencil, (pid_pencil<kL, kL>), (std::int64_t m, const PidWork& w), (m, w))  \
    NB26_PIECE(target, transpose, (pid_transpose<kL, kL>),                                        \
               (std::int64_t m, const double* a, double* out), (m, a, out))                       \
    NB26_PIECE(target, columns, (pid_columns<kL, kL>),                                            \
               (std::int64_t m, const double* a, double* out), (m, a, out))                       \
    NB26_PIECE(target, identity, (pid_identity<kL, kL>), (std::int64_t m, double* out), (m, out)) \
    NB26_PIECE(target, put_rest, (pid_put_rest<kL, kL>),                                          \
               (const PidDims& dims, const double* a, double* t), (dims, a, t))                   \
    NB26_PIECE(target, split, (pid_split<kL, kL>), (const PidDims& dims, const PidWork& w),       \
               (dims, w))                                                                         \
    NB26_PIECE(target, finish, (pid_finish<kL, kL>),                                              \
               (const PidDims& dims, const PidWork& w, const double* t), (dims, w, t))            \
    static void tridiagonal(const LaneTridiagonal& g) {                                           \
      reflect(g);                                                                                 \
      values(g);                                                                                  \
    }                                                                                             \
  };

#define NB26_NO_TARGET
NB26_PID_OPS(PidOps0, NB26_NO_TARGET, false, 2)
NB26_PID_OPS(PidOps1, NB26_TARGET_1, true, 2)
NB26_PID_OPS(PidOps2, NB26_TARGET_2, true, 4)
#undef NB26_NO_TARGET
#undef NB26_PID_OPS
#undef NB26_PIECE

// The arrays of one thread, on a cache line.
class Room {
 public:
  Room(const PidDims& dims, bool channels, bool draws) {
    PidRoom room{nullptr, kL, 0};
    pid_work(room, dims, channels, draws);
    data_.resize(static_cast<std::size_t>((room.used + 1) * kL));
    const auto address = reinterpret_cast<std::uintptr_t>(data_.data());
    room = {data_.data() + (64 - address % 64) % 64 / sizeof(double), kL, 0};
    work_ = pid_work(room, dims, channels, draws);
  }
  const PidWork& work() const { return work_; }

 private:
  std::vector<double> data_;
  PidWork work_;
};

// What comes of eight problems goes to its place; a problem without values gets NaN.
void store(const double* information, const double* sums, const PidEnd* ends, std::int64_t first,
           std::int64_t n, std::int64_t draws, const PidOut& out) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (std::int64_t l = 0; l < n; ++l) {
    const bool good = ends[l] == PidEnd::kGood;
    out.ends[first + l] = ends[l];
    for (std::int64_t i = 0; i < 4; ++i) {
      out.information[(first + l) * 4 + i] = good ? information[i * kL + l] : kNan;
      if (draws == 0) continue;
      const double mean = sums[i * kL + l] / static_cast<double>(draws);
      out.means[(first + l) * 4 + i] = good ? mean : kNan;
    }
  }
}

template <class Ops>
void covariances(const PidCovariances& in, const PidDraws& turned, const PidOut& out,
                 std::int64_t first, const PidWork& w) {
  const double* covs[kL];
  double information[4 * kL], sums[4 * kL];
  PidEnd ends[kL];
  const std::int64_t d = in.dims.all(), n = std::min<std::int64_t>(kL, in.n - first);
  for (std::int64_t l = 0; l < kL; ++l) covs[l] = in.covs + (first + std::min(l, n - 1)) * d * d;
  pid_covariances<Ops>(covs, in.dims, turned, w, ends, information, sums);
  store(information, sums, ends, first, n, turned.n, out);
}

template <class Ops>
void channels(const PidChannels& in, const double* bases, const PidDraws& turned, const PidOut& out,
              std::int64_t bin, std::int64_t first, const PidWork& w) {
  const double* k[kL];
  double information[4 * kL], sums[4 * kL];
  PidEnd ends[kL];
  const std::int64_t size = in.dims.m * in.dims.sources();
  const std::int64_t n = std::min<std::int64_t>(kL, in.n - first);
  for (std::int64_t l = 0; l < kL; ++l) {
    k[l] = in.k + (bin * in.n + first + std::min(l, n - 1)) * size;
  }
  pid_channels<Ops>(k, in.dims, bases, turned, w, ends, information, sums);
  store(information, sums, ends, bin * in.n + first, n, turned.n, out);
}

std::vector<double> turned_factors(const PidDraws& draws, std::int64_t d) {
  std::vector<double> turned(static_cast<std::size_t>(draws.n * d * d));
  pid_turn(draws.factors, draws.n, d, turned.data());
  return turned;
}

}  // namespace

void gaussian_pid_cpu(const PidCovariances& in, const PidDraws& draws, const PidOut& out,
                      int n_threads) {
  static constexpr decltype(&covariances<PidOps0>) kLevels[3] = {
      covariances<PidOps0>, covariances<PidOps1>, covariances<PidOps2>};
  const auto one = kLevels[isa_level()];
  const std::vector<double> factors = turned_factors(draws, in.dims.all());
  const PidDraws turned{factors.data(), draws.n};
  const std::int64_t groups = (in.n + kL - 1) / kL;
  const int threads = threads_for(n_threads, groups);
#pragma omp parallel num_threads(threads)
  {
    const Room room(in.dims, false, draws.n > 0);
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t g = 0; g < groups; ++g) one(in, turned, out, g * kL, room.work());
  }
}

void gaussian_pid_cpu(const PidChannels& in, const PidDraws& draws, const PidOut& out,
                      int n_threads) {
  static constexpr decltype(&channels<PidOps0>) kLevels[3] = {channels<PidOps0>, channels<PidOps1>,
                                                              channels<PidOps2>};
  const auto one = kLevels[isa_level()];
  const std::int64_t d = in.dims.all(), p = in.dims.sources(), size = in.dims.y * p;
  const std::vector<double> factors = turned_factors(draws, d);
  const PidDraws turned{factors.data(), draws.n};
  const std::int64_t groups = (in.n + kL - 1) / kL, tasks = in.bins * groups;
  const int threads = threads_for(n_threads, tasks);
  if (tasks == 0) return;
  // a stretch of one bin's groups shares the bases of that bin
  const std::int64_t parts = std::min<std::int64_t>((threads + in.bins - 1) / in.bins, groups);
  const std::int64_t most = (groups + parts - 1) / parts;
#pragma omp parallel num_threads(threads)
  {
    const Room room(in.dims, true, draws.n > 0);
    std::vector<double> bases(static_cast<std::size_t>((draws.n + 1) * size));
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t task = 0; task < in.bins * parts; ++task) {
      const std::int64_t bin = task / parts, from = task % parts * most;
      for (std::int64_t b = -1; b < draws.n; ++b) {
        const double* a = b < 0 ? nullptr : turned.factors + b * d * d;
        pid_basis(in.dims, in.r + bin * size, a, bases.data() + (b + 1) * size);
      }
      for (std::int64_t g = from; g < std::min(groups, from + most); ++g) {
        one(in, bases.data(), turned, out, bin, g * kL, room.work());
      }
    }
  }
}

}  // namespace nb26
