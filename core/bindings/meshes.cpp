// Hulls and meshes: what is computed of each once, the narrow phase of pairs with one of them, and pairs of triangles.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/morton.hpp"
#include "base/parallel.hpp"
#include "bindings.hpp"
#include "geometries.hpp"
#include "narrow/clearances.hpp"
#include "narrow/convex_meshes.hpp"
#include "narrow/duplicates.hpp"
#include "narrow/meshes.hpp"
#include "narrow/polytopes.hpp"
#include "narrow/ray_crossings.hpp"
#include "narrow/triangles.hpp"
#include "narrow/turning_meshes.hpp"
#include "pair_answers.hpp"
#include "placed_shapes.hpp"

namespace broadphase::python {

namespace {

// Calls make(k) for each place of the result, without the GIL, on threads.
template <class Made, class Make>
nb::list made_by(std::size_t count, unsigned workers, const Make& make) {
  std::vector<std::optional<Made>> made(count);
  at_work([&](Interrupt& interrupt) {
    for_each_task(count, workers, interrupt, [&](unsigned, std::size_t k) { made[k].emplace(make(k)); });
  });
  nb::list result;
  for (std::optional<Made>& one : made) result.append(nb::cast(std::move(*one)));
  return result;
}

// Trees of meshes, each given as a tuple of its vertices and its faces.
nb::list mesh_trees(nb::list meshes, unsigned workers) {
  std::vector<std::pair<Table<double>, Table<std::int32_t>>> given;
  for (const nb::handle mesh : meshes)
    given.emplace_back(nb::cast<Table<double>>(mesh[0]), nb::cast<Table<std::int32_t>>(mesh[1]));
  return made_by<MeshTree>(given.size(), workers, [&](std::size_t k) {
    const auto& [vertices, faces] = given[k];
    MeshTree tree({vertices.data(), vertices.size()}, {faces.data(), faces.size()});
    tree.seek_hull_by(&hull_if_convex);
    return tree;
  });
}

nb::list mesh_solids(nb::list trees, unsigned workers) {
  std::vector<const MeshTree*> given;
  for (const nb::handle tree : trees) given.push_back(nb::cast<const MeshTree*>(tree));
  return made_by<MeshSolid>(given.size(), workers, [&](std::size_t k) { return MeshSolid(*given[k]); });
}

ShapeView<3> shape_of(const PlacedShapes& shapes, std::int32_t row) {
  return shapes.store.placed<3>(static_cast<std::size_t>(row));
}

// A shape as its body has it.
ShapeView<3> local_shape_of(const PlacedShapes& shapes, std::int32_t row, ShapeStore::LocalRoom& room) {
  const auto at = static_cast<std::size_t>(row);
  return {shapes.store.kind(at), shapes.store.local(at, room)};
}

// The shape of a row as rays take it; kept until another row comes.
class SideOfRow {
 public:
  SideOfRow(const PlacedShapes& shapes, const std::vector<Geometry>& known) : shapes_(shapes), known_(known) {}

  const MeshSide& operator()(std::int32_t row) {
    if (!side_ || row != row_) side_.emplace(side_of(shape_of(shapes_, row_ = row), known_, nullptr, unmoved_));
    return *side_;
  }

