// Which pairs overlap now that did not at the last call, and which no longer do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/memory.hpp"
#include "base/read_ahead.hpp"
#include "boxes/box_view.hpp"
#include "bvh/bvh.hpp"
#include "query/collect.hpp"
#include "tree/pairs.hpp"

namespace broadphase {

struct PairChanges {
  Pairs enter, exit;  // in lexicographic order
};

// Tracks the changes of a Bvh. Rows inserted, moved or removed since the last call are dirty: only pairs with a dirty
// row can have changed. Dirty rows are few, so their old and new boxes go into a small tree, which is joined with
// itself and with the large tree, where only clean rows count.
//
// A row that was removed and inserted again counts as a new one: all its old pairs exit, and its present pairs enter.
template <class T>
class BvhChanges {
 public:
  explicit BvhChanges(std::size_t dimension) : dimension_(dimension) {}

  // To be called before each change with the rows that it affects, all below `limit`. `gone`: they are removed. Throws
  // bad_alloc, and then nothing has changed.
  void mark(const std::int32_t* rows, std::size_t count, std::size_t limit, bool gone) {
    if (!watching_) return;
    make_room(limit);
    reserve_ahead(dirty_, dirty_.size() + count);
    for (std::size_t at = 0; at < count; ++at) {
      std::uint8_t& state = state_[static_cast<std::size_t>(rows[at])];
      if ((state & kDirty) == 0) dirty_.push_back(rows[at]);
      state = static_cast<std::uint8_t>(state | kDirty | (gone ? kGone : 0));
    }
  }

  // The changes since the last `keep`; before the first one, all pairs enter. Throws bad_alloc or Interrupted. Call
  // `keep` with what has been found, or the next call covers this one, too.
  PairChanges find(const Bvh& bvh, const BlockTree& tree, const BoxView<T>& boxes, bool touching,
                   const Bvh::Work& work);

  // Takes what has just been found, of the same boxes, as known.
  void keep(const Bvh& bvh, const BoxView<T>& boxes) noexcept;

  std::size_t bytes() const { return state_.size() + before_.size() * sizeof(T) + dirty_.capacity() * sizeof(int); }

 private:
  // State of a row: present at the last call; in `dirty_`; removed since the last call.
  static constexpr std::uint8_t kBefore = 1, kDirty = 2, kGone = 4;
  // Up to this many entries are one task: counting rows for more tasks takes longer than the search.
  static constexpr std::size_t kFewEntries = 4096;

  // A dirty row in the small tree: its old box, its new box, or their union.
  struct Entry {
    std::int32_t row;
    bool of_was, of_is;   // which of the two boxes this entry stands for
    bool was, is, stays;  // present before, present now, and not removed in between
  };

  // Decides whether a pair has changed: reported by the entries that stand for the old or for the new boxes, so each
  // change once. A pair that exits is stored with the complement of its first row until `part` separates the two kinds.
  struct Verdict {
    bool of_was, of_is, before, now;

    std::size_t put(std::int32_t i, std::int32_t j, bool stays, std::int32_t* first, std::int32_t* second,
                    std::size_t kept) const {
      const bool ended = of_was && before && !(now && stays), began = of_is && now && !(before && stays);
      first[kept] = ended ? ~std::min(i, j) : std::min(i, j);
      second[kept] = std::max(i, j);
      return kept + static_cast<std::size_t>(ended || began);
    }
  };
  struct Among {
    const BvhChanges& changes;
    const Problem<T>&now, &before;
    static constexpr bool certain = false, kTestsBoxes = false;

    std::size_t operator()(std::int32_t* first, std::int32_t* second, std::size_t count) const {
      std::size_t kept = 0;
      for (std::size_t k = 0; k < count; ++k) {
        const Entry& a = changes.entries_[static_cast<std::size_t>(first[k])];
        const Entry& b = changes.entries_[static_cast<std::size_t>(second[k])];
        if (a.row == b.row) continue;
        const Verdict verdict{a.of_was && b.of_was, a.of_is && b.of_is,
                              a.was && b.was && overlaps(before, a.row, b.row),
                              a.is && b.is && overlaps(now, a.row, b.row)};
        kept = verdict.put(a.row, b.row, a.stays && b.stays, first, second, kept);
      }
      return kept;
    }
  };
  struct WithClean {
    const BvhChanges& changes;
    const Problem<T>&now, &before;
    static constexpr bool certain = false, kTestsBoxes = false;

