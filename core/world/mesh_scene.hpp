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
#include "boxes/any_boxes.hpp"
#include "boxes/box_view.hpp"
#include "bvh/bvh.hpp"
#include "narrow/clearances.hpp"
#include "narrow/meshes.hpp"
#include "narrow/polytopes.hpp"
#include "query/collect.hpp"
#include "query/problem.hpp"
#include "query/queries.hpp"
#include "shapes/shape.hpp"
#include "tree/blocks.hpp"
#include "tree/queries.hpp"

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
  // The nearest pair; without one, slots are -1. Negative: how deep they are in each other. Of two surfaces, also which
  // faces, by their places in the trees.
  struct Nearest {
    double distance = kFarthest;
    SlotPair slots{-1, -1};
    std::array<std::int32_t, 2> faces{-1, -1};

    void swap() {
      std::swap(slots[0], slots[1]);
      std::swap(faces[0], faces[1]);
    }
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
      if (unfiled_.capacity() < count) unfiled_.reserve(2 * count);
      is_filed_.resize(count, 1);
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

  // Whether any two collide. `find(problem)` returns the pairs of boxes that overlap, and has `kernels` and an
  // `interrupt`.
  template <class Find>
  bool any_hit(const Find& find) {
    if (std::any_of(hits_.begin(), hits_.end(), [&](const SlotPair& hit) { return is_settled(hit); })) return true;
    settle(false, find);
    return !hits_.empty();
  }

  // All pairs that collide, the lower slot first.
  template <class Find>
  const std::vector<SlotPair>& all_hits(const Find& find) {
    settle(true, find);
    return hits_;
  }

  // Pairs with another scene that collide: all, or one if there is any.
  template <class Find>
  std::vector<SlotPair> hits_with(MeshScene& other, bool all, const Find& find) {
    std::vector<SlotPair> found;
    const bool is_other_smaller = other.size_ <= size_;
    MeshScene &few = is_other_smaller ? other : *this, &many = is_other_smaller ? *this : other;
    // Slots of the smaller and of the larger one, whose boxes meet. Whether to go on.
    const auto test = [&](std::size_t of_few, std::size_t of_many) {
      find.interrupt.check();
      const std::size_t slot = is_other_smaller ? of_many : of_few, place = is_other_smaller ? of_few : of_many;
      if (collide(*this, slot, other, place)) found.push_back(pair_of(slot, place));
      return all || found.empty();
    };
    Budget budget(few, many, find);
    for (std::size_t slot = 0; slot < few.slots_.size(); ++slot) {
      if (!few.has(slot)) continue;
      if (!budget.has_more()) {
        const Boxes rest(few, few.living(slot)), others(many, many.living());
        rest.for_each_pair(others, 0.0, find, test);
        break;
      }
      if (!many.for_each_meeting(few.box(slot), budget.has_tree, find,
                                 [&](std::size_t other_slot) { return test(slot, other_slot); }))
        break;
    }
    return found;
  }

  // The nearest two; or the nearest to the object in a slot, if it is not negative.
  template <class Find>
  Nearest nearest(Slot of, const Find& find) {
    Nearest best;
    if (of >= 0) {
      look(*this, {&of, 1}, best, find);
      return best;
    }
    const auto [first, second] = nearest_.slots;
    const bool is_there = first >= 0 && has(index(first)) && has(index(second));
    if (is_there && is_measured_[index(first)] != 0 && is_measured_[index(second)] != 0) {
      best = nearest_;
      look(*this, living_of(unmeasured_), best, find);
    } else {
      const SlotPair guess = is_there ? nearest_.slots : near_neighbours();
      if (guess[0] >= 0) measure(*this, index(guess[0]), *this, index(guess[1]), 0, best);
      look(*this, living(), best, find);
    }
    for (const Slot slot : unmeasured_) is_measured_[index(slot)] = 1;
    unmeasured_.clear();
    return nearest_ = best;
  }

  // The nearest pair with another scene.
  template <class Find>
  Nearest nearest_to(MeshScene& other, const Find& find) {
    Nearest best;
    if (other.size_ <= size_) {
      look(other, other.living(), best, find);
    } else {
      other.look(*this, living(), best, find);
      best.swap();
    }
    return best;
  }

  // Whether there are these faces, of two surfaces.
  bool has_faces(const MeshScene& other, const Nearest& of) const {
    const auto has_face = [](const SceneMesh& mesh, std::int32_t face) {
      return face >= 0 && static_cast<std::size_t>(face) < mesh.surface->face_count();
    };
    const SceneMesh &mesh = *slots_[index(of.slots[0])].shape, &other_mesh = *other.slots_[index(of.slots[1])].shape;
    return !mesh.is_surface() || !other_mesh.is_surface() ||
           (has_face(mesh, of.faces[0]) && has_face(other_mesh, of.faces[1]));
  }

  // Where a pair is nearest, and on which faces, -1 of solids.
  struct Witness {
    Vec<3> first, second;
    std::int32_t face, other_face;
  };
  Witness witness(const MeshScene& other, const Nearest& of) const {
    const std::size_t slot = index(of.slots[0]), place = index(of.slots[1]);
    const double distance = of.distance;
    const MeshSide a = side(slot), b = other.side(place);
    const bool are_surfaces = a.is_mesh() && b.is_mesh();
    NearestElements nearest{0, {}, of.faces[0], of.faces[1]};
    if (!are_surfaces) nearest = nearest_elements(a, b, distance + reach_of(slot, other, place));
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
      std::tie(found.first, found.second) = are_surfaces ? detail::nearest_points(corners, other_corners)
                                                         : nearest_points(x, y, nearest.distance, nearest.normal);
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

  // How many boxes of a scene may be compared one after the other with those of another, before a method is faster: one
  // that takes all takes about as long as so many comparisons for each box.
  struct Budget {
    template <class Find>
    Budget(const MeshScene& few, MeshScene& many, const Find& find)
        : has_tree(many.is_indexed(find)),
          cost_(has_tree ? kWalk : many.slots_.size()),
          left_(kCompared + kMethod * (few.size_ + many.size_)) {}
    bool has_more() {
      if (left_ < cost_) return false;
      left_ -= cost_;
      return true;
    }

    bool has_tree;

   private:
    static constexpr std::size_t kMethod = 16, kWalk = 256;

    std::size_t cost_, left_;
  };

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
    if (has_tree_ && std::exchange(is_filed_[slot], 0) != 0) unfiled_.push_back(static_cast<Slot>(slot));
  }
  std::vector<Slot> living(std::size_t from = 0) const {
    std::vector<Slot> slots;
    slots.reserve(size_);
    for (std::size_t slot = from; slot < slots_.size(); ++slot)
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
  // Calls visit(slot) for those whose boxes meet one, as long as it returns true; whether it always has. By the tree,
  // if `has_tree`.
  template <class Find, class Visit>
  bool for_each_meeting(const double* one, bool has_tree, const Find& find, const Visit& visit) {
    if (has_tree) {
      BoxWalk walk;
      std::vector<std::int32_t> found;
      queries(find).by_box(0, one, walk, found);
      return std::all_of(found.begin(), found.end(), [&](std::int32_t slot) { return visit(index(slot)); });
    }
    const double* p = boxes_.data();
    for (std::size_t slot = 0; slot < slots_.size(); ++slot, p += 6)
      if (boxes_meet(p, one) && !visit(slot)) return false;
    return true;
  }

  // Whether there is a tree of the boxes, up to date. It is made when it would have served some questions, and given up
  // when many move.
  template <class Find>
  bool is_indexed(const Find& find) {
    constexpr std::size_t kWorthIt = 256, kQuestions = 32, kMany = 4;
    if (size_ < kWorthIt || unfiled_.size() > size_ / kMany) {
      has_tree_ = false;
      questions_ = 0;
    }
    if (!has_tree_) {
      if (size_ < kWorthIt || ++questions_ < kQuestions) return false;
      const std::vector<Slot> slots = living();
      bvh_.build(view(), slots.data(), slots.size(), work(find));
      std::fill(is_filed_.begin(), is_filed_.end(), 1);
      unfiled_.clear();
      has_tree_ = true;
    } else if (!unfiled_.empty()) {
      std::vector<Slot> gone, moved, added;
      for (const Slot slot : unfiled_) {
        const bool was_there = bvh_.has(index(slot)), is_there = has(index(slot));
        if (was_there || is_there) (was_there && is_there ? moved : is_there ? added : gone).push_back(slot);
      }
      bvh_.remove(gone.data(), gone.size());
      bvh_.update(view(), moved.data(), moved.size(), work(find));
      bvh_.insert(view(), added.data(), added.size(), work(find));
      for (const Slot slot : unfiled_) is_filed_[index(slot)] = 1;
      unfiled_.clear();
    }
    return true;
  }
  BoxView<double> view() const { return {boxes_.data(), boxes_.data() + 3, 6, 6, slots_.size()}; }
  template <class Find>
  static Bvh::Work work(const Find& find) {
    return {find.kernels, 1, find.interrupt};
  }
  template <class Find>
  TreeQueries queries(const Find& find) const {
    return TreeQueries(tree_, AnyBoxes(view(), 3), QueryFilter(), find.kernels);
  }

  // The square of the distance of two boxes.
  static double square_between(const double* p, const double* q) {
    double square = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const double gap = std::max({p[k] - q[3 + k], q[k] - p[3 + k], 0.0});
      square += gap * gap;
    }
    return square;
  }
  // Less than any distance with such a square.
  static double gap_of(double square) { return std::sqrt(square) * (1 - 1e-12); }

  // A length, and more than rounding may take off where it is added to some numbers.
  static double more_than(double length, std::span<const double> numbers) {
    double farthest = 0;
    for (const double number : numbers) farthest = std::max(farthest, std::abs(number));
    return length * (1 + 1e-9) + farthest * 0x1p-50;
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
    template <class Find, class Visit>
    void for_each_pair(const Boxes& others, double reach, const Find& find, const Visit& visit) const {
      Problem<double> problem;
      problem.first = view();
      if (this != &others) {
        problem.second = others.view();
        problem.cross = true;
      }
      if (reach > 0) problem.grow = std::max(more_than(reach / 2, numbers), more_than(reach / 2, others.numbers));
      const Pairs pairs = find(problem);
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
  template <class Find>
  void settle(bool all, const Find& find) {
    if (unsettled_.empty()) return;
    ++version_;
    std::erase_if(hits_, [&](const SlotPair& hit) { return !is_settled(hit); });
    for (std::size_t portion = kAtFirst; !unsettled_.empty() && (all || hits_.empty()); portion *= kGrowth) {
      const std::size_t count = all ? unsettled_.size() : std::min(portion, unsettled_.size());
      if (!compares_all(count, slots_.size())) {
        const std::size_t left = unsettled_.size() - count;
        settle_many({unsettled_.data() + left, count}, find);
        unsettled_.resize(left);
        continue;
      }
      for (std::size_t k = 0; k < count && (all || hits_.empty()); ++k) {
        settle_one(index(unsettled_.back()), find);
        unsettled_.pop_back();
      }
    }
  }

  // Finds the pairs of one slot with those that are settled. If it is cut off, the slot is not, and its hits do not
  // count.
  template <class Find>
  void settle_one(std::size_t slot, const Find& find) {
    if (has(slot))
      for_each_meeting(box(slot), false, find, [&](std::size_t other) {
        if (is_settled_[other] != 0) test(slot, other, find);
        return true;
      });
    is_settled_[slot] = 1;
  }

  template <class Find>
  void settle_many(std::span<const Slot> slots, const Find& find) {
    const Boxes own(*this, living_of({slots.begin(), slots.end()}));
    const auto test_pair = [&](std::size_t slot, std::size_t other) {
      test(slot, other, find);
      return true;
    };
    own.for_each_pair(own, 0.0, find, test_pair);
    if (own.slots.size() < size_) {
      std::vector<Slot> settled = living();
      std::erase_if(settled, [&](Slot slot) { return is_settled_[index(slot)] == 0; });
      own.for_each_pair(Boxes(*this, std::move(settled)), 0.0, find, test_pair);
    }
    for (const Slot slot : slots) is_settled_[index(slot)] = 1;
  }

  template <class Find>
  void test(std::size_t slot, std::size_t other, const Find& find) {
    find.interrupt.check();
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
    NearestElements nearest;
    if (are_surfaces && gap == 0)
      visit_overlapping_faces(x, y, [&](std::int32_t face, std::int32_t other_face) {
        nearest = {0, {}, face, other_face};
        return true;
      });
    if (nearest.distance != 0) nearest = nearest_elements(x, y, best.distance);
    if (are_surfaces) nearest.distance = std::max(nearest.distance, 0.0);
    if (nearest.distance < best.distance) best = {nearest.distance, pair_of(i, j), {nearest.first, nearest.second}};
  }

  // Two consecutive slots that are near each other: somewhere to begin.
  SlotPair near_neighbours() const {
    SlotPair nearest{-1, -1};
    double least = std::numeric_limits<double>::infinity();
    std::optional<std::size_t> last;
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      if (!has(slot)) continue;
      if (const double square = last ? square_between(box(*last), box(slot)) : least; square < least) {
        least = square;
        nearest = pair_of(*last, slot);
      }
      last = slot;
    }
    return nearest;
  }

  // Looks for a pair with some slots of another scene, or of this one, that is nearer than the best so far. Of those
  // that overlap, the first is enough.
  template <class Find>
  void look(const MeshScene& other, std::span<const Slot> places, Nearest& best, const Find& find) {
    struct Near {
      double gap;
      std::size_t slot, place;
    };
    std::vector<Near> near;
    const auto consider = [&](std::size_t slot, std::size_t place) {
      if (&other == this && slot == place) return true;
      const double square = square_between(box(slot), other.box(place));
      if (square > best.distance * best.distance) return true;
      if (const double gap = gap_of(square); gap < best.distance) near.push_back({gap, slot, place});
      return true;
    };
    const auto is_nearer = [](const Near& p, const Near& q) { return p.gap < q.gap; };
    const auto measure_all = [&] {
      // The nearest first: most of the others are farther away than that turns out to be.
      if (near.size() > 1) std::iter_swap(near.begin(), std::min_element(near.begin(), near.end(), is_nearer));
      for (std::size_t k = 0; k < near.size() && best.distance > 0; ++k) {
        if (k == 1) {
          const auto is_beyond = [&](const Near& one) { return one.gap >= best.distance; };
          near.erase(std::remove_if(near.begin() + 1, near.end(), is_beyond), near.end());
          std::sort(near.begin() + 1, near.end(), is_nearer);
        }
        if (k < near.size() && near[k].gap < best.distance)
          measure(*this, near[k].slot, other, near[k].place, near[k].gap, best);
        find.interrupt.check();
      }
      near.clear();
    };
    // One after the other, as long as that costs less than a method.
    Budget budget(other, *this, find);
    std::size_t begin = 0;
    for (; begin < places.size() && best.distance > 0 && (budget.has_more() || best.distance == kFarthest); ++begin) {
      const std::size_t place = index(places[begin]);
      const double* const one = other.box(place);
      if (budget.has_tree && best.distance == kFarthest) {
        const Vec<3> middle{one[0] / 2 + one[3] / 2, one[1] / 2 + one[4] / 2, one[2] / 2 + one[5] / 2};
        TreeQueries::NearestScratch scratch;
        queries(find).nearest(0, middle.data(), 2, RelativePose::kNever, scratch,
                              [&](std::int32_t slot, double) { consider(index(slot), place); });
        measure_all();
      }
      if (budget.has_tree && best.distance < kFarthest) {
        const double reach = more_than(best.distance, {one, 6});
        MeshBounds grown;
        for (std::size_t k = 0; k < 3; ++k) {
          grown[k] = one[k] - reach;
          grown[3 + k] = one[3 + k] + reach;
        }
        for_each_meeting(grown.data(), true, find, [&](std::size_t slot) { return consider(slot, place); });
      } else {
        for (std::size_t slot = 0; slot < slots_.size(); ++slot)
          if (has(slot)) consider(slot, place);
      }
      measure_all();
    }
    if (begin == places.size() || best.distance <= 0) return;
    const Boxes own(*this, living());
    for (std::size_t portion = kAtFirst; begin < places.size() && best.distance > 0; portion *= kGrowth) {
      const std::span<const Slot> some = places.subspan(begin, std::min(portion, places.size() - begin));
      own.for_each_pair(Boxes(other, {some.begin(), some.end()}), best.distance, find, consider);
      measure_all();
      begin += some.size();
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

  BlockTree tree_;
  Bvh bvh_{tree_, BvhQuality::balanced};
  bool has_tree_ = false;
  std::vector<std::uint8_t> is_filed_;  // slots that the tree has as they are
  std::vector<Slot> unfiled_;           // the others, while there is a tree
  std::size_t questions_ = 0;           // that a tree could have answered
};

}  // namespace broadphase
