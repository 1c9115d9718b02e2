// Records of shapes as files may have them: only those that are well formed are read, and these, placed anywhere, give
// answers that are numbers, the same whichever shape comes first.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "fuzz/scene_bytes.hpp"
#include "narrow/shape_queries.hpp"
#include "narrow/turning.hpp"
#include "shapes/store.hpp"
#include "tests/shape_kinds.hpp"

namespace broadphase::fuzz {
namespace {

// The largest number that Python lets pass, see src/broadphase/shapes/parameters.py.
constexpr double kLargest = 1e40;

template <std::size_t D>
class Target {
 public:
  explicit Target(Random& random) : random_(random), coordinates_(random, random.below(2) == 0) {}

  void run() {
    for (std::size_t row = 0; row < 2; ++row) add(row);
    // Both ways to place a shape agree, and its box holds it.
    const ShapeView<D> a = store_.placed<D>(0), b = store_.placed<D>(1);
    CHECK(overlaps(a, b) == overlaps(b, a));
    Vec<D> normal{}, back{}, motion{}, origin{};
    const double distance = signed_distance(a, b, &normal);
    CHECK(!std::isnan(distance) && distance == signed_distance(b, a, &back));
    for (std::size_t k = 0; k < D; ++k) {
      motion[k] = coordinate();
      origin[k] = coordinate();
    }
    const double time = impact_time(a, motion, b, &normal), hit = ray_hit(a, origin, motion, &normal);
    CHECK((time >= 0 && time <= 1) || time == std::numeric_limits<double>::infinity());
    CHECK(hit >= 0);
    check_turning(motion);
    if (!overlaps(a, b)) return;
    CHECK(time == 0);
    const Contact<D> found = contact(a, b);
    CHECK(found.depth >= 0 && found.count >= 1 && found.count <= Contact<D>::kMostPoints);
  }

 private:
  double coordinate() { return std::clamp(coordinates_.finite(), -kLargest, kLargest); }

  void append(std::vector<double>& record, ShapeKind kind) {
    const auto points = [&](std::size_t count) {
      for (std::size_t k = 0; k < count * D; ++k) record.push_back(coordinate());
    };
    const auto lengths = [&](std::size_t count) {
      for (std::size_t k = 0; k < count; ++k) record.push_back(std::fabs(coordinate()));
    };
    const ShapeTraits& traits = traits_of(kind);
    if (!traits.has_parts) {
      points(traits.points + (traits.is_open ? random_.below(4) : 0));
      lengths(traits.lengths + (traits.has_halves ? D : 0));
      if (traits.has_axes) axes(record, D);
      if (traits.has_normal) axes(record, 1);
      return;
    }
    for (std::size_t parts = 1 + random_.below(3); parts > 0; --parts) {
      const ShapeKind part = tests::random_simple_kind<D>(random_);
      record.push_back(static_cast<double>(part));
      const std::size_t length = record.size();
      record.push_back(0);
      append(record, part);
      record[length] = static_cast<double>(record.size() - length - 1);
    }
  }
  void axes(std::vector<double>& record, std::size_t count) {
    const double zero[3] = {};
    double rotation[4] = {};
    turn(rotation);
    const Pose<D> pose(zero, rotation);
    for (std::size_t axis = 0; axis < count; ++axis) {
      Vec<D> along{}, turned{};
      along[axis] = 1;
      pose.turn(along.data(), turned.data());
      record.insert(record.end(), turned.begin(), turned.end());
    }
  }
  // Bodies that move and turn touch at some share of their motion, or never.
  void check_turning(const Vec<D>& motion) {
    PairMotion<D> how;
    how.motion = motion;
    for (double& x : how.place) x = coordinate();
    turn(how.rotation.data());
    turn(how.other_rotation.data());
    for (auto* numbers : {&how.turn, &how.other_turn})
      for (double& x : *numbers) x = random_.chance(0.5) ? 0 : 20 * random_.uniform() - 10;
    ShapeStore::LocalRoom room, other_room;
    const TurningPair<D> pair({store_.kind(0), store_.local(0, room)}, nullptr,
                              {store_.kind(1), store_.local(1, other_room)}, nullptr, how);
    Vec<D> normal{};
    const double time = impact_time(pair, std::fabs(coordinate()), &normal);
    CHECK((time >= 0 && time <= 1) || time == std::numeric_limits<double>::infinity());
  }

  // Not zero.
  void turn(double* rotation) {
    bool is_zero = D == 3;
    for (std::size_t k = 0; k < kRotationNumbers<D>; ++k) {
      rotation[k] = random_.chance(0.5) ? coordinate() : random_.uniform();
      is_zero = is_zero && rotation[k] == 0;
    }
    if (is_zero) rotation[0] = 1;
  }

  void add(std::size_t row) {
    const ShapeKind kind = tests::random_kind<D>(random_);
    std::vector<double> record;
    append(record, kind);
    CHECK(is_well_formed(static_cast<std::uint8_t>(kind), record, D));
    // With any other numbers it is read in full, or refused.
    std::vector<double> other = record;
    other[random_.below(other.size())] = coordinates_.number();
    if (random_.chance(0.5)) other.resize(random_.below(other.size()));
    is_well_formed(static_cast<std::uint8_t>(random_.below(16)), other, D, random_.chance(0.5));
    Vec<D> position;
    for (double& x : position) x = coordinate();
    double rotation[4] = {}, lower[D], upper[D];
    const bool turns = random_.chance(0.5);
    if (turns) turn(rotation);
    store_.set(row, kind, record);
    store_.place<D>(row, position.data(), turns ? rotation : nullptr, lower, upper);
    for (std::size_t k = 0; k < D; ++k) CHECK(lower[k] <= upper[k]);
  }

  Random& random_;
  Coordinates<double> coordinates_;
  ShapeStore store_;
};

}  // namespace
}  // namespace broadphase::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  broadphase::tests::Random random(data, size);
  if (random.below(2) == 0)
    broadphase::fuzz::Target<2>(random).run();
  else
    broadphase::fuzz::Target<3>(random).run();
  return 0;
}
