// A tree of boxes over the elements of a shape, in the frame of the shape: the triangles of a mesh, the points of a
// cloud. Built once, queried in any pose.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "shapes/shape.hpp"

namespace broadphase {

// A box in units of the tree, from its middle; the halves are rounded up.
struct MeshBox {
  std::array<float, 3> centre, half;
  std::uint32_t first;  // the block of its children; or MeshBlock::kFace and its only face
};

// Up to four boxes, axis by axis, so that they are compared with another box together.
struct MeshBlock {
  static constexpr std::size_t kBoxes = 4;
  static constexpr std::uint32_t kFace = 1U << 31;

  std::array<std::array<float, kBoxes>, 3> centre, half;
  std::array<std::uint32_t, kBoxes> first;  // as in MeshBox
  std::uint32_t count;
  std::array<std::uint32_t, 3> unused;

  MeshBox box(std::size_t lane) const {
    return {{centre[0][lane], centre[1][lane], centre[2][lane]},
            {half[0][lane], half[1][lane], half[2][lane]},
            first[lane]};
  }
};
static_assert(sizeof(MeshBlock) == 128);

// For exponents from -1000 to 1000.
inline double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// How the boxes of a tree are written: x = middle + 2^exponent * number. Numbers are at most 1, or 2^25 for the largest
// meshes, whose 2^exponent would have no inverse.
struct MeshUnits {
  Vec<3> middle{};
  int exponent = 0;
  double size = 0;  // of all coordinates, roughly: the scale of rounding errors

  MeshUnits() = default;
  MeshUnits(const Vec<3>& lower, const Vec<3>& upper) {
    double half = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      middle[k] = lower[k] / 2 + upper[k] / 2;
      half = std::max(half, upper[k] / 2 - lower[k] / 2);
      size += std::abs(middle[k]) + (upper[k] / 2 - lower[k] / 2);
    }
    if (half > 0) std::frexp(half, &exponent);
    exponent = std::clamp(exponent, -kMost, kMost);
    inverse_ = power_of_two(-exponent);
  }

  // The smallest box around the given one. The rounding error of the differences is added back where boxes are
  // compared (RelativePose).
  void write(const Vec<3>& lower, const Vec<3>& upper, MeshBlock& block, std::size_t lane) const {
    for (std::size_t k = 0; k < 3; ++k) {
      const double low = (lower[k] - middle[k]) * inverse_, high = (upper[k] - middle[k]) * inverse_;
      const float centre = static_cast<float>(low / 2 + high / 2);
      const double from = static_cast<double>(centre), half = std::max(high - from, from - low);
      const float rounded = static_cast<float>(half);
      block.centre[k][lane] = centre;
      // Upwards; of a number from 0 on, the bits of the next one are one more.
      block.half[k][lane] = static_cast<double>(rounded) < half
                                ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(rounded) + 1)
                                : rounded;
    }
  }

  static constexpr int kMost = 1000;

 private:
  double inverse_ = 1;
};

class ElementTree {
 public:
  // Maximum depth: there are less than 2^31 elements, and each level divides them by four or nearly so.
  static constexpr std::size_t kMostLevels = 17;

  // The first has only one box, around all.
  const MeshBlock* blocks() const { return blocks_.data(); }
  const MeshUnits& units() const { return units_; }
  std::size_t memory_bytes() const { return blocks_.capacity() * sizeof(MeshBlock); }

 protected:
  struct Bounds {
    static constexpr double kFar = std::numeric_limits<double>::infinity();
    Vec<3> lower{kFar, kFar, kFar}, upper{-kFar, -kFar, -kFar};

    void add(const double* point) {
      for (std::size_t k = 0; k < 3; ++k) {
        lower[k] = std::min(lower[k], point[k]);
        upper[k] = std::max(upper[k], point[k]);
      }
    }
  };

  // Puts elements, given by their numbers, into the order of the leaves, as many of them to a leaf, or fewer to the
  // last one, and makes the blocks, still without boxes. middle_of(element) is where its coordinates are.
  template <std::uint32_t Leaf, class MiddleOf>
  void arrange(std::vector<std::int32_t>& order, const MiddleOf& middle_of) {
    const std::size_t count = order.size();
    std::vector<Part> parts{{0, static_cast<std::uint32_t>(count)}};  // of each block
    std::vector<std::uint64_t> keys(count);
    constexpr std::size_t kNotFull = 32;  // nearly all blocks are full
    parts.reserve(count / (3 * Leaf) + kNotFull);
    blocks_.reserve(count / (3 * Leaf) + kNotFull);
    add_boxes(std::span(parts), parts, Leaf);
    // Children come after their parent, so one pass over the growing array divides all. A part of a block has a power
    // of four of elements, but for the last one: so nearly all blocks are full, and so are leaves.
    for (std::size_t at = 1; at < parts.size(); ++at) {
      std::uint32_t most = Leaf;
      while (most < (parts[at].count + 3) / 4) most *= 4;
      std::array<Part, MeshBlock::kBoxes> quarters{parts[at]};
      std::size_t boxes = 1;
      for (int round = 0; round < 2; ++round)
        for (std::size_t k = boxes; k-- > 0;) {
          const Part part = quarters[k];
          if (part.count <= most) continue;
          const std::uint32_t left = part.count > 2 * most ? 2 * most : most;
          divide(std::span(order).subspan(part.first, part.count), left, middle_of, keys.data());
          quarters[k].count = left;
          quarters[boxes++] = {part.first + left, part.count - left};
        }
      add_boxes({quarters.data(), boxes}, parts, Leaf);
    }
  }

