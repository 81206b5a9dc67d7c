// Conditional-density bootstrap: threads over queries, columns and resamples in lanes.

#include "nb26/density.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "aligned.hpp"
#include "density_alike.hpp"
#include "density_near.hpp"
#include "density_order.hpp"
#include "nb26/density_api.hpp"
#include "nb26/isa.hpp"
#include "nb26/threads.hpp"

namespace nb26 {
namespace {

constexpr int kL = kDensityLanes;
constexpr std::int64_t kRows = 64;  // of the table at a time

// One function per piece and level: inlined into one another the compiler loses their sums in
// registers. Fused multiply-add from level 1 on.
template <int Isa>
struct DensityLevel;

#define NB26_DENSITY_LEVEL(isa, target, most)                                                    \
  template <>                                                                                    \
  struct DensityLevel<isa> {                                                                     \
    static constexpr int kPanel = most;                                                          \
    target static void outcomes(const double* y, std::int64_t n, const double* points,           \
                                std::int64_t g, double hy, std::int64_t columns, double* out) {  \
      density_outcomes(y, n, points, g, hy, columns, out);                                       \
    }                                                                                            \
    target static void exponents(const double* square, std::int64_t n, double hx,                \
                                 double* exponent, double* kernel) {                             \
      density_exponents(square, n, hx, exponent, kernel);                                        \
    }                                                                                            \
    target static void exchange(double* values, const std::int32_t* pairs, std::int64_t n) {     \
      density_exchange(values, pairs, n);                                                        \
    }                                                                                            \
    target static void ratios(const double* treated, const double* control, std::int64_t n,      \
                              double* out) {                                                     \
      density_ratios(treated, control, n, out);                                                  \
    }                                                                                            \
    target static void scale(double* fits, std::int64_t n, std::int64_t columns, std::int64_t g, \
                             double hy) {                                                        \
      density_scale(fits, n, columns, g, hy);                                                    \
    }                                                                                            \
    template <int U>                                                                             \
    target static void panel(const double* table, std::int64_t columns, const std::int32_t* row, \
                             const double* weight, std::int64_t n, double* out) {                \
      density_sum_panel<(isa > 0), U>(table, columns, row, weight, n, out);                      \
    }                                                                                            \
  };

#define NB26_NO_TARGET
NB26_DENSITY_LEVEL(0, NB26_NO_TARGET, 1)
NB26_DENSITY_LEVEL(1, NB26_TARGET_1, 5)
NB26_DENSITY_LEVEL(2, NB26_TARGET_2, 10)
#undef NB26_NO_TARGET

// One thread's work on one query.
template <int Isa>
class Query {
 public:
  using Alike = std::optional<DensityAlike<DensityLevel<Isa>>>;

  Query(const DensityArm (&arms)[2], const DensityQueries& queries, const DensityRule& rule,
        const double* const (&outcomes)[2], const Alike (&alike)[2], const DensityOut& out)
      : arms_(arms),
        alike_(alike),
        queries_(queries),
        rule_(rule),
        outcomes_{outcomes[0], outcomes[1]},
        out_(out),
        columns_(density_columns(rule.g)),
        low_(quantile_at(rule.n_bootstrap, rule.quantile)),
        high_(quantile_at(rule.n_bootstrap, 1.0 - rule.quantile)),
        order_(rule.n_bootstrap, {low_.low, low_.high, high_.low, high_.high}),
        ratio_order_(static_cast<std::size_t>(rule.g + 1)) {
    const auto size = static_cast<std::size_t>((rule.n_bootstrap + 1) * columns_);
    for (auto& fits : fits_) fits.resize(size);
    for (int a = 0; a < 2; ++a) {
      for (auto* bound : {&lower_[a], &upper_[a]})
        bound->resize(static_cast<std::size_t>(columns_));
    }
    lanes_.resize(static_cast<std::size_t>(std::max(rule.n_bootstrap, rule.g) * kL));
    use_.resize(static_cast<std::size_t>(rule.g));
    ratio_.resize(static_cast<std::size_t>(rule.g));
    once_.assign(static_cast<std::size_t>(std::max(arms[0].n, arms[1].n)), 1);
  }

  void run(std::int64_t i) {
    for (int a = 0; a < 2; ++a) {
      std::int64_t depth = density_depth(arms_[a].k);
      while (!fit(a, i, depth)) depth *= 2;
      quantiles(a);
    }
    store(i);
  }

