#include "tree/exact_bounds.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "tree/blocks.hpp"

namespace broadphase {

namespace {

std::uint32_t rows_of(const Blocks& blocks, std::int32_t block) {
  return static_cast<std::uint32_t>(blocks.occupied(block) & blocks.rows(block));
}

// Calls use(other) for the blocks in the lanes of a block, and for the one that continues it.
template <class Use>
void for_each_below(const Blocks& blocks, std::int32_t block, const Use& use) {
  for (std::uint32_t left = static_cast<std::uint32_t>(blocks.occupied(block)) & ~rows_of(blocks, block); left != 0;
       left &= left - 1)
    use(blocks.child(block)[std::countr_zero(left)]);
  if (blocks.next(block) != kNoBlock) use(blocks.next(block));
}

void include(ExactBound& bound, const double* box, std::int32_t row, std::size_t dimension) {
  for (std::size_t k = 0; k < dimension; ++k) {
    bound.box[k] = std::min(bound.box[k], box[k]);
    bound.box[dimension + k] = std::max(bound.box[dimension + k], box[dimension + k]);
  }
  bound.least_row = std::min(bound.least_row, row);
}

}  // namespace

void ExactBounds::make(const Blocks& blocks, std::int32_t root, const AnyBoxes& rows) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::size_t dimension = blocks.dimension();
  bounds_.resize(blocks.limit());
  std::vector<std::int32_t> order;  // those above first
  order.reserve(blocks.count());
  if (root != kNoBlock) order.push_back(root);
  for (std::size_t at = 0; at < order.size(); ++at)
    for_each_below(blocks, order[at], [&](std::int32_t below) { order.push_back(below); });
  for (std::size_t at = order.size(); at-- > 0;) {
    const std::int32_t block = order[at];
    ExactBound& bound = bounds_[static_cast<std::size_t>(block)];
    std::fill_n(bound.box, dimension, kInfinity);
    std::fill_n(bound.box + dimension, dimension, -kInfinity);
    bound.least_row = std::numeric_limits<std::int32_t>::max();
    for_each_below(blocks, block, [&](std::int32_t below) {
      const ExactBound& other = bounds_[static_cast<std::size_t>(below)];
      include(bound, other.box, other.least_row, dimension);
    });
    for (std::uint32_t left = rows_of(blocks, block); left != 0; left &= left - 1) {
      const std::int32_t row = blocks.child(block)[std::countr_zero(left)];
      double box[8];
      rows.read(static_cast<std::size_t>(row), box);
      include(bound, box, row, dimension);
    }
  }
}

}  // namespace broadphase
