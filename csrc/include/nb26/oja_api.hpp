// Oja's estimate of the leading components from a stream of rows, and its bootstrap replicates.
//
// The row-by-row product W <- W + eta y (y' W) is carried out one block of rows at a time:
// oja_rows absorbs rows and closes blocks, oja_replicates applies closed blocks to the replicates.
#pragma once

#include <cstdint>

#include "nb26/hd.hpp"

namespace nb26 {

// kPaired: (1 + g) y y' - g z z' in place of omega y y', z the row before y; the first row of all
// has no row before it, and g = 0.
enum class OjaMultiplier : int { kDouble = 0, kExponential = 1, kPaired = 2 };

// Where a call to oja_rows stopped.
enum class OjaStop : int {
  kEnd = 0,       // every row absorbed
  kFull = 1,      // no free slot for another closed block
  kTooLarge = 2,  // the next row's squared length overflows the number type; it was not absorbed
  kBadStep = 3,   // the next row's step is zero or overflows the number type; it was not absorbed
  kTooFar = 4,    // the next row would stretch an iterate beyond the number type; not absorbed
};

// Random weights as a pure function of (seed, replicate, row).
struct OjaWeights {
  std::uint64_t seed;
  OjaMultiplier kind;
  std::int64_t rows_per_weight;  // consecutive rows that share one weight
};

struct OjaShape {
  std::int64_t columns;     // d
  std::int64_t components;  // k
  std::int64_t tracked;     // k0, iterates of the estimate itself: k, or one more for the eigengap
  std::int64_t stride;      // elements from one stored row to the next, see oja_stride
  std::int64_t block;       // rows after which a block closes at the latest
  bool paired = false;      // slots hold the row before the block as well
};

// Rows of a slot, and of the open block's memory, where the row before it comes last.
NB26_HD std::int64_t oja_slot_rows(const OjaShape& shape) {
  return (shape.block + (shape.paired ? 1 : 0) + 7) / 8 * 8;
}

struct OjaRule {
  double growth_limit;  // a block closes when the sum of eta |y|^2 passes it
  double c, kappa;      // constants of the automatic step
  bool center;
  bool refresh_gap;    // estimate the eigengap anew whenever the row number has doubled
  bool refresh_steps;  // and the automatic step with it
};

// Members of counts and sums, in this order.
enum OjaCount { kRowsSeen, kRowsOpen, kEpochRows, kNextRefresh, kPilotRows, kOjaCounts };
enum OjaSum {
  kSquares,  // sum of |y|^2
  kSteps,    // sum of eta
  kGrowth,   // of the open block
  kTotal,    // sum of t |y|^2
  kWeight,   // sum of t
  kGap,
  kStepScale,  // a in eta = a / (offset + t)
  kStepOffset,
  kGapAtFloor,
  kOjaSums
};
// Rows of tracked; the last three use the first k columns.
enum OjaTrack { kEpochSquares, kWeightedSquares, kLagProduct, kLagSquare, kLastScore, kOjaTracks };

// The state of the estimate, owned by the caller and changed in place.
template <typename T>
struct OjaState {
  T* directions;         // (k0, stride) orthonormal rows, zeros after column d
  double* mean;          // (d)
  T* open_rows;          // (slot rows, stride) centred rows of the open block
  double* open_steps;    // (slot rows)
  T* last_row;           // (stride)
  double* tracked;       // (kOjaTracks, k0)
  std::int64_t* counts;  // (kOjaCounts)
  double* sums;          // (kOjaSums)
};

// Closed blocks on their way from the estimate to the replicates.
template <typename T>
struct OjaSlots {
  T* rows;              // (slots, m8, stride), m8 = slot rows; zeros after the last row
  T* gram;              // (slots, m8, m8) products of rows j <= l at [j][l]
  double* steps;        // (slots, m8)
  std::int64_t* sizes;  // (slots, 2): rows in the block, row number of the first (from 1)
  std::int64_t slots;
};

// Elements of one 64-byte lane group: the replicates that are computed side by side.
template <typename T>
inline constexpr std::int64_t kOjaLanes = 64 / static_cast<std::int64_t>(sizeof(T));

// Row stride for d columns: whole 64-byte lines, an odd number of them when there are many, so that
// the same column of successive rows does not fall on one set of the cache.
template <typename T>
constexpr std::int64_t oja_stride(std::int64_t d) {
  const std::int64_t lines = (d + kOjaLanes<T> - 1) / kOjaLanes<T>;
  return (lines > 8 && lines % 2 == 0 ? lines + 1 : lines) * kOjaLanes<T>;
}

struct OjaProgress {
  std::int64_t rows;    // absorbed
  std::int64_t blocks;  // closed, in slots 0..blocks-1 when slots are kept
  OjaStop stop;
};

// Centre n rows of x (n, d) into out (n, d); counts, sums, mean advance. Stops like oja_rows.
template <typename T>
OjaProgress oja_center(const OjaShape&, const OjaRule&, const OjaState<T>&, const T* x,
                       std::int64_t n, T* out);

// Absorb rows of x (n, d). steps holds one step per row, or is null for the automatic one. With
// keep, closed blocks stay in the slots; without, slot 0 is scratch.
template <typename T>
OjaProgress oja_rows(const OjaShape&, const OjaRule&, const OjaState<T>&, const T* x,
                     const double* steps, std::int64_t n, const OjaSlots<T>&, bool keep);

// Close the open block into slot 0; returns the number of blocks closed, 0 or 1.
template <typename T>
std::int64_t oja_close(const OjaShape&, const OjaState<T>&, const OjaSlots<T>&);

// Recompute the gap and the automatic step from the epoch's sums.
void oja_refresh(const OjaShape&, const OjaRule&, double* tracked, std::int64_t* counts,
                 double* sums);

// Apply the blocks in slots 0..blocks-1 to replicates (groups, d rounded up to 8, k, lanes), of
// which the first has index `first`.
template <typename T>
void oja_replicates(const OjaShape&, const OjaWeights&, const OjaSlots<T>&, std::int64_t blocks,
                    T* replicates, std::int64_t groups, std::int64_t first, int n_threads);

// Absorb rows as oja_rows does and apply their blocks to the replicates, as many slots at a time as
// there are; blocks counts all of them.
template <typename T>
OjaProgress oja_advance(const OjaShape&, const OjaRule&, const OjaState<T>&, const T* x,
                        const double* steps, std::int64_t n, const OjaSlots<T>&, const OjaWeights&,
                        T* replicates, std::int64_t groups, std::int64_t first, int n_threads);

// Orthonormalise the k columns of every replicate in place.
template <typename T>
void oja_orthonormalise(const OjaShape&, T* replicates, std::int64_t groups, int n_threads);

// Sum of the squared sines of the angles between the span of the orthonormal rows of directions
// (k, d) and that of every replicate: (groups, lanes).
template <typename T>
void oja_errors(const OjaShape&, const double* directions, const T* replicates, std::int64_t groups,
                double* errors, int n_threads);

// Weights of replicates first..first+n_replicates-1 for rows row..row+n-1 (from 1): (n_replicates,
// n); 1 + g where they are paired.
void oja_multipliers(const OjaWeights&, std::int64_t first, std::int64_t n_replicates,
                     std::int64_t row, std::int64_t n, double* out);

// Replicates whose pilots are taken side by side.
inline constexpr std::int64_t kPilotLanes = 8;

// How the pilot of one replicate ended.
enum class PilotEnd : std::int8_t {
  kGood = 0,
  kRank = 1,    // fewer than k directions with any weight
  kUnsure = 2,  // the vectors failed their check
};

// With R = diag(sqrt(weights)) of replicates 8 first .. and gram (n, n) the products of the pilot's
// rows Y: the n_rows coefficients (groups, n, k, 8) whose products with Y are the k leading right
// singular vectors of R Y, largest first; and how each replicate ended (groups, 8).
void oja_pilot_vectors(const OjaWeights&, const double* gram, std::int64_t n, std::int64_t k,
                       std::int64_t first, std::int64_t groups, double* coefficients,
                       PilotEnd* ends, int n_threads);

// replicates (groups of T, see oja_replicates) = the products of those coefficients with the
// pilot's rows (n, d); the lanes beyond the coefficients are left alone.
template <typename T>
void oja_pilot_start(const OjaShape&, const double* rows, std::int64_t n,
                     const double* coefficients, std::int64_t groups, T* replicates, int n_threads);

// The same update on the device, see cuda/oja.cu.
template <typename T>
void oja_replicates_cuda(const OjaShape&, const OjaWeights&, const OjaSlots<T>&,
                         std::int64_t blocks, T* replicates, std::int64_t groups,
                         std::int64_t first);

// Whether replicates of this shape stay in the device's shared memory; narrow: float.
bool oja_fits_cuda(const OjaShape&, bool narrow);

}  // namespace nb26
