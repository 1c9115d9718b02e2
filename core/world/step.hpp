// A step of a world: what moves is moved, what touches is found, and what that changes. The program, in one place.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "narrow/batch.hpp"
#include "world/boundary.hpp"
#include "world/callbacks.hpp"
#include "world/candidates.hpp"
#include "world/ccd.hpp"
#include "world/columns.hpp"
#include "world/moved.hpp"
#include "world/near_pairs.hpp"
#include "world/periodic_pairs.hpp"
#include "world/touching.hpp"

namespace broadphase {

// The pairs that touch after a step, in lexicographic order, and where those of each first row begin.
struct Touching {
  Pairs pairs;
  PlainArray<std::uint32_t> starts;  // one more than `rows`
  std::size_t rows = 0;

  PairColumns columns() const { return columns_of(pairs); }
  TouchingPairs by_row() const { return {columns(), starts.get(), rows}; }
};

// What a world remembers from one step to the next, besides its columns.
struct StepMemory {
  std::shared_ptr<const Touching> touching;
  Waiting waiting;
  bool has_left = true;  // a budget has left some of those that wait; else they only met on their routes
  NearPairs near;
  RowFlags hits[2];  // of near pairs: those of `near` are in one, and a step writes to the other
  int quiet_steps = 0;
  double pairs_a_row = 0;  // of boxes that overlapped when all pairs were searched for last
  Steadiness steadiness;

  StepMemory() {
    const auto none = std::make_shared<Touching>();
    none->starts.grow(1);
    none->starts[0] = 0;
    touching = none;
  }
  std::size_t memory_bytes() const { return near.memory_bytes() + hits[0].capacity() + hits[1].capacity(); }
};

// The arguments of a step.
struct StepRequest {
  std::int64_t number;  // from 1
  double dt;
  bool has_budget;
  bool has_displaced;    // rows were put elsewhere, and their shapes are not there yet
  bool are_all_in_core;  // no shape is a hull, a mesh or a custom one
  bool is_held;          // somebody holds arrays that a user may write to
  std::uint64_t writes;  // how often these were given out
  std::uint8_t* behind;  // rows whose boxes may have left those of the index; null: there is none
  SearchOptions search;
};

struct StepStats {
  Search search = Search::none;
  std::size_t bodies = 0, living = 0, changed = 0, candidates = 0, tests = 0, looked_at = 0;
  std::size_t followed = 0, route_pairs = 0;  // rows that were looked at on their routes, and pairs of parts of these
  std::size_t compared = 0;                   // near pairs of which it was known whether they touched
  int near_uses = 0;
  double motion = 0, broad_phase = 0, narrow_phase = 0, cut = 0;  // seconds; cut: by a budget
};

// What a step has found, and what is to be written: nothing that anybody sees has been changed.
template <std::size_t D>
struct Step {
  std::shared_ptr<const Touching> touching;
  Pairs enter, exit;                       // in order
  std::vector<std::int64_t> enter_at;      // where the pairs of `enter` are in `touching`
  std::vector<std::int64_t> exit_handles;  // that their rows had at the last step, two for each
  Pairs left;                              // by a budget
  Impacts<D> impacts;
  std::vector<std::int64_t> removed_handles;
  StepStats stats;

