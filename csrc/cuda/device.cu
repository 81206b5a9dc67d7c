#include <cuda_runtime.h>

#include "nb26/device_api.hpp"

namespace nb26 {

int device_count() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    cudaGetLastError();  // the runtime keeps the error until it is read
    return 0;
  }
  return count;
}

std::string device_reason() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess) return count > 0 ? "" : "no CUDA device was found";
  cudaGetLastError();
  return cudaGetErrorString(status);
}

}  // namespace nb26
