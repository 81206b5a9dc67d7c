// Discrete BROJA decomposition: infeasible-start primal-dual interior point with slacks and
// Mehrotra's corrector (problem and pieces: broja.hpp; proof of the result: broja_certificate.hpp).
//
// The dual is that of the union information of Bertschinger, Rauh, Olbrich, Jost and Ay (2014);
// the fallback is the alternating projection of Banerjee, Rauh and Montúfar (2018).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "nb26/broja_certificate.hpp"

namespace nb26 {

// The pieces for one instruction set and one number of places per target symbol.
struct BrojaPieces {
  void (*evaluate)(const BrojaProblem&);
  double (*marginals)(const BrojaProblem&, const double*);
  bool (*blocks)(const BrojaProblem&, double);
  bool (*schur)(const BrojaProblem&, double);
  void (*solve)(const BrojaProblem&);
  double (*steps)(const BrojaProblem&);
  double (*primal)(const BrojaProblem&);
  void (*certify)(const BrojaProblem&, BrojaCertificate*);
};

// Pieces in force for `stride` places, see cpu/broja.cpp.
const BrojaPieces& broja_pieces(int stride);

struct BrojaAnswer {
  double information[4];
  double gap;
  bool converged;
  std::int64_t n_iter;
};

inline int broja_stride(int n) { return n <= 2 ? 2 : n <= 4 ? 4 : (n + 7) / 8 * 8; }

class BrojaSolver {
 public:
  BrojaSolver(int nx, int ny, int ns) : nx_(nx), ny_(ny), ns_(ns), clean_(size(nx * ny * ns)) {
    const std::int64_t own = std::max(nx, ny), kept = std::min(nx, ny), n = broja_stride(ns);
    const std::int64_t cells = own * kept, padded = (kept * ns + 7) / 8 * 8;
    whole_.resize(size(2 * cells + own + kept + 2 + kept * n + kept * n + own + kept + ns));
    real_.resize(size(7 * own * n + 6 * kept * n + own + kept + 9 * cells + 5 * cells * n +
                      (own + kept + 1) * n * n + (own * n + padded) * padded + 3 * padded + 2 * n +
                      ns + 64 * 64));
  }

  // pmf and q (nx, ny, ns).
  BrojaAnswer run(const double* pmf, double tol, int max_iter, double* q) {
    BrojaAnswer out{};
    clean(pmf);
    layout();
    pieces_ = &broja_pieces(p_.stride);
    out.information[0] = swapped_ ? of_kept() : of_own();
    out.information[1] = swapped_ ? of_own() : of_kept();
    start_proof();
    out.information[2] = entropy_ + primal_;
    if (p_.own == 1 || p_.kept == 1 || target_ == 1) {
      // no other table has its marginals, or there is nothing to tell
      out.converged = true;
      out.information[3] = std::max(out.information[0], out.information[1]);
    } else {
      out.converged = interior(kModes[0], tol, max_iter, &out.n_iter) ||
                      interior(kModes[1], tol, 5 * max_iter, &out.n_iter) ||
                      interior(kModes[2], tol, 5 * max_iter, &out.n_iter) ||
                      alternate(tol, &out.n_iter);
      out.information[3] = entropy_ + primal_;
      out.gap = gap();
    }
    write(q);
    return out;
  }

 private:
  struct Mode {
    double centring;  // 0: Mehrotra's choice and corrector
    double fraction;  // of the step to the boundary
    double cap;       // of the change of every a and b
    int patience;     // iterations without progress
  };
  static constexpr Mode kModes[3] = {
      {0.0, 0.995, 2.0, 6}, {0.3, 0.9, 0.7, 60}, {0.7, 0.9, 0.7, 200}};
  static constexpr double kDrop = 1e-12;       // masses below are taken as 0
  static constexpr double kViolation = 1e-12;  // of the marginals, that a proof may have
  static constexpr double kRounding = 1e-15;   // of the two values whose difference is the gap
  static constexpr double kMargin = 0.05;      // of the constraints at the start
  static constexpr int kAlternations = 300;

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

  // Information that the symbols with table `p` (n, stride) carry about the target, in nats.
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

  // p itself has the marginals of p, and no information is below 0.
  void start_proof() {
    const int n = p_.stride;
    entropy_ = 0.0;
    for (int s = 0; s < target_; ++s) entropy_ -= p_target_[s] * log(p_target_[s]);
    std::fill(p_.q, p_.q + std::int64_t{p_.cells} * n, 0.0);
    for (int i = 0; i < p_.cells; ++i) {
      const double* from = clean_.data() + place(i);
      for (int s = 0; s < target_; ++s) p_.q[i * n + s] = from[s_at_[size(s)]];
    }
    std::copy_n(p_.q, std::int64_t{p_.cells} * n, best_);
    primal_ = pieces_->primal(p_);
    dual_ = -entropy_;
  }

