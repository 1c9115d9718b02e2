// Boxes that are inserted, removed and moved, kept sorted: each order is made from the one before.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/radix_sort.hpp"
#include "base/row_numbers.hpp"
#include "base/samples.hpp"
#include "sweep/sorted_intervals.hpp"

namespace broadphase {

// How the order came about, over the life of an index.
struct SortCounts {
  std::uint64_t full = 0, merged = 0, nearly_sorted = 0;  // how often each way was taken
  std::uint64_t moves = 0;                                // places that boxes moved in nearly sorted orders
};

// Closed boxes of some of a store's rows. Changes are only noted; arrange() brings the order up to date:
//   boxes moved          they are read again at their positions, then sorted by insertion from the first out of order
//   inserted or removed  what changed is sorted by itself and merged with the rest; a few are put in or taken out
//   no order yet         a radix sort; also where insertion would take too many moves
// After an exception the next arrange() sorts all boxes. Buffers grow geometrically and are kept: while the number of
// boxes does not grow, nothing is allocated.
template <class T>
class CoherentIntervals : public SortedIntervals<T> {
 public:
  explicit CoherentIntervals(std::size_t dimension) : SortedIntervals<T>(dimension) {}

  // The rows to sort are these, and no others. Rows that are inserted must not be there, and rows that move or are
  // removed must be; `limit` is above all of them. Each throws bad_alloc or invalid_argument, and then nothing has
  // changed.
  void replace(std::size_t limit, const std::int32_t* rows, std::size_t count) {
    bool are_in_order = count == limit;  // each slot, as is usual
    if (are_in_order)
      for (std::size_t k = 0; k < count; ++k) are_in_order &= static_cast<std::size_t>(rows[k]) == k;
    if (!are_in_order) require_boxes(rows, count, limit);
    reserve(limit, 0);
    are_in_order = are_in_order && count == state_.size();
    std::fill(state_.begin(), state_.end(), are_in_order ? kAlive : std::uint8_t{0});
    for (std::size_t k = 0; !are_in_order && k < count; ++k) state_[static_cast<std::size_t>(rows[k])] = kAlive;
    alive_ = count;
    touched_.clear();
    in_order_ = all_moved_ = came_or_went_ = false;
  }
  void insert(std::size_t limit, const std::int32_t* rows, std::size_t count) {
    reserve(limit, count);
    require(rows, count, limit, false);
    for (std::size_t k = 0; k < count; ++k) {
      state_[static_cast<std::size_t>(rows[k])] |= kAlive;
      touch(rows[k]);
    }
    alive_ += count;
    came_or_went_ |= count > 0;
  }
  void move(const std::int32_t* rows, std::size_t count) {
    require_rows(rows, count, state_.size(), [this](std::size_t row) { return is_alive(row); });
    // So many that it is not worth knowing which: those that came or went are known all the same.
    if (count > this->count() / kFewMoved) {
      all_moved_ = true;
      return;
    }
    reserve(state_.size(), count);
    for (std::size_t k = 0; k < count; ++k) touch(rows[k]);
  }
  void remove(const std::int32_t* rows, std::size_t count) {
    require(rows, count, state_.size(), true);
    reserve(state_.size(), count);
    for (std::size_t k = 0; k < count; ++k) {
      state_[static_cast<std::size_t>(rows[k])] &= static_cast<std::uint8_t>(~kAlive);
      touch(rows[k]);
    }
    alive_ -= count;
    came_or_went_ |= count > 0;
  }

  std::size_t alive() const { return alive_; }
  bool is_alive(std::size_t row) const { return row < state_.size() && (state_[row] & kAlive) != 0; }
  bool up_to_date() const { return in_order_ && !all_moved_ && touched_.empty(); }
  // Before position_of(), after each arrange(). Not in it: a sweep over all boxes does not need to know.
  void note_places(Interrupt& interrupt) {
    if (places_known_) return;
    place_.resize(state_.size());
    in_stretches(this->count(), interrupt, [&](std::size_t begin, std::size_t end) {
      for (std::size_t position = begin; position < end; ++position)
        place_[static_cast<std::size_t>(rows_[position])] = static_cast<std::uint32_t>(position);
    });
    places_known_ = true;
  }
  std::size_t position_of(std::size_t row) const { return place_[row]; }
  const SortCounts& sorts() const { return sorts_; }

