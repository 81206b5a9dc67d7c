// The Gaussian kernel: eight problems side by side against one per thread as the device runs them;
// the same bits for any neighbours and any threads; problems that have no values.
#include "cpu/gaussian_pid.cpp"

#include <cmath>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "check.hpp"
#include "cpu/threads.cpp"
#include "nb26/gaussian_pid_one.hpp"

namespace {

using nb26::PidChannels;
using nb26::PidCovariances;
using nb26::PidDims;
using nb26::PidDraws;
using nb26::PidEnd;
using nb26::PidOut;

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

struct Answer {
  std::vector<double> information, means;
  std::vector<PidEnd> ends;
  explicit Answer(std::int64_t n) : information(size(4 * n)), means(size(4 * n)), ends(size(n)) {}
  PidOut out() { return {information.data(), means.data(), ends.data()}; }
};

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

bool near(const std::vector<double>& a, const std::vector<double>& b) {
  bool all = true;
  for (std::size_t i = 0; i < a.size(); ++i) {
    all = all && std::fabs(a[i] - b[i]) <= 1e-10 * std::fmax(1.0, std::fabs(a[i]));
  }
  return all;
}

// Covariances, factors of draws and channels of one size.
struct Problems {
  PidDims dims;
  std::int64_t n, bins, n_draws;
  std::vector<double> covs, factors, r, k;

  Problems(const PidDims& sizes, std::int64_t count)
      : dims(sizes),
        n(count),
        bins(2),
        n_draws(2),
        covs(size(n * dims.all() * dims.all())),
        factors(size(n_draws * dims.all() * dims.all())),
        r(size(bins * dims.y * dims.sources())),
        k(size(bins * n * dims.m * dims.sources())) {
    std::mt19937_64 engine(static_cast<std::uint64_t>(dims.all()));
    std::normal_distribution<double> normal;
    const std::int64_t d = dims.all(), terms = 2 * d;
    std::vector<double> x(size(d * terms));
    for (std::int64_t q = 0; q < n; ++q) {
      for (double& value : x) value = normal(engine);
      for (std::int64_t i = 0; i < d; ++i) {
        for (std::int64_t j = 0; j < d; ++j) {
          double sum = 0.0;
          for (std::int64_t t = 0; t < terms; ++t)
            sum += x[size(i * terms + t)] * x[size(j * terms + t)];
          covs[size((q * d + i) * d + j)] = sum / static_cast<double>(terms);
        }
      }
    }
    for (std::int64_t b = 0; b < n_draws; ++b) {
      for (std::int64_t i = 0; i < d; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
          factors[size((b * d + i) * d + j)] = i == j ? 1.0 : 0.1 * normal(engine);
        }
      }
    }
    const double scale = 0.4 / std::sqrt(static_cast<double>(dims.sources() * dims.m));
    for (double& value : r) value = normal(engine);
    for (double& value : k) value = scale * normal(engine);
  }
  PidCovariances covariances() const { return {covs.data(), n, dims}; }
  PidDraws draws() const { return {factors.data(), n_draws}; }
  PidChannels channels() const { return {r.data(), k.data(), bins, n, dims}; }
};

// What the device does, thread by thread.
void one_by_one(const Problems& problems, Answer* covariances, Answer* channels) {
  const PidDims& dims = problems.dims;
  const std::int64_t d = dims.all();
  std::vector<double> turned(problems.factors.size());
  nb26::pid_turn(problems.factors.data(), problems.n_draws, d, turned.data());
  const PidDraws draws{turned.data(), problems.n_draws};
  std::vector<double> memory(size(nb26::pid_warp_room(dims, false, true)));
  for (std::int64_t at = 0; at < problems.n; ++at) {
    nb26::pid_covariance_one(problems.covariances(), draws, covariances->out(), at,
                             memory.data() + at % nb26::kPidWarp);
  }
  const std::int64_t n_bases = problems.bins * (problems.n_draws + 1);
  std::vector<double> bases(size(n_bases * dims.y * dims.sources()));
  for (std::int64_t at = 0; at < n_bases; ++at) {
    nb26::pid_basis_one(problems.channels(), draws, at, bases.data());
  }
  std::vector<double> other(size(nb26::pid_warp_room(dims, true, true)));
  for (std::int64_t at = 0; at < problems.bins * problems.n; ++at) {
    nb26::pid_channel_one(problems.channels(), bases.data(), draws, channels->out(), at,
                          other.data() + at % nb26::kPidWarp);
  }
}

// By OpenMP, whose own synchronisation the thread sanitizer does not see: there by two callers.
void on_two_threads(const Problems& problems, Answer* covariances, Answer* channels) {
#ifndef __SANITIZE_THREAD__
  nb26::gaussian_pid_cpu(problems.covariances(), problems.draws(), covariances->out(), 2);
  nb26::gaussian_pid_cpu(problems.channels(), problems.draws(), channels->out(), 2);
#else
  Answer other = *covariances;
  std::thread first([&] {
    nb26::gaussian_pid_cpu(problems.covariances(), problems.draws(), covariances->out(), 1);
    nb26::gaussian_pid_cpu(problems.channels(), problems.draws(), channels->out(), 1);
  });
  std::thread second(
      [&] { nb26::gaussian_pid_cpu(problems.covariances(), problems.draws(), other.out(), 1); });
  first.join();
  second.join();
  CHECK(same(other.information, covariances->information));
#endif
}

