// Lower bounds of the distances from points, by cells of a grid: most shapes of a robot are seen to be free of a point
// cloud by a few of them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace broadphase {

class DistanceField {
 public:
  using Place = std::array<float, 3>;

  DistanceField() = default;  // of no points; no bounds
  // Precondition: no coordinate is beyond 1e15.
  explicit DistanceField(std::span<const Place> points) {
    if (points.empty()) return;
    lower_ = upper_ = points[0];
    for (const Place& point : points)
      for (std::size_t k = 0; k < 3; ++k) {
        lower_[k] = std::min(lower_[k], point[k]);
        upper_[k] = std::max(upper_[k], point[k]);
      }
    if (!choose_cells(points)) return;
    std::vector<std::int16_t> squares(count_[0] * count_[1] * count_[2], kFarSquare);
    std::size_t occupied = 0;
    for (const Place& point : points) {
      bool is_outside = false;
      std::int16_t& square = squares[cell_of(point, is_outside)];
      occupied += square != 0 ? 1 : 0;
      square = 0;
    }
    if (occupied * kCrowd < points.size()) return;  // few cells hold all, which are too large to tell anything
    // A cell is as far from the neighbours of a cell as the nearest corners of both.
    static constexpr std::array<std::int16_t, 2> kNeighbours{};
    static constexpr std::array<std::int16_t, kReach + 1> kSquares = [] {
      std::array<std::int16_t, kReach + 1> squares{};
      for (std::size_t k = 0; k <= kReach; ++k) squares[k] = static_cast<std::int16_t>(k * k);
      return squares;
    }();
    std::vector<std::int16_t> other(squares.size());
    for (std::size_t k = 0; k < 3; ++k) spread(squares, other, k, kNeighbours);
    for (std::size_t k = 0; k < 3; ++k) spread(squares, other, k, kSquares);
    steps_.reserve(squares.size());
    for (const std::int16_t square : squares)
      steps_.push_back(static_cast<std::uint8_t>(std::sqrt(static_cast<float>(square)) * kStepsACell));
  }

  bool empty() const { return steps_.empty(); }
  std::size_t memory_bytes() const { return steps_.capacity(); }

  // Whether a rod is farther than a distance from all points, as far as cells tell.
  // Precondition: finite numbers; a unit axis.
  bool is_beyond(const Place& centre, const Place& axis, float half, float distance) const {
    const float first = bound_at(centre) - distance;
    if (!(first > least_)) return false;
    // The bound of a place is as good for those around it, less by how far they are from it.
    std::size_t looks = 0;
    for (const float sign : {1.0F, -1.0F})
      for (float along = first; along < half;) {
        if (++looks > kMostLooks) return false;
        Place at;
        for (std::size_t k = 0; k < 3; ++k) at[k] = centre[k] + sign * along * axis[k];
        const float spare = bound_at(at) - distance;
        if (!(spare > least_)) return false;
        along += spare;
      }
    return true;
  }

 private:
  // Distances of more cells are not told apart, and steps of them are what a byte holds.
  static constexpr std::size_t kReach = 15, kStepsACell = 16;
  static constexpr std::int16_t kFarSquare = kReach * kReach;
  static constexpr std::size_t kMostLooks = 16, kCrowd = 64;
  // A grid of twice as many is no faster.
  static constexpr std::size_t kCellsAPoint = 16, kMostCells = std::size_t{1} << 17, kLongest = 256;
  static constexpr float kLess = 1 - 0x1p-10F;  // for what rounding may do

  // No point is nearer to a place than where both are nearest the grid, so points far from most are as if they were
  // there. Beyond all points, the way to their box comes on top.
  float bound_at(const Place& at) const {
    bool is_outside = false;
    const std::size_t cell = cell_of(at, is_outside);
    const float bound = static_cast<float>(steps_[cell]) * step_;
    if (!is_outside) return bound;
    float squared = bound * bound;
    for (std::size_t k = 0; k < 3; ++k) {
      const float gap = std::max(std::max(lower_[k] - at[k], at[k] - upper_[k]), 0.0F);
      squared += gap * gap;
    }
    return std::sqrt(squared) * kLess;
  }
  // Of those outside the grid, the nearest one.
  std::size_t cell_of(const Place& at, bool& is_outside) const {
    std::array<std::size_t, 3> cell;
    for (std::size_t k = 0; k < 3; ++k) {
      const float cells = (at[k] - origin_[k]) * inverse_;
      is_outside |= !(cells >= 0) | !(cells <= last_[k]);
      cell[k] = static_cast<std::size_t>(static_cast<std::int32_t>(std::min(std::max(cells, 0.0F), last_[k])));
    }
    return (cell[2] * count_[1] + cell[1]) * count_[0] + cell[0];
  }

  // Cubes around all points but those far from most. Returns whether there are any.
  bool choose_cells(std::span<const Place> points) {
    constexpr std::size_t kSamples = 1024, kShare = 64;
    std::array<float, 3> extent;
    float longest = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      std::vector<float> samples;
      const std::size_t step = points.size() / kSamples + 1;
      for (std::size_t at = 0; at < points.size(); at += step) samples.push_back(points[at][k]);
      std::sort(samples.begin(), samples.end());
      const std::size_t aside = samples.size() / kShare;
      const float low = samples[aside], high = samples[samples.size() - 1 - aside], more = (high - low) / 2;
      origin_[k] = std::max(lower_[k], low - more);
      extent[k] = std::min(upper_[k], high + more) - origin_[k];
      longest = std::max(longest, extent[k]);
    }
    if (!(longest > 1e-15F)) return false;
    const std::size_t most = std::min(points.size() * kCellsAPoint, kMostCells);
    float size = longest / kLongest;
    const auto count_cells = [&] {
      for (std::size_t k = 0; k < 3; ++k) count_[k] = static_cast<std::size_t>(extent[k] / size) + 1;
      return count_[0] * count_[1] * count_[2];
    };
    while (count_cells() > most) size *= 1.05F;
    for (std::size_t k = 0; k < 3; ++k) last_[k] = static_cast<float>(count_[k] - 1);
    inverse_ = 1 / size;
    step_ = size / kStepsACell * kLess;
    least_ = size / 8;
    return true;
  }

  // Of each cell, the least of all along an axis, with what their distance adds.
  void spread(std::vector<std::int16_t>& squares, std::vector<std::int16_t>& other, std::size_t axis,
              std::span<const std::int16_t> added) const {
    std::size_t stride = 1;
    for (std::size_t k = 0; k < axis; ++k) stride *= count_[k];
    const std::size_t line = stride * count_[axis];
    other = squares;
    for (std::size_t begin = 0; begin < squares.size(); begin += line)
      for (std::size_t by = 1; by < added.size() && by < count_[axis]; ++by) {
        const std::size_t length = line - by * stride;
        lower(other.data() + begin, squares.data() + begin + by * stride, length, added[by]);
        lower(other.data() + begin + by * stride, squares.data() + begin, length, added[by]);
      }
    std::swap(squares, other);
  }
  static void lower(std::int16_t* to, const std::int16_t* from, std::size_t count, std::int16_t added) {
    for (std::size_t k = 0; k < count; ++k) {
      const auto sum = static_cast<std::int16_t>(from[k] + added);
      to[k] = sum < to[k] ? sum : to[k];
    }
  }

  Place lower_{}, upper_{};  // of all points
  Place origin_{}, last_{};  // of the grid, and its last cells
  std::array<std::size_t, 3> count_{};
  float inverse_ = 0, step_ = 0, least_ = 0;
  std::vector<std::uint8_t> steps_;  // lower bounds of distances
};

}  // namespace broadphase
