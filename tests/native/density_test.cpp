// The density bootstrap: lanes on the CPU against a team per query as the device runs it; the same
// bits for any threads and any neighbours in the call; resamples that want more rows.
#include "cpu/density.cpp"

#include <cmath>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "check.hpp"
#include "cpu/density_fit.cpp"
#include "cpu/density_resamples.cpp"
#include "cpu/density_spread.cpp"
#include "cpu/threads.cpp"
#include "nb26/density_one.hpp"

namespace {

using nb26::DensityArm;
using nb26::DensityOut;
using nb26::DensityQueries;
using nb26::DensityRule;

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

struct Answer {
  std::int64_t m, b, g;
  std::vector<double> values;
  Answer(std::int64_t queries, std::int64_t resamples, std::int64_t points)
      : m(queries), b(resamples), g(points), values(size(m * (6 + 3 * b + 6 * g)), -1.0) {}
  DensityOut out(std::int64_t first = 0) {
    double* at = values.data();
    const auto take = [&at, first, this](std::int64_t wide) {
      double* mine = at + first * wide;
      at += m * wide;
      return mine;
    };
    DensityOut o{};
    o.prior = take(1);
    o.lfdr = take(1);
    for (int a = 0; a < 2; ++a) o.mean[a] = take(1);
    for (int a = 0; a < 2; ++a) o.ess[a] = take(1);
    o.prior_b = take(b);
    for (int a = 0; a < 2; ++a) o.mean_b[a] = take(b);
    for (int a = 0; a < 2; ++a) o.point[a] = take(g);
    for (int a = 0; a < 2; ++a) o.lower[a] = take(g);
    for (int a = 0; a < 2; ++a) o.upper[a] = take(g);
    return o;
  }
};

bool same(const Answer& a, const Answer& b) {
  return std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(double)) == 0;
}

bool near(const Answer& a, const Answer& b) {
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const double u = a.values[i], v = b.values[i];
    if (!(std::fabs(u - v) <= 1e-10 * std::fmax(1.0, std::fabs(u)))) return false;
  }
  return true;
}

// Two arms, and queries that are rows of the first, rows of the second, or neither.
struct Problem {
  std::int64_t n[2], p, m, n_b, g;
  std::vector<double> x[2], y[2], query, outcome, grid;
  std::vector<std::int64_t> own[2];
  std::vector<std::uint16_t> counts[2];
  DensityArm arms[2];

  Problem(std::int64_t n_0, std::int64_t n_1, std::int64_t columns, std::int64_t k,
          std::int64_t resamples, std::int64_t points, double hx)
      : n{n_0, n_1}, p(columns), m(9), n_b(resamples), g(points) {
    std::mt19937_64 engine(static_cast<std::uint64_t>(n_0 + k));
    std::normal_distribution<double> normal;
    for (int a = 0; a < 2; ++a) {
      x[a].resize(size(n[a] * p));
      y[a].resize(size(n[a]));
      counts[a].resize(size(n[a] * n_b));
      own[a].assign(size(m), -1);
      for (double& value : x[a]) value = normal(engine);
      for (double& value : y[a]) value = normal(engine);
      for (std::int64_t c = 0; c < p; ++c) x[a][size(c * n[a] + 4)] = x[a][size(c * n[a] + 1)];
      nb26::density_resamples(n[a], n_b, a, 7, 1, counts[a].data());
      arms[a] = {x[a].data(), y[a].data(), n[a], p, k, hx, 0.4, counts[a].data()};
    }
    query.resize(size(m * p));
    outcome.resize(size(m));
    for (double& value : query) value = normal(engine);
    for (double& value : outcome) value = 2.0 * normal(engine);
    for (std::int64_t i = 0; i < 6; ++i) {
      const int a = i % 2;
      own[a][size(i)] = i;
      for (std::int64_t c = 0; c < p; ++c) query[size(i * p + c)] = x[a][size(c * n[a] + i)];
      outcome[size(i)] = y[a][size(i)];
    }
    for (std::int64_t c = 0; c < g; ++c) {
      grid.push_back(-4.0 + 8.0 * static_cast<double>(c) / static_cast<double>(g));
    }
  }
  DensityQueries queries(std::int64_t first, std::int64_t count) const {
    return {query.data() + first * p,
            outcome.data() + first,
            {own[0].data() + first, own[1].data() + first},
            count};
  }
  DensityRule rule() const { return {grid.data(), g, n_b, 0.2, 0.05, 0.01}; }
};

// What the device does, block by block; how many queries wanted more rows.
std::int64_t one_by_one(const Problem& problem, std::int64_t depth, Answer* answer) {
  const DensityRule rule = problem.rule();
  const std::int64_t columns = nb26::density_columns(rule.g);
  const std::int64_t most = std::max(problem.n[0], problem.n[1]);
  std::vector<double> outcomes[2];
  for (int a = 0; a < 2; ++a) {
    outcomes[a].resize(size(problem.n[a] * columns));
    nb26::density_outcomes(problem.y[a].data(), problem.n[a], rule.grid, rule.g, problem.arms[a].hy,
                           columns, outcomes[a].data());
  }
  const double* const tables[2] = {outcomes[0].data(), outcomes[1].data()};
  nb26::DensityRoom measure{nullptr, 0};
  nb26::density_work(measure, most, depth, rule);
  std::vector<double> memory(size(measure.used));
  nb26::DensityRoom room{memory.data(), 0};
  const nb26::DensityWork work = nb26::density_work(room, most, depth, rule);
  nb26::DensityAlone team;
  std::int64_t wanting = 0;
  for (std::int64_t i = 0; i < problem.m; ++i) {
    wanting += !nb26::density_one(team, problem.arms, problem.queries(0, problem.m), rule, tables,
                                  depth, work, answer->out(), i);
  }
  return wanting;
}

