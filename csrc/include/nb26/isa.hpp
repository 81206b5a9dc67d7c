// Instruction-set levels: 0 what every x86-64 has, 1 AVX2 + FMA + BMI2, 2 AVX-512 F BW DQ VL.
//
// A kernel file instantiates its always_inline body once per level and calls through a table:
//
//   NB26_HD void scale_body(const double* x, double* y, std::int64_t n) { ... }
//   NB26_ISA_TABLE(scale, scale_body, (const double* x, double* y, std::int64_t n), (x, y, n))
//
// after which scale(x, y, n) runs the copy for the level in force. The body must not hold a lambda:
// its operator() would not inherit the target.
#pragma once

#include <atomic>
#include <stdexcept>
#include <string>

namespace nb26 {

inline int isa_supported() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi2")) {
    return 0;
  }
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return wide ? 2 : 1;
#else
  return 0;
#endif
}

inline std::atomic<int>& isa_state() {
  static std::atomic<int> level{isa_supported()};
  return level;
}

inline int isa_level() { return isa_state().load(std::memory_order_relaxed); }

inline void isa_force(int level) {
  const int most = isa_supported();
  if (level < 0 || level > most) {
    throw std::invalid_argument("isa level=" + std::to_string(level) + " must lie in [0, " +
                                std::to_string(most) + "] on this machine");
  }
  isa_state().store(level, std::memory_order_relaxed);
}

}  // namespace nb26

#if defined(__x86_64__)
#define NB26_TARGET_1 __attribute__((target("avx2,fma,bmi2")))
#define NB26_TARGET_2 __attribute__((target("avx2,fma,bmi2,avx512f,avx512bw,avx512dq,avx512vl")))
#else
#define NB26_TARGET_1
#define NB26_TARGET_2
#endif

// name: the function defined here; body: the always_inline function it runs.
#define NB26_ISA_TABLE(name, body, parameters, arguments)                           \
  static void name##_0 parameters { body arguments; }                               \
  NB26_TARGET_1 static void name##_1 parameters { body arguments; }                 \
  NB26_TARGET_2 static void name##_2 parameters { body arguments; }                 \
  static void(*const name##_levels[3]) parameters = {name##_0, name##_1, name##_2}; \
  static inline void name parameters { name##_levels[::nb26::isa_level()] arguments; }
