// Rays against the bodies of a world, and the bodies nearest to a point: walks through the tree of their boxes, with
// the exact test of the shape for each row. A ray becomes shorter with each body that it hits, and so does the reach of
// a search for the nearest.
//
// Everything here only reads, so any number of threads may query at once, each with its own scratch.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/read_ahead.hpp"
#include "base/samples.hpp"
#include "narrow/geometries.hpp"
#include "narrow/point_distances.hpp"
#include "narrow/shape_queries.hpp"
#include "query/queries.hpp"
#include "shapes/store.hpp"
#include "tree/queries.hpp"
#include "world/images.hpp"

namespace broadphase {

// What queries read of the bodies of a world, besides the tree and the filter, which TreeQueries have.
template <std::size_t D>
struct QueriedBodies {
  const ShapeStore* shapes;
  const double* boxes;  // around the shapes, by row: lower corner, then upper corner
  std::span<const Geometry> geometries;
  const double* limits = nullptr;  // a box: bodies that are not wholly in it are left out

  // Balls and boxes parallel to the axes without a look at where the store has the record of a row.
  ShapeView<D> shape(std::int32_t row) const {
    const StoredBall& ball = shapes->balls()[row];
    if (ball[0] == ShapeStore::kBoxMark) return {ShapeKind::kBox, {box(row), 2 * D}};
    if (ball[0] != ShapeStore::kNoBall) return {ShapeKind::kBall, {ball.data(), D + 1}};
    return shapes->placed<D>(static_cast<std::size_t>(row));
  }
  // And so no custom shape, which would have to be known.
  bool is_ball_or_box(std::int32_t row) const { return shapes->balls()[row][0] != ShapeStore::kNoBall; }
  void read_ahead_of(std::int32_t row) const {
    read_ahead(shapes->balls() + row);
    read_ahead(box(row));
    if (D == 3) read_ahead(box(row) + 2 * D - 1);  // perhaps on the next line of the cache
  }
  const double* box(std::int32_t row) const { return boxes + 2 * D * static_cast<std::size_t>(row); }
  bool is_left_out(std::int32_t row) const {
    if (limits == nullptr) return false;
    bool sticks_out = false;
    for (std::size_t k = 0; k < D; ++k) sticks_out |= box(row)[k] < limits[k] || box(row)[D + k] > limits[D + k];
    return sticks_out;
  }

  // See tree_of_distinct(). Bodies with custom shapes are like no others.
  bool are_alike(std::int32_t a, std::int32_t b) const {
    const ShapeView<D> one = shape(a), other = shape(b);
    return one.kind == other.kind && one.kind != ShapeKind::kCustom && one.record.size() == other.record.size() &&
           std::memcmp(one.record.data(), other.record.data(), one.record.size_bytes()) == 0 &&
           std::memcmp(box(a), box(b), 2 * D * sizeof(double)) == 0;
  }
  std::uint64_t hash(std::int32_t row) const {
    std::uint64_t hash = static_cast<std::uint64_t>(shape(row).kind);
    for (const double number : shape(row).record) hash = detail::hashed(hash ^ std::bit_cast<std::uint64_t>(number));
    return hash;
  }

  // Where a ray enters the shape of a row, see ray_hit(). Precondition: it is no custom shape.
  double ray_hit(const ShapeView<D>& shape, const Vec<D>& origin, const Vec<D>& direction, Vec<D>* normal) const {
    if constexpr (D == 3) {
      if (is_kept_elsewhere(shape.kind)) {
        std::vector<double> unmoved;
        return broadphase::ray_hit(side_of(shape, geometries, nullptr, unmoved), origin, direction, normal);
      }
    }
    return broadphase::ray_hit(shape, origin, direction, normal);
  }
  // The distance of a shape, neither a ball nor a box parallel to the axes, to a point, 0 inside. Precondition: as
  // above.
  double distance(const ShapeView<D>& shape, const Vec<D>& point) const {
    if constexpr (D == 3) {
      if (is_kept_elsewhere(shape.kind)) {
        const double ball[] = {point[0], point[1], point[2], 0};
        std::vector<double> unmoved;
        const MeshSide side = side_of(shape, geometries, nullptr, unmoved), there({ShapeKind::kBall, ball});
        return std::max(0.0, nearest_elements(side, there).distance);
      }
    }
    return distance_by_direction<D>(shape, point);
  }
};
// The row of a custom shape that decides the answer of a query, which only its class could test: of the first query
// that has one. -1: there is none.
struct RefusedRow {
  std::size_t query = std::numeric_limits<std::size_t>::max();
  std::int32_t row = -1;