  Moved<D> moved;
  Waiting waiting;
  NearPairs near;
  int quiet_steps;
  bool has_searched, is_synchronized, is_steady;
};

// Bodies in columns that others own, at most one step at a time.
template <std::size_t D>
class World {
 public:
  // Computes a step, into the spare placement and the scratch columns.
  Step<D> step(const Columns<D>& columns, StepMemory& memory, const StepRequest& request, StepCallbacks<D>& callbacks,
               Interrupt& interrupt) {
    const unsigned workers = request.search.workers;
    const Clock::time_point began = Clock::now();
    const std::size_t slots = columns.slots;
    Step<D> step;
    kinds_.look(columns);

    // Motion, the boundary, and the places of shapes.
    std::copy_n(columns.changed, slots, columns.next_changed);
    const bool is_left = memory.has_left && !memory.waiting.first.empty();
    const bool only_moves = !request.has_budget && slots >= step_limits.rows_for_near_pairs && !is_left &&
                            std::memchr(columns.changed, 1, slots) == nullptr;
    const std::uint8_t* looked_at = rows_due(columns, request);
    const bool may_be_steady = columns.update_intervals == nullptr;
    const RowList* few =
        may_be_steady ? memory.steadiness.rows(columns, kinds_, request.has_displaced, request.writes) : nullptr;
    step.stats.looked_at = few != nullptr ? few->size() : slots;
    // Where nothing can move, and nothing is left from before, nothing is met, and nothing leaves the world after all.
    const bool follows = few == nullptr || !few->empty() || request.has_budget || !memory.waiting.first.empty() ||
                         !kinds_.leaves.empty();
    Trace<D> trace = follows ? detail::trace_of(columns, kinds_, request.has_displaced) : Trace<D>();
    step.moved = move_rows(columns, kinds_, few, looked_at, request.dt, request.has_displaced, room_, std::move(trace),
                           workers, callbacks);
    const Moved<D>& moved = step.moved;
    step.is_steady = may_be_steady && !moved.is_of_few && !request.is_held && moved.shifts_few && moved.turns_few;
    const std::size_t living = columns.living - moved.removed.size();
    const std::uint8_t *alive = columns.alive, *renewed = columns.renewed;
    const RowList outside = rows_outside_limits(columns, moved, request.search, callbacks);
    const bool are_some_gone = !moved.removed.empty() || !outside.empty();
    if (are_some_gone) {
      alive_.assign(columns.alive, columns.alive + slots);
      renewed_.assign(columns.renewed, columns.renewed + slots);
      for (const std::int32_t row : moved.removed) {
        alive_[static_cast<std::size_t>(row)] = 0;
        renewed_[static_cast<std::size_t>(row)] = 1;
      }
      for (const std::int32_t row : outside) alive_[static_cast<std::size_t>(row)] = 0;
      alive = alive_.data();
      renewed = renewed_.data();
    }
    const bool follows_some =
        !moved.trace.is_ccd.empty() && find_sought(columns, memory, moved.trace, alive, renewed, request);
    std::optional<Followed<D>> followed;
    const StraightRoutes<D>* routes = nullptr;  // where most bodies are followed
    if (follows_some) {
      followed = followed_of(columns, memory, moved.trace, alive, looked_at, renewed);
      if (are_many_sought(followed->row_motions, slots)) {
        place_on_routes(*followed, routes_, sought_, workers);
        routes = &routes_;
      }
    }
    const Clock::time_point placed = Clock::now();

    // Candidates.
    std::size_t count = 0;
    for (std::size_t row = 0; row < slots; ++row) count += columns.next_changed[row];
    Candidates candidates;
    candidates.near = memory.near;
    candidates.quiet_steps = memory.quiet_steps;
    step.has_searched = count > 0;
    if (count > 0) {
      for (std::size_t row = 0; request.behind != nullptr && row < slots; ++row)
        request.behind[row] |= columns.moved[row];
      // What comes near on the routes of many is found by the same search.
      const bool is_swept = !request.has_budget && !is_left && !are_some_gone;
      const Changes<D> changes{columns.next_changed,
                               count,
                               living,
                               only_moves ? moved.growth : -1.0,
                               memory.pairs_a_row,
                               &moved.trace.wrapped,
                               is_swept ? routes : nullptr};
      candidates =
          search_.find(columns, kinds_, changes, request.search, memory.near, memory.quiet_steps, callbacks, interrupt);
      leave_out(columns, are_some_gone ? alive : nullptr, count, candidates);
    }
    const Clock::time_point searched = Clock::now();

    // The narrow phase: in place, across periodic boundaries, and on the routes of followed bodies.
    step.stats.candidates = candidates.pairs().count;
    Tests tests = request.has_budget ? Tests{callbacks.spend(candidates.pairs(), candidates.is_tight, renewed)}
                                     : test_all(columns, memory, candidates, renewed, request, callbacks, workers);
    if (tests.is_difference_known) step.stats.compared = candidates.pairs().count;
    if (!columns.closed) drop_closed(columns, tests.spent.touching);
    if (!candidates.has_images && columns.period_bounds() != nullptr && count > 0)
      add_those_across_boundaries(columns, memory, alive, request, tests, callbacks, interrupt);
    if (follows_some) {
      followed->filter = filter_.of(columns, nullptr, true);
      followed->near = near_on_routes(columns, moved, candidates);
      followed->are_near_kept = candidates.swept.has_value();
      step.impacts = impacts_on_routes(*followed, routes, sought_, *request.search.kernels, workers, interrupt,
                                       [&](auto& pairs) { callbacks.meet(pairs); });
      if (step.impacts.endless) callbacks.refuse(*step.impacts.endless);
      step.stats.followed = step.impacts.rows.size();
      step.stats.route_pairs = step.impacts.candidate_count;
      add_those_met_on_routes(memory, step.impacts, request.number, tests);
    }

    // The difference to the last step.
    const bool has_renewed = columns.generation_then != nullptr || !moved.removed.empty();
    if (!tests.is_difference_known) {
      const Pairs& found = tests.spent.touching;
      const bool are_all = count == living || tests.known.has_value();
      tests.known = next_touching(memory.touching->by_row(), columns_of(found), memory.waiting.columns(),
                                  {are_all ? nullptr : columns.next_changed, has_renewed ? renewed : nullptr}, slots,
                                  workers, interrupt);
    }
    TouchingStep& next = *tests.known;
    step.touching = memory.touching;
    if (!next.same)
      step.touching = std::make_shared<Touching>(Touching{std::move(next.touching), std::move(next.starts), slots});
    step.enter = std::move(next.began);
    step.exit = std::move(next.ended);
    step.enter_at = std::move(next.began_at);
    const std::int64_t* then = columns.generation_then != nullptr ? columns.generation_then : columns.generation;
    for (std::size_t k = 0; k < step.exit.size; ++k)
      for (const std::int32_t row : {step.exit.block[k], step.exit.block[step.exit.stride + k]})
        step.exit_handles.push_back(handle(then, row));
    for (const std::int32_t row : moved.removed) step.removed_handles.push_back(handle(columns.generation, row));

    step.waiting = std::move(tests.spent.waiting);
    step.left = std::move(tests.spent.left);
    step.stats.search = candidates.search;
    step.stats.near_uses = candidates.near.uses();
    step.quiet_steps = candidates.quiet_steps;
    step.is_synchronized = candidates.is_synchronized;
    step.near = std::move(candidates.near);
    if (step.near.hits != tests.hits) step.near.hits = tests.hits;
    StepStats& stats = step.stats;
    stats.bodies = living, stats.living = columns.living, stats.changed = count, stats.tests = tests.spent.tests;
    stats.motion = seconds(placed - began), stats.broad_phase = seconds(searched - placed);
    stats.narrow_phase = seconds(Clock::now() - searched), stats.cut = tests.spent.seconds;
    return step;
  }

