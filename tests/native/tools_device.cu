// The tools that bodies share with the device, compiled by nvcc (not run).
#include "nb26/pack.hpp"
#include "nb26/philox.hpp"

template <typename T>
__global__ void use_tools(const T* x, T* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  y[i] =
      nb26::exp(x[i]) + nb26::log(x[i]) + nb26::log1p(x[i]) + nb26::sigmoid(x[i]) + nb26::cos(x[i]);
  const nb26::PhiloxWords w = nb26::philox(i, 3, nb26::philox_key(5, 6));
  y[i] += static_cast<T>(nb26::philox_uniform(w.r0, w.r1));
  const auto pack = nb26::Pack<T, 4>::load(x) * exp(nb26::Pack<T, 4>(T(1)));
  (pack - log(pack) / T(2)).store(y);
}

template __global__ void use_tools<double>(const double*, double*, int);
template __global__ void use_tools<float>(const float*, float*, int);