  void note(std::size_t at, std::int32_t refused) {
    if (refused < 0 || at > query) return;
    query = at;
    row = refused;
  }
  void note(const RefusedRow& other) { note(other.query, other.row); }
};

// ---- Rays ----

// A ray of a query, with a direction of any length, and what it has hit so far.
template <std::size_t D>
struct BodyRay {
  std::size_t query;
  Vec<D> origin, direction;  // scaled by a power of two, so that no time is out of range
  Sweep sweep;               // the same
  double length;             // of the direction, by which times become distances
  double farthest;
  KeyedRow best{kNever, -1};
  KeyedRow custom{kNever, -1};  // the first custom shape whose box it touches
  Vec<D> normal{};              // where the best is hit

  BodyRay() = default;
  BodyRay(std::size_t number, const double* from, const double* along, double limit) : query(number), farthest(limit) {
    constexpr double kLargest = 0x1p10, kSmallest = 0x1p-10;
    double largest = 0;
    for (std::size_t k = 0; k < D; ++k) largest = std::max(largest, std::fabs(along[k]));
    int exponent = 0;
    if (largest > kLargest || (largest < kSmallest && largest > 0)) std::frexp(largest, &exponent);
    for (std::size_t k = 0; k < D; ++k) {
      origin[k] = sweep.box[k] = sweep.box[D + k] = from[k];
      direction[k] = sweep.motion[k] = exponent == 0 ? along[k] : std::ldexp(along[k], -exponent);
    }
    length = length_of<double>(sweep, D);
  }

  // How far it goes: what is farther away than the best hit does not count.
  double reach() const { return std::min(farthest, best.first); }

  // Whether it may enter a box within its reach: a little generously, because of rounding.
  bool may_enter(const double* box) const {
    double enter = 0, leave = reach() < kNever ? reach() * (1 + 1e-9) : kNever;
    for (std::size_t k = 0; k < D; ++k) {
      const double room = 1e-12 * (std::fabs(box[k]) + std::fabs(box[D + k]) + std::fabs(origin[k]));
      const double low = box[k] - room - origin[k], high = box[D + k] + room - origin[k];
      if (direction[k] == 0) {
        if (low > 0 || high < 0) return false;
        continue;
      }
      const double per_length = length / direction[k], one = low * per_length, other = high * per_length;
      enter = std::max(enter, std::min(one, other));
      leave = std::min(leave, std::max(one, other));
    }
    return enter <= leave * (1 + 1e-9);
  }

