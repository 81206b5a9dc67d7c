// Learning networks: groups of lanes, threads over groups, single problems of any size.

#include "nb26/learning.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "learning_lanes.hpp"
#include "nb26/learning_api.hpp"
#include "nb26/learning_one.hpp"
#include "nb26/philox.hpp"
#include "nb26/threads.hpp"

namespace nb26 {
namespace {

constexpr int kL = kLearnLanes;
// Trials whose trace is kept at once: beyond it the weights at the start of each stretch are, and
// its trace is made again on the way back.
constexpr std::int64_t kStretch = 16384;
constexpr std::uint32_t kSalt = 0x6C726E00u;

std::size_t sized(std::int64_t n) { return static_cast<std::size_t>(n); }

// Forward and, for a gradient, back, in stretches. Kind gives the lanes and their pieces.
template <class Kind>
void run(const Kind& kind, const LearnModel& model, const LearnData& data,
         const std::uint8_t* masks, const LearnProblems<double>& v, LearnWork& work, bool gradient,
         double* log_likelihood, double* when, double* g) {
  const int lanes = kind.lanes;
  const std::int64_t n = data.n, size = std::int64_t{model.q()} * lanes;
  const std::int64_t stretches = (n + kStretch - 1) / kStretch;
  work.trace.resize(sized((gradient ? std::min(n, kStretch) : 1) * kind.trace * lanes));
  if (gradient) work.starts.resize(sized(stretches * size));
  LearnStretch a{nullptr, nullptr,           nullptr, 0, model.ratio, model.limit, v, nullptr,
                 nullptr, work.trace.data(), true,    g};
  double part[kL], parted[kL];
  a.log_likelihood = part;
  a.when = parted;
  std::fill(log_likelihood, log_likelihood + lanes, 0.0);
  std::fill(when, when + lanes, -1.0);
  const auto place = [&](std::int64_t s) {
    const std::int64_t first = s * kStretch;
    a.x = data.x + first * model.d;
    a.trials = data.trials + first;
    a.masks = masks + first * lanes;
    a.n = std::min(kStretch, n - first);
  };
  for (std::int64_t s = 0; s < stretches; ++s) {
    place(s);
    if (gradient) std::copy_n(v.w, size, work.starts.data() + s * size);
    a.one_row = !gradient || s + 1 < stretches;
    kind.forward(a);
    for (int l = 0; l < lanes; ++l) {
      log_likelihood[l] += part[l];
      if (when[l] < 0.0 && parted[l] >= 0.0) {
        when[l] = static_cast<double>(s * kStretch) + parted[l];
      }
    }
  }
  if (!gradient) return;
  std::fill(g, g + size + 3 * lanes, 0.0);
  for (std::int64_t s = stretches - 1; s >= 0; --s) {
    place(s);
    if (s + 1 < stretches) {
      std::copy_n(work.starts.data() + s * size, size, v.w);
      a.one_row = false;
      kind.forward(a);
    }
    kind.backward(a);
  }
}

struct Lanes {
  const LearnPieces& pieces;
  int trace, lanes;
  void forward(const LearnStretch& a) const { pieces.forward(a); }
  void backward(const LearnStretch& a) const { pieces.backward(a); }
};

struct Single {
  LearnAny s;
  int trace;
  static constexpr int lanes = 1;
  void forward(const LearnStretch& a) const {
    learn_forward<true, 1>(s, a.x, a.trials, a.masks, a.n, a.ratio, a.limit, a.v, a.log_likelihood,
                           a.when, a.trace, a.one_row);
  }
  void backward(const LearnStretch& a) const {
    learn_backward<1>(s, a.x, a.trials, a.masks, a.n, a.ratio, a.v, a.trace, a.g);
  }
};

const LearnPieces* pieces_of(const LearnModel& m, int problems) {
  if (m.bias || m.lapse || m.decay != 0.0) return nullptr;
  if (!m.deep) return learn_pieces_1l(m, problems);
  if (m.curve == LearnCurve::kLine) return learn_pieces_2l(m, problems);
  return m.curve == LearnCurve::kSigmoid ? learn_pieces_2nl(m, problems) : nullptr;
}

// One mask (n) for all lanes, a multiple of four.
void spread_mask(const std::uint8_t* mask, std::int64_t n, int lanes, std::uint8_t* out) {
  for (std::int64_t t = 0; t < n; ++t) {
    const std::uint32_t four = mask[t] != 0 ? 0x01010101u : 0u;
    for (int l = 0; l < lanes; l += 4) std::memcpy(out + t * lanes + l, &four, sizeof(four));
  }
}

// w (q), alpha, beta, lapse of problems side by side.
template <class T>
LearnProblems<T> problems(T* from, int q, int lanes) {
  return {from, from + q * lanes, from + (q + 1) * lanes, from + (q + 2) * lanes};
}

}  // namespace

void learn_group(const LearnModel& model, const LearnData& data, const LearnGroup& group,
                 LearnWork& work, const LearnOut& out) {
  const int q = model.q(), p = model.p();
  const bool gradient = out.gradient != nullptr;
  const LearnPieces* pieces = pieces_of(model, group.n);
  const int lanes = pieces ? pieces->lanes : 1;
  work.lanes.resize(sized(2 * (q + 3) * lanes));
  double* theta = work.lanes.data();
  double* g = theta + (q + 3) * lanes;
  double log_likelihood[kL], when[kL];
  const LearnProblems<double> v = problems(theta, q, lanes);
  if (pieces) {
    // idle lanes repeat the first problem
    bool same = true;
    const std::uint8_t* masks = group.mask[0];
    if (lanes > 1) work.masks.resize(sized(data.n * lanes));
    for (int l = 0; l < lanes; ++l) {
      const int from = l < group.n ? l : 0;
      for (int i = 0; i < p; ++i) theta[i * lanes + l] = group.theta[from][i];
      same = same && group.mask[from] == group.mask[0];
    }
    if (lanes > 1) masks = work.masks.data();
    if (lanes > 1 && same) {
      spread_mask(group.mask[0], data.n, lanes, work.masks.data());
    } else if (lanes > 1) {
      for (int l = 0; l < lanes; ++l) {
        const std::uint8_t* mask = group.mask[l < group.n ? l : 0];
        for (std::int64_t t = 0; t < data.n; ++t) work.masks[sized(t * lanes + l)] = mask[t] != 0;
      }
    }
    run(Lanes{*pieces, pieces->trace, lanes}, model, data, masks, v, work, gradient, log_likelihood,
        when, g);
    for (int l = 0; l < group.n; ++l) {
      learn_settle(LearnAny{model}, data.n, log_likelihood[l], when[l], g + l, lanes, l, out);
    }
    return;
  }
  const Single single{LearnAny{model}, learn_trace(LearnAny{model})};
  for (int i = 0; i < group.n; ++i) {
    theta[q + 2] = 0.0;
    std::copy_n(group.theta[i], p, theta);
    run(single, model, data, group.mask[i], v, work, gradient, log_likelihood, when, g);
    learn_settle(single.s, data.n, log_likelihood[0], when[0], g, 1, i, out);
  }
}

void learn_forward_mode(const LearnModel& model, const LearnData& data, const double* theta,
                        const std::uint8_t* mask, LearnWork& work, const LearnOut& out) {
  constexpr std::int64_t kFirst = 0;
  work.lanes.resize(sized(learn_room(model, LearnMode::kForward)));
  learn_one_forward(model, data, {theta, mask, &kFirst, 1}, 0, work.lanes.data(), out);
}

void learn_batch(const LearnModel& model, const LearnData& data, const LearnBatch& batch,
                 bool forward_mode, int n_threads, const LearnOut& out) {
  const std::int64_t p = model.p(), step = forward_mode ? 1 : kL;
  const std::int64_t groups = (batch.m + step - 1) / step;
  const int threads = threads_for(n_threads, groups);
#pragma omp parallel num_threads(threads)
  {
    LearnWork work;
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t i = 0; i < groups; ++i) {
      const std::int64_t first = i * step;
      LearnGroup group{};
      group.n = static_cast<int>(std::min(step, batch.m - first));
      for (int l = 0; l < group.n; ++l) {
        group.theta[l] = batch.theta + (first + l) * p;
        group.mask[l] = batch.masks + batch.which[first + l] * data.n;
      }
      const LearnOut part{out.log_likelihood + first,
                          out.gradient ? out.gradient + first * p : nullptr, out.diverged + first};
      if (forward_mode) {
        learn_forward_mode(model, data, group.theta[0], group.mask[0], work, part);
      } else {
        learn_group(model, data, group, work, part);
      }
    }
  }
}

