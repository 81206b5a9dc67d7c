// Partial information of Gaussian variables in closed form, L problems side by side.
//
// E_X = Cov(M|X), E_Y = Cov(M|Y), E_XY = Cov(M|X,Y) and E = Cov(M) give I_X = 1/2 log(|E|/|E_X|)
// and so on. The union information is I_X + 1/2 sum over i of max(0, -log lambda_i), lambda the
// eigenvalues of the pencil (E_Y, E_X). We take those of (E_Y - E_X, E_X + E_Y) instead, nu in
// (-1, 1) and lambda = (1 + nu) / (1 - nu): their errors stay small however far lambda spreads.
//
// A problem is the factor of a joint covariance: Y = R z, M = K z + C z_m with z, z_m white. With
// T = (K, C) the blocks of T give E_XY, E_X and E as running sums of products of rows; only E_Y
// needs a basis of the rows of R. For a draw with the lower factor A, R and T become R A and T A.
#pragma once

#include <cmath>
#include <cstdint>

#include "nb26/gaussian_pid_api.hpp"
#include "nb26/hd.hpp"
#include "nb26/lanes_linalg.hpp"
#include "nb26/math.hpp"
#include "nb26/tridiagonal.hpp"

namespace nb26 {

inline constexpr double kPidIndefinite = 1e-13;  // least pivot of X, Y or M, relative to its entry
inline constexpr double kPidNegative = 1e-10;    // rounding of a target that the sources determine
inline constexpr double kPidInfinite = 1e-12;    // least pivot of the target given the sources
inline constexpr int kPidProduct = 8;            // ratios multiplied before a logarithm is taken
inline constexpr double kPidClosest = 0x1p-53;   // 1 - |nu| is not known to more than this

// The arrays of one group of problems, lane innermost.
struct PidWork {
  double* factor;                // (d (d + 1) / 2) joint covariance, then its factor
  double *r, *t;                 // (dy, p), (dm, d)
  double *drawn_r, *drawn_t;     // the same for a draw
  double *own, *cross;           // (dy, dy) Cov(Y), (dm, dy) Cov(M, Y) and then whitened by own
  double* inverse;               // (d)
  double* pivots;                // (4, max(d, dm)) of the last factor, E, E_X, E_Y
  double *e_xy, *e_x, *e_y, *e;  // (dm, dm)
  double *total, *difference, *turned;  // (dm, dm)
  LaneTridiagonal pencil;               // (dm)
  double* least;                        // (2, 5): joint, own, E, E_X, E_Y + E_X
  double* information;                  // (4)
  double* sums;                         // (4)
  double* worst;                        // (1) least pivot of the target given sources
};

// Arrays that a group needs, in entries of L numbers; with `at`, where they lie.
struct PidRoom {
  double* at;
  std::int64_t stride, used;
  NB26_HD double* take(std::int64_t n) {
    double* out = at ? at + used * stride : nullptr;
    used += n;
    return out;
  }
};

NB26_HD PidWork pid_work(PidRoom& room, const PidDims& dims, bool channels, bool draws) {
  const std::int64_t p = dims.sources(), d = dims.all(), m = dims.m, y = dims.y;
  PidWork w{};
  w.factor = room.take(channels ? 0 : d * (d + 1) / 2);
  w.r = room.take(channels ? 0 : y * p);
  w.t = room.take(m * d);
  w.drawn_r = room.take(channels || !draws ? 0 : y * p);
  w.drawn_t = room.take(draws ? m * d : 0);
  w.own = room.take(channels ? 0 : y * y);
  w.cross = room.take(m * y);
  w.inverse = room.take(d);
  w.pivots = room.take(d + 3 * m);
  w.e_xy = room.take(m * m);
  w.e_x = room.take(m * m);
  w.e_y = room.take(m * m);
  w.e = room.take(m * m);
  w.total = room.take(m * m);
  w.difference = room.take(m * m);
  w.turned = room.take(m * m);
  w.pencil.matrix = room.take(m * (m + 1) / 2);
  w.pencil.diagonal = room.take(m);
  w.pencil.side = room.take(m);
  w.pencil.tau = room.take(m);
  w.pencil.work = room.take(3 * m);
  w.pencil.m = m;
  w.least = room.take(10);
  w.information = room.take(4);
  w.sums = room.take(4);
  w.worst = room.take(1);
  return w;
}

// The lower triangles of L covariances.
template <int L, int S>
NB26_HD void pid_load(const double* const (&covs)[L], const PidDims& dims, double* packed) {
  const std::int64_t d = dims.all();
  for (std::int64_t i = 0; i < d; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      for (int l = 0; l < L; ++l) packed[(i * (i + 1) / 2 + j) * S + l] = covs[l][i * d + j];
    }
  }
}