  // Tests a row; returns the distance of its hit, infinite for none within the ray's length.
  double test(const QueriedBodies<D>& bodies, std::int32_t row, Vec<D>* way) {
    if (bodies.is_left_out(row)) return kNever;
    const ShapeView<D> shape = bodies.shape(row);
    // Balls and boxes are tested sooner than the boxes around them.
    if (shape.kind != ShapeKind::kBall && shape.kind != ShapeKind::kBox && !may_enter(bodies.box(row))) return kNever;
    if (shape.kind == ShapeKind::kCustom) {
      const double time = touch_time(sweep, bodies.box(row), D), entry = std::isnan(time) ? 0 : time * length;
      if (time < kNever || std::isnan(time)) note_custom(entry, row);
      return kNever;
    }
    const double time = bodies.ray_hit(shape, origin, direction, way);
    if (!(time < kNever)) return kNever;
    const double distance = time * length;
    return distance <= farthest ? distance : kNever;
  }
  // Tests a row, and keeps it if it is the first so far: of several at one distance, the lowest. Returns the reach.
  double visit(const QueriedBodies<D>& bodies, std::int32_t row) {
    // Of bodies that hold the origin, only a lower row can take the place of the best.
    if (best.first <= 0 && row > best.second && bodies.is_ball_or_box(row)) return reach();
    Vec<D> way;
    const KeyedRow hit(test(bodies, row, &way), row);
    if (hit.first < kNever && (best.second < 0 || hit < best)) {
      best = hit;
      normal = way;
    }
    return reach();
  }
  // The same where any row will do; negative once there is one.
  double visit_any(const QueriedBodies<D>& bodies, std::int32_t row) {
    Vec<D> way;
    if (!(test(bodies, row, &way) < kNever)) return farthest;
    best = {-1, row};
    return -1;
  }
  // The row of a custom shape that may be in front of the best hit; -1 for none.
  std::int32_t refused() const { return custom.first <= reach() ? custom.second : -1; }

 private:
  void note_custom(double entry, std::int32_t row) {
    const KeyedRow found(entry, row);
    if (custom.second < 0 || found < custom) custom = found;
  }
};

// The first row that a ray hits, in `ray`.
template <std::size_t D>
void first_hit(const TreeQueries& tree, const QueriedBodies<D>& bodies, BodyRay<D>& ray, SweepWalk& walk) {
  tree.each_on_ray(ray.query, ray.sweep, ray.length, ray.farthest, walk,
                   [&](std::int32_t row) { return ray.visit(bodies, row); });
}

// Whether a ray hits any row.
template <std::size_t D>
bool any_hit(const TreeQueries& tree, const QueriedBodies<D>& bodies, BodyRay<D>& ray, SweepWalk& walk) {
  tree.each_on_ray(ray.query, ray.sweep, ray.length, ray.farthest, walk,
                   [&](std::int32_t row) { return ray.visit_any(bodies, row); });
  return ray.best.second >= 0;
}

// A hit of one of several rows on a ray.
template <std::size_t D>
struct BodyHit {
  double distance;
  std::int32_t row;
  Vec<D> normal;
  bool operator<(const BodyHit& other) const {
    return distance != other.distance ? distance < other.distance : row < other.row;
  }
};

// Appends all the rows that a ray hits, by distance and then by row.
template <std::size_t D>
void all_hits(const TreeQueries& tree, const QueriedBodies<D>& bodies, BodyRay<D>& ray, SweepWalk& walk,
              std::vector<BodyHit<D>>& found) {
  const std::size_t begin = found.size();
  tree.each_on_ray(ray.query, ray.sweep, ray.length, ray.farthest, walk, [&](std::int32_t row) {
    BodyHit<D> hit{0, row, {}};
    hit.distance = ray.test(bodies, row, &hit.normal);
    if (!(hit.distance < kNever)) return ray.farthest;
    for (; hit.row >= 0; hit.row = tree.next_copy(ray.query, hit.row)) found.push_back(hit);
    return ray.farthest;
  });
  std::sort(found.begin() + static_cast<std::ptrdiff_t>(begin), found.end());
}

// ---- The nearest ----

// The `wanted` bodies nearest to a point, at most `farthest` away, the nearest first.
template <std::size_t D>
class NearestBodies {
 public:
  // `found` is what they are kept in, and what has been found of other bodies is in it.
  NearestBodies(const QueriedBodies<D>& bodies, std::size_t wanted, double farthest, std::vector<KeyedRow>& found)
      : bodies_(bodies), wanted_(wanted), farthest_(farthest), found_(found) {}

