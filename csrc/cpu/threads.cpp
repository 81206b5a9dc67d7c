#include "nb26/threads.hpp"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>

namespace nb26 {
namespace {

// A system that refuses a thread makes OpenMP end the process; no answer depends on the count.
constexpr int kMost = 256;

std::atomic<bool> in_forked_child{false};

void mark_child() { in_forked_child.store(true, std::memory_order_relaxed); }

// The child of a fork inherits OpenMP's records of a pool but not its threads, and would wait for
// them for ever.
const int fork_guard = pthread_atfork(nullptr, nullptr, mark_child);

}  // namespace

int threads_for(int requested, std::int64_t tasks) {
  if (requested < 0) {
    throw std::invalid_argument("n_threads=" + std::to_string(requested) +
                                " must be 0 (all that OpenMP offers) or more");
  }
  if (fork_guard != 0 || in_forked_child.load(std::memory_order_relaxed) || omp_in_parallel()) {
    return 1;
  }
  const int most = std::max(kMost, omp_get_num_procs());
  const int offered = std::min(requested == 0 ? omp_get_max_threads() : requested, most);
  return static_cast<int>(std::clamp<std::int64_t>(tasks, 1, offered));
}

int threads_used(int requested, std::int64_t tasks) {
  int count = 0;
#pragma omp parallel num_threads(threads_for(requested, tasks)) reduction(+ : count)
  count += 1;
  return count;
}

}  // namespace nb26
