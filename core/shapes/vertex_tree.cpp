#include "shapes/vertex_tree.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <numeric>
#include <vector>

namespace broadphase {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Vertices of a leaf; boxes below another box; vertices looked at side by side, two to a register of the processor.
constexpr std::size_t kLeaf = 16, kChildren = 8, kLanes = 4;
// Up to so many are all looked at, in the order in which they were given.
constexpr std::size_t kFew = 64;

using Way = std::array<double, 3>;

// How far a point is along a way. Every operation is monotonic, rounded or not: of a box, the corner that is farthest
// along each axis is as high as any point in it, or higher, in rounded numbers too.
double height(const Way& way, double x, double y, double z) { return way[0] * x + way[1] * y + way[2] * z; }

// Coordinates side by side.
struct Leaf {
  std::array<double, kLeaf> x, y, z;

  double highest(const Way& way) const {
    std::array<double, kLanes> most;
    most.fill(-kInfinity);
    for (std::size_t at = 0; at < kLeaf; at += kLanes)
      for (std::size_t k = 0; k < kLanes; ++k) {
        const double up = height(way, x[at + k], y[at + k], z[at + k]);
        most[k] = up > most[k] ? up : most[k];
      }
    return std::max(std::max(most[0], most[1]), std::max(most[2], most[3]));
  }
};

// Boxes side by side.
struct Boxes {
  std::array<double, kChildren> lower[3], upper[3];

  void highest(const Way& way, std::array<double, kChildren>& heights) const {
    const auto& x = way[0] > 0 ? upper[0] : lower[0];
    const auto& y = way[1] > 0 ? upper[1] : lower[1];
    const auto& z = way[2] > 0 ? upper[2] : lower[2];
    for (std::size_t k = 0; k < kChildren; ++k) heights[k] = height(way, x[k], y[k], z[k]);
  }
};

// Of all vertices, in the frame of their own.
VertexTree::Extents extents_of_all(std::span<const double> vertices, const double* axes) {
  VertexTree::Extents found;
  found.lower.fill(kInfinity);
  found.upper.fill(-kInfinity);
  for (std::size_t at = 0; at < vertices.size(); at += 3)
    for (std::size_t k = 0; k < 3; ++k) {
      const double up = height({axes[k], axes[3 + k], axes[6 + k]}, vertices[at], vertices[at + 1], vertices[at + 2]);
      found.lower[k] = up < found.lower[k] ? up : found.lower[k];
      found.upper[k] = up > found.upper[k] ? up : found.upper[k];
    }
  return found;
}

}  // namespace

// A tree without pointers. Boxes of level 0 hold leaves, eight each; those of level k + 1 hold boxes of level k.
struct VertexTree::Sorted {
  std::vector<Leaf> leaves;
  std::vector<std::vector<Boxes>> levels;  // the last one is a single one