 private:
  const PlacedShapes& shapes_;
  const std::vector<Geometry>& known_;
  std::vector<double> unmoved_;
  std::optional<MeshSide> side_;
  std::int32_t row_ = 0;
};

constexpr std::size_t kRaysATask = 256;

// Calls work(task, begin, end) for stretches of rays, without the GIL, on threads.
template <class Work>
void for_each_stretch(std::size_t count, unsigned workers, const Work& work) {
  at_work([&](Interrupt& interrupt) {
    const std::size_t tasks = (count + kRaysATask - 1) / kRaysATask;
    for_each_task(tasks, workers, interrupt, [&](unsigned worker, std::size_t task) {
      work(task, task * kRaysATask, std::min(count, (task + 1) * kRaysATask));
      if (worker == 0) interrupt.check();
    });
  });
}

// Calls use(k, first, second) for each pair, without the GIL, on threads.
template <class Use>
void for_each(const PlacedShapes& a, const nb::list& geometries_a, const PlacedShapes& b, const nb::list& geometries_b,
              const Rows& first, const Rows& second, const MaybeNumbers& offsets, unsigned workers, const Use& use) {
  // Pairs of large meshes take milliseconds.
  constexpr std::size_t kPairsATask = 8;
  const std::vector<Geometry> of_a = geometries_of(geometries_a, a.store, {first.data(), first.shape(0)}),
                              of_b = geometries_of(geometries_b, b.store, {second.data(), second.shape(0)});
  const double* const moves = offsets ? offsets->data() : nullptr;
  const std::size_t count = first.shape(0);
  const ReleasedGil release;
  Interrupt interrupt(signal_pending);
  const std::size_t tasks = (count + kPairsATask - 1) / kPairsATask;
  std::atomic<std::size_t> finished{0};
  for_each_task(tasks, workers, interrupt, [&](unsigned worker, std::size_t task) {
    std::vector<double> unmoved, moved;
    const std::size_t begin = task * kPairsATask;
    for (std::size_t k = begin; k < std::min(begin + kPairsATask, count); ++k) {
      const MeshSide side_a = side_of(shape_of(a, first.data()[k]), of_a, nullptr, unmoved);
      const double* const offset = moves != nullptr ? moves + 3 * k : nullptr;
      const MeshSide side_b = side_of(shape_of(b, second.data()[k]), of_b, offset, moved);
      use(k, side_a, side_b);
    }
    const std::size_t done = ++finished;
    if (worker == 0) interrupt.check(done, tasks);
  });
}

nb::object overlaps_of(const PlacedShapes& a, nb::list geometries_a, const PlacedShapes& b, nb::list geometries_b,
                       Rows first, Rows second, MaybeNumbers offsets) {
  std::vector<std::uint8_t> answers(first.shape(0));
  for_each(a, geometries_a, b, geometries_b, first, second, offsets, 1,
           [&](std::size_t k, const MeshSide& x, const MeshSide& y) { answers[k] = overlaps(x, y) ? 1 : 0; });
  return as_array(std::move(answers));
}

// Faces that overlap, (m, 3): the place of the pair, and the faces of both, -1 for a shape that has none. Of each pair
// at most `most`.
nb::object overlapping_faces(const PlacedShapes& a, nb::list geometries_a, const PlacedShapes& b, nb::list geometries_b,
                             Rows first, Rows second, std::size_t most) {
  std::vector<std::int32_t> found;
  for_each(a, geometries_a, b, geometries_b, first, second, {}, 1,
           [&](std::size_t k, const MeshSide& x, const MeshSide& y) {
             std::size_t left = most;
             if (left == 0) return;
             visit_overlapping(x, y, [&](std::int32_t face, std::int32_t other) {
               found.insert(found.end(), {static_cast<std::int32_t>(k), face, other});
               return --left == 0;
             });
           });
  return as_table(std::move(found), 3);
}

nb::object distances(const PlacedShapes& a, nb::list geometries_a, const PlacedShapes& b, nb::list geometries_b,
                     Rows first, Rows second, MaybeNumbers offsets, double within, unsigned workers) {
  NumbersAndNormals found(first.shape(0), 3);
  for_each(a, geometries_a, b, geometries_b, first, second, offsets, workers,
           [&](std::size_t k, const MeshSide& x, const MeshSide& y) {
             found.put<3>(k, [&](Vec<3>* normal) {
               const Separation nearest = separation(x, y, within);
               *normal = nearest.normal;
               return nearest.distance;
             });
           });
  return std::move(found).as_tuple();
}

// What meshes enclose, by number; null for those that count as surfaces, and for hulls.
std::vector<const MeshSolid*> solids_of(const nb::list& list) {
  std::vector<const MeshSolid*> solids;
  for (const nb::handle item : list) solids.push_back(item.is_none() ? nullptr : nb::cast<const MeshSolid*>(item));
  return solids;
}
const MeshSolid* solid_of(const PlacedShapes& shapes, const std::vector<const MeshSolid*>& solids, std::int32_t row) {
  const ShapeView<3> shape = shape_of(shapes, row);
  return shape.kind == ShapeKind::kMesh ? solids[static_cast<std::size_t>(shape.record[0])] : nullptr;
}

// Calls use(k, first, second) for each pair of shapes as solids.
template <class Use>
void for_each_solid(const PlacedShapes& a, const nb::list& geometries_a, const nb::list& solids_a,
                    const PlacedShapes& b, const nb::list& geometries_b, const nb::list& solids_b, const Rows& first,
                    const Rows& second, unsigned workers, const Use& use) {
  const std::vector<const MeshSolid*> of_a = solids_of(solids_a), of_b = solids_of(solids_b);
  for_each(a, geometries_a, b, geometries_b, first, second, {}, workers,
           [&](std::size_t k, const MeshSide& x, const MeshSide& y) {
             use(k, PlacedSolid{x, solid_of(a, of_a, first.data()[k])},
                 PlacedSolid{y, solid_of(b, of_b, second.data()[k])});
           });
}

// Gaps, points on both, (m, 2, 3), and numbers of the relations.
nb::object clearances(const PlacedShapes& a, nb::list geometries_a, nb::list solids_a, const PlacedShapes& b,
                      nb::list geometries_b, nb::list solids_b, Rows first, Rows second, double within,
                      unsigned workers) {
  const std::size_t count = first.shape(0);
  std::vector<double> gaps(count), points(6 * count);
  std::vector<std::uint8_t> relations(count);
  for_each_solid(a, geometries_a, solids_a, b, geometries_b, solids_b, first, second, workers,
                 [&](std::size_t k, const PlacedSolid& x, const PlacedSolid& y) {
                   const Clearance found = clearance(x, y, within);
                   gaps[k] = found.gap;
                   relations[k] = static_cast<std::uint8_t>(found.relation);
                   std::copy_n(found.first.begin(), 3, points.data() + 6 * k);
                   std::copy_n(found.second.begin(), 3, points.data() + 6 * k + 3);
                 });
  return as_tuple(std::move(gaps), as_array(std::move(points), {count, 2, 3}), std::move(relations));
}

// A pair of a point or a ball and a closed mesh.
struct BallPair {
  bool is_mesh_first;
  std::int32_t ball, mesh;
  std::uint64_t cell;  // of the middle of the ball, in Z order, beside the mesh
  std::size_t place;

