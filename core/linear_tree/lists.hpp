// The boxes that a walk through a linear tree carries along: those of ancestors that reach into the cell it is in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "boxes/box_columns.hpp"
#include "simd/kernels.hpp"

namespace broadphase {

// A stack of boxes as structure of arrays, each with its place among the boxes of its set.
template <class T>
class ReachingBoxes {
 public:
  std::size_t size() const { return size_; }
  void resize(std::size_t size) { size_ = size; }  // to less
  const T* const* columns() const { return columns_.pointers(); }
  const std::uint32_t* places() const { return places_.data(); }

  void clear(std::size_t dimension) {
    if (dimension != dimension_) capacity_ = 0;
    dimension_ = dimension;
    size_ = 0;
  }

  // Room for so many more, and for what a kernel reads behind them.
  void room(std::size_t more) {
    if (size_ + more <= capacity_) return;
    const std::size_t capacity = size_ + more + (size_ + more) / 2 + 256;
    BoxColumns<T> columns(capacity, dimension_);
    for (std::size_t k = 0; k < dimension_; ++k) {
      std::copy_n(columns_.lower(k), size_, columns.lower(k));
      std::copy_n(columns_.upper(k), size_, columns.upper(k));
    }
    places_.resize(capacity);
    columns_ = std::move(columns);
    capacity_ = capacity;
  }

  // Pushes some of the boxes of `from`. Room for them is a precondition.
  template <class Place>
  void push(const T* const* from, const std::uint32_t* positions, std::size_t count, Place&& place) {
    for (std::size_t k = 0; k < 2 * dimension_; ++k) {
      const T* source = from[k];
      T* target = column(k) + size_;
      for (std::size_t at = 0; at < count; ++at) target[at] = source[positions[at]];
    }
    for (std::size_t at = 0; at < count; ++at) places_[size_ + at] = place(positions[at]);
    size_ += count;
  }
  // Pushes the boxes in [begin, end).
  void push_run(const BoxColumns<T>& from, std::size_t begin, std::size_t end) {
    for (std::size_t k = 0; k < 2 * dimension_; ++k)
      std::copy_n(from.pointers()[k] + begin, end - begin, column(k) + size_);
    for (std::size_t at = begin; at < end; ++at) places_[size_ + at - begin] = static_cast<std::uint32_t>(at);
    size_ += end - begin;
  }

 private:
  T* column(std::size_t k) { return k < dimension_ ? columns_.lower(k) : columns_.upper(k - dimension_); }

  BoxColumns<T> columns_;
  std::vector<std::uint32_t> places_;
  std::size_t dimension_ = 0, size_ = 0, capacity_ = 0;
};

// What one thread needs for a walk.
template <class T>
struct WalkScratch {
  // The way down: a node, and where its share of each list begins and ends.
  struct Step {
    std::uint32_t node;
    std::size_t begin[2], end[2];
  };
  std::vector<Step> way;
  std::vector<std::uint32_t> ancestors;
  ReachingBoxes<T> reaching[2];
  std::vector<std::uint32_t> positions;
  std::vector<RunHits> hits;
  std::uint64_t tests = 0;

  void start(std::size_t dimension) {
    way.clear();
    reaching[0].clear(dimension);
    reaching[1].clear(dimension);
    tests = 0;
  }
};

}  // namespace broadphase
