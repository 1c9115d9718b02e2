// Hulls and meshes that move between queries: which of them collide, and which are nearest. Pairs of those that have
// not moved are kept.
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

#include "base/parallel.hpp"
#include "boxes/box_view.hpp"
#include "narrow/clearances.hpp"
#include "narrow/meshes.hpp"
#include "narrow/polytopes.hpp"
#include "query/collect.hpp"
#include "query/problem.hpp"
#include "shapes/shape.hpp"

namespace broadphase {

// Lower and upper corner.
using MeshBounds = std::array<double, 6>;

// A surface of triangles; or a convex solid, and the same a little smaller: two solids collide if one meets the other
// made smaller, so that those that only touch do not.
struct SceneMesh {
  const MeshTree* surface = nullptr;
  const Polytope *solid = nullptr, *smaller = nullptr;
  MeshBounds bounds{}, bounds_of_smaller{};

  bool is_surface() const { return surface != nullptr; }
};

// The quaternion, of any length but zero, of a row-major matrix (4, 4) whose columns are so nearly a rotation that it
// counts as one.
inline std::optional<std::array<double, 4>> rotation_of(std::span<const double, 16> matrix) {
  constexpr double kNearly = 1e-6;
  const double a = matrix[0], b = matrix[1], c = matrix[2], d = matrix[4], e = matrix[5], f = matrix[6], g = matrix[8],
               h = matrix[9], i = matrix[10];
  const double error = std::max({std::abs(a * a + d * d + g * g - 1), std::abs(b * b + e * e + h * h - 1),
                                 std::abs(c * c + f * f + i * i - 1), std::abs(a * b + d * e + g * h),
                                 std::abs(a * c + d * f + g * i), std::abs(b * c + e * f + h * i)});
  const double volume = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g);
  if (!(error <= kNearly && volume > 0)) return std::nullopt;
  // The largest of the four numbers first: the others are known best from that.
  const double ww = 1 + a + e + i, xx = 1 + a - e - i, yy = 1 - a + e - i, zz = 1 - a - e + i;
  const double largest = std::max({ww, xx, yy, zz});
  if (largest == ww) return {{ww, h - f, c - g, d - b}};
  if (largest == xx) return {{h - f, xx, b + d, c + g}};
  if (largest == yy) return {{c - g, b + d, yy, f + h}};
  return {{d - b, c + g, f + h, zz}};
}

class MeshScene {
 public:
  using Slot = std::int32_t;
  using SlotPair = std::array<Slot, 2>;

  static constexpr double kFarthest = std::numeric_limits<double>::max();
  // The nearest pair; without one, slots are -1. Negative: how deep they are in each other.
  struct Nearest {
    double distance = kFarthest;
    SlotPair slots{-1, -1};
  };

  std::size_t slot_count() const { return slots_.size(); }
  std::size_t size() const { return size_; }
  bool has(std::size_t slot) const { return slot < slots_.size() && slots_[slot].shape != nullptr; }
  // Changes whenever `all_hits` may return something else.
  std::uint64_t version() const { return version_; }
  // How many pairs of its own have been tested so far.
  std::uint64_t tested() const { return tested_; }

  // Puts a shape, which must live as long as it is there, into a slot, and moves what is there if it is the same.
  // Precondition: the slot is one that there is, or the next one.
  void put(std::size_t slot, const SceneMesh& shape, const Vec<3>& position, const double* rotation) {
    if (slot == slots_.size()) {
      const std::size_t count = slot + 1;
      if (unsettled_.capacity() < count) unsettled_.reserve(2 * count);
      if (unmeasured_.capacity() < count) unmeasured_.reserve(2 * count);
      boxes_.resize(6 * count);
      is_settled_.resize(count, 1);
      is_measured_.resize(count, 1);
      slots_.emplace_back();
    }
    if (!has(slot)) ++size_;
    slots_[slot].shape = &shape;
    place(shape.bounds, Pose<3>(position.data(), rotation), slots_[slot].record, box(slot));
    note(slot);
  }

