// Pairs across periodic boundaries of a world: which images of boxes are needed to find them, and the search.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/samples.hpp"
#include "batches/rows_by_key.hpp"
#include "boxes/box_view.hpp"
#include "choose/find.hpp"
#include "query/collect.hpp"
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
struct PeriodicPair {
  std::int32_t first, second;
  std::array<double, D> worlds;
};

// Boxes of rows, moved by whole worlds and rounded outwards.
template <std::size_t D>
struct MovedBoxes {
  using Worlds = std::array<double, D>;

  std::vector<std::int32_t> rows;
  std::vector<Worlds> worlds;
  std::vector<std::array<double, 2 * D>> corners;  // D lower and D upper numbers

  std::size_t count() const { return rows.size(); }

  void add(std::int32_t row, const Worlds& by, const double* box, const Period<D>& period) {
    rows.push_back(row);
    worlds.push_back(by);
    std::array<double, 2 * D>& moved = corners.emplace_back();
    for (std::size_t k = 0; k < D; ++k) {
      const double route = by[k] * period.size(k);
      moved[k] = by[k] == 0 ? box[k] : difference_down(box[k], -route);
      moved[D + k] = by[k] == 0 ? box[D + k] : difference_up(box[D + k], -route);
    }
  }
  void append(MovedBoxes&& more) {
    if (rows.empty()) {
      *this = std::move(more);
      return;
    }
    rows.insert(rows.end(), more.rows.begin(), more.rows.end());
    worlds.insert(worlds.end(), more.worlds.begin(), more.worlds.end());
    corners.insert(corners.end(), more.corners.begin(), more.corners.end());
  }
};

// Two sets of boxes: pairs of one of the first and one of the second are looked at. So many boxes are the first ones of
// both.
template <std::size_t D>
struct PeriodicScene {
  MovedBoxes<D> first, second;
  std::size_t common = 0;

  // What pairs of these are pairs of. False: of a row and itself, of two boxes that overlap where they are given, or
  // one that was found the other way round.
  bool take(std::size_t a, std::size_t b, PeriodicPair<D>& pair) const {
    pair.first = first.rows[a];
    pair.second = second.rows[b];
    if (pair.first == pair.second || (b < common && b < a)) return false;
    const double sign = pair.first > pair.second ? -1.0 : 1.0;
    bool is_moved = false;
    for (std::size_t k = 0; k < D; ++k) {
      const double between = second.worlds[b][k] - first.worlds[a][k];
      is_moved |= between != 0;
      pair.worlds[k] = between == 0 ? 0.0 : sign * between;
    }
    if (pair.first > pair.second) std::swap(pair.first, pair.second);
    return is_moved;
  }
};

// The boxes of which pairs are to be found.
//
// The place of a box is where its middle is in the world; nearly all are given there. Two boxes that overlap somewhere,
// but not at their places, do so where one of them is moved down by whole worlds along an axis, and perhaps up or down
// along later ones, and the other is at its place. So only boxes near the upper sides are moved, and only those near
// the lower sides can meet them; "near" is how far boxes may reach out of the world. What overlaps at its place, and
// was not given there, is searched for apart.
template <std::size_t D>
class PeriodicImages {
 public:
  // `boxes` have D lower and D upper numbers a row; `counts` is 0 for rows that are not looked at. A box may have very
  // many images if it may have any width.
  PeriodicImages(const double* boxes, const std::uint8_t* counts, std::size_t rows, const Period<D>& period,
                 bool any_width, unsigned workers)
      : boxes_(boxes), counts_(counts), rows_(rows), period_(period), workers_(workers) {
    set_reach(usual_reach());
    std::vector<Near> near = near_sides();
    Worlds most{};
    for (const Near& part : near) {
      if (wide_row_ < 0 && !any_width) wide_row_ = part.wide_row;
      for (std::size_t k = 0; k < D; ++k)
        most[k] = std::max({most[k], period_.from[k] - part.lowest[k], part.highest[k] - period_.to[k]});
    }
    if (wide_row_ >= 0) return;
    bool is_within = true;
    for (std::size_t k = 0; k < D; ++k) {
      is_within &= most[k] <= reach_[k];
      most[k] = std::max(most[k], reach_[k]);
    }
    if (!is_within) {
      set_reach(most);
      near = near_sides();
    }
    std::vector<std::int32_t> strays;
    for (Near& part : near) {
      across_.first.append(std::move(part.images));
      across_.second.append(std::move(part.met));
      strays.insert(strays.end(), part.strays.begin(), part.strays.end());
    }
    if (!strays.empty()) add_strays(strays);
  }

