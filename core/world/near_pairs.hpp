// Pairs of boxes that are near each other: found once, and all that can touch as long as boxes move little.
//
// A search finds the pairs of boxes that are enlarged by a reach. As long as no box has grown beyond where it was then
// by more than that, summed up over the steps, no other pair overlaps: each step tests these, and needs no search.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "choose/reach.hpp"
#include "world/columns.hpp"
#include "world/touching.hpp"

namespace broadphase {

// The near pairs of a world, if they are kept, and when to find them again: a value. A step makes another one.
class NearPairs {
 public:
  // Pairs in two columns, first < second. In a periodic world, those of images, too.
  struct Found {
    RowList first, second;

    void add(const PairColumns& pairs) {
      first.insert(first.end(), pairs.first, pairs.first + pairs.count);
      second.insert(second.end(), pairs.second, pairs.second + pairs.count);
    }
    PairColumns columns() const { return {first.data(), second.data(), first.size()}; }
  };

  const Found* found() const { return found_.get(); }
  std::size_t memory_bytes() const {
    const std::size_t pairs = found_ == nullptr ? 0 : found_->first.capacity() + found_->second.capacity();
    return pairs * sizeof(std::int32_t) + (around_ == nullptr ? 0 : around_->capacity());
  }
  int uses() const { return uses_; }     // steps that searched for nothing else
  double left() const { return left_; }  // by how much boxes may grow yet
  // Whether boxes have grown little for long enough to keep pairs.
  bool is_time() const { return calm_ >= patience_; }
  // Which of the pairs touched after the last step, where no others of their rows did: the number of the flags.
  int hits = kUnknown;
  static constexpr int kUnknown = -1;

  // Gives up the pairs: something else than motion has changed.
  void drop() {
    if (found_ == nullptr) {
      calm_ = 0;
      return;
    }
    const int patience = uses_ < Reach::kFewestUses ? std::min(2 * patience_, kMostPatience) : kPatience;
    *this = NearPairs();
    patience_ = patience;
  }

  // What is left of these after a step in which boxes grew by no more than `growth`. As long as the version of the
  // columns is the same, so are the bodies.
  void take_step(double growth, std::uint64_t version) {
    if (found_ == nullptr) {
      ++calm_;
    } else if (version_ == version && growth <= left_) {
      left_ = (left_ - growth) / kMore;
      ++uses_;
    } else if (version_ != version || uses_ < Reach::kFewestUses) {
      drop();
    } else {
      *this = NearPairs();  // used up, and to be found again
      calm_ = kMostPatience;
    }
  }

  // Keeps these if they are those of every row.
  void keep_for_all() {
    if (around_ != nullptr) drop();
  }

  // Keeps these if they are those around some rows, of which nearly all are given. Rows that came in at the other side
  // of a periodic world have others near them: those in place, without images.
  void keep_for_few(const RowList& rows, const RowList& wrapped) {
    if (found_ == nullptr) return;
    if (around_ == nullptr || found_->first.size() > kMostNearPairs * rows.size()) {
      drop();
      return;
    }
    if (!wrapped.empty()) {
      const auto next = std::make_shared<RowFlags>(*around_);
      for (const std::int32_t row : wrapped) (*next)[static_cast<std::size_t>(row)] = 0;
      around_ = next;
    }
    // Up to this share of the rows that move may begin to in one step, or all pairs are found again.
    constexpr std::size_t kMostNew = 8;
    if (kMostNew * others(rows).size() > rows.size()) drop();
  }

  // Those of the rows around which nothing has been found.
  RowList others(const RowList& rows) const {
    RowList unknown;
    for (const std::int32_t row : rows)
      if ((*around_)[static_cast<std::size_t>(row)] == 0) unknown.push_back(row);
    return unknown;
  }

  // Rows of which these are all near pairs; null: of every row.
  const RowFlags* around() const { return around_.get(); }

  // Keeps pairs that have been found with this reach, of every row or around some.
  void keep(Found&& pairs, double reach, std::uint64_t version, const RowFlags* around = nullptr) {
    found_ = std::make_shared<Found>(std::move(pairs));
    around_ = around != nullptr ? std::make_shared<RowFlags>(*around) : nullptr;
    left_ = reach;
    version_ = version;
    uses_ = 0;
    hits = kUnknown;
  }

  // Adds the pairs of more rows; one of these and a row that was known may be there twice.
  void add(const PairColumns& pairs, const RowFlags& around) {
    const auto next = std::make_shared<Found>(*found_);
    next->add(pairs);
    found_ = next;
    around_ = std::make_shared<RowFlags>(around);
    hits = kUnknown;
  }

  // Notes that for some time a search in each step takes less time.
  void note_not_worth() {
    const int patience = std::min(2 * patience_, kMostPatience);
    *this = NearPairs();
    patience_ = patience;
  }

 private:
  // More than rounding adds to a sum.
  static constexpr double kMore = 1 + 0x1p-40;
  // Steps in a row in which boxes grow so little, before pairs are kept, and the most after these were of no use.
  static constexpr int kPatience = 2, kMostPatience = 64;

  std::shared_ptr<const Found> found_;
  std::shared_ptr<const RowFlags> around_;
  double left_ = 0;
  std::uint64_t version_ = 0;
  int uses_ = 0, calm_ = 0, patience_ = kPatience;
};

}  // namespace broadphase
