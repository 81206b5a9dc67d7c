// What an iterate proves: a table q with the marginals of p, and a feasible point of the dual.
#pragma once

#include <cmath>

#include "nb26/broja.hpp"

namespace nb26 {

inline constexpr int kBrojaSweeps = 20;
inline constexpr double kBrojaExact = 1e-15;  // a violation that no sweep can improve

struct BrojaCertificate {
  double primal;     // sum q ln(q(s,x,y) / q(x,y))
  double dual;       // a lower bound of the least primal value
  double violation;  // largest difference between a marginal of q and that of p
};

// Proportional fitting of p.q to the marginals; returns the largest violation that is left.
template <int Isa, int S>
NB26_HD double broja_fit(const BrojaProblem& p, int sweeps) {
  const int n = S ? S : p.stride;
  double *own = p.line, *worst = p.line + n, *kept = p.rhs_kept;
  for (int sweep = 0;; ++sweep) {
    for (int s = 0; s < n; ++s) worst[s] = 0.0;
    for (int j = 0; j < p.kept * n; ++j) kept[j] = 0.0;
    const bool last = sweep == sweeps;
    for (int e = 0; e < p.own; ++e) {
      const double* goal = p.p_own + e * n;
      for (int s = 0; s < n; ++s) own[s] = 0.0;
      for (int i = p.first_cell[e]; i < p.first_cell[e + 1]; ++i) {
        for (int s = 0; s < n; ++s) own[s] += p.q[i * n + s];
      }
      for (int s = 0; s < n; ++s) {
        const double miss = own[s] < goal[s] ? goal[s] - own[s] : own[s] - goal[s];
        worst[s] = miss > worst[s] ? miss : worst[s];
        own[s] = pick(own[s] > 0.0 && !last, goal[s] / own[s], pick(last, 1.0, 0.0));
      }
      for (int i = p.first_cell[e]; i < p.first_cell[e + 1]; ++i) {
        double* to = kept + p.cell_kept[i] * n;
        for (int s = 0; s < n; ++s) {
          p.q[i * n + s] *= own[s];
          to[s] += p.q[i * n + s];
        }
      }
    }
    double most = 0.0;
    for (int s = 0; s < n; ++s) most = worst[s] > most ? worst[s] : most;
    if (last) {
      for (int j = 0; j < p.kept * n; ++j) {
        const double miss = std::fabs(p.p_kept[j] - kept[j]);
        most = miss > most ? miss : most;
      }
      return most;
    }
    for (int j = 0; j < p.kept * n; ++j) {
      kept[j] = pick(kept[j] > 0.0, p.p_kept[j] / kept[j], 0.0);
    }
    for (int i = 0; i < p.cells; ++i) {
      const double* factor = kept + p.cell_kept[i] * n;
      for (int s = 0; s < n; ++s) p.q[i * n + s] *= factor[s];
    }
    // one more pass, which only measures
    if (sweep > 0 && most < kBrojaExact) sweeps = sweep + 1;
  }
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
  out->violation = broja_fit<Isa, S>(p, kBrojaSweeps);
  out->primal = broja_primal<Isa, S>(p);
  out->dual = broja_dual<Isa, S>(p);
}

}  // namespace nb26
