// Hulls and meshes that collide with each other, for the drop-in of trimesh: each question is one call.
#include "world/mesh_scene.hpp"

#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/forks.hpp"
#include "bindings.hpp"
#include "bvh/bvh.hpp"
#include "choose/find.hpp"
#include "small_arrays.hpp"

namespace broadphase::python {

namespace {

// A shape, and the objects that it is made of.
struct KeptMesh {
  SceneMesh shape;
  nb::object solid, smaller;
};

MeshBounds bounds_of(const Table<double>& bounds) {
  if (bounds.shape(0) != 2 || bounds.shape(1) != 3) throw nb::value_error("bounds must have shape (2, 3)");
  MeshBounds found;
  std::copy_n(bounds.data(), 6, found.begin());
  return found;
}

struct KeptScene {
  MeshScene scene;
  std::vector<nb::object> shapes;  // by slot
  ForkedMutex mutex;
  std::atomic<std::thread::id> owner;
  AtFork at_fork{[](void* thread) { *static_cast<std::atomic<std::thread::id>*>(thread) = std::thread::id(); }, &owner};
};

// One thread at a time works on a scene, the others wait. A handler of a signal that comes while it does must not.
struct Turn {
  explicit Turn(KeptScene& of) : kept(of) {
    if (kept.owner == std::this_thread::get_id())
      throw std::runtime_error("a query of these objects has been interrupted by this call");
    if (!kept.mutex.try_lock()) {
      const ReleasedGil release;
      kept.mutex.lock();
    }
    kept.owner = std::this_thread::get_id();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    kept.owner = std::thread::id();
    kept.mutex.unlock();
  }
  KeptScene& kept;
};

// Turns at two scenes, or one that is both, in an order that is the same for all threads.
struct Turns {
  Turns(KeptScene& a, KeptScene& b) : first(std::less<>()(&a, &b) ? a : b) {
    if (&a != &b) second.emplace(&first.kept == &a ? b : a);
  }
  Turn first;
  std::optional<Turn> second;
};

// The numbers of a matrix (4, 4) of finite doubles; of other objects, what NumPy makes of them.
std::array<double, 16> matrix_of(nb::handle given) {
  constexpr std::size_t kRows = 4;
  std::array<double, 16> numbers{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  if (given.is_none()) return numbers;
  const auto read = [&](nb::handle from) {
    return FewNumbers(from, numbers.data(), numbers.size()).has_shape({kRows, kRows});
  };
  if (!read(given)) {
    const nb::object array =
        nb::module_::import_("numpy").attr("ascontiguousarray")(given, nb::borrow(NumPy::get().float64));
    if (!read(array)) throw nb::value_error("transform must be (4,4)!");
  }
  if (!std::all_of(numbers.begin(), numbers.end(), [](double number) { return std::isfinite(number); }))
    throw nb::value_error("transform must be finite");
  return numbers;
}

// Puts a shape into a slot. False, and nothing has changed, if the matrix also scales, shears or mirrors.
bool put(KeptScene& kept, std::size_t slot, nb::handle shape, nb::handle transform) {
  constexpr double kFarthest = 1e40;
  const KeptMesh& given = nb::cast<const KeptMesh&>(shape);
  const std::array<double, 16> matrix = matrix_of(transform);
  const std::optional<std::array<double, 4>> rotation = rotation_of(matrix);
  if (!rotation) return false;
  const Vec<3> position{matrix[3], matrix[7], matrix[11]};
  for (const double number : position)
    if (std::abs(number) > kFarthest) throw nb::value_error("transform must be nearer than 1e40");
  const Turn turn(kept);
  if (slot > kept.scene.slot_count()) throw nb::index_error("the slots before it come first");
  if (kept.shapes.size() <= slot) kept.shapes.resize(slot + 1);
  kept.scene.put(slot, given.shape, position, rotation->data());
  if (kept.shapes[slot].ptr() != shape.ptr()) kept.shapes[slot] = nb::borrow(shape);
  return true;
}

void remove(KeptScene& kept, std::size_t slot) {
  nb::object last;  // dropped when the turn is over
  const Turn turn(kept);
  if (!kept.scene.has(slot)) throw nb::index_error("the slot is free");
  kept.scene.remove(slot);
  std::swap(last, kept.shapes[slot]);
}

// What searches need: pairs of boxes that overlap, by the method that fits.
struct Find {
  const Kernels& kernels;
  Interrupt& interrupt;

  Pairs operator()(const Problem<double>& problem) const {
    return find_pairs(MethodName::automatic, problem, kNoLimit, {kernels, 1, interrupt});
  }
};

// Calls use(find) without the GIL, but for few objects: giving it away takes longer than the work.
template <class Use>
auto work(std::size_t objects, const Use& use) {
  constexpr std::size_t kWorthIt = 32;
  Interrupt interrupt(signal_pending);
  std::optional<ReleasedGil> release;
  if (objects > kWorthIt) release.emplace();
  return use(Find{chosen_kernels(), interrupt});
}

bool any_hit(KeptScene& kept) {
  const Turn turn(kept);
  return work(kept.scene.size(), [&](const Find& find) { return kept.scene.any_hit(find); });
}

nb::object all_hits(KeptScene& kept) {
  const Turn turn(kept);
  const std::vector<MeshScene::SlotPair> hits =
      work(kept.scene.size(), [&](const Find& find) { return kept.scene.all_hits(find); });
  return small_array(hits.empty() ? nullptr : hits.front().data(), hits.size(), 2, NumPy::get().int32);
}

// A list, which takes less than an array where there are few, as there mostly are.
nb::list hits_with(KeptScene& kept, KeptScene& other, bool all) {
  const Turns turns(kept, other);
  const std::vector<MeshScene::SlotPair> hits = work(kept.scene.size() + other.scene.size(), [&](const Find& find) {
    return kept.scene.hits_with(other.scene, all, find);
  });
  nb::list found;
  for (const MeshScene::SlotPair& hit : hits) found.append(nb::make_tuple(hit[0], hit[1]));
  return found;
}

nb::tuple parts_of(const MeshScene::Nearest& nearest) {
  return nb::make_tuple(nearest.distance, nearest.slots[0], nearest.slots[1], nearest.faces[0], nearest.faces[1]);
}

nb::tuple nearest(KeptScene& kept, std::int32_t of) {
  const Turn turn(kept);
  if (of >= 0 && !kept.scene.has(static_cast<std::size_t>(of))) throw nb::index_error("the slot is free");
  return parts_of(work(kept.scene.size(), [&](const Find& find) { return kept.scene.nearest(of, find); }));
}

nb::tuple nearest_to(KeptScene& kept, KeptScene& other) {
  const Turns turns(kept, other);
  return parts_of(work(kept.scene.size() + other.scene.size(),
                       [&](const Find& find) { return kept.scene.nearest_to(other.scene, find); }));
}

// Slots of both scenes, which must be in use.
void check(const KeptScene& kept, const KeptScene& other, const Table<std::int32_t>& pairs) {
  if (pairs.shape(1) != 2) throw nb::value_error("pairs must have shape (m, 2)");
  for (std::size_t k = 0; k < pairs.shape(0); ++k)
    if (!kept.scene.has(static_cast<std::size_t>(pairs(k, 0))) ||
        !other.scene.has(static_cast<std::size_t>(pairs(k, 1))))
      throw nb::index_error("the slot is free");
}

// Where a pair that was found is nearest, (2, 3), and the rows of the faces.
nb::tuple witness(KeptScene& kept, KeptScene& other, std::tuple<double, int, int, int, int> nearest) {
  const Turns turns(kept, other);
  const auto [distance, slot, place, face, other_face] = nearest;
  if (!kept.scene.has(static_cast<std::size_t>(slot)) || !other.scene.has(static_cast<std::size_t>(place)))
    throw nb::index_error("the slot is free");
  const MeshScene::Nearest of{distance, {slot, place}, {face, other_face}};
  if (!kept.scene.has_faces(other.scene, of)) throw nb::index_error("a face that does not exist");
  const MeshScene::Witness found = kept.scene.witness(other.scene, of);
  std::array<double, 6> points;
  std::copy_n(found.first.begin(), 3, points.begin());
  std::copy_n(found.second.begin(), 3, points.begin() + 3);
  return nb::make_tuple(small_array(points.data(), 2, 3, NumPy::get().float64), found.face, found.other_face);
}

// Of pairs that collide: (m, 3), the place of the pair and the faces that meet, of two surfaces; the same of other
// pairs, -1 for a solid, with normals, depths and points of contact. Of each pair at most `most`.
nb::tuple contacts(KeptScene& kept, KeptScene& other, Table<std::int32_t> pairs, std::size_t most) {
  const Turns turns(kept, other);
  check(kept, other, pairs);
  std::vector<std::int32_t> faces, of_solids;
  std::vector<double> normals, depths, points;
  const auto search = [&](const Find& find) {
    for (std::size_t k = 0; k < pairs.shape(0) && most > 0; ++k) {
      const auto slot = static_cast<std::size_t>(pairs(k, 0)), place = static_cast<std::size_t>(pairs(k, 1));
      std::size_t left = most;
      if (kept.scene.is_surface(slot) && other.scene.is_surface(place)) {
        kept.scene.visit_faces(slot, other.scene, place, [&](std::int32_t face, std::int32_t other_face) {
          faces.insert(faces.end(), {static_cast<std::int32_t>(k), face, other_face});
          return --left == 0;
        });
      } else {
        kept.scene.visit_contacts(
            slot, other.scene, place, [&](std::int32_t face, std::int32_t other_face, const Contact<3>& found) {
              of_solids.insert(of_solids.end(), {static_cast<std::int32_t>(k), face, other_face});
              normals.insert(normals.end(), found.normal.begin(), found.normal.end());
              depths.push_back(found.depth);
              // Any corner of the area of contact would do; of unit cubes upon each other, FCL takes the last.
              const Vec<3>& point = found.points[face < 0 && other_face < 0 ? found.count - 1 : 0];
              points.insert(points.end(), point.begin(), point.end());
              return --left == 0;
            });
      }
      find.interrupt.check();
    }
  };
  work(kNoLimit, search);
  return as_tuple(as_table(std::move(faces), 3), as_table(std::move(of_solids), 3), as_table(std::move(normals), 3),
                  std::move(depths), as_table(std::move(points), 3));
}

// Origins and axes of meshes, (k, 4, 3).
nb::object frames(KeptScene& kept, Vector<std::int32_t> slots) {
  constexpr std::size_t kNumbers = 12;
  const Turn turn(kept);
  std::vector<double> numbers;
  for (std::size_t k = 0; k < slots.shape(0); ++k) {
    const auto slot = static_cast<std::size_t>(slots.data()[k]);
    if (!kept.scene.has(slot)) throw nb::index_error("the slot is free");
    const double* frame = kept.scene.frame(slot);
    numbers.insert(numbers.end(), frame, frame + kNumbers);
  }
  return as_array(std::move(numbers), {slots.shape(0), 4, 3});
}

}  // namespace

void bind_mesh_scene(nb::module_& module) {
  const auto slot = "slot"_a, other = "other"_a;
  nb::class_<KeptMesh>(module, "SceneMesh", "A surface of triangles; or a convex solid, and the same a little smaller.")
      .def(
          "__init__",
          [](KeptMesh* self, nb::object surface, Table<double> bounds) {
            SceneMesh shape;
            shape.surface = nb::cast<const MeshTree*>(surface);
            shape.bounds = bounds_of(bounds);
            new (self) KeptMesh{shape, surface, {}};
          },
          "surface"_a, "bounds"_a)
      .def(
          "__init__",
          [](KeptMesh* self, nb::object solid, Table<double> bounds, nb::object smaller, Table<double> smaller_bounds) {
            SceneMesh shape;
            shape.solid = nb::cast<const Polytope*>(solid);
            shape.bounds = bounds_of(bounds);
            shape.smaller = nb::cast<const Polytope*>(smaller);
            shape.bounds_of_smaller = bounds_of(smaller_bounds);
            new (self) KeptMesh{shape, solid, smaller};
          },
          "solid"_a, "bounds"_a, "smaller"_a, "bounds_of_smaller"_a);
  nb::class_<KeptScene>(module, "MeshScene", "Hulls and meshes that move; pairs of those that have not are kept.")
      .def(nb::init<>())
      .def("put", &put, slot, "shape"_a, "transform"_a.none(),
           "Put a shape into a slot; False, and nothing has changed, if the matrix is not a rotation.")
      .def("remove", &remove, slot)
      .def_prop_ro("version", [](const KeptScene& self) { return self.scene.version(); })
      .def_prop_ro(
          "tested", [](const KeptScene& self) { return self.scene.tested(); },
          "How many pairs of its own have been tested so far.")
      .def("any_hit", &any_hit)
      .def("all_hits", &all_hits, "Pairs of slots that collide, (m, 2), the lower one first.")
      .def("hits_with", &hits_with, other, "all"_a, "Pairs that collide: all, or one if there is any.")
      .def("nearest", &nearest, "of"_a,
           "(distance, slot, slot, face, face) of the nearest two, or with the one of a slot unless that is -1.")
      .def("nearest_to", &nearest_to, other)
      .def("witness", &witness, other, "nearest"_a)
      .def("contacts", &contacts, other, "pairs"_a, "most"_a)
      .def("frames", &frames, "slots"_a);
}

}  // namespace broadphase::python
