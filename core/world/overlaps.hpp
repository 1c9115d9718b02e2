// Which bodies of a world overlap something, and which is the first that a moving shape touches: what queries test at
// the leaves of a tree, or of candidates that another index has found.
//
// Two shapes overlap if both their bounding boxes and the shapes do, as in narrow/batch.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "boxes/any_boxes.hpp"
#include "narrow/batch.hpp"
#include "narrow/geometries.hpp"
#include "query/queries.hpp"
#include "query/sort_rows.hpp"
#include "world/images.hpp"
#include "world/queries.hpp"

namespace broadphase {

// A placed shape that a query looks for; of an image of the query, moved to it.
template <std::size_t D>
class SoughtShape {
 public:
  SoughtShape() = default;
  SoughtShape(const SoughtShape&) = delete;  // it points into itself
  SoughtShape& operator=(const SoughtShape&) = delete;

  // What is given to any of these must live as long.
  void set_box(const double* corners) { begin({ShapeKind::kBox, {corners, 2 * D}}, corners); }
  void set_point(const double* place) {
    begin({ShapeKind::kPoint, {place, D}}, around_.data());
    surround();
  }
  void set_ball(const double* centre, double radius) {
    std::copy_n(centre, D, ball_.begin());
    ball_[D] = radius;
    begin({ShapeKind::kBall, ball_}, around_.data());
    surround();
  }
  // Of a hull or a mesh, the geometry is among those by number.
  void set(const ShapeView<D>& shape, const double* around, std::span<const Geometry> geometries) {
    geometries_ = geometries;
    begin(shape, around);
  }

  // Moves it from where it was set.
  void move(const double* shift) {
    shift_ = shift;
    side_.reset();
    moved_.assign(whole_.record.begin(), whole_.record.end());
    shift_shape<D>(whole_.kind, moved_, shift);
    shape_.record = moved_;
    for (std::size_t k = 0; k < 2 * D; ++k) moved_box_[k] = own_box_[k] + shift[k % D];
    box_ = moved_box_.data();
  }

  const ShapeView<D>& shape() const { return shape_; }
  const double* box() const { return box_; }
  // Of a ball or a point; otherwise NaN.
  double radius() const { return radius_; }
  bool is_custom() const { return whole_.kind == ShapeKind::kCustom; }

  // As the narrow phase of hulls and meshes takes it. Precondition: it is in space, and not custom.
  const MeshSide& side() {
    if (!side_) side_.emplace(side_of(whole_, geometries_, shift_, side_record_));
    return *side_;
  }

  // Whether it overlaps a box, where it was set. Precondition: no hull, mesh or custom shape.
  bool overlaps_box(const double* box) const {
    const ShapeView<D> other{ShapeKind::kBox, {box, 2 * D}};
    return (implies_boxes(whole_, other) || boxes_meet(own_box_, box, D)) && overlaps(whole_, other);
  }

 private:
  void begin(const ShapeView<D>& shape, const double* around) {
    whole_ = shape_ = shape;
    box_ = own_box_ = around;
    shift_ = nullptr;
    side_.reset();
    radius_ = shape.kind == ShapeKind::kBall    ? shape.record[D]
              : shape.kind == ShapeKind::kPoint ? 0.0
                                                : std::numeric_limits<double>::quiet_NaN();
  }
  void surround() {
    ShapeBounds<D> bounds;
    add_bounds<D, true>(whole_, bounds);
    std::copy_n(bounds.lower.begin(), D, around_.begin());
    std::copy_n(bounds.upper.begin(), D, around_.begin() + D);
  }