// R and T from the packed factor of the joint covariance, zeros behind the diagonal.
template <int L, int S>
NB26_HD void pid_split(const PidDims& dims, const PidWork& w) {
  const std::int64_t p = dims.sources(), d = dims.all();
  for (std::int64_t i = dims.x; i < d; ++i) {
    const bool target = i >= p;
    const double* row = w.factor + i * (i + 1) / 2 * S;
    double* to = target ? w.t + (i - p) * d * S : w.r + (i - dims.x) * p * S;
    const std::int64_t n = target ? d : p;
    for (std::int64_t j = 0; j < n; ++j) {
      if (j <= i) {
        for (int l = 0; l < L; ++l) to[j * S + l] = row[j * S + l];
      } else {
        for (int l = 0; l < L; ++l) to[j * S + l] = 0.0;
      }
    }
  }
}

// T = (K, -) of L channels and I - K K' is still to be factorised.
template <int L, int S>
NB26_HD void pid_load_channel(const double* const (&k)[L], const PidDims& dims, double* t) {
  const std::int64_t p = dims.sources(), d = dims.all();
  for (std::int64_t i = 0; i < dims.m; ++i) {
    for (std::int64_t j = 0; j < p; ++j) {
      for (int l = 0; l < L; ++l) t[(i * d + j) * S + l] = k[l][i * p + j];
    }
    for (std::int64_t j = p; j < d; ++j) {
      for (int l = 0; l < L; ++l) t[(i * d + j) * S + l] = 0.0;
    }
  }
}

template <int L, int S>
NB26_HD void pid_identity(std::int64_t m, double* out) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < m; ++j) {
      for (int l = 0; l < L; ++l) out[(i * m + j) * S + l] = i == j ? 1.0 : 0.0;
    }
  }
}

// Lower triangle of a (m, m) into the columns p.. of T.
template <int L, int S>
NB26_HD void pid_put_rest(const PidDims& dims, const double* a, double* t) {
  const std::int64_t p = dims.sources(), d = dims.all(), m = dims.m;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      for (int l = 0; l < L; ++l) t[(i * d + p + j) * S + l] = a[(i * m + j) * S + l];
    }
  }
}

// E_X + E_Y, and the whole of E_Y - E_X.
template <int L, int S>
NB26_HD void pid_pencil(std::int64_t m, const PidWork& w) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      double x[L], y[L];
      for (int l = 0; l < L; ++l) x[l] = w.e_x[(i * m + j) * S + l];
      for (int l = 0; l < L; ++l) y[l] = w.e_y[(i * m + j) * S + l];
      for (int l = 0; l < L; ++l) w.total[(i * m + j) * S + l] = x[l] + y[l];
      for (int l = 0; l < L; ++l) w.difference[(i * m + j) * S + l] = y[l] - x[l];
      for (int l = 0; l < L; ++l) w.difference[(j * m + i) * S + l] = y[l] - x[l];
    }
  }
}

template <int L, int S>
NB26_HD void pid_transpose(std::int64_t m, const double* a, double* out) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < m; ++j) {
      for (int l = 0; l < L; ++l) out[(j * m + i) * S + l] = a[(i * m + j) * S + l];
    }
  }
}