  // Where the target symbols of a cell are in a table (nx, ny, ns).
  std::int64_t place(int i) const {
    const int e = p_.cell_own[i], k = p_.cell_kept[i];
    const int x = x_at_[size(swapped_ ? k : e)], y = y_at_[size(swapped_ ? e : k)];
    return (std::int64_t{x} * ny_ + y) * ns_;
  }

  void write(double* q) const {
    std::fill(q, q + clean_.size(), 0.0);
    for (int i = 0; i < p_.cells; ++i) {
      double* to = q + place(i);
      for (int s = 0; s < target_; ++s) to[s_at_[size(s)]] = best_[i * p_.stride + s];
    }
  }

  // Sources that are independent given the target: q(s,x,y) = p(s,x) p(s,y) / p(s) has the
  // marginals, and shifts of a make it strictly feasible for the dual, so that only the products
  // t w are left to close. Fewer iterations than a start without the marginals.
  void start() {
    const int n = p_.stride;
    for (int e = 0; e < p_.own; ++e) {
      const double* own = p_.p_own + e * n;
      double most = 0.0;
      for (int i = p_.first_cell[e]; i < p_.first_cell[e + 1]; ++i) {
        const double* kept = p_.p_kept + p_.cell_kept[i] * n;
        double mass = 0.0;
        for (int s = 0; s < target_; ++s) mass += own[s] * kept[s] / p_target_[s];
        p_.t[i] = mass;
        most = std::max(most, mass / p_.mass_kept[p_.cell_kept[i]]);
      }
      const double shift = log(most) + kMargin;
      for (int s = 0; s < target_; ++s) {
        p_.a[e * n + s] = own[s] > 0.0 ? log(own[s] / p_target_[s]) - shift : 0.0;
      }
    }
    for (int k = 0; k < p_.kept; ++k) {
      const double* kept = p_.p_kept + k * n;
      for (int s = 0; s < target_; ++s) {
        p_.b[k * n + s] = kept[s] > 0.0 ? log(kept[s] / p_.mass_kept[k]) : 0.0;
      }
    }
    std::fill(p_.rows, p_.rows + std::int64_t{p_.own} * n * p_.padded, 0.0);
  }

  // Keeps the better q and the better bound; true when together they close the gap.
  bool prove(double tol) {
    BrojaCertificate proof{};
    pieces_->certify(p_, &proof);
    if (proof.violation < kViolation && proof.primal < primal_) {
      primal_ = proof.primal;
      std::copy_n(p_.q, std::int64_t{p_.cells} * p_.stride, best_);
    }
    if (proof.dual > dual_) dual_ = proof.dual;
    return gap() < 20.0 * tol;
  }

  double gap() const { return std::max(primal_ - dual_, 0.0) + kRounding; }

  bool interior(const Mode& mode, double tol, int max_iter, std::int64_t* n_iter) {
    start();
    double best = 1e300;
    int waited = 0;
    for (int iter = 0;; ++iter) {
      pieces_->evaluate(p_);
      double product = 0.0, broken = 0.0;
      for (int i = 0; i < p_.cells; ++i) {
        // the true slack where it is larger
        if (iter == 0 || -p_.lse[i] > 0.5 * p_.w[i]) p_.w[i] = -p_.lse[i];
        p_.rho[i] = p_.w[i] + p_.lse[i];
        product += p_.t[i] * p_.w[i];
        broken = std::max(broken, std::fabs(p_.rho[i]));
      }
      const double residual = pieces_->marginals(p_, p_.t);
      waited = residual + product < 0.9 * best ? 0 : waited + 1;
      best = std::min(best, residual + product);
      const bool last = (residual < tol && product < tol && broken < tol) || iter == max_iter ||
                        waited > mode.patience || !std::isfinite(best + broken);
      // the products are what the gap comes to once the marginals fit
      if (last || (residual < 1e-6 && product < 20.0 * tol)) {
        if (prove(tol)) return true;
        if (last) return false;
      }
      if (!newton(mode, product / p_.cells, tol / p_.cells)) return false;
      ++*n_iter;
    }
  }

