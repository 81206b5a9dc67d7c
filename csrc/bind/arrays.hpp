// Checked views of numpy arrays: no copy, no conversion, one sentence when something does not fit.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace nb26::bind {

namespace py = pybind11;

inline constexpr py::ssize_t kAny = -1;  // an extent that is read from the array

template <typename T, std::size_t N>
struct View {
  T* data;
  std::array<py::ssize_t, N> shape;
};

template <typename T>
bool holds(const py::array& array) {
  return py::isinstance<py::array_t<T>>(array);
}

template <std::size_t N>
std::string shape_text(const std::array<py::ssize_t, N>& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < N; ++i) {
    text += (i ? ", " : "") + (shape[i] == kAny ? std::string("any") : std::to_string(shape[i]));
  }
  return text + (N == 1 ? ",)" : ")");
}

template <typename T, std::size_t N>
std::array<py::ssize_t, N> checked_shape(const py::array& array, const char* name,
                                         const std::array<py::ssize_t, N>& wanted) {
  if (!holds<T>(array)) {
    throw py::type_error(std::string(name) + " must have dtype " +
                         py::str(py::dtype::of<T>()).cast<std::string>() + ", got " +
                         py::str(array.dtype()).cast<std::string>());
  }
  std::array<py::ssize_t, N> shape{};
  bool fits = array.ndim() == static_cast<py::ssize_t>(N);
  for (std::size_t i = 0; fits && i < N; ++i) {
    shape[i] = array.shape(static_cast<py::ssize_t>(i));
    fits = wanted[i] == kAny || wanted[i] == shape[i];
  }
  if (!fits) {
    throw py::value_error(std::string(name) + " must have shape " + shape_text(wanted) + ", got " +
                          py::str(array.attr("shape")).cast<std::string>());
  }
  const int needed = py::array::c_style | py::detail::npy_api::NPY_ARRAY_ALIGNED_;
  if ((array.flags() & needed) != needed) {
    throw py::value_error(std::string(name) + " must be C-contiguous and aligned");
  }
  return shape;
}

// An array as it was given. A conversion would make one that is gone before the kernel runs.
inline py::array given_array(const py::handle& object, const char* name) {
  if (!py::isinstance<py::array>(object)) {
    throw py::type_error(std::string(name) + " must be a numpy array, got " +
                         py::str(py::type::of(object).attr("__name__")).cast<std::string>());
  }
  return py::reinterpret_borrow<py::array>(object);
}

// read<double>(x, "x", {kAny, 3}): a C-contiguous float64 array of any number of rows of 3.
template <typename T, std::size_t N>
View<const T, N> read(const py::array& array, const char* name, const py::ssize_t (&wanted)[N]) {
  std::array<py::ssize_t, N> shape{};
  for (std::size_t i = 0; i < N; ++i) shape[i] = wanted[i];
  shape = checked_shape<T, N>(array, name, shape);
  return {static_cast<const T*>(array.data()), shape};
}

// Like read, for an array that the kernel changes in place.
template <typename T, std::size_t N>
View<T, N> write(py::array& array, const char* name, const py::ssize_t (&wanted)[N]) {
  std::array<py::ssize_t, N> shape{};
  for (std::size_t i = 0; i < N; ++i) shape[i] = wanted[i];
  shape = checked_shape<T, N>(array, name, shape);
  if (!array.writeable()) throw py::value_error(std::string(name) + " is read-only");
  return {static_cast<T*>(array.mutable_data()), shape};
}

// Refuses arrays that share memory: a kernel trusts the sizes it was given, and must not write over
// them. Looks into tuples; what is no array does not matter.
class Apart {
 public:
  void add(const py::handle& object) {
    if (py::isinstance<py::tuple>(object)) {
      for (const py::handle item : py::reinterpret_borrow<py::tuple>(object)) add(item);
    } else if (py::isinstance<py::array>(object)) {
      const auto array = py::reinterpret_borrow<py::array>(object);
      const auto* first = static_cast<const char*>(array.data());
      if (array.nbytes() > 0) spans_.emplace_back(first, first + array.nbytes());
    }
  }
  void check() {
    std::sort(spans_.begin(), spans_.end());
    for (std::size_t i = 1; i < spans_.size(); ++i) {
      if (spans_[i].first < spans_[i - 1].second) {
        throw py::value_error("two of the arrays share memory");
      }
    }
  }

 private:
  std::vector<std::pair<const char*, const char*>> spans_;
};

// check_apart(a, b, ...): see Apart. Call it once every array is known to be C-contiguous.
template <typename... Objects>
void check_apart(const Objects&... objects) {
  Apart apart;
  (apart.add(objects), ...);
  apart.check();
}

}  // namespace nb26::bind
