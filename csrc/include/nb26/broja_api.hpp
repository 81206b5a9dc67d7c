// Entry point of the discrete BROJA decomposition, see broja_solver.hpp.
#pragma once

#include <cstdint>

namespace nb26 {

// What a batch of m tables of one shape gives, each array with one entry or row per table.
struct BrojaOut {
  double* information;  // (m, 4): I(s;x), I(s;y), I(s;xy) and the union information, in nats
  double* gap;          // primal minus dual value: the union information is at most this too large
  bool* converged;      // gap below 20 tol at a q with the marginals of p
  std::int64_t* n_iter;
  double* q;  // (m, nx, ny, ns): the table of least information with those marginals
};

// pmfs (m, nx, ny, ns): non-negative, each of a positive sum. Where `stop` is given the calling
// thread asks it before every iteration; once it says yes, all tables end early.
void broja(const double* pmfs, std::int64_t m, int nx, int ny, int ns, double tol, int max_iter,
           int n_threads, const BrojaOut& out, bool (*stop)() = nullptr);

}  // namespace nb26
