// Candidates: pairs of bodies whose boxes overlap, of which one at least has changed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/samples.hpp"
#include "batches/rows_by_key.hpp"
#include "choose/find.hpp"
#include "query/collect.hpp"
#include "world/callbacks.hpp"
#include "world/columns.hpp"
#include "world/near_pairs.hpp"
#include "world/periodic_pairs.hpp"
#include "world/straight_routes.hpp"
#include "world/touching.hpp"

namespace broadphase {

// How candidates were found.
enum class Search : std::uint8_t { none, given_for_each_batch, given, near, all, near_few, around };

struct Candidates {
  Search search = Search::none;
  Pairs found;
  std::optional<Pairs> swept;    // where `found` was searched for with the motions: pairs that come near in them
  bool are_near = false;         // those of `near` are meant, not `found`
  bool is_tight = true;          // the boxes of the shapes overlap; else larger ones do
  bool has_images = false;       // also pairs that may touch in another image of a periodic world, each in one only
  bool is_synchronized = false;  // the boxes of the index hold those of all rows
  int quiet_steps = 0;           // for how many steps few rows have changed
  NearPairs near;                // to be kept for the next step

  PairColumns pairs() const {
    return are_near ? near.found()->columns()
                    : PairColumns{found.block.get(), found.block.get() + found.stride, found.size};
  }
};

struct SearchOptions {
  MethodName method;
  bool is_given;       // by the user: not "auto"
  bool keeps_nothing;  // the margin is 0, or the index needs each search
  unsigned workers;
  const Kernels* kernels;
  const double* limits = nullptr;  // lower and upper corner of what the method holds; null: everything
  bool refuses_outside = false;    // a row whose box is not wholly within; else it has no pairs
};

// What a step has found when it searches.
template <std::size_t D>
struct Changes {
  const std::uint8_t* changed;
  std::size_t count;   // of those rows
  std::size_t living;  // rows that will be in use
  double growth;       // of boxes beyond those that were seen, if nothing but motion has changed; negative: something
  double pairs_a_row;  // of boxes that overlapped when all pairs were searched for last
  const RowList* wrapped;  // rows that came in at the other side of the world
  // How rows move, if all pairs that come near each other meanwhile are of interest, too; else null.
  const StraightRoutes<D>* routes;
};

// Keeps its memory from one search to the next.
template <std::size_t D>
class CandidateSearch {
 public:
  // One rule: where most rows have changed, all pairs are searched for; where few have for some steps, a tree is
  // queried around these. A method that the user has given finds all pairs. If bodies do no more than move a little,
  // pairs near each other are found for boxes a little larger, by any of these searches, and serve several steps.
  Candidates find(const Columns<D>& columns, const RowKinds& kinds, const Changes<D>& changes,
                  const SearchOptions& options, NearPairs near, int quiet_steps, StepCallbacks<D>& callbacks,
                  Interrupt& interrupt) {
    const Now now{columns, kinds, changes, options, callbacks, interrupt};
    Candidates result;
    result.quiet_steps = quiet_steps;
    result.near = std::move(near);
    const std::size_t living = columns.living;
    const bool only_moves = changes.growth >= 0 && living >= step_limits.rows_for_near_pairs && !options.keeps_nothing;
    if (options.is_given) {
      if (only_moves)
        find_near_all(now, result);
      else
        result.near.drop();
      if (!result.are_near) find_by_given_method(now, result);
      return result;
    }
    if (static_cast<double>(changes.count) > step_limits.few * static_cast<double>(living) ||
        living < step_limits.rows_for_a_tree)
      result.quiet_steps = 0;
    else
      result.quiet_steps = std::min(quiet_steps + 1, step_limits.steps_before_a_tree);
    const bool has_few = result.quiet_steps >= step_limits.steps_before_a_tree;
    if (!only_moves || (!has_few && result.quiet_steps > 0)) result.near.drop();
    if (!has_few) {
      if (only_moves && result.quiet_steps == 0) find_near_all(now, result);
      if (!result.are_near) {
        result.search = Search::all;
        if (changes.routes != nullptr)
          find_swept(now, result);
        else
          result.found = all_pairs(now, still(now), 0, kNoLimit);
      }
      return result;
    }
    rows_.clear();
    for_moving_rows(changes.changed, columns.slots, [&](std::size_t begin, auto count) {
      for (std::size_t row = begin; row < begin + count(); ++row) rows_.push_back(static_cast<std::int32_t>(row));
      return true;
    });
    if (only_moves) find_near_few(now, result);
    if (!result.are_near) {
      result.search = Search::around;
      result.found = around(now, rows_, changes.changed, nullptr, 0, 0);
      result.is_tight = false;
      result.is_synchronized = true;
      constexpr std::size_t kMany = 32;
      if (result.found.size > kMany * rows_.size()) callbacks.look_at_margins(result.found, rows_.size());
    }
    return result;
  }