// Lower triangle by columns, as the reflections want it.
template <int L, int S>
NB26_HD void pid_columns(std::int64_t m, const double* a, double* out) {
  for (std::int64_t j = 0; j < m; ++j) {
    for (std::int64_t i = j; i < m; ++i) {
      for (int l = 0; l < L; ++l) out[l] = a[(i * m + j) * S + l];
      out += S;
    }
  }
}

// The four values from the pivots and the eigenvalues nu; worst: the least pivot of the target
// given sources, relative to the target's own.
template <int L, int S>
NB26_HD void pid_finish(const PidDims& dims, const PidWork& w, const double* t) {
  const std::int64_t p = dims.sources(), d = dims.all(), m = dims.m;
  const double* own = w.pivots + d * S;
  const double* given_x = own + m * S;
  const double* given_y = given_x + m * S;
  double product[4][L], total[4][L] = {}, worst[L];
  for (int l = 0; l < L; ++l) worst[l] = 1.0;
  for (int q = 0; q < 4; ++q) {
    for (int l = 0; l < L; ++l) product[q][l] = 1.0;
  }
  for (std::int64_t i = 0; i < m; ++i) {
    double ratio[4][L], inverse[L], nu[L];
    for (int l = 0; l < L; ++l) inverse[l] = 1.0 / own[i * S + l];
    for (int l = 0; l < L; ++l) nu[l] = w.pencil.diagonal[i * S + l];
    for (int l = 0; l < L; ++l) ratio[0][l] = given_x[i * S + l] * inverse[l];
    for (int l = 0; l < L; ++l) ratio[1][l] = given_y[i * S + l] * inverse[l];
    for (int l = 0; l < L; ++l) {
      const double root = t[(i * d + p + i) * S + l];
      ratio[2][l] = root * root * inverse[l];
    }
    for (int l = 0; l < L; ++l) {
      const double low = pick(1.0 + nu[l] < kPidClosest, kPidClosest, 1.0 + nu[l]);
      ratio[3][l] = pick(nu[l] < 0.0, low / (1.0 - nu[l]), 1.0);
    }
    NB26_UNROLL
    for (int q = 0; q < 4; ++q) {
      for (int l = 0; l < L; ++l) product[q][l] *= ratio[q][l];
    }
    NB26_UNROLL
    for (int q = 0; q < 3; ++q) {
      for (int l = 0; l < L; ++l) worst[l] = pick(ratio[q][l] < worst[l], ratio[q][l], worst[l]);
    }
    if ((i + 1) % kPidProduct == 0 || i + 1 == m) {
      for (int q = 0; q < 4; ++q) {
        for (int l = 0; l < L; ++l) total[q][l] -= 0.5 * log(product[q][l]);
        for (int l = 0; l < L; ++l) product[q][l] = 1.0;
      }
    }
  }
  for (int q = 0; q < 3; ++q) {
    for (int l = 0; l < L; ++l) w.information[q * S + l] = total[q][l];
  }
  for (int l = 0; l < L; ++l) w.information[3 * S + l] = total[0][l] + total[3][l];
  for (int l = 0; l < L; ++l) w.worst[l] = worst[l];
}

// Everything behind T and the whitened cross covariance V = Cov(M, Y) own^-T.
template <class Ops>
NB26_HD void pid_values(const PidDims& dims, const PidWork& w, const double* t) {
  constexpr int S = Ops::kStride;
  const std::int64_t p = dims.sources(), d = dims.all(), m = dims.m, y = dims.y;
  const double* t_m = t + p * S;
  const double* t_y = t + dims.x * S;
  Ops::product({t_m, d, 0, t_m, d, 0, false, nullptr, 1.0, w.e_xy, m, m, m, m, true});
  Ops::product({t_y, d, y, t_y, d, y, false, w.e_xy, 1.0, w.e_x, m, m, m, y, true});
  Ops::product({t, d, p, t, d, p, false, w.e_x, 1.0, w.e, m, m, m, dims.x, true});
  Ops::product({w.cross, y, y, w.cross, y, y, false, w.e, -1.0, w.e_y, m, m, m, y, true});
  Ops::pencil(m, w);
  double* pivots = w.pivots + d * S;
  Ops::cholesky({w.e, m, w.inverse, pivots, w.least + 4 * S, m, m});
  Ops::cholesky({w.e_x, m, w.inverse, pivots + m * S, w.least + 6 * S, m, m});
  Ops::cholesky({w.e_y, m, w.inverse, pivots + 2 * m * S, w.least + 6 * S, m, m});
  Ops::cholesky({w.total, m, w.inverse, w.pivots, w.least + 8 * S, m, m});
  Ops::solve({w.difference, m, w.total, m, w.inverse, m, m, false});
  Ops::transpose(m, w.difference, w.turned);
  Ops::solve({w.turned, m, w.total, m, w.inverse, m, m, true});
  Ops::columns(m, w.turned, w.pencil.matrix);
  Ops::tridiagonal(w.pencil);
  Ops::finish(dims, w, t);
}

