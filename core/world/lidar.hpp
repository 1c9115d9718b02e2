// Lidars of bodies: for each a fan of beams from its position, and of each beam the first body that it hits.
//
// All beams of a fan have one origin. So a kernel tells of eight beams side by side where they enter the balls and
// boxes around the bodies nearby at the earliest (fan_kernel.hpp), and the exact test is left for those that may be
// first, mostly one. Distances are those of single rays, bit for bit, and no ray is stored.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "batches/rows_by_key.hpp"
#include "narrow/disc_rays.hpp"
#include "simd/kernels.hpp"
#include "world/fan.hpp"
#include "world/limits.hpp"
#include "world/queries.hpp"

namespace broadphase {

// Which bodies look, and where. Arrays that may be null: nothing is rotated.
template <std::size_t D>
struct LidarRequest {
  const std::int32_t* rows;
  std::size_t count;
  const double *positions, *rotations;  // of bodies, by row; null: the directions are those of the world
  const double* directions;             // angles in the plane, vectors in space
  std::size_t beams;
  bool is_one_fan;       // for all
  const double* limits;  // of each, how far it sees

  Vec<D> origin(std::size_t query) const {
    Vec<D> origin;
    std::copy_n(positions + D * static_cast<std::size_t>(rows[query]), D, origin.begin());
    return origin;
  }
  const double* rotation(std::size_t query) const {
    return rotations == nullptr ? nullptr : rotations + kRotationNumbers<D> * static_cast<std::size_t>(rows[query]);
  }
  Vec<D> direction(std::size_t query, std::size_t beam) const {
    const std::size_t at = (is_one_fan ? 0 : query * beams) + beam;
    if constexpr (D == 2)
      return {std::cos(directions[at]), std::sin(directions[at])};
    else
      return {directions[3 * at], directions[3 * at + 1], directions[3 * at + 2]};
  }
};

// The directions of a fan, exactly and for the kernel.
template <std::size_t D>
class Beams {
 public:
  // Those of one body, which may be rotated.
  void take(const LidarRequest<D>& request, std::size_t query, const double* rotation) {
    resize(request.beams);
    const Vec<D> anywhere{};
    const Pose<D> pose(anywhere.data(), rotation);
    for (std::size_t beam = 0; beam < request.beams; ++beam) {
      Vec<D> direction = request.direction(query, beam);
      pose.turn(direction.data(), direction.data());
      set(beam, direction);
    }
  }

  const Vec<D>& direction(std::size_t beam) const { return directions_[beam]; }
  double length(std::size_t beam) const { return lengths_[beam]; }
  void put(Fan& fan) const {
    for (std::size_t k = 0; k < D; ++k) {
      fan.along[k] = along_[k].data();
      fan.inverse[k] = inverse_[k].data();
    }
  }

 private:
  void resize(std::size_t count) {
    const std::size_t padded = (count + Fan::kBeams - 1) / Fan::kBeams * Fan::kBeams;
    directions_.resize(count);
    lengths_.resize(count);
    for (std::size_t k = 0; k < D; ++k) {
      along_[k].resize(padded, 0.0F);
      inverse_[k].resize(padded, 1.0F);
    }
  }
  // A direction of any length: scaled by a power of two, so that no time is out of range.
  void set(std::size_t beam, Vec<D> direction) {
    constexpr double kLargest = 0x1p10, kSmallest = 0x1p-10;
    constexpr float kSlowest = 1e-18F;
    double largest = 0, squared = 0;
    for (const double x : direction) largest = std::max(largest, std::fabs(x));
    if (largest > kLargest || (largest < kSmallest && largest > 0)) {
      int exponent = 0;
      std::frexp(largest, &exponent);
      for (double& x : direction) x = std::ldexp(x, -exponent);
    }
    for (const double x : direction) squared += x * x;
    const double length = std::sqrt(squared), scale = length > 0 ? 1 / length : 0;
    directions_[beam] = direction;
    lengths_[beam] = length;
    for (std::size_t k = 0; k < D; ++k) {
      const auto part = static_cast<float>(direction[k] * scale);
      along_[k][beam] = part;
      inverse_[k][beam] = std::fabs(part) > kSlowest ? 1 / part : std::copysign(1 / kSlowest, part);
    }
  }