  // Calls use(count, row_at) for the rows in some order, to sample before choosing a direction.
  template <class Use>
  void with_known_rows(const Use& use) {
    const bool are_listed = in_order_ || !are_all();
    if (!in_order_ && are_listed) list_rows();
    use(are_listed ? rows_.size() : alive_,
        [&](std::size_t k) { return are_listed ? static_cast<std::size_t>(rows_[k]) : k; });
  }

  // Boxes that are in no order yet are sorted on threads.
  void arrange(const BoxView<T>& boxes, const SweepDirection& direction, unsigned workers, Interrupt& interrupt) {
    workers_ = workers;
    const bool same =
        direction.axis == direction_.axis && (direction.axis >= 0 || direction.weight == direction_.weight);
    const bool ordered = in_order_ && same && capacity_ >= alive_;
    if (up_to_date() && ordered) return;
    in_order_ = false;
    if (!ordered)
      sort_all(boxes, direction, interrupt);
    else if (came_or_went_ && !all_moved_ && touched_.size() <= kFewPlaced)
      place_few(boxes, interrupt);
    else if (came_or_went_)
      merge_changes(boxes, interrupt, this->count());
    else if (all_moved_ && !moved_little(boxes))
      sort_all(boxes, direction, interrupt);
    else
      put_right(boxes, interrupt);
    for (const std::int32_t row : touched_) state_[static_cast<std::size_t>(row)] &= kAlive;
    touched_.clear();
    all_moved_ = came_or_went_ = false;
    in_order_ = true;
  }

  // The first inconsistency found, or null. `boxes`: as they were when arranged.
  const char* fault(const BoxView<T>& boxes) const {
    if (this->count() != alive_) return "the number of sorted boxes is not that of the rows";
    for (std::size_t position = 0; position < this->count(); ++position) {
      const auto row = static_cast<std::size_t>(rows_[position]);
      if (!is_alive(row)) return "a row is sorted that is not there";
      if (places_known_ && place_[row] != position) return "a row is not at its place";
      if (position > 0 &&
          comes_before(this->begins()[position], rows_[position], this->begins()[position - 1], rows_[position - 1]))
        return "begins are not in order";
      const auto interval = this->interval_of(boxes, row);
      if (interval.begin != this->begins()[position] || interval.end != this->ends()[position])
        return "an interval is not that of its box";
      for (std::size_t k = 0; k < this->dimension(); ++k)
        if (columns_.lower(k)[position] != boxes.lower_of(row)[this->axis(k)] ||
            columns_.upper(k)[position] != boxes.upper_of(row)[this->axis(k)])
          return "a column does not hold its box";
    }
    return nullptr;
  }

  // Calls use(box) for the box around each group of boxes between two void borders: lower corner, then upper corner.
  template <class Use>
  void for_each_group(Use&& use) const {
    double box[8];
    const std::size_t d = this->dimension();
    T furthest{};
    for (std::size_t position = 0; position < this->count(); ++position) {
      const bool begins = position == 0 || furthest < this->begins()[position];
      if (begins && position > 0) use(box);
      furthest = begins ? this->ends()[position] : std::max(furthest, this->ends()[position]);
      for (std::size_t k = 0; k < d; ++k) {
        const std::size_t axis = this->axis(k);
        const auto low = static_cast<double>(columns_.lower(k)[position]);
        const auto high = static_cast<double>(columns_.upper(k)[position]);
        box[axis] = begins ? low : std::min(box[axis], low);
        box[d + axis] = begins ? high : std::max(box[d + axis], high);
      }
    }
    if (this->count() > 0) use(box);
  }

  std::size_t bytes() const {
    return columns_.bytes() + sorter_.bytes() + (begin_.capacity() + end_.capacity()) * sizeof(T) + state_.capacity() +
           (rows_.capacity() + place_.capacity() + touched_.capacity()) * sizeof(std::int32_t);
  }

