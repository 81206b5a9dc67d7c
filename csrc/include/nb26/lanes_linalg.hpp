// Small dense linear algebra on L matrices side by side: products, Cholesky, triangular solves.
//
// Entry i of lane l of an array lies at [i * S + l]: S = L on the CPU; on the device L = 1, and the
// lanes of a warp are S apart. Matrices lie row by row; lanes never mix, and every sum is one chain
// in ascending order, so the bits of a lane depend neither on its neighbours nor on the tile.
#pragma once

#include <cmath>
#include <cstdint>

#include "nb26/hd.hpp"
#include "nb26/madd.hpp"
#include "nb26/math.hpp"

namespace nb26 {

inline constexpr double kPivotFloor =
    1e-16;  // what replaces a smaller pivot, relative to its entry

// Where row i of a matrix starts; `row` = 0 stands for a packed lower triangle.
NB26_HD std::int64_t lane_row(std::int64_t row, std::int64_t i) {
  return row > 0 ? i * row : i * (i + 1) / 2;
}

// out = base + sign * a b'. Row i of a ends at a_reach + i + 1 and row j of b at b_reach + j + 1
// (zeros follow, as far as a register tile looks); with b_from, row j of b starts at j.
struct LaneProduct {
  const double* a;
  std::int64_t a_row, a_reach;
  const double* b;  // in lanes, or one number for all of them
  std::int64_t b_row, b_reach;
  bool b_from;
  const double* base;  // laid out as out; null: zeros
  double sign;
  double* out;
  std::int64_t out_row;
  std::int64_t m, n, terms;
  bool lower;  // only the tiles that hold entries with j <= i
};

// x <- x l'^-1 for the m rows of x; with lower, only entries with j <= i.
struct LaneSolve {
  double* x;
  std::int64_t x_row;
  const double* l;
  std::int64_t l_row;
  const double* inverse;  // (n) reciprocals of the diagonal of l
  std::int64_t m, n;
  bool lower;
};

// x becomes its lower Cholesky factor.
struct LaneCholesky {
  double* x;
  std::int64_t x_row;
  double* inverse;  // (n) reciprocals of the diagonal
  double* pivots;   // (n) squares of the diagonal
  double* least;    // (2) smallest pivot relative to its entry, of the rows before and from `split`
  std::int64_t n, split;
};

// sum[i][j] += the sum over k = from..to-1 of a[i][k] b[j][k].
template <bool Fused, int L, int S, bool Shared, int RI, int RJ>
NB26_HD void lane_dots(const double* const (&a)[RI], const double* const (&b)[RJ],
                       std::int64_t from, std::int64_t to, double (&sum)[RI][RJ][L]) {
  for (std::int64_t k = from; k < to; ++k) {
    double right[RJ][L];
    NB26_UNROLL
    for (int j = 0; j < RJ; ++j) {
      if constexpr (Shared) {
        const double one = b[j][k];
        for (int l = 0; l < L; ++l) right[j][l] = one;
      } else {
        for (int l = 0; l < L; ++l) right[j][l] = b[j][k * S + l];
      }
    }
    NB26_UNROLL
    for (int i = 0; i < RI; ++i) {
      double left[L];
      for (int l = 0; l < L; ++l) left[l] = a[i][k * S + l];
      NB26_UNROLL
      for (int j = 0; j < RJ; ++j) {
        for (int l = 0; l < L; ++l) sum[i][j][l] = madd<Fused>(left[l], right[j][l], sum[i][j][l]);
      }
    }
  }
}

NB26_HD std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

template <bool Fused, int L, int S, bool Shared, int RI, int RJ>
NB26_HD void lane_product_tile(const LaneProduct& p, std::int64_t i0, std::int64_t j0) {
  constexpr int kB = Shared ? 1 : S;
  const double* a[RI];
  const double* b[RJ];
  double sum[RI][RJ][L];
  NB26_UNROLL
  for (int i = 0; i < RI; ++i) {
    a[i] = p.a + (i0 + i) * p.a_row * S;
    NB26_UNROLL
    for (int j = 0; j < RJ; ++j) {
      for (int l = 0; l < L; ++l) sum[i][j][l] = 0.0;
    }
  }
  NB26_UNROLL
  for (int j = 0; j < RJ; ++j) b[j] = p.b + (j0 + j) * p.b_row * kB;
  const double sign = p.sign;
  const std::int64_t reach = smaller(p.a_reach + i0 + RI, p.b_reach + j0 + RJ);
  lane_dots<Fused, L, S, Shared, RI, RJ>(a, b, p.b_from ? j0 : 0, smaller(reach, p.terms), sum);
  NB26_UNROLL
  for (int i = 0; i < RI; ++i) {
    NB26_UNROLL
    for (int j = 0; j < RJ; ++j) {
      const std::int64_t at = ((i0 + i) * p.out_row + j0 + j) * S;
      double value[L];
      for (int l = 0; l < L; ++l) value[l] = sign * sum[i][j][l];
      if (p.base) {
        double before[L];
        for (int l = 0; l < L; ++l) before[l] = p.base[at + l];
        for (int l = 0; l < L; ++l) value[l] += before[l];
      }
      double* out = p.out + at;
      for (int l = 0; l < L; ++l) out[l] = value[l];
    }
  }
}

template <bool Fused, int L, int S, int Tile, bool Shared, int RI>
NB26_HD void lane_product_rows(const LaneProduct& p, std::int64_t i0) {
  const std::int64_t columns = p.lower ? smaller(p.n, i0 + RI) : p.n;
  std::int64_t j = 0;
  for (; j + Tile <= columns; j += Tile) lane_product_tile<Fused, L, S, Shared, RI, Tile>(p, i0, j);
  if constexpr (Tile > 2) {
    if (j + 2 <= columns) {
      lane_product_tile<Fused, L, S, Shared, RI, 2>(p, i0, j);
      j += 2;
    }
  }
  if (j < columns) lane_product_tile<Fused, L, S, Shared, RI, 1>(p, i0, j);
}

template <bool Fused, int L, int S, int Tile, bool Shared>
NB26_HD void lane_product(const LaneProduct& p) {
  std::int64_t i = 0;
  for (; i + Tile <= p.m; i += Tile) lane_product_rows<Fused, L, S, Tile, Shared, Tile>(p, i);
  if constexpr (Tile > 2) {
    if (i + 2 <= p.m) {
      lane_product_rows<Fused, L, S, Tile, Shared, 2>(p, i);
      i += 2;
    }
  }
  if (i < p.m) lane_product_rows<Fused, L, S, Tile, Shared, 1>(p, i);
}

template <bool Fused, int L, int S, int RI, int RJ>
NB26_HD void lane_solve_tile(const LaneSolve& p, std::int64_t i0, std::int64_t j0) {
  const double* a[RI];
  const double* b[RJ];
  double sum[RI][RJ][L];
  NB26_UNROLL
  for (int i = 0; i < RI; ++i) {
    a[i] = p.x + lane_row(p.x_row, i0 + i) * S;
    NB26_UNROLL
    for (int j = 0; j < RJ; ++j) {
      for (int l = 0; l < L; ++l) sum[i][j][l] = 0.0;
    }
  }
  NB26_UNROLL
  for (int j = 0; j < RJ; ++j) b[j] = p.l + lane_row(p.l_row, j0 + j) * S;
  lane_dots<Fused, L, S, false, RI, RJ>(a, b, 0, j0, sum);
  NB26_UNROLL
  for (int j = 0; j < RJ; ++j) {
    double inverse[L];
    for (int l = 0; l < L; ++l) inverse[l] = p.inverse[(j0 + j) * S + l];
    NB26_UNROLL
    for (int i = 0; i < RI; ++i) {
      double* x = p.x + (lane_row(p.x_row, i0 + i) + j0 + j) * S;
      double rest[L];
      for (int l = 0; l < L; ++l) rest[l] = x[l] - sum[i][j][l];
      NB26_UNROLL
      for (int k = 0; k < j; ++k) {
        double right[L];
        for (int l = 0; l < L; ++l) right[l] = b[j][(j0 + k) * S + l];
        // sum[i][k] holds the finished entry by now
        for (int l = 0; l < L; ++l) rest[l] = madd<Fused>(-sum[i][k][l], right[l], rest[l]);
      }
      for (int l = 0; l < L; ++l) sum[i][j][l] = rest[l] * inverse[l];
      for (int l = 0; l < L; ++l) x[l] = sum[i][j][l];
    }
  }
}

template <bool Fused, int L, int S, int Tile, int RI>
NB26_HD void lane_solve_rows(const LaneSolve& p, std::int64_t i0, std::int64_t columns) {
  std::int64_t j = 0;
  for (; j + Tile <= columns; j += Tile) lane_solve_tile<Fused, L, S, RI, Tile>(p, i0, j);
  if constexpr (Tile > 2) {
    if (j + 2 <= columns) {
      lane_solve_tile<Fused, L, S, RI, 2>(p, i0, j);
      j += 2;
    }
  }
  if (j < columns) lane_solve_tile<Fused, L, S, RI, 1>(p, i0, j);
}

template <bool Fused, int L, int S, int Tile>
NB26_HD void lane_solve(const LaneSolve& p) {
  std::int64_t i = 0;
  for (; i + Tile <= p.m; i += Tile) {
    lane_solve_rows<Fused, L, S, Tile, Tile>(p, i, p.lower ? smaller(p.n, i + Tile) : p.n);
  }
  if constexpr (Tile > 2) {
    if (i + 2 <= p.m) {
      lane_solve_rows<Fused, L, S, Tile, 2>(p, i, p.lower ? smaller(p.n, i + 2) : p.n);
      i += 2;
    }
  }
  if (i < p.m) {
    lane_solve_rows<Fused, L, S, Tile, 1>(p, i, p.lower ? smaller(p.n, i + 1) : p.n);
  }
}

// Rows i0..i0+RI-1 of a Cholesky factor: the columns before them by solving, then their own tile.
template <bool Fused, int L, int S, int Tile, int RI>
NB26_HD void lane_cholesky_rows(const LaneCholesky& p, std::int64_t i0) {
  lane_solve_rows<Fused, L, S, Tile, RI>({p.x, p.x_row, p.x, p.x_row, p.inverse, p.n, p.n, true},
                                         i0, i0);
  const double* a[RI];
  double sum[RI][RI][L];
  NB26_UNROLL
  for (int i = 0; i < RI; ++i) {
    a[i] = p.x + lane_row(p.x_row, i0 + i) * S;
    NB26_UNROLL
    for (int j = 0; j < RI; ++j) {
      for (int l = 0; l < L; ++l) sum[i][j][l] = 0.0;
    }
  }
  lane_dots<Fused, L, S, false, RI, RI>(a, a, 0, i0, sum);
  NB26_UNROLL
  for (int j = 0; j < RI; ++j) {
    double inverse[L];
    NB26_UNROLL
    for (int i = j; i < RI; ++i) {
      double* x = p.x + (lane_row(p.x_row, i0 + i) + i0 + j) * S;
      double rest[L];
      for (int l = 0; l < L; ++l) rest[l] = x[l];
      for (int l = 0; l < L; ++l) rest[l] -= sum[i][j][l];
      NB26_UNROLL
      for (int k = 0; k < j; ++k) {
        for (int l = 0; l < L; ++l) rest[l] = madd<Fused>(-sum[i][k][l], sum[j][k][l], rest[l]);
      }
      if (i == j) {
        double* least = p.least + (i0 + j < p.split ? 0 : S);
        double entry[L], lowest[L], pivot[L];
        for (int l = 0; l < L; ++l) entry[l] = x[l];
        for (int l = 0; l < L; ++l) lowest[l] = least[l];
        for (int l = 0; l < L; ++l) {
          const double size = pick(entry[l] > 0.0, entry[l], 1.0);
          const double part = pick(entry[l] > 0.0, rest[l] / size, -1.0);
          const double ratio = pick(part > -1.0, part, -1.0);  // also when it is not a number
          lowest[l] = pick(ratio < lowest[l], ratio, lowest[l]);
          pivot[l] = pick(ratio > kPivotFloor, rest[l], kPivotFloor * size);
        }
        for (int l = 0; l < L; ++l) least[l] = lowest[l];
        for (int l = 0; l < L; ++l) sum[j][j][l] = std::sqrt(pivot[l]);
        for (int l = 0; l < L; ++l) inverse[l] = 1.0 / sum[j][j][l];
        for (int l = 0; l < L; ++l) p.pivots[(i0 + j) * S + l] = pivot[l];
        for (int l = 0; l < L; ++l) p.inverse[(i0 + j) * S + l] = inverse[l];
      } else {
        for (int l = 0; l < L; ++l) sum[i][j][l] = rest[l] * inverse[l];
      }
      for (int l = 0; l < L; ++l) x[l] = sum[i][j][l];
    }
  }
}

template <bool Fused, int L, int S, int Tile>
NB26_HD void lane_cholesky(const LaneCholesky& p) {
  for (int l = 0; l < L; ++l) p.least[l] = 1.0;
  for (int l = 0; l < L; ++l) p.least[S + l] = 1.0;
  std::int64_t i = 0;
  for (; i + Tile <= p.n; i += Tile) lane_cholesky_rows<Fused, L, S, Tile, Tile>(p, i);
  if constexpr (Tile > 2) {
    if (i + 2 <= p.n) {
      lane_cholesky_rows<Fused, L, S, Tile, 2>(p, i);
      i += 2;
    }
  }
  if (i < p.n) lane_cholesky_rows<Fused, L, S, Tile, 1>(p, i);
}

}  // namespace nb26
