// Tuples and numpy arrays to the structures of oja_api.hpp, for the CPU and the CUDA binding.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "arrays.hpp"
#include "nb26/oja_api.hpp"

namespace nb26::bind {

inline std::int64_t oja_rounded(std::int64_t n) { return (n + 7) / 8 * 8; }

// What no product of sizes overflows with.
inline constexpr std::int64_t kOjaMost = std::int64_t{1} << 31;
inline constexpr std::int64_t kOjaMostRows = std::int64_t{1} << 12;

struct OjaSizes {
  OjaShape shape;
  bool narrow;  // float32
};

inline bool oja_narrow(int itemsize) {
  if (itemsize != 4 && itemsize != 8) throw py::value_error("itemsize must be 4 or 8");
  return itemsize == 4;
}

// (columns, components, tracked, block, itemsize) and, if given, whether weights are paired
inline OjaSizes oja_sizes(const py::tuple& t) {
  const auto d = t[0].cast<std::int64_t>(), k = t[1].cast<std::int64_t>();
  const auto k0 = t[2].cast<std::int64_t>(), block = t[3].cast<std::int64_t>();
  const bool narrow = oja_narrow(t[4].cast<int>());
  if (d < 1 || d > kOjaMost || k < 1 || k0 < k || k0 > k + 1 || k0 > d || block < 1 ||
      block > kOjaMostRows) {
    throw py::value_error(
        "sizes must satisfy 1 <= k <= k0 <= min(k + 1, d), d <= 2**31, 1 <= block <= 2**12");
  }
  const std::int64_t stride = narrow ? oja_stride<float>(d) : oja_stride<double>(d);
  const bool paired = t.size() > 5 && t[5].cast<bool>();
  return {{d, k, k0, stride, block, paired}, narrow};
}

// (growth_limit, c, kappa, center, refresh_gap, refresh_steps)
inline OjaRule oja_rule(const py::tuple& t) {
  return {t[0].cast<double>(), t[1].cast<double>(), t[2].cast<double>(),
          t[3].cast<bool>(),   t[4].cast<bool>(),   t[5].cast<bool>()};
}

// (seed, multiplier, rows per weight)
inline OjaWeights oja_weights(const py::tuple& t) {
  const auto kind = t[1].cast<int>();
  const auto rows = t[2].cast<std::int64_t>();
  if (kind < 0 || kind > static_cast<int>(OjaMultiplier::kPaired) || rows < 1) {
    throw py::value_error("the multiplier must be 0, 1 or 2 and rows per weight at least 1");
  }
  return {t[0].cast<std::uint64_t>(), static_cast<OjaMultiplier>(kind), rows};
}

// Paired weights need the shape that goes with them.
inline OjaWeights oja_weights(const OjaShape& shape, const py::tuple& t) {
  const OjaWeights weights = oja_weights(t);
  if (shape.paired != (weights.kind == OjaMultiplier::kPaired)) {
    throw py::value_error("paired weights need sizes that say so, and other weights do not");
  }
  return weights;
}

template <typename T, std::size_t N>
T* oja_member(const py::tuple& arrays, std::size_t i, const char* name,
              const py::ssize_t (&wanted)[N]) {
  auto array = given_array(arrays[i], name);
  return write<T>(array, name, wanted).data;
}

// Until the call ends its counts are a copy: they say where the kernels write, and a thread that
// works on the same state must not move them meanwhile.
class OjaCounts {
 public:
  OjaCounts(const OjaShape& shape, std::int64_t* given) : given_(given) {
    std::copy_n(given, kOjaCounts, counts_.data());
    if (counts_[kRowsOpen] < 0 || counts_[kRowsOpen] >= shape.block) {
      throw py::value_error("open rows must be fewer than block");
    }
  }
  ~OjaCounts() { std::copy_n(counts_.data(), kOjaCounts, given_); }
  OjaCounts(const OjaCounts&) = delete;
  OjaCounts& operator=(const OjaCounts&) = delete;
  std::int64_t* data() { return counts_.data(); }

 private:
  std::int64_t* given_;
  std::array<std::int64_t, kOjaCounts> counts_{};
};

// (directions, mean, open_rows, open_steps, last_row, tracked, counts, sums)
template <typename T>
class OjaCall {
 public:
  OjaCall(const OjaShape& shape, const py::tuple& arrays)
      : state_(members(shape, arrays)), counts_(shape, state_.counts) {
    state_.counts = counts_.data();
  }
  const OjaState<T>& state() const { return state_; }

 private:
  static OjaState<T> members(const OjaShape& shape, const py::tuple& arrays) {
    const std::int64_t m8 = oja_slot_rows(shape);
    return {oja_member<T>(arrays, 0, "directions", {shape.tracked, shape.stride}),
            oja_member<double>(arrays, 1, "mean", {shape.columns}),
            oja_member<T>(arrays, 2, "open_rows", {m8, shape.stride}),
            oja_member<double>(arrays, 3, "open_steps", {m8}),
            oja_member<T>(arrays, 4, "last_row", {shape.stride}),
            oja_member<double>(arrays, 5, "tracked", {kOjaTracks, shape.tracked}),
            oja_member<std::int64_t>(arrays, 6, "counts", {kOjaCounts}),
            oja_member<double>(arrays, 7, "sums", {kOjaSums})};
  }
  OjaState<T> state_;
  OjaCounts counts_;
};

// (rows, gram, steps, sizes)
template <typename T>
OjaSlots<T> oja_slots(const OjaShape& shape, const py::tuple& arrays) {
  const std::int64_t m8 = oja_slot_rows(shape);
  const auto sizes = given_array(arrays[3], "sizes");
  const std::int64_t slots = sizes.ndim() > 0 ? sizes.shape(0) : 0;
  if (slots < 1) throw py::value_error("there must be at least one slot");
  return {oja_member<T>(arrays, 0, "rows", {slots, m8, shape.stride}),
          oja_member<T>(arrays, 1, "gram", {slots, m8, m8}),
          oja_member<double>(arrays, 2, "steps", {slots, m8}),
          oja_member<std::int64_t>(arrays, 3, "sizes", {slots, 2}), slots};
}

// Sizes come back from Python, and the kernels trust them; `width` of them for each slot.
inline void oja_check_blocks(const OjaShape& shape, const std::int64_t* sizes, std::int64_t width,
                             std::int64_t slots, std::int64_t blocks) {
  if (blocks < 0 || blocks > slots) throw py::value_error("blocks must lie in the slots");
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t rows = sizes[width * b], first = sizes[width * b + 1];
    if (rows < 1 || rows > shape.block + (shape.paired ? 1 : 0) || first < 1) {
      throw py::value_error("sizes of a slot must be rows in the block and a row number");
    }
  }
}

template <typename T>
struct OjaReplicates {
  T* data;
  std::int64_t groups;
};

// (groups, d rounded up to 8, k, lanes), or None
template <typename T>
OjaReplicates<T> oja_replicate_array(const OjaShape& shape, const py::object& object) {
  if (object.is_none()) return {nullptr, 0};
  auto array = given_array(object, "replicates");
  const auto view = write<T>(array, "replicates",
                             {kAny, oja_rounded(shape.columns), shape.components, kOjaLanes<T>});
  return {view.data, view.shape[0]};
}

}  // namespace nb26::bind
