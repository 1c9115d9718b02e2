// The narrow phase of meshes among themselves and with the shapes of the core: what one of its triangles is, a mesh is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "narrow/mesh_walk.hpp"
#include "narrow/narrow_3d.hpp"
#include "narrow/triangle_triangle.hpp"

namespace broadphase {

namespace detail {

inline constexpr double kNone = std::numeric_limits<double>::infinity();
inline constexpr double kEnough = std::numeric_limits<double>::quiet_NaN();

inline Corners corners_of(const std::array<double, 9>& numbers) {
  return {numbers.data(), numbers.data() + 3, numbers.data() + 6};
}

}  // namespace detail

// Whether they overlap; of two meshes, exactly for the triangles as they are placed.
inline bool overlaps(const MeshSide& a, const MeshSide& b) {
  const RelativePose view(a, b);
  bool found = false;
  walk_meshes(
      a, b, 0.0, [&](const MeshNode& x, const MeshNode& y) { return view.apart(x, y); },
      [&](std::int32_t face_a, std::int32_t face_b) {
        std::array<double, 9> corners_a, corners_b;
        const ShapeView<3> x = a.element(face_a, corners_a), y = b.element(face_b, corners_b);
        found = a.is_mesh() && b.is_mesh()
                    ? triangles_meet(detail::corners_of(corners_a), detail::corners_of(corners_b))
                    : overlaps(x, y);
        return found ? detail::kEnough : 0.0;
      });
  return found;
}

// The elements that are nearest to each other, or deepest in each other; of several, those met first.
struct NearestElements {
  double distance = detail::kNone;
  Vec<3> normal{};
  std::int32_t first = 0, second = 0;
};

inline NearestElements nearest_elements(const MeshSide& a, const MeshSide& b) {
  const RelativePose view(a, b);
  NearestElements best;
  walk_meshes(
      a, b, detail::kNone, [&](const MeshNode& x, const MeshNode& y) { return view.apart(x, y); },
      [&](std::int32_t face_a, std::int32_t face_b) {
        std::array<double, 9> corners_a, corners_b;
        const ShapeView<3> x = a.element(face_a, corners_a), y = b.element(face_b, corners_b);
        Vec<3> normal;
        double distance = signed_distance(x, y, &normal);
        // What overlaps is not apart, although rounding may say so.
        if (distance > 0 && best.distance > 0 && a.is_mesh() && b.is_mesh() && distance < view.rounding() &&
            triangles_meet(detail::corners_of(corners_a), detail::corners_of(corners_b)))
          distance = 0;
        if (distance < best.distance) best = {distance, normal, face_a, face_b};
        return best.distance;
      });
  return best;
}

// Where they touch, if they overlap: where those elements do.
inline Contact<3> contact(const MeshSide& a, const MeshSide& b) {
  const NearestElements nearest = nearest_elements(a, b);
  std::array<double, 9> corners_a, corners_b;
  return contact(a.element(nearest.first, corners_a), b.element(nearest.second, corners_b));
}

// As for shapes: when the first, moved, first touches the second.
inline double impact_time(const MeshSide& a, const Vec<3>& motion, const MeshSide& b, Vec<3>* normal) {
  RelativePose view(a, b);
  view.allow_for(motion);
  const Vec<3> own_motion = view.in_first_frame(a, motion.data());
  double first = detail::kNone;
  walk_meshes(
      a, b, 1.0, [&](const MeshNode& x, const MeshNode& y) { return view.meets(x, y, own_motion); },
      [&](std::int32_t face_a, std::int32_t face_b) {
        std::array<double, 9> corners_a, corners_b;
        Vec<3> way;
        const double time = impact_time(a.element(face_a, corners_a), motion, b.element(face_b, corners_b), &way);
        if (time < first) {
          first = time;
          *normal = way;
        }
        return first < 1 ? first : 1.0;
      });
  return first;
}

// Where a ray first hits a mesh, as for shapes. The way is cut where it leaves the mesh's own box.
inline double ray_hit(const MeshSide& mesh, const Vec<3>& origin, const Vec<3>& direction, Vec<3>* normal) {
  const MeshSide point(ShapeView<3>{ShapeKind::kPoint, origin});
  RelativePose view(point, mesh);
  // So far that everything is reached.
  const double reach = view.farthest(*point.nodes(), *mesh.nodes());
  double speed = 0;
  for (const double part : direction) speed = std::abs(part) > speed ? std::abs(part) : speed;
  double scale = speed > 0 ? 2 * reach / speed : 0;
  if (!(scale < 0x1p1000)) scale = 0x1p1000;
  const Vec<3> motion{direction[0] * scale, direction[1] * scale, direction[2] * scale};
  view.allow_for(motion);
  double first = detail::kNone;
  walk_meshes(
      point, mesh, 1.0, [&](const MeshNode& x, const MeshNode& y) { return view.meets(x, y, motion); },
      [&](std::int32_t, std::int32_t face) {
        std::array<double, 9> corners;
        Vec<3> way;
        const double time = ray_hit(mesh.element(face, corners), origin, direction, &way);
        if (time < first) {
          first = time;
          *normal = way;
        }
        return first < scale ? first / scale : 1.0;
      });
  return first;
}

}  // namespace broadphase