 private:
  using Base = SortedIntervals<T>;
  using Base::begin_;
  using Base::capacity_;
  using Base::columns_;
  using Base::direction_;
  using Base::end_;
  using Base::rows_;

  static constexpr std::uint8_t kAlive = 1, kTouched = 2;
  // So many boxes that came or went are each placed in less time than all boxes are read again.
  static constexpr std::size_t kFewPlaced = 8;
  // Above one box in 32, reading all of them in order is cheaper than finding the places of those that moved.
  static constexpr std::size_t kFewMoved = 32;
  // Insertion is given up where each box moves by more than so many places on average: a radix sort then costs less.
  static constexpr std::size_t kMovesPerBox = 2;
  // What moved_little() looks at: stretches of so many boxes.
  static constexpr std::size_t kStretches = 8, kStretch = 64;

  static bool comes_before(T a, std::int32_t row_a, T b, std::int32_t row_b) {
    return a < b || (a == b && row_a < row_b);
  }

  void require(const std::int32_t* rows, std::size_t count, std::size_t limit, bool present) {
    require_distinct_rows(
        rows, count, limit, present, [this](std::size_t row) { return is_alive(row); },
        [this](std::size_t row) { state_[row] ^= kAlive; });
  }

  void touch(std::int32_t row) {
    std::uint8_t& state = state_[static_cast<std::size_t>(row)];
    if ((state & kTouched) == 0) touched_.push_back(row);
    state |= kTouched;
  }

  void reserve(std::size_t slots, std::size_t more_touched) {
    if (touched_.size() + more_touched > touched_.capacity())
      touched_.reserve(std::max(touched_.size() + more_touched, 2 * touched_.capacity()));
    if (slots > state_.size()) state_.resize(slots, std::uint8_t{0});
  }

  // Whether each slot has a row.
  bool are_all() const { return alive_ == state_.size(); }

  void list_rows() {
    rows_.clear();
    rows_.reserve(alive_);
    for (std::size_t row = 0; row < state_.size(); ++row)
      if ((state_[row] & kAlive) != 0) rows_.push_back(static_cast<std::int32_t>(row));
  }

  // A quarter more than needed, so that boxes may come one by one.
  void grow_room() {
    if (alive_ > capacity_) this->make_room(alive_ > capacity_ + capacity_ / 4 ? alive_ : alive_ + alive_ / 4);
  }

  void sort_all(const BoxView<T>& boxes, const SweepDirection& direction, Interrupt& interrupt) {
    ++sorts_.full;
    places_known_ = false;
    this->sweep_along(direction);
    grow_room();
    sorter_.start(capacity_);
    const bool are_listed = !are_all();
    if (are_listed) list_rows();
    sorter_.add_all(alive_, workers_, interrupt, [&](std::size_t k) {
      const std::size_t row = are_listed ? static_cast<std::size_t>(rows_[k]) : k;
      return std::pair(this->interval_of(boxes, row).begin, static_cast<std::uint32_t>(row));
    });
    sorter_.sort(interrupt, workers_);
    take_order(sorter_, rows_, workers_, interrupt);
    write(boxes, 0, this->count(), interrupt);
  }

  // Whether insertion promises to be cheap, by a few stretches of neighbours.
  bool moved_little(const BoxView<T>& boxes) const {
    std::size_t moves = 0, seen = 0;
    const StratifiedSample stretches(this->count(), kStretches);
    for (std::size_t k = 0; k < stretches.size(); ++k) {
      T begin[kStretch];
      const std::size_t first = stretches[k], last = std::min(this->count(), first + kStretch);
      for (std::size_t at = first; at < last; ++at, ++seen) {
        const T value = this->interval_of(boxes, static_cast<std::size_t>(rows_[at])).begin;
        std::size_t to = at - first;
        for (; to > 0 && value < begin[to - 1]; --to, ++moves) begin[to] = begin[to - 1];
        begin[to] = value;
      }
    }
    return moves <= kMovesPerBox * seen;
  }