  // Precondition: it has one.
  void remove(std::size_t slot) {
    --size_;
    slots_[slot].shape = nullptr;
    forget_box(slot);
    note(slot);
  }

  // Whether any two collide. `collect(problem)` returns the pairs of boxes that overlap.
  template <class Collect>
  bool any_hit(const Collect& collect, Interrupt& interrupt) {
    if (std::any_of(hits_.begin(), hits_.end(), [&](const SlotPair& hit) { return is_settled(hit); })) return true;
    settle(false, collect, interrupt);
    return !hits_.empty();
  }

  // All pairs that collide, the lower slot first.
  template <class Collect>
  const std::vector<SlotPair>& all_hits(const Collect& collect, Interrupt& interrupt) {
    settle(true, collect, interrupt);
    return hits_;
  }

  // Pairs with another scene that collide: all, or one if there is any.
  template <class Collect>
  std::vector<SlotPair> hits_with(const MeshScene& other, bool all, const Collect& collect,
                                  Interrupt& interrupt) const {
    std::vector<SlotPair> found;
    const auto test = [&](std::size_t slot, std::size_t place) {
      interrupt.check();
      if (collide(*this, slot, other, place)) found.push_back(pair_of(slot, place));
      return all || found.empty();
    };
    if (compares_all(size_, other.size_)) {
      const bool is_other_smaller = other.size_ <= size_;
      const MeshScene &few = is_other_smaller ? other : *this, &many = is_other_smaller ? *this : other;
      for (std::size_t k = 0; k < few.slots_.size(); ++k)
        if (few.has(k) && !many.for_each_meeting(few.box(k), [&](std::size_t slot) {
              return is_other_smaller ? test(slot, k) : test(k, slot);
            }))
          break;
    } else {
      const Boxes own(*this, living()), others(other, other.living());
      own.for_each_pair(others, 0.0, collect, test);
    }
    return found;
  }

  // The nearest two; or the nearest to the object in a slot, if it is not negative.
  template <class Collect>
  Nearest nearest(Slot of, const Collect& collect, Interrupt& interrupt) {
    Nearest best;
    if (of >= 0) {
      look(*this, {&of, 1}, best, collect, interrupt);
      return best;
    }
    const auto [first, second] = nearest_.slots;
    const bool is_there = first >= 0 && has(index(first)) && has(index(second));
    if (is_there && is_measured_[index(first)] != 0 && is_measured_[index(second)] != 0) {
      best = nearest_;
      look(*this, living_of(unmeasured_), best, collect, interrupt);
    } else {
      const SlotPair guess = is_there ? nearest_.slots : near_neighbours();
      if (guess[0] >= 0) measure(*this, index(guess[0]), *this, index(guess[1]), 0, best);
      look(*this, living(), best, collect, interrupt);
    }
    for (const Slot slot : unmeasured_) is_measured_[index(slot)] = 1;
    unmeasured_.clear();
    return nearest_ = best;
  }

  // The nearest pair with another scene.
  template <class Collect>
  Nearest nearest_to(const MeshScene& other, const Collect& collect, Interrupt& interrupt) const {
    Nearest best;
    if (other.size_ <= size_) {
      look(other, other.living(), best, collect, interrupt);
    } else {
      other.look(*this, living(), best, collect, interrupt);
      std::swap(best.slots[0], best.slots[1]);
    }
    return best;
  }

