// The callbacks of a step, for what the core does not know: an index of the world, shapes that are kept elsewhere, how
// a budget is spent.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "query/collect.hpp"
#include "query/ragged.hpp"
#include "world/ccd.hpp"
#include "world/columns.hpp"
#include "world/touching.hpp"
#include "world/turning_rows.hpp"

namespace broadphase {

// Pairs that have not been tested since they may have changed, in lexicographic order; the step that first left each;
// whether it is tested only when one of its rows changes, or by a step without a budget.
struct Waiting {
  RowList first, second;
  std::vector<std::int64_t> since;
  RowFlags dropped;

  PairColumns columns() const { return {first.data(), second.data(), first.size()}; }
};

// What the tests of a step found: pairs that touch, in any order; what waits; and of that, what this step left.
struct Spent {
  Pairs touching;
  Waiting waiting;
  Pairs left;
  std::size_t tests = 0;
  double seconds = 0;  // that tests took which a budget can cut short
};

// How bodies moved during a step that follows some of them along their routes.
template <std::size_t D>
struct Trace {
  RowFlags is_ccd;               // rows that are followed; empty: none
  const double *before, *after;  // positions where the world saw the rows, and after the step
  std::vector<double> kept;      // those of `before`, where they are not columns of the world
  RowList bounced, wrapped;      // rows that were reflected, and that came in at the other side
  RowList turned;                // all of these, ascending,
  std::vector<double> ends;      // and where they would be if there were no boundary
  TurningRows<D> turning;

  // Notes where rows, ascending, would be if the boundary had not turned them.
  void turn(const RowList& rows, const std::vector<double>& places) {
    RowList all;
    std::vector<double> routes;
    const auto take = [&](const RowList& from, const std::vector<double>& numbers, std::size_t& at) {
      all.push_back(from[at]);
      routes.insert(routes.end(), numbers.begin() + static_cast<std::ptrdiff_t>(at * D),
                    numbers.begin() + static_cast<std::ptrdiff_t>((at + 1) * D));
      ++at;
    };
    for (std::size_t i = 0, j = 0; i < turned.size() || j < rows.size();) {
      if (j == rows.size() || (i < turned.size() && turned[i] <= rows[j]))
        take(turned, ends, i);
      else
        take(rows, places, j);
    }
    turned = std::move(all);
    ends = std::move(routes);
  }

  // Where a row would be after the step if there were no boundary: as it was noted last.
  const double* end_of(std::size_t row) const {
    const auto at = std::upper_bound(turned.begin(), turned.end(), static_cast<std::int32_t>(row));
    if (at != turned.begin() && *(at - 1) == static_cast<std::int32_t>(row))
      return ends.data() + static_cast<std::size_t>(at - 1 - turned.begin()) * D;
    return after + row * D;
  }
};

template <std::size_t D>
class StepCallbacks {
 public:
  // What is wrong with a row.
  enum class Refusal : std::uint8_t { motion, place, width, outside, turn };

  virtual ~StepCallbacks() = default;
  // Throw what says that.
  virtual void refuse(Refusal why, std::size_t row) = 0;
  virtual void refuse(const EndlessRoute<D>& route) = 0;

  // The index, whose boxes hold those of the spare placement, or are as large as they were made: the rows that overlap
  // each of some boxes, for which it is called because of these rows.
  virtual Ragged near(const std::vector<double>& boxes, const RowList& rows) = 0;
  virtual void enlarge(const std::vector<double>& boxes, const RowList& rows) = 0;
  // These pairs, found around so many rows, are many: the margins of the index may be too wide.
  virtual void look_at_margins(const Pairs& pairs, std::size_t rows) = 0;
  // Pairs by an index of the method that the user gave, those that count (null: all); none where the index would search
  // at once.
  virtual std::optional<Pairs> by_given_method(const Filter* filter) = 0;

  // Which pairs touch of those with a hull, a mesh or a custom shape: first and second row, one pair after the other.
  // With offsets, those that touch where the second is moved by its offset, and not where they are.
  virtual Pairs touching(const RowList& pairs) = 0;
  virtual Pairs touching_images(const RowList& pairs, const std::vector<double>& offsets) = 0;
  // Tests pairs in their turn until the budget is used up.
  virtual Spent spend(const PairColumns& pairs, bool is_tight, const std::uint8_t* renewed) = 0;
  // Writes when pairs with a hull, a mesh or a custom shape touch on their routes, and how.
  virtual void meet(Approaches<D>& pairs) = 0;
  virtual void meet(TurningApproaches<D>& pairs) = 0;
};

}  // namespace broadphase
