// The shapes of many rows, local and placed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "shapes/shape.hpp"

namespace broadphase {

// The placed record of a ball, by row, in an array of its own because the narrow phase needs it most; two fill a cache
// line, and none lies in two. The value after the centre is the radius. Rows of other shapes hold `kNoBall` everywhere,
// rows of boxes that are placed parallel to the axes `kBoxMark`, so that the sum of two radii tells which case a pair
// is.
struct alignas(32) StoredBall {
  std::array<double, 4> numbers;

  double& operator[](std::size_t k) { return numbers[k]; }
  double operator[](std::size_t k) const { return numbers[k]; }
  double* data() { return numbers.data(); }
  const double* data() const { return numbers.data(); }
};

// Records are stored in the order in which rows received them. A row whose new shape needs no more room keeps its
// place. When more than half of the memory is unused, everything is compacted.
class ShapeStore {
 public:
  using LocalRoom = std::array<double, 15>;  // for the longest record of a box

  // The vertices of hulls and meshes, by the numbers in their records. May be null: their boxes are not exact then.
  explicit ShapeStore(const VertexTrees* vertices = nullptr) : vertices_(vertices) {}

  // Those of a record of any kind; null without any.
  const VertexTree* vertices(ShapeKind kind, std::span<const double> record) const {
    const bool has_vertices = kind == ShapeKind::kHull || kind == ShapeKind::kMesh;
    return has_vertices && vertices_ != nullptr ? (*vertices_)[static_cast<std::size_t>(record[0])] : nullptr;
  }
  std::size_t row_count() const { return slots_.size(); }
  bool has(std::size_t row) const { return row < slots_.size() && slots_[row].length != 0; }
  ShapeKind kind(std::size_t row) const { return slots_[row].kind; }
  // The local record of a row; in `room` if it is not stored in full.
  std::span<const double> local(std::size_t row, LocalRoom& room) const {
    const Slot& slot = slots_[row];
    const double* record = local_.data() + slot.at;
    if (!lacks_axes(slot)) return {record, slot.length};
    const std::size_t dimension = dimension_of_box(slot.length);
    room.fill(0.0);
    std::copy_n(record, 2 * dimension, room.begin());
    for (std::size_t axis = 0; axis < dimension; ++axis) room[(2 + axis) * dimension + axis] = 1.0;
    return {room.data(), slot.length};
  }

  template <std::size_t D>
  ShapeView<D> placed(std::size_t row) const {
    const Slot& slot = slots_[row];
    if (slot.placed_kind == ShapeKind::kBox) return {ShapeKind::kBox, {placed_.data() + slot.at, 2 * D}};
    const double* record = slot.kind == ShapeKind::kBall ? balls_[row].data()
                           : lacks_axes(slot)            ? turned_.data() + turned_at_[row]
                                                         : placed_.data() + slot.at;
    return {slot.placed_kind, {record, slot.length}};
  }

  static constexpr double kNoBall = -std::numeric_limits<double>::infinity(), kBoxMark = -0x1p1000;
  static constexpr StoredBall kNothing{{kNoBall, kNoBall, kNoBall, kNoBall}};
  const StoredBall* balls() const { return balls_.data(); }

  // Makes it so many rows long at least; rows that are new have no shape.
  void extend(std::size_t rows) {
    if (rows <= slots_.size()) return;
    balls_.resize(rows, kNothing);
    slots_.resize(rows);
  }

  // Memory that some rows need to be given shapes.
  class Room {
   public:
    void add(const ShapeStore& store, std::size_t row, ShapeKind kind, std::span<const double> record) {
      const bool is_parallel = kind == ShapeKind::kOrientedBox && is_parallel_to_axes(record);
      const std::size_t length = is_parallel ? 2 * dimension_of_box(record.size()) : record.size();
      if (row >= store.slots_.size() || length > store.slots_[row].room) numbers_ += length;
      if (is_parallel && (row >= store.turned_at_.size() || store.turned_at_[row] == kNoRoom)) turned_ += record.size();
      rows_ = std::max(rows_, row + 1);
    }

   private:
    friend ShapeStore;
    std::size_t rows_ = 0, numbers_ = 0, turned_ = 0;
  };

  // Makes room for shapes, so that `put` cannot fail. Throws bad_alloc; nothing that can be seen changes.
  void reserve(const Room& room) {
    if (local_.size() + room.numbers_ > std::numeric_limits<std::uint32_t>::max() ||
        turned_.size() + room.turned_ > std::numeric_limits<std::uint32_t>::max())
      throw std::bad_alloc();
    reserve_ahead(local_, local_.size() + room.numbers_);
    reserve_ahead(placed_, placed_.size() + room.numbers_);
    reserve_ahead(balls_, room.rows_);
    reserve_ahead(slots_, room.rows_);
    reserve_ahead(turned_, turned_.size() + room.turned_);
    if (room.turned_ > 0) reserve_ahead(turned_at_, std::max(slots_.size(), room.rows_));
  }

