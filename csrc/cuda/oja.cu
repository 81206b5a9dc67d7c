// Oja replicates on the device: one thread block per replicate, its iterate in shared memory for
// the whole call, rows and their products read from the second-level cache.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "nb26/oja.hpp"
#include "nb26/oja_api.hpp"

namespace nb26 {
namespace {

constexpr int kThreads = 256;
constexpr int kWarp = 32;
// leaves room for two thread blocks on a multiprocessor of compute capability 8.0 or later
constexpr std::size_t kIterateBytes = 100 * 1024;

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

// Bytes of one thread block beside its iterate.
template <typename T>
std::int64_t scratch_bytes(std::int64_t k, std::int64_t m8) {
  return static_cast<std::int64_t>(sizeof(double)) * (k * (k + 1) / 2 + 1) +
         static_cast<std::int64_t>(sizeof(T)) * (k + 1) * m8;
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
  const std::int64_t m8 = (shape.block + 7) / 8 * 8, d8 = (d + 7) / 8 * 8;
  constexpr std::int64_t kLanes = kOjaLanes<T>;
  const std::int64_t index = blockIdx.x;

  OjaTeamScratch<T> scratch;
  scratch.factor = memory;
  scratch.worst = memory + k * (k + 1) / 2;
  scratch.weights = reinterpret_cast<T*>(scratch.worst + 1);
  scratch.projections = scratch.weights + m8;
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

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // the runtime keeps the error until it is read
  throw std::runtime_error(std::string("CUDA: ") + what + ": " + cudaGetErrorString(status));
}

// Device memory that is given back when it goes out of scope.
template <typename T>
class Memory {
 public:
  explicit Memory(std::int64_t n) : bytes_(static_cast<std::size_t>(n) * sizeof(T)) {
    if (n > 0) check(cudaMalloc(&data_, bytes_), "allocation");
  }
  Memory(const T* host, std::int64_t n) : Memory(n) {
    check(cudaMemcpy(data_, host, bytes_, cudaMemcpyHostToDevice), "copy to the device");
  }
  ~Memory() { cudaFree(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void copy_to(T* host) const {
    check(cudaMemcpy(host, data_, bytes_, cudaMemcpyDeviceToHost), "copy from the device");
  }
  T* data() const { return static_cast<T*>(data_); }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

}  // namespace

bool oja_fits_cuda(std::int64_t columns, std::int64_t components, std::int64_t itemsize) {
  return static_cast<std::size_t>(columns * components * itemsize) <= kIterateBytes;
}

template <typename T>
void oja_replicates_cuda(const OjaShape& shape, const OjaWeights& weights, const OjaSlots<T>& slots,
                         std::int64_t blocks, T* replicates, std::int64_t groups,
                         std::int64_t first) {
  if (blocks == 0 || groups == 0) return;
  const std::int64_t d = shape.columns, k = shape.components, m8 = (shape.block + 7) / 8 * 8;
  const std::int64_t n = groups * kOjaLanes<T>;
  const Memory<T> rows(slots.rows, blocks * m8 * shape.stride);
  const Memory<T> gram(slots.gram, blocks * m8 * m8);
  const Memory<double> steps(slots.steps, blocks * m8);
  const Memory<std::int64_t> block_sizes(slots.sizes, blocks * 2);
  const Memory<T> state(replicates, n * k * ((d + 7) / 8 * 8));

  int device = 0, most = 0;
  check(cudaGetDevice(&device), "current device");
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "shared memory");
  const std::int64_t itemsize = sizeof(T), scratch = scratch_bytes<T>(k, m8);
  const bool shared = oja_fits_cuda(d, k, itemsize) && scratch + itemsize * k * d <= most;
  const std::int64_t bytes = scratch + (shared ? itemsize * k * d : 0);
  if (bytes > most) {
    throw std::invalid_argument("n_components=" + std::to_string(k) +
                                " with block_size=" + std::to_string(shape.block) +
                                " does not fit the device's shared memory; use device='cpu'");
  }
  const Memory<T> iterates(shared ? 0 : n * k * d);
  check(cudaFuncSetAttribute(replicate_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes)),
        "shared memory");
  const OjaSlots<T> on_device{rows.data(), gram.data(), steps.data(), block_sizes.data(), blocks};
  replicate_kernel<T><<<static_cast<unsigned>(n), kThreads, static_cast<std::size_t>(bytes)>>>(
      shape, weights, on_device, blocks, state.data(), first, shared ? nullptr : iterates.data());
  check(cudaGetLastError(), "launch");
  check(cudaDeviceSynchronize(), "kernel");
  state.copy_to(replicates);
}

template void oja_replicates_cuda<double>(const OjaShape&, const OjaWeights&,
                                          const OjaSlots<double>&, std::int64_t, double*,
                                          std::int64_t, std::int64_t);
template void oja_replicates_cuda<float>(const OjaShape&, const OjaWeights&, const OjaSlots<float>&,
                                         std::int64_t, float*, std::int64_t, std::int64_t);

}  // namespace nb26
