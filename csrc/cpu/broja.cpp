// Discrete BROJA decompositions of a batch: threads over tables, the pieces per instruction set.

#include <atomic>
#include <vector>

#include "nb26/broja_api.hpp"
#include "nb26/broja_solver.hpp"
#include "nb26/isa.hpp"
#include "nb26/threads.hpp"

namespace nb26 {
namespace {

template <int Isa>
struct BrojaLevel;

// One function per piece: inlined into one another the compiler loses their sums in registers.
#define NB26_BROJA_LEVEL(isa, target)                                                              \
  template <>                                                                                      \
  struct BrojaLevel<isa> {                                                                         \
    target static void tile(const double* left, const double* right, std::int64_t wide,            \
                            std::int64_t n, double* out) {                                         \
      broja_tile<isa>(left, right, wide, n, out);                                                  \
    }                                                                                              \
    target static bool schur(const BrojaProblem& p, double ridge) {                                \
      return broja_schur<isa>(p, ridge, tile);                                                     \
    }                                                                                              \
    template <int S>                                                                               \
    target static void evaluate(const BrojaProblem& p) {                                           \
      broja_evaluate<isa, S>(p);                                                                   \
    }                                                                                              \
    template <int S>                                                                               \
    target static double marginals(const BrojaProblem& p, const double* weight) {                  \
      return broja_marginals<isa, S>(p, weight);                                                   \
    }                                                                                              \
    template <int S>                                                                               \
    target static void add(double t, double w, int n, const double* pi, double* own, double* kept, \
                           double* square) {                                                       \
      broja_add<S>(t, w, n, pi, own, kept, square);                                                \
    }                                                                                              \
    template <int S>                                                                               \
    target static void forward(const double* block, const double* pivot, int n, std::int64_t wide, \
                               double* rows) {                                                     \
      broja_forward<isa, S>(block, pivot, n, wide, rows);                                          \
    }                                                                                              \
    template <int S>                                                                               \
    target static bool blocks(const BrojaProblem& p, double ridge) {                               \
      return broja_blocks<isa, S>(p, ridge, add<S>, forward<S>);                                   \
    }                                                                                              \
    template <int S>                                                                               \
    target static void solve(const BrojaProblem& p) {                                              \
      broja_solve<isa, S>(p);                                                                      \
    }                                                                                              \
    template <int S>                                                                               \
    target static double steps(const BrojaProblem& p) {                                            \
      return broja_steps<isa, S>(p);                                                               \
    }                                                                                              \
    template <int S>                                                                               \
    target static double primal(const BrojaProblem& p) {                                           \
      return broja_primal<isa, S>(p);                                                              \
    }                                                                                              \
    template <int S>                                                                               \
    target static void certify(const BrojaProblem& p, BrojaCertificate* out) {                     \
      broja_certify<isa, S>(p, out);                                                               \
    }                                                                                              \
    template <int S>                                                                               \
    static constexpr BrojaPieces kPieces = {evaluate<S>, marginals<S>, blocks<S>, schur,           \
                                            solve<S>,    steps<S>,     primal<S>, certify<S>};     \
  };

NB26_BROJA_LEVEL(0, )
NB26_BROJA_LEVEL(1, NB26_TARGET_1)
NB26_BROJA_LEVEL(2, NB26_TARGET_2)
#undef NB26_BROJA_LEVEL

template <int S>
const BrojaPieces& pieces() {
  static constexpr const BrojaPieces* kLevels[3] = {
      &BrojaLevel<0>::kPieces<S>, &BrojaLevel<1>::kPieces<S>, &BrojaLevel<2>::kPieces<S>};
  return *kLevels[isa_level()];
}

}  // namespace

const BrojaPieces& broja_pieces(int stride) {
  switch (stride) {
    case 2:
      return pieces<2>();
    case 4:
      return pieces<4>();
    case 8:
      return pieces<8>();
    default:
      return pieces<0>();
  }
}

void broja(const double* pmfs, std::int64_t m, int nx, int ny, int ns, double tol, int max_iter,
           int n_threads, const BrojaOut& out, bool (*stop)()) {
  const int threads = threads_for(n_threads, m);
  const std::int64_t cells = std::int64_t{nx} * ny * ns;
  std::vector<BrojaSolver> own(static_cast<std::size_t>(threads), BrojaSolver(nx, ny, ns));
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> stopped{false};
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int thread = 0; thread < threads; ++thread) {
    BrojaSolver& solver = own[static_cast<std::size_t>(thread)];
    // thread 0 is the one that called
    solver.watch(thread == 0 ? stop : nullptr, &stopped);
    for (std::int64_t i = next++; i < m && !stopped; i = next++) {
      const BrojaAnswer answer = solver.run(pmfs + i * cells, tol, max_iter, out.q + i * cells);
      std::copy_n(answer.information, 4, out.information + 4 * i);
      out.gap[i] = answer.gap;
      out.converged[i] = answer.converged;
      out.n_iter[i] = answer.n_iter;
    }
  }
}

}  // namespace nb26