  // Where a pair is nearest, and on which faces, -1 of solids.
  struct Witness {
    Vec<3> first, second;
    std::int32_t face, other_face;
  };
  Witness witness(std::size_t slot, const MeshScene& other, std::size_t place, double distance) const {
    const MeshSide a = side(slot), b = other.side(place);
    const bool are_surfaces = a.is_mesh() && b.is_mesh();
    NearestElements nearest;
    // The first faces that meet are enough: between equal surfaces in one place, all do.
    if (are_surfaces && distance == 0)
      visit_overlapping_faces(a, b, [&](std::int32_t face, std::int32_t other_face) {
        nearest = {0, {}, face, other_face};
        return true;
      });
    if (!(nearest.distance < detail::kNone)) nearest = nearest_elements(a, b, distance + reach_of(slot, other, place));
    if (!(nearest.distance < detail::kNone)) nearest = nearest_elements(a, b);
    std::array<double, 9> corners, other_corners;
    const Element x = a.element(nearest.first, corners), y = b.element(nearest.second, other_corners);
    Witness found{{}, {}, a.row_of(nearest.first), b.row_of(nearest.second)};
    if (distance < 0) {
      const Contact<3> deepest = contact(x, y);
      for (std::size_t k = 0; k < 3; ++k) {
        found.first[k] = deepest.points[0][k] + deepest.normal[k] * distance / 2;
        found.second[k] = deepest.points[0][k] - deepest.normal[k] * distance / 2;
      }
    } else {
      std::tie(found.first, found.second) = are_surfaces
                                                ? detail::nearest_points(corners, other_corners)
                                                : detail::nearest_points(x, y, nearest.distance, nearest.normal);
    }
    return found;
  }

  // Calls visit(face, other face) for those of two surfaces that meet, until it returns true.
  template <class Visit>
  void visit_faces(std::size_t slot, const MeshScene& other, std::size_t place, const Visit& visit) const {
    visit_overlapping(side(slot), other.side(place), visit);
  }

  // Calls visit(face, other face, contact) for the one contact of two solids, and for each face of a surface that meets
  // a solid, until it returns true. The face of a solid is -1. Precondition: one is a solid, and they collide.
  template <class Visit>
  void visit_contacts(std::size_t slot, const MeshScene& other, std::size_t place, const Visit& visit) const {
    const MeshSide a = side(slot), b = other.side(place);
    if (!a.is_mesh() && !b.is_mesh()) {
      visit(std::int32_t{-1}, std::int32_t{-1}, contact(a.alone(), b.alone()));
      return;
    }
    visit_overlapping_faces(a, b, [&](std::int32_t face, std::int32_t other_face) {
      std::array<double, 9> corners, other_corners;
      return visit(a.row_of(face), b.row_of(other_face),
                   contact(a.element(face, corners), b.element(other_face, other_corners)));
    });
  }

  bool is_surface(std::size_t slot) const { return slots_[slot].shape->is_surface(); }
  // Origin and axes of the frame of its mesh: 12 numbers.
  const double* frame(std::size_t slot) const { return slots_[slot].record.data() + 1; }

 private:
  // A placed record of `ShapeKind::kHull` or `kMesh`.
  using Record = std::array<double, 19>;
  static constexpr std::size_t kBounds = 13;  // where they are in a record

  struct Placed {
    const SceneMesh* shape = nullptr;  // null: the slot is free
    Record record{};
  };

  // Up to so many comparisons of boxes take less than to prepare a method for them; and so do those with a few boxes.
  static constexpr std::size_t kCompared = std::size_t{1} << 12, kFew = 4;
  static bool compares_all(std::size_t count, std::size_t other) {
    return count * other <= kCompared || count <= kFew || other <= kFew;
  }
  // Looked at first, where a few may be enough, and by how much more each time.
  static constexpr std::size_t kAtFirst = 4, kGrowth = 8;

  static std::size_t index(Slot slot) { return static_cast<std::size_t>(slot); }
  static SlotPair pair_of(std::size_t first, std::size_t second) {
    return {static_cast<Slot>(first), static_cast<Slot>(second)};
  }

  // ---- What is placed ----

