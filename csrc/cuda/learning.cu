// Learning networks on the device: one thread per problem, the traces of a warp's problems
// interleaved so that its threads write neighbouring numbers.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "device_memory.hpp"
#include "nb26/learning_api.hpp"
#include "nb26/learning_one.hpp"

namespace nb26 {
namespace {

constexpr int kThreads = 32;          // a warp per block: the chains are long and few
constexpr double kMemoryShare = 0.5;  // of what is free, for traces

__device__ std::int64_t own_problem() {
  return static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
}

template <class S>
__global__ void __launch_bounds__(kThreads)
    value_kernel(S s, LearnModel model, LearnData data, LearnBatch batch, std::int64_t room,
                 double* rooms, LearnOut out) {
  const std::int64_t at = own_problem();
  if (at < batch.m) learn_one<false>(s, model, data, batch, at, rooms + at * room, nullptr, out);
}

template <class S>
__global__ void __launch_bounds__(kThreads)
    gradient_kernel(S s, LearnModel model, LearnData data, LearnBatch batch, std::int64_t room,
                    double* rooms, double* traces, LearnOut out) {
  const std::int64_t at = own_problem();
  if (at >= batch.m) return;
  double* trace = traces + blockIdx.x * data.n * learn_trace(s) * kLearnWarp + threadIdx.x;
  learn_one<true>(s, model, data, batch, at, rooms + at * room, trace, out);
}

__global__ void __launch_bounds__(kThreads)
    forward_kernel(LearnModel model, LearnData data, LearnBatch batch, std::int64_t room,
                   double* rooms, LearnOut out) {
  const std::int64_t at = own_problem();
  if (at < batch.m) learn_one_forward(model, data, batch, at, rooms + at * room, out);
}

// Problems whose traces and rooms fit at once: whole warps.
std::int64_t fitting(std::int64_t m, std::int64_t doubles_each) {
  std::size_t free_bytes = 0, all_bytes = 0;
  cuda_check(cudaMemGetInfo(&free_bytes, &all_bytes), "free memory");
  const double warp = static_cast<double>(doubles_each) * sizeof(double) * kLearnWarp;
  const double warps = kMemoryShare * static_cast<double>(free_bytes) / warp;
  if (warps < 1.0) {
    throw std::runtime_error("CUDA: the memory of the device holds no warp of " +
                             std::to_string(doubles_each * 8) +
                             " bytes per problem: take gradient='forward', or the CPU");
  }
  const std::int64_t needed = (m + kLearnWarp - 1) / kLearnWarp;
  return kLearnWarp *
         (warps < static_cast<double>(needed) ? static_cast<std::int64_t>(warps) : needed);
}

// Launches one batch; a plain functor, as nvcc takes no generic lambda of the host.
struct Launch {
  const LearnModel& model;
  const LearnData& data;
  const LearnBatch& batch;
  LearnMode mode;
  std::int64_t room;
  double* rooms;
  double* traces;
  const LearnOut& out;

  unsigned blocks() const { return static_cast<unsigned>((batch.m + kThreads - 1) / kThreads); }

  template <class S>
  void operator()(const S& s) const {
    if (mode == LearnMode::kReverse) {
      gradient_kernel<<<blocks(), kThreads>>>(s, model, data, batch, room, rooms, traces, out);
    } else {
      value_kernel<<<blocks(), kThreads>>>(s, model, data, batch, room, rooms, out);
    }
  }
  void forward() const {
    forward_kernel<<<blocks(), kThreads>>>(model, data, batch, room, rooms, out);
  }
};

struct TraceOf {
  std::int64_t* size;
  template <class S>
  void operator()(const S& s) const {
    *size = learn_trace(s);
  }
};

}  // namespace

void learn_batch_cuda(const LearnModel& model, const LearnData& data, const LearnBatch& batch,
                      std::int64_t n_masks, bool forward_mode, const LearnOut& out) {
  if (batch.m == 0) return;
  const LearnMode mode = !out.gradient  ? LearnMode::kValue
                         : forward_mode ? LearnMode::kForward
                                        : LearnMode::kReverse;
  const std::int64_t p = model.p(), room = learn_room(model, mode);
  std::int64_t trace = 0;
  if (mode == LearnMode::kReverse) learn_dispatch(model, TraceOf{&trace});
  const std::int64_t most = fitting(batch.m, room + trace * data.n);
  const DeviceMemory<double> x(data.x, data.n * model.d), rooms(most * room),
      traces(most * trace * data.n), theta(batch.theta, batch.m * p), values(most),
      slopes(out.gradient ? most * p : 0);
  const DeviceMemory<LearnTrial> trials(data.trials, data.n);
  const DeviceMemory<std::uint8_t> masks(batch.masks, n_masks * data.n);
  const DeviceMemory<std::int64_t> which(batch.which, batch.m), diverged(most);
  for (std::int64_t first = 0; first < batch.m; first += most) {
    const LearnBatch part{theta.data() + first * p, masks.data(), which.data() + first,
                          std::min(most, batch.m - first)};
    const LearnOut here{values.data(), out.gradient ? slopes.data() : nullptr, diverged.data()};
    const LearnData there{x.data(), trials.data(), data.n};
    const Launch launch{model, there, part, mode, room, rooms.data(), traces.data(), here};
    if (mode == LearnMode::kForward) {
      launch.forward();
    } else {
      learn_dispatch(model, launch);
    }
    cuda_check(cudaGetLastError(), "launch");
    cuda_check(cudaDeviceSynchronize(), "kernel");
    values.copy_to(out.log_likelihood + first, part.m);
    if (out.gradient) slopes.copy_to(out.gradient + first * p, part.m * p);
    diverged.copy_to(out.diverged + first, part.m);
  }
}

}  // namespace nb26
