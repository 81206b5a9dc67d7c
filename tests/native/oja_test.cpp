// The Oja kernels: the CPU's lanes, tiles and blocks against a plain row loop, and against the body
// that the device runs, here with a team of one thread and with one of several, which also lets
// ThreadSanitizer look for steps that the team does not keep apart.
#include "cpu/oja.cpp"

#include <pthread.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "check.hpp"
#include "cpu/oja_double.cpp"
#include "cpu/oja_float.cpp"
#include "cpu/oja_pilot.cpp"
#include "cpu/threads.cpp"

namespace {

using nb26::OjaMultiplier;
using nb26::OjaShape;
using nb26::OjaWeights;

// What a thread block is on the device, with one thread in it.
struct Alone {
  int rank() const { return 0; }
  int size() const { return 1; }
  int lane() const { return 0; }
  int lanes() const { return 1; }
  int warp() const { return 0; }
  int warps() const { return 1; }
  void sync() const {}
  void warp_sync() const {}
  template <typename T>
  T warp_sum(T value) const {
    return value;
  }
};

// A barrier for n threads.
class Gate {
 public:
  explicit Gate(unsigned n) { pthread_barrier_init(&gate_, nullptr, n); }
  ~Gate() { pthread_barrier_destroy(&gate_); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void wait() { pthread_barrier_wait(&gate_); }

 private:
  pthread_barrier_t gate_;
};

// Two warps of four threads and what they share.
struct Warps {
  static constexpr int kLanes = 4, kWarps = 2;
  Gate all{kLanes * kWarps};
  std::array<Gate, kWarps> warps{Gate{kLanes}, Gate{kLanes}};
  std::array<double, kLanes * kWarps> values{};
};

// One of their threads.
struct Member {
  Warps* shared;
  int place;
  int rank() const { return place; }
  int size() const { return Warps::kLanes * Warps::kWarps; }
  int lane() const { return place % Warps::kLanes; }
  int lanes() const { return Warps::kLanes; }
  int warp() const { return place / Warps::kLanes; }
  int warps() const { return Warps::kWarps; }
  void sync() const { shared->all.wait(); }
  void warp_sync() const { shared->warps[static_cast<std::size_t>(warp())].wait(); }
  template <typename T>
  T warp_sum(T value) const {
    shared->values[static_cast<std::size_t>(place)] = static_cast<double>(value);
    warp_sync();
    double sum = 0.0;
    for (int i = 0; i < Warps::kLanes; ++i) {
      sum += shared->values[static_cast<std::size_t>(warp() * Warps::kLanes + i)];
    }
    warp_sync();
    return static_cast<T>(sum);
  }
};

std::int64_t up(std::int64_t n) { return (n + 7) / 8 * 8; }

// A stream of rows, its state and its replicates.
template <typename T>
struct Stream {
  OjaShape shape;
  nb26::OjaRule rule;
  OjaWeights weights;
  std::int64_t groups;
  std::vector<T> directions, open_rows, last_row, slot_rows, gram, replicates, x;
  std::vector<double> mean, open_steps, tracked, sums, slot_steps;
  std::vector<std::int64_t> counts, sizes;

