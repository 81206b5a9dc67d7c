// Start of the replicates from the pilot: threads over groups of replicates, then over columns.

#include "nb26/oja_pilot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "nb26/isa.hpp"
#include "nb26/oja_api.hpp"
#include "nb26/threads.hpp"

namespace nb26 {

// Columns of the product of coefficients and rows, see cpu/oja_double.cpp.
void oja_pilot_product(const double* rows, std::int64_t stride, std::int64_t n,
                       std::int64_t columns, std::int64_t k, const double* coefficients,
                       double* out);

namespace {

constexpr std::int64_t kL = kPilotLanes;

#define NB26_PILOT_LEVELS(name, body, parameters, arguments)                        \
  template <int Isa>                                                                \
  NB26_HD void name##_body parameters {                                             \
    body arguments;                                                                 \
  }                                                                                 \
  void name##_0 parameters { name##_body<0> arguments; }                            \
  NB26_TARGET_1 void name##_1 parameters { name##_body<1> arguments; }              \
  NB26_TARGET_2 void name##_2 parameters { name##_body<2> arguments; }              \
  void name parameters {                                                            \
    static constexpr void(*kLevels[3]) parameters = {name##_0, name##_1, name##_2}; \
    kLevels[isa_level()] arguments;                                                 \
  }

NB26_PILOT_LEVELS(tridiagonal, pilot_tridiagonal<kOjaFused<Isa>>, (const PilotGroup& g), (g))
NB26_PILOT_LEVELS(values, pilot_values, (const PilotGroup& g, double* bound), (g, bound))
NB26_PILOT_LEVELS(vectors, pilot_vectors, (const PilotGroup& g, const double* bound, double* worst),
                  (g, bound, worst))
NB26_PILOT_LEVELS(back, pilot_back<kOjaFused<Isa>>, (const PilotGroup& g), (g))

#undef NB26_PILOT_LEVELS

// Weighted pilots of eight replicates.
class Group {
 public:
  Group(const OjaWeights& weights, const double* gram, std::int64_t n, std::int64_t k)
      : weights_(weights), gram_(gram), n_(n), k_(k), used_(n * kL), root_(n * kL) {}

  void solve(std::int64_t first, double* coefficients, PilotEnd* ends) {
    draw(first);
    std::fill(coefficients, coefficients + n_ * k_ * kL, 0.0);
    std::fill(ends, ends + kL, PilotEnd::kRank);
    if (m_ < k_) return;
    const PilotGroup g = gather();
    double bound[kL], worst[kL];
    tridiagonal(g);
    values(g, bound);
    vectors(g, bound, worst);
    back(g);
    for (std::int64_t l = 0; l < kL; ++l) {
      const double least = g.values[(k_ - 1) * kL + l];
      if (count_[l] < static_cast<double>(k_) || !(least > kPilotRank * g.values[l])) continue;
      ends[l] = worst[l] <= kPilotTol ? PilotEnd::kGood : PilotEnd::kUnsure;
      if (ends[l] != PilotEnd::kGood) continue;
      for (std::int64_t j = 0; j < k_; ++j) {
        // the length of the row that the vector makes
        const double length = std::sqrt(g.values[j * kL + l] / scale_[l]);
        for (std::int64_t r = 0; static_cast<double>(r) < count_[l]; ++r) {
          coefficients[(used_[r * kL + l] * k_ + j) * kL + l] =
              g.vectors[(j * m_ + r) * kL + l] * root_[r * kL + l] / length;
        }
      }
    }
  }

 private:
  // Rows with a weight, and its square root.
  void draw(std::int64_t first) {
    std::int64_t most = 0;
    std::vector<double> omega(static_cast<std::size_t>(n_));
    for (std::int64_t l = 0; l < kL; ++l) {
      oja_multipliers(weights_, first + l, 1, 1, n_, omega.data());
      std::int64_t count = 0;
      for (std::int64_t t = 0; t < n_; ++t) {
        if (!(omega[static_cast<std::size_t>(t)] > 0.0)) continue;
        used_[count * kL + l] = t;
        root_[count * kL + l] = std::sqrt(omega[static_cast<std::size_t>(t)]);
        ++count;
      }
      count_[l] = static_cast<double>(count);
      most = std::max(most, count);
    }
    m_ = most;
  }

  PilotGroup gather() {
    const std::int64_t m = m_;
    const std::int64_t full = m * (m + 1) / 2;
    const std::int64_t needed = (full + (3 + kPilotWork) * m + k_ + k_ * m) * kL + kL;
    if (static_cast<std::int64_t>(room_.size()) < needed) {
      room_.resize(static_cast<std::size_t>(needed));
    }
    const auto address = reinterpret_cast<std::uintptr_t>(room_.data());
    double* at = room_.data() + (64 - address % 64) % 64 / sizeof(double);
    const auto take = [&at](std::int64_t rows) {
      double* out = at;
      at += rows * kL;
      return out;
    };
    const PilotGroup g{take(full), take(m),      take(m), take(m), take(kPilotWork * m),
                       take(k_),   take(k_ * m), count_,  m,       k_};
    for (std::int64_t l = 0; l < kL; ++l) {
      const auto count = static_cast<std::int64_t>(count_[l]);
      double largest = 0.0;
      for (std::int64_t r = 0; r < count; ++r) {
        const std::int64_t t = used_[r * kL + l];
        largest = std::max(largest, gram_[t * n_ + t]);
      }
      // a power of two, which keeps squares of the entries in range
      scale_[l] = largest > 0.0 ? std::ldexp(1.0, -std::ilogb(largest)) : 1.0;
      for (std::int64_t c = 0; c < m; ++c) {
        double* column = pilot_column(g, c);
        for (std::int64_t r = c; r < m; ++r) {
          double value = 0.0;
          if (r < count) {
            const std::int64_t t = used_[r * kL + l], s = used_[c * kL + l];
            value = gram_[t * n_ + s] * scale_[l] * root_[r * kL + l] * root_[c * kL + l];
          }
          column[r * kL + l] = value;
        }
      }
    }
    return g;
  }

  const OjaWeights& weights_;
  const double* gram_;
  std::int64_t n_, k_, m_ = 0;
  std::vector<std::int64_t> used_;
  std::vector<double> root_;
  std::vector<double> room_;
  double count_[kL] = {}, scale_[kL] = {};
};

}  // namespace

void oja_pilot_vectors(const OjaWeights& weights, const double* gram, std::int64_t n,
                       std::int64_t k, std::int64_t first, std::int64_t groups,
                       double* coefficients, PilotEnd* ends, int n_threads) {
  const int threads = threads_for(n_threads, groups);
  std::vector<Group> own(static_cast<std::size_t>(threads), Group(weights, gram, n, k));
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int thread = 0; thread < threads; ++thread) {
    for (std::int64_t g = thread; g < groups; g += threads) {
      own[static_cast<std::size_t>(thread)].solve(first + g * kL, coefficients + g * n * k * kL,
                                                  ends + g * kL);
    }
  }
}

