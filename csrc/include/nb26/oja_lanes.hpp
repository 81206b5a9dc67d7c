// The block update of L iterates side by side, for the CPU: lane = replicate.
//
// W is stored (d8, k, L) and P is (k, m8, L), d8 and m8 being d and the block rounded up to 8.
// Lanes never mix and every sum is one chain in a fixed order, so an iterate's bits depend neither
// on its lane nor on its neighbours, nor on the register tile of the instruction set.
//
// The pieces with a level (Isa) are compiled on their own and called through OjaPieces: inlined
// into one large function the compiler no longer keeps their sums in registers (11 against 57
// GFLOP/s).
#pragma once

#include <cmath>
#include <cstdint>

#include "nb26/hd.hpp"
#include "nb26/madd.hpp"
#include "nb26/oja.hpp"

namespace nb26 {

// Fused multiply-add from level 1 on: 57 against 29 GFLOP/s with AVX-512, one thread of an EPYC.
template <int Isa>
inline constexpr bool kOjaFused = Isa > 0;

// Register tile of each level, rows x components, each of L lanes in 64 bytes.
template <int Isa, typename T>
inline constexpr int kOjaTileRows = Isa == 2         ? 8
                                    : Isa == 1       ? 4
                                    : sizeof(T) == 4 ? 1
                                                     : 2;
template <int Isa>
inline constexpr int kOjaTileComponents = Isa == 2 ? 3 : 1;

// out[r][c] += sum over i < n of left[r * row + i * step] * right[i][c], lane by lane, for n_rows
// rows (a multiple of 8) and as many components as the strip is wide.
template <typename T>
struct OjaStrip {
  const T* left;
  std::int64_t row, step;
  const T* right;
  std::int64_t right_step, right_next;
  std::int64_t n;
  T* out;
  std::int64_t out_row, out_next;
  std::int64_t n_rows;
};

template <int Isa, typename T, int L, int C>
NB26_HD void oja_strip_body(const OjaStrip<T>& s) {
  constexpr int R = kOjaTileRows<Isa, T>;
  const std::int64_t row = s.row, step = s.step, right_step = s.right_step, n = s.n;
  const std::int64_t right_next = s.right_next, out_row = s.out_row, out_next = s.out_next;
  for (std::int64_t first = 0; first < s.n_rows; first += R) {
    const T* __restrict left = s.left + first * row;
    const T* __restrict right = s.right;
    T* __restrict out = s.out + first * out_row;
    T sum[R][C][L];
    NB26_UNROLL
    for (int r = 0; r < R; ++r) {
      NB26_UNROLL
      for (int c = 0; c < C; ++c) {
        for (int lane = 0; lane < L; ++lane) {
          sum[r][c][lane] = out[r * out_row + c * out_next + lane];
        }
      }
    }
    for (std::int64_t i = 0; i < n; ++i) {
      T b[C][L];
      NB26_UNROLL
      for (int c = 0; c < C; ++c) {
        for (int lane = 0; lane < L; ++lane) {
          b[c][lane] = right[i * right_step + c * right_next + lane];
        }
      }
      NB26_UNROLL
      for (int r = 0; r < R; ++r) {
        const T a = left[r * row + i * step];
        NB26_UNROLL
        for (int c = 0; c < C; ++c) {
          for (int lane = 0; lane < L; ++lane) {
            sum[r][c][lane] = madd<kOjaFused<Isa>>(a, b[c][lane], sum[r][c][lane]);
          }
        }
      }
    }
    NB26_UNROLL
    for (int r = 0; r < R; ++r) {
      NB26_UNROLL
      for (int c = 0; c < C; ++c) {
        for (int lane = 0; lane < L; ++lane) {
          out[r * out_row + c * out_next + lane] = sum[r][c][lane];
        }
      }
    }
  }
}

// The recursion inside R rows: row s takes the changes of rows r < s, then becomes a change itself.
template <int Isa, typename T, int L, int R>
NB26_HD void oja_triangle(T* __restrict p, const T* __restrict gram, std::int64_t m8,
                          const T* __restrict weights) {
  T change[R][L];
  NB26_UNROLL
  for (int s = 0; s < R; ++s) {
    for (int lane = 0; lane < L; ++lane) change[s][lane] = p[s * L + lane];
    NB26_UNROLL
    for (int r = 0; r < s; ++r) {
      const T g = gram[r * m8 + s];
      for (int lane = 0; lane < L; ++lane) {
        change[s][lane] = madd<kOjaFused<Isa>>(g, change[r][lane], change[s][lane]);
      }
    }
    for (int lane = 0; lane < L; ++lane) change[s][lane] *= weights[s * L + lane];
  }
  NB26_UNROLL
  for (int s = 0; s < R; ++s) {
    for (int lane = 0; lane < L; ++lane) p[s * L + lane] = change[s][lane];
  }
}

// The same for paired weights (see oja.hpp): next[j] weighs what row j + 1 gives to row j. before:
// what row `q` gave to the row above it; `above` its product with that row.
template <int Isa, typename T, int L, int R>
NB26_HD void oja_paired_triangle(T* __restrict p, const T* __restrict gram, std::int64_t m8,
                                 T above, const T* __restrict weights, const T* __restrict next,
                                 T* __restrict before) {
  constexpr bool kFused = kOjaFused<Isa>;
  T change[R][L], held[L];
  for (int lane = 0; lane < L; ++lane) held[lane] = before[lane];
  NB26_UNROLL
  for (int s = 0; s < R; ++s) {
    T sum[L];
    for (int lane = 0; lane < L; ++lane) sum[lane] = p[s * L + lane];
    NB26_UNROLL
    for (int r = 0; r < s; ++r) {
      const T g = gram[r * m8 + s];
      for (int lane = 0; lane < L; ++lane) {
        sum[lane] = madd<kFused>(g, change[r][lane], sum[lane]);
      }
    }
    const T apart = s > 0 ? -gram[(s - 1) * m8 + s] : -above, own = gram[s * m8 + s];
    for (int lane = 0; lane < L; ++lane) {
      const T value = weights[s * L + lane] * madd<kFused>(apart, held[lane], sum[lane]);
      held[lane] = next[s * L + lane] * madd<kFused>(own, value, sum[lane]);
      change[s][lane] = value + held[lane];
    }
  }
  NB26_UNROLL
  for (int s = 0; s < R; ++s) {
    for (int lane = 0; lane < L; ++lane) p[s * L + lane] = change[s][lane];
  }
  for (int lane = 0; lane < L; ++lane) before[lane] = held[lane];
}

// The first `used` rows of P of one component become C: p, weights (m8, L), gram (m8, m8). Paired
// weights come in two such arrays, one after the other.
template <int Isa, typename T, int L, bool Paired>
NB26_HD void oja_recursion_body(T* __restrict p, const T* __restrict gram, std::int64_t m8,
                                std::int64_t used, const T* __restrict weights) {
  constexpr int R = Isa == 2 ? 8 : Isa == 1 ? 4 : 1;
  T before[L] = {};
  for (std::int64_t q = 0; q < used; q += R) {
    T sum[R][L];
    NB26_UNROLL
    for (int r = 0; r < R; ++r) {
      for (int lane = 0; lane < L; ++lane) sum[r][lane] = p[(q + r) * L + lane];
    }
    for (std::int64_t j = 0; j < q; ++j) {
      T change[L];
      for (int lane = 0; lane < L; ++lane) change[lane] = p[j * L + lane];
      NB26_UNROLL
      for (int r = 0; r < R; ++r) {
        const T g = gram[j * m8 + q + r];
        for (int lane = 0; lane < L; ++lane) {
          sum[r][lane] = madd<kOjaFused<Isa>>(g, change[lane], sum[r][lane]);
        }
      }
    }
    NB26_UNROLL
    for (int r = 0; r < R; ++r) {
      for (int lane = 0; lane < L; ++lane) p[(q + r) * L + lane] = sum[r][lane];
    }
    if constexpr (Paired) {
      const T above = q > 0 ? gram[(q - 1) * m8 + q] : T(0);
      oja_paired_triangle<Isa, T, L, R>(p + q * L, gram + q * m8 + q, m8, above, weights + q * L,
                                        weights + (m8 + q) * L, before);
    } else {
      oja_triangle<Isa, T, L, R>(p + q * L, gram + q * m8 + q, m8, weights + q * L);
    }
  }
}

// Columns whose dot products are summed in the number type before they join the total in double:
// few enough for single precision, and for W to stay in the first-level cache.
inline constexpr std::int64_t kOjaDotColumns = 32;
inline constexpr std::int64_t kOjaDotRows = 5;
// Squared length of a column from which its part sums may leave single precision.
inline constexpr double kOjaMostSquare = 1e36;

// out[r] += sum over c < n of w_(i+r)[c] w_j[c] for N values of i; components lie L apart in w and
// in out, columns `step` apart.
template <int Isa, typename T, int L, int N>
NB26_HD void oja_dots_body(const T* __restrict w, std::int64_t step, std::int64_t j, std::int64_t i,
                           std::int64_t n, double* __restrict out) {
  constexpr bool kWide = sizeof(T) < sizeof(double);  // the total is wider than the sums
  T sum[N][L];
  NB26_UNROLL
  for (int r = 0; r < N; ++r) {
    for (int lane = 0; lane < L; ++lane)
      sum[r][lane] = kWide ? T(0) : static_cast<T>(out[r * L + lane]);
  }
  for (std::int64_t c = 0; c < n; ++c) {
    const T* column = w + c * step;
    T b[L];
    for (int lane = 0; lane < L; ++lane) b[lane] = column[j * L + lane];
    NB26_UNROLL
    for (int r = 0; r < N; ++r) {
      for (int lane = 0; lane < L; ++lane) {
        sum[r][lane] = madd<kOjaFused<Isa>>(column[(i + r) * L + lane], b[lane], sum[r][lane]);
      }
    }
  }
  NB26_UNROLL
  for (int r = 0; r < N; ++r) {
    for (int lane = 0; lane < L; ++lane) {
      const double total = static_cast<double>(sum[r][lane]);
      out[r * L + lane] = kWide ? out[r * L + lane] + total : total;
    }
  }
}

// factor = Cholesky factor of W'W, given W'W; the identity in finished lanes; and those lanes
// noted.
template <int L>
NB26_HD void oja_factor_body(double* factor, std::int64_t k, double* finished) {
  double worst[L];
  oja_cholesky<L>(factor, k, worst);
  oja_hold_finished<L>(factor, k, finished);
  for (int lane = 0; lane < L; ++lane) {
    finished[lane] = worst[lane] >= kOjaGoodPivot ? 1.0 : finished[lane];
  }
}

// W <- W R^-1, a few rows of W at a time.
template <int Isa, typename T, int L>
NB26_HD void oja_solve_body(T* __restrict w, std::int64_t d8, std::int64_t k,
                            const T* __restrict factor) {
  constexpr int R = Isa == 0 ? 1 : 4;
  const std::int64_t step = k * L;
  for (std::int64_t c = 0; c < d8; c += R) {
    T* __restrict at = w + c * step;
    for (std::int64_t j = 0; j < k; ++j) {
      const T* __restrict column = factor + (j * (j + 1) / 2) * L;
      T value[R][L], part[L];
      NB26_UNROLL
      for (int r = 0; r < R; ++r) {
        for (int lane = 0; lane < L; ++lane) value[r][lane] = at[r * step + j * L + lane];
      }
      for (std::int64_t i = 0; i < j; ++i) {
        for (int lane = 0; lane < L; ++lane) part[lane] = -column[i * L + lane];
        NB26_UNROLL
        for (int r = 0; r < R; ++r) {
          for (int lane = 0; lane < L; ++lane) {
            value[r][lane] =
                madd<kOjaFused<Isa>>(part[lane], at[r * step + i * L + lane], value[r][lane]);
          }
        }
      }
      for (int lane = 0; lane < L; ++lane) part[lane] = column[j * L + lane];
      NB26_UNROLL
      for (int r = 0; r < R; ++r) {
        for (int lane = 0; lane < L; ++lane)
          at[r * step + j * L + lane] = value[r][lane] * part[lane];
      }
    }
  }
}

// weights (m8, L) of replicates first..first+L-1: step times multiplier; zero after row m.
template <typename T, int L, OjaMultiplier Kind>
NB26_HD void oja_weights_body(const OjaWeights& how, std::int64_t first, std::int64_t first_row,
                              const double* steps, std::int64_t m, std::int64_t m8, T* out) {
  const PhiloxKey key = philox_key(how.seed, kOjaSalt);
  double omega[L] = {};
  std::uint64_t have = ~std::uint64_t{0};
  for (std::int64_t j = 0; j < m; ++j) {
    const std::uint64_t index = oja_weight_index(how, first_row + j);
    if (index != have) {
      for (int lane = 0; lane < L; ++lane) {
        omega[lane] = oja_weight<Kind>(index, static_cast<std::uint64_t>(first + lane), key);
      }
      have = index;
    }
    for (int lane = 0; lane < L; ++lane) out[j * L + lane] = static_cast<T>(steps[j] * omega[lane]);
  }
  for (std::int64_t i = m * L; i < m8 * L; ++i) out[i] = T(0);
}

// The same for paired weights: steps times 1 + g, then what row j + 1 gives to row j at [m8 + j].
template <typename T, int L>
NB26_HD void oja_paired_weights_body(const OjaWeights& how, std::int64_t first,
                                     std::int64_t first_row, const double* steps, std::int64_t m,
                                     std::int64_t m8, T* out) {
  const PhiloxKey key = philox_key(how.seed, kOjaSalt);
  for (std::int64_t i = 0; i < 2 * m8 * L; ++i) out[i] = T(0);
  for (int lane = 0; lane < L; ++lane) out[lane] = static_cast<T>(steps[0]);
  for (std::int64_t j = 1; j < m; ++j) {
    const std::uint64_t index = oja_weight_index(how, first_row + j);
    for (int lane = 0; lane < L; ++lane) {
      const auto replicate = static_cast<std::uint64_t>(first + lane);
      const OjaPair pair =
          oja_pair(steps[j], oja_weight<OjaMultiplier::kPaired>(index, replicate, key));
      out[j * L + lane] = static_cast<T>(pair.own);
      out[(m8 + j - 1) * L + lane] = static_cast<T>(pair.next);
    }
  }
}

// Weights of a group for one block, see oja_weights_body.
template <typename T>
using OjaDraw = void (*)(const OjaWeights&, std::int64_t, std::int64_t, const double*, std::int64_t,
                         std::int64_t, T*);

// The pieces of one level for one number type and lane count.
template <typename T>
struct OjaPieces {
  std::int64_t lanes;
  std::int64_t widest;                   // components of the widest strip, at most 3
  void (*strip[3])(const OjaStrip<T>&);  // of 1, 2, 3 components
  void (*recursion)(T*, const T*, std::int64_t, std::int64_t, const T*);
  void (*paired)(T*, const T*, std::int64_t, std::int64_t, const T*);
  void (*dots[kOjaDotRows])(const T*, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                            double*);  // of 1, 2, 3, 4, 5 components
  void (*factor)(double*, std::int64_t, double*);
  void (*solve)(T*, std::int64_t, std::int64_t, const T*);
};

// Scratch of one thread.
template <typename T>
struct OjaLaneScratch {
  T* projections;    // (k, m8, L)
  T* weights;        // (m8, L), or twice that
  double* factor;    // (k (k + 1) / 2, L)
  T* solve;          // the same in the number type
  double* finished;  // (L)
};

// Adds a product over k components.
template <typename T>
void oja_product(const OjaPieces<T>& run, OjaStrip<T> strip, std::int64_t k) {
  while (k > 0) {
    const std::int64_t wide = k < run.widest ? k : run.widest;
    run.strip[wide - 1](strip);
    strip.right += wide * strip.right_next;
    strip.out += wide * strip.out_next;
    k -= wide;
  }
}

// factor += W'W.
template <typename T>
void oja_inner_products(const OjaPieces<T>& run, const T* w, std::int64_t d8, std::int64_t k,
                        double* factor) {
  const std::int64_t lanes = run.lanes, step = k * lanes;
  for (std::int64_t first = 0; first < d8; first += kOjaDotColumns) {
    const std::int64_t n = first + kOjaDotColumns < d8 ? kOjaDotColumns : d8 - first;
    for (std::int64_t j = 0; j < k; ++j) {
      double* column = factor + (j * (j + 1) / 2) * lanes;
      for (std::int64_t i = 0; i <= j; i += kOjaDotRows) {
        const std::int64_t several = j + 1 - i < kOjaDotRows ? j + 1 - i : kOjaDotRows;
        run.dots[several - 1](w + first * step, step, j, i, n, column + i * lanes);
      }
    }
  }
}

// Columns so long that their squares leave single precision are brought back by a power of two,
// which changes no direction; whether there were any.
inline bool oja_shorten(float* w, std::int64_t d8, std::int64_t k, std::int64_t lanes,
                        const double* factor) {
  bool any = false;
  for (std::int64_t j = 0; j < k; ++j) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      if (factor[(j * (j + 1) / 2 + j) * lanes + lane] < kOjaMostSquare) continue;
      float* column = w + j * lanes + lane;
      float largest = 0.0f;
      for (std::int64_t c = 0; c < d8; ++c) {
        const float size = std::fabs(column[c * k * lanes]);
        largest = largest < size ? size : largest;
      }
      const float scale = std::ldexp(1.0f, -std::ilogb(largest));
      for (std::int64_t c = 0; c < d8; ++c) column[c * k * lanes] *= scale;
      any = true;
    }
  }
  return any;
}

