// The pairs of one call, by a tree packed for it.
#pragma once

#include <cstddef>
#include <optional>

#include "bvh/build.hpp"
#include "query/preparation.hpp"
#include "query/problem.hpp"
#include "tree/curve_order.hpp"
#include "tree/pairs.hpp"

namespace broadphase {

// Satisfies Method.
template <class T>
class BvhPairs {
 public:
  using Pairs = TreePairs<KeepOverlaps<T>>;
  using Scratch = typename Pairs::Scratch;
  static constexpr bool kReadsAgain = true;  // precondition: nobody writes to the boxes meanwhile

  BvhPairs(const Problem<T>& problem, const Preparation& with);

  std::size_t task_count() const { return pairs_->task_count(); }
  void run(std::size_t task, Scratch& scratch, PairBuffer& out) const { pairs_->run(task, scratch, out); }

 private:
  Problem<T> problem_;
  BlockTree large_, small_;
  std::optional<Pairs> pairs_;
};

template <class T>
BvhPairs<T>::BvhPairs(const Problem<T>& problem, const Preparation& with) : problem_(problem) {
  large_.blocks = Blocks(problem_.dimension);
  small_.blocks = Blocks(problem_.dimension);
  TreePacker<T> packer;
  // The frame is that of the larger set.
  const bool turned = problem_.cross && problem_.second.count > problem_.first.count;
  const auto boxes = [&](const BoxView<T>& set) { return GrownBoxes<T>{set, problem_.dimension, problem_.grow}; };
  const BoxView<T>& large = turned ? problem_.second : problem_.first;
  packer.pack(large_, boxes(large), nullptr, large.count, nullptr, with.kernels, with.workers, with.interrupt);
  if (problem_.cross) {
    const Extent<T> bulk = packer.bulk();
    const BoxView<T>& small = turned ? problem_.first : problem_.second;
    packer.pack_like(large_, small_, boxes(small), nullptr, small.count, with.kernels, with.workers, with.interrupt);
    if (!small_.is_wide() &&
        is_blurred(bulk, boxes(small), small.count, [&](std::size_t at) { return packer.items()[at].row; })) {
      packer.pack_wide(large_, boxes(large), nullptr, large.count, nullptr, with.kernels, with.workers, with.interrupt);
      packer.pack_wide(small_, boxes(small), nullptr, small.count, nullptr, with.kernels, with.workers, with.interrupt);
    }
  }
  const bool exact = large_.frame.exact && (!problem_.cross || small_.frame.exact);
  const KeepOverlaps<T> keep{problem_, exact && problem_.touching};
  if (problem_.cross)
    pairs_.emplace(large_, small_, turned, keep, with.kernels);
  else
    pairs_.emplace(large_, keep, with.kernels);
}

// Compiled once: bvh.cpp.
extern template class BvhPairs<float>;
extern template class BvhPairs<double>;

}  // namespace broadphase