  Stream(std::int64_t d, std::int64_t k, std::int64_t block, std::int64_t n, std::int64_t b,
         OjaMultiplier kind)
      : shape{
            d, k, k < d ? k + 1 : d, nb26::oja_stride<T>(d), block, kind == OjaMultiplier::kPaired},
        rule{4.0, 1.5, 0.5, true, true, true},
        weights{99, kind, kind == OjaMultiplier::kPaired ? 1 : 3},
        groups((b + nb26::kOjaLanes<T> - 1) / nb26::kOjaLanes<T>),
        directions(static_cast<std::size_t>(shape.tracked * shape.stride)),
        open_rows(static_cast<std::size_t>(nb26::oja_slot_rows(shape) * shape.stride)),
        last_row(static_cast<std::size_t>(shape.stride)),
        slot_rows(static_cast<std::size_t>(n * nb26::oja_slot_rows(shape) * shape.stride)),
        gram(static_cast<std::size_t>(n * nb26::oja_slot_rows(shape) * nb26::oja_slot_rows(shape))),
        replicates(static_cast<std::size_t>(groups * up(d) * k * nb26::kOjaLanes<T>)),
        x(static_cast<std::size_t>(n * d)),
        mean(static_cast<std::size_t>(d)),
        open_steps(static_cast<std::size_t>(nb26::oja_slot_rows(shape))),
        tracked(static_cast<std::size_t>(nb26::kOjaTracks * shape.tracked)),
        sums(nb26::kOjaSums),
        slot_steps(static_cast<std::size_t>(n * nb26::oja_slot_rows(shape))),
        counts(nb26::kOjaCounts),
        sizes(static_cast<std::size_t>(2 * n)) {
    std::mt19937_64 engine(static_cast<std::uint64_t>(d * 100 + k));
    std::normal_distribution<double> normal;
    for (std::int64_t i = 0; i < n * d; ++i) {
      x[static_cast<std::size_t>(i)] = static_cast<T>(normal(engine) * (i % d < k ? 3.0 : 1.0));
    }
    for (std::int64_t j = 0; j < shape.tracked; ++j) {
      directions[static_cast<std::size_t>(j * shape.stride + j)] = T(1);
    }
    for (std::int64_t g = 0; g < groups; ++g) {
      for (std::int64_t j = 0; j < k; ++j) {
        for (std::int64_t lane = 0; lane < nb26::kOjaLanes<T>; ++lane) {
          replicates[static_cast<std::size_t>(((g * up(d) + j) * k + j) * nb26::kOjaLanes<T> +
                                              lane)] = T(1);
        }
      }
    }
    sums[nb26::kStepScale] = 0.3;
    sums[nb26::kStepOffset] = 20.0;
    sums[nb26::kGap] = 5.0;
  }