  std::vector<Vec<D>> directions_;
  std::vector<double> lengths_;
  std::vector<float> along_[D], inverse_[D];  // padded to whole groups
};

// One worker's search: the beams of one body at a time.
template <std::size_t D>
class LidarSearch {
 public:
  LidarSearch(const LidarRequest<D>& request, const QueriedBodies<D>& bodies, const QueryFilter& filter,
              const Beams<D>& shared, const Kernels& kernels)
      : request_(request),
        bodies_(bodies),
        filter_(filter),
        shared_(shared),
        find_keys_(kernels.eight->fan_keys[D - 2]) {
    const std::size_t beams = request.beams, groups = (beams + Fan::kBeams - 1) / Fan::kBeams;
    best_.resize(beams);
    custom_.resize(beams);
    for (std::vector<float>& keys : keys_) keys.resize(groups * Fan::kBeams);
    after_.resize(groups * Fan::kBeams);
    groups_.reserve(groups);
  }

  void begin(std::size_t query) {
    query_ = query;
    limit_ = request_.limits[query];
    origin_ = request_.origin(query);
    const double* rotation = request_.rotation(query);
    beams_ = &shared_;
    std::fill(best_.begin(), best_.end(), KeyedRow(kNever, -1));
    std::fill(custom_.begin(), custom_.end(), KeyedRow(kNever, -1));
    if (request_.is_one_fan && !is_turn<D>(rotation)) return;
    own_.take(request_, query, rotation);
    beams_ = &own_;
  }

  // Looks at bodies, ascending: once.
  void look_at(std::span<const std::int32_t> rows) {
    find_scale(rows);
    for (std::size_t at = 0; at < rows.size();) {
      balls_.clear();
      boxes_.clear();
      numbered_.clear();
      for (; at < rows.size() && numbered_.size() < Fan::kMostBodies; ++at)
        if (filter_.allows(static_cast<std::size_t>(rows[at]), query_) && !bodies_.is_left_out(rows[at])) put(rows[at]);
      if (!numbered_.empty()) look_at_these();
    }
  }

  // Looks at the bodies nearby, and walks through the tree with each beam that hits none of these.
  void look_through(const TreeQueries& tree) {
    constexpr double kStep = 1.5, kSurely = 1 - 1e-9;  // shapes lie in their boxes but for rounding
    constexpr std::size_t kWanted = LidarLimits::nearby;
    if (nearby_reach_ < 0) find_reach(tree);
    const double reach = limit_ <= kStep * nearby_reach_ ? limit_ : nearby_reach_;
    nearby_.clear();
    tree.each_in_ball(query_, origin_.data(), reach, ball_, [&](std::int32_t row) { nearby_.push_back(row); });
    sort_rows(nearby_.data(), nearby_.size());
    if (nearby_.size() > 2 * kWanted) nearby_reach_ = reach / kStep;
    if (nearby_.size() < kWanted / 2 && reach < limit_) nearby_reach_ = std::min(nearby_reach_ * kStep, kFarthest);
    look_at(nearby_);
    if (reach == limit_) return;
    const auto visit = [&](const Ray& ray, std::int32_t row) {
      if (!bodies_.is_left_out(row)) test(ray.beam, row);
      return reach_of(ray.beam);
    };
    const auto ahead = [&](std::int32_t row) { bodies_.read_ahead_of(row); };
    const auto end = [](const Ray&) {};
    for (std::size_t beam = 0; beam < best_.size(); ++beam)
      if (!(best_[beam].first <= reach * kSurely))
        tree.interleave_ray(Ray{query_, sweep(beam), beams_->length(beam), reach_of(beam), beam}, rays_, ahead, visit,
                            end);
    tree.finish_rays(rays_, ahead, visit, end);
  }

