// Placed shapes that never move, in a tree of boxes: which of them meet a shape, and how near the nearest is.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "narrow/geometries.hpp"
#include "narrow/meshes.hpp"
#include "narrow/polytopes.hpp"
#include "robots/point_cloud.hpp"
#include "robots/surrounding.hpp"
#include "shapes/shape.hpp"

namespace broadphase {

// A placed shape with its bounding box and, if it is kept elsewhere, its geometry.
struct Piece {
  Element element;
  Geometry geometry{};
  std::array<double, 6> box{};  // lower, upper

  MeshSide side() const { return side_of(element.shape, geometry); }

  bool has_geometry() const { return geometry.is_known(); }
  bool is_element() const { return geometry.is_element(); }
  // Of its box along an axis; where that has only one end, this end, and without any, 0.
  double middle(std::size_t k) const {
    const bool has_lower = std::isfinite(box[k]), has_upper = std::isfinite(box[3 + k]);
    return has_lower && has_upper ? box[k] / 2 + box[3 + k] / 2 : has_lower ? box[k] : has_upper ? box[3 + k] : 0;
  }
  // The vertices are those of a hull or a mesh.
  void set_box(const VertexTree* vertices) {
    ShapeBounds<3> bounds;
    add_bounds<3>(element.shape, bounds, vertices);
    std::copy_n(bounds.lower.begin(), 3, box.begin());
    std::copy_n(bounds.upper.begin(), 3, box.begin() + 3);
  }
};

inline bool boxes_meet(const std::array<double, 6>& a, const std::array<double, 6>& b) {
  bool apart = false;
  for (std::size_t k = 0; k < 3; ++k) apart |= (a[k] > b[3 + k]) | (b[k] > a[3 + k]);
  return !apart;
}
inline double squared_gap(const std::array<double, 6>& a, const std::array<double, 6>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    const double onwards = b[k] - a[3 + k], back = a[k] - b[3 + k], gap = onwards > back ? onwards : back;
    sum += gap > 0 ? gap * gap : 0;
  }
  return sum;
}

// Whether two pieces overlap: their boxes and the shapes, as for pairs of rows (narrow/batch.hpp).
inline bool overlap(const Piece& a, const Piece& b) {
  if (!boxes_meet(a.box, b.box)) return false;
  if (a.is_element() && b.is_element()) return overlaps(a.element, b.element);
  return overlaps(a.side(), b.side());
}
// The signed distance of two pieces; infinite, or any number above the limit, if it is above the limit.
inline double distance(const Piece& a, const Piece& b, double limit) {
  Vec<3> normal;
  if (a.is_element() && b.is_element()) return signed_distance(a.element, b.element, &normal);
  return separation(a.side(), b.side(), limit).distance;
}
// 0 for pieces that overlap, whatever rounding says.
inline double clearance(const Piece& a, const Piece& b, double limit) {
  if (a.is_element() && b.is_element()) return overlap(a, b) ? 0.0 : std::max(0.0, distance(a, b, limit));
  const MeshSide x = a.side(), y = b.side();
  const double found = nearest_elements(x, y, limit, 0.0).distance;
  if (found <= 0) return 0;
  double size = 0;
  for (std::size_t k = 0; k < 6; ++k) size += std::abs(a.box[k]) + std::abs(b.box[k]);
  // Thousands of rounding errors: what is farther apart does not overlap.
  const bool is_clear = std::min(found, limit) > 1e-12 * size;
  return !is_clear && boxes_meet(a.box, b.box) && overlaps(x, y) ? 0.0 : found;
}

// A box in floats, measured from a middle and rounded outwards: of two that do not meet, the given ones do not.
struct NarrowBox {
  std::array<float, 3> lower, upper;

  NarrowBox(const std::array<double, 6>& box, const Vec<3>& middle) {
    constexpr double kMost = 3e38;
    constexpr float kMore = 0x1p-23F, kLeast = 1e-37F;  // at least one unit in the last place
    for (std::size_t k = 0; k < 3; ++k) {
      const float low = static_cast<float>(std::clamp(box[k] - middle[k], -kMost, kMost)),
                  high = static_cast<float>(std::clamp(box[3 + k] - middle[k], -kMost, kMost));
      lower[k] = low - (std::abs(low) * kMore + kLeast);
      upper[k] = high + (std::abs(high) * kMore + kLeast);
    }
  }
};