  // Writes what a step has computed to the columns, and remembers it. Who swaps the placements, and removes what is to
  // be removed, does so at once. Cannot fail.
  void commit(const Columns<D>& columns, StepMemory& memory, const StepRequest& request, Step<D>& step) noexcept {
    constexpr std::size_t R = kRotationNumbers<D>;
    const std::size_t slots = columns.slots;
    const Moved<D>& moved = step.moved;
    std::fill_n(columns.changed, slots, std::uint8_t{0});
    if (columns.generation_then != nullptr) std::fill_n(columns.renewed, slots, std::uint8_t{0});
    const unsigned workers = request.search.workers;
    const auto write = [slots, workers]<std::size_t N>(double* to, const double* from, bool are_few,
                                                       const RowList& rows, std::integral_constant<std::size_t, N>) {
      Interrupt never;
      if (!are_few)
        in_stretches_on_threads(slots, workers, never, [=](std::size_t begin, std::size_t end) {
          std::copy(from + begin * N, from + end * N, to + begin * N);
        });
      else
        for (const std::int32_t row : rows)
          std::copy_n(from + static_cast<std::size_t>(row) * N, N, to + static_cast<std::size_t>(row) * N);
    };
    write(columns.positions, moved.positions, moved.shifts_few, moved.shifted,
          std::integral_constant<std::size_t, D>());
    if (columns.rotations != nullptr && moved.rotations != nullptr)
      write(columns.rotations, moved.rotations, moved.turns_few, moved.rotated,
            std::integral_constant<std::size_t, R>());
    for (std::size_t k = 0; k < moved.bounced.size(); ++k)
      std::copy_n(moved.velocities.data() + k * D, D,
                  columns.velocities + static_cast<std::size_t>(moved.bounced[k]) * D);
    if (!moved.removed.empty())
      memory.steadiness.forget();
    else if (step.is_steady)
      memory.steadiness.note(request.writes, columns.version);
    else if (!moved.is_of_few)
      memory.steadiness.forget();
    memory.touching = step.touching;
    memory.waiting = std::move(step.waiting);
    memory.has_left = request.has_budget;
    if (step.has_searched) {
      if (step.is_synchronized && request.behind != nullptr) std::fill_n(request.behind, slots, std::uint8_t{0});
      memory.quiet_steps = step.quiet_steps;
      const bool are_all = step.stats.search == Search::all || step.stats.search == Search::given ||
                           step.stats.search == Search::given_for_each_batch;
      if (are_all && step.stats.living > 0)
        memory.pairs_a_row = static_cast<double>(step.stats.candidates) / static_cast<double>(step.stats.living);
      memory.near = std::move(step.near);
    }
  }

