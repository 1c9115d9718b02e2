// What followed bodies meet on their routes: the straight parts of routes, and which of them come near each other, from
// when to when.
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

#include "base/parallel.hpp"
#include "batches/rows_by_key.hpp"
#include "query/collect.hpp"
#include "query/filter.hpp"
#include "query/problem.hpp"
#include "world/periodic_pairs.hpp"

namespace broadphase {

// A straight part of a route. Times are shares of the step.
template <std::size_t D>
struct RoutePart {
  std::int32_t row;
  double since, until;
  std::array<double, D> begin, motion;
};

// Of one route: a body that crosses the world more often in one step has a wrong velocity, or the step is wrong.
inline constexpr int kMostBends = 10000;

// The world of a body: boundaries are at every origin + i * period.
template <std::size_t D>
struct Room {
  std::array<double, D> origin, period;

  double cell(std::size_t axis, double place) const { return std::floor((place - origin[axis]) / period[axis]); }
};

// How many boundaries a straight route crosses; infinity where there are more than can be counted.
template <std::size_t D>
double bends_of(const double* begin, const std::array<double, D>& motion, const Room<D>& room) {
  double count = 0;
  for (std::size_t k = 0; k < D; ++k) count += std::abs(room.cell(k, begin[k] + motion[k]) - room.cell(k, begin[k]));
  return std::isnan(count) ? std::numeric_limits<double>::infinity() : count;
}

// Folds a straight route into its room, and adds its parts in the order of time. `reflects`: at the boundary; otherwise
// it comes in again at the other side. `times` is scratch. Precondition: it crosses no more than `kMostBends`
// boundaries.
template <std::size_t D>
void add_bent_route(std::int32_t row, const double* begin, const std::array<double, D>& motion, const Room<D>& room,
                    bool reflects, std::vector<double>& times, std::vector<RoutePart<D>>& parts) {
  times.assign(1, 0.0);
  for (std::size_t k = 0; k < D; ++k) {
    const double first = room.cell(k, begin[k]), last = room.cell(k, begin[k] + motion[k]),
                 count = std::abs(last - first);
    for (double step = 0; step < count; ++step) {
      const double side = motion[k] > 0 ? first + 1 + step : first - step,
                   place = room.origin[k] + side * room.period[k], time = (place - begin[k]) / motion[k];
      times.push_back(time < 0 ? 0.0 : std::min(time, 1.0));
    }
  }
  if (!std::is_sorted(times.begin(), times.end())) std::stable_sort(times.begin(), times.end());
  for (std::size_t i = 0; i < times.size(); ++i) {
    RoutePart<D> part{row, times[i], i + 1 < times.size() ? times[i + 1] : 1.0, {}, {}};
    const double middle = 0.5 * (part.since + part.until), duration = part.until - part.since;
    for (std::size_t k = 0; k < D; ++k) {
      const double cell = room.cell(k, begin[k] + motion[k] * middle);
      const double start = begin[k] + motion[k] * part.since - cell * room.period[k], route = motion[k] * duration;
      const bool is_back = reflects && std::abs(std::fmod(cell, 2.0)) == 1;
      part.begin[k] = is_back ? 2 * room.origin[k] + room.period[k] - start : start;
      part.motion[k] = is_back ? -route : route;
    }
    parts.push_back(part);
  }
}

// Whether the parts of a reflected route, from `first` on, end where the body is. Others were set back to the boundary.
template <std::size_t D>
bool arrives(const std::vector<RoutePart<D>>& parts, std::size_t first, const double* now, const Room<D>& room) {
  // NaN if any is.
  const auto larger = [](double most, double x) { return x > most || std::isnan(x) ? x : most; };
  double reach = 0, off = 0, period = 0;
  for (std::size_t i = first; i < parts.size(); ++i) {
    double longest = 0;
    for (const double route : parts[i].motion) longest = larger(longest, std::abs(route));
    reach += longest;
  }
  for (std::size_t k = 0; k < D; ++k) {
    off = larger(off, std::abs(parts.back().begin[k] + parts.back().motion[k] - now[k]));
    period = larger(period, room.period[k]);
  }
  return !(off > 1e-9 * (period + reach));
}

// A row that is there: its box and its place after the step, and how far it has moved. The motion is not read for rows
// that have parts of a route: they are only there with these.
template <std::size_t D>
struct RouteRow {
  std::array<double, 2 * D> box;
  std::array<double, D> place, motion;
  std::int64_t key;     // rows of different keys never meet
  std::int32_t number;  // in the world
  bool counts, is_followed, is_sought;
};

// What rounding may take from a sum of a few numbers, relative to the largest of them.
inline constexpr double kSumSlack = 0x1p-48;

// Two rows that come near each other: from where to where the first moves relative to the second while their boxes
// overlap, and when that is.
template <std::size_t D>
struct Approach {
  std::int32_t first, second;  // rows, first < second
  std::array<double, D> motion, offset;
  double since, duration;  // when their parts are both there
  double begin, length;    // as shares of that
};

template <std::size_t D>
struct Meeting {
  std::int32_t first, second;
  double time;
  std::array<double, D> normal;
};

// From when to when two boxes overlap, as shares of the motion of the first, with the second moved by an offset, and
// never too short. Where the begin is behind the end, they never do. So the exact test is on numbers of the size of the
// shapes.
template <std::size_t D>
std::pair<double, double> times_of_boxes(const std::array<double, 2 * D>& a, const std::array<double, 2 * D>& b,
                                         const std::array<double, D>& motion, const std::array<double, D>& offset) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double begin = 0, end = 1;
  for (std::size_t k = 0; k < D; ++k) {
    const double slack = kSumSlack *
                         (std::max(std::abs(a[k]), std::abs(a[D + k])) + std::max(std::abs(b[k]), std::abs(b[D + k])) +
                          std::abs(offset[k]) + std::abs(motion[k])),
                 low = b[k] + offset[k] - a[D + k] - slack, high = b[D + k] + offset[k] - a[k] + slack;
    if (motion[k] == 0) {
      if (!(low <= 0 && high >= 0)) begin = kInfinity;
      continue;
    }
    const double one = low / motion[k], two = high / motion[k];
    begin = std::max(begin, std::min(one, two));
    end = std::min(end, std::max(one, two));
  }
  return {begin, end};
}