 private:
  struct Now {
    const Columns<D>& columns;
    const RowKinds& kinds;
    const Changes<D>& changes;
    const SearchOptions& options;
    StepCallbacks<D>& callbacks;
    Interrupt& interrupt;
  };

  // Rows of which no two make a pair: static ones, or where not all have changed, those that have not.
  const std::uint8_t* still(const Now& now) {
    if (now.changes.count == now.columns.living) return or_null(now.kinds.is_static);
    still_.resize(now.columns.slots);
    for (std::size_t row = 0; row < still_.size(); ++row) still_[row] = now.changes.changed[row] == 0;
    return still_.data();
  }

  // The rows in use but for those that layers and masks keep from all others that count for them, ascending; null: all
  // rows. A few that are as large as the world would have all others among their candidates.
  const RowList* rows_that_may_meet(const Columns<D>& columns, const RowKinds& kinds) {
    const RowList& living = kinds.numbers;
    const RowList* all = columns.living == columns.slots ? nullptr : &living;
    if (columns.layer == nullptr) return all;
    const std::uint64_t *layers = columns.layer, *masks = columns.mask;  // masks: null where all bits are set
    const std::uint8_t* is_static = or_null(kinds.is_static);
    struct Words {
      std::uint64_t layers = 0, masks = 0;
    };
    Words of_all, of_others;  // the latter: of those that are not static; rows that are not in use do no harm
    for (std::size_t row = 0; row < columns.slots; ++row) {
      const std::uint64_t counts = is_static != nullptr && is_static[row] != 0 ? 0 : ~std::uint64_t{0};
      of_all.layers |= layers[row];
      of_others.layers |= layers[row] & counts;
    }
    of_all.masks = of_others.masks = ~std::uint64_t{0};
    if (masks != nullptr) {
      of_all.masks = of_others.masks = 0;
      for (std::size_t row = 0; row < columns.slots; ++row) {
        const std::uint64_t counts = is_static != nullptr && is_static[row] != 0 ? 0 : ~std::uint64_t{0};
        of_all.masks |= masks[row];
        of_others.masks |= masks[row] & counts;
      }
    }
    const auto may_meet = [&](std::size_t row) {
      const Words& of = is_static != nullptr && is_static[row] != 0 ? of_others : of_all;
      return ((layers[row] & of.masks) != 0) & (((masks != nullptr ? masks[row] : ~std::uint64_t{0}) & of.layers) != 0);
    };
    bool may_all = true;
    for (std::size_t row = 0; row < columns.slots; ++row) may_all &= may_meet(row);
    if (may_all) return all;
    meeting_.clear();
    for (const std::int32_t number : living)  // those of a group may count whatever their masks are
      if (may_meet(index(number)) || (columns.group != nullptr && columns.group[index(number)] > 0))
        meeting_.push_back(number);
    return meeting_.size() == living.size() ? all : &meeting_;
  }

  void find_by_given_method(const Now& now, Candidates& result) {
    const std::uint8_t* still_rows = still(now);
    std::optional<Pairs> found;
    if (now.columns.batch == nullptr) {
      result.search = Search::given;
      found = now.callbacks.by_given_method(filter_.of(now.columns, still_rows, false));
      result.is_tight = !found;
      result.is_synchronized = true;
    } else {
      // Trees of the method's own for each batch would have to follow every change.
      result.search = Search::given_for_each_batch;
    }
    result.found = found ? *std::move(found) : all_pairs(now, still_rows, 0, kNoLimit);
  }