// From W'W in scratch.factor to the factor of one Cholesky pass in scratch.solve; whether every
// iterate is orthonormal once it is solved for. scratch.finished is 0 before the first pass.
template <typename T>
bool oja_lanes_factor(const OjaPieces<T>& run, T* w, std::int64_t d8, std::int64_t k, int pass,
                      const OjaLaneScratch<T>& scratch) {
  const std::int64_t lanes = run.lanes, n = k * (k + 1) / 2 * lanes;
  if constexpr (sizeof(T) == sizeof(float)) {
    if (pass == 0 && oja_shorten(w, d8, k, lanes, scratch.factor)) {
      for (std::int64_t i = 0; i < n; ++i) scratch.factor[i] = 0.0;
      oja_inner_products<T>(run, w, d8, k, scratch.factor);
    }
  }
  run.factor(scratch.factor, k, scratch.finished);
  for (std::int64_t i = 0; i < n; ++i) scratch.solve[i] = static_cast<T>(scratch.factor[i]);
  bool all = true;
  for (std::int64_t i = 0; i < lanes; ++i) all = all && scratch.finished[i] > 0.0;
  return all;
}

// QR with a positive diagonal, by Cholesky passes until one of them was well conditioned; `pass` of
// them have been made.
template <typename T>
void oja_lanes_orthonormalise(const OjaPieces<T>& run, T* w, std::int64_t d8, std::int64_t k,
                              const OjaLaneScratch<T>& scratch, int pass = 0) {
  const std::int64_t lanes = run.lanes, n = k * (k + 1) / 2 * lanes;
  for (std::int64_t i = 0; pass == 0 && i < lanes; ++i) scratch.finished[i] = 0.0;
  for (bool all = false; !all && pass < kOjaMostPasses; ++pass) {
    for (std::int64_t i = 0; i < n; ++i) scratch.factor[i] = 0.0;
    oja_inner_products<T>(run, w, d8, k, scratch.factor);
    all = oja_lanes_factor<T>(run, w, d8, k, pass, scratch);
    run.solve(w, d8, k, scratch.solve);
  }
}