// When the shapes of an approach touch at a share of its motion.
template <std::size_t D>
Meeting<D> meeting_of(const Approach<D>& one, double time, const double* normal) {
  Meeting<D> meeting{
      one.first, one.second, std::min(one.since + one.duration * (one.begin + one.length * time), 1.0), {}};
  std::copy_n(normal, D, meeting.normal.begin());
  return meeting;
}

// Searches for what meets the parts that are sought, some parts at a time in the order of time where routes are bent,
// otherwise all at once: `next` finds approaches, and `note` takes their exact times, so that what has met already is
// not looked for again.
//
// Boxes around the routes, rounded outwards, find candidates; where routes are bent, with time as one more axis,
// because parts of one route, and of two, are seldom there at once. The box around a part that goes askew is mostly
// empty: it is searched for in pieces. In a periodic world all images of these are there.
template <std::size_t D>
class MeetingSearch {
 public:
  // `bounds` is null where the world is not periodic.
  MeetingSearch(std::vector<RouteRow<D>> rows, std::vector<RoutePart<D>> routes, const double* bounds)
      : rows_(std::move(rows)), routes_(std::move(routes)), is_periodic_(bounds != nullptr) {
    for (const RouteRow<D>& row : rows_) has_keys_ |= row.key != rows_.front().key;
    if (is_periodic_) std::copy_n(bounds, 2 * D, bounds_.begin());
    std::vector<std::uint8_t> has_routes(rows_.size());
    for (const RoutePart<D>& route : routes_) {
      has_routes[static_cast<std::size_t>(route.row)] = 1;
      is_bent_ |= route.since > 0;
    }
    pieces_.reserve(rows_.size() + routes_.size());
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (rows_[row].counts && has_routes[row] == 0) add_row(row);
    const bool are_all_routes = pieces_.of.empty();
    for (std::size_t route = 0; route < routes_.size(); ++route) {
      if (rows_[static_cast<std::size_t>(routes_[route].row)].is_sought) sought_.push_back(route);
      add_route(route);
    }
    are_all_sought_ = are_all_routes && sought_.size() == routes_.size();
    if (is_bent_)
      std::stable_sort(sought_.begin(), sought_.end(),
                       [&](std::size_t a, std::size_t b) { return routes_[a].since < routes_[b].since; });
    for (const RouteRow<D>& row : rows_) bodies_ += row.is_sought ? 1 : 0;
    count_ = is_bent_ ? std::max(kFirstPortion, bodies_) : sought_.size();
  }

