// Vectors that start at a cache line: loads of 64 bytes that straddle two lines take twice the
// time.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace nb26 {

template <typename T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};
  LineAllocator() = default;
  template <typename U>
  LineAllocator(const LineAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kLine)); }
  void deallocate(T* data, std::size_t) { ::operator delete(data, kLine); }
  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }
  friend bool operator!=(const LineAllocator&, const LineAllocator&) { return false; }
};

using LineVector = std::vector<double, LineAllocator<double>>;

}  // namespace nb26