    std::size_t operator()(std::int32_t* first, std::int32_t* second, std::size_t count) const {
      for (std::size_t k = 0; k < count; ++k) {
        read_ahead(now.first.lower_of(static_cast<std::size_t>(second[k])));
        read_ahead(now.first.upper_of(static_cast<std::size_t>(second[k])));
      }
      std::size_t kept = 0;
      for (std::size_t k = 0; k < count; ++k) {
        const std::int32_t j = second[k];
        if ((changes.state_[static_cast<std::size_t>(j)] & kDirty) != 0) continue;
        const Entry& a = changes.entries_[static_cast<std::size_t>(first[k])];
        const Verdict verdict{a.of_was, a.of_is, a.was && meet(before.first, a.row, j),
                              a.is && meet(now.first, a.row, j)};
        kept = verdict.put(a.row, j, a.stays, first, second, kept);
      }
      return kept;
    }
    bool meet(const BoxView<T>& boxes, std::int32_t i, std::int32_t j) const {
      const auto p = static_cast<std::size_t>(i), q = static_cast<std::size_t>(j);
      return overlaps(boxes.lower_of(p), boxes.upper_of(p), now.first.lower_of(q), now.first.upper_of(q), now.dimension,
                      now.touching, T(0));
    }
  };

  Problem<T> what_was(bool touching) const {
    Problem<T> problem;
    problem.first = view_of_rows<T>(before_.get(), dimension_, state_.size());
    problem.dimension = dimension_;
    problem.touching = touching;
    return problem;
  }

  // One entry for a row whose old and new box overlap; otherwise one for each.
  void enter_dirty(const Bvh& bvh, const Problem<T>& now, const Problem<T>& before) {
    entries_.clear();
    around_.clear();
    const auto enter = [&](const Entry& entry) {
      const auto row = static_cast<std::size_t>(entry.row);
      entries_.push_back(entry);
      for (const bool upper : {false, true})
        for (std::size_t k = 0; k < dimension_; ++k) {
          const T was = upper ? before.first.upper_of(row)[k] : before.first.lower_of(row)[k];
          const T is = upper ? now.first.upper_of(row)[k] : now.first.lower_of(row)[k];
          around_.push_back(!entry.of_is ? was : !entry.of_was ? is : upper ? std::max(was, is) : std::min(was, is));
        }
    };
    for (const std::int32_t row : dirty_) {
      const std::uint8_t state = state_[static_cast<std::size_t>(row)];
      const bool was = (state & kBefore) != 0, is = bvh.has(static_cast<std::size_t>(row)),
                 stays = (state & kGone) == 0;
      if (was && is && stays && near(row, now, before)) {
        enter({row, true, true, was, is, stays});
        continue;
      }
      if (was) enter({row, true, false, was, is, stays});
      if (is) enter({row, false, true, was, is, stays});
    }
  }
  bool near(std::int32_t row, const Problem<T>& now, const Problem<T>& before) const {
    const auto at = static_cast<std::size_t>(row);
    return overlaps(now.first.lower_of(at), now.first.upper_of(at), before.first.lower_of(at),
                    before.first.upper_of(at), dimension_, true, T(0));
  }

  // Collects from several lists the pairs that exit, or those that enter.
  Pairs part(const std::vector<Pairs>& found, bool ended, const Bvh::Work& work) const {
    Pairs result;
    for (const bool count : {true, false}) {
      std::size_t size = 0;
      for (const Pairs& pairs : found)
        for (std::size_t k = 0; k < pairs.size; ++k) {
          const std::int32_t i = pairs.block[k];
          if ((i < 0) != ended) continue;
          if (!count) {
            result.block[size] = ended ? ~i : i;
            result.block[result.stride + size] = pairs.block[pairs.stride + k];
          }
          ++size;
        }
      if (count) {
        result.size = result.stride = size;
        result.block = allocate_pairs(size);
      }
    }
    sort_pairs(result, state_.size(), work.workers, work.interrupt);
    return result;
  }

