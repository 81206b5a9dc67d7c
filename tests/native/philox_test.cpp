// Philox4x32-10: published answers, uniforms at both ends, equal words at every level.
#include "cpu/philox.cpp"

#include <vector>

#include "check.hpp"

namespace {

bool equal(nb26::PhiloxWords w, std::uint32_t r0, std::uint32_t r1, std::uint32_t r2,
           std::uint32_t r3) {
  return w.r0 == r0 && w.r1 == r1 && w.r2 == r2 && w.r3 == r3;
}

void check_answers() {
  const std::uint64_t ones = ~std::uint64_t{0};
  CHECK(equal(nb26::philox(0, 0, nb26::philox_key(0, 0)), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c,
              0x9b00dbd8));
  CHECK(equal(nb26::philox(ones, ones, nb26::philox_key(ones, 0)), 0x408f276d, 0x41c83b0e,
              0xa20bc7c6, 0x6d5451fd));
  CHECK(equal(nb26::philox(1000, 7, nb26::philox_key(42, 0x6F6A6100)), 0x315138e3, 0xe794735c,
              0xf679c7cb, 0xc516e013));
}

void check_uniform() {
  CHECK(nb26::philox_uniform(0, 0) == 0.5 / 9007199254740992.0);
  CHECK(nb26::philox_uniform(0xffffffffu, 0xffffffffu) == 1.0);
  CHECK(nb26::philox_uniform(0x80000000u, 0) == 0.5 && nb26::philox_uniform(0x7fffffffu, 0) < 0.5);
}

void check_levels() {
  for (int n = 0; n < 70; ++n) {
    std::vector<std::uint64_t> index(n), stream(n);
    for (int i = 0; i < n; ++i) {
      index[i] = 0xfffffff0u + static_cast<std::uint64_t>(i);
      stream[i] = static_cast<std::uint64_t>(n) << i % 40;
    }
    for (int level = 0; level <= nb26::isa_supported(); ++level) {
      nb26::isa_force(level);
      std::vector<std::uint32_t> words(4 * static_cast<std::size_t>(n));
      nb26::philox_words(42, 5, index.data(), stream.data(), n, words.data());
      for (int i = 0; i < n; ++i) {
        CHECK(equal(nb26::philox(index[i], stream[i], nb26::philox_key(42, 5)), words[4 * i],
                    words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]));
      }
    }
  }
}

}  // namespace

int main() {
  check_answers();
  check_uniform();
  check_levels();
  return failures != 0;
}
