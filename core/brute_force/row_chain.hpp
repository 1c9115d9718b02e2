// The index of brute force: rows in no order, in a chain of blocks of eight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/row_numbers.hpp"
#include "tree/blocks.hpp"

namespace broadphase {

// A BlockTree without levels: every query visits all of its blocks, which are full but for the last one.
class RowChain {
 public:
  // `tree` must outlive this.
  explicit RowChain(BlockTree& tree) : tree_(tree) {}

  std::size_t count() const { return rows_.size(); }
  const std::vector<std::int32_t>& rows() const { return rows_; }  // in no order
  std::size_t bytes() const {
    return tree_.blocks.bytes() + (rows_.capacity() + place_.capacity()) * sizeof(std::int32_t);
  }

  // Each of these throws bad_alloc or invalid_argument, and then nothing has changed; but after bad_alloc from build()
  // there are no rows.
  template <class T>
  void build(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count) {
    require_boxes(rows, count, boxes.count);
    tree_.blocks.clear();
    tree_.root = kNoBlock;
    for (const std::int32_t row : rows_) place_[static_cast<std::size_t>(row)] = kNoPlace;
    rows_.clear();
    Interrupt none;
    tree_.frame = frame_of(boxes, tree_.dimension(), rows, count, 1, none);
    tree_.lossy = false;
    insert(boxes, rows, count);
  }

  template <class T>
  void insert(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count) {
    if (boxes.count > place_.size()) place_.resize(boxes.count, kNoPlace);
    require(rows, count, boxes.count, false);
    tree_.exact_bounds.forget();
    rows_.reserve(rows_.size() + count > rows_.capacity() ? rows_.size() + count + rows_.size() / 2 : 0);
    const std::size_t blocks = (rows_.size() + count + kLanes - 1) / kLanes;
    if (blocks > tree_.blocks.limit()) tree_.blocks.reserve(blocks > kLanes ? blocks + blocks / 4 : kLanes);
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t place = rows_.size();
      if (place % kLanes == 0) append_block();
      rows_.push_back(rows[k]);
      place_[static_cast<std::size_t>(rows[k])] = static_cast<std::uint32_t>(place);
      set(place, boxes, rows[k]);
    }
  }
  template <class T>
  void update(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count) {
    require_rows(rows, count, place_.size(), [this](std::size_t row) { return place_[row] != kNoPlace; });
    tree_.exact_bounds.forget();
    for (std::size_t k = 0; k < count; ++k) set(place_[static_cast<std::size_t>(rows[k])], boxes, rows[k]);
  }
  // The last row takes the place of the removed one.
  void remove(const std::int32_t* rows, std::size_t count) {
    require(rows, count, place_.size(), true);
    tree_.exact_bounds.forget();
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t place = std::exchange(place_[static_cast<std::size_t>(rows[k])], kNoPlace);
      const std::size_t last = rows_.size() - 1;
      if (place != last) {
        float box[8];
        tree_.blocks.get_box(block_of(last), last % kLanes, box);
        tree_.blocks.set_lane(block_of(place), place % kLanes, box, rows_[last], true);
        rows_[place] = rows_[last];
        place_[static_cast<std::size_t>(rows_[place])] = static_cast<std::uint32_t>(place);
      }
      rows_.pop_back();
      tree_.blocks.clear_lane(block_of(last), last % kLanes);
      if (last % kLanes == 0) remove_last_block(block_of(last));
    }
  }

  // What is wrong, or null. `rows`: all that should be there.
  template <class T>
  const char* fault(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count) const {
    if (count != rows_.size()) return "the rows are not as many as were inserted";
    if (tree_.blocks.count() != (count + kLanes - 1) / kLanes) return "there are blocks without rows";
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t place = place_[static_cast<std::size_t>(rows[k])];
      if (place >= count || rows_[place] != rows[k]) return "a row is not at its place";
      const std::int32_t block = block_of(place);
      float kept[8];
      tree_.blocks.get_box(block, place % kLanes, kept);
      const auto row = static_cast<std::size_t>(rows[k]);
      for (std::size_t a = 0; a < tree_.dimension(); ++a)
        if (kept[a] > tree_.frame.local(static_cast<double>(boxes.lower_of(row)[a]), a) ||
            kept[tree_.dimension() + a] < tree_.frame.local(static_cast<double>(boxes.upper_of(row)[a]), a))
          return "a lane does not hold its box";
      if (tree_.blocks.child(block)[place % kLanes] != rows[k]) return "a lane is not that of its row";
      const std::size_t used = std::min(kLanes, count - place / kLanes * kLanes);
      if (tree_.blocks.lanes_in_use(block) != used || tree_.blocks.rows(block) != tree_.blocks.occupied(block))
        return "the lanes of a block are not those in use";
      const bool last = place / kLanes + 1 == tree_.blocks.count();
      if (tree_.blocks.next(block) != (last ? kNoBlock : block + 1)) return "the chain is broken";
    }
    return nullptr;
  }

 private:
  static constexpr std::uint32_t kNoPlace = 0xffffffffu;  // places are below 2^31

  void require(const std::int32_t* rows, std::size_t count, std::size_t row_limit, bool present) {
    constexpr std::uint32_t kAbsent = 0x80000000u;
    require_distinct_rows(
        rows, count, row_limit, present, [this](std::size_t row) { return (place_[row] & kAbsent) == 0; },
        [this](std::size_t row) { place_[row] ^= kAbsent; });
  }

  // Blocks are taken and given back in turn, so their numbers follow each other along the chain.
  static std::int32_t block_of(std::size_t place) { return static_cast<std::int32_t>(place / kLanes); }

  void append_block() {
    const std::int32_t block = tree_.blocks.add();
    if (block == 0)
      tree_.root = 0;
    else
      tree_.blocks.next(block - 1) = block;
  }
  void remove_last_block(std::int32_t block) {
    if (block == 0)
      tree_.root = kNoBlock;
    else
      tree_.blocks.next(block - 1) = kNoBlock;
    tree_.blocks.release(block);
  }

  template <class T>
  void set(std::size_t place, const BoxView<T>& boxes, std::int32_t row) {
    const auto at = static_cast<std::size_t>(row);
    tree_.lossy = tree_.lossy || !keeps_box(tree_.frame, boxes, at, tree_.dimension());
    float box[8];
    local_box(tree_.frame, boxes, at, tree_.dimension(), box);
    tree_.blocks.set_lane(block_of(place), place % kLanes, box, row, true);
  }

  BlockTree& tree_;
  std::vector<std::int32_t> rows_;    // of each place
  std::vector<std::uint32_t> place_;  // of each row; kNoPlace: it is not there
};

}  // namespace broadphase
