// Step along a descent direction that meets the strong Wolfe conditions: More and Thuente, ACM
// Transactions on Mathematical Software 20 (1994), with reverse communication.
#pragma once

#include <algorithm>
#include <cmath>

namespace nb26 {

enum class Search { kTry, kDone, kStuck };

class LineSearch {
 public:
  // f, slope: value and derivative at step 0; largest: no step beyond it.
  void start(double f, double slope, double step, double largest) {
    f0_ = f;
    slope0_ = slope;
    step_ = std::min(step, largest);
    largest_ = largest;
    bracketed_ = false;
    first_stage_ = true;
    near_ = {0.0, f, slope};
    far_ = near_;
    low_ = 0.0;
    high_ = 5.0 * step_;
    width_ = largest;
    old_width_ = 2.0 * width_;
  }

  double step() const { return step_; }

  // The step with the least value so far, apart from the line that the first condition tolerates.
  double best() const { return near_.at; }

  // Takes value and derivative at step(). kDone: that step will do; kStuck: no better step is to be
  // had than the least seen.
  Search tell(double f, double slope) {
    const double tolerated = kDecrease * slope0_, line = f0_ + step_ * tolerated;
    if (first_stage_ && f <= line && slope >= 0.0) first_stage_ = false;
    if (f <= line && std::fabs(slope) <= kCurvature * -slope0_) return Search::kDone;
    if (step_ == largest_ && f <= line && slope <= tolerated) return Search::kDone;
    if (bracketed_ && (step_ <= low_ || step_ >= high_)) return Search::kStuck;
    if (first_stage_ && f <= near_.f && f > line) {
      // as long as the line is not reached, the distance to it is what is made small
      const auto lean = [tolerated](Point p, double sign) {
        p.f -= sign * p.at * tolerated;
        p.slope -= sign * tolerated;
        return p;
      };
      near_ = lean(near_, 1.0);
      far_ = lean(far_, 1.0);
      take(lean({step_, f, slope}, 1.0));
      near_ = lean(near_, -1.0);
      far_ = lean(far_, -1.0);
    } else {
      take({step_, f, slope});
    }
    if (bracketed_) {
      const double width = std::fabs(far_.at - near_.at);
      if (width >= 0.66 * old_width_) step_ = near_.at + 0.5 * (far_.at - near_.at);
      old_width_ = width_;
      width_ = width;
    }
    return bound();
  }

  // The step of this value fell off a cliff: nothing is learnt but that it is too long.
  Search reject() {
    const double width = step_ - near_.at;
    if (bracketed_) {
      far_ = {step_, f0_ + std::fabs(f0_), std::fabs(slope0_)};
    } else {
      largest_ = near_.at + 0.75 * width;
      high_ = largest_;
      low_ = near_.at;
    }
    step_ = near_.at + 0.25 * width;
    return bracketed_ ? bound() : Search::kTry;
  }

 private:
  struct Point {
    double at, f, slope;
  };

  static constexpr double kDecrease = 1e-3, kCurvature = 0.9, kNarrow = 0.1;

  Search bound() {
    if (bracketed_) {
      low_ = std::min(near_.at, far_.at);
      high_ = std::max(near_.at, far_.at);
    } else {
      low_ = step_ + 1.1 * (step_ - near_.at);
      high_ = step_ + 4.0 * (step_ - near_.at);
    }
    if (!(std::fabs(step_) < HUGE_VAL)) step_ = 0.5 * (near_.at + far_.at);
    step_ = std::min(std::max(step_, 0.0), largest_);
    if (bracketed_ && (step_ <= low_ || step_ >= high_ || high_ - low_ <= kNarrow * high_)) {
      return Search::kStuck;
    }
    return Search::kTry;
  }

  // Where the cubic through two points with their slopes is least, as a share of the way a to b.
  // away: b lies on the side that needs the other root; real: whether there is one.
  static double cubic(const Point& a, const Point& b, bool away, bool* real) {
    const double theta = 3.0 * (a.f - b.f) / (b.at - a.at) + a.slope + b.slope;
    const double scale = std::max({std::fabs(theta), std::fabs(a.slope), std::fabs(b.slope)});
    const double square = (theta / scale) * (theta / scale) - (a.slope / scale) * (b.slope / scale);
    double gamma = scale * std::sqrt(std::max(0.0, square));
    if (away) gamma = -gamma;
    const double p = (gamma - a.slope) + theta, q = ((gamma - a.slope) + gamma) + b.slope;
    if (real) *real = gamma != 0.0;
    return p / q;
  }

  // The interval and the next step after the point p.
  void take(const Point& p) {
    const double opposite = p.slope * std::copysign(1.0, near_.slope);
    double next;
    if (p.f > near_.f) {
      // higher: the least value lies between
      const double r = cubic(near_, p, p.at < near_.at, nullptr);
      const double c = near_.at + r * (p.at - near_.at);
      const double q = near_.at + near_.slope /
                                      ((near_.f - p.f) / (p.at - near_.at) + near_.slope) / 2.0 *
                                      (p.at - near_.at);
      next = std::fabs(c - near_.at) <= std::fabs(q - near_.at) ? c : c + (q - c) / 2.0;
      bracketed_ = true;
    } else if (opposite < 0.0) {
      // lower and past the least value
      const double r = cubic(p, near_, p.at > near_.at, nullptr);
      const double c = p.at + r * (near_.at - p.at);
      const double q = secant(p);
      next = std::fabs(c - p.at) > std::fabs(q - p.at) ? c : q;
      bracketed_ = true;
    } else if (std::fabs(p.slope) < std::fabs(near_.slope)) {
      // lower, and flatter: on to where the cubic or the secant says, if that is onward
      bool real;
      const double r = cubic(p, near_, p.at > near_.at, &real);
      double c = p.at > near_.at ? high_ : low_;
      if (r < 0.0 && real) c = p.at + r * (near_.at - p.at);
      const double q = secant(p);
      if (bracketed_) {
        next = std::fabs(c - p.at) < std::fabs(q - p.at) ? c : q;
        const double most = p.at + 0.66 * (far_.at - p.at);
        next = p.at > near_.at ? std::min(most, next) : std::max(most, next);
      } else {
        next = std::fabs(c - p.at) > std::fabs(q - p.at) ? c : q;
        next = std::min(std::max(next, low_), high_);
      }
    } else if (bracketed_) {
      const double r = cubic(p, far_, p.at > far_.at, nullptr);
      next = p.at + r * (far_.at - p.at);
    } else {
      next = p.at > near_.at ? high_ : low_;
    }
    if (p.f > near_.f) {
      far_ = p;
    } else {
      if (opposite < 0.0) far_ = near_;
      near_ = p;
    }
    step_ = next;
  }

  double secant(const Point& p) const {
    return p.at + p.slope / (p.slope - near_.slope) * (near_.at - p.at);
  }

  double f0_, slope0_, step_, largest_, low_, high_, width_, old_width_;
  bool bracketed_, first_stage_;
  Point near_, far_;
};

}  // namespace nb26