  ShapeView<D> whole_{}, shape_{};  // where it was set, and moved
  const double *own_box_ = nullptr, *box_ = nullptr;
  std::array<double, D + 1> ball_{};
  std::array<double, 2 * D> around_{}, moved_box_{};
  double radius_ = 0;
  const double* shift_ = nullptr;
  std::vector<double> moved_, side_record_;
  std::span<const Geometry> geometries_;
  std::optional<MeshSide> side_;
};

// What the queries of one call look for.
template <std::size_t D>
class SoughtShapes {
 public:
  static SoughtShapes of_boxes(const double* corners, std::size_t count) {
    return {Form::boxes, corners, nullptr, count};
  }
  static SoughtShapes of_points(const double* places, std::size_t count) {
    return {Form::points, places, nullptr, count};
  }
  static SoughtShapes of_balls(const double* centres, const double* radii, std::size_t count) {
    return {Form::balls, centres, radii, count};
  }
  static SoughtShapes of_shapes(const ShapeStore& store, const double* boxes, std::span<const Geometry> geometries,
                                std::size_t count) {
    SoughtShapes made{Form::shapes, boxes, nullptr, count};
    made.store_ = &store;
    made.geometries_ = geometries;
    return made;
  }

  std::size_t count() const { return count_; }
  bool are_balls() const { return form_ == Form::balls; }
  const double* centre(std::size_t query) const { return numbers_ + query * D; }
  double radius(std::size_t query) const { return radii_[query]; }

  void get(std::size_t query, SoughtShape<D>& to) const {
    switch (form_) {
      case Form::boxes: to.set_box(numbers_ + query * 2 * D); return;
      case Form::points: to.set_point(numbers_ + query * D); return;
      case Form::balls: to.set_ball(numbers_ + query * D, radii_[query]); return;
      case Form::shapes: to.set(store_->placed<D>(query), numbers_ + query * 2 * D, geometries_); return;
    }
  }
  // Where the queries are: the corners of boxes, or points.
  BoxView<double> places() const {
    const bool has_corners = form_ == Form::boxes || form_ == Form::shapes;
    const auto stride = static_cast<std::ptrdiff_t>(has_corners ? 2 * D : D);
    return {numbers_, has_corners ? numbers_ + D : numbers_, stride, stride, count_};
  }

 private:
  enum class Form : std::uint8_t { boxes, points, balls, shapes };

  SoughtShapes(Form form, const double* numbers, const double* radii, std::size_t count)
      : form_(form), numbers_(numbers), radii_(radii), count_(count) {}

  Form form_;
  const double *numbers_, *radii_;
  std::size_t count_;
  const ShapeStore* store_ = nullptr;
  std::span<const Geometry> geometries_;
};

enum class Overlap : std::uint8_t { no, yes, unknown };

// The placed shape of a body. Balls and boxes are read where the test has looked already.
template <std::size_t D>
ShapeView<D> shape_of(const QueriedBodies<D>& bodies, std::int32_t row) {
  const StoredBall& ball = bodies.shapes->balls()[row];
  if (ball[D] == ShapeStore::kBoxMark) return {ShapeKind::kBox, {bodies.box(row), 2 * D}};
  if (ball[D] >= 0) return {ShapeKind::kBall, {ball.data(), D + 1}};
  return bodies.shape(row);
}

// Whether a body overlaps what is sought: `unknown` where the boxes overlap and one of the shapes is custom.
template <std::size_t D>
Overlap overlap_of(const QueriedBodies<D>& bodies, std::int32_t row, SoughtShape<D>& sought) {
  const auto answer = [](bool overlaps) { return overlaps ? Overlap::yes : Overlap::no; };
  const StoredBall& ball = bodies.shapes->balls()[row];
  const double reach = ball[D] + sought.radius();
  if (reach >= kLeastReach && reach <= kMostReach) {
    double squared = 0;
    for (std::size_t axis = 0; axis < D; ++axis) {
      const double gap = sought.shape().record[axis] - ball[axis];
      squared += gap * gap;
    }
    return answer(squared <= reach * reach);
  }
  const bool do_boxes = boxes_meet(bodies.box(row), sought.box(), D);
  if (ball[D] == ShapeStore::kBoxMark && sought.shape().kind == ShapeKind::kBox) return answer(do_boxes);
  const ShapeView<D> own = shape_of(bodies, row);
  if (!do_boxes && !implies_boxes(own, sought.shape())) return Overlap::no;
  if (own.kind == ShapeKind::kCustom || sought.is_custom()) return Overlap::unknown;
  if constexpr (D == 3) {
    if (is_kept_elsewhere(own.kind) || is_kept_elsewhere(sought.shape().kind)) {
      std::vector<double> unmoved;
      return answer(overlaps(side_of(own, bodies.geometries, nullptr, unmoved), sought.side()));
    }
  }
  return answer(overlaps(own, sought.shape()));
}

// Calls look_at(row) for some rows, which are anywhere in memory: each is read a little ahead. `known` more rows
// follow.
template <std::size_t D, class LookAt>
void for_each_body(const QueriedBodies<D>& bodies, std::span<const std::int32_t> rows, std::size_t known,
                   const LookAt& look_at) {
  constexpr std::size_t kAhead = 12;
  const StoredBall* balls = bodies.shapes->balls();
  const std::size_t last = rows.size() + known;
  // Not in a function of its own: GCC takes one that only reads ahead for one without effect, and drops the call.
  for (std::size_t k = 0; k < std::min(kAhead, rows.size()) && known == 0; ++k) {
    read_ahead(balls + rows[k]);
    read_ahead(bodies.boxes + 2 * D * static_cast<std::size_t>(rows[k]));
  }
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (k + kAhead < last) {
      const auto row = static_cast<std::size_t>(rows.data()[k + kAhead]);
      read_ahead(balls + row);
      read_ahead(bodies.boxes + 2 * D * row);
    }
    look_at(rows[k]);
  }
}

