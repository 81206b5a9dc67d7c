// Random words in bulk.
#pragma once

#include <cstdint>

namespace nb26 {

// words: (n, 4), row i the four words of (index[i], stream[i]).
void philox_words(std::uint64_t seed, std::uint32_t salt, const std::uint64_t* index,
                  const std::uint64_t* stream, std::int64_t n, std::uint32_t* words);

}  // namespace nb26