  // `least`: products are not aimed below, as they would vanish long before the marginals fit.
  bool newton(const Mode& mode, double mu, double least) {
    if (!factor()) return false;
    double centring = mode.centring, theta = 0.0;
    bool second = false;
    for (int pass = mode.centring == 0.0 ? 0 : 1; pass < 2; ++pass) {
      const double goal = pass == 0 ? 0.0 : std::max(centring * mu, least);
      for (int i = 0; i < p_.cells; ++i) {
        const double both = second ? p_.dt[i] * p_.dw[i] : 0.0;
        p_.centre[i] = (goal + p_.t[i] * p_.rho[i] - both) / p_.w[i];
      }
      pieces_->marginals(p_, p_.centre);
      pieces_->solve(p_);
      theta = std::min(1.0, (pass == 0 ? 1.0 : mode.fraction) * pieces_->steps(p_));
      if (pass == 0) {
        double left = 0.0;
        for (int i = 0; i < p_.cells; ++i) {
          left += (p_.t[i] + theta * p_.dt[i]) * (p_.w[i] + theta * p_.dw[i]);
        }
        const double ratio = left / (p_.cells * mu);
        second = theta >= 0.1;
        centring = std::clamp(ratio * ratio * ratio, second ? 1e-6 : 0.3, 1.0);
      }
    }
    if (!std::isfinite(theta)) return false;
    // each change is capped for itself: a tiny mass may ask for hundreds, and would hold up all
    const int n = p_.stride;
    for (int j = 0; j < p_.own * n; ++j) {
      p_.a[j] += std::clamp(theta * p_.da[j], -mode.cap, mode.cap);
    }
    for (int j = 0; j < p_.kept * n; ++j) {
      p_.b[j] += std::clamp(theta * p_.db[j], -mode.cap, mode.cap);
    }
    for (int i = 0; i < p_.cells; ++i) {
      p_.t[i] += theta * p_.dt[i];
      p_.w[i] += theta * p_.dw[i];
    }
    return true;
  }

  bool factor() {
    if (pieces_->blocks(p_, 0.0) && pieces_->schur(p_, 0.0)) return true;
    double ridge = 1e-14;
    for (int k = 0; k < 8; ++k, ridge *= 100.0) {
      if (pieces_->blocks(p_, ridge) && pieces_->schur(p_, ridge)) return true;
    }
    return false;
  }

  // For every target symbol q <- Q scaled to the marginals, then Q <- sum of q; the scales are a
  // point of the dual. Slow where the optimum has zeros, so the last resort.
  bool alternate(double tol, std::int64_t* n_iter) {
    const int n = p_.stride;
    for (int i = 0; i < p_.cells; ++i) {
      p_.t[i] = p_.mass_own[p_.cell_own[i]] * p_.mass_kept[p_.cell_kept[i]];
    }
    for (int outer = 0; outer < kAlternations; ++outer) {
      scale();
      for (int i = 0; i < p_.cells; ++i) {
        double mass = 0.0;
        for (int s = 0; s < n; ++s) mass += p_.t[i] * ratio(i, s);
        p_.t[i] = mass;
      }
      ++*n_iter;
      if (outer % 10 < 9) continue;
      pieces_->evaluate(p_);
      if (prove(tol)) return true;
    }
    return false;
  }

  double ratio(int i, int s) const {
    const int n = p_.stride;
    if (!(p_.mask[i * n + s] > 0.0)) return 0.0;
    return std::exp(p_.a[p_.cell_own[i] * n + s] + p_.b[p_.cell_kept[i] * n + s]);
  }

  // a and b, the logarithms of the scales that give t the marginals of each target symbol.
  void scale() {
    const int n = p_.stride;
    for (int sweep = 0; sweep < kBrojaSweeps; ++sweep) {
      for (int side = 0; side < 2; ++side) {
        double* to = side ? p_.b : p_.a;
        const double* goal = side ? p_.p_kept : p_.p_own;
        const int* of = side ? p_.cell_kept : p_.cell_own;
        const int count = (side ? p_.kept : p_.own) * n;
        double* sum = side ? p_.rhs_kept : p_.rhs_own;
        std::fill(sum, sum + count, 0.0);
        for (int i = 0; i < p_.cells; ++i) {
          for (int s = 0; s < n; ++s) sum[of[i] * n + s] += p_.t[i] * ratio(i, s);
        }
        for (int j = 0; j < count; ++j) {
          if (goal[j] > 0.0 && sum[j] > 0.0) to[j] += std::log(goal[j] / sum[j]);
        }
      }
    }
  }

  int nx_, ny_, ns_, target_ = 0;
  bool swapped_ = false;
  std::vector<double> clean_, x_mass_, y_mass_, s_mass_, real_;
  std::vector<int> x_of_, y_of_, s_of_, x_at_, y_at_, s_at_, whole_;
  double* at_ = nullptr;
  int* whole_at_ = nullptr;
  BrojaProblem p_{};
  const BrojaPieces* pieces_ = nullptr;
  double *p_target_ = nullptr, *best_ = nullptr;
  double entropy_ = 0.0, primal_ = 0.0, dual_ = 0.0;
};

}  // namespace nb26