  // Places the shapes of all rows in the spare placement where the rows are, and flags those that are elsewhere.
  void look(const Columns<D>& columns, StepCallbacks<D>& callbacks) {
    kinds_.look(columns);
    std::copy_n(columns.changed, columns.slots, columns.next_changed);
    Columns<D> open = columns;  // no boundary acts
    open.update_intervals = nullptr;
    RowKinds none = kinds_;
    none.wraps.clear(), none.bounces.clear(), none.leaves.clear();
    move_rows(open, none, nullptr, columns.alive, 0.0, false, room_, Trace<D>(), 1, callbacks);
  }

 private:
  using Clock = std::chrono::steady_clock;

  // What the narrow phase knows.
  struct Tests {
    Spent spent{};
    std::optional<TouchingStep> known{};  // what began and ended, of near pairs
    bool is_difference_known = false;     // and nothing else touches
    int hits = NearPairs::kUnknown;       // which flags of near pairs have been written
  };

  static double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }
  static std::int64_t handle(const std::int64_t* generations, std::int32_t row) { return generations[row] << 32 | row; }
  static bool boxes_meet(const double* boxes, std::size_t i, std::size_t j, bool closed) {
    return overlaps(boxes + i * 2 * D, boxes + i * 2 * D + D, boxes + j * 2 * D, boxes + j * 2 * D + D, D, closed, 0.0);
  }

  // Flags of the rows that this step looks at.
  const std::uint8_t* rows_due(const Columns<D>& columns, const StepRequest& request) {
    if (columns.update_intervals == nullptr) return columns.alive;
    due_.resize(columns.slots);
    for (std::size_t row = 0; row < due_.size(); ++row) {
      const bool is_due = (request.number + static_cast<std::int64_t>(row)) % columns.update_intervals[row] == 0 ||
                          (columns.ccd != nullptr && columns.ccd[row] != 0) ||
                          (request.has_displaced && columns.displaced[row] != 0);
      due_[row] = is_due && columns.alive[row] != 0;
    }
    return due_.data();
  }

  // Rows that are not wholly within what the method holds. They are left out of this step like rows that are removed.
  static RowList rows_outside_limits(const Columns<D>& columns, const Moved<D>& moved, const SearchOptions& search,
                                     StepCallbacks<D>& callbacks) {
    if (search.limits == nullptr) return {};
    RowList rows = rows_sticking_out<D>(columns.spare.boxes, search.limits, columns.alive, columns.slots);
    const auto is_removed = [&](std::int32_t row) {
      return std::binary_search(moved.removed.begin(), moved.removed.end(), row);
    };
    if (search.refuses_outside)
      for (const std::int32_t row : rows)
        if (!is_removed(row)) callbacks.refuse(StepCallbacks<D>::Refusal::outside, static_cast<std::size_t>(row));
    return rows;
  }