  static void place(const MeshBounds& bounds, const Pose<3>& pose, Record& record, double* box) {
    Record local{0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    std::copy(bounds.begin(), bounds.end(), local.begin() + kBounds);
    place_shape<3>(ShapeKind::kHull, local, pose, record.data());
    write_box(record, box);
  }
  static void write_box(const Record& record, double* box) {
    ShapeBounds<3> bounds;
    add_bounds<3>({ShapeKind::kHull, record}, bounds);
    std::copy_n(bounds.lower.begin(), 3, box);
    std::copy_n(bounds.upper.begin(), 3, box + 3);
  }
  double* box(std::size_t slot) { return boxes_.data() + 6 * slot; }
  const double* box(std::size_t slot) const { return boxes_.data() + 6 * slot; }
  // That of a free slot meets nothing.
  void forget_box(std::size_t slot) {
    std::fill_n(box(slot), 3, std::numeric_limits<double>::infinity());
    std::fill_n(box(slot) + 3, 3, -std::numeric_limits<double>::infinity());
  }
  void note(std::size_t slot) {
    if (std::exchange(is_settled_[slot], 0) != 0) unsettled_.push_back(static_cast<Slot>(slot));
    if (std::exchange(is_measured_[slot], 0) != 0) unmeasured_.push_back(static_cast<Slot>(slot));
  }
  std::vector<Slot> living() const {
    std::vector<Slot> slots;
    slots.reserve(size_);
    for (std::size_t slot = 0; slot < slots_.size(); ++slot)
      if (has(slot)) slots.push_back(static_cast<Slot>(slot));
    return slots;
  }
  std::vector<Slot> living_of(std::vector<Slot> slots) const {
    std::erase_if(slots, [&](Slot slot) { return !has(index(slot)); });
    return slots;
  }

  Element solid(std::size_t slot) const { return {{ShapeKind::kHull, slots_[slot].record}, slots_[slot].shape->solid}; }
  MeshSide side(std::size_t slot) const {
    const Placed& placed = slots_[slot];
    if (placed.shape->is_surface()) return MeshSide(*placed.shape->surface, placed.record);
    return MeshSide({ShapeKind::kHull, placed.record}, placed.shape->solid);
  }

  // ---- Boxes ----

  static bool boxes_meet(const double* p, const double* q) {
    return p[0] <= q[3] && q[0] <= p[3] && p[1] <= q[4] && q[1] <= p[4] && p[2] <= q[5] && q[2] <= p[5];
  }
  // Calls visit(slot) for those whose boxes meet one, as long as it returns true; whether it always has.
  template <class Visit>
  bool for_each_meeting(const double* one, const Visit& visit) const {
    const double* p = boxes_.data();
    for (std::size_t slot = 0; slot < slots_.size(); ++slot, p += 6)
      if (boxes_meet(p, one) && !visit(slot)) return false;
    return true;
  }
  // At most the distance of two boxes.
  static double gap_of(const double* p, const double* q) {
    double square = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const double gap = std::max({p[k] - q[3 + k], q[k] - p[3 + k], 0.0});
      square += gap * gap;
    }
    return std::sqrt(square) * (1 - 1e-12);
  }

  // Boxes of some slots, for a method.
  struct Boxes {
    Boxes(const MeshScene& scene, std::vector<Slot> of) : slots(std::move(of)) {
      numbers.reserve(6 * slots.size());
      for (const Slot slot : slots) numbers.insert(numbers.end(), scene.box(index(slot)), scene.box(index(slot)) + 6);
    }
    BoxView<double> view() const { return {numbers.data(), numbers.data() + 3, 6, 6, slots.size()}; }

    // Calls visit(slot, other slot) for pairs whose boxes are at most `reach` apart, and perhaps others, as long as it
    // returns true.
    template <class Collect, class Visit>
    void for_each_pair(const Boxes& others, double reach, const Collect& collect, const Visit& visit) const {
      Problem<double> problem;
      problem.first = view();
      if (this != &others) {
        problem.second = others.view();
        problem.cross = true;
      }
      if (reach > 0) {
        double farthest = 0;
        for (const Boxes* boxes : {this, &others})
          for (const double number : boxes->numbers) farthest = std::max(farthest, std::abs(number));
        problem.grow = reach / 2 * (1 + 1e-9) + farthest * 0x1p-50;  // and more than rounding may take off
      }
      const Pairs pairs = collect(problem);
      const std::int32_t *first = pairs.block.get(), *second = first + pairs.stride;
      for (std::size_t k = 0; k < pairs.size; ++k)
        if (!visit(index(slots[index(first[k])]), index(others.slots[index(second[k])]))) return;
    }

