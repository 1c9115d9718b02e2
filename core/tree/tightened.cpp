#include "tree/tightened.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/read_ahead.hpp"
#include "base/samples.hpp"
#include "base/with_dimension.hpp"

namespace broadphase {

namespace {

// Number: what the blocks hold.
template <std::size_t D, class Number>
class Tightening {
 public:
  struct Bounds {
    Number box[2 * D];
  };

  Tightening(BlockTree& tree, const BoxView<double>& boxes) : blocks_(tree.blocks), frame_(tree.frame), boxes_(boxes) {}

  // Of all below a block, which it tightens. No deeper than kMostLevels.
  Bounds refit(std::int32_t block) {
    Bounds bounds, around[kLanes];
    std::fill_n(bounds.box, D, std::numeric_limits<Number>::infinity());
    std::fill_n(bounds.box + D, D, -std::numeric_limits<Number>::infinity());
    const std::uint32_t own_rows = rows(block), inner = lanes(block) ^ own_rows;
    for (std::uint32_t left = inner; left != 0; left &= left - 1) read_ahead_of(child(block, left));
    if (own_rows != 0) read_rows(block, own_rows, around);
    for (std::uint32_t left = inner; left != 0; left &= left - 1)
      around[std::countr_zero(left)] = refit(child(block, left));
    for (std::uint32_t left = lanes(block); left != 0; left &= left - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(left));
      blocks_.set_box(block, lane, around[lane].box);
      add(bounds, around[lane]);
    }
    if (blocks_.next(block) != kNoBlock) add(bounds, refit(blocks_.next(block)));
    return bounds;
  }

 private:
  // More than the roundings of a double and of a float, among the denormals too.
  static constexpr double kStep = 0x1p-23, kLeast = 1e-37, kMost = 1e30;

  std::uint32_t lanes(std::int32_t block) const { return static_cast<std::uint32_t>(blocks_.occupied(block)); }
  std::uint32_t rows(std::int32_t block) const {
    return lanes(block) & static_cast<std::uint32_t>(blocks_.rows(block));
  }
  // In the first of some lanes.
  std::int32_t child(std::int32_t block, std::uint32_t lanes) const {
    return blocks_.child(block)[std::countr_zero(lanes)];
  }

  void read_ahead_of(std::int32_t block) const {
    for (std::uint32_t left = rows(block); left != 0; left &= left - 1) {
      const auto row = static_cast<std::size_t>(child(block, left));
      read_ahead(boxes_.lower_of(row));
      read_ahead(boxes_.upper_of(row) + D - 1);
    }
  }

  // The boxes of some lanes, rounded outwards. Those of others may be written, too.
  void read_rows(std::int32_t block, std::uint32_t some, Bounds* around) const {
    if constexpr (sizeof(Number) == sizeof(float)) {
      // Side by side, without a look at each number: those too large for floats are rare.
      double local[2 * D][kLanes] = {}, largest[kLanes] = {};
      for (std::uint32_t left = some; left != 0; left &= left - 1) {
        const auto lane = static_cast<std::size_t>(std::countr_zero(left)),
                   row = static_cast<std::size_t>(child(block, left));
        for (std::size_t k = 0; k < D; ++k) {
          local[k][lane] = boxes_.lower_of(row)[k];
          local[D + k][lane] = boxes_.upper_of(row)[k];
        }
      }
      for (std::size_t k = 0; k < 2 * D; ++k) {
        const double step = k < D ? -kStep : kStep, least = k < D ? -kLeast : kLeast;
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          const double x = (local[k][lane] - frame_.origin[k % D]) * frame_.scale, size = std::fabs(x);
          largest[lane] = size > largest[lane] ? size : largest[lane];
          local[k][lane] = x + (size * step + least);
        }
      }
      if (*std::max_element(largest, largest + kLanes) < kMost) {
        for (std::size_t k = 0; k < 2 * D; ++k)
          for (std::size_t lane = 0; lane < kLanes; ++lane) around[lane].box[k] = static_cast<float>(local[k][lane]);
        return;
      }
    }
    for (std::uint32_t left = some; left != 0; left &= left - 1)
      local_box(frame_, boxes_, static_cast<std::size_t>(child(block, left)), D, around[std::countr_zero(left)].box);
  }

  static void add(Bounds& bounds, const Bounds& other) {
    for (std::size_t k = 0; k < D; ++k) {
      bounds.box[k] = std::min(bounds.box[k], other.box[k]);
      bounds.box[D + k] = std::max(bounds.box[D + k], other.box[D + k]);
    }
  }

  Blocks& blocks_;
  LocalFrame frame_;
  BoxView<double> boxes_;
};

// Whether a quarter of the rows, or more, have smaller boxes: of some that are looked at.
bool is_loose(const BlockTree& tree, const BoxView<double>& boxes) {
  constexpr std::size_t kBlocks = 64;
  const Blocks& blocks = tree.blocks;
  const StratifiedSample places(blocks.limit(), kBlocks);
  std::size_t seen = 0, loose = 0;
  for (std::size_t at = 0; at < places.size(); ++at) {
    const auto block = static_cast<std::int32_t>(places[at]);
    // Also of released blocks: these are few.
    for (auto left = static_cast<std::uint32_t>(blocks.rows(block) & blocks.occupied(block)); left != 0;
         left &= left - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(left)),
                 row = static_cast<std::size_t>(blocks.child(block)[lane]);
      if (row >= boxes.count) continue;
      tree.with_numbers([&](auto number) {
        decltype(number) box[8], kept[8];
        local_box(tree.frame, boxes, row, tree.dimension(), box);
        blocks.get_box(block, lane, kept);
        ++seen;
        loose += std::equal(box, box + 2 * tree.dimension(), kept) ? 0 : 1;
      });
    }
  }
  return 4 * loose > seen;
}

}  // namespace

bool tighten(const BlockTree& tree, const BoxView<double>& boxes, BlockTree& tight) {
  if (tree.root == kNoBlock || !is_loose(tree, boxes)) return false;
  tight.blocks = tree.blocks.copy();
  tight.root = tree.root;
  tight.frame = tree.frame;
  tight.lossy = true;  // whether numbers are rounded is not looked at
  const auto refit = [&](auto dimension) {
    tree.with_numbers(
        [&](auto number) { Tightening<decltype(dimension)::value, decltype(number)>(tight, boxes).refit(tree.root); });
  };
  tree.dimension() == 2 ? refit(Dimension<2>()) : refit(Dimension<3>());
  return true;
}

}  // namespace broadphase
