// Obstacles against plain loops, lower bounds against distances, and bounds of motions against samples of it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "robots/articulated.hpp"
#include "robots/distance_field.hpp"
#include "robots/edges.hpp"
#include "robots/obstacles.hpp"
#include "solids.hpp"

namespace broadphase::tests {
namespace {

double between(Random& random, double low, double high) { return low + (high - low) * random.uniform(); }

struct Record {
  ShapeKind kind;
  std::vector<double> numbers;
};

std::array<double, 4> quaternion(Random& random) {
  std::array<double, 4> q;
  for (double& x : q) x = between(random, -1, 1);
  q[0] += 1.5;
  return q;
}

Record random_record(Random& random, double room, double far) {
  Point by;
  for (double& x : by) x = between(random, -room, room) + far;
  Solid solid = random_solid(random, random_simple_kind<3>(random), Form::kPlain).moved(by);
  return {solid.kind, std::move(solid.record)};
}

Piece piece_of(const Record& record) {
  Piece piece;
  piece.element.shape = {record.kind, record.numbers};
  piece.set_box(nullptr);
  return piece;
}

Obstacles obstacles_of(const std::vector<Record>& records) {
  std::vector<Piece> pieces;
  for (const Record& record : records) pieces.push_back(piece_of(record));
  return Obstacles({}, std::move(pieces));
}

void obstacles_are_those_of_a_plain_loop() {
  Random random(1);
  for (int round = 0; round < 400; ++round) {
    current_case() = "round " + std::to_string(round);
    const double far = random.chance(0.3) ? std::ldexp(1.0, static_cast<int>(random.below(60))) : 0.0;
    std::vector<Record> records;
    const std::size_t count = random.below(random.chance(0.2) ? (random.chance(0.3) ? 3000 : 400) : 40);
    for (std::size_t k = 0; k < count; ++k) records.push_back(random_record(random, 4, far));
    if (count > 3 && random.chance(0.2)) std::fill(records.begin() + 1, records.end(), records[0]);
    if (random.chance(0.2))  // in one place but for less than floats can tell
      for (Record& record : records)
        record = {ShapeKind::kPoint, {3 + 1e-9 * random.uniform() + far, far, 3 * random.uniform() + far}};
    if (random.chance(0.3))  // a cloud of points and balls
      for (Record& record : records) {
        record = {ShapeKind::kPoint, {between(random, -4, 4) + far, between(random, -4, 4) + far, far}};
        if (random.chance(0.5)) {
          record.kind = ShapeKind::kBall;
          record.numbers.push_back(random.chance(0.1) ? 1.0 : 0.01);
        }
        if (random.chance(0.02)) record.numbers[0] -= std::ldexp(1.0, static_cast<int>(random.below(52)));
      }
    const Obstacles obstacles = obstacles_of(records);
    CHECK(obstacles.size() == count);
    for (int query = 0; query < 10; ++query) {
      const Record record = random_record(random, 5, far);
      const Piece asked = piece_of(record);
      const Surrounding core(asked.element.shape);
      const double reach = random.chance(0.5) ? 0.0 : between(random, 0, 2);
      using Kept = std::pair<ShapeKind, std::vector<double>>;
      const auto kept = [](const Piece& piece) {
        const auto& numbers = piece.element.shape.record;
        return Kept{piece.element.shape.kind, {numbers.begin(), numbers.end()}};
      };
      const auto is_near = [&](const Piece& piece) {
        Vec<3> normal;
        return reach > 0 ? signed_distance(piece.element.shape, asked.element.shape, &normal) <= reach
                         : overlap(piece, asked);
      };
      std::vector<Kept> found, wanted;  // of copies, one
      CHECK(!obstacles.any_near(
          asked.box, reach, [&] { return core; },
          [&](const Piece& piece) {
            if (is_near(piece)) found.push_back(kept(piece));
            return false;
          }));
      double least = std::numeric_limits<double>::infinity();
      for (const Record& one : records) {
        const Piece piece = piece_of(one);
        if (is_near(piece)) wanted.push_back(kept(piece));
        least = std::min(least, clearance(piece, asked, least));
      }
      std::sort(found.begin(), found.end());
      std::sort(wanted.begin(), wanted.end());
      wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
      CHECK(found == wanted);
      CHECK(obstacles.any_near(asked.box, reach, [&] { return core; }, is_near) == !wanted.empty());
      double limit = std::numeric_limits<double>::infinity();
      obstacles.visit_near(asked.box, core, limit, [&](const Piece& piece) {
        limit = std::min(limit, clearance(piece, asked, limit));
        return limit;
      });
      CHECK(limit == least || std::abs(limit - least) <= 1e-11 * (1 + least) + 1e-15 * far);
    }
  }
}

void surroundings_are_never_farther_apart_than_the_shapes() {
  Random random(2);
  for (int round = 0; round < 200000; ++round) {
    current_case() = "round " + std::to_string(round);
    const double far = random.chance(0.2) ? std::ldexp(1.0, static_cast<int>(random.below(50))) : 0.0;
    const Record a = random_record(random, 2, far), b = random_record(random, 2, far);
    const Piece x = piece_of(a), y = piece_of(b);
    const double apart = Surrounding::apart(Surrounding(x.element.shape), Surrounding(y.element.shape));
    Vec<3> normal;
    const double true_distance = signed_distance(x.element.shape, y.element.shape, &normal);
    CHECK(apart <= std::max(true_distance, 0.0));
    if (apart > 0) CHECK(!overlaps(x.element.shape, y.element.shape));
  }
}

// Of a rod or a point: the least distance of its axis from any point.
double least_distance(const std::vector<DistanceField::Place>& points, const DistanceField::Place& centre,
                      const DistanceField::Place& axis, double half) {
  double least = std::numeric_limits<double>::infinity();
  for (const DistanceField::Place& point : points) {
    double along = 0, squared = 0;
    for (std::size_t k = 0; k < 3; ++k)
      along += static_cast<double>(axis[k]) * (static_cast<double>(point[k]) - static_cast<double>(centre[k]));
    along = std::clamp(along, -half, half);
    for (std::size_t k = 0; k < 3; ++k) {
      const double gap =
          static_cast<double>(centre[k]) + along * static_cast<double>(axis[k]) - static_cast<double>(point[k]);
      squared += gap * gap;
    }
    least = std::min(least, std::sqrt(squared));
  }
  return least;
}

void rods_beyond_a_distance_by_the_field_are_farther_from_all_points() {
  Random random(6);
  int seen = 0, clear = 0;
  for (int round = 0; round < 600; ++round) {
    current_case() = "round " + std::to_string(round);
    const auto number = [&](double low, double high) { return static_cast<float>(between(random, low, high)); };
    const int form = round % 6;  // in a volume, a plane, a line, two clusters, one place, and with some far away
    std::vector<DistanceField::Place> points(1 + random.below(random.chance(0.1) ? 3000 : 200));
    for (DistanceField::Place& point : points) {
      for (float& x : point) x = number(-1, 1);
      for (std::size_t k = 0; k < 3; ++k)
        if ((form == 1 && k == 0) || (form == 2 && k != 1) || form == 4) point[k] = 0.5F;
      if (form == 3 && random.chance(0.5)) point[1] += 40;
      if (form == 5 && random.chance(0.01))
        point[random.below(3)] *= std::ldexp(1.0F, static_cast<int>(random.below(40)));
    }
    const DistanceField field(points);
    CHECK(field.empty() == (form == 4 || points.size() == 1));
    if (field.empty()) continue;
    for (int query = 0; query < 40; ++query) {
      const double room = random.chance(0.2) ? 50 : 1.5;
      DistanceField::Place centre, axis;
      for (float& x : centre) x = number(-room, room);
      float squared = 0;
      for (float& x : axis) {
        x = number(-1, 1);
        squared += x * x;
      }
      if (squared < 1e-3F) continue;
      for (float& x : axis) x /= std::sqrt(squared);
      const float half = random.chance(0.2) ? 0 : number(0, random.chance(0.1) ? 100 : 1), distance = number(0, 0.5);
      const double least = least_distance(points, centre, axis, static_cast<double>(half));
      const bool is_beyond = field.is_beyond(centre, axis, half, distance);
      if (is_beyond) CHECK(least > static_cast<double>(distance) - 1e-5 * room);
      if (least > static_cast<double>(distance) + 0.5) {
        ++clear;
        seen += is_beyond ? 1 : 0;
      }
    }
  }
  CHECK(seen > clear / 2);
}

void one_far_ball_leaves_those_near_apart() {
  Random random(7);
  std::vector<Record> records;
  for (int k = 0; k < 2000; ++k)
    records.push_back(
        {ShapeKind::kBall, {between(random, -1, 1), between(random, -1, 1), between(random, -1, 1), 0.01}});
  records.push_back({ShapeKind::kBall, {1e9, 0, 0, 0.01}});
  const Obstacles obstacles = obstacles_of(records);
  int visits = 0;
  for (int query = 0; query < 100; ++query) {
    const Record record{ShapeKind::kBall,
                        {between(random, -1, 1), between(random, -1, 1), between(random, -1, 1), 0.05}};
    const Piece asked = piece_of(record);
    const Surrounding core(asked.element.shape);
    const auto count = [&](const Piece&) {
      ++visits;
      return false;
    };
    CHECK(!obstacles.any_near(asked.box, 0, [&] { return core; }, count));
    obstacles.visit_near(asked.box, core, 0.01, [&](const Piece&) {
      ++visits;
      return 0.01;
    });
  }
  CHECK(visits < 100 * 10);
}

constexpr std::size_t kColumns = 7;  // of each joint: as many as any has

// Links with a ball or a rod each, of random joints. Folded: a chain whose rods lie on one another, and whose middles
// are at their joints, so that all of it is near the first axis, but not for long.
Articulated random_robot(Random& random, std::size_t count, bool is_folded, double half,
                         std::vector<JointedLink>& links) {
  std::vector<RobotPart> parts;
  std::vector<ComparedParts> pairs;
  for (std::size_t k = 0; k < count; ++k) {
    JointedLink link;
    link.parent = static_cast<std::int32_t>(k == 0 || is_folded ? k : random.below(k) + 1) - 1;
    link.joint = static_cast<JointKind>(random.below(is_folded ? 3 : 5));
    Vec<3> axis;
    for (double& x : axis) x = between(random, -1, 1);
    axis[2] += 2;
    const double length = std::sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    for (std::size_t i = 0; i < 3; ++i) link.axis[i] = axis[i] / length;
    for (double& x : link.position) x = between(random, -1, 1);
    link.rotation = {1, 0, 0, 0};
    link.column = static_cast<std::int32_t>(kColumns * k);
    if (is_folded) {
      if (link.joint == JointKind::kFixed) link.joint = JointKind::kTurns;
      link.axis = link.joint == JointKind::kSlides ? Vec<3>{1, 0, 0} : Vec<3>{0, 0, 1};
      link.position = {k == 0 ? 0.0 : k % 2 == 1 ? 1.0 : -1.0, 0, 0};
    }
    links.push_back(link);
    RobotPart part;
    part.link = k;
    part.kind = ShapeKind::kBall;
    part.local = {between(random, -0.5, 0.5), between(random, -0.5, 0.5), between(random, -0.5, 0.5), 0.1};
    if (is_folded) {
      part.kind = ShapeKind::kCapsule;
      part.local = {-half, 0, 0, half, 0, 0, 0.02};
    }
    parts.push_back(part);
  }
  for (std::size_t b = 0; b < count && !is_folded; ++b)
    for (std::size_t a = 0; a < b; ++a) pairs.push_back({a, b});
  return Articulated(links, parts, pairs);
}

// At equal shares of the way, it has turned by equal angles about one axis, and it ends where it should.
void rotations_turn_evenly_the_shorter_way() {
  Random random(4);
  for (int round = 0; round < 1000; ++round) {
    current_case() = "round " + std::to_string(round);
    std::array<double, 4> from = quaternion(random), to = quaternion(random);
    if (round % 3 == 0)
      for (double& x : to) x *= -3;
    if (round % 5 == 0) to = {-2 * from[0], -2 * from[1], -2 * from[2] + 1e-9, -2 * from[3]};
    const RotationPath way(from.data(), to.data());
    CHECK(way.angle() <= 3.1415926535897936);
    const Quaternion end = unit_quaternion(to.data());
    for (int step = 0; step <= 8; ++step) {
      const Quaternion at = way.at(step / 8.0), begin = unit_quaternion(from.data());
      double length = 0, cosine = 0, to_end = 0;
      for (std::size_t k = 0; k < 4; ++k) {
        length += at[k] * at[k];
        cosine += at[k] * begin[k];
        to_end += at[k] * end[k];
      }
      CHECK(std::abs(length - 1) < 1e-12);
      CHECK(std::abs(cosine - std::cos(way.angle() / 2 * step / 8)) < 1e-12);
      CHECK(std::abs(std::abs(to_end) - std::cos(way.angle() / 2 * (8 - step) / 8)) < 1e-12);
    }
  }
}

void first_contact_is_not_before_a_contact_of_samples() {
  Random random(3);
  int hits = 0, free = 0;
  for (int round = 0; round < 600; ++round) {
    current_case() = "round " + std::to_string(round);
    std::vector<JointedLink> links;
    const bool is_folded = round % 2 == 1;
    const std::size_t count = 1 + random.below(is_folded ? 3 : 5);
    // Long rods that turn a little, or short ones that turn fast.
    const bool is_fast = random.chance(0.5);
    const Articulated robot = random_robot(random, count, is_folded, is_fast ? 0.03 : 0.9, links);
    std::vector<Record> records;
    for (int k = 0; k < (is_folded ? 12 : 6); ++k) records.push_back(random_record(random, 3, 0));
    if (is_folded)  // a few thin ones
      for (Record& record : records)
        record = {ShapeKind::kBall, {between(random, -3, 3), between(random, -3, 3), 0, 0.03}};
    const Obstacles obstacles = obstacles_of(records);
    const std::size_t columns = kColumns * count;
    std::vector<double> from(columns), to(columns), values(columns);
    for (std::size_t k = 0; k < columns; ++k) {
      from[k] = is_folded ? 0 : between(random, -2, 2);
      to[k] = between(random, -2, 2) * (is_folded && k == 0 ? (is_fast ? 20 : 4) : 1);
    }
    Articulated::Posed posed(robot);
    EdgeSearch search(robot);
    const double tolerance = 1e-6;
    const double time = search.first_contact(from.data(), to.data(), &obstacles, 0, tolerance, [] {});
    const bool collides = search.collides(from.data(), to.data(), &obstacles, 0, tolerance, [] {});
    CHECK(time >= 0);
    (time <= 1 ? hits : free) += 1;
    constexpr int kSamples = 2000;
    for (int sample = 0; sample <= kSamples; ++sample) {
      const double at = static_cast<double>(sample) / kSamples;
      if (at >= time) break;
      robot.kinematics().write_between(from.data(), to.data(), at, values.data());
      CHECK(!robot.collides(values.data(), &obstacles, 0, posed));
    }
    if (!collides) CHECK(time > 1);
    if (time > 1) continue;
    robot.kinematics().write_between(from.data(), to.data(), time, values.data());
    CHECK(robot.clearance(values.data(), &obstacles, 1, posed) <= 1.001 * tolerance);
  }
  CHECK(hits > 50 && free > 20);
}

}  // namespace
}  // namespace broadphase::tests

int main() {
  using namespace broadphase::tests;
  obstacles_are_those_of_a_plain_loop();
  surroundings_are_never_farther_apart_than_the_shapes();
  rods_beyond_a_distance_by_the_field_are_farther_from_all_points();
  one_far_ball_leaves_those_near_apart();
  rotations_turn_evenly_the_shorter_way();
  first_contact_is_not_before_a_contact_of_samples();
}
