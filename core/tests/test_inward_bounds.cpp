// What trees of rounded boxes call a sure overlap is one, and what they leave in doubt is at the limit: on every level,
// for coordinates a few units in the last place apart, of floats and of doubles.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "bvh/build.hpp"
#include "methods.hpp"
#include "tree/pairs.hpp"
#include "tree/queries.hpp"

namespace broadphase::tests {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Numbers near some others: the same, next to them as doubles or as floats, or thirds of the way between them.
class Coordinates {
 public:
  Coordinates(Random& random, bool are_far) : random_(random) {
    const double scale = random.chance(0.2) ? std::ldexp(1.0, static_cast<int>(random.below(200)) - 100) : 1.0;
    const double origin = random.chance(0.3) ? scale * (0x1p24 + 1) : random.chance(0.3) ? scale / 3 : 0;
    for (std::size_t at = 0; at < 6; ++at) near_.push_back(origin + scale * static_cast<double>(at) / 3);
    if (are_far)
      near_.insert(near_.end(), {-kInfinity, kInfinity, 3e38, -3.5e38, 1e300, -1e300, 1e-38, -1e-45, 5e-324});
  }

  template <class T>
  T next() {
    auto number = static_cast<T>(near_[random_.below(near_.size())]);
    const T towards = random_.chance(0.5) ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::infinity();
    if (random_.chance(0.3)) {
      for (std::size_t steps = random_.below(4); steps > 0; --steps) number = std::nextafter(number, towards);
    } else if (random_.chance(0.7)) {
      const double part = static_cast<double>(random_.below(40)) * 0x1p-25;
      number += static_cast<T>((towards > 0 ? part : -part) * static_cast<double>(number));
    }
    return std::isnan(number) ? T(0) : number;
  }

 private:
  Random& random_;
  std::vector<double> near_;
};

// Beyond this share of their sizes, boxes that overlap or lie apart are to be told.
constexpr double kNear = 4e-6;

// Notes the candidates that it is given: those in doubt.
template <class T>
struct KeepNoting {
  const Problem<T>& problem;
  bool certain = false;
  std::vector<std::pair<std::int32_t, std::int32_t>>* doubts;
  static constexpr bool kTestsBoxes = true;

