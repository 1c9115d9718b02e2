// Every promise that a Bvh makes about its tree, tried.
#pragma once

#include <string>

#include "bvh/bvh.hpp"

namespace broadphase {

template <class T>
std::string Bvh::validate(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count) const {
  const Blocks& blocks = tree_.blocks;
  std::string wrong;
  const auto check = [&](bool holds, const std::string& what) {
    if (!holds && wrong.empty()) wrong = what;
    return holds;
  };
  if (tree_.root == kNoBlock) {
    check(count == 0 && rows_ == 0, "rows without a root");
    check(blocks.count() == 0, "blocks without a root");
    return wrong;
  }
  check(count == rows_, std::to_string(rows_) + " rows instead of " + std::to_string(count));
  check(blocks.parent(tree_.root) == static_cast<std::int32_t>(kNoPlace), "the root has a parent");
  std::size_t seen_blocks = 0, seen_rows = 0;
  float box[8];
  const std::size_t dimension = tree_.dimension();
  const auto inside = [&](const float* inner, const float* outer) {
    bool holds = true;
    for (std::size_t k = 0; k < dimension; ++k)
      holds &= outer[k] <= inner[k] && inner[dimension + k] <= outer[dimension + k];
    return holds;
  };
  for_each_block([&](std::int32_t block, std::size_t level) {
    const std::string name = "block " + std::to_string(block);
    ++seen_blocks;
    check(level < kMostLevels, name + " is too deep");
    check(blocks.occupied(block) != 0, name + " is empty");
    check((blocks.rows(block) & ~blocks.occupied(block)) == 0, name + " has rows in lanes not in use");
    check(blocks.next(block) == kNoBlock, name + " goes on");
    for_each_lane(blocks.occupied(block), [&](std::size_t lane) {
      const std::int32_t what = blocks.child(block)[lane];
      blocks.get_box(block, lane, box);
      if ((blocks.rows(block) >> lane & 1) == 0) {
        check(inside(bounds_of(blocks, what).box, box), name + " does not contain block " + std::to_string(what));
        check(static_cast<std::uint32_t>(blocks.parent(what)) == place_of(block, lane),
              "block " + std::to_string(what) + " does not know its parent");
        return;
      }
      ++seen_rows;
      const auto row = static_cast<std::size_t>(what);
      const std::string row_name = "row " + std::to_string(what);
      if (!check(has(row) && row < boxes.count, row_name + " is not to be there")) return;
      check(places_[row] == place_of(block, lane), row_name + " is not where it is said to be");
      // Lanes from when the frame was exact stay so, and are narrower than the same box would be filed as now: what
      // counts is that they hold the numbers given.
      bool holds = true;
      for (std::size_t k = 0; k < dimension; ++k)
        holds &= box[k] <= tree_.frame.local(static_cast<double>(boxes.lower_of(row)[k]), k) &&
                 tree_.frame.local(static_cast<double>(boxes.upper_of(row)[k]), k) <= box[dimension + k];
      check(holds, row_name + " sticks out of its lane");
    });
  });
  check(seen_blocks == blocks.count(), "blocks are lost");
  check(seen_rows == count, "rows are there twice, or lost");
  for (std::size_t at = 0; at < count; ++at)
    check(has(static_cast<std::size_t>(rows[at])), "row " + std::to_string(rows[at]) + " is missing");
  return wrong;
}

}  // namespace broadphase
