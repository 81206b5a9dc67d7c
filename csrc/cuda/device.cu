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
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) {
    return "no NVIDIA driver is installed";  // the runtime would call it too old
  }
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess) return count > 0 ? "" : "no CUDA device was found";
  cudaGetLastError();
  return cudaGetErrorString(status);
}

}  // namespace nb26