  // Leaves out pairs of two static rows, one of which has changed, and, unless `alive` is null, pairs of rows that are
  // gone.
  void leave_out(const Columns<D>& columns, const std::uint8_t* alive, std::size_t count, Candidates& candidates) {
    const RowFlags& is_static = kinds_.is_static;
    bool has_static = false;
    for (std::size_t row = 0; count != columns.living && row < is_static.size(); ++row)
      has_static |= (is_static[row] & columns.next_changed[row]) != 0;
    if (!has_static && alive == nullptr) return;
    if (candidates.are_near) candidates.found = copy_of(candidates.pairs());
    candidates.are_near = false;
    keep_pairs(candidates.found, [&](std::size_t i, std::size_t j) {
      const bool is_leaving = alive != nullptr && (alive[i] & alive[j]) == 0;
      return !is_leaving && !(has_static && (is_static[i] & is_static[j]) != 0);
    });
  }

  // Tests all candidates, and all pairs that wait.
  Tests test_all(const Columns<D>& columns, StepMemory& memory, Candidates& candidates, const std::uint8_t* renewed,
                 const StepRequest& request, StepCallbacks<D>& callbacks, unsigned workers) {
    const Clock::time_point began = Clock::now();
    Tests tests;
    PairColumns pairs = candidates.pairs();
    Pairs more;
    if (const PairColumns waiting = memory.waiting.columns(); waiting.count > 0) {
      append(more, copy_of(pairs));
      for (std::size_t k = 0; k < waiting.count; ++k) {
        const auto i = static_cast<std::size_t>(waiting.first[k]), j = static_cast<std::size_t>(waiting.second[k]);
        // Those of which a row has changed are among the candidates.
        if ((columns.next_changed[i] | columns.next_changed[j] | renewed[i] | renewed[j]) == 0 &&
            boxes_meet(columns.spare.boxes, i, j, true))
          push(more, waiting.first[k], waiting.second[k]);
      }
      pairs = columns_of(more);
    }
    const bool is_open = columns.period_bounds() == nullptr || candidates.has_images;
    const bool are_near = candidates.are_near && more.size == 0 && is_open && columns.closed && request.are_all_in_core;
    std::uint8_t* hits = nullptr;
    if (are_near && pairs.count > 0) {
      tests.hits = candidates.near.hits == 0 ? 1 : 0;
      RowFlags& room = memory.hits[tests.hits];
      if (room.size() < pairs.count) room.resize(pairs.count + pairs.count / 4);
      hits = room.data();
    }
    const double* period = candidates.has_images ? kinds_.period : nullptr;
    if (are_near && pairs.count > 0 && candidates.near.hits != NearPairs::kUnknown) {
      const KeptPairs kept{
          {pairs.first, pairs.second, nullptr, pairs.count}, memory.hits[candidates.near.hits].data(), hits};
      tests.known = next_touching_of_kept<D>(*columns.spare.shapes, kept, columns.spare.boxes, period,
                                             memory.touching->by_row(), columns.slots, workers);
      tests.is_difference_known = true;
    } else if (pairs.count > 0) {
      tests.spent.touching = touching(columns, pairs, candidates.is_tight, period, hits, callbacks, workers);
    }
    tests.spent.tests = pairs.count;
    tests.spent.seconds = seconds(Clock::now() - began);
    return tests;
  }