  void make_room(std::size_t limit) {
    const std::size_t known = state_.size();
    if (limit <= known) return;
    const std::size_t room = std::max(limit, known + known / 2);
    before_.grow(room * 2 * dimension_);
    state_.grow(room);
    std::fill(state_.get() + known, state_.get() + room, std::uint8_t{0});
  }
  void remember(std::size_t row, const BoxView<T>& boxes) {
    std::copy_n(boxes.lower_of(row), dimension_, before_.get() + row * 2 * dimension_);
    std::copy_n(boxes.upper_of(row), dimension_, before_.get() + (2 * row + 1) * dimension_);
    state_[row] = kBefore;
  }

  std::size_t dimension_;
  bool watching_ = false;
  PlainArray<std::uint8_t> state_;  // of each row
  PlainArray<T> before_;            // lower and upper corner of each row at the last call, if it was there
  std::vector<std::int32_t> dirty_;
  std::vector<Entry> entries_;
  std::vector<T> around_;  // lower and upper corner of each entry
  BlockTree small_;
  TreePacker<T> packer_;
};

template <class T>
PairChanges BvhChanges<T>::find(const Bvh& bvh, const BlockTree& tree, const BoxView<T>& boxes, bool touching,
                                const Bvh::Work& work) {
  PairChanges changes;
  Problem<T> now;
  now.first = boxes;
  now.dimension = dimension_;
  now.touching = touching;
  if (!watching_) {
    const TreePairs<KeepOverlaps<T>> all(tree, {now, false}, work.kernels);
    changes.enter = collect_pairs(all, nullptr, work.workers, kNoLimit, work.interrupt);
    sort_pairs(changes.enter, boxes.count, work.workers, work.interrupt);
    make_room(boxes.count);
    return changes;
  }
  make_room(boxes.count);
  if (dirty_.empty()) return changes;
  const Problem<T> before = what_was(touching);
  enter_dirty(bvh, now, before);
  small_.blocks = Blocks(dimension_);
  const BoxView<T> around = view_of_rows(around_.data(), dimension_, entries_.size());
  packer_.pack_like(tree, small_, {around, dimension_}, nullptr, entries_.size(), work.kernels, work.workers,
                    work.interrupt);
  const TreePairs<Among> among(small_, Among{*this, now, before}, work.kernels);
  const TreePairs<WithClean> others(small_, tree, false, WithClean{*this, now, before}, work.kernels,
                                    entries_.size() <= kFewEntries);
  std::vector<Pairs> found;
  found.push_back(collect_pairs(among, nullptr, work.workers, kNoLimit, work.interrupt));
  const auto dirty_now = std::count_if(dirty_.begin(), dirty_.end(),
                                       [&](std::int32_t row) { return bvh.has(static_cast<std::size_t>(row)); });
  if (static_cast<std::size_t>(dirty_now) < bvh.rows())
    found.push_back(collect_pairs(others, nullptr, work.workers, kNoLimit, work.interrupt));
  changes.enter = part(found, false, work);
  changes.exit = part(found, true, work);
  return changes;
}

template <class T>
void BvhChanges<T>::keep(const Bvh& bvh, const BoxView<T>& boxes) noexcept {
  if (!watching_) {
    bvh.for_each_row([&](std::int32_t row) { remember(static_cast<std::size_t>(row), boxes); });
    watching_ = true;
    return;
  }
  for (const std::int32_t row : dirty_)
    if (bvh.has(static_cast<std::size_t>(row)))
      remember(static_cast<std::size_t>(row), boxes);
    else
      state_[static_cast<std::size_t>(row)] = 0;
  dirty_.clear();
}

// Compiled once: bvh.cpp.
extern template class BvhChanges<float>;
extern template class BvhChanges<double>;

}  // namespace broadphase