  // Approaches of the next parts; false if there are none left. `filter` may be null; search(problem) finds the pairs
  // of a problem.
  template <class Search>
  bool next(const Filter* filter, Search&& search) {
    approaches_.clear();
    while (approaches_.empty()) {
      if (begin_ >= sought_.size()) return false;
      const std::size_t end = std::min(sought_.size(), begin_ + count_);
      find_approaches(begin_, end, filter, search);
      begin_ = end;
      count_ = std::min(2 * count_, std::max(kLargestPortion, bodies_));
    }
    return true;
  }
  const std::vector<Approach<D>>& approaches() const { return approaches_; }
  std::int32_t number_of(std::int32_t row) const { return rows_[static_cast<std::size_t>(row)].number; }

  // Takes for each approach at which share of its motion the shapes touch, infinity if they do not, and the normals.
  void note(const double* times, const double* normals) {
    for (std::size_t k = 0; k < approaches_.size(); ++k) {
      if (is_finite(times[k])) meetings_.push_back(meeting_of(approaches_[k], times[k], normals + k * D));
    }
    const auto pair_of = [](const Meeting<D>& one) { return std::pair(one.first, one.second); };
    std::stable_sort(meetings_.begin(), meetings_.end(), [](const Meeting<D>& a, const Meeting<D>& b) {
      return std::tie(a.first, a.second, a.time) < std::tie(b.first, b.second, b.time);
    });
    meetings_.erase(std::unique(meetings_.begin(), meetings_.end(),
                                [&](const Meeting<D>& a, const Meeting<D>& b) { return pair_of(a) == pair_of(b); }),
                    meetings_.end());
  }

  // Each pair of rows once, with its first time, in lexicographic order.
  const std::vector<Meeting<D>>& meetings() const { return meetings_; }
  // How many pairs of parts were looked at.
  std::size_t candidate_count() const { return candidate_count_; }

 private:
  // Parts of routes that are searched for at a time, in the order of time: a few, or the first of every body, and then
  // twice as many each time. So what meets a body early is not looked for later, and scratch memory is bounded however
  // often bodies cross the world. Portions do not change the answer: of approaches of two rows that touch at the same
  // time, the first in the order of candidates is that of the earlier part, too.
  static constexpr std::size_t kFirstPortion = 256, kLargestPortion = 4096;
  // Pieces of one part at the most, and how much longer each is than the shape is wide.
  static constexpr double kMostPieces = 32, kLengthOfPieces = 3;
  static constexpr double kSlack = kSumSlack;

  using Vector = std::array<double, D>;
  using Corners = std::array<double, 2 * (D + 1)>;  // lower and upper, the time last

  // What is searched for: parts, or pieces of them, and in a periodic world their images. Parts are rows by their
  // numbers, and behind them routes.
  struct Piece {
    std::size_t part;
    Vector worlds;
  };
  struct Pieces {
    std::vector<Piece> of;
    std::vector<Corners> corners;
    void reserve(std::size_t count) {
      of.reserve(count);
      corners.reserve(count);
    }
    void add(const Piece& piece, const Corners& around) {
      of.push_back(piece);
      corners.push_back(around);
    }
  };
  struct Candidate {
    std::size_t first, second;  // parts
    Vector worlds;              // from the first to the second
    auto key() const { return std::tie(first, second, worlds); }
  };

