// Robots: obstacles that are prepared once, and trees of links in many configurations.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "bindings.hpp"
#include "geometries.hpp"
#include "placed_shapes.hpp"
#include "robots/articulated.hpp"
#include "robots/edges.hpp"
#include "robots/obstacles.hpp"

namespace broadphase::python {

namespace {

// Of a record, by the number in it. The list keeps the geometries alive.
Geometry checked_geometry(ShapeKind kind, std::span<const double> record, const nb::list& geometries) {
  if (!is_kept_elsewhere(kind) || kind == ShapeKind::kCustom) return {};
  const auto number = static_cast<std::size_t>(record[0]);
  if (number >= geometries.size()) throw nb::value_error("a record names a geometry that is not given");
  return geometry_of(geometries[number]);
}

// A copy of what is placed in a store now. Of a point cloud, each ball is a piece.
void make_obstacles(Obstacles* self, const PlacedShapes& shapes, Rows rows, nb::list geometries) {
  if (shapes.dimension != 3) throw nb::value_error("obstacles must be in space");
  std::vector<double> numbers;
  std::vector<std::size_t> begins;
  std::vector<Piece> pieces;
  pieces.reserve(rows.shape(0));
  const auto add = [&](const ShapeView<3>& shape, const Geometry& geometry, const VertexTree* vertices) {
    Piece& piece = pieces.emplace_back(Piece{{shape, geometry.polytope}, geometry, {}});
    piece.set_box(vertices);
    begins.push_back(numbers.size());
    numbers.insert(numbers.end(), shape.record.begin(), shape.record.end());
  };
  for (std::size_t k = 0; k < rows.shape(0); ++k) {
    const auto row = static_cast<std::size_t>(rows.data()[k]);
    if (!shapes.store.has(row)) throw nb::index_error("the row has no shape");
    const ShapeView<3> shape = shapes.store.placed<3>(row);
    const Geometry geometry = checked_geometry(shape.kind, shape.record, geometries);
    if (geometry.cloud == nullptr) {
      add(shape, geometry, shapes.store.vertices(shape.kind, shape.record));
      continue;
    }
    const MeshSide cloud = side_of(shape, geometry);
    std::array<double, 9> ball;
    for (std::size_t point = 0; point < cloud.element_count(); ++point)
      add(cloud.element(static_cast<std::int32_t>(point), ball).shape, {}, nullptr);
  }
  // The vector keeps its memory when it is moved.
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    std::span<const double>& record = pieces[k].element.shape.record;
    record = {numbers.data() + begins[k], record.size()};
  }
  const ReleasedGil release;
  new (self) Obstacles(std::move(numbers), std::move(pieces));
}

void make_articulated(Articulated* self, Vector<std::int32_t> parents, Vector<std::uint8_t> joints, Table<double> axes,
                      Table<double> positions, Table<double> rotations, Vector<std::int32_t> columns,
                      Table<double> scales, Vector<std::int32_t> part_links, Vector<std::uint8_t> part_kinds,
                      Vector<std::int32_t> part_sizes, Vector<double> numbers, nb::list geometries,
                      const VerticesByNumber& vertices, Vector<std::uint8_t> meet_obstacles,
                      Table<std::int32_t> pairs) {
  const std::size_t count = parents.shape(0), part_count = part_links.shape(0);
  const auto has_shape = [](const auto& table, std::size_t rows, std::size_t columns) {
    return table.shape(0) == rows && table.shape(1) == columns;
  };
  require(joints.shape(0) == count && columns.shape(0) == count && has_shape(axes, count, 3) &&
          has_shape(positions, count, 3) && has_shape(rotations, count, 4) && has_shape(scales, count, 2) &&
          part_kinds.shape(0) == part_count && part_sizes.shape(0) == part_count &&
          meet_obstacles.shape(0) == part_count && has_shape(pairs, pairs.shape(0), 2));
  std::vector<JointedLink> links(count);
  for (std::size_t k = 0; k < count; ++k) {
    JointedLink& link = links[k];
    link.parent = parents.data()[k];
    if (link.parent >= static_cast<std::int32_t>(k)) throw nb::value_error("a parent must come before its children");
    if (joints.data()[k] > static_cast<std::uint8_t>(kLastJointKind)) throw nb::value_error("an unknown joint");
    link.joint = static_cast<JointKind>(joints.data()[k]);
    std::copy_n(axes.data() + 3 * k, 3, link.axis.begin());
    std::copy_n(positions.data() + 3 * k, 3, link.position.begin());
    std::copy_n(rotations.data() + 4 * k, 4, link.rotation.begin());
    link.column = columns.data()[k];
    if (link.column < 0) throw nb::value_error("a column must not be negative");
    link.scale = scales.data()[2 * k];
    link.offset = scales.data()[2 * k + 1];
  }
  std::vector<RobotPart> parts(part_count);
  const double* record = numbers.data();
  for (std::size_t k = 0; k < part_count; ++k) {
    RobotPart& part = parts[k];
    const auto size = static_cast<std::size_t>(part_sizes.data()[k]);
    part.link = static_cast<std::size_t>(part_links.data()[k]);
    part.kind = static_cast<ShapeKind>(part_kinds.data()[k]);
    if (part.link >= count || size > static_cast<std::size_t>(numbers.data() + numbers.shape(0) - record) ||
        !is_well_formed(part_kinds.data()[k], {record, size}, 3))
      throw nb::value_error("malformed record of a part");
    part.local.assign(record, record + size);
    part.geometry = checked_geometry(part.kind, part.local, geometries);
    if (part.geometry.is_known()) part.vertices = vertices.trees()[static_cast<std::size_t>(part.local[0])];
    part.meets_obstacles = meet_obstacles.data()[k] != 0;
    record += size;
  }
  std::vector<ComparedParts> compared;
  for (std::size_t k = 0; k < pairs.shape(0); ++k)
    compared.push_back(
        {static_cast<std::size_t>(pairs.data()[2 * k]), static_cast<std::size_t>(pairs.data()[2 * k + 1])});
  for (const ComparedParts& pair : compared)
    if (pair.first >= part_count || pair.second >= part_count) throw nb::value_error("a pair names no part");
  new (self) Articulated(std::move(links), std::move(parts), std::move(compared));
}

std::size_t require_columns(const Articulated& robot, const Table<double>& values) {
  if (values.shape(1) < robot.kinematics().column_count()) throw nb::value_error("a joint value is missing");
  return values.shape(0);
}

// Calls use(row, own, interrupt) for each row, without the GIL, on threads. `own` is what each thread keeps, made of
// the robot; `interrupt` is null but on this thread.
template <class Own, class Use>
void for_each_row(const Articulated& robot, std::size_t count, unsigned workers, std::size_t rows_a_task,
                  const Use& use) {
  const ReleasedGil release;
  Interrupt interrupt(signal_pending);
  const std::size_t tasks = (count + rows_a_task - 1) / rows_a_task;
  std::vector<Own> owned(std::max<std::size_t>(1, std::min<std::size_t>(workers, tasks)), Own(robot));
  std::atomic<std::size_t> finished{0};
  for_each_task(tasks, workers, interrupt, [&](unsigned worker, std::size_t task) {
    const std::size_t end = std::min(count, (task + 1) * rows_a_task);
    for (std::size_t row = task * rows_a_task; row < end; ++row)
      use(row, owned[worker], worker == 0 ? &interrupt : nullptr);
    const std::size_t done = ++finished;
    if (worker == 0) interrupt.check(done, tasks);
  });
}
constexpr std::size_t kRowsATask = 64, kEdgesATask = 4;

// Positions (n, links, 3) and quaternions (n, links, 4).
nb::object poses(const Articulated& robot, Table<double> values) {
  const std::size_t count = require_columns(robot, values), links = robot.kinematics().link_count();
  std::vector<double> positions(3 * count * links), rotations(4 * count * links);
  at_work([&](Interrupt& interrupt) {
    std::vector<LinkPose> found(links);
    for (std::size_t row = 0; row < count; ++row) {
      robot.kinematics().place(values.data() + row * values.shape(1), found.data());
      for (std::size_t k = 0; k < links; ++k) {
        std::copy_n(found[k].position.begin(), 3, positions.data() + 3 * (row * links + k));
        std::copy_n(found[k].rotation.begin(), 4, rotations.data() + 4 * (row * links + k));
      }
      if (row % kRowsATask == 0) interrupt.check();
    }
  });
  return as_tuple(as_array(std::move(positions), {count, links, 3}), as_array(std::move(rotations), {count, links, 4}));
}

nb::object collide(const Articulated& robot, Table<double> values, const Obstacles* obstacles, double padding,
                   unsigned workers) {
  const std::size_t count = require_columns(robot, values);
  std::vector<std::uint8_t> answers(count);
  for_each_row<Articulated::Posed>(
      robot, count, workers, kRowsATask, [&](std::size_t row, Articulated::Posed& posed, Interrupt*) {
        answers[row] = robot.collides(values.data() + row * values.shape(1), obstacles, padding, posed) ? 1 : 0;
      });
  return as_array(std::move(answers));
}

nb::object clearance_of(const Articulated& robot, Table<double> values, const Obstacles* obstacles, double within,
                        unsigned workers) {
  const std::size_t count = require_columns(robot, values);
  std::vector<double> gaps(count);
  for_each_row<Articulated::Posed>(
      robot, count, workers, kRowsATask, [&](std::size_t row, Articulated::Posed& posed, Interrupt*) {
        gaps[row] = robot.clearance(values.data() + row * values.shape(1), obstacles, within, posed);
      });
  return as_array(std::move(gaps));
}

// Calls answer(search, row, begin, end, look) for each edge.
template <class Answer>
void for_each_edge(const Articulated& robot, const Table<double>& from, const Table<double>& to, unsigned workers,
                   const Answer& answer) {
  const std::size_t count = require_columns(robot, from), columns = from.shape(1);
  if (require_columns(robot, to) != count || to.shape(1) != columns)
    throw nb::value_error("both ends must have the same shape");
  std::atomic<bool> is_stopped{false};
  for_each_row<EdgeSearch>(robot, count, workers, kEdgesATask,
                           [&](std::size_t row, EdgeSearch& search, Interrupt* interrupt) {
                             const auto look = [&] {
                               if (is_stopped) throw Interrupted();
                               if (interrupt == nullptr) return;
                               try {
                                 interrupt->check();
                               } catch (...) {
                                 is_stopped = true;
                                 throw;
                               }
                             };
                             answer(search, row, from.data() + row * columns, to.data() + row * columns, look);
                           });
}

nb::object edges_collide(const Articulated& robot, Table<double> from, Table<double> to, const Obstacles* obstacles,
                         double padding, double tolerance, unsigned workers) {
  std::vector<std::uint8_t> answers(from.shape(0));
  for_each_edge(robot, from, to, workers,
                [&](EdgeSearch& search, std::size_t row, const double* begin, const double* end, const auto& look) {
                  answers[row] = search.collides(begin, end, obstacles, padding, tolerance, look) ? 1 : 0;
                });
  return as_array(std::move(answers));
}

nb::object first_contacts(const Articulated& robot, Table<double> from, Table<double> to, const Obstacles* obstacles,
                          double padding, double tolerance, unsigned workers) {
  std::vector<double> shares(from.shape(0));
  for_each_edge(robot, from, to, workers,
                [&](EdgeSearch& search, std::size_t row, const double* begin, const double* end, const auto& look) {
                  shares[row] = search.first_contact(begin, end, obstacles, padding, tolerance, look);
                });
  return as_array(std::move(shares));
}

}  // namespace

