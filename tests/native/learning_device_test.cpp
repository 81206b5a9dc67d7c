// What a thread of the device does for a problem of learning, run on the host: its numbers are
// those of the lanes within 1e-10, for every network, rule and option; NaN guards; its place in a
// warp does not matter.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "cpu/learning.cpp"
#include "cpu/philox.cpp"
#include "cpu/threads.cpp"
#include "nb26/learning_one.hpp"

namespace nb26 {

// Lanes of the default sizes: those of all sizes take minutes under a sanitizer.
const LearnPieces* learn_pieces_1l(const LearnModel& m, int problems) {
  return m.d == 3 ? learn_kind<LearnCurve::kLine, false, 0, 3>(m, problems) : nullptr;
}
const LearnPieces* learn_pieces_2l(const LearnModel&, int) { return nullptr; }
const LearnPieces* learn_pieces_2nl(const LearnModel& m, int problems) {
  return m.d == 3 && m.h == 2 ? learn_kind<LearnCurve::kSigmoid, true, 2, 3>(m, problems) : nullptr;
}

}  // namespace nb26

namespace {

using nb26::LearnBatch;
using nb26::LearnCurve;
using nb26::LearnData;
using nb26::LearnModel;
using nb26::LearnOut;
using nb26::LearnRule;

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

struct Answer {
  std::vector<double> log_likelihood, gradient;
  std::vector<std::int64_t> diverged;
  Answer(std::int64_t m, std::int64_t p)
      : log_likelihood(size(m)), gradient(size(m * p)), diverged(size(m)) {}
  LearnOut out() { return {log_likelihood.data(), gradient.data(), diverged.data()}; }
  LearnOut values() { return {log_likelihood.data(), nullptr, diverged.data()}; }
};

// Inputs, outcomes of every kind, and problems of a model.
struct Problems {
  static constexpr std::int64_t kTrials = 80, kProblems = 35, kMasks = 2;
  std::vector<double> x, theta;
  std::vector<nb26::LearnTrial> trials;
  std::vector<std::uint8_t> masks;
  std::vector<std::int64_t> which;

  explicit Problems(const LearnModel& model)
      : x(size(kTrials * model.d)),
        theta(size(kProblems * model.p())),
        masks(size(kTrials * kMasks)),
        which(size(kProblems)) {
    std::mt19937_64 engine(12);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    std::vector<std::int8_t> choice(size(kTrials));
    std::vector<double> drive(size(kTrials));
    for (double& value : x) value = normal(engine);
    for (std::size_t t = 0; t < drive.size(); ++t) {
      choice[t] = uniform(engine) < 0.5;
      drive[t] = t % 7 == 3   ? std::numeric_limits<double>::quiet_NaN()
                 : t % 5 == 0 ? 0.5
                              : static_cast<double>(uniform(engine) < 0.7);
    }
    trials = nb26::learn_trials(model, choice.data(), drive.data(), kTrials);
    for (std::uint8_t& value : masks) value = uniform(engine) < 0.8;
    for (std::int64_t i = 0; i < kProblems; ++i) {
      double* at = theta.data() + i * model.p();
      for (int j = 0; j < model.q(); ++j) at[j] = 0.7 * normal(engine);
      // the last few learn so fast that some of them diverge
      at[model.q()] = std::exp(i < kProblems - 5 ? -4.0 + uniform(engine) : 1.0 + uniform(engine));
      at[model.q() + 1] = std::exp(uniform(engine));
      if (model.lapse) at[model.q() + 2] = i == 3 ? 0.0 : 0.3 * uniform(engine);
      which[size(i)] = i % kMasks;
    }
  }
  LearnData data() const { return {x.data(), trials.data(), kTrials}; }
  LearnBatch batch() const { return {theta.data(), masks.data(), which.data(), kProblems}; }
};

// The kernels of the device, thread after thread.
struct OnHost {
  const LearnModel& model;
  const Problems& in;
  bool gradient;
  Answer& to;