  std::size_t operator()(std::int32_t* first, std::int32_t* second, std::size_t count) const {
    for (std::size_t k = 0; k < count; ++k) doubts->emplace_back(first[k], second[k]);
    return KeepOverlaps<T>{problem, false}(first, second, count);
  }
};

template <class T>
Boxes<T> boxes_at(Coordinates& coordinates, Random& random, std::size_t count, std::size_t dimension) {
  std::vector<T> lower, upper;
  for (std::size_t at = 0; at < count * dimension; ++at) {
    const T a = coordinates.next<T>(), b = random.chance(0.2) ? a : coordinates.next<T>();
    lower.push_back(std::min(a, b));
    upper.push_back(std::max(a, b));
  }
  return Boxes<T>(lower, upper, dimension, random.below(3));
}

template <class T>
void check(const Kernels& kernels, std::uint64_t seed) {
  Random random(seed);
  const std::size_t dimension = 1 + random.below(4), count = 1 + random.below(60);
  const bool are_far = random.chance(0.3);
  Coordinates coordinates(random, are_far);
  const Boxes<T> boxes = boxes_at<T>(coordinates, random, count, dimension),
                 queries = boxes_at<T>(coordinates, random, 20, dimension);
  current_case() = std::string(kernels.level) + (sizeof(T) == 4 ? ", float" : ", double") + ", D " +
                   std::to_string(dimension) + ", seed " + std::to_string(seed);
  // In a frame that rounds, or in one that was exact before later changes.
  BlockTree tree;
  tree.blocks = Blocks(dimension);
  std::vector<std::int32_t> rows(count);
  for (std::size_t row = 0; row < count; ++row) rows[row] = static_cast<std::int32_t>(row);
  tree.frame = frame_of(boxes.view, dimension, rows.data(), count, 1, never);
  if (random.chance(0.5)) tree.frame.exact = false;
  tree.lossy = true;
  tree.root = tree.blocks.add();
  for (std::size_t row = 0, block = 0; row < count; ++row) {
    float box[8];
    local_box(tree.frame, boxes.view, row, dimension, box);
    if (row > 0 && row % kLanes == 0) {
      const std::int32_t more = tree.blocks.add();
      tree.blocks.next(static_cast<std::int32_t>(block)) = more;
      block = static_cast<std::size_t>(more);
    }
    tree.blocks.set_lane(static_cast<std::int32_t>(block), row % kLanes, box, static_cast<std::int32_t>(row), true);
  }
  double size = 0;
  for (const std::vector<T>* numbers : {&boxes.numbers, &queries.numbers})
    for (const T x : *numbers) size = std::max(size, std::fabs(static_cast<double>(x)));

  // How far boxes overlap along the axis where they do least; negative if they lie apart.
  const auto depth = [&](const T* lower, const T* upper, const T* other_lower, const T* other_upper) {
    double least = kInfinity;
    for (std::size_t k = 0; k < dimension; ++k)
      least = std::min(least, static_cast<double>(std::min(upper[k], other_upper[k])) -
                                  static_cast<double>(std::max(lower[k], other_lower[k])));
    return least;
  };
  const auto depth_with = [&](const T* lower, const T* upper, std::int32_t row) {
    const auto at = static_cast<std::size_t>(row);
    return depth(lower, upper, boxes.view.lower_of(at), boxes.view.upper_of(at));
  };

  for (std::size_t query = 0; query < queries.view.count; ++query) {
    const T *lower = queries.view.lower_of(query), *upper = queries.view.upper_of(query);
    double box[8];
    std::copy_n(lower, dimension, box);
    std::copy_n(upper, dimension, box + dimension);
    BoxWalk walk;
    CHECK(!start(walk, tree, box));
    std::vector<bool> is_sure(count, false), is_found(count, false);
    const auto next = kernels.trees->next_surely_by_box[dimension - 1];
    for (next(walk); walk.found > 0 || walk.sure_found > 0; next(walk)) {
      for (std::size_t at = 0; at < walk.sure_found; ++at) is_sure[static_cast<std::size_t>(walk.sure[at])] = true;
      for (std::size_t at = 0; at < walk.found; ++at) is_found[static_cast<std::size_t>(walk.rows[at])] = true;
    }
    for (std::size_t row = 0; row < count; ++row) {
      const double by = depth_with(lower, upper, static_cast<std::int32_t>(row));
      CHECK(!(is_sure[row] && is_found[row]));
      CHECK(is_sure[row] ? by >= 0 : is_found[row] || !(by >= 0));
      if (!are_far && by > kNear * size) CHECK(is_sure[row]);
    }
  }

  for (const bool touching : {true, false}) {
    Problem<T> problem;
    problem.first = boxes.view;
    problem.dimension = dimension;
    problem.touching = touching;
    std::vector<std::pair<std::int32_t, std::int32_t>> doubts;
    const TreePairs<KeepNoting<T>> pairs(tree, KeepNoting<T>{problem, false, &doubts}, kernels);
    CHECK(pairs_of(pairs, nullptr, 1) == plain_pairs(problem));
    for (const auto& [i, j] : doubts) {
      const auto at = static_cast<std::size_t>(i);
      const double by = depth_with(boxes.view.lower_of(at), boxes.view.upper_of(at), j);
      const bool is_flat = depth_with(boxes.view.lower_of(at), boxes.view.upper_of(at), i) <= kNear * size ||
                           depth_with(boxes.view.lower_of(static_cast<std::size_t>(j)),
                                      boxes.view.upper_of(static_cast<std::size_t>(j)), j) <= kNear * size;
      CHECK(are_far || dimension == 1 || std::fabs(by) <= kNear * size || (!touching && is_flat));
    }
    const std::size_t named = doubts.size();
    CHECK(count_of(pairs, nullptr, 1) == plain_pairs(problem).size());
    CHECK(doubts.size() == 2 * named);  // counting names no other pairs
  }
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  const std::size_t scenes = rounds(argc, argv, 2000);
  for_each_level([&](const broadphase::Kernels& kernels) {
    for (std::uint64_t seed = 0; seed < scenes; ++seed) {
      check<float>(kernels, seed);
      check<double>(kernels, seed);
    }
  });
}