  // The first row that reaches out of the world and is wider than it, if it must not be: then there are no images.
  std::int32_t wide_row() const { return wide_row_; }
  // Images of boxes below their places, and what these can meet.
  const PeriodicScene<D>& across() const { return across_; }
  // Boxes at their places that were given elsewhere, and what these can meet there.
  const PeriodicScene<D>& from_afar() const { return from_afar_; }

 private:
  using Worlds = typename MovedBoxes<D>::Worlds;

  // What some of the rows add. Limits are of boxes at their places, if they are beyond those of the world.
  struct Near {
    MovedBoxes<D> images, met;
    std::vector<std::int32_t> strays;  // given elsewhere than at their places
    Worlds lowest, highest;
    std::int32_t wide_row = -1;
    Near() {
      lowest.fill(std::numeric_limits<double>::infinity());
      highest.fill(-std::numeric_limits<double>::infinity());
    }
  };

  const double* box_of(std::int32_t row) const { return boxes_ + static_cast<std::size_t>(row) * 2 * D; }

  // More than most boxes reach out of the world, by a sample.
  Worlds usual_reach() const {
    const StratifiedSample sample(rows_, 256);
    Worlds reach{};
    for (std::size_t at = 0; at < sample.size(); ++at) {
      const std::size_t row = sample[at];
      if (counts_[row] == 0) continue;
      const double* box = boxes_ + row * 2 * D;
      for (std::size_t k = 0; k < D; ++k)
        reach[k] = std::max(reach[k], std::min(box[D + k] - box[k], period_.size(k)) * 0.5625);
    }
    return reach;
  }

  void set_reach(const Worlds& reach) {
    reach_ = reach;
    for (std::size_t k = 0; k < D; ++k) {
      const double more = reach[k] + slack(k, reach[k]);
      low_[k] = period_.from[k] + more;
      high_[k] = period_.to[k] - more;
    }
  }

  // More than rounding takes from a sum of a coordinate in or near the world and its size.
  double slack(std::size_t k, double reach) const {
    return 0x1p-48 * (std::abs(period_.from[k]) + std::abs(period_.to[k]) + period_.size(k) + reach);
  }

  // The boxes that are no farther from a side than others may reach, or beyond it, and their images. Boxes are read
  // again while they are in the cache.
  std::vector<Near> near_sides() const {
    const Worlds low = low_, high = high_;
    return for_rows_where<Near>(
        rows_, workers_,
        [&](std::size_t row) {
          const double* box = boxes_ + row * 2 * D;
          double between = std::numeric_limits<double>::infinity();
          for (std::size_t k = 0; k < D; ++k)
            between = std::min(std::min(between, box[k] - low[k]), high[k] - box[D + k]);
          return (static_cast<unsigned>(!(between > 0)) & static_cast<unsigned>(counts_[row] != 0)) != 0;
        },
        [&](Near& part, const std::int32_t* rows, std::size_t count) {
          for (std::size_t k = 0; k < count; ++k) add(rows[k], part);
        });
  }