  // Writes what was found, and returns the row of a custom shape that may decide it, or -1.
  template <class T>
  std::int32_t end(T* distances, std::int32_t* rows) const {
    std::int32_t refused = -1;
    for (std::size_t beam = 0; beam < best_.size(); ++beam) {
      distances[beam] = static_cast<T>(best_[beam].first);
      rows[beam] = best_[beam].second;
      if (custom_[beam].first <= reach_of(beam) && refused < 0) refused = custom_[beam].second;
    }
    return refused;
  }

 private:
  // More than the rounding errors of the kernel relative to lengths, and of exact tests relative to coordinates.
  static constexpr double kRounding = 0x1p-20, kExactRounding = 0x1p-40;
  static constexpr double kFarthest = 0x1p1000;

  struct Ray {
    std::size_t query = 0;
    Sweep sweep{};
    double length = 0, farthest = 0;
    std::size_t beam = 0;
  };

  // How far away as many bodies are as are looked at nearby. It changes from one body to the next.
  void find_reach(const TreeQueries& tree) {
    TreeQueries::NearestScratch scratch;
    std::size_t found = 0;
    tree.nearest(query_, origin_.data(), LidarLimits::nearby, kNever, scratch, [&](std::int32_t, double distance) {
      ++found;
      nearby_reach_ = distance;
    });
    if (found < LidarLimits::nearby) nearby_reach_ = kFarthest;
    nearby_reach_ = std::min(nearby_reach_, kFarthest);
  }

  double reach_of(std::size_t beam) const { return std::min(limit_, best_[beam].first); }

  // The kernel knows lengths from 1e-12 to 1e15. Where bodies begin nearer or farther away, lengths are multiplied by a
  // power of two that gives the nearest body some room.
  void find_scale(std::span<const std::int32_t> rows) {
    constexpr double kSmall = 1e-6, kLarge = 1e9;
    double least = kNever;
    for (const std::int32_t row : rows) {
      const double* box = bodies_.box(row);
      double length = 0;
      for (std::size_t k = 0; k < 2 * D; ++k) length = std::max(length, std::fabs(box[k] - origin_[k % D]));
      if (length > 0) least = std::min(least, length);
    }
    scale_ = (least < kSmall && least > 0x1p-1000) || (least > kLarge && least < 0x1p1000)
                 ? std::ldexp(1.0, -std::ilogb(least) - 20)
                 : 1.0;
  }

  void put(std::int32_t row) {
    const auto number = static_cast<std::uint32_t>(numbered_.size());
    numbered_.push_back(row);
    const StoredBall& ball = bodies_.shapes->balls()[row];
    if (ball[D] >= 0 ? put_ball(ball, number) : put_box(bodies_.box(row), number)) return;
    FanBox everywhere{{}, {}, number};
    for (std::size_t k = 0; k < D; ++k) {
      everywhere.lower[k] = -Fan::kLargest;
      everywhere.upper[k] = Fan::kLargest;
    }
    boxes_.push_back(everywhere);
  }
  // False: it may hold the origin, or numbers are out of range.
  bool put_ball(const StoredBall& ball, std::uint32_t number) {
    FanBall put{{}, 0, 0, number};
    const double radius = ball[D] * scale_;
    double squared = 0, size = radius;
    for (std::size_t k = 0; k < D; ++k) {
      const double apart = (ball[k] - origin_[k]) * scale_;
      put.center[k] = static_cast<float>(apart);
      squared += apart * apart;
      size = std::max(size, (std::fabs(ball[k]) + std::fabs(origin_[k])) * scale_);
    }
    const double distance = std::sqrt(squared), lengths = distance + radius;
    const double spare = kRounding * lengths + kExactRounding * size, reach = radius + 2 * spare;
    if (!(distance > reach && lengths <= Fan::kLargest && lengths >= Fan::kLeast)) return false;
    put.squared = static_cast<float>(reach * reach * (1 + kRounding));
    put.spare = static_cast<float>(spare);
    balls_.push_back(put);
    return true;
  }
  bool put_box(const double* box, std::uint32_t number) {
    double lengths = 0, size = 0;
    for (std::size_t k = 0; k < 2 * D; ++k) {
      lengths = std::max(lengths, std::fabs(box[k] - origin_[k % D]) * scale_);
      size = std::max(size, (std::fabs(box[k]) + std::fabs(origin_[k % D])) * scale_);
    }
    if (!(lengths <= Fan::kLargest && lengths >= Fan::kLeast)) return false;
    const double spare = kRounding * lengths + kExactRounding * size;
    FanBox put{{}, {}, number};
    for (std::size_t k = 0; k < D; ++k) {
      put.lower[k] = static_cast<float>((box[k] - origin_[k]) * scale_ - spare);
      put.upper[k] = static_cast<float>((box[D + k] - origin_[k]) * scale_ + spare);
    }
    boxes_.push_back(put);
    return true;
  }