  // The pairs whose shapes touch. `is_tight`: their boxes are known to overlap. With the sizes of a periodic world,
  // they may touch in another image of it, in one only. `hits`: where to write which of them touch, or null; wrong for
  // those with a hull, a mesh or a custom shape.
  Pairs touching(const Columns<D>& columns, const PairColumns& given, bool is_tight, const double* period,
                 std::uint8_t* hits, StepCallbacks<D>& callbacks, unsigned workers) {
    const ShapePairs pairs{given.first, given.second, nullptr, given.count};
    const double* boxes = columns.spare.boxes;
    const PairBoxes around = is_tight ? PairBoxes{} : PairBoxes{boxes, boxes};
    TouchingPairRows found =
        keep_touching<D>(*columns.spare.shapes, pairs, around, squared_half<D>(period), hits, workers);
    Pairs& all = found.touching;
    if (!found.others.unknown.empty()) append(all, callbacks.touching(found.others.unknown));
    if (const std::vector<std::size_t>& far = found.others.far; !far.empty()) {
      const NearestImages<D> images(pairs, far, boxes, period);
      for (const std::size_t k : add_touching_images(columns, images.pairs(), all, callbacks))
        if (hits != nullptr) hits[far[k]] = 1;
    }
    return std::move(all);
  }

  // Adds pairs that touch where the second is moved, and not where they are. Returns the places of those that the core
  // knows of.
  static std::vector<std::size_t> add_touching_images(const Columns<D>& columns, const ShapePairs& pairs, Pairs& all,
                                                      StepCallbacks<D>& callbacks) {
    const double* boxes = columns.spare.boxes;
    TouchingImages moved = keep_touching_images<D>(*columns.spare.shapes, pairs, {boxes, boxes});
    for (const std::size_t k : moved.touching) push(all, pairs.first[k], pairs.second[k]);
    if (moved.unknown.empty()) return std::move(moved.touching);
    RowList unknown;
    std::vector<double> offsets;
    for (const std::size_t k : moved.unknown) {
      unknown.insert(unknown.end(), {pairs.first[k], pairs.second[k]});
      offsets.insert(offsets.end(), pairs.offsets + k * D, pairs.offsets + (k + 1) * D);
    }
    append(all, callbacks.touching_images(unknown, offsets));
    return std::move(moved.touching);
  }

  // Of open boxes, the interiors must meet.
  void drop_closed(const Columns<D>& columns, Pairs& found) const {
    keep_pairs(found, [&](std::size_t i, std::size_t j) { return boxes_meet(columns.spare.boxes, i, j, false); });
  }

  // Adds the pairs that touch across the boundaries of a periodic world, but not where they are.
  void add_those_across_boundaries(const Columns<D>& columns, const StepMemory& memory, const std::uint8_t* alive,
                                   const StepRequest& request, Tests& tests, StepCallbacks<D>& callbacks,
                                   Interrupt& interrupt) {
    const double* boxes = columns.spare.boxes;
    // All pairs of changed rows, and where pairs were left for this step, of all rows, of which these are kept.
    const PairColumns again = memory.waiting.columns();
    const Filter* filter = filter_.of(columns, or_null(kinds_.is_static), true);
    const PeriodicSearch search{
        boxes,  columns.bounds, alive, columns.slots,         again.count > 0 ? nullptr : columns.next_changed,
        filter, columns.batch,  false, request.search.workers};
    PeriodicPairs found = find_periodic_pairs<D>(search, *request.search.kernels, interrupt);
    if (found.wide_row >= 0)
      callbacks.refuse(StepCallbacks<D>::Refusal::width, static_cast<std::size_t>(found.wide_row));
    if (again.count > 0) {
      std::size_t kept = 0;
      for (std::size_t k = 0; k < found.first.size(); ++k) {
        const std::int32_t i = found.first[k], j = found.second[k];
        if ((columns.next_changed[i] | columns.next_changed[j]) == 0 && !is_among(again, i, j)) continue;
        found.first[kept] = i;
        found.second[kept] = j;
        std::copy_n(found.offsets.data() + k * D, D, found.offsets.data() + kept++ * D);
      }
      found.first.resize(kept);
      found.second.resize(kept);
      found.offsets.resize(kept * D);
    }
    if (found.first.empty()) return;
    const ShapePairs pairs{found.first.data(), found.second.data(), found.offsets.data(), found.first.size()};
    Pairs across;
    add_touching_images(columns, pairs, across, callbacks);
    if (across.size == 0) return;
    if (!tests.spent.waiting.first.empty()) {  // a pair that waits is known in place, or not at all
      leave_out_those_among(columns_of(tests.spent.touching), false, across);
    }
    append(tests.spent.touching, std::move(across));
  }