 private:
  // All resamples of one arm; false where `depth` rows do not reach k counts in one of them.
  bool fit(int a, std::int64_t i, std::int64_t depth) {
    const DensityArm& arm = arms_[a];
    const std::int64_t n_b = rule_.n_bootstrap, own = queries_.own[a][i];
    if (alike_[a]) {
      const double* y = queries_.y ? queries_.y + i : nullptr;
      if (alike_[a]->sums(own, y, own_kernel_, weight_, fits_[a].data())) {
        kernel_.assign(at(arm.n - (own >= 0)), 1.0);
        finish(a, i, std::min(arm.n - (own >= 0), arm.k));
        return true;
      }
    }
    const bool whole = near_.find(arm.x, arm.n, arm.p, queries_.x + i * arm.p, own, depth);
    const auto n = static_cast<std::int64_t>(near_.index.size());
    exponent_.resize(at(n));
    kernel_.resize(at(n));
    table_.resize(at(n * columns_));
    row_.resize(at((n_b + 1) * n));
    weight_.resize(at((n_b + 1) * n));
    blocks_ = (n + kRows - 1) / kRows;
    end_.resize(at((n_b + 1) * blocks_));
    DensityLevel<Isa>::exponents(near_.square.data(), n, arm.hx, exponent_.data(), kernel_.data());
    fill(arm, outcomes_[a], i, n);
    for (std::int64_t b = 0; b <= n_b; ++b) {
      if (!walk(b < n_b ? arm.counts + b * arm.n : once_.data(), arm.k, n, whole, b)) return false;
    }
    reach_ = 1.001 * arm.hy * std::sqrt(-2.0 * kDensityTail);
    sums(fits_[a].data(), n);
    finish(a, i, std::min(n, arm.k));
    return true;
  }

  // Sums become densities and means, of which k rows are told.
  void finish(int a, std::int64_t i, std::int64_t k) {
    const std::int64_t n_b = rule_.n_bootstrap;
    DensityLevel<Isa>::scale(fits_[a].data(), n_b + 1, columns_, rule_.g, arms_[a].hy);
    for (std::int64_t b = 0; b < n_b && out_.mean_b[a]; ++b) {
      out_.mean_b[a][i * n_b + b] = fits_[a][at(b * columns_ + rule_.g + 1)];
    }
    point(a, i, k);
  }

  void fill(const DensityArm& arm, const double* outcomes, std::int64_t i, std::int64_t n) {
    const std::int64_t g = rule_.g;
    own_.resize(static_cast<std::size_t>(n));
    for (std::int64_t r = 0; r < n; ++r) own_[at(r)] = arm.y[near_.index[at(r)]];
    for (std::int64_t r = 0; r < n; ++r) {
      std::copy_n(outcomes + near_.index[at(r)] * columns_, columns_, table_.data() + r * columns_);
    }
    // kernels of the outcomes around the query's own one
    if (!queries_.y) return;
    own_kernel_.resize(static_cast<std::size_t>(n));
    DensityLevel<Isa>::outcomes(queries_.y + i, 1, own_.data(), n, arm.hy, n, own_kernel_.data());
    for (std::int64_t r = 0; r < n; ++r) table_[at(r * columns_ + g)] = own_kernel_[at(r)];
  }

  // What is wanted of the fit to all rows.
  void point(int a, std::int64_t i, std::int64_t k) {
    double sum = 0.0, squares = 0.0;
    for (std::int64_t r = 0; r < k; ++r) {
      sum += kernel_[at(r)];
      squares += kernel_[at(r)] * kernel_[at(r)];
    }
    const double* fit = fits_[a].data() + rule_.n_bootstrap * columns_;
    out_.mean[a][i] = fit[rule_.g + 1];
    out_.ess[a][i] = sum * sum / squares;
    if (out_.point[a]) std::copy_n(fit, rule_.g, out_.point[a] + i * rule_.g);
  }

  // Rows and weights of fit b, and where those of each block of rows end; false where more rows are
  // wanted.
  __attribute__((noinline)) bool walk(const std::uint16_t* counts, std::int64_t k, std::int64_t n,
                                      bool whole, std::int64_t b) {
    std::int32_t* __restrict row = row_.data() + b * n;
    double* __restrict weight = weight_.data() + b * n;
    const std::int32_t* __restrict index = near_.index.data();
    const double* __restrict kernel = kernel_.data();
    std::int64_t total = 0, counted = 0, last = 0, r = 0;
    for (std::int64_t block = 0; block < blocks_; ++block) {
      const std::int64_t stop = std::min(n, (block + 1) * kRows);
      for (; r < stop && total < k; ++r) {
        last = counts[index[r]];
        row[counted] = static_cast<std::int32_t>(r);
        weight[counted] = static_cast<double>(last) * kernel[r];
        counted += last > 0;
        total += last;
      }
      end_[at(b * blocks_ + block)] = static_cast<std::int32_t>(counted);
    }
    if (total < k && !whole) return false;
    if (counted == 0) {  // every draw is the query itself: its nearest row
      row[0] = 0;
      weight[0] = 1.0;
      std::fill_n(end_.data() + b * blocks_, blocks_, 1);
      return true;
    }
    if (total > k) {  // of the last row only some count
      weight[counted - 1] = static_cast<double>(last - (total - k)) * kernel_[at(r - 1)];
    }
    const double first = exponent_[at(row[0])];
    if (first < kDensityFaint) {
      for (std::int64_t j = 0; j < counted; ++j) {
        std::int64_t count = counts[near_.index[at(row[j])]];
        if (j == counted - 1 && total > k) count -= total - k;
        weight[j] = static_cast<double>(count) * density_kernel(exponent_[at(row[j])] - first);
      }
    }
    return true;
  }