  void put_right(const BoxView<T>& boxes, Interrupt& interrupt) {
    if (all_moved_) {
      this->fill(boxes, 0, this->count(), workers_, interrupt);
    } else {
      note_places(interrupt);
      for (const std::int32_t row : touched_) {
        const std::size_t position = place_[static_cast<std::size_t>(row)];
        this->fill(boxes, position, position + 1, 1, interrupt);
      }
    }
    // Stretches of positions whose boxes changed places, written when the next one begins behind them.
    std::size_t first = 0, last = 0;
    const bool done = insert_in_order(interrupt, [&](std::size_t to, std::size_t from) {
      if (to >= last) {
        write(boxes, first, last, interrupt);
        first = to;
      }
      first = std::min(first, to);
      last = from + 1;
    });
    if (!done && all_moved_) return sort_all(boxes, SweepDirection(direction_), interrupt);
    if (!done) return merge_changes(boxes, interrupt, 0);
    ++sorts_.nearly_sorted;
    write(boxes, first, last, interrupt);
  }

  // All begins, in the order there is, and then put right; false if that takes too many moves.
  bool read_in_order(const BoxView<T>& boxes, Interrupt& interrupt) {
    T* begins = Base::begins();
    in_stretches(this->count(), interrupt, [&](std::size_t from, std::size_t to) {
      for (std::size_t position = from; position < to; ++position)
        begins[position] = this->interval_of(boxes, static_cast<std::size_t>(rows_[position])).begin;
    });
    return insert_in_order(interrupt, [](std::size_t, std::size_t) {});
  }

  // Insertion sort of begins and rows; moved(to, from) after each box that moved forward. False, with the work half
  // done and each begin still with its row, if it takes too many moves.
  template <class Moved>
  bool insert_in_order(Interrupt& interrupt, Moved&& moved) {
    T* const begins = Base::begins();
    std::int32_t* const rows = rows_.data();
    std::size_t moves = 0;
    bool few = true;
    in_stretches(this->count(), interrupt, [&](std::size_t begin, std::size_t end) {
      for (std::size_t from = std::max<std::size_t>(begin, 1); few && from < end; ++from) {
        const T value = begins[from];
        const std::int32_t row = rows[from];
        if (!comes_before(value, row, begins[from - 1], rows[from - 1])) continue;
        const std::size_t allowed = kMovesPerBox * (from + this->count() / 8) + 16;
        std::size_t to = from;
        do {
          begins[to] = begins[to - 1];
          rows[to] = rows[to - 1];
          --to;
        } while (to > 0 && comes_before(value, row, begins[to - 1], rows[to - 1]) && moves + (from - to) < allowed);
        begins[to] = value;
        rows[to] = row;
        moves += from - to;
        few = moves < allowed;
        moved(to, from);
      }
    });
    sorts_.moves += moves;
    return few;
  }

  // Takes out each box that is known to have changed, and puts in those that are there; what is behind moves by a
  // place.
  void place_few(const BoxView<T>& boxes, Interrupt& interrupt) {
    ++sorts_.merged;
    places_known_ = false;
    for (const std::int32_t row : touched_) {
      const auto at = std::find(rows_.begin(), rows_.end(), row);
      if (at == rows_.end()) continue;
      const auto position = static_cast<std::size_t>(at - rows_.begin());
      move_columns(position + 1, position);
      rows_.erase(at);
    }
    for (const std::int32_t row : touched_) {
      if (!is_alive(static_cast<std::size_t>(row))) continue;
      const T value = this->interval_of(boxes, static_cast<std::size_t>(row)).begin, *const begins = Base::begins();
      std::size_t position = 0;
      for (std::size_t length = this->count(); length > 0;) {
        const std::size_t half = (length + 1) / 2, last = position + half - 1;
        if (comes_before(begins[last], rows_[last], value, row)) position += half;
        length -= half;
      }
      move_columns(position, position + 1);
      rows_.insert(rows_.begin() + static_cast<std::ptrdiff_t>(position), row);
      this->fill(boxes, position, position + 1, 1, interrupt);
    }
  }

