// Discrete BROJA decomposition: infeasible-start primal-dual interior point with slacks and
// Mehrotra's corrector (problem and pieces: broja.hpp; its memory: broja_table.hpp; proof:
// broja_certificate.hpp).
//
// The dual is that of the union information of Bertschinger, Rauh, Olbrich, Jost and Ay (2014);
// the fallback is the alternating projection of Banerjee, Rauh and Montúfar (2018).
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>

#include "nb26/broja_certificate.hpp"
#include "nb26/broja_table.hpp"

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

class BrojaSolver : private BrojaTable {
 public:
  BrojaSolver(int nx, int ny, int ns) : BrojaTable(nx, ny, ns) {}

  // Whom to ask before every iteration whether to stop, and where all threads read the answer.
  void watch(bool (*stop)(), std::atomic<bool>* stopped) {
    stop_ = stop;
    stopped_ = stopped;
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
  static constexpr double kViolation = 1e-12;  // of the marginals, that a proof may have
  static constexpr double kRounding = 1e-15;   // of the two values whose difference is the gap
  static constexpr double kMargin = 0.05;      // of the constraints at the start
  static constexpr int kAlternations = 300;

  bool stopped() {
    if (stop_ && stop_()) *stopped_ = true;
    return stopped_ && *stopped_;
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
      if (stopped()) return false;
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
    start();  // the point that a failed run left need not be finite
    for (int i = 0; i < p_.cells; ++i) {
      p_.t[i] = p_.mass_own[p_.cell_own[i]] * p_.mass_kept[p_.cell_kept[i]];
    }
    for (int outer = 0; outer < kAlternations; ++outer) {
      if (stopped()) return false;
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

  const BrojaPieces* pieces_ = nullptr;
  bool (*stop_)() = nullptr;
  std::atomic<bool>* stopped_ = nullptr;
  double entropy_ = 0.0, primal_ = 0.0, dual_ = 0.0;
};

}  // namespace nb26
