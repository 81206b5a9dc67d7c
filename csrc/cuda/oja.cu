// Oja replicates on the device: one thread block per replicate, its iterate in shared memory for
// the whole call, rows and their products read from the second-level cache.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "device_memory.hpp"
#include "nb26/oja.hpp"
#include "nb26/oja_api.hpp"

namespace nb26 {
namespace {

constexpr int kThreads = 256;
constexpr int kWarp = 32;
// with its scratch, two thread blocks fit on a multiprocessor of compute capability 9.0, one on 8.0
constexpr std::int64_t kIterateBytes = 100 * 1024;

struct BlockTeam {
  __device__ int rank() const { return static_cast<int>(threadIdx.x); }
  __device__ int size() const { return kThreads; }
  __device__ int lane() const { return static_cast<int>(threadIdx.x) % kWarp; }
  __device__ int lanes() const { return kWarp; }
  __device__ int warp() const { return static_cast<int>(threadIdx.x) / kWarp; }
  __device__ int warps() const { return kThreads / kWarp; }
  __device__ void sync() const { __syncthreads(); }
  __device__ void warp_sync() const { __syncwarp(); }
  template <typename T>
  __device__ T warp_sum(T value) const {
    for (int half = kWarp / 2; half > 0; half /= 2) {
      value += __shfl_xor_sync(0xffffffffu, value, half);
    }
    return value;
  }
};

// Bytes of one thread block: its iterate, and what has to lie in shared memory beside it.
struct Needs {
  std::int64_t iterate, scratch;
};

template <typename T>
Needs needs_of(const OjaShape& shape) {
  const std::int64_t k = shape.components, m8 = oja_slot_rows(shape);
  const std::int64_t itemsize = sizeof(T);
  return {
      itemsize * k * shape.columns,
      static_cast<std::int64_t>(sizeof(double)) * (k * (k + 1) / 2 + 1) + itemsize * (k + 2) * m8};
}

bool in_shared(const Needs& needs, std::int64_t most) {
  return needs.iterate <= kIterateBytes && needs.scratch + needs.iterate <= most;
}

// replicates (groups, d8, k, lanes); iterates: device memory of (replicates, k, d), or null when
// the iterate goes to shared memory.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    replicate_kernel(OjaShape shape, OjaWeights weights, OjaSlots<T> slots, std::int64_t blocks,
                     T* replicates, std::int64_t first, T* iterates) {
  extern __shared__ double memory[];
  const BlockTeam team;
  const std::int64_t d = shape.columns, k = shape.components;
  const std::int64_t m8 = oja_slot_rows(shape), d8 = (d + 7) / 8 * 8;
  constexpr std::int64_t kLanes = kOjaLanes<T>;
  const std::int64_t index = blockIdx.x;

  OjaTeamScratch<T> scratch;
  scratch.factor = memory;
  scratch.worst = memory + k * (k + 1) / 2;
  scratch.weights = reinterpret_cast<T*>(scratch.worst + 1);
  scratch.projections = scratch.weights + 2 * m8;
  T* w = iterates ? iterates + index * k * d : scratch.projections + k * m8;

  T* own = replicates + (index / kLanes) * d8 * k * kLanes + index % kLanes;
  for (std::int64_t i = team.rank(); i < d * k; i += team.size()) {
    w[(i % k) * d + i / k] = own[i * kLanes];
  }
  team.sync();
  for (std::int64_t b = 0; b < blocks; ++b) {
    oja_team_block<T>(team, shape, weights, static_cast<std::uint64_t>(first + index),
                      slots.sizes[2 * b], slots.sizes[2 * b + 1],
                      slots.rows + b * m8 * shape.stride, slots.gram + b * m8 * m8,
                      slots.steps + b * m8, w, scratch);
    team.sync();
  }
  for (std::int64_t i = team.rank(); i < d * k; i += team.size()) {
    own[i * kLanes] = w[(i % k) * d + i / k];
  }
}

// Bytes of shared memory that a thread block can have.
std::int64_t most_shared() {
  int device = 0, most = 0;
  cuda_check(cudaGetDevice(&device), "current device");
  cuda_check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
             "shared memory");
  return most;
}

}  // namespace

bool oja_fits_cuda(const OjaShape& shape, bool narrow) {
  return in_shared(narrow ? needs_of<float>(shape) : needs_of<double>(shape), most_shared());
}

template <typename T>
void oja_replicates_cuda(const OjaShape& shape, const OjaWeights& weights, const OjaSlots<T>& slots,
                         std::int64_t blocks, T* replicates, std::int64_t groups,
                         std::int64_t first) {
  if (blocks == 0 || groups == 0) return;
  const std::int64_t d = shape.columns, k = shape.components, m8 = oja_slot_rows(shape);
  const std::int64_t n = groups * kOjaLanes<T>;
  const Needs needs = needs_of<T>(shape);
  const std::int64_t most = most_shared();
  const bool shared = in_shared(needs, most);
  const std::int64_t bytes = needs.scratch + (shared ? needs.iterate : 0);
  if (bytes > most) {
    throw std::invalid_argument("n_components=" + std::to_string(k) +
                                " with block_size=" + std::to_string(shape.block) +
                                " does not fit the device's shared memory; use device='cpu'");
  }
  const DeviceMemory<T> rows(slots.rows, blocks * m8 * shape.stride);
  const DeviceMemory<T> gram(slots.gram, blocks * m8 * m8);
  const DeviceMemory<double> steps(slots.steps, blocks * m8);
  const DeviceMemory<std::int64_t> block_sizes(slots.sizes, blocks * 2);
  const DeviceMemory<T> state(replicates, n * k * ((d + 7) / 8 * 8));
  const DeviceMemory<T> iterates(shared ? 0 : n * k * d);
  cuda_check(cudaFuncSetAttribute(replicate_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(bytes)),
             "shared memory");
  const OjaSlots<T> on_device{rows.data(), gram.data(), steps.data(), block_sizes.data(), blocks};
  replicate_kernel<T><<<static_cast<unsigned>(n), kThreads, static_cast<std::size_t>(bytes)>>>(
      shape, weights, on_device, blocks, state.data(), first, shared ? nullptr : iterates.data());
  cuda_check(cudaGetLastError(), "launch");
  cuda_check(cudaDeviceSynchronize(), "kernel");
  state.copy_to(replicates);
}

template void oja_replicates_cuda<double>(const OjaShape&, const OjaWeights&,
                                          const OjaSlots<double>&, std::int64_t, double*,
                                          std::int64_t, std::int64_t);
template void oja_replicates_cuda<float>(const OjaShape&, const OjaWeights&, const OjaSlots<float>&,
                                         std::int64_t, float*, std::int64_t, std::int64_t);

}  // namespace nb26