class Obstacles {
 public:
  // Places of shapes that are kept in `numbers`, which a caller must not change; pieces point into it.
  Obstacles(std::vector<double> numbers, std::vector<Piece> pieces)
      : numbers_(std::move(numbers)), pieces_(std::move(pieces)) {
    surroundings_.reserve(pieces_.size());
    for (const Piece& piece : pieces_) surroundings_.emplace_back(piece.element.shape);
    if (!pieces_.empty()) build();
  }
  Obstacles(const Obstacles&) = delete;
  Obstacles& operator=(const Obstacles&) = delete;

  std::size_t size() const { return pieces_.size(); }
  const Piece& piece(std::size_t number) const { return pieces_[number]; }
  std::uint32_t number_of(const Piece& piece) const { return static_cast<std::uint32_t>(&piece - pieces_.data()); }
  // What surrounds a piece of these.
  const Surrounding& around(std::size_t number) const { return surroundings_[number]; }
  const Surrounding& around(const Piece& piece) const {
    return surroundings_[static_cast<std::size_t>(&piece - pieces_.data())];
  }
  std::size_t memory_bytes() const {
    return numbers_.capacity() * sizeof(double) + pieces_.capacity() * sizeof(Piece) +
           surroundings_.capacity() * sizeof(Surrounding) + blocks_.capacity() * sizeof(Block) + cloud_.memory_bytes();
  }

