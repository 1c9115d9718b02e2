// The area that two polygons have in common.
//
// Vertical lines through the vertices cut both into strips. The edges of a valid polygon do not cross each other:
// sorted upwards, the first two in a strip bound a trapezoid of its inside, the next two another one, and so on,
// whatever holes and parts there are. The area is that of what the trapezoids of both have in common. Nothing is
// decided about where outlines meet: they may touch and share edges.
//
// Rounding: coordinates are relative to a corner of the box that both boxes have in common, and edges that leave it
// sideways are cut with twice the digits of a double. So the error is some units in the last place of the size of that
// box times the outline of the result, however far from the origin the polygons are.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "narrow/simple_features.hpp"

namespace broadphase {

namespace detail {

// A double, and what it lacks.
struct Twofold {
  double high, low;
};

// x - y (Knuth's two-sum).
inline Twofold exact_difference(double x, double y) {
  const double high = x - y, y_seen = x - high, x_seen = high + y_seen;
  return {high, (x - x_seen) + (y_seen - y)};
}

// x * y (Dekker's product). Precondition: no overflow.
inline Twofold exact_product(double x, double y) {
  constexpr double kSplit = 0x1p27 + 1;
  const double x_large = kSplit * x - (kSplit * x - x), y_large = kSplit * y - (kSplit * y - y);
  const double x_small = x - x_large, y_small = y - y_large, high = x * y;
  return {high, ((x_large * y_large - high) + x_large * y_small + x_small * y_large) + x_small * y_small};
}

// From left to right: x < x_end.
struct SlopingEdge {
  double x, y, x_end, y_end;

  // The height at `at`, less `base`.
  double height(double at, double base) const {
    const Twofold along = exact_difference(at, x), rise = exact_difference(y_end, y), run = exact_difference(x_end, x);
    Twofold product = exact_product(along.high, rise.high);
    product.low += along.high * rise.low + along.low * rise.high;
    const double quotient = product.high / run.high;
    const Twofold back = exact_product(quotient, run.high);
    const double rest = (product.high - back.high) - back.low + product.low - quotient * run.low;
    const Twofold start = exact_difference(y, base), sum = exact_difference(start.high, -quotient);
    return sum.high + (sum.low + start.low + rest / run.high);
  }
};

// Of an edge, at the sides of a strip.
struct Heights {
  double left, right;
  double at(double share) const { return left + (right - left) * share; }
};

// The mean over a strip of a linear function where it is positive, and of zero elsewhere.
inline double positive_mean(double left, double right) {
  const double most = std::max(left, right), least = std::min(left, right);
  if (most <= 0) return 0;
  return least >= 0 ? left / 2 + right / 2 : most / 2 * (most / (most - least));
}

// The mean height over a strip of what two trapezoids have in common.
inline double common_mean(const Heights& low, const Heights& high, const Heights& other_low,
                          const Heights& other_high) {
  if (high.left <= other_low.left && high.right <= other_low.right) return 0;
  if (other_high.left <= low.left && other_high.right <= low.right) return 0;
  // Between the shares of the strip where edges cross, one edge is above and one is below.
  std::array<double, 4> stops{0, 1};
  std::size_t count = 1;
  for (const auto& [one, other] : {std::pair(low, other_low), std::pair(high, other_high)}) {
    const double left = one.left - other.left, right = one.right - other.right;
    if ((left < 0 && right > 0) || (left > 0 && right < 0)) stops[count++] = left / (left - right);
  }
  if (count == 3 && stops[2] < stops[1]) std::swap(stops[1], stops[2]);
  double mean = 0, height = std::min(high.left, other_high.left) - std::max(low.left, other_low.left);
  for (std::size_t k = 1; k < count; ++k) {
    const double share = stops[k];
    const double next = std::min(high.at(share), other_high.at(share)) - std::max(low.at(share), other_low.at(share));
    mean += positive_mean(height, next) * (share - stops[k - 1]);
    height = next;
  }
  const double last = std::min(high.right, other_high.right) - std::max(low.right, other_low.right);
  return mean + positive_mean(height, last) * (1 - stops[count - 1]);
}

}  // namespace detail

class OverlapAreas {
 public:
  // Precondition: the table lives as long as this.
  OverlapAreas(const FeatureTable& table, Interrupt& interrupt)
      : table_(table), interrupt_(interrupt), outlines_(table.count) {}

