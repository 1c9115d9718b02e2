// Pairs by an octree made for one question.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "octree/pairs.hpp"

namespace broadphase {

// Cubes that halve, each box in the smallest one that contains it; one walk down carries what reaches in from above. In
// 2 dimensions a quadtree. After D. Meagher (1982); cells are loose after T. Ulrich (2000).
template <class T>
class Octree {
 public:
  using Scratch = typename OctreePairs<T>::Scratch;

  Octree(const Problem<T>& problem, const Kernels& kernels, unsigned /*workers*/, Interrupt interrupt = Interrupt(),
         const OctreeOptions& options = {})
      : rows_(problem.first), tree_{Blocks(problem.dimension), kNoBlock, {}}, arrangement_(tree_, options) {
    if (problem.cross || problem.grow != 0) copy(problem);
    OctreeKinds kinds = OctreeKinds::of_static(problem.cross ? nullptr : problem.filter);
    if (problem.cross) {
      kinds.cross = true;
      kinds.first_count = static_cast<std::int32_t>(problem.first.count);
      kinds.partners[0] = 2;
      kinds.partners[1] = 1;
    }
    std::vector<std::int32_t> rows(rows_.count);
    std::iota(rows.begin(), rows.end(), 0);
    arrangement_.build(rows_, rows.data(), rows.size(), interrupt);
    pairs_.emplace(arrangement_, rows_, problem.touching, kinds, kernels, interrupt);
  }
  Octree(const Octree&) = delete;
  Octree& operator=(const Octree&) = delete;

  std::size_t task_count() const { return pairs_->task_count(); }
  void run(std::size_t task, Scratch& scratch, PairBuffer& out) const { pairs_->run(task, scratch, out); }

 private:
  // Both sets, grown, one behind the other.
  void copy(const Problem<T>& problem) {
    const std::size_t dimension = problem.dimension;
    const std::size_t count = problem.first.count + (problem.cross ? problem.second.count : 0);
    if (count > static_cast<std::size_t>(INT32_MAX)) throw std::bad_alloc();  // it would take more than 64 GB
    corners_.reserve(2 * dimension * count);
    const auto add = [&](const BoxView<T>& boxes) {
      for (std::size_t row = 0; row < boxes.count; ++row) {
        for (std::size_t k = 0; k < dimension; ++k) corners_.push_back(boxes.lower_of(row)[k] - problem.grow);
        for (std::size_t k = 0; k < dimension; ++k) corners_.push_back(boxes.upper_of(row)[k] + problem.grow);
      }
    };
    add(problem.first);
    if (problem.cross) add(problem.second);
    const auto stride = static_cast<std::ptrdiff_t>(2 * dimension);
    rows_ = {corners_.data(), corners_.data() + dimension, stride, stride, count};
  }

  std::vector<T> corners_;
  BoxView<T> rows_;
  BlockTree tree_;
  OctreeArrangement arrangement_;
  std::optional<OctreePairs<T>> pairs_;
};

}  // namespace broadphase