  // Sums of all fits, by blocks of rows that stay in the first-level cache.
  void sums(double* fits, std::int64_t n) {
    std::fill_n(fits, (rule_.n_bootstrap + 1) * columns_, 0.0);
    for (std::int64_t block = 0; block < blocks_; ++block) {
      add_panels<DensityLevel<Isa>::kPanel>(0, n, block, fits);
    }
  }

  // One block of rows, from column 8 * first on.
  template <int U>
  void add_panels(std::int64_t first, std::int64_t n, std::int64_t block, double* fits) {
    if constexpr (U > 0) {
      for (; first + U <= columns_ / kL; first += U) {
        if (!touches(first * kL, (first + U) * kL, block * kRows, n)) continue;
        for (std::int64_t b = 0; b <= rule_.n_bootstrap; ++b) {
          const std::int32_t* end = end_.data() + b * blocks_ + block;
          const std::int64_t from = block > 0 ? end[-1] : 0;
          DensityLevel<Isa>::template panel<U>(
              table_.data() + first * kL, columns_, row_.data() + b * n + from,
              weight_.data() + b * n + from, *end - from, fits + b * columns_ + first * kL);
        }
      }
      add_panels<U - 1>(first, n, block, fits);
    }
  }

  // Whether the table has anything but 0 in these columns and the block of rows from `row` on.
  bool touches(std::int64_t first, std::int64_t last, std::int64_t row, std::int64_t n) const {
    if (last > rule_.g) return true;
    const auto [least, most] = std::minmax_element(rule_.grid + first, rule_.grid + last);
    for (std::int64_t r = row; r < std::min(n, row + kRows); ++r) {
      if (own_[at(r)] > *least - reach_ && own_[at(r)] < *most + reach_) return true;
    }
    return false;
  }

  // Lower and upper quantile of every column over the resamples.
  void quantiles(int a) {
    const std::int64_t n = rule_.n_bootstrap;
    for (std::int64_t c = 0; c <= rule_.g; c += kL) {
      double totals[kL] = {};
      for (std::int64_t b = 0; b < n; ++b) {
        const double* from = fits_[a].data() + b * columns_ + c;
        for (int l = 0; l < kL; ++l) lanes_[at(b * kL + l)] = from[l];
        for (int l = 0; l < kL; ++l) totals[l] += from[l];
      }
      // far from every outcome all are 0
      const bool all_zero = *std::max_element(totals, totals + kL) == 0.0;
      if (!all_zero) DensityLevel<Isa>::exchange(lanes_.data(), order_.pairs(), order_.size());
      for (int l = 0; l < kL; ++l) {
        lower_[a][at(c + l)] = density_clip(lane(low_, l));
        upper_[a][at(c + l)] = density_clip(lane(high_, l));
      }
    }
  }

  void store(std::int64_t i) {
    const std::int64_t g = rule_.g, n = rule_.n_bootstrap;
    const double threshold = density_threshold(upper_[1].data(), g, rule_.threshold);
    n_use_ = 0;
    for (std::int64_t c = 0; c < g; ++c) {
      use_[at(n_use_)] = c;
      n_use_ += upper_[1][at(c)] > threshold;
    }
    const double* treated[1] = {upper_[1].data()};
    const double* control[1] = {lower_[0].data()};
    double prior[kL];
    priors(control, treated, 1, prior);
    out_.prior[i] = prior[0];
    out_.lfdr[i] = queries_.y ? unit_clip((1.0 - prior[0]) * upper_[0][at(g)] / lower_[1][at(g)])
                              : std::numeric_limits<double>::quiet_NaN();
    for (int a = 0; a < 2; ++a) {
      if (out_.lower[a]) std::copy_n(lower_[a].data(), g, out_.lower[a] + i * g);
      if (out_.upper[a]) std::copy_n(upper_[a].data(), g, out_.upper[a] + i * g);
    }
    if (!out_.prior_b) return;
    for (std::int64_t b = 0; b < n; b += kL) {
      const int m = static_cast<int>(std::min<std::int64_t>(kL, n - b));
      const double *of_treated[kL], *of_control[kL];
      for (int l = 0; l < m; ++l) {
        of_control[l] = fits_[0].data() + (b + l) * columns_;
        of_treated[l] = fits_[1].data() + (b + l) * columns_;
      }
      priors(of_control, of_treated, m, prior);
      std::copy_n(prior, m, out_.prior_b + i * n + b);
    }
  }