// What one thread needs for queries that walk through a tree.
template <std::size_t D>
struct OverlapScratch {
  SoughtShape<D> sought;
  BoxWalk boxes;
  BallWalk balls;
  std::vector<std::int32_t> near;
};

// The bodies near a ball that is sought, or near a box that is around what is sought, in scratch.near.
template <std::size_t D>
void find_near_ball(const TreeQueries& tree, std::size_t query, OverlapScratch<D>& scratch) {
  scratch.near.clear();
  tree.each_in_ball(query, scratch.sought.shape().record.data(), scratch.sought.radius(), scratch.balls,
                    [&](std::int32_t row) { scratch.near.push_back(row); });
}
template <std::size_t D>
void find_near_box(const TreeQueries& tree, std::size_t query, const double* box, OverlapScratch<D>& scratch) {
  scratch.near.clear();
  tree.each_in_box(query, box, scratch.boxes, [&](std::int32_t row) { scratch.near.push_back(row); });
}

// Rows near something, and how many others follow them in memory.
struct NearRows {
  std::span<const std::int32_t> rows;
  std::size_t known;
};

// A body that overlaps a query, or the image of one, if its class says so.
struct Unknown {
  std::int32_t query, row, image;
  bool operator<(const Unknown& other) const {
    return std::tie(query, row, image) < std::tie(other.query, other.row, other.image);
  }
};

// Looks among bodies for those that overlap `sought`, at one of its images if there are any: `images`, from `first` to
// `last`. An image with an infinite box is everywhere. near(box, number) gives the bodies near what is sought, or near
// the box of an image; `counts` says which of them count. Appends rows in any order, a large body once for each image
// that meets it, and what is not known.
template <std::size_t D, class Near, class Counts>
void look_among(const QueriedBodies<D>& bodies, std::int32_t query, SoughtShape<D>& sought, const Images* images,
                std::size_t first, std::size_t last, const Near& near, const Counts& counts,
                std::vector<std::int32_t>& rows, std::vector<Unknown>& unknown) {
  const auto look = [&](const NearRows& some, std::size_t image) {
    for_each_body(bodies, some.rows, some.known, [&](std::int32_t row) {
      if (bodies.is_left_out(row) || !counts(row)) return;
      const Overlap overlap = overlap_of(bodies, row, sought);
      if (overlap == Overlap::yes) rows.push_back(row);
      if (overlap == Overlap::unknown) unknown.push_back({query, row, static_cast<std::int32_t>(image)});
    });
  };
  if (images == nullptr) {
    look(near(sought.box(), static_cast<std::size_t>(query)), 0);
    return;
  }
  for (std::size_t image = first; image < last; ++image) {
    const double* box = images->boxes.data() + image * 2 * D;
    if (box[0] == -kNever) {
      for (const std::int32_t row : near(box, image).rows)
        if (!bodies.is_left_out(row) && counts(row)) rows.push_back(row);
      continue;
    }
    sought.move(images->shifts.data() + image * D);
    look(near(box, image), image);
  }
}

