// Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011): random words as a pure function of
// (seed, stream, index), the same on every thread count, chunking and device.
#pragma once

#include <cstdint>

#include "nb26/hd.hpp"

namespace nb26 {

struct PhiloxKey {
  std::uint32_t lo, hi;
};

struct PhiloxWords {
  std::uint32_t r0, r1, r2, r3;
};

// Each kernel passes a constant of its own as salt, so that kernels sharing a seed stay
// independent.
NB26_HD PhiloxKey philox_key(std::uint64_t seed, std::uint32_t salt) {
  return {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32) ^ salt};
}

NB26_HD PhiloxWords philox_round(PhiloxWords c, PhiloxKey key) {
  const std::uint64_t m0 = std::uint64_t{0xD2511F53u} * c.r0;
  const std::uint64_t m1 = std::uint64_t{0xCD9E8D57u} * c.r2;
  return {static_cast<std::uint32_t>(m1 >> 32) ^ c.r1 ^ key.lo, static_cast<std::uint32_t>(m1),
          static_cast<std::uint32_t>(m0 >> 32) ^ c.r3 ^ key.hi, static_cast<std::uint32_t>(m0)};
}

// stream: the task (replicate, permutation, start); index: the row or step within it.
NB26_HD PhiloxWords philox(std::uint64_t index, std::uint64_t stream, PhiloxKey key) {
  PhiloxWords c{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)};
  for (int round = 0; round < 10; ++round) {
    c = philox_round(c, key);
    key.lo += 0x9E3779B9u;
    key.hi += 0xBB67AE85u;
  }
  return c;
}

// Uniform in (0, 1] from two words: the top 27 bits of v, the top 26 of w, and a half.
NB26_HD double philox_uniform(std::uint32_t v, std::uint32_t w) {
  const double high = static_cast<double>(v >> 5) * 67108864.0;  // 2^26
  return (high + static_cast<double>(w >> 6) + 0.5) * (1.0 / 9007199254740992.0);
}

}  // namespace nb26