  static void leave_out_those_among(const PairColumns& others, bool are_ordered, Pairs& pairs) {
    std::vector<std::uint8_t> is_found(pairs.size);
    mark_among(columns_of(pairs), others, are_ordered, is_found);
    std::size_t k = 0;
    keep_pairs(pairs, [&](std::int32_t, std::int32_t) { return is_found[k++] == 0; });
  }

  // How rows moved; what is sought are the rows of some flags.
  RowMotions<D> row_motions(const Columns<D>& columns, const Trace<D>& trace, const std::uint8_t* alive,
                            const RowFlags& sought) const {
    const Placement<D>& now = columns.spare;
    return {trace.before,
            trace.after,
            now.positions,
            now.boxes,
            alive,
            trace.is_ccd.data(),
            sought.data(),
            columns.batch,
            trace.turned.empty() ? nullptr : turned_.data(),
            trace.turned.data(),
            trace.ends.data(),
            trace.turned.size(),
            columns.bounds,
            columns.period_bounds() != nullptr,
            &trace.turning};
  }

  // Flags the rows whose routes are searched for; false if there are none. Two rows that have not moved meet nothing
  // that is not known, unless a budget has left them, now or before. So what is followed and has not moved is of
  // interest only to what is not followed, has moved, and comes near.
  bool find_sought(const Columns<D>& columns, const StepMemory& memory, const Trace<D>& trace,
                   const std::uint8_t* alive, const std::uint8_t* renewed, const StepRequest& request) {
    using Motions = RowMotions<D>;
    const std::size_t slots = columns.slots;
    if (!trace.turned.empty()) turned_.assign(slots, 0);
    for (const std::int32_t row : trace.wrapped) turned_[static_cast<std::size_t>(row)] = Motions::kWrapped;
    for (const std::int32_t row : trace.bounced) turned_[static_cast<std::size_t>(row)] = Motions::kReflected;
    active_.assign(columns.next_changed, columns.next_changed + slots);
    if (request.has_budget) active_.assign(slots, 1);
    for (const RowList* left : {&memory.waiting.first, &memory.waiting.second})
      for (std::size_t k = 0; memory.has_left && k < left->size(); ++k)
        active_[static_cast<std::size_t>((*left)[k])] = 1;
    const std::uint8_t* turning = trace.turning.flags();
    std::size_t still = 0, others = 0;
    unsettled_.assign(columns.changed, columns.changed + slots);
    sought_.resize(slots);
    others_.resize(slots);
    for (std::size_t row = 0; row < slots; ++row) {
      const std::uint8_t is_ccd = trace.is_ccd[row], is_gone = alive[row] == 0;
      active_[row] |= static_cast<std::uint8_t>(renewed[row] | is_gone | (turning != nullptr ? turning[row] : 0));
      sought_[row] = is_ccd & active_[row];
      others_[row] = static_cast<std::uint8_t>((is_ccd | is_gone) == 0) & active_[row];
      unsettled_[row] |= static_cast<std::uint8_t>(renewed[row] | (request.has_displaced ? columns.displaced[row] : 0));
      still += static_cast<std::size_t>(is_ccd & (active_[row] ^ 1));
      others += others_[row];
    }
    if (still <= others)
      for (std::size_t row = 0; row < slots && others > 0; ++row) sought_[row] |= trace.is_ccd[row];
    else if (others > 0)
      seek_followed_near(row_motions(columns, trace, alive, others_), others_, slots, 1, sought_);
    return std::memchr(sought_.data(), 1, slots) != nullptr;
  }

  // Whether rows stay where their boxes at the begin and at the end of the step are, and no farther from there than
  // these have grown.
  static bool go_between(const Columns<D>& columns, const Moved<D>& moved) {
    return moved.trace.turning.flags() == nullptr && columns.update_intervals == nullptr;
  }

