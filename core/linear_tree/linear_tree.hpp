// A linear tree: boxes filed by the smallest cell around them, in Z order, without a pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "linear_tree/depth.hpp"
#include "linear_tree/nodes.hpp"
#include "linear_tree/order.hpp"
#include "linear_tree/walk.hpp"

namespace broadphase {

// Quadtree, octree, and what they are called in one and four dimensions. After G. M. Morton (1966) for the numbers of
// the cells and I. Gargantini (1982) for a tree that is nothing but a sorted list of them. The level of a box follows
// from the numbers of its corners' cells. Only the boxes are stored, so the depth costs no memory.
template <class T>
class LinearTree {
 public:
  using Scratch = typename LinearWalk<T>::Scratch;

  LinearTree(const Problem<T>& problem, const Kernels& kernels, unsigned /*workers*/, Interrupt interrupt = Interrupt())
      : source_(source_of(problem)),
        order_(file(problem, interrupt)),
        nodes_(order_),
        walk_(order_, nodes_, source_, problem.cross, problem.touching, kernels, interrupt) {}
  LinearTree(const LinearTree&) = delete;
  LinearTree& operator=(const LinearTree&) = delete;

  std::size_t task_count() const { return walk_.task_count(); }
  void run(std::size_t task, Scratch& scratch, PairBuffer& out) const { walk_.run(task, scratch, out); }
  std::uint64_t test_count() const { return walk_.test_count(); }

 private:
  static LinearSource<T> source_of(const Problem<T>& problem) {
    return {problem.first, problem.second, problem.first.count, problem.dimension, problem.grow};
  }
  LinearOrder file(const Problem<T>& problem, Interrupt& interrupt) const {
    const std::size_t count = problem.first.count + (problem.cross ? problem.second.count : 0);
    std::vector<std::uint32_t> items(count);
    for (std::size_t item = 0; item < count; ++item) items[item] = static_cast<std::uint32_t>(item);
    const LinearWorld world = world_around(source_, items.data(), count);
    LinearOrder order = make_order(source_, items, world, measured_depth(source_, items, world, interrupt), interrupt);
    order_crowds(source_, order, kLeafBoxes, interrupt);
    return order;
  }

  LinearSource<T> source_;
  LinearOrder order_;
  LinearNodes nodes_;
  LinearWalk<T> walk_;
};

}  // namespace broadphase