  void look_at_these() {
    Fan fan{};
    beams_->put(fan);
    fan.balls = balls_.data();
    fan.ball_count = balls_.size();
    fan.boxes = boxes_.data();
    fan.box_count = boxes_.size();
    for (std::size_t k = 0; k < Fan::kKeys; ++k) fan.keys[k] = keys_[k].data();
    groups_.clear();
    for (std::size_t beam = 0; beam < best_.size(); ++beam) {
      // What comes later has a higher row.
      if (best_[beam].first == 0 || (!groups_.empty() && groups_.back() == beam / Fan::kBeams)) continue;
      groups_.push_back(static_cast<std::uint32_t>(beam / Fan::kBeams));
    }
    std::fill(after_.begin(), after_.end(), 0.0F);
    for (fan.after = nullptr; !groups_.empty(); fan.after = after_.data()) {
      fan.groups = groups_.data();
      fan.group_count = groups_.size();
      find_keys_(fan);
      std::size_t kept = 0;
      for (const std::uint32_t group : groups_) {
        bool goes_on = false;
        const std::size_t first = group * Fan::kBeams, last = std::min(first + Fan::kBeams, best_.size());
        for (std::size_t beam = first; beam < last; ++beam) {
          if (after_[beam] >= Fan::kMiss) continue;
          after_[beam] = test_next(beam) ? keys_[Fan::kKeys - 1][beam] : 2 * Fan::kMiss;
          goes_on |= after_[beam] < Fan::kMiss;
        }
        if (goes_on) groups_[kept++] = group;
      }
      groups_.resize(kept);
    }
  }

  // Tests the bodies of the next keys of a beam. False: the others are behind what it hits.
  bool test_next(std::size_t beam) {
    for (std::size_t k = 0; k < Fan::kKeys; ++k) {
      const float key = keys_[k][beam];
      const auto bits = std::bit_cast<std::uint32_t>(key);
      // Where it hits something at 0, bodies that are not behind have lower rows, and came first.
      if (key >= Fan::kMiss || best_[beam].first == 0 ||
          static_cast<double>(std::bit_cast<float>(bits & ~0xffu)) > reach_of(beam) * scale_)
        return false;
      test(beam, numbered_[bits & 0xff]);
    }
    return true;
  }

  void test(std::size_t beam, std::int32_t row) {
    const Vec<D>& direction = beams_->direction(beam);
    const StoredBall& ball = bodies_.shapes->balls()[row];
    if constexpr (D == 2) {
      // The most frequent shape; the general way takes several times as long.
      if (ball[D] >= 0) return note(beam, row, narrow_2d::ray_meets_disc(ball.data(), origin_, direction, nullptr));
    }
    const ShapeView<D> shape = bodies_.shape(row);
    if (shape.kind == ShapeKind::kCustom) return note_custom(beam, row);
    Vec<D> normal;
    note(beam, row, bodies_.ray_hit(shape, origin_, direction, &normal));
  }
  void note(std::size_t beam, std::int32_t row, double time) {
    if (!(time < kNever)) return;
    const KeyedRow hit(time * beams_->length(beam), row);
    if (hit.first <= limit_ && hit.first < kNever && hit < best_[beam]) best_[beam] = hit;
  }