// Sorts the rows from `begin` on. With `many`, some may be there several times, and are kept once.
inline void put_in_order(std::vector<std::int32_t>& rows, std::size_t begin, bool many) {
  if (!many) {
    sort_rows(rows.data() + begin, rows.size() - begin);
    return;
  }
  const auto from = rows.begin() + static_cast<std::ptrdiff_t>(begin);
  std::sort(from, rows.end());
  rows.erase(std::unique(from, rows.end()), rows.end());
}

// ---- Moving shapes ----

// A box that moves, and when it passes others.
template <std::size_t D>
struct MovingBox {
  const double* box;     // at the beginning
  const double* motion;  // until time 1
  std::array<double, 2 * D> swept;

  MovingBox(const double* at_first, const double* moved) : box(at_first), motion(moved) {
    for (std::size_t k = 0; k < D; ++k) {
      swept[k] = std::min(box[k], box[k] + motion[k]);
      swept[D + k] = std::max(box[D + k], box[D + k] + motion[k]);
    }
  }

  // When it comes to another box, a little generously, because of rounding; infinity if it passes by.
  double arrival(const double* other) const {
    constexpr double kRoom = 1e-12;
    if (!boxes_meet(swept.data(), other, D)) return kNever;
    double enter = 0, leave = 1;
    for (std::size_t k = 0; k < D; ++k) {
      if (motion[k] == 0) continue;
      const double room = kRoom * (std::fabs(box[k]) + std::fabs(box[D + k]) + std::fabs(motion[k]));
      const double one = (other[k] - box[D + k] - room) / motion[k], two = (other[D + k] - box[k] + room) / motion[k];
      enter = std::fmax(enter, std::fmin(one, two));
      leave = std::fmin(leave, std::fmax(one, two));
    }
    return enter <= leave ? enter : kNever;
  }

  // For a walk through a tree: larger than the box by more than shapes may be found outside of theirs.
  Sweep sweep() const {
    constexpr double kRoom = 0x1p-30;
    double size = 0;
    for (std::size_t k = 0; k < D; ++k)
      size = std::max(size, std::fabs(box[k]) + std::fabs(box[D + k]) + std::fabs(motion[k]));
    Sweep sweep;
    sweep.ends = true;
    for (std::size_t k = 0; k < D; ++k) {
      sweep.box[k] = box[k] - kRoom * size;
      sweep.box[D + k] = box[D + k] + kRoom * size;
      sweep.motion[k] = motion[k];
    }
    return sweep;
  }
};

// The body that a moving shape touches first, of several the lowest row; and the custom shape that it would have to be
// compared with, if there is one that it may reach as soon.
struct FirstTouched {
  static constexpr std::int32_t kNobody = std::numeric_limits<std::int32_t>::max();

  KeyedRow touched{kNever, kNobody}, custom{kNever, kNobody};

  bool is_known() const { return custom.second == kNobody || custom.first > touched.first; }
};

// Looks at one more body. `sought` is the moving shape where it begins.
template <std::size_t D>
void touch(const QueriedBodies<D>& bodies, std::int32_t row, SoughtShape<D>& sought, const MovingBox<D>& moving,
           FirstTouched& first) {
  const double arrival = moving.arrival(bodies.box(row));
  if (!(arrival < kNever)) return;
  const ShapeView<D> own = shape_of(bodies, row);
  if (own.kind == ShapeKind::kCustom || sought.is_custom()) {
    first.custom = std::min(first.custom, KeyedRow(arrival, row));
    return;
  }
  Vec<D> motion, normal;
  std::copy_n(moving.motion, D, motion.begin());
  const auto time_of = [&] {
    if constexpr (D == 3) {
      if (is_kept_elsewhere(own.kind) || is_kept_elsewhere(sought.shape().kind)) {
        std::vector<double> unmoved;
        return impact_time(sought.side(), motion, side_of(own, bodies.geometries, nullptr, unmoved), &normal);
      }
    }
    return impact_time(sought.shape(), motion, own, &normal);
  };
  const double time = time_of();
  if (time < kNever) first.touched = std::min(first.touched, KeyedRow(time, row));
}

}  // namespace broadphase