  // Precondition: both are valid areas with finite coordinates below 2^500; of others the area is meaningless. `window`
  // is what their boxes have in common, which has a width and a height.
  double area(std::size_t one, std::size_t other, const FlatBox& window) {
    for (const std::size_t feature : {one, other}) gather_edges(feature);
    sides_[0].start(edges_.data(), outlines_[one], window);
    sides_[1].start(edges_.data(), outlines_[other], window);
    const double end = window.x_end - window.x;
    double found = 0;
    for (double x = 0; x < end;) {
      if (++steps_ % 256 == 0) interrupt_.check();
      double next = end;
      for (Side& side : sides_) next = side.enter(x, next);
      for (Side& side : sides_) side.place(next);
      found += common_mean() * (next - x);
      x = next;
    }
    return found;
  }

 private:
  // Where the edges of a feature are.
  struct Outline {
    std::size_t begin = 0, end = 0;
    bool is_known = false;
  };

  // What a side has of an edge in the window, relative to its lower left corner.
  struct Piece {
    double x, y, x_end, y_end, slope;
    detail::Heights heights;  // in the strip
    double height(double at) const { return at >= x_end ? y_end : at <= x ? y : y + (at - x) * slope; }
  };

  // One of two polygons, and its edges in the strip.
  struct Side {
    const detail::SlopingEdge *edge, *last;
    FlatBox window;
    std::vector<Piece> pieces;

    void start(const detail::SlopingEdge* edges, const Outline& outline, const FlatBox& common) {
      edge = edges + outline.begin;
      last = edges + outline.end;
      window = common;
      pieces.clear();
    }

    // Takes the edges that pass x to its right; returns where the first of them ends, or another one begins, if that is
    // before `next`.
    double enter(double x, double next) {
      std::erase_if(pieces, [x](const Piece& piece) { return piece.x_end <= x; });
      for (; edge != last && edge->x - window.x <= x; ++edge) add(*edge, x);
      if (edge != last) next = std::min(next, edge->x - window.x);
      for (const Piece& piece : pieces) next = std::min(next, piece.x_end);
      return next;
    }

    void add(const detail::SlopingEdge& whole, double x) {
      if (whole.x_end - window.x <= x) return;
      Piece piece;
      const bool begins = whole.x >= window.x, ends = whole.x_end <= window.x_end;
      piece.x = begins ? whole.x - window.x : 0;
      piece.y = begins ? whole.y - window.y : whole.height(window.x, window.y);
      piece.x_end = (ends ? whole.x_end : window.x_end) - window.x;
      piece.y_end = ends ? whole.y_end - window.y : whole.height(window.x_end, window.y);
      piece.slope = (piece.y_end - piece.y) / (piece.x_end - piece.x);
      piece.heights.right = piece.y;
      pieces.push_back(piece);
    }

    // Sorts the pieces upwards, as they are from where they were to x.
    void place(double x) {
      for (std::size_t k = 0; k < pieces.size(); ++k) {
        Piece piece = pieces[k];
        piece.heights = {piece.heights.right, piece.height(x)};
        const double middle = piece.heights.left + piece.heights.right;
        std::size_t to = k;
        for (; to > 0 && middle < pieces[to - 1].heights.left + pieces[to - 1].heights.right; --to)
          pieces[to] = pieces[to - 1];
        pieces[to] = piece;
      }
    }
  };

  // The mean height of what both have in common in the strip.
  double common_mean() const {
    const std::vector<Piece>&one = sides_[0].pieces, &other = sides_[1].pieces;
    double mean = 0;
    for (std::size_t k = 0; k + 1 < one.size(); k += 2)
      for (std::size_t j = 0; j + 1 < other.size(); j += 2)
        mean += detail::common_mean(one[k].heights, one[k + 1].heights, other[j].heights, other[j + 1].heights);
    return mean;
  }

  // Those that are not vertical, by where they begin.
  void gather_edges(std::size_t feature) {
    Outline& outline = outlines_[feature];
    if (outline.is_known) return;
    outline = {edges_.size(), edges_.size(), true};
    for (auto part = table_.first_part[feature]; part < table_.first_part[feature + 1]; ++part)
      for (auto k = table_.first[part]; k + 1 < table_.first[part + 1]; ++k) {
        const double *a = table_.coordinates + 2 * k, *b = a + 2;
        if (a[0] < b[0]) edges_.push_back({a[0], a[1], b[0], b[1]});
        if (b[0] < a[0]) edges_.push_back({b[0], b[1], a[0], a[1]});
      }
    outline.end = edges_.size();
    std::sort(edges_.begin() + static_cast<std::ptrdiff_t>(outline.begin), edges_.end(),
              [](const auto& a, const auto& b) { return a.x < b.x; });
  }

  const FeatureTable table_;
  Interrupt& interrupt_;
  std::vector<Outline> outlines_;  // of each feature
  std::vector<detail::SlopingEdge> edges_;
  std::array<Side, 2> sides_;
  std::size_t steps_ = 0;
};

}  // namespace broadphase
