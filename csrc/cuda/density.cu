// Conditional-density bootstrap on the device: a block per query, its room in global memory.

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "device_memory.hpp"
#include "nb26/density.hpp"
#include "nb26/density_api.hpp"
#include "nb26/density_one.hpp"

namespace nb26 {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kBlocksPerProcessor = 4;
constexpr double kMemoryShare = 0.5;  // of what is free, for the room of the blocks

// The threads of a block.
struct DensityBlock {
  NB26_HD std::int64_t rank() const {
#ifdef __CUDA_ARCH__
    return threadIdx.x;
#else
    return 0;
#endif
  }
  NB26_HD std::int64_t size() const { return kThreads; }
  NB26_HD void sync() const {
#ifdef __CUDA_ARCH__
    __syncthreads();
#endif
  }
  NB26_HD std::int64_t sum(std::int64_t own) const {
#ifdef __CUDA_ARCH__
    __shared__ unsigned long long total;
    __syncthreads();
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    if (own != 0) atomicAdd(&total, static_cast<unsigned long long>(own));
    __syncthreads();
    return static_cast<std::int64_t>(total);
#else
    return own;
#endif
  }
  NB26_HD std::int32_t next(std::int32_t* counter) const {
#ifdef __CUDA_ARCH__
    return atomicAdd(counter, 1);
#else
    return (*counter)++;
#endif
  }
};

// What both the device's and the host's copy of a task consist of.
struct Task {
  DensityArm arms[2];
  DensityQueries queries;
  DensityRule rule;
  const double* outcomes[2];
  DensityOut out;
};

__global__ void __launch_bounds__(kThreads)
    outcome_kernel(const double* y, std::int64_t n, DensityRule rule, double hy, double* out) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  const std::int64_t columns = density_columns(rule.g);
  for (std::int64_t j = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; j < n;
       j += step) {
    density_outcomes(y + j, 1, rule.grid, rule.g, hy, columns, out + j * columns);
  }
}

__global__ void __launch_bounds__(kThreads)
    query_kernel(Task task, std::int64_t most, std::int64_t depth, std::int64_t room,
                 double* memory, std::int8_t* wanting) {
  DensityBlock team;
  DensityRoom own{memory + blockIdx.x * room, 0};
  const DensityWork work = density_work(own, most, depth, task.rule);
  for (std::int64_t i = blockIdx.x; i < task.queries.m; i += gridDim.x) {
    const bool done = density_one(team, task.arms, task.queries, task.rule, task.outcomes, depth,
                                  work, task.out, i);
    if (threadIdx.x == 0) wanting[i] = !done;
  }
}

// An arm on the device, with the kernels of its outcomes.
class Arm {
 public:
  Arm(const DensityArm& arm, const DensityRule& host_rule, const DensityRule& rule)
      : x_(arm.x, arm.n * arm.p),
        y_(arm.y, arm.n),
        counts_(arm.counts, arm.n * rule.n_bootstrap),
        outcomes_(arm.n * density_columns(host_rule.g)),
        arm_(arm) {
    arm_.x = x_.data();
    arm_.y = y_.data();
    arm_.counts = counts_.data();
    const auto blocks = static_cast<unsigned>((arm.n + kThreads - 1) / kThreads);
    outcome_kernel<<<blocks, kThreads>>>(y_.data(), arm.n, rule, arm.hy, outcomes_.data());
  }
  const DensityArm& get() const { return arm_; }
  const double* outcomes() const { return outcomes_.data(); }

 private:
  DeviceMemory<double> x_, y_;
  DeviceMemory<std::uint16_t> counts_;
  DeviceMemory<double> outcomes_;
  DensityArm arm_;
};

// One array of answers on the device; nothing where the host wants none.
class Answer {
 public:
  Answer(double* host, std::int64_t n) : host_(host), memory_(host ? n : 0) {}
  double* data() const { return memory_.data(); }
  void fetch() const {
    if (host_) memory_.copy_to(host_);
  }

 private:
  double* host_;
  DeviceMemory<double> memory_;
};

class Answers {
 public:
  Answers(const DensityOut& out, std::int64_t m, std::int64_t n_b, std::int64_t g)
      : prior_(out.prior, m),
        lfdr_(out.lfdr, m),
        mean_{{out.mean[0], m}, {out.mean[1], m}},
        ess_{{out.ess[0], m}, {out.ess[1], m}},
        prior_b_(out.prior_b, m * n_b),
        mean_b_{{out.mean_b[0], m * n_b}, {out.mean_b[1], m * n_b}},
        point_{{out.point[0], m * g}, {out.point[1], m * g}},
        lower_{{out.lower[0], m * g}, {out.lower[1], m * g}},
        upper_{{out.upper[0], m * g}, {out.upper[1], m * g}} {}
  DensityOut get() const {
    return {prior_.data(),
            lfdr_.data(),
            {mean_[0].data(), mean_[1].data()},
            {ess_[0].data(), ess_[1].data()},
            prior_b_.data(),
            {mean_b_[0].data(), mean_b_[1].data()},
            {point_[0].data(), point_[1].data()},
            {lower_[0].data(), lower_[1].data()},
            {upper_[0].data(), upper_[1].data()}};
  }
  void fetch() const {
    prior_.fetch();
    lfdr_.fetch();
    prior_b_.fetch();
    for (int a = 0; a < 2; ++a) {
      for (const Answer* each :
           {&mean_[a], &ess_[a], &mean_b_[a], &point_[a], &lower_[a], &upper_[a]}) {
        each->fetch();
      }
    }
  }