  // Gives a row a shape, which the next `place` places. Throws bad_alloc, and then nothing has changed.
  void set(std::size_t row, ShapeKind kind, std::span<const double> record) {
    Room room;
    room.add(*this, row, kind, record);
    reserve(room);
    put(row, kind, record);
    tidy();
  }

  // As `set`, in memory that `reserve` has made room for.
  void put(std::size_t row, ShapeKind kind, std::span<const double> record) noexcept {
    const bool is_parallel = kind == ShapeKind::kOrientedBox && is_parallel_to_axes(record);
    const auto length = static_cast<std::uint32_t>(is_parallel ? 2 * dimension_of_box(record.size()) : record.size());
    const bool is_new = row >= slots_.size(), moves = is_new || length > slots_[row].room;
    const std::size_t at = local_.size();
    if (is_parallel) make_turned_room(row, record.size());
    if (is_new) {
      balls_.resize(row + 1, kNothing);
      slots_.resize(row + 1);
    }
    Slot& slot = slots_[row];
    if (moves) {
      local_.resize(at + length);
      placed_.resize(at + length);
      waste_ += slot.room;
      slot.at = static_cast<std::uint32_t>(at);
      slot.room = length;
    }
    slot.kind = kind;
    slot.length = static_cast<std::uint32_t>(record.size());
    set_placed_kind(row, kind);
    std::copy_n(record.begin(), length, local_.begin() + static_cast<std::ptrdiff_t>(slot.at));
    slot.is_plain_box = kind == ShapeKind::kBox || is_parallel;
    const std::size_t dimension = record.size() - 1;  // of a ball
    slot.is_centred_ball =
        kind == ShapeKind::kBall && std::all_of(record.begin(), record.end() - 1, [](double x) { return x == 0.0; });
    if (kind == ShapeKind::kBall) balls_[row][dimension] = record[dimension];
  }

  // Drops memory that no row uses, where there is much of it. To be called after `put`.
  void tidy() noexcept {
    if (waste_ > local_.size() / 2) compact();
  }

  // Gives a row an axis-aligned box, by its corners, that is already placed and never moves.
  void set_placed_box(std::size_t row, std::span<const double> corners) {
    set(row, ShapeKind::kBox, corners);
    std::copy(corners.begin(), corners.end(), placed_.begin() + static_cast<std::ptrdiff_t>(slots_[row].at));
  }

  // Removes the shape of a row. Its memory is kept for the row's next shape.
  void clear(std::size_t row) { slots_[row].length = 0; }

  // Places the shape of a row and writes its bounding box.
  template <std::size_t D>
  void place(std::size_t row, const double* position, const double* rotation, double* lower, double* upper) {
    const Slot& slot = slots_[row];
    if (slot.is_centred_ball) {
      place_centred_ball<D>(balls_[row], position, lower, upper);
      return;
    }
    if (slot.is_plain_box && !is_turn<D>(rotation)) {
      if (slot.placed_kind != ShapeKind::kBox) set_placed_kind(row, ShapeKind::kBox);
      const double* from = local_.data() + slot.at;
      double* to = placed_.data() + slot.at;
      for (std::size_t k = 0; k < D; ++k) {
        const double centre = from[k] + position[k];
        lower[k] = to[k] = centre - from[D + k];
        upper[k] = to[D + k] = centre + from[D + k];
      }
      return;
    }
    double* to = slot.kind == ShapeKind::kBall ? balls_[row].data()
                 : lacks_axes(slot)            ? turned_.data() + turned_at_[row]
                                               : placed_.data() + slot.at;
    LocalRoom room;
    const ShapeKind placed_kind = place_shape<D>(slot.kind, local(row, room), Pose<D>(position, rotation), to);
    if (placed_kind != slot.placed_kind) set_placed_kind(row, placed_kind);
    if (placed_kind == ShapeKind::kBox && lacks_axes(slot))  // where boxes are that are not turned
      std::copy_n(to, 2 * D, placed_.begin() + static_cast<std::ptrdiff_t>(slot.at));
    ShapeBounds<D> bounds;
    const ShapeView<D> shape = placed<D>(row);
    add_bounds<D, true>(shape, bounds, vertices(shape.kind, shape.record));
    std::copy_n(bounds.lower.begin(), D, lower);
    std::copy_n(bounds.upper.begin(), D, upper);
  }

  // Whether consecutive rows all have balls around their positions: the most frequent shape.
  bool are_centred_balls(std::size_t row, std::size_t count) const {
    if (row + count > slots_.size()) return false;
    bool are = true;
    for (const Slot* slot = slots_.data() + row; slot != slots_.data() + row + count; ++slot)
      are &= slot->is_centred_ball & (slot->length != 0);
    return are;
  }
  // Places such rows, at D numbers each, and writes their bounding boxes: what `place` does row by row.
  template <std::size_t D>
  void place_centred_balls(std::size_t row, std::size_t count, const double* positions, double* boxes) {
    StoredBall* balls = balls_.data() + row;
    for (std::size_t k = 0; k < count; ++k)
      place_centred_ball<D>(balls[k], positions + k * D, boxes + k * 2 * D, boxes + (k * 2 + 1) * D);
  }

