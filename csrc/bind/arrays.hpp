// Checked views of numpy arrays: no copy, no conversion, one sentence when something does not fit.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <string>

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
  if (!(array.flags() & py::array::c_style)) {
    throw py::value_error(std::string(name) + " must be C-contiguous");
  }
  return shape;
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

}  // namespace nb26::bind
