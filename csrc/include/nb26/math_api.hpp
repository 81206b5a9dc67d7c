// exp, log, log1p, sigmoid and cos of whole arrays; definitions and edge cases are in math.hpp.
#pragma once

#include <cstdint>

namespace nb26 {

void exp_array(const double* x, double* y, std::int64_t n);
void exp_array(const float* x, float* y, std::int64_t n);
void log_array(const double* x, double* y, std::int64_t n);
void log_array(const float* x, float* y, std::int64_t n);
void log1p_array(const double* x, double* y, std::int64_t n);
void log1p_array(const float* x, float* y, std::int64_t n);
void sigmoid_array(const double* x, double* y, std::int64_t n);
void sigmoid_array(const float* x, float* y, std::int64_t n);
void cos_array(const double* x, double* y, std::int64_t n);
void cos_array(const float* x, float* y, std::int64_t n);

}  // namespace nb26
