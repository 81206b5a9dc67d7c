// Leading eigenvectors of the weighted pilot of eight replicates side by side: lane = replicate.
//
// The matrix of a replicate is diag(r) G diag(r) over the rows that it uses, r the square roots of
// its weights. Householder reflections make it tridiagonal, bisection finds the leading
// eigenvalues, inverse iteration their vectors (Wilkinson; Parlett, The Symmetric Eigenvalue
// Problem, chapters 7 and 8). Lanes never mix, and a lane with fewer rows than the longest ends in
// zeros, which no sum notices: a replicate's bits do not depend on its neighbours.
#pragma once

#include <cmath>
#include <cstdint>

#include "nb26/hd.hpp"
#include "nb26/oja.hpp"
#include "nb26/oja_lanes.hpp"
#include "nb26/tridiagonal.hpp"

namespace nb26 {

inline constexpr int kBisections = 58;      // to 2^-57 of the largest eigenvalue
inline constexpr int kInverseSolves = 3;    // one on the upper factor alone, then full ones
inline constexpr double kPilotTol = 1e-13;  // residual and overlap beyond which LAPACK is asked
inline constexpr double kPilotRank = 1e-12;
inline constexpr double kPilotApart = 0x1p-50;  // least distance of the shifts of a cluster

// The pieces of one group; every array has the lane innermost.
struct PilotGroup {
  double* matrix;    // (m (m + 1) / 2) columns from the diagonal down; reflections take their place
  double* diagonal;  // (m)
  double* side;      // (m) below the diagonal, side[i] between i and i + 1
  double* tau;       // (m)
  double* work;      // (kPilotWork, m)
  double* values;    // (k) leading eigenvalues, largest first
  double* vectors;   // (k, m)
  const double* used;  // (kPilotLanes) rows of each lane
  std::int64_t m, k;
};
inline constexpr int kPilotWork = 5;

// Column c of the matrix; its row r >= c lies at [r].
NB26_HD double* pilot_column(const PilotGroup& g, std::int64_t c) {
  return g.matrix + (c * g.m - c * (c + 1) / 2) * kPilotLanes;
}

template <bool Fused>
NB26_HD void pilot_tridiagonal(const PilotGroup& g) {
  constexpr int L = static_cast<int>(kPilotLanes);
  tridiagonal_lanes<Fused, L, L>({g.matrix, g.diagonal, g.side, g.tau, g.work, g.m});
}

// Eigenvalues j..j+N-1, counted from the largest, to the precision of the largest.
template <int N>
NB26_HD void pilot_bisect(const PilotGroup& g, const double* squares, const double* bound,
                          std::int64_t j) {
  constexpr int L = static_cast<int>(kPilotLanes);
  double low[N][L], high[N][L];
  for (int s = 0; s < N; ++s) {
    for (int l = 0; l < L; ++l) low[s][l] = 0.0;
    for (int l = 0; l < L; ++l) high[s][l] = bound[l];
  }
  for (int step = 0; step < kBisections; ++step) {
    double middle[N][L], q[N][L], above[N][L];
    for (int s = 0; s < N; ++s) {
      for (int l = 0; l < L; ++l) middle[s][l] = 0.5 * (low[s][l] + high[s][l]);
      for (int l = 0; l < L; ++l) q[s][l] = 1.0;
      for (int l = 0; l < L; ++l) above[s][l] = 0.0;
    }
    for (std::int64_t i = 0; i < g.m; ++i) {
      for (int s = 0; s < N; ++s) {
        for (int l = 0; l < L; ++l) {
          const double shifted = g.diagonal[i * L + l] - middle[s][l];
          double pivot = shifted - squares[i * L + l] / q[s][l];
          const double least = 1e-300;
          pivot = std::fabs(pivot) < least ? -least : pivot;
          q[s][l] = pivot;
          above[s][l] += pivot > 0.0 ? 1.0 : 0.0;
        }
      }
    }
    for (int s = 0; s < N; ++s) {
      for (int l = 0; l < L; ++l) {
        const bool more = above[s][l] > static_cast<double>(j + s);
        low[s][l] = more ? middle[s][l] : low[s][l];
        high[s][l] = more ? high[s][l] : middle[s][l];
      }
    }
  }
  for (int s = 0; s < N; ++s) {
    for (int l = 0; l < L; ++l) g.values[(j + s) * L + l] = 0.5 * (low[s][l] + high[s][l]);
  }
}

NB26_HD void pilot_values(const PilotGroup& g, double* bound) {
  constexpr int L = static_cast<int>(kPilotLanes);
  double* squares = g.work;
  for (int l = 0; l < L; ++l) bound[l] = 0.0;
  for (std::int64_t i = 0; i < g.m; ++i) {
    for (int l = 0; l < L; ++l) {
      const double before = i > 0 ? g.side[(i - 1) * L + l] : 0.0;
      const double after = i + 1 < g.m ? g.side[i * L + l] : 0.0;
      const double most = std::fabs(g.diagonal[i * L + l]) + std::fabs(before) + std::fabs(after);
      bound[l] = most > bound[l] ? most : bound[l];
      squares[i * L + l] = before * before;
    }
  }
  // several at a time, since every step of one waits for a division
  std::int64_t j = 0;
  for (; g.k - j >= 6; j += 4) pilot_bisect<4>(g, squares, bound, j);
  if (g.k - j == 5) return pilot_bisect<5>(g, squares, bound, j);
  if (g.k - j == 4) return pilot_bisect<4>(g, squares, bound, j);
  if (g.k - j == 3) return pilot_bisect<3>(g, squares, bound, j);
  if (g.k - j == 2) return pilot_bisect<2>(g, squares, bound, j);
  pilot_bisect<1>(g, squares, bound, j);
}

// LU factors of T - shift with row exchanges, lane by lane.
struct PilotFactors {
  double* pivot;   // (m)
  double* next;    // (m)
  double* second;  // (m)
  double* factor;  // (m)
  double* turned;  // (m) 1 where rows i and i + 1 changed places
};

NB26_HD void pilot_factorise(const PilotGroup& g, const PilotFactors& f, const double* shift,
                             const double* bound) {
  constexpr int L = static_cast<int>(kPilotLanes);
  double p[L], q[L];
  for (int l = 0; l < L; ++l) p[l] = g.diagonal[l] - shift[l];
  for (int l = 0; l < L; ++l) q[l] = g.m > 1 ? g.side[l] : 0.0;
  for (std::int64_t i = 0; i < g.m; ++i) {
    const bool last = i + 1 == g.m;
    for (int l = 0; l < L; ++l) {
      const double below = last ? 0.0 : g.side[i * L + l];
      const double centre = last ? 0.0 : g.diagonal[(i + 1) * L + l] - shift[l];
      const double after = i + 2 < g.m ? g.side[(i + 1) * L + l] : 0.0;
      const bool turn = std::fabs(below) > std::fabs(p[l]);
      const double least = 0x1p-52 * bound[l] + 1e-300;
      const double own = std::fabs(p[l]) < least ? least : p[l];
      const double pivot = turn ? below : own;
      const double factor = (turn ? p[l] : below) / pivot;
      f.pivot[i * L + l] = pivot;
      f.next[i * L + l] = turn ? centre : q[l];
      f.second[i * L + l] = turn ? after : 0.0;
      f.factor[i * L + l] = factor;
      f.turned[i * L + l] = turn ? 1.0 : 0.0;
      p[l] = turn ? q[l] - factor * centre : centre - factor * q[l];
      q[l] = turn ? -factor * after : after;
    }
  }
}

// x <- U^-1 L^-1 x, or U^-1 x.
NB26_HD void pilot_solve(const PilotGroup& g, const PilotFactors& f, double* __restrict x,
                         bool whole) {
  constexpr int L = static_cast<int>(kPilotLanes);
  for (std::int64_t i = 0; whole && i + 1 < g.m; ++i) {
    for (int l = 0; l < L; ++l) {
      const bool turn = f.turned[i * L + l] > 0.0;
      const double here = x[i * L + l], below = x[(i + 1) * L + l];
      const double top = turn ? below : here, rest = turn ? here : below;
      x[i * L + l] = top;
      x[(i + 1) * L + l] = rest - f.factor[i * L + l] * top;
    }
  }
  double one[L] = {}, two[L] = {};
  for (std::int64_t i = g.m - 1; i >= 0; --i) {
    for (int l = 0; l < L; ++l) {
      const double known = f.next[i * L + l] * one[l] + f.second[i * L + l] * two[l];
      const double value = (x[i * L + l] - known) / f.pivot[i * L + l];
      x[i * L + l] = value;
      two[l] = one[l];
      one[l] = value;
    }
  }
}

// x loses its parts along the vectors before j and gets unit length.
NB26_HD void pilot_normalise(const PilotGroup& g, std::int64_t j) {
  constexpr int L = static_cast<int>(kPilotLanes);
  const std::int64_t m = g.m;
  double* __restrict x = g.vectors + j * m * L;
  double largest[L] = {}, length[L] = {};
  for (std::int64_t r = 0; r < m; ++r) {
    for (int l = 0; l < L; ++l) {
      const double size = std::fabs(x[r * L + l]);
      largest[l] = size > largest[l] ? size : largest[l];
    }
  }
  for (int l = 0; l < L; ++l) largest[l] = largest[l] > 0.0 ? 1.0 / largest[l] : 0.0;
  for (std::int64_t r = 0; r < m; ++r) {
    for (int l = 0; l < L; ++l) x[r * L + l] *= largest[l];
  }
  for (std::int64_t i = 0; i < j; ++i) {
    const double* __restrict other = g.vectors + i * m * L;
    double dot[L] = {};
    for (std::int64_t r = 0; r < m; ++r) {
      for (int l = 0; l < L; ++l) dot[l] += other[r * L + l] * x[r * L + l];
    }
    for (std::int64_t r = 0; r < m; ++r) {
      for (int l = 0; l < L; ++l) x[r * L + l] -= dot[l] * other[r * L + l];
    }
  }
  for (std::int64_t r = 0; r < m; ++r) {
    for (int l = 0; l < L; ++l) length[l] += x[r * L + l] * x[r * L + l];
  }
  for (int l = 0; l < L; ++l) length[l] = 1.0 / std::sqrt(length[l]);
  for (std::int64_t r = 0; r < m; ++r) {
    for (int l = 0; l < L; ++l) x[r * L + l] *= length[l];
  }
}

// Vectors of the tridiagonal matrix; worst: their largest residual, as a part of the bound, or
// overlap.
NB26_HD void pilot_vectors(const PilotGroup& g, const double* bound, double* worst) {
  constexpr int L = static_cast<int>(kPilotLanes);
  const std::int64_t m = g.m;
  const PilotFactors f{g.work, g.work + m * L, g.work + 2 * m * L, g.work + 3 * m * L,
                       g.work + 4 * m * L};
  double shift[L];
  for (int l = 0; l < L; ++l) shift[l] = 2.0 * bound[l] + 1.0;
  for (int l = 0; l < L; ++l) worst[l] = 0.0;
  for (std::int64_t j = 0; j < g.k; ++j) {
    double* __restrict x = g.vectors + j * m * L;
    // equal eigenvalues would give the same vector again
    for (int l = 0; l < L; ++l) {
      const double most = shift[l] - kPilotApart * bound[l];
      shift[l] = g.values[j * L + l] < most ? g.values[j * L + l] : most;
    }
    pilot_factorise(g, f, shift, bound);
    // any start will do that has a part along every vector; another one for each
    std::uint32_t word = 0x9E3779B9u * static_cast<std::uint32_t>(j + 1);
    for (std::int64_t r = 0; r < m; ++r) {
      word = 1664525u * word + 1013904223u;
      const double start = 1.0 + static_cast<double>(word >> 8) * 0x1p-24;
      for (int l = 0; l < L; ++l) {
        x[r * L + l] = static_cast<double>(r) < g.used[l] ? start : 0.0;
      }
    }
    for (int solve = 0; solve < kInverseSolves; ++solve) {
      pilot_solve(g, f, x, solve > 0);
      pilot_normalise(g, j);
    }
    for (std::int64_t i = 0; i < m; ++i) {
      for (int l = 0; l < L; ++l) {
        double rest = (g.diagonal[i * L + l] - g.values[j * L + l]) * x[i * L + l];
        if (i > 0) rest += g.side[(i - 1) * L + l] * x[(i - 1) * L + l];
        if (i + 1 < m) rest += g.side[i * L + l] * x[(i + 1) * L + l];
        const double part = std::fabs(rest) / bound[l];
        worst[l] = part <= worst[l] ? worst[l] : part;  // also when it is not a number
      }
    }
    for (std::int64_t i = 0; i < j; ++i) {
      const double* __restrict other = g.vectors + i * m * L;
      double dot[L] = {};
      for (std::int64_t r = 0; r < m; ++r) {
        for (int l = 0; l < L; ++l) dot[l] += other[r * L + l] * x[r * L + l];
      }
      for (int l = 0; l < L; ++l) {
        worst[l] = std::fabs(dot[l]) <= worst[l] ? worst[l] : std::fabs(dot[l]);
      }
    }
  }
}

// Vectors of the matrix itself from those of the tridiagonal one.
template <bool Fused>
NB26_HD void pilot_back(const PilotGroup& g) {
  constexpr int L = static_cast<int>(kPilotLanes);
  const std::int64_t m = g.m;
  for (std::int64_t i = m - 2; i >= 0; --i) {
    const double* __restrict v = pilot_column(g, i);
    for (std::int64_t j = 0; j < g.k; ++j) {
      double* __restrict x = g.vectors + j * m * L;
      double dot[L];
      for (int l = 0; l < L; ++l) dot[l] = x[(i + 1) * L + l];
      for (std::int64_t r = i + 2; r < m; ++r) {
        for (int l = 0; l < L; ++l) {
          dot[l] = madd<Fused>(v[r * L + l], x[r * L + l], dot[l]);
        }
      }
      for (int l = 0; l < L; ++l) dot[l] *= -g.tau[i * L + l];
      for (std::int64_t r = i + 1; r < m; ++r) {
        for (int l = 0; l < L; ++l) {
          x[r * L + l] = madd<Fused>(dot[l], v[r * L + l], x[r * L + l]);
        }
      }
    }
  }
}

}  // namespace nb26