  // From the leaves upwards. add_leaf(first element, bounds) adds what is in a leaf.
  template <class AddLeaf>
  void write_boxes(const Bounds& of_all, const AddLeaf& add_leaf) {
    units_ = MeshUnits(of_all.lower, of_all.upper);
    std::vector<Bounds> of_blocks(blocks_.size());
    for (std::size_t at = blocks_.size(); at-- > 0;) {
      MeshBlock& block = blocks_[at];
      for (std::size_t lane = 0; lane < block.count; ++lane) {
        const std::uint32_t first = block.first[lane];
        Bounds bounds;
        if ((first & MeshBlock::kFace) == 0)
          bounds = of_blocks[first];
        else
          add_leaf(static_cast<std::int32_t>(first & ~MeshBlock::kFace), bounds);
        units_.write(bounds.lower, bounds.upper, block, lane);
        of_blocks[at].add(bounds.lower.data());
        of_blocks[at].add(bounds.upper.data());
      }
    }
  }

 private:
  struct Part {
    std::uint32_t first, count;  // in the order of the faces
  };

  // Puts as many elements as told to the left of the others, along the axis along which they are spread most.
  template <class MiddleOf>
  static void divide(std::span<std::int32_t> elements, std::size_t left, const MiddleOf& middle_of,
                     std::uint64_t* keys) {
    Bounds of_middles;
    for (const std::int32_t element : elements) of_middles.add(middle_of(element));
    std::size_t longest = 0;
    const auto length = [&](std::size_t axis) { return of_middles.upper[axis] - of_middles.lower[axis]; };
    for (std::size_t axis = 1; axis < 3; ++axis)
      if (length(axis) > length(longest)) longest = axis;
    // The coordinate, from the lowest one on, and the element: so no two are equal.
    const double lowest = of_middles.lower[longest],
                 scale = length(longest) > 0x1p-900 && length(longest) < 0x1p900 ? 0x1p31 / length(longest) : 0;
    for (std::size_t k = 0; k < elements.size(); ++k) {
      const double height = scale > 0 ? (middle_of(elements[k])[longest] - lowest) * scale : 0;
      keys[k] = static_cast<std::uint64_t>(height) << 32 | static_cast<std::uint32_t>(elements[k]);
    }
    put_least_first({keys, elements.size()}, left);
    for (std::size_t k = 0; k < elements.size(); ++k) elements[k] = static_cast<std::int32_t>(keys[k] & 0xffffffff);
  }

  // Puts that many of the least keys, no two of which are equal, before the others; as std::nth_element, but without a
  // branch for each key.
  static void put_least_first(std::span<std::uint64_t> keys, std::size_t count) {
    constexpr std::size_t kFew = 8;
    std::size_t begin = 0, end = keys.size();
    // Each round puts aside half of the keys, or nearly so, but for orders made to prevent it.
    constexpr int kMostRounds = 100;
    for (int round = 0; end - begin > kFew; ++round) {
      if (round == kMostRounds) {
        std::nth_element(keys.begin() + static_cast<std::ptrdiff_t>(begin),
                         keys.begin() + static_cast<std::ptrdiff_t>(count),
                         keys.begin() + static_cast<std::ptrdiff_t>(end));
        return;
      }
      const std::uint64_t x = keys[begin], y = keys[begin + (end - begin) / 2], z = keys[end - 1],
                          middle = std::max(std::min(x, y), std::min(std::max(x, y), z));
      std::size_t place = begin;
      for (std::size_t k = begin; k < end; ++k) {
        const std::uint64_t key = keys[k];
        keys[k] = keys[place];
        keys[place] = key;
        place += key < middle ? 1 : 0;
      }
      if (place == count) return;
      (place < count ? begin : end) = place;
    }
    std::sort(keys.begin() + static_cast<std::ptrdiff_t>(begin), keys.begin() + static_cast<std::ptrdiff_t>(end));
  }

  // Adds a block of boxes around parts of the elements; those of more than a leaf will have blocks of their own.
  void add_boxes(std::span<const Part> of, std::vector<Part>& parts, std::uint32_t leaf) {
    MeshBlock block{};
    block.count = static_cast<std::uint32_t>(of.size());
    std::array<Part, MeshBlock::kBoxes> more;
    std::size_t count = 0;
    for (std::size_t lane = 0; lane < of.size(); ++lane) {
      block.first[lane] =
          of[lane].count <= leaf ? of[lane].first | MeshBlock::kFace : static_cast<std::uint32_t>(parts.size() + count);
      if (of[lane].count > leaf) more[count++] = of[lane];
    }
    blocks_.push_back(block);
    parts.insert(parts.end(), more.begin(), more.begin() + static_cast<std::ptrdiff_t>(count));
  }

  MeshUnits units_;
  std::vector<MeshBlock> blocks_;
};

}  // namespace broadphase