void bind_robots(nb::module_& module) {
  const auto values = "values"_a, workers = "workers"_a, padding = "padding"_a;
  const auto obstacles = "obstacles"_a.none();
  nb::class_<Obstacles>(module, "Obstacles")
      .def("__init__", &make_obstacles, "shapes"_a, "rows"_a, "geometries"_a, nb::keep_alive<1, 4>())
      .def_prop_ro("memory_bytes", &Obstacles::memory_bytes);
  nb::class_<Articulated>(module, "Articulated")
      .def("__init__", &make_articulated, "parents"_a, "joints"_a, "axes"_a, "positions"_a, "rotations"_a, "columns"_a,
           "scales"_a, "part_links"_a, "part_kinds"_a, "part_sizes"_a, "numbers"_a, "geometries"_a, "vertices"_a,
           "meet_obstacles"_a, "pairs"_a, nb::keep_alive<1, 13>(), nb::keep_alive<1, 14>())
      .def("poses", &poses, values)
      .def("collides", &collide, values, obstacles, padding, workers)
      .def("clearance", &clearance_of, values, obstacles, "within"_a, workers)
      .def("edges_collide", &edges_collide, "begin"_a, "end"_a, obstacles, padding, "tolerance"_a, workers)
      .def("first_contact", &first_contacts, "begin"_a, "end"_a, obstacles, padding, "tolerance"_a, workers);
}

}  // namespace broadphase::python