  template <class S>
  void operator()(const S& s) const {
    const std::int64_t warps = (Problems::kProblems + nb26::kLearnWarp - 1) / nb26::kLearnWarp;
    const std::int64_t each = Problems::kTrials * nb26::learn_trace(s) * nb26::kLearnWarp;
    std::vector<double> traces(size(warps * each));
    std::vector<double> room(size(nb26::learn_room(model, nb26::LearnMode::kReverse)));
    for (std::int64_t i = Problems::kProblems - 1; i >= 0; --i) {
      double* trace = traces.data() + i / nb26::kLearnWarp * each + i % nb26::kLearnWarp;
      if (gradient) {
        nb26::learn_one<true>(s, model, in.data(), in.batch(), i, room.data(), trace, to.out());
      } else {
        nb26::learn_one<false>(s, model, in.data(), in.batch(), i, room.data(), nullptr,
                               to.values());
      }
    }
  }
};

double norm(const double* g, int p) {
  double sum = 0.0;
  for (int i = 0; i < p; ++i) sum += g[i] * g[i];
  return std::sqrt(sum);
}

bool near(double a, double b, double scale) {
  return std::fabs(a - b) <= 1e-10 * std::fmax(1.0, scale);
}

std::int64_t n_good = 0, n_diverged = 0;

void compare(const LearnModel& model, const Answer& a, const Answer& b, bool gradient) {
  const int p = model.p();
  for (std::int64_t i = 0; i < Problems::kProblems; ++i) {
    const double* ga = a.gradient.data() + i * p;
    const double* gb = b.gradient.data() + i * p;
    const double scale = norm(ga, p);
    if (scale > 1e6) continue;  // chaotic: rounding itself is blown up
    CHECK(a.diverged[size(i)] == b.diverged[size(i)]);
    CHECK(near(a.log_likelihood[size(i)], b.log_likelihood[size(i)],
               std::fabs(a.log_likelihood[size(i)])));
    for (int j = 0; gradient && j < p; ++j) CHECK(near(ga[j], gb[j], scale));
    ++(a.diverged[size(i)] < 0 ? n_good : n_diverged);
  }
}

void check(const LearnModel& model) {
  const Problems in(model);
  const int p = model.p();
  Answer lanes(Problems::kProblems, p), thread(Problems::kProblems, p),
      values(Problems::kProblems, p), forward(Problems::kProblems, p);
  nb26::learn_batch(model, in.data(), in.batch(), false, 1, lanes.out());
  nb26::learn_dispatch(model, OnHost{model, in, true, thread});
  compare(model, lanes, thread, true);
  // without a gradient the guard on it cannot strike
  nb26::learn_dispatch(model, OnHost{model, in, false, values});
  for (std::int64_t i = 0; i < Problems::kProblems; ++i) {
    if (thread.diverged[size(i)] >= 0) continue;
    CHECK(thread.log_likelihood[size(i)] == values.log_likelihood[size(i)]);
  }
  std::vector<double> room(size(nb26::learn_room(model, nb26::LearnMode::kForward)));
  for (std::int64_t i = 0; i < Problems::kProblems; ++i) {
    nb26::learn_one_forward(model, in.data(), in.batch(), i, room.data(), forward.out());
  }
  compare(model, lanes, forward, true);
}

void check_all() {
  for (int rule = 0; rule < 5; ++rule) {
    for (int k = 1; k <= 2; ++k) {
      for (int network = 0; network < 5; ++network) {
        for (int option = 0; option < 3; ++option) {
          LearnModel m{};
          m.deep = network > 0;
          m.curve = network > 0 ? static_cast<LearnCurve>(network - 1) : LearnCurve::kLine;
          m.rule = static_cast<LearnRule>(rule);
          m.k = k;
          m.h = !m.deep ? 0 : option == 2 ? 3 : 2;
          m.d = option == 2 ? 4 : 3;
          m.bias = m.deep && option == 1;
          m.lapse = option == 1;
          m.baseline = option == 1 ? 0.25 : 0.0;
          m.skip = option == 1;
          m.ratio = option == 2 ? 1.7 : 1.0;
          m.decay = option == 1 ? 0.01 : 0.0;
          m.limit = option == 2 ? 50.0 : 1e4;
          check(m);
        }
      }
    }
  }
}

}  // namespace

int main() {
  check_all();
  std::printf("%lld comparisons, %lld of problems that diverged\n",
              static_cast<long long>(n_good + n_diverged), static_cast<long long>(n_diverged));
  CHECK(n_good > 1000);
  CHECK(n_diverged > 100);
  return failures != 0;
}
