#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <utility>

#include "arrays.hpp"
#include "nb26/math_api.hpp"

namespace nb26::bind {
namespace {

template <typename T>
using ArrayFunction = void (*)(const T*, T*, std::int64_t);

template <typename T>
py::array apply(ArrayFunction<T> function, const py::array& x) {
  const auto in = read<T>(x, "x", {kAny});
  py::array_t<T> out(in.shape[0]);
  T* y = out.mutable_data();
  {
    py::gil_scoped_release release;
    function(in.data, y, in.shape[0]);
  }
  return std::move(out);
}

template <ArrayFunction<double> f64, ArrayFunction<float> f32>
void define(py::module_& m, const char* name, const char* doc) {
  m.def(
      name,
      [](const py::array& x) {
        return holds<float>(x) ? apply<float>(f32, x) : apply<double>(f64, x);
      },
      py::arg("x"), doc);
}

}  // namespace

void register_math(py::module_& m) {
  define<exp_array, exp_array>(m, "math_exp",
                               "Exponential of a vector, saturating outside [-708, 709].");
  define<log_array, log_array>(m, "math_log", "Natural logarithm of a vector.");
  define<log1p_array, log1p_array>(m, "math_log1p", "Logarithm of one plus a vector.");
  define<sigmoid_array, sigmoid_array>(m, "math_sigmoid",
                                       "Logistic function of a vector, 1 / (1 + exp(-x)).");
  define<cos_array, cos_array>(m, "math_cos", "Cosine of a vector, arguments in [-1000, 1000].");
}

}  // namespace nb26::bind