  // One search for boxes around the motions, which finds the pairs of boxes at the end of the step as well.
  void find_swept(const Now& now, Candidates& result) {
    const Columns<D>& columns = now.columns;
    const double* boxes = columns.spare.boxes;
    const StraightRoutes<D>& routes = *now.changes.routes;
    result.swept = all_pairs(now, still(now), 0, kNoLimit, routes.around.get());
    if (routes.is_periodic()) {
      // Boxes of routes may be those of another image; so all others are looked at. One that is wider than the world is
      // refused later.
      const PeriodicSearch search{routes.around.get(), columns.bounds, columns.alive,
                                  columns.slots,       nullptr,        filter_.of(columns, still(now), true),
                                  columns.batch,       false,          now.options.workers};
      const PeriodicPairs images = find_periodic_pairs<D>(search, *now.options.kernels, now.interrupt);
      append(*result.swept, copy_of({images.first.data(), images.second.data(), images.first.size()}));
      result.has_images = routes.are_all_here && now.changes.count == columns.living;
      result.is_tight = !result.has_images;
    }
    keep_near(routes, *result.swept);
    result.found = copy_of(columns_of(*result.swept));
    keep_pairs(result.found, [&](std::int32_t i, std::int32_t j) {
      const double *p = boxes + index(i) * 2 * D, *q = boxes + index(j) * 2 * D;
      return result.has_images ? routes.image.may_overlap(p, q) : overlaps(p, p + D, q, q + D, D, true, 0.0);
    });
  }

  // Pairs of boxes, those of the spare placement if they are not given, enlarged by a reach. `still`: rows of which no
  // two make a pair, or null.
  Pairs all_pairs(const Now& now, const std::uint8_t* still, double reach, std::uint64_t limit,
                  const double* boxes = nullptr) {
    const Columns<D>& columns = now.columns;
    constexpr std::size_t kNumbers = 2 * D;
    if (boxes == nullptr) boxes = columns.spare.boxes;
    const std::int64_t* keys = columns.batch;
    std::size_t count = columns.slots;
    const RowList* rows = rows_that_may_meet(columns, now.kinds);
    Problem<double> problem;
    if (rows == nullptr) {
      problem.filter = filter_.of(columns, still, false);
    } else {
      count = rows->size();
      corners_.resize(count * kNumbers);
      keys_.resize(keys != nullptr ? count : 0);
      for (std::size_t k = 0; k < count; ++k) {
        const auto row = static_cast<std::size_t>((*rows)[k]);
        std::copy_n(boxes + row * kNumbers, kNumbers, corners_.data() + k * kNumbers);
        if (keys != nullptr) keys_[k] = keys[row];
      }
      boxes = corners_.data();
      if (keys != nullptr) keys = keys_.data();
      problem.filter = filter_.of_some(columns, still, *rows);
    }
    problem.first = {boxes, boxes + D, kNumbers, kNumbers, count};
    problem.dimension = D;
    problem.grow = reach;
    Batches batches;
    if (keys != nullptr) {
      batches = batches_of({count, keys, 1}, nullptr, now.interrupt);
      if (!batches.is_whole) problem.batches = &batches;
    }
    // Those that serve several steps are found in the quickest way, whatever method is given.
    const MethodName method = reach > 0 ? MethodName::automatic : now.options.method;
    Pairs pairs = find_pairs(method, problem, limit, {*now.options.kernels, now.options.workers, now.interrupt});
    if (rows != nullptr) {
      const RowNames names{rows->data()};
      names.name(pairs.block.get(), pairs.size);
      names.name(pairs.block.get() + pairs.stride, pairs.size);
    }
    return pairs;
  }

  // Near pairs of all rows: those that are kept, or found now if it is time to.
  void find_near_all(const Now& now, Candidates& result) {
    const Columns<D>& columns = now.columns;
    NearPairs& near = result.near;
    near.keep_for_all();
    near.take_step(now.changes.growth, columns.version);
    if (near.found() == nullptr && near.is_time()) {
      const StratifiedSample sample(columns.slots, kSample);
      extents_.clear();
      for (std::size_t at = 0; at < sample.size(); ++at)
        if (columns.alive[sample[at]] != 0) extents_.push_back(extent_of(columns.spare.boxes + sample[at] * 2 * D));
      Reach::Costs costs = Reach::kOfShapes;
      costs.instead = std::max(costs.instead, search_of(now.options.method));
      const double reach = Reach::among_all(usual_extent(extents_), now.changes.growth, now.changes.pairs_a_row, D,
                                            columns.period_bounds() != nullptr, costs);
      NearPairs::Found found;
      if (reach > 0 && search_near(now, reach, found))
        near.keep(std::move(found), reach, columns.version);
      else
        near.note_not_worth();
    }
    if (near.found() == nullptr) return;
    result.search = Search::near;
    result.are_near = true;
    result.is_tight = false;
    result.has_images = columns.period_bounds() != nullptr;
  }

