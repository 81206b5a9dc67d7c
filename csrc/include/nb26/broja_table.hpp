// A table p(x,y,s) made ready for the solver: cleaned, its symbols numbered, its marginals, cells
// and unknowns laid out in memory that is taken once for all tables of a shape.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "nb26/broja.hpp"

namespace nb26 {

inline int broja_stride(int n) { return n <= 2 ? 2 : n <= 4 ? 4 : (n + 7) / 8 * 8; }

class BrojaTable {
 protected:
  BrojaTable(int nx, int ny, int ns) : nx_(nx), ny_(ny), ns_(ns), clean_(size(nx * ny * ns)) {
    const std::int64_t own = std::max(nx, ny), kept = std::min(nx, ny), n = broja_stride(ns);
    const std::int64_t cells = own * kept, padded = (kept * ns + 7) / 8 * 8;
    whole_.resize(size(2 * cells + own + kept + 2 + kept * n + kept * n + own + kept + ns));
    real_.resize(size(7 * own * n + 6 * kept * n + own + kept + 9 * cells + 5 * cells * n +
                      (own + kept + 1) * n * n + (own * n + padded) * padded + 3 * padded + 2 * n +
                      ns + 64 * 64));
  }

  static constexpr double kDrop = 1e-12;  // masses below are taken as 0

  static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

  void clean(const double* pmf) {
    double total = 0.0, left = 0.0;
    for (std::size_t i = 0; i < clean_.size(); ++i) total += pmf[i];
    for (std::size_t i = 0; i < clean_.size(); ++i) {
      const double mass = pmf[i] / total;
      clean_[i] = mass < kDrop ? 0.0 : mass;
      left += clean_[i];
    }
    for (double& mass : clean_) mass /= left;
  }

  double* take(std::int64_t n) {
    double* out = at_;
    at_ += (n + 7) / 8 * 8;
    std::fill(out, out + n, 0.0);
    return out;
  }

  int* take_whole(std::int64_t n) {
    int* out = whole_at_;
    whole_at_ += n;
    std::fill(out, out + n, 0);
    return out;
  }

  // Numbers the symbols that occur; returns how many.
  static int number(const std::vector<double>& mass, std::vector<int>* of, std::vector<int>* at) {
    int count = 0;
    of->resize(mass.size());
    at->resize(mass.size());
    for (std::size_t i = 0; i < mass.size(); ++i) {
      (*at)[size(count)] = static_cast<int>(i);
      (*of)[i] = mass[i] > 0.0 ? count++ : -1;
    }
    return count;
  }

  // Sizes, marginals, active cells and unknowns.
  void layout() {
    x_mass_.assign(size(nx_), 0.0);
    y_mass_.assign(size(ny_), 0.0);
    s_mass_.assign(size(ns_), 0.0);
    std::size_t i = 0;
    for (int x = 0; x < nx_; ++x) {
      for (int y = 0; y < ny_; ++y) {
        for (int s = 0; s < ns_; ++s, ++i) {
          x_mass_[size(x)] += clean_[i];
          y_mass_[size(y)] += clean_[i];
          s_mass_[size(s)] += clean_[i];
        }
      }
    }
    const int nx = number(x_mass_, &x_of_, &x_at_), ny = number(y_mass_, &y_of_, &y_at_);
    target_ = number(s_mass_, &s_of_, &s_at_);
    swapped_ = ny > nx;
    p_.own = std::max(nx, ny);
    p_.kept = std::min(nx, ny);
    const int n = p_.stride = broja_stride(target_);
    const std::int64_t own = std::int64_t{p_.own} * n, kept = std::int64_t{p_.kept} * n;

    at_ = real_.data();
    at_ += (64 - reinterpret_cast<std::uintptr_t>(at_) % 64) % 64 / sizeof(double);
    whole_at_ = whole_.data();
    double *p_own = take(own), *p_kept = take(kept), *mass_own = take(p_.own);
    double* mass_kept = take(p_.kept);
    p_target_ = take(n);
    i = 0;
    for (int x = 0; x < nx_; ++x) {
      for (int y = 0; y < ny_; ++y) {
        for (int s = 0; s < ns_; ++s, ++i) {
          if (!(clean_[i] > 0.0)) continue;
          const int e = swapped_ ? y_of_[size(y)] : x_of_[size(x)];
          const int k = swapped_ ? x_of_[size(x)] : y_of_[size(y)];
          const int to = s_of_[size(s)];
          p_own[e * n + to] += clean_[i];
          p_kept[k * n + to] += clean_[i];
          mass_own[e] += clean_[i];
          mass_kept[k] += clean_[i];
          p_target_[to] += clean_[i];
        }
      }
    }
    p_.p_own = p_own;
    p_.p_kept = p_kept;
    p_.mass_own = mass_own;
    p_.mass_kept = mass_kept;
    cells();
    unknowns();
    room();
  }