  // pi* of m <= 8 pairs of densities on the grid points in use.
  void priors(const double* const* control, const double* const* treated, int m, double* out) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    if (n_use_ == 0) {
      std::fill_n(out, m, kNan);
      return;
    }
    std::fill_n(lanes_.data(), n_use_ * kL, 0.0);
    for (int l = 0; l < m; ++l) {
      DensityLevel<Isa>::ratios(treated[l], control[l], rule_.g, ratio_.data());
      for (std::int64_t u = 0; u < n_use_; ++u) lanes_[at(u * kL + l)] = ratio_[at(use_[at(u)])];
    }
    const QuantileAt q = quantile_at(n_use_, rule_.ratio_quantile);
    OrderPairs& order = ratio_order_[at(n_use_)];
    if (!order.made()) order = OrderPairs(n_use_, {q.low, q.high});
    DensityLevel<Isa>::exchange(lanes_.data(), order.pairs(), order.size());
    for (int l = 0; l < m; ++l) out[l] = unit_clip(1.0 - lane(q, l));
  }

  double lane(const QuantileAt& q, int l) const {
    return between(lanes_[at(q.low * kL + l)], lanes_[at(q.high * kL + l)], q.part);
  }

  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  const DensityArm (&arms_)[2];
  const Alike (&alike_)[2];
  const DensityQueries& queries_;
  const DensityRule& rule_;
  const double* outcomes_[2];
  const DensityOut& out_;
  std::int64_t columns_, blocks_ = 0, n_use_ = 0;
  QuantileAt low_, high_;  // of the resamples
  double reach_ = 0.0;     // distance from which an outcome's kernel is 0
  OrderPairs order_;
  std::vector<OrderPairs> ratio_order_;  // by the number of ratios
  DensityNear near_;
  LineVector exponent_, kernel_, weight_, table_, own_, own_kernel_, lanes_, ratio_;
  LineVector fits_[2], lower_[2], upper_[2];
  std::vector<std::int32_t> row_, end_;
  std::vector<std::uint16_t> once_;  // every row counts once
  std::vector<std::int64_t> use_;
};

template <int Isa>
void bootstrap(const DensityArm (&arms)[2], const DensityQueries& queries, const DensityRule& rule,
               int n_threads, const DensityOut& out) {
  const std::int64_t columns = density_columns(rule.g);
  const int threads = threads_for(n_threads, queries.m);
  LineVector outcomes[2];
  typename Query<Isa>::Alike alike[2];
  for (int a = 0; a < 2; ++a) {
    outcomes[a].resize(static_cast<std::size_t>(arms[a].n * columns));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::int64_t j = 0; j < arms[a].n; ++j) {
      DensityLevel<Isa>::outcomes(arms[a].y + j, 1, rule.grid, rule.g, arms[a].hy, columns,
                                  outcomes[a].data() + j * columns);
      outcomes[a][static_cast<std::size_t>(j * columns + rule.g + 1)] = arms[a].y[j];
      outcomes[a][static_cast<std::size_t>(j * columns + rule.g + 2)] = 1.0;
    }
    if (DensityAlike<DensityLevel<Isa>>::holds(arms[a])) {
      alike[a].emplace(arms[a], outcomes[a].data(), rule, n_threads);
    }
  }
  const double* const tables[2] = {outcomes[0].data(), outcomes[1].data()};
#pragma omp parallel num_threads(threads)
  {
    Query<Isa> query(arms, queries, rule, tables, alike, out);
#pragma omp for schedule(dynamic, 4)
    for (std::int64_t i = 0; i < queries.m; ++i) query.run(i);
  }
}

}  // namespace

void density_bootstrap_cpu(const DensityArm (&arms)[2], const DensityQueries& queries,
                           const DensityRule& rule, int n_threads, const DensityOut& out) {
  static constexpr decltype(&bootstrap<0>) kLevels[3] = {bootstrap<0>, bootstrap<1>, bootstrap<2>};
  kLevels[isa_level()](arms, queries, rule, n_threads, out);
}

}  // namespace nb26