 private:
  Answer prior_, lfdr_, mean_[2], ess_[2], prior_b_, mean_b_[2], point_[2], lower_[2], upper_[2];
};

unsigned blocks_for(std::int64_t m, std::int64_t room) {
  int device = 0, processors = 0;
  std::size_t free_bytes = 0, all_bytes = 0;
  cuda_check(cudaGetDevice(&device), "current device");
  cuda_check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
             "multiprocessors");
  cuda_check(cudaMemGetInfo(&free_bytes, &all_bytes), "free memory");
  const double share = kMemoryShare * static_cast<double>(free_bytes) / sizeof(double);
  const auto most = static_cast<std::int64_t>(share / static_cast<double>(room));
  const std::int64_t blocks =
      std::min({m, most, kBlocksPerProcessor * static_cast<std::int64_t>(processors)});
  return static_cast<unsigned>(std::max<std::int64_t>(1, blocks));
}

// Queries whose resamples want more rows, by the host with all rows at hand.
void finish_on_host(const Task& task, std::int64_t most, const std::vector<std::int8_t>& wanting) {
  if (std::find(wanting.begin(), wanting.end(), 1) == wanting.end()) return;
  const std::int64_t columns = density_columns(task.rule.g);
  std::vector<double> outcomes[2];
  for (int a = 0; a < 2; ++a) {
    const DensityArm& arm = task.arms[a];
    outcomes[a].resize(static_cast<std::size_t>(arm.n * columns));
    density_outcomes(arm.y, arm.n, task.rule.grid, task.rule.g, arm.hy, columns,
                     outcomes[a].data());
  }
  const double* const tables[2] = {outcomes[0].data(), outcomes[1].data()};
  DensityRoom size{nullptr, 0};
  density_work(size, most, most, task.rule);
  std::vector<double> memory(static_cast<std::size_t>(size.used));
  DensityRoom room{memory.data(), 0};
  const DensityWork work = density_work(room, most, most, task.rule);
  DensityAlone team;
  for (std::size_t i = 0; i < wanting.size(); ++i) {
    if (!wanting[i]) continue;
    density_one(team, task.arms, task.queries, task.rule, tables, most, work, task.out,
                static_cast<std::int64_t>(i));
  }
}

}  // namespace

void density_bootstrap_cuda(const DensityArm (&arms)[2], const DensityQueries& queries,
                            const DensityRule& rule, const DensityOut& out) {
  const std::int64_t m = queries.m;
  if (m == 0) return;
  const DeviceMemory<double> grid(rule.grid, rule.g);
  DensityRule rule_there = rule;
  rule_there.grid = grid.data();
  const Arm control(arms[0], rule, rule_there), treated(arms[1], rule, rule_there);
  const DeviceMemory<double> x(queries.x, m * arms[0].p), y(queries.y, queries.y ? m : 0);
  const DeviceMemory<std::int64_t> own_0(queries.own[0], m), own_1(queries.own[1], m);
  const Answers answers(out, m, rule.n_bootstrap, rule.g);
  const Task there{{control.get(), treated.get()},
                   {x.data(), y.data(), {own_0.data(), own_1.data()}, m},
                   rule_there,
                   {control.outcomes(), treated.outcomes()},
                   answers.get()};
  const std::int64_t most = std::max(arms[0].n, arms[1].n);
  const std::int64_t depth = std::min(most, density_depth(std::max(arms[0].k, arms[1].k)));
  DensityRoom room{nullptr, 0};
  density_work(room, most, depth, rule);
  const unsigned blocks = blocks_for(m, room.used);
  const DeviceMemory<double> memory(blocks * room.used);
  const DeviceMemory<std::int8_t> wanting(m);
  query_kernel<<<blocks, kThreads>>>(there, most, depth, room.used, memory.data(), wanting.data());
  cuda_check(cudaGetLastError(), "launch");
  cuda_check(cudaDeviceSynchronize(), "kernel");
  answers.fetch();
  std::vector<std::int8_t> rest(static_cast<std::size_t>(m));
  wanting.copy_to(rest.data());
  finish_on_host({{arms[0], arms[1]}, queries, rule, {nullptr, nullptr}, out}, most, rest);
}

}  // namespace nb26