  // The pairs of source symbols that share a target symbol.
  void cells() {
    const int n = p_.stride;
    const std::int64_t most = std::int64_t{p_.own} * p_.kept;
    int *cell_own = take_whole(most), *cell_kept = take_whole(most);
    int* first = take_whole(p_.own + 1);
    double* mask = take(most * n);
    p_.cells = 0;
    for (int e = 0; e < p_.own; ++e) {
      for (int k = 0; k < p_.kept; ++k) {
        bool active = false;
        for (int s = 0; s < n; ++s) {
          const bool common = p_.p_own[e * n + s] > 0.0 && p_.p_kept[k * n + s] > 0.0;
          mask[p_.cells * n + s] = common ? 1.0 : 0.0;
          active = active || common;
        }
        if (!active) continue;
        cell_own[p_.cells] = e;
        cell_kept[p_.cells] = k;
        ++p_.cells;
      }
      first[e + 1] = p_.cells;
    }
    p_.cell_own = cell_own;
    p_.cell_kept = cell_kept;
    p_.first_cell = first;
    p_.mask = mask;
  }

  // The kept unknowns but, for every target symbol, the one of the likeliest kept symbol.
  void unknowns() {
    const int n = p_.stride;
    int* fixed = take_whole(target_);
    for (int s = 0; s < target_; ++s) {
      for (int k = 1; k < p_.kept; ++k) {
        if (p_.p_kept[k * n + s] > p_.p_kept[fixed[s] * n + s]) fixed[s] = k;
      }
    }
    int *first = take_whole(p_.kept + 1), *symbol = take_whole(std::int64_t{p_.kept} * n);
    p_.free = 0;
    for (int k = 0; k < p_.kept; ++k) {
      for (int s = 0; s < target_; ++s) {
        if (p_.p_kept[k * n + s] > 0.0 && fixed[s] != k) symbol[p_.free++] = s;
      }
      first[k + 1] = p_.free;
    }
    p_.padded = (p_.free + kBrojaColumns - 1) / kBrojaColumns * kBrojaColumns;
    p_.first_free = first;
    p_.free_symbol = symbol;
  }

  // Arrays of the iterate.
  void room() {
    const std::int64_t n = p_.stride, own = p_.own * n, kept = p_.kept * n, cells = p_.cells;
    const std::int64_t padded = p_.padded;
    p_.a = take(own);
    p_.b = take(kept);
    p_.t = take(cells);
    p_.w = take(cells);
    p_.lse = take(cells);
    p_.rho = take(cells);
    p_.pi = take(cells * n);
    p_.centre = take(cells);
    p_.rhs_own = take(own);
    p_.rhs_kept = take(kept);
    p_.da = take(own);
    p_.db = take(kept);
    p_.dt = take(cells);
    p_.dw = take(cells);
    p_.block_own = take(own * n);
    p_.block_kept = take(kept * n);
    p_.pivot_own = take(own);
    p_.rows = take((own + padded) * padded);
    p_.pivot = take(padded);
    p_.y = take(own);
    p_.z = take(padded);
    p_.x = take(padded);
    p_.q = take(cells * n);
    p_.line = take(2 * n);
    p_.square = take(n * n);
    best_ = take(cells * n);
  }

  // Information that one source carries about the target, in nats.
  double of_own() const { return shared(p_.p_own, p_.mass_own, p_.own); }
  double of_kept() const { return shared(p_.p_kept, p_.mass_kept, p_.kept); }
  double shared(const double* table, const double* mass, int count) const {
    double sum = 0.0;
    for (int i = 0; i < count; ++i) {
      for (int s = 0; s < target_; ++s) {
        const double p = table[i * p_.stride + s];
        if (p > 0.0) sum += p * log(p / (mass[i] * p_target_[s]));
      }
    }
    return std::max(sum, 0.0);
  }

  // Where the target symbols of a cell are in a table (nx, ny, ns).
  std::int64_t place(int i) const {
    const int e = p_.cell_own[i], k = p_.cell_kept[i];
    const int x = x_at_[size(swapped_ ? k : e)], y = y_at_[size(swapped_ ? e : k)];
    return (std::int64_t{x} * ny_ + y) * ns_;
  }

  // The table that was found, in the shape and with the symbols that were given.
  void write(double* q) const {
    std::fill(q, q + clean_.size(), 0.0);
    for (int i = 0; i < p_.cells; ++i) {
      double* to = q + place(i);
      for (int s = 0; s < target_; ++s) to[s_at_[size(s)]] = best_[i * p_.stride + s];
    }
  }

  int nx_, ny_, ns_, target_ = 0;
  bool swapped_ = false;
  std::vector<double> clean_, x_mass_, y_mass_, s_mass_, real_;
  std::vector<int> x_of_, y_of_, s_of_, x_at_, y_at_, s_at_, whole_;
  double* at_ = nullptr;
  int* whole_at_ = nullptr;
  BrojaProblem p_{};
  double *p_target_ = nullptr, *best_ = nullptr;
};

}  // namespace nb26