    std::vector<Slot> slots;
    std::vector<double> numbers;
  };

  // ---- Collisions ----

  // Precondition: the boxes meet.
  static bool collide(const MeshScene& a, std::size_t i, const MeshScene& b, std::size_t j) {
    const SceneMesh &x = *a.slots_[i].shape, &y = *b.slots_[j].shape;
    if (x.is_surface() || y.is_surface()) return overlaps(a.side(i), b.side(j));
    Record smaller = a.slots_[i].record;
    std::copy(x.bounds_of_smaller.begin(), x.bounds_of_smaller.end(), smaller.begin() + kBounds);
    MeshBounds box;
    write_box(smaller, box.data());
    return boxes_meet(box.data(), b.box(j)) && overlaps(Element{{ShapeKind::kHull, smaller}, x.smaller}, b.solid(j));
  }

  bool is_settled(const SlotPair& pair) const {
    return is_settled_[index(pair[0])] != 0 && is_settled_[index(pair[1])] != 0;
  }

  // Finds the pairs of all that has moved, or of some until there is one that collides.
  template <class Collect>
  void settle(bool all, const Collect& collect, Interrupt& interrupt) {
    if (unsettled_.empty()) return;
    ++version_;
    std::erase_if(hits_, [&](const SlotPair& hit) { return !is_settled(hit); });
    for (std::size_t portion = kAtFirst; !unsettled_.empty() && (all || hits_.empty()); portion *= kGrowth) {
      const std::size_t count = all ? unsettled_.size() : std::min(portion, unsettled_.size());
      if (!compares_all(count, slots_.size())) {
        const std::size_t left = unsettled_.size() - count;
        settle_many({unsettled_.data() + left, count}, collect, interrupt);
        unsettled_.resize(left);
        continue;
      }
      for (std::size_t k = 0; k < count && (all || hits_.empty()); ++k) {
        settle_one(index(unsettled_.back()), interrupt);
        unsettled_.pop_back();
      }
    }
  }

  // Finds the pairs of one slot with those that are settled. If it is cut off, the slot is not, and its hits do not
  // count.
  void settle_one(std::size_t slot, Interrupt& interrupt) {
    if (has(slot))
      for_each_meeting(box(slot), [&](std::size_t other) {
        if (is_settled_[other] != 0) test(slot, other, interrupt);
        return true;
      });
    is_settled_[slot] = 1;
  }

  template <class Collect>
  void settle_many(std::span<const Slot> slots, const Collect& collect, Interrupt& interrupt) {
    const Boxes own(*this, living_of({slots.begin(), slots.end()}));
    const auto test_pair = [&](std::size_t slot, std::size_t other) {
      test(slot, other, interrupt);
      return true;
    };
    own.for_each_pair(own, 0.0, collect, test_pair);
    if (own.slots.size() < size_) {
      std::vector<Slot> settled = living();
      std::erase_if(settled, [&](Slot slot) { return is_settled_[index(slot)] == 0; });
      own.for_each_pair(Boxes(*this, std::move(settled)), 0.0, collect, test_pair);
    }
    for (const Slot slot : slots) is_settled_[index(slot)] = 1;
  }

  void test(std::size_t slot, std::size_t other, Interrupt& interrupt) {
    interrupt.check();
    ++tested_;
    const std::size_t first = std::min(slot, other), second = std::max(slot, other);
    if (collide(*this, first, *this, second)) hits_.push_back(pair_of(first, second));
  }

  // ---- Distances ----

  // More than the rounding of the distance of a pair.
  double reach_of(std::size_t slot, const MeshScene& other, std::size_t place) const {
    double reach = 0;
    for (std::size_t k = 0; k < 6; ++k) reach += 1e-9 * (std::abs(box(slot)[k]) + std::abs(other.box(place)[k]));
    return reach;
  }