  // The bounding box of a row's shape at the origin, without the enlargement for rounding.
  template <std::size_t D>
  ShapeBounds<D, false> relative_bounds(std::size_t row, const double* rotation) const {
    const Vec<D> origin{};
    std::vector<double> record(slots_[row].length);
    LocalRoom room;
    const ShapeKind kind =
        place_shape<D>(slots_[row].kind, local(row, room), Pose<D>(origin.data(), rotation), record.data());
    ShapeBounds<D, false> bounds;
    add_bounds<D, false>({kind, record}, bounds, vertices(kind, record));
    return bounds;
  }

  std::size_t memory_bytes() const {
    return slots_.capacity() * sizeof(Slot) + balls_.capacity() * sizeof(StoredBall) +
           (local_.capacity() + placed_.capacity() + turned_.capacity()) * sizeof(double) +
           turned_at_.capacity() * sizeof(std::uint32_t);
  }

 private:
  struct Slot {
    std::uint32_t at = 0;
    std::uint32_t room = 0;
    std::uint32_t length = 0;  // 0: no shape
    ShapeKind kind = ShapeKind::kPoint;
    ShapeKind placed_kind = ShapeKind::kPoint;
    bool is_centred_ball = false;
    bool is_plain_box = false;  // parallel to the axes while its body is not rotated
  };
  static_assert(sizeof(Slot) == 16);

  // The same numbers as in the general case, which would add 0.
  template <std::size_t D>
  static void place_centred_ball(StoredBall& ball, const double* position, double* lower, double* upper) {
    // All is read before anything is written: the compiler cannot know that these are other numbers.
    const double radius = ball[D];
    double centre[D], low[D], high[D];
    for (std::size_t k = 0; k < D; ++k) {
      centre[k] = position[k];
      low[k] = ShapeBounds<D>::below(centre[k], radius);
      high[k] = ShapeBounds<D>::above(centre[k], radius);
    }
    // Not `std::copy_n`, which some compilers make a call of, for three numbers.
    for (std::size_t k = 0; k < D; ++k) ball[k] = centre[k];
    for (std::size_t k = 0; k < D; ++k) lower[k] = low[k];
    for (std::size_t k = 0; k < D; ++k) upper[k] = high[k];
  }

  // The dimension of an oriented box by the length of its record: 8 values in 2-d, 15 in 3-d.
  static std::size_t dimension_of_box(std::size_t length) { return length == 8 ? 2 : 3; }

  static bool is_parallel_to_axes(std::span<const double> record) {
    return dimension_of_box(record.size()) == 2 ? has_coordinate_axes<2>(record.data())
                                                : has_coordinate_axes<3>(record.data());
  }

  // Whether it is an oriented box parallel to the world's axes: its axes are not stored, which halves the memory of
  // most boxes.
  static bool lacks_axes(const Slot& slot) { return slot.is_plain_box && slot.kind == ShapeKind::kOrientedBox; }

  void make_turned_room(std::size_t row, std::size_t length) {
    if (row >= turned_at_.size()) turned_at_.resize(std::max(slots_.size(), row + 1), kNoRoom);
    if (turned_at_[row] != kNoRoom) return;
    const std::size_t at = turned_.size();
    turned_.resize(at + length);
    turned_at_[row] = static_cast<std::uint32_t>(at);
  }

  void set_placed_kind(std::size_t row, ShapeKind kind) {
    slots_[row].placed_kind = kind;
    balls_[row].numbers.fill(kind == ShapeKind::kBox ? kBoxMark : kNoBall);
  }

  // If there is no memory for the copies, everything stays in place: the shapes are stored, and the next `set` tries
  // again.
  void compact() {
    std::vector<double> local, placed;
    try {
      local.reserve(local_.size() - waste_);
      placed.reserve(local_.size() - waste_);
    } catch (const std::bad_alloc&) {
      return;
    }
    for (Slot& slot : slots_) {
      const std::size_t at = std::exchange(slot.at, static_cast<std::uint32_t>(local.size()));
      local.insert(local.end(), local_.begin() + static_cast<std::ptrdiff_t>(at),
                   local_.begin() + static_cast<std::ptrdiff_t>(at + slot.room));
      placed.insert(placed.end(), placed_.begin() + static_cast<std::ptrdiff_t>(at),
                    placed_.begin() + static_cast<std::ptrdiff_t>(at + slot.room));
    }
    local_ = std::move(local);
    placed_ = std::move(placed);
    waste_ = 0;
  }

  const VertexTrees* vertices_;
  std::vector<Slot> slots_;
  std::vector<StoredBall> balls_;  // by row
  std::vector<double> local_, placed_;
  // Placed records of boxes without stored axes, while their bodies are rotated; apart from the others, so that a world
  // without rotations need not skip over them.
  static constexpr std::uint32_t kNoRoom = std::numeric_limits<std::uint32_t>::max();
  std::vector<double> turned_;
  std::vector<std::uint32_t> turned_at_;  // by row
  std::size_t waste_ = 0;                 // values that belong to no row
};

}  // namespace broadphase
