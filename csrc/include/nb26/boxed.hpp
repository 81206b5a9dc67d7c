// Minimum of a smooth function in a box, by quasi-Newton steps with reverse communication: ask for
// a point, tell what the function is there, until done. One problem, plain scalar arithmetic.
//
// The steps of L-BFGS-B: Byrd, Lu, Nocedal and Zhu, SIAM Journal on Scientific Computing 16 (1995);
// projected subspace step: Morales and Nocedal, ACM Transactions on Mathematical Software 38
// (2011). The curvature of the last pairs is held as a full matrix, for few variables.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "nb26/line_search.hpp"

namespace nb26 {

struct BoxedOptions {
  std::int64_t max_iter = 300;
  int memory = 20;
  double ftol = 1e-10;  // relative gain of an iteration, two running
  double gtol = 1e-4;   // largest entry of the projected gradient
};

enum class BoxedEnd : std::int8_t { kConverged, kMaxIter, kAbnormal, kStartDiverged, kRunning };

class Boxed {
 public:
  using Vector = std::vector<double>;

  // start is moved into the box.
  Boxed(Vector start, Vector lower, Vector upper, const BoxedOptions& options)
      : options_(options),
        n_(start.size()),
        lower_(std::move(lower)),
        upper_(std::move(upper)),
        x_(std::move(start)),
        g_(n_),
        best_x_(n_),
        best_g_(n_),
        d_(n_),
        z_(n_),
        b_(n_ * n_),
        work_(n_),
        bd_(n_),
        bz_(n_),
        factor_(n_ * n_),
        free_(n_) {
    for (std::size_t i = 0; i < n_; ++i) x_[i] = boxed(x_[i], i);
    trial_ = x_;
    clear();
  }

  bool running() const { return end_ == BoxedEnd::kRunning; }
  BoxedEnd end() const { return end_; }

  // The point to evaluate next; once it has ended, the best one.
  const Vector& ask() const { return trial_; }
  const Vector& gradient() const { return g_; }
  double value() const { return f_; }
  std::int64_t iterations() const { return iterations_; }
  std::int64_t evaluations() const { return evaluations_; }

  // The function and its gradient at ask(). diverged: neither means anything there.
  void tell(double f, const double* gradient, bool diverged) {
    ++evaluations_;
    if (evaluations_ == 1) {
      f_ = f;
      g_.assign(gradient, gradient + n_);
      if (diverged) {
        end_ = BoxedEnd::kStartDiverged;
      } else if (projected_gradient() <= options_.gtol) {
        end_ = BoxedEnd::kConverged;
      } else {
        set_out();
      }
      return;
    }
    Search next;
    if (diverged) {
      next = ++rejected_ < kMostRejected ? search_.reject() : Search::kStuck;
    } else {
      ++tried_;
      if (f < best_f_) {
        best_f_ = f;
        best_x_ = trial_;
        best_g_.assign(gradient, gradient + n_);
      }
      next = search_.tell(f, dot(gradient, d_.data()));
      if (next == Search::kDone) {
        best_f_ = f;
        best_x_ = trial_;
        best_g_.assign(gradient, gradient + n_);
      }
      if (next == Search::kTry && tried_ >= kMostTried) next = Search::kStuck;
    }
    if (next == Search::kTry) {
      place_trial();
    } else if (next == Search::kDone || (best_f_ < f_ && tried_ < kMostTried)) {
      move();
    } else if (rejected_ == 0 && !pairs_.empty() && -slope_ <= options_.ftol * scale_of(f_, f_)) {
      finish(BoxedEnd::kConverged);  // what was to be gained is lost in rounding
    } else {
      give_up();
    }
  }

 private:
  static constexpr int kMostTried = 20, kMostRejected = 20;

  double boxed(double value, std::size_t i) const {
    return std::min(std::max(value, lower_[i]), upper_[i]);
  }