// By OpenMP, whose own synchronisation the thread sanitizer does not see: there by two callers.
void on_two_threads(const Problem& problem, Answer* answer) {
  const DensityQueries queries = problem.queries(0, problem.m);
#ifndef __SANITIZE_THREAD__
  nb26::density_bootstrap_cpu(problem.arms, queries, problem.rule(), 2, answer->out());
#else
  Answer other = *answer;
  std::thread first([&] {
    nb26::density_bootstrap_cpu(problem.arms, queries, problem.rule(), 1, answer->out());
  });
  std::thread second(
      [&] { nb26::density_bootstrap_cpu(problem.arms, queries, problem.rule(), 1, other.out()); });
  first.join();
  second.join();
  CHECK(same(other, *answer));
#endif
}

void check(const Problem& problem) {
  const std::int64_t m = problem.m;
  const Answer empty(m, problem.n_b, problem.g);
  Answer one = empty;
  CHECK(one_by_one(problem, std::max(problem.n[0], problem.n[1]), &one) == 0);
  for (int isa = 0; isa <= nb26::isa_supported(); ++isa) {
    nb26::isa_force(isa);
    Answer all = empty, threads = empty, alone = empty;
    nb26::density_bootstrap_cpu(problem.arms, problem.queries(0, m), problem.rule(), 1, all.out());
    CHECK(near(all, one));
    on_two_threads(problem, &threads);
    for (std::int64_t i = 0; i < m; ++i) {
      nb26::density_bootstrap_cpu(problem.arms, problem.queries(i, 1), problem.rule(), 1,
                                  alone.out(i));
    }
    CHECK(same(all, threads));
    CHECK(same(all, alone));
  }
  nb26::isa_force(nb26::isa_supported());
}

// Draws of one row only: the nearest rows are counted late, or never.
void check_odd_resamples() {
  Problem problem(60, 40, 2, 5, 8, 11, 0.7);
  for (int a = 0; a < 2; ++a) {
    const std::int64_t n = problem.n[a];
    for (std::int64_t b = 0; b < 4; ++b) {
      std::fill_n(problem.counts[a].data() + b * n, n, std::uint16_t{0});
      problem.counts[a][size(b * n + (b < 2 ? b : n - b))] = static_cast<std::uint16_t>(n);
    }
  }
  check(problem);
  Answer some(problem.m, problem.n_b, problem.g);
  CHECK(one_by_one(problem, 6, &some) > 0);
}

// Under the smallest widths the likelihood of a row is that of its one nearest neighbour.
void check_settings() {
  const Problem problem(50, 30, 3, 5, 2, 4, 1.0);
  const std::int64_t k[2] = {1, 7};
  const double hx[2] = {1e-6, 2.0}, hy[3] = {0.1, 0.5, 1.0};
  const nb26::DensityGrid settings{k, hx, hy, 2, 2, 3};
  std::vector<double> out(size(50 * 12)), part(size(20 * 12));
  nb26::density_loo_cpu(problem.x[0].data(), problem.y[0].data(), 50, 3, settings, 0, 50, 1,
                        out.data());
  nb26::density_loo_cpu(problem.x[0].data(), problem.y[0].data(), 50, 3, settings, 30, 50, 1,
                        part.data());
  CHECK(std::memcmp(out.data() + 30 * 12, part.data(), part.size() * sizeof(double)) == 0);
  for (std::int64_t i = 0; i < 50; ++i) {
    for (std::int64_t h = 0; h < 3; ++h) {
      // k = 1 leaves no choice of hx, and the smallest hx none of k
      CHECK(out[size(i * 12 + h)] == out[size(i * 12 + 3 + h)]);
      if (i != 1 && i != 4) {
        CHECK(std::fabs(out[size(i * 12 + h)] - out[size(i * 12 + 6 + h)]) < 1e-9);
      }
    }
  }
  const std::int64_t ranks[3] = {1, 2, 49};
  std::vector<double> far(size(50 * 3));
  nb26::density_spread_cpu(problem.x[0].data(), 50, 3, ranks, 3, 0, 50, 1, far.data());
  CHECK(far[size(4 * 3)] == 0.0 && far[size(1 * 3)] == 0.0);
  for (std::int64_t i = 0; i < 50; ++i) {
    CHECK(far[size(i * 3)] <= far[size(i * 3 + 1)] && far[size(i * 3 + 1)] < far[size(i * 3 + 2)]);
  }
}

}  // namespace

int main() {
  check(Problem(40, 30, 3, 10, 20, 13, 0.8));
  check(Problem(31, 90, 1, 30, 7, 75, 1e-3));
  check(Problem(25, 20, 0, 19, 1, 5, 1.0));
  check(Problem(26, 26, 0, 25, 9, 11, 1.0));
  check_odd_resamples();
  check_settings();
  return failures > 0;
}