  // Pairs among which are all that come near each other on routes, of many rows, if the search for candidates knows
  // them.
  static std::optional<PairColumns> near_on_routes(const Columns<D>& columns, const Moved<D>& moved,
                                                   const Candidates& candidates) {
    if (candidates.swept) return columns_of(*candidates.swept);
    const NearPairs& near = candidates.near;
    if (!candidates.are_near || near.around() != nullptr || !go_between(columns, moved)) return {};
    // Those that were found in this step are of boxes at its end, and boxes at its begin must be as near.
    if (near.uses() == 0 && !(moved.growth <= near.left())) return {};
    return candidates.pairs();
  }

  // The step, as bodies are followed through it; which pairs count is left open.
  Followed<D> followed_of(const Columns<D>& columns, const StepMemory& memory, const Trace<D>& trace,
                          const std::uint8_t* alive, const std::uint8_t* looked_at, const std::uint8_t* renewed) {
    const Placement<D>& now = columns.spare;
    // Pairs that wait have not been tested, or have met on a route.
    const PairColumns known = memory.touching->columns(), waiting = memory.waiting.columns();
    uncertain_.assign(known.count, 0);
    for (std::size_t k = 0, at = 0; k < waiting.count; ++k) {
      while (known.has_less(at, waiting.first[k], waiting.second[k])) ++at;
      if (known.has(at, waiting.first[k], waiting.second[k])) uncertain_[at] = 1;
    }
    return {columns.slots,  row_motions(columns, trace, alive, sought_),
            now.shapes,     now.rotations,
            looked_at,      columns.update_intervals,
            renewed,        unsettled_.data(),
            active_.data(), {memory.touching->by_row(), uncertain_.data()},
            nullptr,        {},
            false};
  }

  // Adds the pairs that met on the route of a followed body. What was met may be left for the next step as well.
  static void add_those_met_on_routes(const StepMemory& memory, const Impacts<D>& impacts, std::int64_t number,
                                      Tests& tests) {
    if (impacts.meetings.empty()) return;
    Pairs passed;
    for (const Meeting<D>& one : impacts.meetings) push(passed, one.first, one.second);
    const bool is_known = tests.is_difference_known;
    if (is_known) {
      const TouchingStep& known = *tests.known;
      tests.spent.touching = copy_of(known.same ? memory.touching->columns() : columns_of(known.touching));
    }
    leave_out_those_among(columns_of(tests.spent.touching), is_known, passed);
    if (passed.size == 0) return;
    tests.is_difference_known = false;
    tests.hits = NearPairs::kUnknown;
    append(tests.spent.touching, copy_of(columns_of(passed)));
    add_waiting(passed, number, tests.spent.waiting);
  }

  // Adds pairs in order to those that wait, but for those that do already.
  static void add_waiting(const Pairs& pairs, std::int64_t number, Waiting& waiting) {
    const Waiting last = std::move(waiting);
    const PairColumns before = last.columns();
    waiting = {};
    const auto add = [&](std::int32_t i, std::int32_t j, std::int64_t since, std::uint8_t dropped) {
      waiting.first.push_back(i);
      waiting.second.push_back(j);
      waiting.since.push_back(since);
      waiting.dropped.push_back(dropped);
    };
    std::size_t at = 0;
    const auto add_last = [&] {
      add(last.first[at], last.second[at], last.since[at], last.dropped[at]);
      ++at;
    };
    for (std::size_t k = 0; k < pairs.size; ++k) {
      const std::int32_t i = pairs.block[k], j = pairs.block[pairs.stride + k];
      while (before.has_less(at, i, j)) add_last();
      if (!before.has(at, i, j)) add(i, j, number, 0);
    }
    while (at < before.count) add_last();
  }

  RowKinds kinds_;
  CandidateSearch<D> search_;
  RowFilter filter_;
  NextPoseRoom room_;
  RowFlags alive_, renewed_, due_, turned_;
  RowFlags active_, unsettled_, sought_, others_;  // see `find_sought`
  std::vector<std::uint8_t> uncertain_;            // see `followed_of`
  StraightRoutes<D> routes_;
};

}  // namespace broadphase
