#include "tree/nearest_rows.hpp"

#include <algorithm>
#include <bit>

#include "base/wide_number.hpp"

namespace broadphase {

template <class Number>
bool add_by_bounds(const BlockTree& tree, const AnyBoxes& rows, const QueryFilter& filter,
                   const std::int32_t* next_copy, std::size_t query, NearestRows<Number>& nearest,
                   std::uint64_t& rejected) {
  struct Entry {
    RowAt<Number> bound;
    std::int32_t block;
  };
  if (tree.root == kNoBlock) return true;
  const Blocks& blocks = tree.blocks;
  const ExactBound* bounds = tree.exact_bounds.get(blocks, tree.root, rows);
  std::vector<Entry> stack;
  const auto push = [&](std::int32_t block) {
    const ExactBound& bound = bounds[block];
    // Every operation of a distance is monotonic, also when it rounds: no row below has a smaller one.
    const RowAt<Number> least(nearest.squared_distance_to(bound.box), bound.least_row);
    if (!nearest.is_far(least.first, bound.box) && nearest.may_take_from(least)) stack.push_back({least, block});
  };
  push(tree.root);
  while (!stack.empty()) {
    const Entry top = stack.back();
    stack.pop_back();
    if (!nearest.may_take_from(top.bound)) continue;
    const auto occupied = static_cast<std::uint32_t>(blocks.occupied(top.block)),
               is_row = static_cast<std::uint32_t>(blocks.rows(top.block));
    const BlockChildren child = blocks.child(top.block);
    for (std::uint32_t left = occupied & is_row; left != 0; left &= left - 1) {
      for (std::int32_t row = child[std::countr_zero(left)]; row >= 0;
           row = next_copy != nullptr ? next_copy[row] : -1) {
        if (!filter.allows(static_cast<std::size_t>(row), query)) {
          ++rejected;
          continue;
        }
        double box[8];
        rows.read(static_cast<std::size_t>(row), box);
        const Taken taken = nearest.add(box, row);
        if (taken == Taken::unknown) return false;
        if (taken != Taken::yes) break;
      }
    }
    const std::size_t first = stack.size();
    for (std::uint32_t left = occupied & ~is_row; left != 0; left &= left - 1) push(child[std::countr_zero(left)]);
    if (blocks.next(top.block) != kNoBlock) push(blocks.next(top.block));
    std::sort(stack.begin() + static_cast<std::ptrdiff_t>(first), stack.end(),
              [](const Entry& a, const Entry& b) { return b.bound < a.bound; });
  }
  return true;
}

template bool add_by_bounds(const BlockTree&, const AnyBoxes&, const QueryFilter&, const std::int32_t*, std::size_t,
                            NearestRows<double>&, std::uint64_t&);
template bool add_by_bounds(const BlockTree&, const AnyBoxes&, const QueryFilter&, const std::int32_t*, std::size_t,
                            NearestRows<WideNumber>&, std::uint64_t&);

}  // namespace broadphase