  nb26::OjaState<T> state() {
    return {directions.data(), mean.data(),    open_rows.data(), open_steps.data(),
            last_row.data(),   tracked.data(), counts.data(),    sums.data()};
  }
  nb26::OjaSlots<T> slots() {
    return {slot_rows.data(), gram.data(), slot_steps.data(), sizes.data(),
            static_cast<std::int64_t>(sizes.size()) / 2};
  }
  // Rows a..b-1 into the state; the closed blocks are left in the slots.
  std::int64_t take(std::int64_t a, std::int64_t b) {
    const auto done = nb26::oja_rows<T>(shape, rule, state(), x.data() + a * shape.columns, nullptr,
                                        b - a, slots(), true);
    CHECK(done.rows == b - a && done.stop == nb26::OjaStop::kEnd);
    return done.blocks;
  }
  void apply(std::int64_t blocks, int n_threads) {
    nb26::oja_replicates<T>(shape, weights, slots(), blocks, replicates.data(), groups, 0,
                            n_threads);
  }
  T& at(std::int64_t b, std::int64_t c, std::int64_t j) {
    const std::int64_t lanes = nb26::kOjaLanes<T>;
    return replicates[static_cast<std::size_t>(
        (((b / lanes) * up(shape.columns) + c) * shape.components + j) * lanes + b % lanes)];
  }
};

// One replicate by the device's body, as one member of a team.
template <typename T, typename Team>
void as_member(const Team& team, Stream<T>& s, std::int64_t b, std::int64_t blocks, T* w,
               const nb26::OjaTeamScratch<T>& scratch) {
  const std::int64_t m8 = nb26::oja_slot_rows(s.shape);
  const auto slots = s.slots();
  for (std::int64_t i = 0; i < blocks; ++i) {
    nb26::oja_team_block<T>(team, s.shape, s.weights, static_cast<std::uint64_t>(b),
                            slots.sizes[2 * i], slots.sizes[2 * i + 1],
                            slots.rows + i * m8 * s.shape.stride, slots.gram + i * m8 * m8,
                            slots.steps + i * m8, w, scratch);
    team.sync();
  }
}

// The same by a whole team: one thread, or several.
template <typename T>
std::vector<T> by_team(Stream<T>& s, std::int64_t b, std::int64_t blocks, std::vector<T> w,
                       bool several = false) {
  const std::int64_t k = s.shape.components, m8 = nb26::oja_slot_rows(s.shape);
  std::vector<T> projections(static_cast<std::size_t>(k * m8)),
      weights(static_cast<std::size_t>(2 * m8));
  std::vector<double> factor(static_cast<std::size_t>(k * (k + 1) / 2)), worst(1);
  const nb26::OjaTeamScratch<T> scratch{projections.data(), weights.data(), factor.data(),
                                        worst.data()};
  if (!several) {
    as_member<T>(Alone{}, s, b, blocks, w.data(), scratch);
    return w;
  }
  Warps shared;
  std::vector<std::thread> threads;
  for (int place = 0; place < Warps::kLanes * Warps::kWarps; ++place) {
    threads.emplace_back(
        [&, place] { as_member<T>(Member{&shared, place}, s, b, blocks, w.data(), scratch); });
  }
  for (std::thread& thread : threads) thread.join();
  return w;
}

// One replicate by the definition: a row at a time, Gram-Schmidt twice when a block ends.
template <typename T>
std::vector<double> by_rows(Stream<T>& s, std::int64_t b, std::int64_t blocks) {
  const std::int64_t d = s.shape.columns, k = s.shape.components, m8 = nb26::oja_slot_rows(s.shape);
  std::vector<double> w(static_cast<std::size_t>(k * d));
  for (std::int64_t j = 0; j < k; ++j) w[static_cast<std::size_t>(j * d + j)] = 1.0;
  const auto slots = s.slots();
  for (std::int64_t i = 0; i < blocks; ++i) {
    for (std::int64_t r = 0; r < slots.sizes[2 * i]; ++r) {
      const T* y = slots.rows + (i * m8 + r) * s.shape.stride;
      const double step = slots.steps[i * m8 + r];
      if (step == 0.0) continue;  // a row that is only there for the one after it
      double omega = 0.0;
      nb26::oja_multipliers(s.weights, b, 1, slots.sizes[2 * i + 1] + r, 1, &omega);
      const bool pair = s.shape.paired && r > 0;
      if (s.shape.paired && r == 0) omega = 1.0;
      const T* z = pair ? y - s.shape.stride : y;
      for (std::int64_t j = 0; j < k; ++j) {
        double* own = w.data() + j * d;
        double score = 0.0, before = 0.0;
        for (std::int64_t c = 0; c < d; ++c) {
          score += static_cast<double>(y[c]) * own[c];
          before += static_cast<double>(z[c]) * own[c];
        }
        score *= step * omega;
        before *= pair ? step * (1.0 - omega) : 0.0;
        for (std::int64_t c = 0; c < d; ++c) {
          own[c] += score * static_cast<double>(y[c]) + before * static_cast<double>(z[c]);
        }
      }
    }
    for (std::int64_t j = 0; j < k; ++j) {
      double* own = w.data() + j * d;
      for (int pass = 0; pass < 2; ++pass) {
        for (std::int64_t h = 0; h < j; ++h) {
          double dot = 0.0;
          for (std::int64_t c = 0; c < d; ++c)
            dot += own[c] * w[static_cast<std::size_t>(h * d + c)];
          for (std::int64_t c = 0; c < d; ++c)
            own[c] -= dot * w[static_cast<std::size_t>(h * d + c)];
        }
      }
      double length = 0.0;
      for (std::int64_t c = 0; c < d; ++c) length += own[c] * own[c];
      for (std::int64_t c = 0; c < d; ++c) own[c] /= std::sqrt(length);
    }
  }
  return w;
}

template <typename T>
void check_agreement(std::int64_t d, std::int64_t k, std::int64_t block, OjaMultiplier kind) {
  const std::int64_t n = 150, b = 11;
  const double near = sizeof(T) == 8 ? 1e-12 : 3e-5;
  std::vector<T> before;
  for (int isa = 0; isa <= nb26::isa_supported(); ++isa) {
    nb26::isa_force(isa);
    Stream<T> s(d, k, block, n, b, kind);
    const std::int64_t blocks = s.take(0, n);
    CHECK(blocks > 1);
    std::vector<T> start(static_cast<std::size_t>(k * d));
    for (std::int64_t j = 0; j < k; ++j) start[static_cast<std::size_t>(j * d + j)] = T(1);
    s.apply(blocks, 1);
    for (std::int64_t r = 0; r < b; ++r) {
      const auto team = by_team<T>(s, r, blocks, start);
      const auto rows = by_rows<T>(s, r, blocks);
      for (std::int64_t j = 0; j < k; ++j) {
        for (std::int64_t c = 0; c < d; ++c) {
          const auto i = static_cast<std::size_t>(j * d + c);
          const double own = static_cast<double>(s.at(r, c, j));
          CHECK(std::abs(own - static_cast<double>(team[i])) < near);
          CHECK(std::abs(own - rows[i]) < near);
        }
      }
    }
    // levels 1 and 2 both fuse, in the same order
    if (isa == 2) CHECK(before == s.replicates);
    before = s.replicates;
  }
  nb26::isa_force(nb26::isa_supported());
}

// Rows, steps and weights with a result known to many digits: g = 1/2, -1/2, 1/2, ...
template <typename T>
void check_known_pairs(std::int64_t block, double near) {
  constexpr std::int64_t d = 5, k = 2, n = 60, kLanes = nb26::kOjaLanes<T>;
  constexpr double kKnown[d][k] = {{.98566757100705056, -.054563123166178329},
                                   {.044331138002979225, .98951106685095744},
                                   {-.07791008356460831, .058930894612566936},
                                   {-.112473870427388, -.040309434606341925},
                                   {-.088169365532823421, -.11310620368358258}};
  Stream<T> s(d, k, block, n, 1, OjaMultiplier::kPaired);
  for (std::int64_t t = 0; t < n; ++t) {
    for (std::int64_t j = 0; j < d; ++j) {
      const auto row = static_cast<double>(t), column = static_cast<double>(j);
      s.x[static_cast<std::size_t>(t * d + j)] =
          static_cast<T>(std::cos(0.7 * (row + 1) * (column + 1)) / (column + 1) +
                         0.25 * std::sin(0.3 * row * row + column));
    }
  }
  s.rule.center = s.rule.refresh_gap = s.rule.refresh_steps = false;
  const std::vector<double> steps(n, 0.05);
  const auto done =
      nb26::oja_rows<T>(s.shape, s.rule, s.state(), s.x.data(), steps.data(), n, s.slots(), true);
  const auto slots = s.slots();
  const std::int64_t closed =
      done.blocks +
      nb26::oja_close<T>(
          s.shape, s.state(),
          {slots.rows + done.blocks * nb26::oja_slot_rows(s.shape) * s.shape.stride,
           slots.gram + done.blocks * nb26::oja_slot_rows(s.shape) * nb26::oja_slot_rows(s.shape),
           slots.steps + done.blocks * nb26::oja_slot_rows(s.shape), slots.sizes + 2 * done.blocks,
           1});
  const std::int64_t m8 = nb26::oja_slot_rows(s.shape);
  nb26::LaneScratch<T> room(k, m8, kLanes);
  const auto scratch = room.view();
  for (std::int64_t b = 0; b < closed; ++b) {
    const std::int64_t m = slots.sizes[2 * b], first = slots.sizes[2 * b + 1];
    std::fill(scratch.weights, scratch.weights + 2 * m8 * kLanes, T(0));
    for (std::int64_t j = 0; j < m; ++j) {
      const double g = j == 0 ? 0.0 : (first + j) % 2 ? 0.5 : -0.5;
      const nb26::OjaPair pair = nb26::oja_pair(slots.steps[b * m8 + j], 1.0 + g);
      for (std::int64_t l = 0; l < kLanes; ++l) {
        scratch.weights[j * kLanes + l] = static_cast<T>(pair.own);
        if (j > 0) scratch.weights[(m8 + j - 1) * kLanes + l] = static_cast<T>(pair.next);
      }
    }
    nb26::oja_lanes_block<T>(nb26::table<T>().group, s.replicates.data(), up(d), k, s.shape.stride,
                             m, m8, slots.rows + b * m8 * s.shape.stride, slots.gram + b * m8 * m8,
                             scratch, true);
  }
  for (std::int64_t c = 0; c < d; ++c) {
    for (std::int64_t j = 0; j < k; ++j) {
      CHECK(std::abs(static_cast<double>(s.at(0, c, j)) - kKnown[c][j]) < near);
    }
  }
}

template <typename T>
void check_team(std::int64_t d, std::int64_t k, OjaMultiplier kind) {
  Stream<T> s(d, k, 16, 60, 1, kind);
  const std::int64_t blocks = s.take(0, 60);
  CHECK(blocks > 1);
  std::vector<T> start(static_cast<std::size_t>(k * d));
  for (std::int64_t j = 0; j < k; ++j) start[static_cast<std::size_t>(j * d + j)] = T(1);
  const auto one = by_team<T>(s, 0, blocks, start), all = by_team<T>(s, 0, blocks, start, true);
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(std::abs(one[i] - all[i]) < (sizeof(T) == 8 ? 1e-13 : 1e-5));
  }
}

template <typename T>
void check_chunks(OjaMultiplier kind) {
  Stream<T> whole(13, 3, 16, 200, 20, kind);
  whole.apply(whole.take(0, 200), 1);
  for (const std::int64_t size : {1, 7, 16, 33}) {
    Stream<T> cut(13, 3, 16, 200, 20, kind);
    for (std::int64_t a = 0; a < 200; a += size) {
      cut.apply(cut.take(a, std::min<std::int64_t>(200, a + size)), 1);
    }
    CHECK(cut.replicates == whole.replicates && cut.directions == whole.directions);
    CHECK(cut.sums == whole.sums && cut.tracked == whole.tracked && cut.counts == whole.counts);
  }
}

template <typename T>
void check_threads() {
  Stream<T> one(21, 2, 16, 200, 40, OjaMultiplier::kExponential);
  Stream<T> two = one;
  one.apply(one.take(0, 200), 1);
#ifndef __SANITIZE_THREAD__
  // ThreadSanitizer does not see the barriers of OpenMP's library
  two.apply(two.take(0, 200), 2);
  CHECK(one.replicates == two.replicates);
#else
  Stream<T> other = two;
  std::thread caller([&other] { other.apply(other.take(0, 200), 1); });
  two.apply(two.take(0, 200), 1);
  caller.join();
  CHECK(one.replicates == two.replicates && one.replicates == other.replicates);
#endif
}

void check_refusals() {
  Stream<float> s(5, 2, 16, 20, 1, OjaMultiplier::kDouble);
  s.x[17] = 1e25f;
  auto done =
      nb26::oja_rows<float>(s.shape, s.rule, s.state(), s.x.data(), nullptr, 20, s.slots(), true);
  CHECK(done.rows == 3 && done.stop == nb26::OjaStop::kTooLarge && s.counts[0] == 3);
  Stream<float> t(5, 2, 16, 20, 1, OjaMultiplier::kDouble);
  std::vector<double> steps(20, 0.01);
  steps[4] = 1e-60;
  done = nb26::oja_rows<float>(t.shape, t.rule, t.state(), t.x.data(), steps.data(), 20, t.slots(),
                               true);
  CHECK(done.rows == 4 && done.stop == nb26::OjaStop::kBadStep && t.counts[0] == 4);
}

// A column that equals the one before it: the passes must still end with an orthonormal pair.
void check_dependent_columns() {
  Stream<double> s(6, 2, 8, 1, 8, OjaMultiplier::kDouble);
  for (std::int64_t b = 0; b < 8; ++b) {
    for (std::int64_t c = 0; c < 6; ++c) {
      s.at(b, c, 0) = 1.0 + static_cast<double>(c);
      s.at(b, c, 1) =
          1.0 + static_cast<double>(c) + (b % 2 ? 1e-9 * static_cast<double>(c * c) : 0);
    }
  }
  nb26::oja_orthonormalise<double>(s.shape, s.replicates.data(), s.groups, 1);
  for (std::int64_t b = 1; b < 8; b += 2) {
    double dot = 0.0, length = 0.0;
    for (std::int64_t c = 0; c < 6; ++c) {
      dot += s.at(b, c, 0) * s.at(b, c, 1);
      length += s.at(b, c, 1) * s.at(b, c, 1);
    }
    CHECK(std::abs(dot) < 1e-14 && std::abs(length - 1.0) < 1e-14);
  }
  for (std::int64_t c = 0; c < 6; ++c) CHECK(std::isfinite(s.at(0, c, 1)));
}

// Weighted pilots: rows of unit length, at right angles, and no part of them leaves the span that
// the weighted scatter maps onto itself.
template <typename T>
void check_pilot(std::int64_t n, std::int64_t d, std::int64_t k, int n_threads) {
  Stream<T> s(d, k, 8, n, 16, OjaMultiplier::kDouble);
  std::vector<double> rows(s.x.begin(), s.x.end()), gram(static_cast<std::size_t>(n * n));
  const auto y = [&](std::int64_t t, std::int64_t c) {
    return rows[static_cast<std::size_t>(t * d + c)];
  };
  for (std::int64_t t = 0; t < n; ++t) {
    for (std::int64_t u = 0; u < n; ++u) {
      for (std::int64_t c = 0; c < d; ++c) {
        gram[static_cast<std::size_t>(t * n + u)] += y(t, c) * y(u, c);
      }
    }
  }
  std::vector<double> coefficients(static_cast<std::size_t>(2 * n * k * nb26::kPilotLanes));
  std::vector<nb26::PilotEnd> ends(2 * nb26::kPilotLanes);
  nb26::oja_pilot_vectors(s.weights, gram.data(), n, k, 0, 2, coefficients.data(), ends.data(),
                          n_threads);
  nb26::oja_pilot_start<T>(s.shape, rows.data(), n, coefficients.data(), 2, s.replicates.data(),
                           n_threads);
  const double near = sizeof(T) == 8 ? 1e-11 : 1e-5;
  std::vector<double> omega(static_cast<std::size_t>(n));
  for (std::int64_t b = 0; b < 16; ++b) {
    CHECK(ends[static_cast<std::size_t>(b)] == nb26::PilotEnd::kGood);
    nb26::oja_multipliers(s.weights, b, 1, 1, n, omega.data());
    for (std::int64_t j = 0; j < k; ++j) {
      std::vector<double> image(static_cast<std::size_t>(d));
      for (std::int64_t t = 0; t < n; ++t) {
        double score = 0.0;
        for (std::int64_t c = 0; c < d; ++c) score += y(t, c) * static_cast<double>(s.at(b, c, j));
        for (std::int64_t c = 0; c < d; ++c) {
          image[static_cast<std::size_t>(c)] +=
              omega[static_cast<std::size_t>(t)] * score * y(t, c);
        }
      }
      double value = 0.0;
      for (std::int64_t c = 0; c < d; ++c) {
        value += image[static_cast<std::size_t>(c)] * static_cast<double>(s.at(b, c, j));
      }
      for (std::int64_t c = 0; c < d; ++c) {
        const double rest =
            image[static_cast<std::size_t>(c)] - value * static_cast<double>(s.at(b, c, j));
        CHECK(std::abs(rest) < near * value);
      }
      for (std::int64_t i = 0; i <= j; ++i) {
        double dot = i == j ? -1.0 : 0.0;
        for (std::int64_t c = 0; c < d; ++c) {
          dot += static_cast<double>(s.at(b, c, i)) * static_cast<double>(s.at(b, c, j));
        }
        CHECK(std::abs(dot) < near);
      }
    }
  }
}

// Single precision: columns whose squares overflow, beside lanes that must not notice.
void check_long_columns() {
  Stream<float> s(40, 2, 8, 1, 16, OjaMultiplier::kDouble);
  for (std::int64_t b = 0; b < 16; ++b) {
    for (std::int64_t c = 0; c < 40; ++c) {
      for (std::int64_t j = 0; j < 2; ++j) {
        s.at(b, c, j) = static_cast<float>(std::sin(1.0 + static_cast<double>(c * (j + 1))));
      }
    }
  }
  Stream<float> plain = s;
  for (std::int64_t c = 0; c < 40; ++c) {
    s.at(3, c, 0) *= 0x1p110f;
    s.at(5, c, 1) *= 0x1p120f;
  }
  nb26::oja_orthonormalise<float>(s.shape, s.replicates.data(), s.groups, 1);
  nb26::oja_orthonormalise<float>(plain.shape, plain.replicates.data(), plain.groups, 1);
  for (std::int64_t b = 0; b < 16; ++b) {
    for (std::int64_t c = 0; c < 40; ++c) {
      for (std::int64_t j = 0; j < 2; ++j) {
        const float own = s.at(b, c, j), other = plain.at(b, c, j);
        CHECK(b == 3 || b == 5 ? std::abs(own - other) < 1e-6f : own == other);
      }
    }
  }
}

// Rows and replicates in one call, with one of the threads a few blocks ahead of the others.
template <typename T>
void check_advance(OjaMultiplier kind) {
  constexpr std::int64_t d = 21, k = 3, n = 190, kBlock = 8;
  Stream<T> apart(d, k, kBlock, n, 30, kind);
  apart.apply(apart.take(0, n), 1);
  for (const std::int64_t slots : {1, 2, 3, 5}) {
#ifdef __SANITIZE_THREAD__
    for (const int threads : {1}) {  // it does not see what OpenMP keeps apart
#else
    for (const int threads : {1, 2, 3}) {
#endif
      Stream<T> s(d, k, kBlock, n, 30, kind);
      auto room = s.slots();
      room.slots = slots;
      const auto done =
          nb26::oja_advance<T>(s.shape, s.rule, s.state(), s.x.data(), nullptr, n, room, s.weights,
                               s.replicates.data(), s.groups, 0, threads);
      CHECK(done.rows == n && done.stop == nb26::OjaStop::kEnd);
      CHECK(done.blocks > slots);
      CHECK(s.replicates == apart.replicates && s.directions == apart.directions);
      CHECK(s.counts == apart.counts && s.sums == apart.sums);
      // a row that is refused leaves everything before it in place
      Stream<T> bad(d, k, kBlock, n, 30, kind), good(d, k, kBlock, n, 30, kind);
      bad.x[static_cast<std::size_t>(100 * d)] = std::numeric_limits<T>::max();
      const auto most = [&](Stream<T>& stream, std::int64_t rows) {
        auto few = stream.slots();
        few.slots = slots;
        return nb26::oja_advance<T>(stream.shape, stream.rule, stream.state(), stream.x.data(),
                                    nullptr, rows, few, stream.weights, stream.replicates.data(),
                                    stream.groups, 0, threads);
      };
      const auto stopped = most(bad, n);
      CHECK(stopped.rows == 100 && stopped.stop == nb26::OjaStop::kTooLarge);
      CHECK(most(good, 100).rows == 100);
      CHECK(bad.replicates == good.replicates && bad.directions == good.directions);
    }
  }
}

}  // namespace

int main() {
  check_agreement<double>(13, 3, 16, OjaMultiplier::kDouble);
  check_agreement<double>(40, 5, 12, OjaMultiplier::kExponential);
  check_agreement<double>(150, 4, 64, OjaMultiplier::kDouble);
  check_agreement<double>(3, 3, 9, OjaMultiplier::kDouble);
  check_agreement<double>(1, 1, 8, OjaMultiplier::kExponential);
  check_agreement<float>(13, 3, 16, OjaMultiplier::kDouble);
  check_agreement<float>(70, 7, 20, OjaMultiplier::kExponential);
  check_agreement<double>(13, 3, 16, OjaMultiplier::kPaired);
  check_agreement<double>(40, 5, 15, OjaMultiplier::kPaired);
  check_agreement<double>(7, 2, 1, OjaMultiplier::kPaired);
  check_agreement<float>(33, 4, 20, OjaMultiplier::kPaired);
  for (const std::int64_t block : {1, 7, 15, 16, 64}) check_known_pairs<double>(block, 1e-10);
  check_known_pairs<float>(16, 1e-5);
  check_team<double>(13, 3, OjaMultiplier::kDouble);
  check_team<float>(9, 5, OjaMultiplier::kDouble);
  check_team<double>(11, 2, OjaMultiplier::kPaired);
  check_chunks<double>(OjaMultiplier::kDouble);
  check_chunks<float>(OjaMultiplier::kDouble);
  check_chunks<double>(OjaMultiplier::kPaired);
  check_advance<double>(OjaMultiplier::kDouble);
  check_advance<float>(OjaMultiplier::kExponential);
  check_advance<double>(OjaMultiplier::kPaired);
  check_threads<double>();
  check_threads<float>();
  check_pilot<double>(40, 23, 3, 1);
  check_pilot<float>(33, 70, 6, 1);
#ifndef __SANITIZE_THREAD__
  check_pilot<double>(30, 130, 2, 2);
#endif
  check_refusals();
  check_dependent_columns();
  check_long_columns();
  return failures != 0;
}
