// Which pairs to compare, and in what order, so that some ranks of n values end up in their places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace nb26 {

// Batcher's merge exchange for any n, without the comparisons that the wanted ranks do not need.
class OrderPairs {
 public:
  OrderPairs() = default;
  OrderPairs(std::int64_t n, std::initializer_list<std::int64_t> ranks) : made_(true) {
    std::vector<std::pair<std::int32_t, std::int32_t>> all;
    std::int64_t top = 1;
    while (2 * top < n) top *= 2;
    for (std::int64_t p = top; n > 1 && p > 0; p /= 2) {
      std::int64_t q = top, r = 0, d = p;
      while (true) {
        for (std::int64_t i = 0; i + d < n; ++i) {
          if ((i & p) == r) {
            all.emplace_back(static_cast<std::int32_t>(i), static_cast<std::int32_t>(i + d));
          }
        }
        if (q == p) break;
        d = q - p;
        q /= 2;
        r = p;
      }
    }
    std::vector<bool> wanted(static_cast<std::size_t>(n));
    for (const std::int64_t rank : ranks) wanted[static_cast<std::size_t>(rank)] = true;
    std::vector<bool> kept(all.size());
    for (std::size_t i = all.size(); i-- > 0;) {
      const auto a = static_cast<std::size_t>(all[i].first);
      const auto b = static_cast<std::size_t>(all[i].second);
      kept[i] = wanted[a] || wanted[b];
      if (kept[i]) wanted[a] = wanted[b] = true;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (kept[i]) pairs_.insert(pairs_.end(), {all[i].first, all[i].second});
    }
  }
  bool made() const { return made_; }
  const std::int32_t* pairs() const { return pairs_.data(); }
  std::int64_t size() const { return static_cast<std::int64_t>(pairs_.size() / 2); }

 private:
  bool made_ = false;
  std::vector<std::int32_t> pairs_;
};

}  // namespace nb26