  // Tests a row at a point, and takes it and its copies; returns how far away others may be. With `once`, the point is
  // one of several images of that of the query, and the nearest counts.
  double visit(const TreeQueries& tree, std::size_t query, const Vec<D>& point, std::int32_t row, bool once = false) {
    // Of bodies that hold the point, only a lower row can take the place of the last.
    if (is_full() && wanted_ > 0 && found_.back().first <= 0 && row > found_.back().second &&
        bodies_.is_ball_or_box(row))
      return reach();
    if (bodies_.is_left_out(row)) return reach();
    const StoredBall& ball = bodies_.shapes->balls()[row];
    double distance;
    if (ball[0] == ShapeStore::kBoxMark)
      distance = distance_to_box<D>(bodies_.box(row), point);
    else if (ball[0] != ShapeStore::kNoBall)
      distance = distance_to_ball<D>(ball.data(), point);
    else
      distance = distance_to_other(point, row);
    while (row >= 0 && add({distance, row}, once)) row = tree.next_copy(query, row);
    return reach();
  }
  bool is_full() const { return found_.size() == wanted_; }
  double reach() const { return is_full() ? std::min(farthest_, found_.back().first) : farthest_; }
  // As BodyRay::refused().
  std::int32_t refused() const { return custom_.first <= reach() ? custom_.second : -1; }

 private:
  // Of a row that is neither a ball nor a box parallel to the axes; infinite, and noted, of a custom shape.
  double distance_to_other(const Vec<D>& point, std::int32_t row) {
    const ShapeView<D> shape = bodies_.shape(row);
    if (shape.kind != ShapeKind::kCustom) return bodies_.distance(shape, point);
    const KeyedRow custom(std::sqrt(squared_distance<double>(point.data(), bodies_.box(row), D)), row);
    if (custom_.second < 0 || custom < custom_) custom_ = custom;
    return kNever;
  }
  // False if neither this nor a higher row at its distance is taken.
  bool add(const KeyedRow& candidate, bool once) {
    if (!(candidate.first <= farthest_ && candidate.first < kNever)) return false;
    if (is_full() && !(candidate < found_.back())) return false;
    auto place = found_.end();
    if (once)
      place =
          std::find_if(found_.begin(), place, [&](const KeyedRow& kept) { return kept.second == candidate.second; });
    if (place != found_.end()) {
      if (!(candidate < *place)) return true;
    } else {
      if (!is_full()) found_.emplace_back();
      place = found_.end() - 1;
    }
    for (; place != found_.begin() && candidate < *(place - 1); --place) *place = *(place - 1);
    *place = candidate;
    return true;
  }

  const QueriedBodies<D>& bodies_;
  std::size_t wanted_;
  double farthest_;
  std::vector<KeyedRow>& found_;
  KeyedRow custom_{kNever, -1};
};

// The images of a point in a periodic world that may be nearest to a body: within half a period along each axis.
template <std::size_t D>
class NearImages {
 public:
  explicit NearImages(const PeriodicBodies& bodies) : around_(bodies.around), finder_(bodies) {
    for (std::size_t k = 0; k < D; ++k) half_[k] = (bodies.bounds[D + k] - bodies.bounds[k]) / 2;
  }

  // Calls use(image), in the order of their distances to the box around the bodies, with those within reach().
  template <class Reach, class Use>
  void each(const double* point, const Reach& reach, const Use& use) {
    double box[2 * D];
    for (std::size_t k = 0; k < D; ++k) {
      box[k] = point[k] - half_[k];
      box[D + k] = point[k] + half_[k];
    }
    images_.clear();
    finder_.each(box, [&](const double* shift) {
      Image image;
      for (std::size_t k = 0; k < D; ++k) image.place[k] = point[k] + shift[k];
      image.squared = squared_distance<double>(image.place.data(), around_, D);
      images_.push_back(image);
    });
    std::sort(images_.begin(), images_.end(), [](const Image& a, const Image& b) { return a.squared < b.squared; });
    for (const Image& image : images_) {
      if (std::sqrt(image.squared) > reach() * kRoom) break;
      use(image.place);
    }
  }
  std::size_t count() const { return images_.size(); }

 private:
  static constexpr double kRoom = 1 + 1e-9;
  struct Image {
    Vec<D> place;
    double squared;
  };

  const double* around_;
  ImageFinder<D> finder_;
  double half_[D];
  std::vector<Image> images_;
};

}  // namespace broadphase