void check_sizes(const PidDims& dims, std::int64_t n) {
  const Problems problems(dims, n);
  for (int isa = 0; isa <= nb26::isa_supported(); ++isa) {
    nb26::isa_force(isa);
    Answer covariances(n), channels(2 * n), one(n), one_channels(2 * n);
    nb26::gaussian_pid_cpu(problems.covariances(), problems.draws(), covariances.out(), 1);
    nb26::gaussian_pid_cpu(problems.channels(), problems.draws(), channels.out(), 1);
    one_by_one(problems, &one, &one_channels);
    for (const Answer* answer : {&covariances, &channels, &one, &one_channels}) {
      for (const PidEnd end : answer->ends) CHECK(end == PidEnd::kGood);
    }
    CHECK(near(covariances.information, one.information));
    CHECK(near(covariances.means, one.means));
    CHECK(near(channels.information, one_channels.information));
    CHECK(near(channels.means, one_channels.means));

    // two threads, and every problem without its neighbours
    Answer threads(n), thread_channels(2 * n), alone(n);
    on_two_threads(problems, &threads, &thread_channels);
    for (std::int64_t at = 0; at < n; ++at) {
      const std::int64_t d = dims.all();
      const PidOut own{alone.information.data() + 4 * at, alone.means.data() + 4 * at,
                       alone.ends.data() + at};
      nb26::gaussian_pid_cpu({problems.covs.data() + at * d * d, 1, dims}, problems.draws(), own,
                             1);
    }
    CHECK(same(covariances.information, threads.information));
    CHECK(same(covariances.means, threads.means));
    CHECK(same(channels.information, thread_channels.information));
    CHECK(same(channels.means, thread_channels.means));
    CHECK(same(covariances.information, alone.information));
    CHECK(same(covariances.means, alone.means));
  }
  nb26::isa_force(nb26::isa_supported());
}

// Problems without values among good ones, which they must not touch.
void check_ends() {
  const PidDims dims{2, 2, 2};
  const std::int64_t d = dims.all(), n = 11;
  Problems problems(dims, n);
  Answer before(n);
  nb26::gaussian_pid_cpu(problems.covariances(), problems.draws(), before.out(), 1);
  double* twin = problems.covs.data() + 3 * d * d;  // x2 = x1
  for (std::int64_t j = 0; j < d; ++j) twin[d + j] = twin[j];
  for (std::int64_t i = 0; i < d; ++i) twin[i * d + 1] = twin[i * d];
  double* copy = problems.covs.data() + 5 * d * d;  // m2 = x1
  for (std::int64_t j = 0; j < d; ++j) copy[5 * d + j] = copy[j];
  for (std::int64_t i = 0; i < d; ++i) copy[i * d + 5] = copy[i * d];
  double* same_target = problems.covs.data() + 6 * d * d;  // m2 = m1
  for (std::int64_t j = 0; j < d; ++j) same_target[5 * d + j] = same_target[4 * d + j];
  for (std::int64_t i = 0; i < d; ++i) same_target[i * d + 5] = same_target[i * d + 4];
  problems.covs[size(8 * d * d)] = -1.0;
  problems.covs[size(9 * d * d)] = std::nan("");
  Answer after(n), one(n), channels(2 * n);
  nb26::gaussian_pid_cpu(problems.covariances(), problems.draws(), after.out(), 1);
  one_by_one(problems, &one, &channels);
  for (std::int64_t at = 0; at < n; ++at) {
    const PidEnd expected = at == 3 || at == 6 || at == 8 || at == 9 ? PidEnd::kNotPositive
                            : at == 5                                ? PidEnd::kInfinite
                                                                     : PidEnd::kGood;
    CHECK(after.ends[size(at)] == expected);
    CHECK(one.ends[size(at)] == expected);
    for (std::int64_t i = 4 * at; i < 4 * at + 4; ++i) {
      if (expected == PidEnd::kGood) {
        CHECK(after.information[size(i)] == before.information[size(i)]);
        CHECK(after.means[size(i)] == before.means[size(i)]);
      } else {
        CHECK(std::isnan(after.information[size(i)]));
        CHECK(std::isnan(one.means[size(i)]));
      }
    }
  }
}

}  // namespace

int main() {
  check_sizes({1, 1, 1}, 9);
  check_sizes({1, 2, 3}, 3);
  check_sizes({5, 2, 4}, 5);
  check_sizes({3, 7, 11}, 34);
  check_sizes({12, 9, 10}, 8);
  check_ends();
  return failures > 0;
}