  bool has_mesh_of(const BallPair& other) const { return mesh == other.mesh && is_mesh_first == other.is_mesh_first; }
  bool operator<(const BallPair& other) const {
    return std::tie(is_mesh_first, mesh, cell, place) <
           std::tie(other.is_mesh_first, other.mesh, other.cell, other.place);
  }
};

// Around the mesh, up to its own size away from it.
std::uint64_t cell_of(const Vec<3>& point, const MeshSide& mesh) {
  constexpr double kMost = 0xffff;
  std::uint64_t cells[3];
  const MeshUnits& units = mesh.units();
  const double inverse = power_of_two(-units.exponent);
  for (std::size_t i = 0; i < 3; ++i) {
    double at = -units.middle[i];
    for (std::size_t k = 0; k < 3; ++k) at += mesh.axis(i)[k] * (point[k] - mesh.origin(k));
    cells[i] = static_cast<std::uint64_t>(std::clamp((at * inverse / 4 + 0.5) * kMost, 0.0, kMost));
  }
  return morton_number<3>(cells);
}

// Signed distances of solids.
nb::object solid_distances(const PlacedShapes& a, nb::list geometries_a, nb::list solids_a, const PlacedShapes& b,
                           nb::list geometries_b, nb::list solids_b, Rows first, Rows second, double within,
                           unsigned workers) {
  const std::size_t count = first.shape(0);
  const std::vector<Geometry> of_a = geometries_of(geometries_a, a.store, {first.data(), count}),
                              of_b = geometries_of(geometries_b, b.store, {second.data(), count});
  const std::vector<const MeshSolid*> closed_a = solids_of(solids_a), closed_b = solids_of(solids_b);
  std::vector<double> values(count);
  at_work([&](Interrupt& interrupt) {
    std::vector<BallPair> balls;
    std::vector<std::size_t> others;
    const auto is_ball = [](const ShapeView<3>& shape) {
      return shape.kind == ShapeKind::kPoint || shape.kind == ShapeKind::kBall;
    };
    const auto is_closed = [](const PlacedShapes& shapes, const std::vector<const MeshSolid*>& solids,
                              std::int32_t row) {
      const MeshSolid* const solid = solid_of(shapes, solids, row);
      return solid != nullptr && solid->is_closed();
    };
    {
      SideOfRow mesh_a(a, of_a), mesh_b(b, of_b);
      for (std::size_t k = 0; k < count; ++k) {
        const std::int32_t x = first.data()[k], y = second.data()[k];
        const ShapeView<3> shape_a = shape_of(a, x), shape_b = shape_of(b, y);
        if (is_ball(shape_a) && is_closed(b, closed_b, y))
          balls.push_back({false, x, y, cell_of(solid::vector_at(shape_a.record, 0), mesh_b(y)), k});
        else if (is_ball(shape_b) && is_closed(a, closed_a, x))
          balls.push_back({true, y, x, cell_of(solid::vector_at(shape_b.record, 0), mesh_a(x)), k});
        else
          others.push_back(k);
      }
    }
    // Each is near the last one.
    std::sort(balls.begin(), balls.end());
    constexpr std::size_t kBallsATask = 512, kOthersATask = 8;
    const std::size_t of_balls = (balls.size() + kBallsATask - 1) / kBallsATask,
                      of_others = (others.size() + kOthersATask - 1) / kOthersATask;
    for_each_task(of_balls + of_others, workers, interrupt, [&](unsigned worker, std::size_t task) {
      if (task < of_balls) {
        const std::size_t end = std::min(balls.size(), (task + 1) * kBallsATask);
        for (std::size_t k = task * kBallsATask; k < end;) {
          const BallPair& of = balls[k];
          const PlacedShapes &with_meshes = of.is_mesh_first ? a : b, &with_balls = of.is_mesh_first ? b : a;
          SideOfRow side(with_meshes, of.is_mesh_first ? of_a : of_b);
          BallsAndSolid distance(
              {side(of.mesh), solid_of(with_meshes, of.is_mesh_first ? closed_a : closed_b, of.mesh)});
          for (; k < end && balls[k].has_mesh_of(of); ++k)
            values[balls[k].place] = distance(shape_of(with_balls, balls[k].ball), within);
        }
      } else {
        SideOfRow side_a(a, of_a), side_b(b, of_b);
        const std::size_t begin = (task - of_balls) * kOthersATask, end = std::min(others.size(), begin + kOthersATask);
        for (std::size_t k = begin; k < end; ++k) {
          const std::int32_t x = first.data()[others[k]], y = second.data()[others[k]];
          values[others[k]] =
              solid_distance({side_a(x), solid_of(a, closed_a, x)}, {side_b(y), solid_of(b, closed_b, y)}, within);
        }
      }
      if (worker == 0) interrupt.check();
    });
  });
  return as_array(std::move(values));
}

// Depths, and numbers of how they are measured.
nb::object depths(const PlacedShapes& a, nb::list geometries_a, nb::list solids_a, const PlacedShapes& b,
                  nb::list geometries_b, nb::list solids_b, Rows first, Rows second, unsigned workers) {
  std::vector<double> values(first.shape(0));
  std::vector<std::uint8_t> measures(first.shape(0));
  for_each_solid(a, geometries_a, solids_a, b, geometries_b, solids_b, first, second, workers,
                 [&](std::size_t k, const PlacedSolid& x, const PlacedSolid& y) {
                   const Depth found = depth(x, y);
                   values[k] = found.depth;
                   measures[k] = static_cast<std::uint8_t>(found.by);
                 });
  return as_tuple(std::move(values), std::move(measures));
}

// What hulls and meshes are made of, by number: of each that some rows name, from a tuple of its vertices and, of a
// mesh, its faces.
struct GivenGeometries {
  GivenGeometries(const PlacedShapes& shapes, const nb::list& given, const Rows& rows) : by_number(given.size()) {
    for (std::size_t k = 0; k < rows.shape(0); ++k) {
      const ShapeView<3> shape = shape_of(shapes, rows.data()[k]);
      if (!is_kept_elsewhere(shape.kind)) continue;
      const auto number = static_cast<std::size_t>(shape.record[0]);
      GivenGeometry& geometry = by_number[number];
      if (!geometry.vertices.empty()) continue;
      const nb::tuple parts = nb::cast<nb::tuple>(given[number]);
      const auto& vertices = kept_vertices.emplace_back(nb::cast<Table<double>>(parts[0]));
      geometry.vertices = {vertices.data(), vertices.size()};
      geometry.columns = vertices.shape(1);
      if (parts.size() < 2) continue;
      const auto& faces = kept_faces.emplace_back(nb::cast<Table<std::int32_t>>(parts[1]));
      geometry.faces = {faces.data(), faces.size()};
      for (const std::int32_t vertex : geometry.faces)
        for (std::size_t axis = 0; axis < 3; ++axis)
          geometry.middle[axis] += geometry.vertices[3 * static_cast<std::size_t>(vertex) + axis] /
                                   static_cast<double>(geometry.faces.size());
    }
  }
  PlacedPart part(const PlacedShapes& shapes, const Boxes& boxes, std::int32_t row) const {
    const ShapeView<3> shape = shape_of(shapes, row);
    const bool has_geometry = is_kept_elsewhere(shape.kind);
    return {shape, shapes.store.kind(static_cast<std::size_t>(row)),
            boxes.data() + 6 * static_cast<std::ptrdiff_t>(row),
            has_geometry ? &by_number[static_cast<std::size_t>(shape.record[0])] : nullptr};
  }