  double dot(const double* a, const double* b) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < n_; ++i) sum += a[i] * b[i];
    return sum;
  }

  static double scale_of(double a, double b) { return std::max({std::fabs(a), std::fabs(b), 1.0}); }

  double projected_gradient() const {
    double most = 0.0;
    for (std::size_t i = 0; i < n_; ++i) {
      most = std::max(most, std::fabs(boxed(x_[i] - g_[i], i) - x_[i]));
    }
    return most;
  }

  void finish(BoxedEnd end) {
    end_ = end;
    trial_ = x_;
  }

  void clear() {
    pairs_.clear();
    theta_ = 1.0;
    curvature();
  }

  // A search along the next direction, from x_.
  void set_out() {
    for (;;) {
      cauchy();
      if (subspace()) {
        for (std::size_t i = 0; i < n_; ++i) d_[i] = z_[i] - x_[i];
        slope_ = dot(g_.data(), d_.data());
        if (slope_ < 0.0) {
          double largest = iterations_ == 0 ? 1.0 : std::numeric_limits<double>::infinity();
          double norm = 0.0;
          for (std::size_t i = 0; i < n_; ++i) {
            norm += d_[i] * d_[i];
            if (d_[i] > 0.0) largest = std::min(largest, (upper_[i] - x_[i]) / d_[i]);
            if (d_[i] < 0.0) largest = std::min(largest, (lower_[i] - x_[i]) / d_[i]);
          }
          // the full step lies in the box, whatever rounding makes of the quotients
          largest = std::min(std::max(largest, 1.0), 1e10);
          // without curvature the length of the step means nothing
          const double step = pairs_.empty() ? std::min(1.0, kFirstStep / std::sqrt(norm)) : 1.0;
          search_.start(f_, slope_, step, largest);
          best_f_ = f_;
          tried_ = rejected_ = 0;
          place_trial();
          return;
        }
      }
      if (pairs_.empty()) {
        abnormal();
        return;
      }
      clear();
    }
  }

  void place_trial() {
    const double step = search_.step();
    for (std::size_t i = 0; i < n_; ++i) {
      trial_[i] = step == 1.0 ? z_[i] : boxed(x_[i] + step * d_[i], i);
    }
  }

  // To the best point of the search.
  void move() {
    Pair pair{Vector(n_), Vector(n_)};
    for (std::size_t i = 0; i < n_; ++i) {
      pair.s[i] = best_x_[i] - x_[i];
      pair.y[i] = best_g_[i] - g_[i];
    }
    const double sy = dot(pair.s.data(), pair.y.data());
    const double fall = -dot(g_.data(), pair.s.data());
    const double gain = f_ - best_f_;
    const double scale = scale_of(f_, best_f_);
    f_ = best_f_;
    x_.swap(best_x_);
    g_.swap(best_g_);
    ++iterations_;
    // one step of little gain may have been a poor step: two running are needed
    n_small_ = gain <= options_.ftol * scale ? n_small_ + 1 : 0;
    const bool small = n_small_ >= 2;
    if (projected_gradient() <= options_.gtol || (small && rejected_ == 0)) {
      finish(BoxedEnd::kConverged);
    } else if (small) {
      give_up();  // a cliff, not a minimum, is what keeps the gain small
    } else if (iterations_ >= options_.max_iter) {
      finish(BoxedEnd::kMaxIter);
    } else {
      if (sy > std::numeric_limits<double>::epsilon() * fall) {
        theta_ = dot(pair.y.data(), pair.y.data()) / sy;
        if (pairs_.size() == static_cast<std::size_t>(options_.memory)) {
          pairs_.erase(pairs_.begin());
        }
        pairs_.push_back(std::move(pair));
        curvature();
      }
      set_out();
    }
  }

  // The search leads nowhere: once more without the curvature.
  void give_up() {
    if (best_f_ < f_) {
      f_ = best_f_;
      x_.swap(best_x_);
      g_.swap(best_g_);
    }
    if (pairs_.empty()) {
      abnormal();
    } else {
      clear();
      set_out();
    }
  }

  // Not even downhill: one more try, by small steps.
  void abnormal() {
    if (restarted_) {
      finish(BoxedEnd::kAbnormal);
      return;
    }
    restarted_ = true;
    clear();
    set_out();
  }

  // b_ = theta I, updated by the pairs from the oldest on.
  void curvature() {
    std::fill(b_.begin(), b_.end(), 0.0);
    for (std::size_t i = 0; i < n_; ++i) b_[i * n_ + i] = theta_;
    for (const Pair& pair : pairs_) {
      for (std::size_t i = 0; i < n_; ++i) work_[i] = dot(&b_[i * n_], pair.s.data());
      const double bend = dot(work_.data(), pair.s.data());
      const double sy = dot(pair.s.data(), pair.y.data());
      if (!(bend > 0.0)) continue;
      for (std::size_t i = 0; i < n_; ++i) {
        for (std::size_t j = 0; j < n_; ++j) {
          b_[i * n_ + j] += pair.y[i] * pair.y[j] / sy - work_[i] * work_[j] / bend;
        }
      }
    }
  }

  // z_: the first least value of the quadratic model along the projected gradient path. free_: the
  // variables on no bound there.
  void cauchy() {
    order_.clear();
    for (std::size_t i = 0; i < n_; ++i) {
      z_[i] = x_[i];
      bz_[i] = 0.0;
      d_[i] = -g_[i];
      const double room = g_[i] < 0.0 ? upper_[i] - x_[i] : x_[i] - lower_[i];
      if (g_[i] == 0.0 || room <= 0.0) {
        d_[i] = 0.0;
      } else {
        order_.push_back({room / std::fabs(g_[i]), i});
      }
      free_[i] = d_[i] != 0.0 || (x_[i] > lower_[i] && x_[i] < upper_[i]);
    }
    std::sort(order_.begin(), order_.end(), [](const Break& a, const Break& b) {
      return a.at < b.at || (a.at == b.at && a.which < b.which);
    });
    for (std::size_t i = 0; i < n_; ++i) bd_[i] = dot(&b_[i * n_], d_.data());
    double at = 0.0;
    for (std::size_t k = 0;; ++k) {
      const double slope = dot(g_.data(), d_.data()) + dot(d_.data(), bz_.data());
      const double bend = dot(d_.data(), bd_.data());
      if (!(slope < 0.0)) return;
      const double ahead = k < order_.size() ? order_[k].at - at : 0.0;
      const double least = bend > 0.0 ? -slope / bend : std::numeric_limits<double>::infinity();
      if (k == order_.size() && !(bend > 0.0)) return;
      const bool stop = k == order_.size() || least < ahead;
      const double along = stop ? least : ahead;
      for (std::size_t i = 0; i < n_; ++i) {
        z_[i] = boxed(z_[i] + along * d_[i], i);
        bz_[i] += along * bd_[i];
      }
      if (stop) return;
      const std::size_t hit = order_[k].which;
      at = order_[k].at;
      z_[hit] = d_[hit] > 0.0 ? upper_[hit] : lower_[hit];
      for (std::size_t i = 0; i < n_; ++i) bd_[i] -= b_[i * n_ + hit] * d_[hit];
      d_[hit] = 0.0;
      free_[hit] = false;
    }
  }

  // The quadratic model at z, less its value at x_.
  double model(const Vector& z) {
    for (std::size_t i = 0; i < n_; ++i) work_[i] = z[i] - x_[i];
    double sum = dot(g_.data(), work_.data());
    for (std::size_t i = 0; i < n_; ++i) sum += 0.5 * work_[i] * dot(&b_[i * n_], work_.data());
    return sum;
  }

  // Improves z_ over the free variables; false where the matrix has lost its definiteness.
  bool subspace() {
    index_.clear();
    for (std::size_t i = 0; i < n_; ++i) {
      if (free_[i]) index_.push_back(i);
    }
    const std::size_t m = index_.size();
    if (m == 0) return true;
    for (std::size_t i = 0; i < n_; ++i) work_[i] = z_[i] - x_[i];
    // lower triangle of the Cholesky factor
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = b_[index_[i] * n_ + index_[j]];
        for (std::size_t k = 0; k < j; ++k) sum -= factor_[i * n_ + k] * factor_[j * n_ + k];
        if (i != j) {
          factor_[i * n_ + j] = sum / factor_[j * n_ + j];
        } else if (sum > 0.0 && sum < std::numeric_limits<double>::infinity()) {
          factor_[i * n_ + i] = std::sqrt(sum);
        } else {
          return false;
        }
      }
    }
    Vector& p = bd_;
    for (std::size_t i = 0; i < m; ++i) {
      double sum = -g_[index_[i]] - dot(&b_[index_[i] * n_], work_.data());
      for (std::size_t k = 0; k < i; ++k) sum -= factor_[i * n_ + k] * p[k];
      p[i] = sum / factor_[i * n_ + i];
    }
    for (std::size_t i = m; i-- > 0;) {
      for (std::size_t k = i + 1; k < m; ++k) p[i] -= factor_[k * n_ + i] * p[k];
      p[i] /= factor_[i * n_ + i];
    }
    // the projected step, if it is better than where it set out, else as far as the box allows:
    // projection may bend a good step into a useless one
    const double before = model(z_);
    bz_ = z_;
    for (std::size_t i = 0; i < m; ++i) bz_[index_[i]] = boxed(z_[index_[i]] + p[i], index_[i]);
    if (!(model(bz_) <= before)) {
      double share = 1.0;
      for (std::size_t i = 0; i < m; ++i) {
        const std::size_t at = index_[i];
        if (p[i] > 0.0) share = std::min(share, (upper_[at] - z_[at]) / p[i]);
        if (p[i] < 0.0) share = std::min(share, (lower_[at] - z_[at]) / p[i]);
      }
      for (std::size_t i = 0; i < m; ++i) {
        bz_[index_[i]] = boxed(z_[index_[i]] + share * p[i], index_[i]);
      }
    }
    z_ = bz_;
    return true;
  }

  struct Pair {
    Vector s, y;
  };
  struct Break {
    double at;
    std::size_t which;
  };

  static constexpr double kFirstStep = 1.0;

  BoxedOptions options_;
  std::size_t n_;
  Vector lower_, upper_, x_, g_, best_x_, best_g_, d_, z_, trial_;
  Vector b_, work_, bd_, bz_, factor_;  // curvature, and rooms
  std::vector<char> free_;
  std::vector<std::size_t> index_;
  std::vector<Break> order_;
  std::vector<Pair> pairs_;
  LineSearch search_;
  double f_ = 0.0, best_f_ = 0.0, slope_ = 0.0, theta_ = 1.0;
  std::int64_t iterations_ = 0, evaluations_ = 0;
  int tried_ = 0, rejected_ = 0, n_small_ = 0;
  bool restarted_ = false;
  BoxedEnd end_ = BoxedEnd::kRunning;
};

}  // namespace nb26