// V from rows of R and T (p columns) of a problem whose R ends in a lower triangle.
template <class Ops>
NB26_HD void pid_whiten(const PidDims& dims, const PidWork& w, const double* r, const double* t) {
  const std::int64_t p = dims.sources(), d = dims.all(), m = dims.m, y = dims.y, x = dims.x;
  Ops::product({r, p, x, r, p, x, false, nullptr, 1.0, w.own, y, y, y, p, true});
  Ops::cholesky({w.own, y, w.inverse, w.pivots, w.least + 2 * Ops::kStride, y, y});
  Ops::product({t, d, p, r, p, x, false, nullptr, 1.0, w.cross, y, m, y, p, false});
  Ops::solve({w.cross, y, w.own, y, w.inverse, m, y, false});
}

// A channel has no variances of its own, so that nothing tells a bad one from one without noise.
template <int L, int S>
NB26_HD void pid_end(const PidWork& w, bool channels, PidEnd* ends) {
  for (int l = 0; l < L; ++l) {
    const bool sources = w.least[l] > kPidIndefinite && w.least[4 * S + l] > kPidIndefinite;
    const bool good = channels || (sources && w.least[S + l] > -kPidNegative);
    const bool infinite = !(w.worst[l] > kPidInfinite) || !(w.least[S + l] > kPivotFloor);
    ends[l] = !good ? PidEnd::kNotPositive : infinite ? PidEnd::kInfinite : PidEnd::kGood;
  }
}

// L lanes of covariances: w.information, w.sums (over the draws) and the ends.
template <class Ops>
NB26_HD void pid_covariances(const double* const (&covs)[Ops::kLanes], const PidDims& dims,
                             const PidDraws& turned, const PidWork& w, PidEnd* ends,
                             double* information, double* sums) {
  constexpr int L = Ops::kLanes, S = Ops::kStride;
  const std::int64_t p = dims.sources(), d = dims.all(), m = dims.m, y = dims.y, x = dims.x;
  pid_load<L, S>(covs, dims, w.factor);
  Ops::cholesky({w.factor, 0, w.inverse, w.pivots, w.least, d, p});
  Ops::split(dims, w);
  pid_whiten<Ops>(dims, w, w.r, w.t);
  pid_values<Ops>(dims, w, w.t);
  pid_end<L, S>(w, false, ends);
  for (int i = 0; i < 4; ++i) {
    for (int l = 0; l < L; ++l) information[i * L + l] = w.information[i * S + l];
    for (int l = 0; l < L; ++l) sums[i * L + l] = 0.0;
  }
  for (std::int64_t b = 0; b < turned.n; ++b) {
    const double* a = turned.factors + b * d * d;
    Ops::product_shared({w.r, p, x, a, d, p, true, nullptr, 1.0, w.drawn_r, p, y, p, p, false});
    Ops::product_shared({w.t, d, p, a, d, d, true, nullptr, 1.0, w.drawn_t, d, m, d, d, false});
    pid_whiten<Ops>(dims, w, w.drawn_r, w.drawn_t);
    pid_values<Ops>(dims, w, w.drawn_t);
    for (int i = 0; i < 4; ++i) {
      for (int l = 0; l < L; ++l) sums[i * L + l] += w.information[i * S + l];
    }
  }
}