namespace {

// The logarithms of P(left) and P(right) of a logit.
void both_logs(double lapse, double z, double* left, double* right) {
  const double tail = exp(-std::fabs(z));
  const double less = -log1p(tail);
  const double logs[2] = {less - std::fabs(z), less};  // of the unlikely and the likely choice
  *right = logs[z >= 0.0];
  *left = logs[z < 0.0];
  if (lapse > 0.0) {
    *right = log((1.0 - lapse) * sigmoid(z) + 0.5 * lapse);
    *left = log((1.0 - lapse) * sigmoid(-z) + 0.5 * lapse);
  }
}

}  // namespace

std::int64_t learn_path(const LearnModel& model, const LearnData& data, const double* theta,
                        double* weights, double* log_left, double* log_right) {
  const LearnAny s{model};
  const int q = model.q();
  std::vector<double> h(LearnAny::kH), sums(LearnAny::kH);
  double o[2], e[2];
  std::int64_t diverged = -1;
  std::copy_n(theta, q, weights);
  const double alpha = theta[q], beta = theta[q + 1], lapse = model.lapse ? theta[q + 2] : 0.0;
  for (std::int64_t t = 0; t < data.n; ++t) {
    const LearnInputs in = learn_inputs(data.x + t * model.d, model.d, t + 1 == data.n);
    double* w = weights + t * q;
    if (t == 0) learn_sums<1>(s, w, 0, in.x, sums.data());
    learn_outputs<1>(s, w, 0, sums.data(), h.data(), o);
    const double z = learn_logit<1>(s, w, 0, beta, h.data(), o);
    both_logs(lapse, z, log_left + t, log_right + t);
    learn_error(s, data.trials[t], beta, sigmoid(z), o, e);
    std::copy_n(w, q, w + q);
    const double good = learn_move<1>(s, w + q, 0, in, data.trials[t], alpha, model.ratio,
                                      model.limit, h.data(), e, sums.data());
    if (good == 0.0 && diverged < 0) diverged = t;
  }
  return diverged;
}

