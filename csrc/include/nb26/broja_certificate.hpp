// What an iterate proves: a table q with the marginals of p, and a feasible point of the dual.
#pragma once

#include <cmath>

#include "nb26/broja.hpp"

namespace nb26 {

inline constexpr int kBrojaSweeps = 20;
inline constexpr double kBrojaClose = 1e-11;  // a violation that is left to broja_complete

struct BrojaCertificate {
  double primal;     // sum q ln(q(s,x,y) / q(x,y))
  double dual;       // a lower bound of the least primal value
  double violation;  // largest difference between a marginal of q and that of p
};

// goal / sum where there is a sum, but at most `most`.
NB26_HD double broja_factor(double goal, double sum, double most) {
  const double factor = goal / pick(sum > 0.0, sum, 1.0);
  return pick(factor < most, factor, most);
}

// p.q times a factor of its own symbol that brings the marginal to p's, at most `most`, then the
// same for the kept symbol. Returns the largest difference that the own marginals had.
template <int Isa, int S>
NB26_HD double broja_sweep(const BrojaProblem& p, double most) {
  const int n = S ? S : p.stride;
  double *own = p.line, *worst = p.line + n, *kept = p.rhs_kept;
  for (int s = 0; s < n; ++s) worst[s] = 0.0;
  for (int j = 0; j < p.kept * n; ++j) kept[j] = 0.0;
  for (int e = 0; e < p.own; ++e) {
    const double* goal = p.p_own + e * n;
    for (int s = 0; s < n; ++s) own[s] = 0.0;
    for (int i = p.first_cell[e]; i < p.first_cell[e + 1]; ++i) {
      for (int s = 0; s < n; ++s) own[s] += p.q[i * n + s];
    }
    for (int s = 0; s < n; ++s) {
      const double miss = std::fabs(own[s] - goal[s]);
      worst[s] = miss > worst[s] ? miss : worst[s];
      own[s] = broja_factor(goal[s], own[s], most);
    }
    for (int i = p.first_cell[e]; i < p.first_cell[e + 1]; ++i) {
      double* to = kept + p.cell_kept[i] * n;
      for (int s = 0; s < n; ++s) {
        p.q[i * n + s] *= own[s];
        to[s] += p.q[i * n + s];
      }
    }
  }
  for (int j = 0; j < p.kept * n; ++j) kept[j] = broja_factor(p.p_kept[j], kept[j], most);
  for (int i = 0; i < p.cells; ++i) {
    const double* factor = kept + p.cell_kept[i] * n;
    for (int s = 0; s < n; ++s) p.q[i * n + s] *= factor[s];
  }
  double out = 0.0;
  for (int s = 0; s < n; ++s) out = worst[s] > out ? worst[s] : out;
  return out;
}

// What the marginals of p.q lack, into rhs_own and rhs_kept, and its sum over own symbols.
template <int Isa, int S>
NB26_HD void broja_missing(const BrojaProblem& p, double* total) {
  const int n = S ? S : p.stride;
  for (int s = 0; s < n; ++s) total[s] = 0.0;
  for (int j = 0; j < p.kept * n; ++j) p.rhs_kept[j] = p.p_kept[j];
  for (int e = 0; e < p.own; ++e) {
    double* own = p.rhs_own + e * n;
    for (int s = 0; s < n; ++s) own[s] = p.p_own[e * n + s];
    for (int i = p.first_cell[e]; i < p.first_cell[e + 1]; ++i) {
      double* kept = p.rhs_kept + p.cell_kept[i] * n;
      for (int s = 0; s < n; ++s) {
        own[s] -= p.q[i * n + s];
        kept[s] -= p.q[i * n + s];
      }
    }
    for (int s = 0; s < n; ++s) total[s] += own[s];
  }
}

// Gives p.q the marginals of p: proportional fitting until it is close, then the rounding of
// Altschuler, Weed and Rigollet (2017): no marginal too large, and what they lack as a product,
// which a target symbol's cells can always hold. Returns the largest violation that is left.
template <int Isa, int S>
NB26_HD double broja_fit(const BrojaProblem& p) {
  const int n = S ? S : p.stride;
  for (int sweep = 0; sweep < kBrojaSweeps; ++sweep) {
    if (broja_sweep<Isa, S>(p, MathTraits<double>::kLargest) < kBrojaClose) break;
  }
  broja_sweep<Isa, S>(p, 1.0);
  double *total = p.line, *kept = p.rhs_kept;
  broja_missing<Isa, S>(p, total);
  for (int s = 0; s < n; ++s) total[s] = pick(total[s] > 0.0, 1.0 / total[s], 0.0);
  for (int j = 0; j < p.kept * n; ++j) kept[j] = pick(kept[j] > 0.0, kept[j], 0.0);
  for (int e = 0; e < p.own; ++e) {
    double* own = p.rhs_own + e * n;
    for (int s = 0; s < n; ++s) own[s] = pick(own[s] > 0.0, own[s] * total[s], 0.0);
    for (int i = p.first_cell[e]; i < p.first_cell[e + 1]; ++i) {
      const double* lack = kept + p.cell_kept[i] * n;
      for (int s = 0; s < n; ++s) p.q[i * n + s] += own[s] * lack[s];
    }
  }
  broja_missing<Isa, S>(p, total);
  double most = 0.0;
  for (int j = 0; j < p.own * n; ++j)
    most = std::fabs(p.rhs_own[j]) > most ? std::fabs(p.rhs_own[j]) : most;
  for (int j = 0; j < p.kept * n; ++j)
    most = std::fabs(p.rhs_kept[j]) > most ? std::fabs(p.rhs_kept[j]) : most;
  return most;
}

// sum q ln(q(s,x,y) / q(x,y)) of p.q.
template <int Isa, int S>
NB26_HD double broja_primal(const BrojaProblem& p) {
  const int n = S ? S : p.stride;
  double* total = p.line;
  for (int s = 0; s < n; ++s) total[s] = 0.0;
  for (int i = 0; i < p.cells; ++i) {
    const double* q = p.q + i * n;
    const double mass = broja_sum<S>(q, n);
    const double log_mass = log(pick(mass > 0.0, mass, 1.0));
    for (int s = 0; s < n; ++s) {
      total[s] += q[s] * (log(pick(q[s] > 0.0, q[s], 1.0)) - log_mass);
    }
  }
  return broja_sum<S>(total, n);
}

// Value of (a, b) after the shifts of a, then of b, that bring the largest lse of every own and of
// every kept symbol to 0: down where a constraint is broken, up where there is room. Uses p.lse.
template <int Isa, int S>
NB26_HD double broja_dual(const BrojaProblem& p) {
  const int n = S ? S : p.stride;
  double* total = p.line;
  for (int s = 0; s < n; ++s) total[s] = 0.0;
  for (int j = 0; j < p.own * n; j += n) {
    for (int s = 0; s < n; ++s) total[s] += p.p_own[j + s] * p.a[j + s];
  }
  for (int j = 0; j < p.kept * n; j += n) {
    for (int s = 0; s < n; ++s) total[s] += p.p_kept[j + s] * p.b[j + s];
  }
  double value = broja_sum<S>(total, n);
  double* room = p.rhs_kept;
  for (int k = 0; k < p.kept; ++k) room[k] = -1e300;
  for (int e = 0; e < p.own; ++e) {
    double most = -1e300;
    for (int i = p.first_cell[e]; i < p.first_cell[e + 1]; ++i) {
      most = p.lse[i] > most ? p.lse[i] : most;
    }
    value -= p.mass_own[e] * most;
    for (int i = p.first_cell[e]; i < p.first_cell[e + 1]; ++i) {
      double& left = room[p.cell_kept[i]];
      left = p.lse[i] - most > left ? p.lse[i] - most : left;
    }
  }
  for (int k = 0; k < p.kept; ++k) value -= p.mass_kept[k] * room[k];
  return value;
}

// Of the iterate; p.q is set to its table.
template <int Isa, int S>
NB26_HD void broja_certify(const BrojaProblem& p, BrojaCertificate* out) {
  const int n = S ? S : p.stride;
  for (int i = 0; i < p.cells; ++i) {
    for (int s = 0; s < n; ++s) p.q[i * n + s] = p.t[i] * p.pi[i * n + s];
  }
  out->violation = broja_fit<Isa, S>(p);
  out->primal = broja_primal<Isa, S>(p);
  out->dual = broja_dual<Isa, S>(p);
}

}  // namespace nb26