template <typename T>
void oja_pilot_start(const OjaShape& shape, const double* rows, std::int64_t n,
                     const double* coefficients, std::int64_t groups, T* replicates,
                     int n_threads) {
  constexpr std::int64_t kColumns = 64, kLanes = kOjaLanes<T>;
  const std::int64_t d = shape.columns, d8 = (d + 7) / 8 * 8, k = shape.components;
  const std::int64_t parts = (d + kColumns - 1) / kColumns;
  const int threads = threads_for(n_threads, parts);
  std::vector<std::vector<double>> room(static_cast<std::size_t>(threads));
  for (auto& own : room) own.resize(static_cast<std::size_t>((n + k * kL) * kColumns));
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int thread = 0; thread < threads; ++thread) {
    double* part = room[static_cast<std::size_t>(thread)].data();
    double* out = part + n * kColumns;
    for (std::int64_t p = thread; p < parts; p += threads) {
      const std::int64_t c = p * kColumns, width = std::min(kColumns, d - c);
      for (std::int64_t t = 0; t < n; ++t) {
        std::copy_n(rows + t * d + c, width, part + t * kColumns);
        std::fill(part + t * kColumns + width, part + (t + 1) * kColumns, 0.0);
      }
      const std::int64_t padded = std::min(kColumns, d8 - c);
      for (std::int64_t g = 0; g < groups; ++g) {
        std::fill(out, out + padded * k * kL, 0.0);
        oja_pilot_product(part, kColumns, n, padded, k, coefficients + g * n * k * kL, out);
        T* into = replicates + (g * kL / kLanes * d8 + c) * k * kLanes + g * kL % kLanes;
        for (std::int64_t i = 0; i < padded * k; ++i) {
          for (std::int64_t l = 0; l < kL; ++l) {
            into[i * kLanes + l] = static_cast<T>(out[i * kL + l]);
          }
        }
      }
    }
  }
}

template void oja_pilot_start<double>(const OjaShape&, const double*, std::int64_t, const double*,
                                      std::int64_t, double*, int);
template void oja_pilot_start<float>(const OjaShape&, const double*, std::int64_t, const double*,
                                     std::int64_t, float*, int);

}  // namespace nb26