void learn_simulate(const LearnModel& model, const double* x, const double* side, std::int64_t n,
                    const double* theta, std::uint64_t seed, std::int64_t first_run,
                    std::int64_t n_runs, int n_threads, const LearnRuns& out) {
  const LearnAny s{model};
  const int q = model.q();
  const PhiloxKey key = philox_key(seed, kSalt);
  const double alpha = theta[q], beta = theta[q + 1], lapse = model.lapse ? theta[q + 2] : 0.0;
  const bool by_reward = model.rule == LearnRule::kRpe || model.rule == LearnRule::kReinforce;
  const int threads = threads_for(n_threads, n_runs);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (std::int64_t run = 0; run < n_runs; ++run) {
    double h[LearnAny::kH], sums[LearnAny::kH], o[2], e[2];
    double* w = out.weights + run * q;
    std::copy_n(theta, q, w);
    for (std::int64_t t = 0; t < n; ++t) {
      const std::int64_t at = run * n + t;
      const LearnInputs in = learn_inputs(x + t * model.d, model.d, t + 1 == n);
      if (t == 0) learn_sums<1>(s, w, 0, in.x, sums);
      learn_outputs<1>(s, w, 0, sums, h, o);
      const double p = sigmoid(learn_logit<1>(s, w, 0, beta, h, o));
      const double seen = (1.0 - lapse) * p + 0.5 * lapse;
      const PhiloxWords words =
          philox(static_cast<std::uint64_t>(t), static_cast<std::uint64_t>(first_run + run), key);
      const bool right = philox_uniform(words.r0, words.r1) < seen;
      const double reward = right ? side[t] : 1.0 - side[t];  // NaN where the side is
      out.choice[at] = right;
      out.reward[at] = reward;
      out.p_right[at] = seen;
      const LearnTrial trial = learn_trial(model, right, by_reward ? reward : side[t]);
      learn_error(s, trial, beta, p, o, e);
      learn_move<1>(s, w, 0, in, trial, alpha, model.ratio, model.limit, h, e, sums);
    }
  }
}

}  // namespace nb26
