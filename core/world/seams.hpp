// Pairs across the seams of a periodic world, where everything exists again at every multiple of the world's size along
// every axis: which images of boxes are needed to find them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "world/boundary.hpp"
#include "world/rows_where.hpp"

namespace broadphase {

// In worlds: the position of a row that is farther away does not resolve the size of a world.
inline constexpr double kFarthestWorld = 0x1p52;

// Lower and upper corners of the world, finite.
template <std::size_t D>
struct Period {
  const double *from, *to;
  double size(std::size_t axis) const { return to[axis] - from[axis]; }
};

// Two rows, first < second, and how many worlds the second is to be moved along each axis to where the first meets it.
template <std::size_t D>
struct SeamPair {
  std::int32_t first, second;
  std::array<double, D> worlds;

  auto key() const { return std::tie(first, second, worlds); }
};

// The boxes of which pairs are to be found: every box that reaches out of the world, moved by whole worlds until its
// lower corner is in it, and again by one less along an axis for each boundary that it reaches across; and the boxes
// within the world that are near such images in another world. Two boxes overlap somewhere if and only if two of these
// do. A box wholly within the world is its own only image.
template <std::size_t D>
class SeamImages {
 public:
  // `boxes` have D lower and D upper numbers a row; `counts` is 0 for rows that are not looked at. A box may have very
  // many images if it may have any width.
  SeamImages(const double* boxes, const std::uint8_t* counts, std::size_t rows, const Period<D>& period, bool any_width,
             unsigned workers)
      : period_(period) {
    // Those that touch the upper boundary are in the next world, too.
    const std::vector<std::int32_t> out = rows_where(rows, workers, [&](std::size_t row) {
      const double* box = boxes + row * 2 * D;
      bool is_out = false;
      for (std::size_t k = 0; k < D; ++k) is_out |= (box[k] < period.from[k]) | (box[D + k] >= period.to[k]);
      return is_out && counts[row] != 0;
    });
    std::array<double, D> lowest, highest;
    lowest.fill(std::numeric_limits<double>::infinity());
    highest.fill(-std::numeric_limits<double>::infinity());
    const auto box_of = [&](std::int32_t row) { return boxes + static_cast<std::size_t>(row) * 2 * D; };
    for (const std::int32_t row : out)
      if (!any_width && wide_row_ < 0 && is_wide(box_of(row))) wide_row_ = row;
    if (out.empty() || wide_row_ >= 0) return;
    reserve(2 * out.size());
    for (const std::int32_t row : out) add_images(row, box_of(row), lowest, highest);
    std::size_t next = 0;
    const std::vector<std::int32_t> near = rows_where(rows, workers, [&](std::size_t row) {
      const double* box = boxes + row * 2 * D;
      bool is_near = false;
      for (std::size_t k = 0; k < D; ++k) {
        is_near |= box[k] <= highest[k];
        is_near |= box[D + k] >= lowest[k];
      }
      return is_near && counts[row] != 0;
    });
    reserve(count() + near.size());
    for (const std::int32_t row : near) {
      while (next < out.size() && out[next] < row) ++next;
      if (next < out.size() && out[next] == row) continue;
      add(row, {}, box_of(row));
    }
  }

  // The first row that reaches out of the world and is wider than it, if it must not be: then there are no images.
  std::int32_t wide_row() const { return wide_row_; }
  std::size_t count() const { return owners_.size(); }
  const double* corners() const { return corners_.data(); }  // D lower and D upper numbers each
  // 1 for those that are not moved: pairs of two of these are found where they are.
  const std::uint8_t* is_here() const { return is_here_.data(); }

  // What pairs of these are pairs of. False: of a box and itself, or of two boxes that are in the same world.
  bool take(std::size_t a, std::size_t b, SeamPair<D>& pair) const {
    bool is_moved = false;
    pair.first = owners_[a];
    pair.second = owners_[b];
    const double sign = pair.first > pair.second ? -1.0 : 1.0;
    for (std::size_t k = 0; k < D; ++k) {
      const double between = worlds_[b][k] - worlds_[a][k];
      is_moved |= between != 0;
      pair.worlds[k] = between == 0 ? 0.0 : sign * between;
    }
    if (pair.first > pair.second) std::swap(pair.first, pair.second);
    return is_moved && pair.first != pair.second;
  }

 private:
  bool is_wide(const double* box) const {
    bool is = false;
    for (std::size_t k = 0; k < D; ++k) is |= box[D + k] - box[k] > period_.size(k);
    return is;
  }

  // floor(x), which takes a call of the library on some processors: nearly all are at most one world away.
  static double floor_of(double x) { return x >= 0 && x < 1 ? 0.0 : x >= -1 && x < 0 ? -1.0 : std::floor(x); }

  void reserve(std::size_t images) {
    owners_.reserve(images);
    worlds_.reserve(images);
    corners_.reserve(2 * D * images);
    is_here_.reserve(images);
  }

  void add(std::int32_t row, const std::array<double, D>& worlds, const double* box) {
    bool is_here = true;
    for (const double moved : worlds) is_here &= moved == 0;
    owners_.push_back(row);
    worlds_.push_back(worlds);
    corners_.insert(corners_.end(), box, box + 2 * D);
    is_here_.push_back(is_here ? 1 : 0);
  }

  // Adds the images of a box, rounded outwards, and widens the range of those that are in other worlds: the lowest
  // lower number of those moved up, the highest upper number of those moved down.
  void add_images(std::int32_t row, const double* box, std::array<double, D>& lowest, std::array<double, D>& highest) {
    std::array<double, D> first, more;
    for (std::size_t k = 0; k < D; ++k) {
      const double size = period_.size(k);
      first[k] = std::clamp(-floor_of((box[k] - period_.from[k]) / size), -kFarthestWorld, kFarthestWorld);
      // One more does no harm, where rounding lets it.
      more[k] = std::clamp(floor_of((box[D + k] + first[k] * size - period_.from[k]) / size), 0.0,
                           1.0 + floor_of((box[D + k] - box[k]) / size));
    }
    std::array<double, D> down{};  // how many worlds below the first one
    for (;;) {
      std::array<double, D> worlds;
      std::array<double, 2 * D> image;
      bool is_here = true;
      for (std::size_t k = 0; k < D; ++k) {
        worlds[k] = first[k] - down[k];
        is_here &= worlds[k] == 0;
        const double way = worlds[k] * period_.size(k);
        image[k] = difference_down(box[k], -way);
        image[D + k] = difference_up(box[D + k], -way);
      }
      for (std::size_t k = 0; k < D; ++k) {
        if (worlds[k] > 0) lowest[k] = std::min(lowest[k], image[k]);
        if (worlds[k] < 0) highest[k] = std::max(highest[k], image[D + k]);
      }
      add(row, worlds, is_here ? box : image.data());
      std::size_t axis = 0;
      while (axis < D && down[axis] == more[axis]) down[axis++] = 0;
      if (axis == D) return;
      down[axis] += 1;
    }
  }

  Period<D> period_;
  std::vector<std::int32_t> owners_;
  std::vector<std::array<double, D>> worlds_;
  std::vector<double> corners_;
  std::vector<std::uint8_t> is_here_;
  std::int32_t wide_row_ = -1;
};

}  // namespace broadphase