  // By how many worlds a box is to be moved to its place. False: where that is, its numbers do not say.
  bool place(const double* box, Worlds& worlds) const {
    bool is_known = true;
    for (std::size_t k = 0; k < D; ++k) {
      worlds[k] = 0;
      const double from = period_.from[k], to = period_.to[k], middle = box[k] / 2 + box[D + k] / 2;
      if (middle >= from && middle < to) continue;
      worlds[k] = std::clamp(-std::floor((middle - from) / (to - from)), -kFarthestWorld, kFarthestWorld);
      const double there = middle + worlds[k] * (to - from);
      is_known &= there >= from - (to - from) / 2 && there <= to + (to - from) / 2;
    }
    return is_known;
  }

  // Adds what there is of a box.
  void add(std::int32_t row, Near& part) const {
    const double* box = box_of(row);
    Worlds home, down, up;  // the latter: the farthest images by which it can meet others
    const bool is_known = place(box, home);
    bool is_out = false, is_wide = false, is_stray = false, meets_others = false;
    for (std::size_t k = 0; k < D; ++k) {
      is_out |= (box[k] < period_.from[k]) | (box[D + k] >= period_.to[k]);
      is_wide |= box[D + k] - box[k] > period_.size(k);
      is_stray |= home[k] != 0;
    }
    if (is_out && is_wide && part.wide_row < 0) part.wide_row = row;
    if (!is_known) return;
    if (is_stray) part.strays.push_back(row);
    bool is_usual = true;
    for (std::size_t k = 0; k < D; ++k) {
      const double size = period_.size(k), route = home[k] * size, lower = box[k] + route, upper = box[D + k] + route,
                   room = slack(k, reach_[k] + std::abs(route));
      part.lowest[k] = std::min(part.lowest[k], lower);
      part.highest[k] = std::max(part.highest[k], upper);
      is_usual &= period_.from[k] - lower <= reach_[k] && upper - period_.to[k] <= reach_[k];
      down[k] = std::floor((upper - (period_.from[k] - reach_[k]) + room) / size);
      up[k] = std::floor((period_.to[k] + reach_[k] - lower + room) / size);
      meets_others |= up[k] > 0;
    }
    if (!is_usual) return;  // the reach is too short, and all is to be done again
    if (meets_others) part.met.add(row, home, box, period_);
    for (std::size_t axis = 0; axis < D; ++axis)
      for (double by = 1; by <= down[axis]; ++by) {
        Worlds first{};
        first[axis] = -by;
        for (std::size_t k = axis + 1; k < D; ++k) first[k] = -down[k];
        for (Worlds moved = first;;) {
          Worlds worlds;
          for (std::size_t k = 0; k < D; ++k) worlds[k] = home[k] + moved[k];
          part.images.add(row, worlds, box, period_);
          std::size_t k = axis + 1;
          while (k < D && moved[k] == up[k]) moved[k] = first[k], ++k;
          if (k == D) break;
          moved[k] += 1;
        }
      }
  }

  // Adds boxes that are given in other worlds, at their places, and all others that may meet one of them there.
  void add_strays(const std::vector<std::int32_t>& rows) {
    MovedBoxes<D>&strays = from_afar_.first, &met = from_afar_.second;
    std::array<double, 2 * D> around;
    std::fill_n(around.begin(), D, std::numeric_limits<double>::infinity());
    std::fill_n(around.begin() + D, D, -std::numeric_limits<double>::infinity());
    for (const std::int32_t row : rows) {
      Worlds home;
      place(box_of(row), home);
      strays.add(row, home, box_of(row), period_);
      const std::array<double, 2 * D>& last = strays.corners.back();
      for (std::size_t k = 0; k < D; ++k) {
        around[k] = std::min(around[k], last[k]);
        around[D + k] = std::max(around[D + k], last[D + k]);
      }
    }
    met = strays;
    from_afar_.common = strays.count();
    std::size_t next = 0;
    for (const std::int32_t row : rows_where(rows_, workers_, [&](std::size_t some) {
           const double* box = boxes_ + some * 2 * D;
           unsigned is_apart = 0;
           for (std::size_t k = 0; k < D; ++k)
             is_apart |= static_cast<unsigned>(box[k] > around[D + k]) | static_cast<unsigned>(box[D + k] < around[k]);
           return is_apart == 0 && counts_[some] != 0;
         })) {
      while (next < rows.size() && rows[next] < row) ++next;
      if (next == rows.size() || rows[next] != row) met.add(row, Worlds{}, box_of(row), period_);
    }
  }