  void add_row(std::size_t row) {
    const RouteRow<D>& it = rows_[row];
    Corners around;
    for (std::size_t k = 0; k < D; ++k) {
      const double motion = it.motion[k], low = it.box[k], high = it.box[D + k],
                   slack = kSlack * (std::abs(motion) + std::max(std::abs(low), std::abs(high)));
      around[k] = low - std::max(motion, 0.0) - slack;
      around[D + 1 + k] = high - std::min(motion, 0.0) + slack;
    }
    around[D] = 0;
    around[2 * D + 1] = 1;
    add_images(row, around);
  }

  void add_route(std::size_t at) {
    const RoutePart<D>& route = routes_[at];
    const RouteRow<D>& row = rows_[static_cast<std::size_t>(route.row)];
    Vector low, high;  // at the begin
    double longest = 0, second_longest = 0, widest = 0;
    for (std::size_t k = 0; k < D; ++k) {
      const double by = route.begin[k] - row.place[k];
      low[k] = row.box[k] + by;
      high[k] = row.box[D + k] + by;
      const double length = std::abs(route.motion[k]);
      second_longest = std::max(second_longest, std::min(longest, length));
      longest = std::max(longest, length);
      widest = std::max(widest, row.box[D + k] - row.box[k]);
    }
    double pieces = 1;
    if (is_bent_) {
      const double wanted = std::ceil(second_longest / (kLengthOfPieces * widest));
      pieces = wanted >= 1 ? std::min(wanted, kMostPieces) : 1;
    }
    for (double piece = 0; piece < pieces; ++piece) {
      const double begin = piece / pieces, end = (piece + 1) / pieces;
      Corners around;
      for (std::size_t k = 0; k < D; ++k) {
        const double from = route.motion[k] * begin, to = route.motion[k] * end,
                     slack = 2 * kSlack *
                             (std::max(std::abs(row.box[k]), std::abs(row.box[D + k])) + std::abs(low[k]) +
                              std::abs(high[k]) + std::abs(route.motion[k]));
        around[k] = low[k] + std::min(from, to) - slack;
        around[D + 1 + k] = high[k] + std::max(from, to) + slack;
      }
      const double length = route.until - route.since;
      around[D] = route.since + length * begin - kSlack;
      around[2 * D + 1] = route.since + length * end + kSlack;
      add_images(rows_.size() + at, around);
    }
  }

  // Adds a box and all its images that reach into the world; one that does not reach out is its own only image.
  void add_images(std::size_t part, const Corners& around) {
    Piece piece{part, {}};
    bool is_out = false;
    for (std::size_t k = 0; is_periodic_ && k < D; ++k)
      is_out = is_out || around[k] < bounds_[k] || around[D + 1 + k] >= bounds_[D + k];
    if (!is_out) {
      pieces_.add(piece, around);
      return;
    }
    Vector first, more, down{};
    for (std::size_t k = 0; k < D; ++k) {
      const double from = bounds_[k], size = bounds_[D + k] - from, low = around[k], high = around[D + 1 + k];
      first[k] = std::clamp(-std::floor((low - from) / size), -kFarthestWorld, kFarthestWorld);
      // As many worlds further down as the box reaches up into others; one more does no harm, where rounding lets it.
      more[k] =
          std::clamp(std::floor((high + first[k] * size - from) / size), 0.0, 1.0 + std::floor((high - low) / size));
    }
    for (;;) {
      Corners moved = around;
      for (std::size_t k = 0; k < D; ++k) {
        piece.worlds[k] = first[k] - down[k];
        const double route = piece.worlds[k] * (bounds_[D + k] - bounds_[k]);
        moved[k] = difference_down(around[k], -route);
        moved[D + 1 + k] = difference_up(around[D + 1 + k], -route);
      }
      pieces_.add(piece, moved);
      std::size_t axis = 0;
      while (axis < D && down[axis] == more[axis]) down[axis++] = 0;
      if (axis == D) return;
      down[axis] += 1;
    }
  }