  // False where these would be too many, or where those of images might be more than one for each pair.
  bool search_near(const Now& now, double reach, NearPairs::Found& found) {
    const Columns<D>& columns = now.columns;
    const std::uint8_t* is_static = or_null(now.kinds.is_static);
    try {
      const Pairs pairs = all_pairs(now, is_static, reach, kMostNearPairs * columns.living);
      found.add({pairs.block.get(), pairs.block.get() + pairs.stride, pairs.size});
    } catch (const TooManyPairs&) {
      return false;
    }
    const double* bounds = columns.period_bounds();
    if (bounds == nullptr) return true;
    // In a periodic world, no box is wider than this share of it.
    constexpr double kWidest = 0.25;
    double narrowest = bounds[D] - bounds[0], widest = 0, farthest = 0;
    for (std::size_t axis = 1; axis < D; ++axis) narrowest = std::min(narrowest, bounds[D + axis] - bounds[axis]);
    corners_.resize(columns.slots * 2 * D);
    for (std::size_t row = 0; row < columns.slots; ++row) {
      const double* box = columns.spare.boxes + row * 2 * D;
      double* larger = corners_.data() + row * 2 * D;
      for (std::size_t axis = 0; axis < D; ++axis) {
        const double low = box[axis], high = box[D + axis];
        widest = std::max(widest, high - low);
        farthest = std::max({farthest, -low, high});
        larger[axis] = low - reach;
        larger[D + axis] = high + reach;
      }
    }
    if (!(widest + 4 * reach <= kWidest * narrowest && farthest <= 0x1p20 * narrowest)) return false;
    const PeriodicSearch search{corners_.data(), bounds,  columns.alive,
                                columns.slots,   nullptr, filter_.of(columns, is_static, true),
                                columns.batch,   false,   now.options.workers};
    const PeriodicPairs images = find_periodic_pairs<D>(search, *now.options.kernels, now.interrupt);
    found.add({images.first.data(), images.second.data(), images.first.size()});
    return true;
  }

  // Near pairs of the few rows that move: those that are kept, with those of rows that begin to move; or found now if
  // it is time to.
  void find_near_few(const Now& now, Candidates& result) {
    const Columns<D>& columns = now.columns;
    NearPairs& near = result.near;
    near.keep_for_few(rows_, *now.changes.wrapped);
    near.take_step(now.changes.growth, columns.version);
    if (near.found() == nullptr) {
      if (near.is_time()) search_near_few(now, result);
    } else if (const RowList others = near.others(rows_); !others.empty()) {
      around_ = *near.around();
      of_.assign(columns.slots, 0);
      for (const std::int32_t row : others) around_[index(row)] = of_[index(row)] = 1;
      const Pairs more = around(now, others, of_.data(), around_.data(), near.left(), 2 * near.left());
      near.add({more.block.get(), more.block.get() + more.stride, more.size}, around_);
      result.is_synchronized = true;
    }
    if (near.found() == nullptr) return;
    result.search = Search::near_few;
    result.are_near = true;
    result.is_tight = false;
  }

