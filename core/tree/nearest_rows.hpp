// The rows nearest to a point, kept in order while a walk finds them, and the walk by exact bounds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "boxes/any_boxes.hpp"
#include "query/queries.hpp"
#include "tree/blocks.hpp"

namespace broadphase {

// A row with its squared distance or time; ordered by that, then by row. Number: double, or WideNumber where doubles
// overflow or vanish.
template <class Number>
using RowAt = std::pair<Number, std::int32_t>;
using KeyedRow = RowAt<double>;

enum class Taken { no, ties, yes, unknown };  // `ties`: not taken, at the distance of the last one

// The `wanted` nearest rows of those added that are at most `farthest` from the center, nearest first, in `found`.
template <class Number>
class NearestRows {
 public:
  NearestRows(const double* center, std::size_t dimension, std::size_t wanted, double farthest,
              std::vector<RowAt<Number>>& found)
      : center_(center),
        dimension_(dimension),
        wanted_(wanted),
        farthest_(farthest),
        surely_(Number(farthest) * Number(farthest) * Number(1 - kRounding)),
        hardly_(Number(farthest) * Number(farthest) * Number(1 + kRounding)),
        found_(found) {
    found_.clear();
  }

  // Unknown if doubles do not tell how far away the box is, though it may be near.
  Taken add(const double* box, std::int32_t row) {
    const RowAt<Number> candidate(squared_distance<Number>(center_, box, dimension_), row);
    if constexpr (std::is_same_v<Number, double>) {
      if (candidate.first < kLeastSafe && !holds_point(box, center_, dimension_)) return Taken::unknown;
      if (is_far(candidate.first, box)) return Taken::no;
    } else if (candidate.first.is_infinite()) {
      return Taken::no;
    }
    if (candidate.first > hardly_) return Taken::no;
    if (candidate.first >= surely_ && candidate.first > Number(0.0) && farthest_ < kNever &&
        !Ball(center_, farthest_, dimension_).meets_exactly(box))
      return Taken::no;
    if (put_in_order(candidate)) return Taken::yes;
    return candidate.first == last().first ? Taken::ties : Taken::no;
  }

  // Whether a row with a box in this one, and with a number that is not less, might be taken.
  bool may_take_from(const RowAt<Number>& bound) const {
    return !(bound.first > hardly_) && (!is_full() || bound < found_.back());
  }
  Number squared_distance_to(const double* box) const { return squared_distance<Number>(center_, box, dimension_); }
  // Whether no box in this one is near enough for doubles. Notes that rows may be missing then.
  bool is_far([[maybe_unused]] const Number& squared, [[maybe_unused]] const double* box) {
    if constexpr (std::is_same_v<Number, double>) {
      if (!(squared > kMostSafe)) return false;
      has_far_ |= farthest_ * farthest_ > kMostSafe / 2 && !is_at_infinity(box, dimension_);
      return true;
    } else {
      return false;
    }
  }
  bool is_full() const { return found_.size() == wanted_; }
  const RowAt<Number>& last() const { return found_.back(); }
  // False if rows may be missing that are too far away for doubles.
  bool is_complete() const { return !has_far_ || is_full(); }

 private:
  // Keeps the smallest `wanted` in order. False if the candidate is not among them.
  bool put_in_order(const RowAt<Number>& candidate) {
    if (is_full()) {
      if (!(candidate < found_.back())) return false;
      found_.back() = candidate;
    } else {
      found_.push_back(candidate);
    }
    // Of many, the place is found by bisection; of few, that takes longer than moving them.
    constexpr std::size_t kFew = 16;
    auto place = found_.end() - 1;
    if (found_.size() > kFew && candidate < *(place - kFew)) {
      const auto to = std::lower_bound(found_.begin(), place, candidate);
      std::move_backward(to, place, found_.end());
      *to = candidate;
      return true;
    }
    for (; place != found_.begin() && candidate < *(place - 1); --place) *place = *(place - 1);
    *place = candidate;
    return true;
  }

  const double* center_;
  std::size_t dimension_, wanted_;
  double farthest_;
  Number surely_, hardly_;
  std::vector<RowAt<Number>>& found_;
  bool has_far_ = false;
};

// Adds all rows of a tree that might be taken, in the order of the exact bounds of their blocks and, where these are
// the same, of their least rows: for scenes where floats, or distances, do not tell the rows apart. Counts the rows
// that the filter rejects. False if a row's distance is unknown. `next_copy` as TreeQueries has it, or null.
template <class Number>
bool add_by_bounds(const BlockTree& tree, const AnyBoxes& rows, const QueryFilter& filter,
                   const std::int32_t* next_copy, std::size_t query, NearestRows<Number>& nearest,
                   std::uint64_t& rejected);

}  // namespace broadphase