  const double* boxes_;
  const std::uint8_t* counts_;
  std::size_t rows_;
  Period<D> period_;
  unsigned workers_;
  Worlds reach_, low_, high_;  // by so much boxes may reach out of the world; what lies between is not near a side
  std::int32_t wide_row_ = -1;
  PeriodicScene<D> across_, from_afar_;
};

// Boxes by row, and which pairs of them are wanted; what may be null: all.
struct PeriodicSearch {
  const double *boxes, *bounds;
  const std::uint8_t* counts;  // 0 for rows that are not looked at
  std::size_t rows;
  const std::uint8_t* changed;  // 0 for rows of which no two make a pair
  const Filter* filter;
  const std::int64_t* keys;
  bool any_width;
  unsigned workers;
};

struct PeriodicPairs {
  std::int32_t wide_row = -1;  // the first row that reaches out and is wider than the world, if it must not be
  std::vector<std::int32_t> first, second;
  std::vector<double> offsets;  // of D numbers: what brings the second to the image that the first overlaps
};

template <std::size_t D>
PeriodicPairs find_periodic_pairs(const PeriodicSearch& search, const Kernels& kernels, Interrupt& interrupt) {
  const Period<D> period{search.bounds, search.bounds + D};
  const PeriodicImages<D> images(search.boxes, search.counts, search.rows, period, search.any_width, search.workers);
  PeriodicPairs found;
  found.wide_row = images.wide_row();
  for (const PeriodicScene<D>* scene : {&images.across(), &images.from_afar()}) {
    Problem<double> problem;
    const auto boxes_of = [](const MovedBoxes<D>& moved) {
      return view_of_rows(moved.corners.empty() ? nullptr : moved.corners.front().data(), D, moved.count());
    };
    problem.first = boxes_of(scene->first);
    problem.second = boxes_of(scene->second);
    problem.dimension = D;
    problem.cross = true;
    Batches batches;
    if (search.keys != nullptr) {
      const auto keys_of = [&](const MovedBoxes<D>& moved) {
        std::vector<std::int64_t> keys;
        for (const std::int32_t row : moved.rows) keys.push_back(search.keys[row]);
        return keys;
      };
      const std::vector<std::int64_t> own = keys_of(scene->first), others = keys_of(scene->second);
      const RowKeys second{others.size(), others.data(), 1};
      batches = batches_of({own.size(), own.data(), 1}, &second, interrupt);
      if (!batches.is_whole) problem.batches = &batches;
    }
    const Pairs close = find_pairs(MethodName::automatic, problem, kNoLimit, {kernels, search.workers, interrupt});
    for (std::size_t k = 0; k < close.size; ++k) {
      PeriodicPair<D> pair;
      if (!scene->take(static_cast<std::size_t>(close.block[k]),
                       static_cast<std::size_t>(close.block[close.stride + k]), pair))
        continue;
      const auto first = static_cast<std::size_t>(pair.first), second = static_cast<std::size_t>(pair.second);
      if (search.changed != nullptr && (search.changed[first] | search.changed[second]) == 0) continue;
      if (search.filter != nullptr && !search.filter->allows(first, second)) continue;
      found.first.push_back(pair.first);
      found.second.push_back(pair.second);
      for (std::size_t axis = 0; axis < D; ++axis) found.offsets.push_back(pair.worlds[axis] * period.size(axis));
    }
  }
  return found;
}

}  // namespace broadphase