  void search_near_few(const Now& now, Candidates& result) {
    const Columns<D>& columns = now.columns;
    extents_.clear();
    const StratifiedSample sample(rows_.size(), kSample);
    for (std::size_t at = 0; at < sample.size(); ++at)
      extents_.push_back(extent_of(columns.spare.boxes + index(rows_[sample[at]]) * 2 * D));
    const double reach = Reach::among_few(usual_extent(extents_), now.changes.growth);
    if (!(reach > 0)) {
      result.near.note_not_worth();
      return;
    }
    result.is_synchronized = true;
    // By some rows it is seen beforehand whether there are too many.
    const StratifiedSample few(rows_.size(), 16);
    RowList some;
    for (std::size_t at = 0; at < few.size(); ++at) some.push_back(rows_[few[at]]);
    around_.assign(columns.slots, 0);
    for (const std::int32_t row : some) around_[index(row)] = 1;
    if (around(now, some, around_.data(), around_.data(), reach, reach).size > kMostNearPairs * some.size()) {
      result.near.note_not_worth();
      return;
    }
    // They leave these boxes when the reach is used up.
    now.callbacks.enlarge(enlarged(columns, rows_, reach), rows_);
    for (const std::int32_t row : rows_) around_[index(row)] = 1;
    const Pairs pairs = around(now, rows_, around_.data(), around_.data(), reach, reach);
    if (pairs.size > kMostNearPairs * rows_.size()) {
      result.near.note_not_worth();
      return;
    }
    NearPairs::Found found;
    found.add({pairs.block.get(), pairs.block.get() + pairs.stride, pairs.size});
    result.near.keep(std::move(found), reach, columns.version, &around_);
  }

  // Boxes of rows of the spare placement, enlarged and rounded outwards.
  static std::vector<double> enlarged(const Columns<D>& columns, const RowList& rows, double reach) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    std::vector<double> boxes(rows.size() * 2 * D);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const double* box = columns.spare.boxes + index(rows[k]) * 2 * D;
      for (std::size_t axis = 0; axis < D; ++axis) {
        boxes[k * 2 * D + axis] = std::nextafter(box[axis] - reach, -kInfinity);
        boxes[k * 2 * D + D + axis] = std::nextafter(box[D + axis] + reach, kInfinity);
      }
    }
    return boxes;
  }

  // The pairs of rows, which have flags in `of`, by queries of the index. With flags of the boxes that are enlarged by
  // a reach: only those that overlap then. `query_margin`: by how much the boxes of the queries are larger.
  Pairs around(const Now& now, const RowList& rows, const std::uint8_t* of, const std::uint8_t* is_enlarged,
               double reach, double query_margin) {
    const Columns<D>& columns = now.columns;
    std::vector<double> boxes;
    if (is_enlarged != nullptr) {
      boxes = enlarged(columns, rows, query_margin);
    } else {
      boxes.resize(rows.size() * 2 * D);
      for (std::size_t k = 0; k < rows.size(); ++k)
        std::copy_n(columns.spare.boxes + index(rows[k]) * 2 * D, 2 * D, boxes.data() + k * 2 * D);
    }
    const Ragged near = now.callbacks.near(boxes, rows);
    const Filter* filter = filter_.of(columns, nullptr, true);
    return pairs_around(rows.data(), rows.size(), near.rows.data(), near.offsets.data(), of,
                        [&](std::size_t i, std::size_t j) {
                          return (filter == nullptr || filter->allows(i, j)) &&
                                 (is_enlarged == nullptr || enlarged_overlap(columns, i, j, is_enlarged, reach));
                        });
  }

  static bool enlarged_overlap(const Columns<D>& columns, std::size_t i, std::size_t j, const std::uint8_t* is_enlarged,
                               double reach) {
    // The difference of two numbers is rounded by less than a part of 2^-52 of it.
    const double gap = reach * (is_enlarged[i] + is_enlarged[j]) * (1 + 0x1p-50);
    const double *p = columns.spare.boxes + i * 2 * D, *q = columns.spare.boxes + j * 2 * D;
    bool apart = false;
    for (std::size_t axis = 0; axis < D; ++axis) apart |= (p[axis] - q[D + axis] > gap) | (q[axis] - p[D + axis] > gap);
    return !apart;
  }

  static double extent_of(const double* box) {
    double extent = box[D] - box[0];
    for (std::size_t axis = 1; axis < D; ++axis) extent = std::max(extent, box[D + axis] - box[axis]);
    return extent;
  }
  static std::size_t index(std::int32_t row) { return static_cast<std::size_t>(row); }

  static constexpr std::size_t kSample = 256;

  RowFilter filter_;
  RowFlags still_, around_, of_;
  RowList rows_, meeting_;
  std::vector<double> corners_, extents_;
  std::vector<std::int64_t> keys_;
};

}  // namespace broadphase
