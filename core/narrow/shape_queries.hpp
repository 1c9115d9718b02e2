// The narrow phase of two placed shapes, in the plane and in space: compiled once, in narrow_2d.cpp and narrow_3d.cpp.
//
// Shapes are closed: shapes that touch overlap. Results do not depend on the order of the two shapes: overlaps and
// distances are equal bit for bit and normals opposite, unless the shapes are equal or are concentric balls, where no
// direction is better than another.
//
// Preconditions: placed records of any type but kHull, kMesh and kCustom; the parts of a compound are not compounds;
// numbers are finite, and their squares neither overflow nor underflow.
#pragma once

#include "shapes/shape.hpp"

namespace broadphase {

// Whether two shapes overlap whose bounding boxes do. For compounds, this is also required of the boxes of two parts.
bool overlaps(const ShapeView<2>& a, const ShapeView<2>& b);
bool overlaps(const ShapeView<3>& a, const ShapeView<3>& b);

// The distance of two shapes; where they overlap, minus the length of the shortest translation that separates them.
// `normal` is the unit vector of that direction, from a to b. Infinite if one is a compound without parts. Time: for
// compounds, the product of their numbers of parts.
double signed_distance(const ShapeView<2>& a, const ShapeView<2>& b, Vec<2>* normal);
double signed_distance(const ShapeView<3>& a, const ShapeView<3>& b, Vec<3>* normal);

// The contact of two shapes. Precondition: they overlap. For compounds, of the two parts that are deepest in each
// other.
Contact<2> contact(const ShapeView<2>& a, const ShapeView<2>& b);
Contact<3> contact(const ShapeView<3>& a, const ShapeView<3>& b);

// The least t >= 0 with origin + t * direction in the shape; infinity if there is none, and then `normal` is of no
// meaning. It is the outward normal where the ray enters; for a ray that starts inside, the opposite of its direction.
double ray_hit(const ShapeView<2>& shape, const Vec<2>& origin, const Vec<2>& direction, Vec<2>* normal);
double ray_hit(const ShapeView<3>& shape, const Vec<3>& origin, const Vec<3>& direction, Vec<3>* normal);

// The first t in [0, 1] at which `a`, moved by t * motion relative to b, touches `b`; infinity if there is none, and
// then `normal` is of no meaning. It is from a to b at that time; at time 0, that of their signed distance.
double impact_time(const ShapeView<2>& a, const Vec<2>& motion, const ShapeView<2>& b, Vec<2>* normal);
double impact_time(const ShapeView<3>& a, const Vec<3>& motion, const ShapeView<3>& b, Vec<3>* normal);

}  // namespace broadphase
