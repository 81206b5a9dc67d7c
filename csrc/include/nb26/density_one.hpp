// The bounds of one query by a team of threads that share memory: a block of the device, or one
// thread of the host.
#pragma once

#include <cstdint>

#include "nb26/density.hpp"
#include "nb26/density_api.hpp"
#include "nb26/hd.hpp"
#include "nb26/math.hpp"

namespace nb26 {

// A team of one.
struct DensityAlone {
  static NB26_HD std::int64_t rank() { return 0; }
  static NB26_HD std::int64_t size() { return 1; }
  static NB26_HD void sync() {}
  static NB26_HD std::int64_t sum(std::int64_t own) { return own; }
  static NB26_HD std::int32_t next(std::int32_t* counter) { return (*counter)++; }
};

// Room for one query. depth: rows that are looked at; the last of the B + 1 fits is the one to all
// rows.
struct DensityWork {
  double* square;                   // (n) of the arm at hand
  double *found, *near;             // (depth) as found, and in order
  double *exponent, *kernel, *own;  // (depth)
  double* weight;                   // (B + 1, depth)
  double* fits;                     // (2, B + 1, g + 3)
  double* bounds;                   // (2, 2, g + 1): lower and upper of each arm
  double* ratio;                    // (B + 1, g)
  double* ranked;                   // (B + 1, 4): values at the wanted ranks
  std::int32_t *row, *index;        // (depth) as found, and in order
  std::int32_t* use;                // (g)
  std::int32_t* counter;            // (2)
};

struct DensityRoom {
  double* at;
  std::int64_t used;
  NB26_HD double* take(std::int64_t n) {
    double* out = at ? at + used : nullptr;
    used += n;
    return out;
  }
  NB26_HD std::int32_t* take_whole(std::int64_t n) {
    return reinterpret_cast<std::int32_t*>(take((n + 1) / 2));
  }
};

NB26_HD DensityWork density_work(DensityRoom& room, std::int64_t n, std::int64_t depth,
                                 const DensityRule& rule) {
  const std::int64_t fits = rule.n_bootstrap + 1, g = rule.g;
  const std::int64_t most = fits > g + 1 ? fits : g + 1;
  DensityWork w{};
  w.square = room.take(n);
  w.found = room.take(depth);
  w.near = room.take(depth);
  w.exponent = room.take(depth);
  w.kernel = room.take(depth);
  w.own = room.take(depth);
  w.weight = room.take(fits * depth);
  w.fits = room.take(2 * fits * (g + kDensityExtra));
  w.bounds = room.take(4 * (g + 1));
  w.ratio = room.take(fits * g);
  w.ranked = room.take(most * 4);
  w.row = room.take_whole(depth);
  w.index = room.take_whole(depth);
  w.use = room.take_whole(g);
  w.counter = room.take_whole(2);
  return w;
}

// Largest v with fewer than m of the n numbers key(j) below it: the m-th smallest. bits: of a key.
template <class Team, class Key>
NB26_HD std::uint64_t density_smallest(Team& team, const Key& key, std::int64_t n, std::int64_t m,
                                       int bits) {
  std::uint64_t best = 0;
  for (int bit = bits - 1; bit >= 0; --bit) {
    const std::uint64_t trial = best | (std::uint64_t{1} << bit);
    std::int64_t below = 0;
    for (std::int64_t j = team.rank(); j < n; j += team.size()) below += key(j) < trial;
    if (team.sum(below) < m) best = trial;
  }
  return best;
}

struct DensityBits {  // of squared distances, which order as the numbers do
  const double* square;
  NB26_HD std::uint64_t operator()(std::int64_t j) const {
    return bits_as<std::uint64_t>(square[j]);
  }
};

struct DensityTied {  // rows at one distance by their number, all others behind
  const double* square;
  double at;
  NB26_HD std::uint64_t operator()(std::int64_t j) const {
    return square[j] == at ? static_cast<std::uint64_t>(j) : std::uint64_t{0xFFFFFFFFu};
  }
};

// The m rows nearest to the query by distance, then by row: w.near and w.index.
template <class Team>
NB26_HD void density_nearest(Team& team, const DensityArm& arm, const double* query,
                             std::int64_t own, std::int64_t m, const DensityWork& w) {
  for (std::int64_t j = team.rank(); j < arm.n; j += team.size()) {
    double square = 0.0;
    for (std::int64_t c = 0; c < arm.p; ++c) {
      const double d = arm.x[c * arm.n + j] - query[c];
      square += d * d;
    }
    // what is no number would have no place in the order
    square = pick(square <= MathTraits<double>::kLargest, square, MathTraits<double>::kLargest);
    w.square[j] = j == own ? MathTraits<double>::kInfinity : square;
  }
  if (team.rank() == 0) *w.counter = 0;
  team.sync();
  const double last = bits_as<double>(density_smallest(team, DensityBits{w.square}, arm.n, m, 63));
  std::int64_t below = 0;
  for (std::int64_t j = team.rank(); j < arm.n; j += team.size()) below += w.square[j] < last;
  const std::int64_t tied = m - team.sum(below);
  const auto last_row = static_cast<std::int64_t>(
      density_smallest(team, DensityTied{w.square, last}, arm.n, tied, 32));
  for (std::int64_t j = team.rank(); j < arm.n; j += team.size()) {
    if (w.square[j] < last || (w.square[j] == last && j <= last_row)) {
      const std::int32_t slot = team.next(w.counter);
      w.found[slot] = w.square[j];
      w.row[slot] = static_cast<std::int32_t>(j);
    }
  }
  team.sync();
  for (std::int64_t r = team.rank(); r < m; r += team.size()) {
    std::int64_t place = 0;
    for (std::int64_t s = 0; s < m; ++s) {
      place += w.found[s] < w.found[r] || (w.found[s] == w.found[r] && w.row[s] < w.row[r]);
    }
    w.near[place] = w.found[r];
    w.index[place] = w.row[r];
  }
  team.sync();
}

// Weights of the rows in one resample, all rows when counts is null; false where more are wanted.
NB26_HD bool density_walk(const DensityArm& arm, const std::uint16_t* counts, std::int64_t n,
                          bool whole, const DensityWork& w, double* weight) {
  std::int64_t left = arm.k, first = n;
  for (std::int64_t r = 0; r < n; ++r) {
    std::int64_t count = counts ? counts[w.index[r]] : 1;
    if (count > left) count = left;
    if (count > 0 && first == n) first = r;
    weight[r] = static_cast<double>(count);
    left -= count;
  }
  if (left > 0 && !whole) return false;
  if (first == n) {
    first = 0;
    weight[0] = 1.0;
  }
  const double e = w.exponent[first];
  for (std::int64_t r = 0; r < n; ++r) {
    weight[r] *= e < kDensityFaint ? density_kernel(w.exponent[r] - e) : w.kernel[r];
  }
  return true;
}

// Value of column c in the table's row r.
NB26_HD double density_entry(const DensityArm& arm, const double* outcomes, std::int64_t columns,
                             std::int64_t g, std::int64_t r, std::int64_t c, const DensityWork& w) {
  const std::int64_t row = w.index[r];
  if (c < g) return outcomes[row * columns + c];
  return c == g ? w.own[r] : c == g + 1 ? arm.y[row] : 1.0;
}

// All fits of one arm; false where a resample wants more rows.
template <class Team>
NB26_HD bool density_fit(Team& team, int a, const DensityArm& arm, const DensityQueries& queries,
                         const DensityRule& rule, const double* outcomes, std::int64_t depth,
                         const DensityWork& w, const DensityOut& out, std::int64_t i) {
  const std::int64_t g = rule.g, n_b = rule.n_bootstrap, wide = g + kDensityExtra;
  const std::int64_t own = queries.own[a][i], others = arm.n - (own >= 0);
  const std::int64_t n = depth < others ? depth : others;
  density_nearest(team, arm, queries.x + i * arm.p, own, n, w);
  const double scale_x = 1.0 / (2.0 * arm.hx * arm.hx), scale_y = 1.0 / arm.hy;
  for (std::int64_t r = team.rank(); r < n; r += team.size()) {
    w.exponent[r] = (w.near[0] - w.near[r]) * scale_x;
    w.kernel[r] = density_kernel(w.exponent[r]);
    const double z = queries.y ? (arm.y[w.index[r]] - queries.y[i]) * scale_y : 0.0;
    w.own[r] = density_kernel(-0.5 * z * z);
  }
  team.sync();
  std::int64_t wanting = 0;
  for (std::int64_t b = team.rank(); b <= n_b; b += team.size()) {
    const std::uint16_t* counts = b < n_b ? arm.counts + b * arm.n : nullptr;
    wanting += !density_walk(arm, counts, n, n == others, w, w.weight + b * depth);
  }
  if (team.sum(wanting) > 0) return false;
  double* fits = w.fits + a * (n_b + 1) * wide;
  for (std::int64_t t = team.rank(); t < (n_b + 1) * wide; t += team.size()) {
    const std::int64_t b = t / wide, c = t % wide;
    const double* weight = w.weight + b * depth;
    const std::int64_t columns = density_columns(g);
    double sum = 0.0;
    for (std::int64_t r = 0; r < n; ++r) {
      sum = madd<false>(weight[r], density_entry(arm, outcomes, columns, g, r, c, w), sum);
    }
    fits[t] = sum;
  }
  team.sync();
  for (std::int64_t t = team.rank(); t < (n_b + 1) * wide; t += team.size()) {
    const std::int64_t b = t / wide, c = t % wide;
    const double sum = fits[b * wide + g + 2], scale = 1.0 / (sum * (arm.hy * kRootTwoPi));
    if (c <= g) fits[t] *= scale;
    if (c == g + 1) fits[t] /= sum;
  }
  team.sync();
  for (std::int64_t b = team.rank(); b < n_b && out.mean_b[a]; b += team.size()) {
    out.mean_b[a][i * n_b + b] = fits[b * wide + g + 1];
  }
  const double* point = fits + n_b * wide;
  for (std::int64_t c = team.rank(); c < g && out.point[a]; c += team.size()) {
    out.point[a][i * g + c] = point[c];
  }
  if (team.rank() == 0) {
    double sum = 0.0, squares = 0.0;
    for (std::int64_t r = 0; r < n && r < arm.k; ++r) {
      sum += w.kernel[r];
      squares += w.kernel[r] * w.kernel[r];
    }
    out.mean[a][i] = point[g + 1];
    out.ess[a][i] = sum * sum / squares;
  }
  return true;
}

// Each value that has a wanted rank among its n peers goes to its place in ranked (4).
NB26_HD void density_rank(const double* values, std::int64_t step, std::int64_t n, std::int64_t j,
                          const QuantileAt& low, const QuantileAt& high, double* ranked) {
  const double own = values[j * step];
  std::int64_t rank = 0;
  for (std::int64_t s = 0; s < n; ++s) {
    rank += values[s * step] < own || (values[s * step] == own && s < j);
  }
  if (rank == low.low) ranked[0] = own;
  if (rank == low.high) ranked[1] = own;
  if (rank == high.low) ranked[2] = own;
  if (rank == high.high) ranked[3] = own;
}

// pi* of each resample, and at the end that of the bounds.
template <class Team>
NB26_HD void density_priors(Team& team, const DensityRule& rule, const DensityWork& w,
                            const DensityOut& out, std::int64_t i) {
  const std::int64_t g = rule.g, n_b = rule.n_bootstrap, wide = g + kDensityExtra;
  const double* upper = w.bounds + 3 * (g + 1);
  if (team.rank() == 0) {
    const double threshold = density_threshold(upper, g, rule.threshold);
    std::int32_t n = 0;
    for (std::int64_t c = 0; c < g; ++c) {
      w.use[n] = static_cast<std::int32_t>(c);
      if (upper[c] > threshold) ++n;
    }
    w.counter[1] = n;
  }
  team.sync();
  const std::int64_t n_use = w.counter[1];
  const QuantileAt q = quantile_at(n_use, rule.ratio_quantile);
  for (std::int64_t t = team.rank(); t < (n_b + 1) * n_use; t += team.size()) {
    const std::int64_t b = t / n_use, c = w.use[t % n_use];
    const double* control = b < n_b ? w.fits + b * wide : w.bounds;
    const double* treated = b < n_b ? w.fits + (n_b + 1 + b) * wide : upper;
    w.ratio[t] = density_clip(treated[c]) / density_clip(control[c]);
  }
  team.sync();
  for (std::int64_t t = team.rank(); t < (n_b + 1) * n_use; t += team.size()) {
    const std::int64_t b = t / n_use;
    density_rank(w.ratio + b * n_use, 1, n_use, t % n_use, q, q, w.ranked + 4 * b);
  }
  team.sync();
  for (std::int64_t b = team.rank(); b <= n_b; b += team.size()) {
    const double ratio = between(w.ranked[4 * b], w.ranked[4 * b + 1], q.part);
    const double prior = n_use > 0 ? unit_clip(1.0 - ratio) : MathTraits<double>::kNan;
    if (b == n_b) out.prior[i] = prior;
    if (b < n_b && out.prior_b) out.prior_b[i * n_b + b] = prior;
  }
  team.sync();
}

// Everything about query i; false where a resample wants more than `depth` rows.
template <class Team>
NB26_HD bool density_one(Team& team, const DensityArm (&arms)[2], const DensityQueries& queries,
                         const DensityRule& rule, const double* const (&outcomes)[2],
                         std::int64_t depth, const DensityWork& w, const DensityOut& out,
                         std::int64_t i) {
  const std::int64_t g = rule.g, n_b = rule.n_bootstrap, wide = g + kDensityExtra;
  const QuantileAt low = quantile_at(n_b, rule.quantile),
                   high = quantile_at(n_b, 1.0 - rule.quantile);
  for (int a = 0; a < 2; ++a) {
    if (!density_fit(team, a, arms[a], queries, rule, outcomes[a], depth, w, out, i)) return false;
    const double* fits = w.fits + a * (n_b + 1) * wide;
    for (std::int64_t t = team.rank(); t < n_b * (g + 1); t += team.size()) {
      const std::int64_t b = t / (g + 1), c = t % (g + 1);
      density_rank(fits + c, wide, n_b, b, low, high, w.ranked + 4 * c);
    }
    team.sync();
    double* lower = w.bounds + 2 * a * (g + 1);
    double* upper = lower + g + 1;
    for (std::int64_t c = team.rank(); c <= g; c += team.size()) {
      const double* at = w.ranked + 4 * c;
      lower[c] = density_clip(between(at[0], at[1], low.part));
      upper[c] = density_clip(between(at[2], at[3], high.part));
      if (c < g && out.lower[a]) out.lower[a][i * g + c] = lower[c];
      if (c < g && out.upper[a]) out.upper[a][i * g + c] = upper[c];
    }
    team.sync();
  }
  density_priors(team, rule, w, out, i);
  if (team.rank() == 0) {
    const double upper = w.bounds[2 * g + 1], lower = w.bounds[3 * g + 2];
    out.lfdr[i] =
        queries.y ? unit_clip((1.0 - out.prior[i]) * upper / lower) : MathTraits<double>::kNan;
  }
  team.sync();
  return true;
}

}  // namespace nb26