  // Calls visit(piece) for those that may be at most `reach` from a shape, of copies for one, until it returns true,
  // and returns whether one did. `core()` is what surrounds the shape, and is only called where it is needed.
  template <class Core, class Visit>
  bool any_near(const std::array<double, 6>& box, double reach, const Core& core, const Visit& visit) const {
    if (cloud_.any_near(box, reach, core, [&](std::uint32_t number) { return visit(pieces_[number]); })) return true;
    if (blocks_.empty()) return false;
    std::array<double, 6> grown = box;
    for (std::size_t k = 0; k < 3 && reach > 0; ++k) {
      grown[k] -= reach;
      grown[3 + k] += reach;
    }
    const NarrowBox query(grown, middle_);
    std::array<std::uint32_t, kStack> stack;
    std::size_t size = 0;
    stack[size++] = 0;
    while (size > 0) {
      const std::uint32_t what = stack[--size];
      if ((what & kPiece) != 0) {
        if (visit(pieces_[what & ~kPiece])) return true;
        continue;
      }
      const Block& block = blocks_[what];
      const Lanes x = block.gaps(query, 0), y = block.gaps(query, 1), z = block.gaps(query, 2);
      Lanes widest;
      for (std::size_t lane = 0; lane < kLanes; ++lane) widest[lane] = larger(larger(x[lane], y[lane]), z[lane]);
      // Written unconditionally, then counted: which boxes meet cannot be predicted.
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        stack[size] = block.first[lane];
        size += widest[lane] <= 0 ? 1 : 0;
      }
      assert(size + kLanes <= stack.size());
    }
    return false;
  }

  // Calls visit(piece) for those that may be at most `limit` from a shape, nearest boxes of a block first. It returns
  // the new limit; a negative one ends the walk.
  template <class Visit>
  void visit_near(const std::array<double, 6>& box, const Surrounding& core, double limit, const Visit& visit) const {
    cloud_.visit_near(core, limit, [&](std::uint32_t number) { return limit = visit(pieces_[number]); });
    if (limit < 0 || blocks_.empty()) return;
    const NarrowBox query(box, middle_);
    struct Entry {
      float squared;  // a lower bound of the distance
      std::uint32_t what;
    };
    std::array<Entry, kStack> stack;
    std::size_t size = 0;
    stack[size++] = {0, 0};
    while (size > 0) {
      const Entry entry = stack[--size];
      if (static_cast<double>(entry.squared) > limit * limit) continue;
      if ((entry.what & kPiece) != 0) {
        limit = visit(pieces_[entry.what & ~kPiece]);
        if (limit < 0) return;
        continue;
      }
      const Block& block = blocks_[entry.what];
      const Lanes x = block.gaps(query, 0), y = block.gaps(query, 1), z = block.gaps(query, 2);
      Lanes squared;
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        constexpr float kRounding = 1 - 1e-6F, kMost = std::numeric_limits<float>::max();
        const float sum = (square_above(x[lane]) + square_above(y[lane]) + square_above(z[lane])) * kRounding;
        squared[lane] = sum < kMost ? sum : kMost;
      }
      const std::size_t begin = size;
      for (std::size_t lane = 0; lane < block.count; ++lane) {
        if (static_cast<double>(squared[lane]) > limit * limit) continue;
        std::size_t at = size++;
        for (; at > begin && stack[at - 1].squared < squared[lane]; --at) stack[at] = stack[at - 1];
        stack[at] = {squared[lane], block.first[lane]};
      }
      assert(size + kLanes <= stack.size());
    }
  }

 private:
  // Eight boxes side by side, so that they are compared together; a lane is a block or, with kPiece, a piece.
  static constexpr std::size_t kLanes = 8;
  static constexpr std::uint32_t kPiece = 1U << 31;
  using Lanes = std::array<float, kLanes>;
  static float larger(float a, float b) { return a > b ? a : b; }
  static float square_above(float gap) { return gap > 0 ? gap * gap : 0; }
  struct alignas(64) Block {
    std::array<Lanes, 3> lower, upper;  // of lanes not in use: infinite, so that they meet nothing
    std::array<std::uint32_t, kLanes> first;
    std::uint32_t count;

    Block() : first{}, count(0) {
      for (std::size_t k = 0; k < 3; ++k) {
        lower[k].fill(std::numeric_limits<float>::infinity());
        upper[k].fill(-std::numeric_limits<float>::infinity());
      }
    }
    // How far the boxes are from another one along an axis; below 0 where they overlap.
    Lanes gaps(const NarrowBox& box, std::size_t k) const {
      Lanes found;
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        found[lane] = larger(lower[k][lane] - box.upper[k], box.lower[k] - upper[k][lane]);
      return found;
    }
  };
  static_assert(sizeof(Block) == 256);
  // Each level divides less than 2^31 pieces by eight, or nearly so. A step leaves seven lanes behind.
  static constexpr std::size_t kMostLevels = 16, kStack = (kLanes - 1) * kMostLevels + kLanes;

  struct Part {
    std::uint32_t first, count;
  };

  // One of each set of copies, ascending: all are equally far from anything.
  std::vector<std::uint32_t> distinct() const {
    const auto number_of = [](const Piece& piece) {
      auto number = static_cast<std::uint64_t>(piece.element.shape.kind);
      for (const double value : piece.element.shape.record)
        number = (std::rotl(number, 29) ^ std::bit_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15U;
      return number;
    };
    const auto are_copies = [](const Piece& a, const Piece& b) {
      const auto one = a.element.shape.record, two = b.element.shape.record;
      return a.element.shape.kind == b.element.shape.kind && a.geometry == b.geometry && one.size() == two.size() &&
             std::memcmp(one.data(), two.data(), one.size_bytes()) == 0;
    };
    std::vector<std::pair<std::uint64_t, std::uint32_t>> numbers;
    for (const Piece& piece : pieces_)
      numbers.emplace_back(number_of(piece), static_cast<std::uint32_t>(numbers.size()));
    std::sort(numbers.begin(), numbers.end());
    std::vector<std::uint32_t> rows;
    for (const auto& [number, row] : numbers)  // copies follow each other; others of the same number all stay
      if (rows.empty() || !are_copies(pieces_[rows.back()], pieces_[row])) rows.push_back(row);
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  void build() {
    // Floats tell boxes near the middle of most apart, wherever a few are.
    std::vector<double> middles(pieces_.size());
    for (std::size_t k = 0; k < 3; ++k) {
      std::transform(pieces_.begin(), pieces_.end(), middles.begin(),
                     [k](const Piece& piece) { return piece.middle(k); });
      const auto half = middles.begin() + static_cast<std::ptrdiff_t>(middles.size() / 2);
      std::nth_element(middles.begin(), half, middles.end());
      middle_[k] = *half;
    }
    std::vector<std::uint32_t> order = distinct();
    take_cloud(order);
    if (order.empty()) return;
    std::vector<Part> parts{{0, static_cast<std::uint32_t>(order.size())}};  // of each block
    // Children come after their parent, so one pass over the growing array divides all.
    for (std::size_t at = 0; at < parts.size(); ++at) {
      std::array<Part, kLanes> eighths{parts[at]};
      std::size_t count = 1;
      for (int round = 0; round < 3; ++round)
        for (std::size_t k = count; k-- > 0;) {
          const Part part = eighths[k];
          if (part.count < 2) continue;
          const std::uint32_t left = divide(std::span(order).subspan(part.first, part.count));
          eighths[k].count = left;
          eighths[count++] = {part.first + left, part.count - left};
        }
      Block block;
      block.count = static_cast<std::uint32_t>(count);
      for (std::size_t lane = 0; lane < count; ++lane) {
        const Part part = eighths[lane];
        write(std::span(order).subspan(part.first, part.count), block, lane);
        block.first[lane] = part.count == 1 ? order[part.first] | kPiece : static_cast<std::uint32_t>(parts.size());
        if (part.count > 1) parts.push_back(part);
      }
      blocks_.push_back(block);
    }
  }

  // Takes points and balls out of the rows, and makes a cloud of them, unless they are few.
  void take_cloud(std::vector<std::uint32_t>& rows) {
    constexpr std::size_t kFew = 8;
    const auto is_point = [&](std::uint32_t row) {
      const ShapeView<3>& shape = pieces_[row].element.shape;
      if (shape.kind != ShapeKind::kPoint && shape.kind != ShapeKind::kBall) return false;
      bool is_near = shape.kind == ShapeKind::kPoint || shape.record[3] <= PointCloud::kFarthest;
      for (std::size_t k = 0; k < 3; ++k) is_near &= std::abs(shape.record[k] - middle_[k]) <= PointCloud::kFarthest;
      return is_near;
    };
    if (static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), is_point)) <= kFew) return;
    std::vector<PointCloud::Ball> balls;
    std::erase_if(rows, [&](std::uint32_t row) {
      if (!is_point(row)) return false;
      const std::span<const double> record = pieces_[row].element.shape.record;
      balls.push_back({{record[0], record[1], record[2]}, record.size() > 3 ? record[3] : 0.0, row});
      return true;
    });
    cloud_ = PointCloud(middle_, balls);
  }

  // Puts half of the pieces before the others, along the axis along which their middles are spread most.
  std::uint32_t divide(std::span<std::uint32_t> pieces) const {
    const auto middle = [&](std::uint32_t place, std::size_t k) { return pieces_[place].middle(k); };
    std::size_t longest = 0;
    double most = -1;
    for (std::size_t k = 0; k < 3; ++k) {
      double low = std::numeric_limits<double>::infinity(), high = -low;
      for (const std::uint32_t place : pieces) {
        low = std::min(low, middle(place, k));
        high = std::max(high, middle(place, k));
      }
      if (high - low > most) {
        most = high - low;
        longest = k;
      }
    }
    const std::size_t half = pieces.size() / 2;
    std::nth_element(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(half), pieces.end(),
                     [&](std::uint32_t a, std::uint32_t b) {
                       const double x = middle(a, longest), y = middle(b, longest);
                       return x != y ? x < y : a < b;
                     });
    return static_cast<std::uint32_t>(half);
  }

  void write(std::span<const std::uint32_t> pieces, Block& block, std::size_t lane) const {
    std::array<double, 6> box = pieces_[pieces[0]].box;
    for (const std::uint32_t place : pieces)
      for (std::size_t k = 0; k < 3; ++k) {
        box[k] = std::min(box[k], pieces_[place].box[k]);
        box[3 + k] = std::max(box[3 + k], pieces_[place].box[3 + k]);
      }
    const NarrowBox narrow(box, middle_);
    for (std::size_t k = 0; k < 3; ++k) {
      block.lower[k][lane] = narrow.lower[k];
      block.upper[k][lane] = narrow.upper[k];
    }
  }

  std::vector<double> numbers_;
  std::vector<Piece> pieces_;
  std::vector<Surrounding> surroundings_;
  std::vector<Block> blocks_;  // of all but those in the cloud
  PointCloud cloud_;
  Vec<3> middle_{};
};

}  // namespace broadphase
