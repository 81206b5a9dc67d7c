// Own transcendentals and packs: accuracy, edge values, array tails, equal bits at every level.
#include "cpu/math.cpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "check.hpp"

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <typename T>
double ulps(T value, long double exact) {
  const T size = std::fabs(static_cast<T>(exact));
  const T spacing = std::nextafter(size, std::numeric_limits<T>::infinity()) - size;
  return static_cast<double>(std::fabs(value - exact) / spacing);
}

template <typename T>
bool same(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <typename T>
void check_accuracy(T lowest, T highest) {
  for (int i = 0; i <= 20000; ++i) {
    const T x = lowest + (highest - lowest) * static_cast<T>(i) / T(20000);
    const long double wide = x;
    CHECK(ulps<T>(nb26::exp(x), std::exp(wide)) < 2.0);
    CHECK(ulps<T>(nb26::sigmoid(x), 1.0L / (1.0L + std::exp(-wide))) < 2.5);
    const T positive = std::ldexp(T(1) + static_cast<T>(i) / T(20001), i % 200 - 100);
    CHECK(ulps<T>(nb26::log(positive), std::log(static_cast<long double>(positive))) < 2.0);
    CHECK(ulps<T>(nb26::log1p(positive), std::log1p(static_cast<long double>(positive))) < 2.0);
    const T turn = T(6.2831855) * static_cast<T>(i) / T(20000);
    CHECK(ulps<T>(nb26::cos(turn), std::cos(static_cast<long double>(turn))) < 2.0);
    const T negative = -static_cast<T>(i) / T(20001);
    if (i > 0) {
      CHECK(ulps<T>(nb26::log1p(negative), std::log1p(static_cast<long double>(negative))) < 2.0);
    }
  }
}

template <bool Fused>
void check_quick() {
  for (int i = 0; i <= 100000; ++i) {
    const double x = i % 2 ? 0.0142 * i - 710.0 : 1e-4 * i - 5.0;
    double rest;
    const double p = nb26::sigmoid_quick<Fused>(x, &rest);
    const long double tail = std::exp(-std::clamp<long double>(x, -708.0L, 708.0L));
    CHECK(ulps(p, 1.0L / (1.0L + tail)) < 2.5);
    CHECK(ulps(rest, tail / (1.0L + tail)) < 4.0);
    double wanted;
    const double other = nb26::sigmoid_quick<!Fused>(x, &wanted);
    CHECK(std::fabs(other - p) <= 4e-16 * p && std::fabs(wanted - rest) <= 8e-16 * rest);
  }
  double rest;
  CHECK(nb26::sigmoid_quick<Fused>(0.0, &rest) == 0.5 && rest == 0.5);
  CHECK(nb26::sigmoid_quick<Fused>(kInf, &rest) == 1.0 && rest > 0.0 && rest < 1e-300);
  CHECK(nb26::sigmoid_quick<Fused>(-kInf, &rest) > 0.0 && rest == 1.0);
  CHECK(std::isnan(nb26::sigmoid_quick<Fused>(kNan, &rest)) && std::isnan(rest));
}

void check_edges() {
  CHECK(same(nb26::exp(kInf), nb26::exp(709.0)) && same(nb26::exp(-kInf), nb26::exp(-708.0)));
  CHECK(nb26::exp(0.0) == 1.0 && std::isnan(nb26::exp(kNan)));
  CHECK(nb26::log(0.0) == -kInf && nb26::log(-0.0) == -kInf && nb26::log(kInf) == kInf);
  CHECK(std::isnan(nb26::log(-1.0)) && std::isnan(nb26::log(-kInf)) && std::isnan(nb26::log(kNan)));
  CHECK(nb26::log(1.0) == 0.0 && ulps(nb26::log(5e-324), std::log(4.9406564584124654e-324L)) < 2.0);
  CHECK(nb26::log1p(-1.0) == -kInf && nb26::log1p(kInf) == kInf && std::isnan(nb26::log1p(-1.5)));
  CHECK(same(nb26::log1p(-0.0), -0.0) && same(nb26::log1p(5e-324), 5e-324));
  CHECK(nb26::sigmoid(0.0) == 0.5 && nb26::sigmoid(kInf) == 1.0 && nb26::sigmoid(-kInf) > 0.0);
  CHECK(std::isnan(nb26::sigmoid(kNan)) && std::isnan(nb26::log1p(kNan)));
  CHECK(nb26::cos(0.0) == 1.0 && std::isnan(nb26::cos(kInf)) && std::isnan(nb26::cos(kNan)));
}

template <typename T>
void check_arrays() {
  void (*const functions[])(const T*, T*, std::int64_t) = {
      nb26::exp_array, nb26::log_array, nb26::log1p_array, nb26::sigmoid_array, nb26::cos_array};
  for (const auto function : functions) {
    for (int n = 0; n < 40; ++n) {
      std::vector<T> x(n), first(n), y(n);  // exact sizes, so that AddressSanitizer sees an overrun
      for (int i = 0; i < n; ++i) x[i] = static_cast<T>(0.37 * i - 3.0);
      nb26::isa_force(0);
      function(x.data(), first.data(), n);
      for (int level = 1; level <= nb26::isa_supported(); ++level) {
        nb26::isa_force(level);
        function(x.data(), y.data(), n);
        CHECK(n == 0 || std::memcmp(first.data(), y.data(), n * sizeof(T)) == 0);
      }
    }
  }
}

template <typename T, int N>
void check_pack() {
  T values[N];
  for (int i = 0; i < N; ++i) values[i] = static_cast<T>(i) + T(0.5);
  const auto a = nb26::Pack<T, N>::load(values);
  T out[N];
  ((a + T(2)) * a - a / (T(1) + a)).store(out);
  for (int i = 0; i < N; ++i) {
    const T v = values[i];
    CHECK(same(out[i], (v + T(2)) * v - v / (T(1) + v)));
  }
  (exp(T(1) - a) + log(a)).store(out);
  for (int i = 0; i < N; ++i) {
    CHECK(same(out[i], nb26::exp(T(1) - values[i]) + nb26::log(values[i])));
  }
  (log1p(a) * sigmoid(a) - cos(a)).store(out);
  for (int i = 0; i < N; ++i) {
    const T v = values[i];
    CHECK(same(out[i], nb26::log1p(v) * nb26::sigmoid(v) - nb26::cos(v)));
  }
}

}  // namespace

int main() {
  check_accuracy<double>(-708.0, 709.0);
  check_accuracy<double>(-2.0, 2.0);
  check_accuracy<float>(-87.0f, 88.0f);
  check_quick<false>();
  check_quick<true>();
  check_edges();
  check_arrays<double>();
  check_arrays<float>();
  check_pack<double, 8>();
  check_pack<double, 16>();
  check_pack<float, 16>();
  return failures != 0;
}