  const RouteRow<D>& of(std::int32_t row) const { return rows_[static_cast<std::size_t>(row)]; }
  std::int32_t row_of(std::size_t part) const {
    return part < rows_.size() ? static_cast<std::int32_t>(part) : routes_[part - rows_.size()].row;
  }

  std::vector<std::int64_t> keys_of(const Pieces& pieces) const {
    std::vector<std::int64_t> keys;
    keys.reserve(pieces.of.size());
    for (const Piece& piece : pieces.of) keys.push_back(rows_[static_cast<std::size_t>(row_of(piece.part))].key);
    return keys;
  }

  template <class Search>
  void find_approaches(std::size_t begin, std::size_t end, const Filter* filter, Search&& search) {
    const double began = routes_[sought_[begin]].since;
    std::vector<std::pair<std::int32_t, std::int32_t>> known;  // later parts are of no interest to these
    for (const Meeting<D>& meeting : meetings_)
      if (meeting.time <= began) known.emplace_back(meeting.first, meeting.second);
    const std::vector<Candidate> candidates = find_candidates(begin, end, search);
    for (const Candidate& candidate : candidates) {
      std::int32_t row = row_of(candidate.first), other = row_of(candidate.second);
      const bool is_swapped = row > other;
      if (is_swapped) std::swap(row, other);
      if (!known.empty() && std::binary_search(known.begin(), known.end(), std::pair(row, other))) continue;
      ++candidate_count_;
      if (row == other || !(of(row).is_followed || of(other).is_followed)) continue;
      if (filter != nullptr &&
          !filter->allows(static_cast<std::size_t>(number_of(row)), static_cast<std::size_t>(number_of(other))))
        continue;
      add_approach(row, other, candidate, is_swapped);
    }
  }

