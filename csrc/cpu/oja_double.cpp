#include "oja_entry.hpp"

namespace nb26 {

NB26_OJA_INSTANCES(double)

// out (columns, k, 8) += rows (n, stride)' coefficients (n, k, 8), for cpu/oja_pilot.cpp.
void oja_pilot_product(const double* rows, std::int64_t stride, std::int64_t n,
                       std::int64_t columns, std::int64_t k, const double* coefficients,
                       double* out) {
  constexpr std::int64_t kL = kPilotLanes;
  oja_product<double>(table<double>().group,
                      {rows, 1, stride, coefficients, k * kL, kL, n, out, k * kL, kL, columns}, k);
}

}  // namespace nb26