template <class Ops>
NB26_HD void pid_channel_values(const PidDims& dims, const double* basis, const PidWork& w,
                                const double* t) {
  const std::int64_t p = dims.sources(), d = dims.all(), m = dims.m, y = dims.y;
  Ops::product_shared({t, d, p, basis, p, p, false, nullptr, 1.0, w.cross, y, m, y, p, false});
  pid_values<Ops>(dims, w, t);
}

// L channels with the bases (1 + n draws, dy, p) of their bin.
template <class Ops>
NB26_HD void pid_channels(const double* const (&k)[Ops::kLanes], const PidDims& dims,
                          const double* bases, const PidDraws& turned, const PidWork& w,
                          PidEnd* ends, double* information, double* sums) {
  constexpr int L = Ops::kLanes, S = Ops::kStride;
  const std::int64_t p = dims.sources(), d = dims.all(), m = dims.m;
  pid_load_channel<L, S>(k, dims, w.t);
  Ops::identity(m, w.e);
  Ops::product({w.t, d, p, w.t, d, p, false, w.e, -1.0, w.e_xy, m, m, m, p, true});
  Ops::cholesky({w.e_xy, m, w.inverse, w.pivots, w.least, m, 0});
  Ops::put_rest(dims, w.e_xy, w.t);
  pid_channel_values<Ops>(dims, bases, w, w.t);
  pid_end<L, S>(w, true, ends);
  for (int i = 0; i < 4; ++i) {
    for (int l = 0; l < L; ++l) information[i * L + l] = w.information[i * S + l];
    for (int l = 0; l < L; ++l) sums[i * L + l] = 0.0;
  }
  for (std::int64_t b = 0; b < turned.n; ++b) {
    const double* a = turned.factors + b * d * d;
    Ops::product_shared({w.t, d, p, a, d, d, true, nullptr, 1.0, w.drawn_t, d, m, d, d, false});
    pid_channel_values<Ops>(dims, bases + (b + 1) * dims.y * p, w, w.drawn_t);
    for (int i = 0; i < 4; ++i) {
      for (int l = 0; l < L; ++l) sums[i * L + l] += w.information[i * S + l];
    }
  }
}

// Orthonormal rows that span those of R A (R itself without A; A given transposed): Gram-Schmidt,
// twice. A row that depends on those before it becomes zero.
NB26_HD void pid_basis(const PidDims& dims, const double* r, const double* turned, double* q) {
  const std::int64_t p = dims.sources(), d = dims.all();
  for (std::int64_t i = 0; i < dims.y; ++i) {
    double* row = q + i * p;
    double before = 0.0;
    for (std::int64_t j = 0; j < p; ++j) {
      double value = r[i * p + j];
      if (turned) {
        value = 0.0;
        for (std::int64_t k = j; k < p; ++k) value += r[i * p + k] * turned[j * d + k];
      }
      row[j] = value;
      before += value * value;
    }
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t s = 0; s < i; ++s) {
        const double* other = q + s * p;
        double dot = 0.0;
        for (std::int64_t j = 0; j < p; ++j) dot += row[j] * other[j];
        for (std::int64_t j = 0; j < p; ++j) row[j] -= dot * other[j];
      }
    }
    double after = 0.0;
    for (std::int64_t j = 0; j < p; ++j) after += row[j] * row[j];
    const double scale = after > kPidIndefinite * before ? 1.0 / std::sqrt(after) : 0.0;
    for (std::int64_t j = 0; j < p; ++j) row[j] *= scale;
  }
}

// Draws (n, d, d) with their factors transposed, which is how the products read them.
NB26_HD void pid_turn(const double* factors, std::int64_t n, std::int64_t d, double* turned) {
  for (std::int64_t b = 0; b < n; ++b) {
    for (std::int64_t i = 0; i < d; ++i) {
      for (std::int64_t j = 0; j < d; ++j) {
        turned[(b * d + j) * d + i] = j <= i ? factors[(b * d + i) * d + j] : 0.0;
      }
    }
  }
}

}  // namespace nb26