  // Of a pair whose boxes are at least `gap` apart.
  static void measure(const MeshScene& a, std::size_t i, const MeshScene& b, std::size_t j, double gap, Nearest& best) {
    const MeshSide x = a.side(i), y = b.side(j);
    const bool are_surfaces = x.is_mesh() && y.is_mesh();
    double distance = 0;
    if (!(are_surfaces && gap == 0 && overlaps(x, y))) {
      distance = nearest_elements(x, y, best.distance).distance;
      if (are_surfaces) distance = std::max(distance, 0.0);
    }
    if (distance < best.distance) best = {distance, pair_of(i, j)};
  }

  // Two consecutive slots that are near each other: somewhere to begin.
  SlotPair near_neighbours() const {
    SlotPair nearest{-1, -1};
    double least = std::numeric_limits<double>::infinity();
    std::optional<std::size_t> last;
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      if (!has(slot)) continue;
      if (const double gap = last ? gap_of(box(*last), box(slot)) : least; gap < least) {
        least = gap;
        nearest = pair_of(*last, slot);
      }
      last = slot;
    }
    return nearest;
  }

  // Looks for a pair with some slots of another scene, or of this one, that is nearer than the best so far. Of those
  // that overlap, the first is enough.
  template <class Collect>
  void look(const MeshScene& other, std::span<const Slot> places, Nearest& best, const Collect& collect,
            Interrupt& interrupt) const {
    struct Near {
      double gap;
      std::size_t slot, place;
    };
    std::vector<Near> near;
    const auto consider = [&](std::size_t slot, std::size_t place) {
      if (&other == this && slot == place) return true;
      if (const double gap = gap_of(box(slot), other.box(place)); gap < best.distance)
        near.push_back({gap, slot, place});
      return true;
    };
    const auto is_nearer = [](const Near& p, const Near& q) { return p.gap < q.gap; };
    const auto measure_all = [&] {
      std::sort(near.begin(), near.end(), is_nearer);
      for (const Near& one : near) {
        if (!(best.distance > 0 && one.gap < best.distance)) break;
        measure(*this, one.slot, other, one.place, one.gap, best);
        interrupt.check();
      }
      near.clear();
    };
    std::size_t portion = 1;
    for (std::size_t begin = 0; begin < places.size() && best.distance > 0; begin += portion, portion *= kGrowth) {
      const std::span<const Slot> some = places.subspan(begin, std::min(portion, places.size() - begin));
      if (compares_all(some.size(), size_) || best.distance == kFarthest) {
        for (const Slot place : some)
          for (std::size_t slot = 0; slot < slots_.size(); ++slot)
            if (has(slot)) consider(slot, index(place));
        // One is measured before the others are sorted: most are farther away.
        if (best.distance == kFarthest && !near.empty()) {
          const Near least = *std::min_element(near.begin(), near.end(), is_nearer);
          measure(*this, least.slot, other, least.place, least.gap, best);
          std::erase_if(near, [&](const Near& one) {
            return one.gap >= best.distance || (one.slot == least.slot && one.place == least.place);
          });
        }
      } else {
        const Boxes own(*this, living()), others(other, {some.begin(), some.end()});
        own.for_each_pair(others, best.distance, collect, consider);
      }
      measure_all();
    }
  }

  std::vector<Placed> slots_;
  std::vector<double> boxes_;  // by slot: lower and upper corner
  std::size_t size_ = 0;       // slots in use

  std::vector<SlotPair> hits_;             // of slots that are settled, and of others, which do not count
  std::vector<std::uint8_t> is_settled_;   // slots of which all pairs among them are known
  std::vector<Slot> unsettled_;            // the others
  Nearest nearest_;                        // of those that are measured
  std::vector<std::uint8_t> is_measured_;  // slots among which no pair is nearer
  std::vector<Slot> unmeasured_;
  std::uint64_t version_ = 0, tested_ = 0;
};

}  // namespace broadphase
