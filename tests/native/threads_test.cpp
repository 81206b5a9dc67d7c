// Thread counts, the fork guard, and the shared state under calls from many threads at once.
#include "cpu/threads.cpp"

#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "check.hpp"
#include "nb26/isa.hpp"

namespace {

template <typename Function>
bool refused(Function function) {
  try {
    function();
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

void check_counts() {
  CHECK(nb26::threads_for(3, 100) == 3 && nb26::threads_for(3, 2) == 2);
  CHECK(nb26::threads_for(3, 0) == 1 && nb26::threads_for(0, 1) == 1);
  CHECK(nb26::threads_for(0, 1 << 20) == omp_get_max_threads());
  CHECK(refused([] { nb26::threads_for(-1, 2); }));
  CHECK(refused([] { nb26::isa_force(-1); }));
  CHECK(refused([] { nb26::isa_force(nb26::isa_supported() + 1); }));
}

void check_concurrent_calls() {
  std::vector<int> seen(8, 0);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([caller, &seen] {
      for (int i = 0; i < 1000; ++i) {
        nb26::isa_force(i % (nb26::isa_supported() + 1));
        seen[caller] += nb26::threads_for(2, 2) + (nb26::isa_level() >= 0);
      }
    });
  }
  for (auto& caller : callers) caller.join();
  for (const int count : seen) CHECK(count == 3000);
}

#ifndef __SANITIZE_THREAD__
// ThreadSanitizer does not see the barriers of OpenMP's library, nor does it follow a fork.
void check_regions() {
  CHECK(nb26::threads_used(2, 2) == 2);
  int nested = 0;
#pragma omp parallel num_threads(2) reduction(+ : nested)
  nested += nb26::threads_for(2, 2);
  CHECK(nested == 2);
  const pid_t child = fork();
  if (child == 0) _exit(nb26::threads_for(2, 2) == 1 && nb26::threads_used(2, 2) == 1 ? 0 : 1);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(nb26::threads_used(2, 2) == 2);
}
#else
void check_regions() {}
#endif

}  // namespace

int main() {
  check_counts();
  check_concurrent_calls();
  check_regions();
  return failures != 0;
}