  // Moves what the columns hold of the positions from `from` on.
  void move_columns(std::size_t from, std::size_t to) {
    const auto move = [&](T* column) { std::memmove(column + to, column + from, (this->count() - from) * sizeof(T)); };
    for (std::size_t k = 0; k < this->dimension(); ++k) {
      move(columns_.lower(k));
      move(columns_.upper(k));
    }
    if (direction_.axis >= 0) return;
    move(begin_.data());
    move(end_.data());
  }

  // `unchanged`: before that position, columns and places are still right.
  void merge_changes(const BoxView<T>& boxes, Interrupt& interrupt, std::size_t unchanged) {
    if (touched_.size() > alive_ / 2) return sort_all(boxes, SweepDirection(direction_), interrupt);
    T* begins = Base::begins();
    // Takes out all that is known to have changed ...
    std::size_t kept = 0;
    for (std::size_t position = 0; position < this->count(); ++position) {
      const std::int32_t row = rows_[position];
      if ((state_[static_cast<std::size_t>(row)] & kTouched) != 0) {
        unchanged = std::min(unchanged, kept);
        continue;
      }
      begins[kept] = begins[position];
      rows_[kept++] = row;
    }
    rows_.resize(kept);
    interrupt.check();
    if (all_moved_) {
      if (!read_in_order(boxes, interrupt)) return sort_all(boxes, SweepDirection(direction_), interrupt);
      unchanged = 0;
    }
    ++sorts_.merged;
    // ... sorts what is still there, by row first, for those that begin together ...
    sorter_.start(capacity_);
    const auto add = [&](std::int32_t row) {
      if (is_alive(static_cast<std::size_t>(row)))
        sorter_.add(this->interval_of(boxes, static_cast<std::size_t>(row)).begin, static_cast<std::uint32_t>(row));
    };
    if (touched_.size() < state_.size() / 16) {
      std::sort(touched_.begin(), touched_.end());
      std::for_each(touched_.begin(), touched_.end(), add);
    } else {
      for (std::size_t row = 0; row < state_.size(); ++row)
        if ((state_[row] & kTouched) != 0) add(static_cast<std::int32_t>(row));
    }
    sorter_.sort(interrupt);
    // ... and merges from behind, where there is room.
    rows_.resize(alive_);
    for (std::size_t place = alive_, changed = sorter_.count(); changed > 0; --changed) {
      const auto row = static_cast<std::int32_t>(sorter_.row(changed - 1));
      const T value = this->interval_of(boxes, static_cast<std::size_t>(row)).begin;
      for (; kept > 0 && comes_before(value, row, begins[kept - 1], rows_[kept - 1]); --kept) {
        begins[--place] = begins[kept - 1];
        rows_[place] = rows_[kept - 1];
      }
      begins[--place] = value;
      rows_[place] = row;
      unchanged = std::min(unchanged, place);
    }
    // The places of what comes later are written with it; those of boxes that went do not matter.
    write(boxes, std::min(unchanged, alive_), alive_, interrupt);
  }

  // The columns of positions [begin, end), and the places of the rows there if they are known at all.
  void write(const BoxView<T>& boxes, std::size_t begin, std::size_t end, Interrupt& interrupt) {
    this->fill(boxes, begin, end, workers_, interrupt);
    if (places_known_) place_.resize(state_.size());
    for (std::size_t position = begin; places_known_ && position < end; ++position)
      place_[static_cast<std::size_t>(rows_[position])] = static_cast<std::uint32_t>(position);
  }

  std::vector<std::uint8_t> state_;   // of each slot of the store
  PlainVector<std::uint32_t> place_;  // the position of each sorted row, once it is needed
  std::size_t alive_ = 0;
  std::vector<std::int32_t> touched_;  // rows that came, went or moved, each once
  bool in_order_ = false, all_moved_ = false, came_or_went_ = false, places_known_ = false;
  RowSorter<T> sorter_;
  SortCounts sorts_;
  unsigned workers_ = 1;  // of an arrange()
};

}  // namespace broadphase