  Sweep sweep(std::size_t beam) const {
    Sweep sweep;
    for (std::size_t k = 0; k < D; ++k) {
      sweep.box[k] = sweep.box[D + k] = origin_[k];
      sweep.motion[k] = beams_->direction(beam)[k];
    }
    return sweep;
  }
  void note_custom(std::size_t beam, std::int32_t row) {
    const double time = touch_time(sweep(beam), bodies_.box(row), D);
    const KeyedRow found(std::isnan(time) ? 0 : time < kNever ? time * beams_->length(beam) : kNever, row);
    if (found < custom_[beam]) custom_[beam] = found;
  }

  const LidarRequest<D>& request_;
  const QueriedBodies<D>& bodies_;
  const QueryFilter& filter_;
  const Beams<D>& shared_;
  void (*find_keys_)(const Fan&);

  std::size_t query_ = 0;
  double limit_ = 0, scale_ = 1;
  Vec<D> origin_{};
  const Beams<D>* beams_ = nullptr;
  Beams<D> own_;
  std::vector<KeyedRow> best_, custom_;  // by beam: the first hit, and the first box of a custom shape

  std::vector<FanBall> balls_;
  std::vector<FanBox> boxes_;
  std::vector<std::int32_t> numbered_;  // their rows
  std::vector<float> keys_[Fan::kKeys], after_;
  std::vector<std::uint32_t> groups_;

  double nearby_reach_ = -1;  // not known
  std::vector<std::int32_t> nearby_;
  BallWalk ball_;
  TreeQueries::RaysScratch<Ray> rays_;
};

// Bodies that look, each with all those that it may see: of one key, or of the whole world.
class LidarGroups {
 public:
  LidarGroups(const LidarGroups&) = delete;
  LidarGroups& operator=(const LidarGroups&) = delete;
  // `rows` are those that look, `seen` all bodies, ascending; `keys` by row, or null.
  LidarGroups(std::span<const std::int32_t> rows, std::span<const std::int32_t> seen, const std::int64_t* keys,
              Interrupt& interrupt)
      : rows_(rows), keys_(keys) {
    if (keys == nullptr) {
      seen_ = seen;
      return;
    }
    std::vector<std::int64_t> own(rows.size()), all(seen.size());
    for (std::size_t k = 0; k < rows.size(); ++k) own[k] = keys[rows[k]];
    for (std::size_t k = 0; k < seen.size(); ++k) all[k] = keys[seen[k]];
    order_ = rows_by_key({own.size(), own.data(), 1}, interrupt);
    const RowsByKey by_key = rows_by_key({all.size(), all.data(), 1}, interrupt);
    by_key_.resize(seen.size());
    for (std::size_t k = 0; k < seen.size(); ++k) by_key_[k] = seen[static_cast<std::size_t>(by_key.row(k))];
    seen_ = by_key_;
    starts_ = by_key.start;
  }

  // The body that looks at some position in the order of keys.
  std::size_t query(std::size_t position) const {
    return keys_ == nullptr ? position : static_cast<std::size_t>(order_.row(position));
  }
  // Those that it may see, ascending. `group` is that of the query before, or 0.
  std::span<const std::int32_t> seen_by(std::size_t query, std::size_t& group) const {
    if (keys_ == nullptr) return seen_;
    const std::int64_t key = keys_[rows_[query]];
    const auto key_at = [&](std::uint32_t start) { return keys_[seen_[start]]; };
    if (key_at(starts_[group]) != key)
      group = static_cast<std::size_t>(
          std::partition_point(starts_.begin(), starts_.end() - 1, [&](std::uint32_t at) { return key_at(at) < key; }) -
          starts_.begin());
    return {seen_.data() + starts_[group], seen_.data() + starts_[group + 1]};
  }
  // The most that one of them may see.
  std::size_t most() const {
    std::size_t most = keys_ == nullptr ? seen_.size() : 0;
    for (std::size_t position = 0, group = 0; keys_ != nullptr && position < rows_.size(); ++position)
      most = std::max(most, seen_by(query(position), group).size());
    return most;
  }

 private:
  std::span<const std::int32_t> rows_;
  const std::int64_t* keys_;
  RowsByKey order_;  // of the rows that look
  std::vector<std::int32_t> by_key_;
  std::span<const std::int32_t> seen_;
  std::vector<std::uint32_t> starts_;  // where each key begins
};

}  // namespace broadphase
