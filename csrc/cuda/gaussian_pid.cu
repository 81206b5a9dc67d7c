// Gaussian partial information on the device: one thread per problem, the arrays of a warp's
// problems interleaved so that its threads read neighbouring numbers.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "device_memory.hpp"
#include "nb26/gaussian_pid.hpp"
#include "nb26/gaussian_pid_api.hpp"
#include "nb26/gaussian_pid_one.hpp"

namespace nb26 {
namespace {

constexpr int kThreads = 64;
constexpr std::int64_t kWarpsPerProcessor = 16;
constexpr double kMemoryShare = 0.5;  // of what is free, for the work of the warps

__global__ void __launch_bounds__(kThreads)
    covariance_kernel(PidCovariances in, PidDraws turned, PidOut out, std::int64_t room,
                      double* memory) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  double* own = memory + thread / kPidWarp * room + thread % kPidWarp;
  for (std::int64_t at = thread; at < in.n; at += step) {
    pid_covariance_one(in, turned, out, at, own);
  }
}

__global__ void __launch_bounds__(kThreads)
    basis_kernel(PidChannels in, PidDraws turned, double* bases) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (thread < in.bins * (turned.n + 1)) pid_basis_one(in, turned, thread, bases);
}

__global__ void __launch_bounds__(kThreads)
    channel_kernel(PidChannels in, const double* bases, PidDraws turned, PidOut out,
                   std::int64_t room, double* memory) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  double* own = memory + thread / kPidWarp * room + thread % kPidWarp;
  for (std::int64_t at = thread; at < in.bins * in.n; at += step) {
    pid_channel_one(in, bases, turned, out, at, own);
  }
}

// Thread blocks for n problems whose warps need `room` doubles each.
unsigned blocks_for(std::int64_t n, std::int64_t room) {
  int device = 0, processors = 0;
  std::size_t free_bytes = 0, all_bytes = 0;
  cuda_check(cudaGetDevice(&device), "current device");
  cuda_check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
             "multiprocessors");
  cuda_check(cudaMemGetInfo(&free_bytes, &all_bytes), "free memory");
  const double share = kMemoryShare * static_cast<double>(free_bytes) / sizeof(double);
  const auto most = static_cast<std::int64_t>(share / static_cast<double>(room));
  const std::int64_t warps = std::min({(n + kPidWarp - 1) / kPidWarp, most,
                                       kWarpsPerProcessor * static_cast<std::int64_t>(processors)});
  constexpr std::int64_t kWarps = kThreads / kPidWarp;
  return static_cast<unsigned>(std::max<std::int64_t>(1, (warps + kWarps - 1) / kWarps));
}

// Transposed factors on the device.
class Draws {
 public:
  Draws(const PidDraws& draws, std::int64_t d)
      : n_(draws.n), factors_(turned(draws, d).data(), draws.n * d * d) {}
  PidDraws get() const { return {factors_.data(), n_}; }

 private:
  static std::vector<double> turned(const PidDraws& draws, std::int64_t d) {
    std::vector<double> out(static_cast<std::size_t>(draws.n * d * d));
    pid_turn(draws.factors, draws.n, d, out.data());
    return out;
  }
  std::int64_t n_;
  DeviceMemory<double> factors_;
};

// Room on the device for the answers to n problems.
class Answers {
 public:
  Answers(std::int64_t n, bool draws) : information_(n * 4), means_(draws ? n * 4 : 0), ends_(n) {}
  PidOut get() const { return {information_.data(), means_.data(), ends_.data()}; }
  void copy_to(const PidOut& out) const {
    information_.copy_to(out.information);
    if (out.means) means_.copy_to(out.means);
    ends_.copy_to(out.ends);
  }

 private:
  DeviceMemory<double> information_, means_;
  DeviceMemory<PidEnd> ends_;
};

void wait() {
  cuda_check(cudaGetLastError(), "launch");
  cuda_check(cudaDeviceSynchronize(), "kernel");
}

}  // namespace

void gaussian_pid_cuda(const PidCovariances& in, const PidDraws& draws, const PidOut& out) {
  if (in.n == 0) return;
  const std::int64_t d = in.dims.all();
  const Draws turned(draws, d);
  const DeviceMemory<double> covs(in.covs, in.n * d * d);
  const Answers answers(in.n, draws.n > 0);
  const std::int64_t room = pid_warp_room(in.dims, false, draws.n > 0);
  const unsigned blocks = blocks_for(in.n, room);
  const DeviceMemory<double> memory(static_cast<std::int64_t>(blocks) * (kThreads / kPidWarp) *
                                    room);
  covariance_kernel<<<blocks, kThreads>>>({covs.data(), in.n, in.dims}, turned.get(), answers.get(),
                                          room, memory.data());
  wait();
  answers.copy_to(out);
}

void gaussian_pid_cuda(const PidChannels& in, const PidDraws& draws, const PidOut& out) {
  const std::int64_t n = in.bins * in.n;
  if (n == 0) return;
  const std::int64_t p = in.dims.sources(), size = in.dims.y * p;
  const Draws turned(draws, in.dims.all());
  const DeviceMemory<double> r(in.r, in.bins * size);
  const DeviceMemory<double> k(in.k, n * in.dims.m * p);
  const PidChannels here{r.data(), k.data(), in.bins, in.n, in.dims};
  const std::int64_t n_bases = in.bins * (draws.n + 1);
  const DeviceMemory<double> bases(n_bases * size);
  basis_kernel<<<static_cast<unsigned>((n_bases + kThreads - 1) / kThreads), kThreads>>>(
      here, turned.get(), bases.data());
  const Answers answers(n, draws.n > 0);
  const std::int64_t room = pid_warp_room(in.dims, true, draws.n > 0);
  const unsigned blocks = blocks_for(n, room);
  const DeviceMemory<double> memory(static_cast<std::int64_t>(blocks) * (kThreads / kPidWarp) *
                                    room);
  channel_kernel<<<blocks, kThreads>>>(here, bases.data(), turned.get(), answers.get(), room,
                                       memory.data());
  wait();
  answers.copy_to(out);
}

}  // namespace nb26