// One block applied to the iterates w (d8, k, L); rows (m8, stride) with zeros after row m; the
// weights lie in the scratch.
template <typename T>
void oja_lanes_block(const OjaPieces<T>& run, T* w, std::int64_t d8, std::int64_t k,
                     std::int64_t stride, std::int64_t m, std::int64_t m8, const T* rows,
                     const T* gram, const OjaLaneScratch<T>& scratch, bool paired) {
  // columns at a time, so that this part of w stays in the second-level cache
  const std::int64_t columns = k < 64 ? 4096 / k / 8 * 8 : 64;
  const std::int64_t used = (m + 7) / 8 * 8, lanes = run.lanes;
  T* p = scratch.projections;
  for (std::int64_t i = 0; i < k; ++i) {
    for (std::int64_t j = 0; j < used * lanes; ++j) p[i * m8 * lanes + j] = T(0);
  }
  for (std::int64_t first = 0; first < d8; first += columns) {
    const std::int64_t n = first + columns < d8 ? columns : d8 - first;
    oja_product<T>(run,
                   {rows + first, stride, 1, w + first * k * lanes, k * lanes, lanes, n, p, lanes,
                    m8 * lanes, used},
                   k);
  }
  for (std::int64_t i = 0; i < k; ++i) {
    (paired ? run.paired : run.recursion)(p + i * m8 * lanes, gram, m8, used, scratch.weights);
  }
  oja_product<T>(run, {rows, 1, stride, p, lanes, m8 * lanes, m, w, k * lanes, lanes, d8}, k);
  oja_lanes_orthonormalise<T>(run, w, d8, k, scratch);
}

}  // namespace nb26
