// Memory of the device, and errors of the runtime as exceptions.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace nb26 {

inline void cuda_check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // the runtime keeps the error until it is read
  throw std::runtime_error(std::string("CUDA: ") + what + ": " + cudaGetErrorString(status));
}

// Device memory that is given back when it goes out of scope.
template <typename T>
class DeviceMemory {
 public:
  explicit DeviceMemory(std::int64_t n) : bytes_(static_cast<std::size_t>(n) * sizeof(T)) {
    if (n > 0) cuda_check(cudaMalloc(&data_, bytes_), "allocation");
  }
  DeviceMemory(const T* host, std::int64_t n) : DeviceMemory(n) {
    cuda_check(cudaMemcpy(data_, host, bytes_, cudaMemcpyHostToDevice), "copy to the device");
  }
  ~DeviceMemory() { cudaFree(data_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  void copy_to(T* host) const {
    cuda_check(cudaMemcpy(host, data_, bytes_, cudaMemcpyDeviceToHost), "copy from the device");
  }
  // The first n.
  void copy_to(T* host, std::int64_t n) const {
    cuda_check(
        cudaMemcpy(host, data_, static_cast<std::size_t>(n) * sizeof(T), cudaMemcpyDeviceToHost),
        "copy from the device");
  }
  T* data() const { return static_cast<T*>(data_); }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

}  // namespace nb26
