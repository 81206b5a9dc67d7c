// Thread counts for parallel loops over tasks.
#pragma once

#include <cstdint>

namespace nb26 {

// Threads for a loop over `tasks` tasks: requested (0: what OpenMP offers), never more than tasks,
// nor than 256 or the number of processors, whichever is more.
// Answers 1 inside a parallel region, and in a forked child, where OpenMP's pool does not exist.
int threads_for(int requested, std::int64_t tasks);

// Opens one parallel region of threads_for(requested, tasks) threads and counts them.
int threads_used(int requested, std::int64_t tasks);

}  // namespace nb26