  std::vector<GivenGeometry> by_number;
  std::vector<Table<double>> kept_vertices;
  std::vector<Table<std::int32_t>> kept_faces;
};

// Which pairs are equal up to a tolerance, as flags.
nb::object duplicates(const PlacedShapes& a, nb::list given_a, Boxes boxes_a, const PlacedShapes& b, nb::list given_b,
                      Boxes boxes_b, Rows first, Rows second, double tolerance) {
  const GivenGeometries of_a(a, given_a, first), of_b(b, given_b, second);
  std::vector<std::uint8_t> answers(first.shape(0));
  at_work([&](Interrupt& interrupt) {
    PartComparison comparison(tolerance);
    for (std::size_t k = 0; k < answers.size(); ++k) {
      answers[k] =
          comparison.are_equal(of_a.part(a, boxes_a, first.data()[k]), of_b.part(b, boxes_b, second.data()[k]));
      interrupt.check(k, answers.size());
    }
  });
  return as_array(std::move(answers));
}

nb::object contacts(const PlacedShapes& a, nb::list geometries_a, const PlacedShapes& b, nb::list geometries_b,
                    Rows first, Rows second, MaybeNumbers offsets) {
  FoundContacts found(first.shape(0), 3);
  for_each(a, geometries_a, b, geometries_b, first, second, offsets, 1,
           [&](std::size_t k, const MeshSide& x, const MeshSide& y) { found.put<3>(k, contact(x, y)); });
  return std::move(found).as_tuple();
}

nb::object impacts(const PlacedShapes& a, nb::list geometries_a, const PlacedShapes& b, nb::list geometries_b,
                   Rows first, Rows second, Numbers motions, MaybeNumbers offsets) {
  NumbersAndNormals found(first.shape(0), 3);
  for_each(a, geometries_a, b, geometries_b, first, second, offsets, 1,
           [&](std::size_t k, const MeshSide& x, const MeshSide& y) {
             found.put<3>(k, [&](Vec<3>* normal) { return impact_time(x, vector_of<3>(motions, k), y, normal); });
           });
  return std::move(found).as_tuple();
}

nb::object turning_impacts(const PlacedShapes& a, nb::list geometries_a, const PlacedShapes& b, nb::list geometries_b,
                           Rows first, Rows second, Numbers motions, Numbers targets) {
  NumbersAndNormals found(first.shape(0), 3);
  const std::vector<Geometry> of_a = geometries_of(geometries_a, a.store, {first.data(), first.shape(0)}),
                              of_b = geometries_of(geometries_b, b.store, {second.data(), second.shape(0)});
  at_work([&](Interrupt& interrupt) {
    ShapeStore::LocalRoom room, other_room;
    std::vector<double> unmoved, moved;
    for (std::size_t k = 0; k < first.shape(0); ++k) {
      const std::int32_t i = first.data()[k], j = second.data()[k];
      const ShapeView<3> one = local_shape_of(a, i, room), other = local_shape_of(b, j, other_room);
      const Geometry geometry = geometry_of(one, of_a), other_geometry = geometry_of(other, of_b);
      const TurningPair<3> pair(one, geometry.polytope, other, other_geometry.polytope, motions_of<3>(motions)[k]);
      found.put<3>(k, [&](Vec<3>* normal) {
        if (pair.is_straight() && targets.data()[k] == 0)
          return impact_time(side_of(shape_of(a, i), of_a, nullptr, unmoved), pair.motion,
                             side_of(shape_of(b, j), of_b, nullptr, moved), normal);
        return impact_time(pair, geometry, other_geometry, targets.data()[k], normal);
      });
      interrupt.check();
    }
  });
  return std::move(found).as_tuple();
}

nb::object rays(const PlacedShapes& shapes, nb::list geometries, Rows rows, Numbers origins, Numbers directions,
                unsigned workers) {
  NumbersAndNormals found(rows.shape(0), 3);
  const std::vector<Geometry> known = geometries_of(geometries, shapes.store, {rows.data(), rows.shape(0)});
  for_each_stretch(rows.shape(0), workers, [&](std::size_t, std::size_t begin, std::size_t end) {
    SideOfRow side_of_row(shapes, known);
    for (std::size_t k = begin; k < end; ++k)
      found.put<3>(k, [&](Vec<3>* normal) {
        return ray_hit(side_of_row(rows.data()[k]), vector_of<3>(origins, k), vector_of<3>(directions, k), normal);
      });
  });
  return std::move(found).as_tuple();
}

// All crossings of each ray: offsets (q + 1,); times, normals and faces of all rays. `given`: the directions before
// they were scaled to length 1. `limits`: one for each ray.
template <std::size_t D>
nb::object crossings_of(const PlacedShapes& shapes, const nb::list& geometries, const Rows& rows,
                        const Numbers& origins, const Numbers& directions, const Numbers& given, const Numbers& limits,
                        unsigned workers) {
  struct Part {
    std::vector<double> times, normals;
    std::vector<std::int32_t> faces;
  };
  const std::size_t count = rows.shape(0);
  std::vector<std::int64_t> offsets(count + 1);
  std::vector<Part> parts(count / kRaysATask + 1);
  const std::vector<Geometry> known = geometries_of(geometries, shapes.store, {rows.data(), count});
  for_each_stretch(count, workers, [&](std::size_t task, std::size_t begin, std::size_t end) {
    std::vector<RayCrossing<D>> found;
    const auto put = [&](std::size_t k, const auto& shape) {
      const CrossingRay<D> ray{vector_of<D>(origins, k), vector_of<D>(directions, k), vector_of<D>(given, k)};
      ray_crossings(shape, ray, limits.data()[k], found);
      offsets[k + 1] = static_cast<std::int64_t>(found.size());
      for (const RayCrossing<D>& one : found) {
        parts[task].times.push_back(one.time);
        parts[task].normals.insert(parts[task].normals.end(), one.normal.begin(), one.normal.end());
        parts[task].faces.push_back(one.face);
      }
    };
    if constexpr (D == 3) {
      SideOfRow side_of_row(shapes, known);
      for (std::size_t k = begin; k < end; ++k) put(k, side_of_row(rows.data()[k]));
    } else {
      for (std::size_t k = begin; k < end; ++k)
        put(k, shapes.store.placed<2>(static_cast<std::size_t>(rows.data()[k])));
    }
  });
  for (std::size_t k = 0; k < count; ++k) offsets[k + 1] += offsets[k];
  const auto total = static_cast<std::size_t>(offsets[count]);
  Part all;
  all.times.reserve(total);
  all.normals.reserve(D * total);
  all.faces.reserve(total);
  for (Part& part : parts) {
    all.times.insert(all.times.end(), part.times.begin(), part.times.end());
    all.normals.insert(all.normals.end(), part.normals.begin(), part.normals.end());
    all.faces.insert(all.faces.end(), part.faces.begin(), part.faces.end());
    part = {};
  }
  return as_tuple(std::move(offsets), std::move(all.times), as_table(std::move(all.normals), D), std::move(all.faces));
}

nb::object ray_crossings_of(const PlacedShapes& shapes, nb::list geometries, Rows rows, Numbers origins,
                            Numbers directions, Numbers given, Numbers limits, unsigned workers) {
  return in_plane_or_space(shapes.dimension, [&](auto d) {
    return crossings_of<d()>(shapes, geometries, rows, origins, directions, given, limits, workers);
  });
}

// Of the candidates, each a row of the first faces and one of the second, those whose triangles intersect.
nb::object triangle_pairs(Table<double> vertices, Table<std::int32_t> faces, Table<double> other_vertices,
                          Table<std::int32_t> other_faces, Vector<std::int32_t> first, Vector<std::int32_t> second,
                          bool touching, unsigned workers) {
  const TrianglePairs method({vertices.data(), faces.data()}, {other_vertices.data(), other_faces.data()}, first.data(),
                             second.data(), first.shape(0), touching);
  return as_array(
      at_work([&](Interrupt& interrupt) { return collect_pairs(method, nullptr, workers, kNoLimit, interrupt); }));
}

}  // namespace

void bind_meshes(nb::module_& module) {
  const auto a = "a"_a, geometries_a = "geometries_a"_a, b = "b"_a, geometries_b = "geometries_b"_a,
             solids_a = "solids_a"_a, solids_b = "solids_b"_a, workers = "workers"_a, first = "first"_a,
             second = "second"_a;
  const auto offsets = "offsets"_a.none();
  nb::class_<MeshTree>(module, "MeshTree").def_prop_ro("memory_bytes", &MeshTree::memory_bytes);
  nb::class_<MeshSolid>(module, "MeshSolid")
      .def_prop_ro("is_closed", &MeshSolid::is_closed)
      .def_prop_ro("memory_bytes", &MeshSolid::memory_bytes);
  nb::class_<Polytope>(module, "Polytope")
      .def(
          "__init__",
          [](Polytope* self, Table<double> points) {
            Polytope made({points.data(), points.size()});
            if (made.corner_count() == 0) throw nb::value_error("the points lie in one plane");
            new (self) Polytope(std::move(made));
          },
          "points"_a)
      .def_prop_ro("memory_bytes", &Polytope::memory_bytes);
  nb::class_<KeptHeightField>(module, "HeightField")
      .def(nb::init<Table<double>, double, double, double>(), "heights"_a, "dx"_a, "dy"_a, "bottom"_a)
      .def_prop_ro("memory_bytes", [](const KeptHeightField& self) { return self.field.memory_bytes(); });
  nb::class_<KeptCloud>(module, "CloudTree")
      .def(nb::init<Table<double>, double>(), "points"_a, "radius"_a)
      .def_prop_ro("memory_bytes", [](const KeptCloud& self) { return self.cloud.memory_bytes(); });
  nb::class_<KeptGeometries>(module, "KeptGeometries",
                             "What the core keeps of hulls and meshes by number, looked up once.")
      .def(nb::init<nb::list>(), "prepared"_a);
  module.def("mesh_trees", &mesh_trees, "meshes"_a, workers);
  module.def("mesh_solids", &mesh_solids, "trees"_a, workers);
  module.def("geometry_overlaps", &overlaps_of, a, geometries_a, b, geometries_b, first, second, offsets);
  module.def("geometry_faces", &overlapping_faces, a, geometries_a, b, geometries_b, first, second, "most"_a);
  module.def("geometry_distances", &distances, a, geometries_a, b, geometries_b, first, second, offsets, "within"_a,
             workers);
  module.def("mesh_clearances", &clearances, a, geometries_a, solids_a, b, geometries_b, solids_b, first, second,
             "within"_a, workers);
  module.def("solid_distances", &solid_distances, a, geometries_a, solids_a, b, geometries_b, solids_b, first, second,
             "within"_a, workers);
  module.def("mesh_depths", &depths, a, geometries_a, solids_a, b, geometries_b, solids_b, first, second, workers);
  module.def("mesh_duplicates", &duplicates, a, "given_a"_a, "boxes_a"_a, b, "given_b"_a, "boxes_b"_a, first, second,
             "tolerance"_a);
  module.def("geometry_contacts", &contacts, a, geometries_a, b, geometries_b, first, second, offsets);
  module.def("geometry_impacts", &impacts, a, geometries_a, b, geometries_b, first, second, "motions"_a, offsets);
  module.def("geometry_turning_impacts", &turning_impacts, a, geometries_a, b, geometries_b, first, second, "motions"_a,
             "targets"_a);
  module.def("geometry_rays", &rays, "shapes"_a, "geometries"_a, "rows"_a, "origins"_a, "directions"_a, workers);
  module.def("ray_crossings", &ray_crossings_of, "shapes"_a, "geometries"_a, "rows"_a, "origins"_a, "directions"_a,
             "given"_a, "limits"_a, workers);
  module.def("triangle_pairs", &triangle_pairs, "vertices"_a, "faces"_a, "other_vertices"_a, "other_faces"_a, "first"_a,
             "second"_a, "touching"_a, "workers"_a);
}

}  // namespace broadphase::python
