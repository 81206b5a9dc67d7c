// One Newton step of the discrete BROJA problem: the cells, the block system and its solution.
//
//   maximise sum p(s,x) a(s,x) + sum p(s,y) b(s,y)
//   subject to LSE_s(a(s,x) + b(s,y)) + w(x,y) = 0,  w >= 0,  for every cell (x,y)
//
// with multipliers t(x,y) >= 0; q(x,y,s) = t(x,y) softmax_s(a + b) at the optimum. The unknowns a
// of the source with more symbols ("own", index e) are eliminated block by block, those of the
// other ("kept", index k) stay in the Schur complement, each target symbol without the one that
// fixes its gauge.
//
// A target symbol takes `stride` places, 2, 4, 8 (S, known to the compiler) or a multiple of 8
// (S = 0). Places without probability hold zeros and a unit pivot. Sums over target symbols and
// over the long rows are trees of a fixed form, so that all vector widths give the same bits.
//
// The pieces are compiled one by one for each instruction set, see cpu/broja.cpp.
#pragma once

#include <cmath>
#include <cstdint>

#include "nb26/hd.hpp"
#include "nb26/madd.hpp"
#include "nb26/math.hpp"

namespace nb26 {

inline constexpr int kBrojaRows = 4;     // of a register tile of the Schur complement
inline constexpr int kBrojaColumns = 8;  // the same; rows are padded to a multiple

// Sizes, the marginals, the iterate and the room of one problem; the arrays belong to the solver.
struct BrojaProblem {
  int own, kept, stride;  // symbols of the eliminated and the kept source, places per target symbol
  int cells;              // (e, k) with a common target symbol
  int free, padded;       // unknowns of the Schur complement, and rounded up to 8
  const int *cell_own, *cell_kept;     // (cells)
  const int* first_cell;               // (own + 1)
  const int* first_free;               // (kept + 1): unknowns of a kept symbol ...
  const int* free_symbol;              // (free): ... and their target symbols
  const double *p_own, *p_kept;        // (own, stride), (kept, stride)
  const double *mass_own, *mass_kept;  // (own), (kept): their sums over target symbols
  const double* mask;                  // (cells, stride): 1 where both probabilities are positive
  double *a, *b;                       // (own, stride), (kept, stride)
  double *t, *w, *lse, *rho;           // (cells): rho = w + lse
  double* pi;                          // (cells, stride)
  double* centre;                      // (cells)
  double *rhs_own, *rhs_kept;          // (own, stride), (kept, stride)
  double *da, *db;                     // the same
  double *dt, *dw;                     // (cells)
  double *block_own, *block_kept;      // (own, stride, stride), (kept, stride, stride)
  double* pivot_own;                   // (own, stride): reciprocal
  double* rows;                        // (own * stride + padded, padded): V, and below it R
  double* pivot;                       // (padded): reciprocal
  double *y, *z, *x;                   // (own * stride), (padded), (padded)
  double* q;                           // (cells, stride)
  double* line;                        // (2, stride)
  double* square;                      // (stride, stride)
};

// Sum over the places of a target symbol.
template <int S>
NB26_HD double broja_sum(const double* v, int n) {
  if constexpr (S == 2) {
    return v[0] + v[1];
  } else if constexpr (S == 4) {
    return (v[0] + v[2]) + (v[1] + v[3]);
  } else {
    double part[8];
    for (int l = 0; l < 8; ++l) part[l] = v[l];
    for (int i = 8; i < n; i += 8) {
      for (int l = 0; l < 8; ++l) part[l] += v[i + l];
    }
    return ((part[0] + part[4]) + (part[2] + part[6])) +
           ((part[1] + part[5]) + (part[3] + part[7]));
  }
}

template <bool Fused>
NB26_HD double broja_dot(const double* u, const double* v, int first, int end) {
  double part[8] = {};
  for (int i = first; i < end; i += 8) {
    for (int l = 0; l < 8; ++l) part[l] = madd<Fused>(u[i + l], v[i + l], part[l]);
  }
  return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

// pi = softmax and lse of every cell.
template <int Isa, int S>
NB26_HD void broja_evaluate(const BrojaProblem& p) {
  const int n = S ? S : p.stride;
  for (int i = 0; i < p.cells; ++i) {
    const double* a = p.a + p.cell_own[i] * n;
    const double* b = p.b + p.cell_kept[i] * n;
    for (int s = 0; s < n; ++s) p.pi[i * n + s] = a[s] + b[s];
  }
  for (int j = 0; j < p.cells * n; ++j) p.pi[j] = exp(p.pi[j]) * p.mask[j];
  for (int i = 0; i < p.cells; ++i) {
    double* pi = p.pi + i * n;
    double sum = broja_sum<S>(pi, n), top = 0.0;
    if (!(sum > 1e-280 && sum < 1e280)) {
      const double* a = p.a + p.cell_own[i] * n;
      const double* b = p.b + p.cell_kept[i] * n;
      top = -MathTraits<double>::kInfinity;
      for (int s = 0; s < n; ++s) {
        if (p.mask[i * n + s] > 0.0 && a[s] + b[s] > top) top = a[s] + b[s];
      }
      for (int s = 0; s < n; ++s) pi[s] = exp(a[s] + b[s] - top) * p.mask[i * n + s];
      sum = broja_sum<S>(pi, n);
    }
    const double scale = 1.0 / sum;
    for (int s = 0; s < n; ++s) pi[s] *= scale;
    p.lse[i] = sum;
    p.rho[i] = top;
  }
  for (int i = 0; i < p.cells; ++i) p.lse[i] = log(p.lse[i]) + p.rho[i];
}

// rhs = marginals of p minus those of weight * pi; returns the sum of their absolute values.
template <int Isa, int S>
NB26_HD double broja_marginals(const BrojaProblem& p, const double* weight) {
  constexpr bool kFused = Isa > 0;
  const int n = S ? S : p.stride;
  for (int j = 0; j < p.kept * n; ++j) p.rhs_kept[j] = p.p_kept[j];
  double* total = p.line;
  for (int s = 0; s < n; ++s) total[s] = 0.0;
  for (int e = 0; e < p.own; ++e) {
    double* own = p.rhs_own + e * n;
    for (int s = 0; s < n; ++s) own[s] = p.p_own[e * n + s];
    for (int i = p.first_cell[e]; i < p.first_cell[e + 1]; ++i) {
      const double* pi = p.pi + i * n;
      double* kept = p.rhs_kept + p.cell_kept[i] * n;
      for (int s = 0; s < n; ++s) {
        own[s] = madd<kFused>(-weight[i], pi[s], own[s]);
        kept[s] = madd<kFused>(-weight[i], pi[s], kept[s]);
      }
    }
    for (int s = 0; s < n; ++s) total[s] += own[s] < 0.0 ? -own[s] : own[s];
  }
  for (int k = 0; k < p.kept; ++k) {
    const double* kept = p.rhs_kept + k * n;
    for (int s = 0; s < n; ++s) total[s] += kept[s] < 0.0 ? -kept[s] : kept[s];
  }
  return broja_sum<S>(total, n);
}

// UᵀU of a block in its upper rows; false when a pivot is not positive.
template <int Isa, int S>
NB26_HD bool broja_cholesky(double* block, double* pivot, int n) {
  for (int j = 0; j < n; ++j) {
    double* row = block + j * n;
    if (!(row[j] > 0.0)) return false;
    const double inverse = 1.0 / std::sqrt(row[j]);
    pivot[j] = inverse;
    for (int s = 0; s < n; ++s) row[s] *= inverse;
    for (int i = j + 1; i < n; ++i) {
      const double factor = -row[i];
      double* to = block + i * n;
      for (int s = 0; s < n; ++s) to[s] = madd<(Isa > 0)>(factor, row[s], to[s]);
    }
  }
  return true;
}

// M of a cell into `square`, and added to the blocks of its symbols.
template <int S>
NB26_HD void broja_add(double t, double w, int places, const double* __restrict pi,
                       double* __restrict own, double* __restrict kept, double* __restrict square) {
  const int n = S ? S : places;
  const double rest = t * (1.0 / w - 1.0);
  for (int r = 0; r < n; ++r) {
    const double factor = rest * pi[r];
    for (int s = 0; s < n; ++s) square[r * n + s] = factor * pi[s];
  }
  for (int r = 0; r < n; ++r) square[r * n + r] += t * pi[r];
  for (int j = 0; j < n * n; ++j) own[j] += square[j];
  for (int j = 0; j < n * n; ++j) kept[j] += square[j];
}

// Eight columns of V = L⁻¹M in place; the upper rows of `block` are Lᵀ.
template <int Isa, int S>
NB26_HD void broja_forward(const double* __restrict block, const double* __restrict pivot,
                           int places, std::int64_t wide, double* __restrict rows) {
  constexpr bool kFused = Isa > 0;
  if constexpr (S > 0) {
    double v[S][kBrojaColumns];
    NB26_UNROLL
    for (int s = 0; s < S; ++s) {
      for (int c = 0; c < kBrojaColumns; ++c) v[s][c] = rows[s * wide + c];
    }
    NB26_UNROLL
    for (int s = 0; s < S; ++s) {
      for (int c = 0; c < kBrojaColumns; ++c) v[s][c] *= pivot[s];
      NB26_UNROLL
      for (int r = s + 1; r < S; ++r) {
        const double factor = -block[s * S + r];
        for (int c = 0; c < kBrojaColumns; ++c) v[r][c] = madd<kFused>(factor, v[s][c], v[r][c]);
      }
    }
    NB26_UNROLL
    for (int s = 0; s < S; ++s) {
      for (int c = 0; c < kBrojaColumns; ++c) rows[s * wide + c] = v[s][c];
    }
  } else {
    for (int s = 0; s < places; ++s) {
      double* row = rows + s * wide;
      double v[kBrojaColumns];
      for (int c = 0; c < kBrojaColumns; ++c) v[c] = row[c] * pivot[s];
      for (int c = 0; c < kBrojaColumns; ++c) row[c] = v[c];
      for (int r = s + 1; r < places; ++r) {
        const double factor = -block[s * places + r];
        double* to = rows + r * wide;
        for (int c = 0; c < kBrojaColumns; ++c) to[c] = madd<kFused>(factor, v[c], to[c]);
      }
    }
  }
}

using BrojaAdd = void (*)(double, double, int, const double*, double*, double*, double*);
using BrojaForward = void (*)(const double*, const double*, int, std::int64_t, double*);

// The blocks of the Newton matrix, the Cholesky factors of those eliminated, and V = L⁻¹M.
template <int Isa, int S>
NB26_HD bool broja_blocks(const BrojaProblem& p, double ridge, BrojaAdd add, BrojaForward forward) {
  const int n = S ? S : p.stride, wide = p.padded;
  for (int j = 0; j < p.kept * n * n; ++j) p.block_kept[j] = 0.0;
  const double* square = p.square;
  for (int e = 0; e < p.own; ++e) {
    double* block = p.block_own + e * n * n;
    double* rows = p.rows + std::int64_t{e} * n * wide;
    for (int j = 0; j < n * n; ++j) block[j] = 0.0;
    for (int s = 0; s < n; ++s) block[s * n + s] = p.p_own[e * n + s] > 0.0 ? 0.0 : 1.0;
    for (int i = p.first_cell[e]; i < p.first_cell[e + 1]; ++i) {
      const int k = p.cell_kept[i];
      add(p.t[i], p.w[i], n, p.pi + i * n, block, p.block_kept + k * n * n, p.square);
      for (int j = p.first_free[k]; j < p.first_free[k + 1]; ++j) {
        const double* from = square + p.free_symbol[j];
        for (int s = 0; s < n; ++s) rows[std::int64_t{s} * wide + j] = from[s * n];
      }
    }
    for (int s = 0; s < n; ++s) block[s * n + s] += ridge * block[s * n + s];
    double* pivot = p.pivot_own + e * n;
    if (!broja_cholesky<Isa, S>(block, pivot, n)) return false;
    for (int l = 0; l < wide; l += kBrojaColumns) forward(block, pivot, n, wide, rows + l);
  }
  return true;
}

// out -= leftᵀ right over n rows: kBrojaRows x kBrojaColumns entries held in registers.
template <int Isa>
NB26_HD void broja_tile(const double* __restrict left, const double* __restrict right,
                        std::int64_t wide, std::int64_t n, double* __restrict out) {
  double sum[kBrojaRows][kBrojaColumns];
  NB26_UNROLL
  for (int r = 0; r < kBrojaRows; ++r) {
    for (int c = 0; c < kBrojaColumns; ++c) sum[r][c] = out[r * wide + c];
  }
  for (std::int64_t i = 0; i < n; ++i) {
    double b[kBrojaColumns];
    for (int c = 0; c < kBrojaColumns; ++c) b[c] = right[i * wide + c];
    NB26_UNROLL
    for (int r = 0; r < kBrojaRows; ++r) {
      const double factor = -left[i * wide + r];
      for (int c = 0; c < kBrojaColumns; ++c) sum[r][c] = madd<(Isa > 0)>(factor, b[c], sum[r][c]);
    }
  }
  NB26_UNROLL
  for (int r = 0; r < kBrojaRows; ++r) {
    for (int c = 0; c < kBrojaColumns; ++c) out[r * wide + c] = sum[r][c];
  }
}

using BrojaTile = void (*)(const double*, const double*, std::int64_t, std::int64_t, double*);

// RᵀR = blocks of the kept source - VᵀV. V and the rows of R found so far are one matrix.
template <int Isa>
NB26_HD bool broja_schur(const BrojaProblem& p, double ridge, BrojaTile tile) {
  const int n = p.stride, wide = p.padded;
  const std::int64_t above = std::int64_t{p.own} * n;
  double* r = p.rows + above * wide;
  for (int j = p.free; j < p.padded; ++j) {
    for (int l = 0; l < wide; ++l) r[std::int64_t{j} * wide + l] = 0.0;
    r[std::int64_t{j} * wide + j] = 1.0;
  }
  for (int k = 0; k < p.kept; ++k) {
    const double* block = p.block_kept + std::int64_t{k} * n * n;
    const int first = p.first_free[k], end = p.first_free[k + 1];
    for (int j = first; j < end; ++j) {
      double* row = r + std::int64_t{j} * wide;
      const double* from = block + p.free_symbol[j] * n;
      for (int l = 0; l < wide; ++l) row[l] = 0.0;
      for (int l = first; l < end; ++l) row[l] = from[p.free_symbol[l]];
      row[j] += ridge * row[j];
    }
  }
  for (int j = 0; j < p.free; j += kBrojaRows) {
    const int first = j / kBrojaColumns * kBrojaColumns;
    double* block = r + std::int64_t{j} * wide;
    for (int l = first; l < wide; l += kBrojaColumns) {
      tile(p.rows + j, p.rows + l, wide, above + j, block + l);
    }
    for (int i = 0; i < kBrojaRows; ++i) {
      double* row = block + i * wide;
      if (!(row[j + i] > 0.0)) return false;
      const double inverse = 1.0 / std::sqrt(row[j + i]);
      p.pivot[j + i] = inverse;
      for (int l = first; l < j + i; ++l) row[l] = 0.0;
      for (int l = first; l < wide; ++l) row[l] *= inverse;
      for (int m = i + 1; m < kBrojaRows; ++m) {
        const double factor = -row[j + m];
        double* to = block + m * wide;
        for (int l = first; l < wide; ++l) to[l] = madd<(Isa > 0)>(factor, row[l], to[l]);
      }
    }
  }
  return true;
}

// da, db from rhs_own, rhs_kept.
template <int Isa, int S>
NB26_HD void broja_solve(const BrojaProblem& p) {
  constexpr bool kFused = Isa > 0;
  const int n = S ? S : p.stride, wide = p.padded, above = p.own * n;
  for (int e = 0; e < p.own; ++e) {
    const double* block = p.block_own + e * n * n;
    double* y = p.y + e * n;
    for (int s = 0; s < n; ++s) y[s] = p.rhs_own[e * n + s];
    for (int s = 0; s < n; ++s) {
      const double value = y[s] * p.pivot_own[e * n + s];
      for (int l = s + 1; l < n; ++l) y[l] = madd<kFused>(-block[s * n + l], value, y[l]);
      y[s] = value;
    }
  }
  double *z = p.z, *x = p.x;
  for (int k = 0; k < p.kept; ++k) {
    for (int j = p.first_free[k]; j < p.first_free[k + 1]; ++j) {
      z[j] = p.rhs_kept[k * n + p.free_symbol[j]];
    }
  }
  for (int j = p.free; j < wide; ++j) z[j] = 0.0;
  for (int l = 0; l < wide; l += kBrojaColumns) {
    double sum[kBrojaColumns];
    for (int c = 0; c < kBrojaColumns; ++c) sum[c] = z[l + c];
    for (int i = 0; i < above; ++i) {
      const double* row = p.rows + std::int64_t{i} * wide + l;
      for (int c = 0; c < kBrojaColumns; ++c) sum[c] = madd<kFused>(-p.y[i], row[c], sum[c]);
    }
    for (int c = 0; c < kBrojaColumns; ++c) z[l + c] = sum[c];
  }
  const double* r = p.rows + std::int64_t{above} * wide;
  for (int j = 0; j < p.free; ++j) {
    const double* row = r + std::int64_t{j} * wide;
    const double value = z[j] * p.pivot[j];
    for (int l = j / kBrojaColumns * kBrojaColumns; l < wide; ++l) {
      z[l] = madd<kFused>(-row[l], value, z[l]);
    }
    z[j] = value;
  }
  for (int j = 0; j < wide; ++j) x[j] = 0.0;
  for (int j = p.free - 1; j >= 0; --j) {
    const double* row = r + std::int64_t{j} * wide;
    const int first = j / kBrojaColumns * kBrojaColumns;
    x[j] = (z[j] - broja_dot<kFused>(row, x, first, wide)) * p.pivot[j];
  }
  for (int j = 0; j < p.kept * n; ++j) p.db[j] = 0.0;
  for (int k = 0; k < p.kept; ++k) {
    for (int j = p.first_free[k]; j < p.first_free[k + 1]; ++j) {
      p.db[k * n + p.free_symbol[j]] = x[j];
    }
  }
  for (int e = 0; e < p.own; ++e) {
    const double* block = p.block_own + e * n * n;
    double* da = p.da + e * n;
    for (int s = n - 1; s >= 0; --s) {
      const double* row = p.rows + std::int64_t{e * n + s} * wide;
      double value = p.y[e * n + s] - broja_dot<kFused>(row, x, 0, wide);
      for (int l = s + 1; l < n; ++l) value = madd<kFused>(-block[s * n + l], da[l], value);
      da[s] = value * p.pivot_own[e * n + s];
    }
  }
}

// dt, dw from da, db; returns the largest step that keeps t and w at or above 0 (at most 1e30).
template <int Isa, int S>
NB26_HD double broja_steps(const BrojaProblem& p) {
  constexpr bool kFused = Isa > 0;
  const int n = S ? S : p.stride;
  double* line = p.line;
  for (int i = 0; i < p.cells; ++i) {
    const double* da = p.da + p.cell_own[i] * n;
    const double* db = p.db + p.cell_kept[i] * n;
    const double* pi = p.pi + i * n;
    for (int s = 0; s < n; ++s) line[s] = pi[s] * (da[s] + db[s]);
    p.dw[i] = broja_sum<S>(line, n);
  }
  double shrink = 0.0;  // the largest relative decrease, whose inverse is the step
  for (int i = 0; i < p.cells; ++i) {
    const double inner = p.dw[i], t = p.t[i], inverse = 1.0 / p.w[i];
    const double dw = -p.rho[i] - inner;
    const double dt = madd<kFused>(t * inverse, inner, p.centre[i] - t);
    p.dw[i] = dw;
    p.dt[i] = dt;
    const double worst = -dt / t > -dw * inverse ? -dt / t : -dw * inverse;
    shrink = worst > shrink ? worst : shrink;
  }
  return shrink > 1e-30 ? 1.0 / shrink : 1e30;
}

}  // namespace nb26
