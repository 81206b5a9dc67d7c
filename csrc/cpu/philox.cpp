#include "nb26/philox.hpp"

#include "nb26/isa.hpp"
#include "nb26/philox_api.hpp"

namespace nb26 {
namespace {

NB26_HD void words_body(std::uint64_t seed, std::uint32_t salt, const std::uint64_t* index,
                        const std::uint64_t* stream, std::int64_t n, std::uint32_t* words) {
  const PhiloxKey key = philox_key(seed, salt);
  for (std::int64_t i = 0; i < n; ++i) {
    const PhiloxWords w = philox(index[i], stream[i], key);
    words[4 * i] = w.r0;
    words[4 * i + 1] = w.r1;
    words[4 * i + 2] = w.r2;
    words[4 * i + 3] = w.r3;
  }
}

NB26_ISA_TABLE(words_at_level, words_body,
               (std::uint64_t seed, std::uint32_t salt, const std::uint64_t* index,
                const std::uint64_t* stream, std::int64_t n, std::uint32_t* words),
               (seed, salt, index, stream, n, words))

}  // namespace

void philox_words(std::uint64_t seed, std::uint32_t salt, const std::uint64_t* index,
                  const std::uint64_t* stream, std::int64_t n, std::uint32_t* words) {
  words_at_level(seed, salt, index, stream, n, words);
}

}  // namespace nb26