  // Pairs of parts of which pieces overlap, one of some of those that are sought.
  template <class Search>
  std::vector<Candidate> find_candidates(std::size_t begin, std::size_t end, Search&& search) const {
    const std::size_t n = rows_.size();
    // Straight routes are searched for all at once, and all that there is is there all the time.
    Pieces few, there;
    const bool is_cross = is_bent_ || !are_all_sought_;
    const Pieces &one = is_cross ? few : pieces_, &other = is_bent_ ? there : pieces_;
    if (is_cross) {
      std::vector<std::uint8_t> is_meant(routes_.size());
      double since = std::numeric_limits<double>::infinity(), until = -since;
      for (std::size_t k = begin; k < end; ++k) {
        const RoutePart<D>& route = routes_[sought_[k]];
        is_meant[sought_[k]] = 1;
        since = std::min(since, route.since);
        until = std::max(until, route.until);
      }
      few.reserve(end - begin);
      if (is_bent_) there.reserve(pieces_.of.size());
      for (std::size_t k = 0; k < pieces_.of.size(); ++k) {
        const Piece& piece = pieces_.of[k];
        if (piece.part >= n) {
          const RoutePart<D>& route = routes_[piece.part - n];
          if (route.since > until || route.until < since) continue;
          if (is_meant[piece.part - n] != 0) few.add(piece, pieces_.corners[k]);
        }
        if (is_bent_) there.add(piece, pieces_.corners[k]);
      }
    }
    std::vector<Candidate> found;
    if (one.of.empty()) return found;
    Problem<double> problem;
    const auto boxes_of = [](const Pieces& pieces) {
      constexpr auto kStride = static_cast<std::int64_t>(2 * (D + 1));
      const double* corners = pieces.corners.front().data();
      return BoxView<double>{corners, corners + D + 1, kStride, kStride, pieces.of.size()};
    };
    problem.first = boxes_of(one);
    if (is_cross) problem.second = boxes_of(other);
    problem.dimension = is_bent_ ? D + 1 : D;
    problem.cross = is_cross;
    Batches batches;
    if (has_keys_) {
      const std::vector<std::int64_t> keys = keys_of(one), others = keys_of(other);
      const RowKeys second{others.size(), others.data(), 1};
      Interrupt none;
      batches = batches_of({keys.size(), keys.data(), 1}, is_cross ? &second : nullptr, none);
      problem.batches = &batches;
    }
    const Pairs close = search(problem);
    found.reserve(close.size);
    for (std::size_t k = 0; k < close.size; ++k) {
      const Piece &a = one.of[static_cast<std::size_t>(close.block[k])],
                  &b = other.of[static_cast<std::size_t>(close.block[close.stride + k])];
      // Two parts that are sought are found from both.
      if (b.part <= a.part && b.part >= n && of(row_of(b.part)).is_sought) continue;
      Candidate candidate{a.part, b.part, {}};
      for (std::size_t axis = 0; axis < D; ++axis) candidate.worlds[axis] = b.worlds[axis] - a.worlds[axis];
      found.push_back(candidate);
    }
    if (is_bent_ || is_periodic_) {  // several pieces, and images at both sides, find the same
      std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) { return a.key() < b.key(); });
      found.erase(std::unique(found.begin(), found.end(),
                              [](const Candidate& a, const Candidate& b) { return a.key() == b.key(); }),
                  found.end());
    }
    return found;
  }

  // How a part moves in a time within its own, beginning so far from where its row is now.
  void between(std::size_t part, double since, double until, Vector& shift, Vector& motion) const {
    if (part < rows_.size()) {
      for (std::size_t k = 0; k < D; ++k) {
        const double whole = rows_[part].motion[k];
        shift[k] = -whole + whole * since;
        motion[k] = whole * (until - since);
      }
      return;
    }
    const RoutePart<D>& route = routes_[part - rows_.size()];
    const Vector& place = rows_[static_cast<std::size_t>(route.row)].place;
    const double length = route.until > route.since ? route.until - route.since : 1.0;
    for (std::size_t k = 0; k < D; ++k) {
      shift[k] = route.begin[k] - place[k] + route.motion[k] * ((since - route.since) / length);
      motion[k] = route.motion[k] * ((until - since) / length);
    }
  }

  std::pair<double, double> times_of(std::size_t part) const {
    if (part < rows_.size()) return {0.0, 1.0};
    const RoutePart<D>& route = routes_[part - rows_.size()];
    return {route.since, route.until};
  }

  void add_approach(std::int32_t row, std::int32_t other, const Candidate& candidate, bool is_swapped) {
    const std::size_t first = is_swapped ? candidate.second : candidate.first,
                      second = is_swapped ? candidate.first : candidate.second;
    const auto [one_since, one_until] = times_of(first);
    const auto [other_since, other_until] = times_of(second);
    const double since = std::max(one_since, other_since), until = std::min(one_until, other_until);
    if (!(since <= until)) return;
    Vector shift, motion, other_shift, other_motion, offset;
    between(first, since, until, shift, motion);
    between(second, since, until, other_shift, other_motion);
    for (std::size_t k = 0; k < D; ++k) {
      motion[k] -= other_motion[k];
      const double size = is_periodic_ ? bounds_[D + k] - bounds_[k] : 0.0, worlds = candidate.worlds[k] * size;
      offset[k] = (is_swapped ? -worlds : worlds) + (other_shift[k] - shift[k]);
    }
    const auto [begin, end] = times_of_boxes<D>(of(row).box, of(other).box, motion, offset);
    if (!(begin <= end)) return;
    Approach<D> approach{row, other, {}, {}, since, until - since, begin, end - begin};
    for (std::size_t k = 0; k < D; ++k) {
      approach.offset[k] = offset[k] - motion[k] * begin;
      approach.motion[k] = motion[k] * (end - begin);
    }
    approaches_.push_back(approach);
  }

  std::vector<RouteRow<D>> rows_;
  std::vector<RoutePart<D>> routes_;
  std::array<double, 2 * D> bounds_{};
  bool is_periodic_, is_bent_ = false, has_keys_ = false, are_all_sought_ = false;  // the last: all pieces
  Pieces pieces_;
  std::vector<std::size_t> sought_;                 // routes
  std::size_t begin_ = 0, count_ = 0, bodies_ = 0;  // the last: sought
  std::vector<Approach<D>> approaches_;
  std::vector<Meeting<D>> meetings_;
  std::size_t candidate_count_ = 0;
};

}  // namespace broadphase