  explicit Sorted(std::span<const double> vertices) {
    const std::size_t count = vertices.size() / 3;
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), std::uint32_t{0});
    sort(vertices, order);
    leaves.resize((count + kLeaf - 1) / kLeaf);
    for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf)
      for (std::size_t k = 0; k < kLeaf; ++k) {  // the last vertex fills the last leaf
        const double* vertex = vertices.data() + 3 * std::size_t{order[std::min(leaf * kLeaf + k, count - 1)]};
        leaves[leaf].x[k] = vertex[0];
        leaves[leaf].y[k] = vertex[1];
        leaves[leaf].z[k] = vertex[2];
      }
    std::vector<std::array<double, 6>> boxes(leaves.size());
    for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      const Leaf& of = leaves[leaf];
      std::size_t axis = 0;
      for (const auto* numbers : {&of.x, &of.y, &of.z}) {
        const auto [least, most] = std::minmax_element(numbers->begin(), numbers->end());
        boxes[leaf][axis] = *least;
        boxes[leaf][3 + axis++] = *most;
      }
    }
    do {
      std::vector<Boxes> level((boxes.size() + kChildren - 1) / kChildren);
      std::vector<std::array<double, 6>> around(level.size());
      for (std::size_t at = 0; at < level.size(); ++at) {
        around[at] = {kInfinity, kInfinity, kInfinity, -kInfinity, -kInfinity, -kInfinity};
        for (std::size_t k = 0; k < kChildren; ++k) {  // the last box fills the last group
          const auto& box = boxes[std::min(at * kChildren + k, boxes.size() - 1)];
          for (std::size_t axis = 0; axis < 3; ++axis) {
            level[at].lower[axis][k] = box[axis];
            level[at].upper[axis][k] = box[3 + axis];
            around[at][axis] = std::min(around[at][axis], box[axis]);
            around[at][3 + axis] = std::max(around[at][3 + axis], box[3 + axis]);
          }
        }
      }
      levels.push_back(std::move(level));
      boxes = std::move(around);
    } while (boxes.size() > 1);
  }

  // Halves along the longest axis, again and again, so that whole leaves, and groups of eight, lie close together.
  static void sort(std::span<const double> vertices, std::span<std::uint32_t> order) {
    while (order.size() > kLeaf) {
      std::array<double, 3> lower, upper;
      lower.fill(kInfinity);
      upper.fill(-kInfinity);
      for (const std::uint32_t row : order)
        for (std::size_t k = 0; k < 3; ++k) {
          lower[k] = std::min(lower[k], vertices[3 * std::size_t{row} + k]);
          upper[k] = std::max(upper[k], vertices[3 * std::size_t{row} + k]);
        }
      std::size_t axis = 0;
      for (std::size_t k = 1; k < 3; ++k)
        if (upper[k] - lower[k] > upper[axis] - lower[axis]) axis = k;
      const std::size_t leaf_count = (order.size() + kLeaf - 1) / kLeaf, left = kLeaf * (std::bit_ceil(leaf_count) / 2);
      std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(left), order.end(),
                       [&](std::uint32_t a, std::uint32_t b) {
                         return vertices[3 * std::size_t{a} + axis] < vertices[3 * std::size_t{b} + axis];
                       });
      sort(vertices, order.first(left));  // a power of two: at most 32 deep
      order = order.subspan(left);
    }
  }

  double highest(const Way& way) const {
    struct Entry {
      double height;
      std::uint32_t level, at;  // of a box and, of level 0, of a leaf
    };
    // Every level leaves seven at most to be looked at later.
    std::array<Entry, kChildren * 16> stack;
    std::size_t size = 0;
    double most = -kInfinity;
    std::size_t level = levels.size() - 1, at = 0;
    std::array<double, kChildren> heights;
    for (;;) {
      levels[level][at].highest(way, heights);
      const std::size_t below = level > 0 ? levels[level - 1].size() : leaves.size(),
                        count = std::min(kChildren, below - at * kChildren), first = size;
      for (std::size_t k = 0; k < count; ++k)
        if (heights[k] > most)
          stack[size++] = {heights[k], static_cast<std::uint32_t>(level),
                           static_cast<std::uint32_t>(at * kChildren + k)};
      // The highest on top.
      for (std::size_t k = first; k + 1 < size; ++k)
        if (stack[k].height > stack[size - 1].height) std::swap(stack[k], stack[size - 1]);
      for (;;) {
        if (size == 0) return most;
        const Entry next = stack[--size];
        if (!(next.height > most)) continue;
        if (next.level > 0) {
          level = next.level - 1;
          at = next.at;
          break;
        }
        most = std::max(most, leaves[next.at].highest(way));
      }
    }
  }

  std::size_t memory_bytes() const {
    std::size_t bytes = leaves.capacity() * sizeof(Leaf);
    for (const std::vector<Boxes>& level : levels) bytes += level.capacity() * sizeof(Boxes);
    return bytes;
  }
};

VertexTree::~VertexTree() { delete sorted_.load(); }

// No thread waits for another, so that a copy of this process, made while one sorts, never waits for it in vain: where
// two have sorted, one of the results is dropped.
const VertexTree::Sorted* VertexTree::sorted() const {
  const Sorted* known = sorted_.load(std::memory_order_acquire);
  if (known != nullptr || vertices_.size() <= 3 * kFew) return known;
  try {
    auto made = std::make_unique<const Sorted>(vertices_);
    if (sorted_.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel)) return made.release();
    return known;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

VertexTree::Extents VertexTree::extents(const double* axes) const {
  const Sorted* tree = sorted();
  if (tree == nullptr) return extents_of_all(vertices_, axes);
  Extents found;
  for (std::size_t k = 0; k < 3; ++k) {
    const Way way{axes[k], axes[3 + k], axes[6 + k]};
    found.upper[k] = tree->highest(way);
    found.lower[k] = -tree->highest({-way[0], -way[1], -way[2]});
  }
  return found;
}

std::size_t VertexTree::memory_bytes() const {
  const Sorted* known = sorted_.load(std::memory_order_acquire);
  return known != nullptr ? known->memory_bytes() : 0;
}

const VertexTree* VertexTrees::operator[](std::size_t number) const {
  const auto chunk = static_cast<std::size_t>(std::bit_width(number / kFirst + 1)) - 1;
  const std::atomic<const VertexTree*>* trees = chunks_[chunk].load(std::memory_order_acquire);
  if (trees == nullptr) return nullptr;
  return trees[number - kFirst * ((std::size_t{1} << chunk) - 1)].load(std::memory_order_acquire);
}

void VertexTrees::put(std::size_t number, const VertexTree* tree) {
  const auto chunk = static_cast<std::size_t>(std::bit_width(number / kFirst + 1)) - 1;
  if (owned_[chunk] == nullptr) {
    if (tree == nullptr) return;
    owned_[chunk].reset(new std::atomic<const VertexTree*>[kFirst << chunk]());
    chunks_[chunk].store(owned_[chunk].get(), std::memory_order_release);
  }
  owned_[chunk][number - kFirst * ((std::size_t{1} << chunk) - 1)].store(tree, std::memory_order_release);
}

}  // namespace broadphase
