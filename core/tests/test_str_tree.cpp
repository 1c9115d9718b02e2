// The order of an STR tree, and of pairs, against plain sorts; its searches against plain loops and queues.
#include "tree/str_tree.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "check.hpp"

namespace broadphase::tests {
namespace {

using Box = std::array<double, 4>;

struct Node {
  Box box;
  std::vector<std::size_t> rows;  // below it, as they are visited
  std::vector<Node> children;
};

// As the paper says: slices along x, and in each of them nodes along y, until one node is left.
std::vector<Node> plain_tree(const std::vector<Box>& boxes, std::size_t capacity) {
  std::vector<Node> nodes;
  for (std::size_t row = 0; row < boxes.size(); ++row) nodes.push_back({boxes[row], {row}, {}});
  const auto by = [](std::size_t axis) {
    return
        [axis](const Node& a, const Node& b) { return a.box[axis] + a.box[axis + 2] < b.box[axis] + b.box[axis + 2]; };
  };
  while (nodes.size() > 1) {
    const double parents = std::ceil(static_cast<double>(nodes.size()) / static_cast<double>(capacity));
    const auto size =
        static_cast<std::size_t>(std::ceil(static_cast<double>(nodes.size()) / std::ceil(std::sqrt(parents))));
    std::sort(nodes.begin(), nodes.end(), by(0));
    std::vector<Node> above;
    for (std::size_t begin = 0; begin < nodes.size(); begin += size) {
      std::vector<Node> slice(nodes.begin() + static_cast<std::ptrdiff_t>(begin),
                              nodes.begin() + static_cast<std::ptrdiff_t>(std::min(nodes.size(), begin + size)));
      std::sort(slice.begin(), slice.end(), by(1));
      for (std::size_t k = 0; k < slice.size(); ++k) {
        if (k % capacity == 0) above.push_back({slice[k].box, {}, {}});
        Node& parent = above.back();
        parent.rows.insert(parent.rows.end(), slice[k].rows.begin(), slice[k].rows.end());
        for (std::size_t axis : {0, 1}) {
          parent.box[axis] = std::min(parent.box[axis], slice[k].box[axis]);
          parent.box[axis + 2] = std::max(parent.box[axis + 2], slice[k].box[axis + 2]);
        }
        parent.children.push_back(slice[k]);
      }
    }
    nodes = std::move(above);
  }
  return nodes;
}

std::vector<std::size_t> plain_order(const std::vector<Box>& boxes, std::size_t capacity) {
  const std::vector<Node> nodes = plain_tree(boxes, capacity);
  return nodes.empty() ? std::vector<std::size_t>() : nodes[0].rows;
}

std::vector<std::int64_t> order_of(const std::vector<Box>& boxes, std::size_t capacity) {
  Interrupt interrupt;
  const StrTree tree(boxes.empty() ? nullptr : boxes[0].data(), boxes.size(), capacity, interrupt);
  return tree.is_open() ? std::vector<std::int64_t>() : tree.visited();
}

std::vector<Box> random_boxes(Random& random, std::size_t count) {
  std::vector<Box> boxes(count);
  for (Box& box : boxes) {
    box = {random.uniform(), random.uniform(), 0, 0};
    box[2] = box[0] + 0.1 * random.uniform();
    box[3] = box[1] + 0.1 * random.uniform();
  }
  return boxes;
}

void check_order(const std::vector<Box>& boxes, std::size_t capacity) {
  const std::vector<std::size_t> expected = plain_order(boxes, capacity);
  const std::vector<std::int64_t> found = order_of(boxes, capacity);
  CHECK(std::equal(found.begin(), found.end(), expected.begin(), expected.end(),
                   [](std::int64_t a, std::size_t b) { return static_cast<std::size_t>(a) == b; }));
}

void order_is_that_of_plain_sorts(std::size_t seed) {
  Random random(seed);
  // Both sides of full nodes, of full trees, and of the length from which on more bits are sorted at a time.
  for (std::size_t count : {0, 1, 2, 3, 9, 10, 11, 99, 100, 101, 999, 1000, 1001, 2345})
    for (std::size_t capacity : {2, 3, 10, 37}) {
      current_case() =
          std::to_string(count) + " boxes by " + std::to_string(capacity) + ", seed " + std::to_string(seed);
      check_order(random_boxes(random, count), capacity);
    }
}

// Centers that differ in their last bits alone are equal as scaled to 32 bits: only their values tell them apart.
void almost_equal_centers_are_told_apart(std::size_t seed) {
  Random random(seed);
  current_case() = "almost equal centers, seed " + std::to_string(seed);
  std::vector<Box> boxes = random_boxes(random, 300);
  for (std::size_t k = 0; k < 200; ++k) {
    const double x = 0.25 + static_cast<double>(k) * 0x1p-50, y = 0.75 - static_cast<double>(k * 7 % 200) * 0x1p-50;
    boxes[k] = {x, y, x, y};
  }
  std::vector<Box> mixed = boxes;
  for (std::size_t k = mixed.size(); k > 1; --k) std::swap(mixed[k - 1], mixed[random.below(k)]);
  check_order(mixed, 10);
}

void equal_centers_leave_the_order_open() {
  Random random(1);
  current_case() = "equal centers";
  std::vector<Box> boxes = random_boxes(random, 50);
  boxes[40] = boxes[3];
  CHECK(order_of(boxes, 10).empty());
  // Equal along x, in one slice: of these too, GEOS decides.
  boxes[40] = {boxes[3][0], 0, boxes[3][2], 1};
  CHECK(order_of(boxes, 10).empty());
  CHECK(order_of({boxes[0], boxes[0]}, 2).empty());
}

// Whatever range they have, the order is right, or left open.
void extreme_centers_are_in_order_or_left_open() {
  Random random(2);
  for (const double far : {1e6, -1e14, 1e300, 1.7e308, 1e-310}) {
    current_case() = "one far box at " + std::to_string(far);
    std::vector<Box> boxes = random_boxes(random, 300);
    if (far == 1e-310)
      for (Box& box : boxes)
        for (double& value : box) value *= far;
    else
      boxes[7] = {far, far, far, far};
    if (!order_of(boxes, 10).empty()) check_order(boxes, 10);
  }
}

double gap(const Box& a, const Box& b, std::size_t axis) {
  return std::max({a[axis] - b[axis + 2], b[axis] - a[axis + 2], 0.0});
}
double squared_gap(const Box& a, const Box& b) { return gap(a, b, 0) * gap(a, b, 0) + gap(a, b, 1) * gap(a, b, 1); }

// Boxes on a lattice, of which many have equal centers and are equally far.
std::vector<Box> lattice_boxes(Random& random, std::size_t count, std::size_t side) {
  std::vector<Box> boxes(count);
  for (Box& box : boxes) {
    const auto x = static_cast<double>(random.below(side)), y = static_cast<double>(random.below(side));
    box = {x, y, x + static_cast<double>(random.below(3)), y + static_cast<double>(random.below(3))};
  }
  return boxes;
}

void near_rows_are_those_of_a_loop(std::size_t seed) {
  Random random(seed);
  for (const std::size_t count : {0, 1, 2, 10, 11, 300}) {
    current_case() = "near rows of " + std::to_string(count) + ", seed " + std::to_string(seed);
    const std::vector<Box> boxes = lattice_boxes(random, count, 20), asked = lattice_boxes(random, 1, 20);
    Interrupt interrupt;
    const StrTree tree(boxes.empty() ? nullptr : boxes[0].data(), count, 2 + random.below(10), interrupt);
    const FlatBox box{asked[0][0], asked[0][1], asked[0][2], asked[0][3]};
    std::vector<StrTree::Waiting> waiting;
    const auto most = static_cast<double>(random.below(40));
    std::set<std::size_t> found, expected;
    tree.for_near(box, most, waiting, [&](std::size_t row, const FlatBox&) { CHECK(found.insert(row).second); });
    for (std::size_t row = 0; row < count; ++row)
      if (squared_gap(boxes[row], asked[0]) <= most) expected.insert(row);
    CHECK(found == expected);
    CHECK(tree.has_overlap(box, waiting) ==
          std::any_of(boxes.begin(), boxes.end(), [&](const Box& one) { return squared_gap(one, asked[0]) == 0; }));
    // Where the search is narrowed down, it still comes to the nearest.
    double square = 1e9, least = 1e9, truly = 1e9;
    tree.for_near(box, square, waiting, [&](std::size_t row, const FlatBox& own) {
      least = std::min(least, squared_gap(boxes[row], asked[0]));
      square = least;
      CHECK((Box{own.x, own.y, own.x_end, own.y_end} == boxes[row]));
    });
    for (const Box& one : boxes) truly = std::min(truly, squared_gap(one, asked[0]));
    CHECK(least == truly);
  }
}

// By a queue of pointers to the nodes of the plain tree: rows in the order in which their keys are asked for.
void search_of_geos_is_that_by_a_queue(std::size_t seed) {
  Random random(seed);
  for (const std::size_t count : {1, 2, 10, 11, 100, 300}) {
    const std::size_t capacity = 2 + random.below(10);
    current_case() = "search of GEOS among " + std::to_string(count) + " by " + std::to_string(capacity) + ", seed " +
                     std::to_string(seed);
    const std::vector<Box> boxes = lattice_boxes(random, count, 20), asked = lattice_boxes(random, 1, 20);
    Interrupt interrupt;
    const StrTree tree(boxes[0].data(), count, capacity, interrupt);
    std::vector<double> keys;
    for (std::size_t row = 0; row < count; ++row)
      keys.push_back(std::sqrt(squared_gap(boxes[row], asked[0])) + static_cast<double>(random.below(3)));
    std::vector<std::size_t> found, expected;
    std::vector<StrTree::Waiting> waiting;
    const FlatBox box{asked[0][0], asked[0][1], asked[0][2], asked[0][3]};
    // What is farther than the nearest row so far is left open, or not.
    const bool is_open = random.chance(0.5);
    double square = std::numeric_limits<double>::infinity();
    const std::size_t nearest = tree.find_as_geos(box, square, waiting, [&](std::size_t row, const FlatBox& own) {
      if (is_open) square = std::min(square, keys[row] * keys[row]);
      CHECK((Box{own.x, own.y, own.x_end, own.y_end} == boxes[row]));
      found.push_back(row);
      return keys[row];
    });
    const std::vector<Node> root = plain_tree(boxes, capacity);
    using Entry = std::pair<double, const Node*>;
    const auto is_after = [](const Entry& a, const Entry& b) { return a.first > b.first; };
    std::priority_queue<Entry, std::vector<Entry>, decltype(is_after)> queue(is_after);
    const auto add = [&](const Node& node) {
      if (node.children.empty()) expected.push_back(node.rows[0]);
      queue.push({node.children.empty() ? keys[node.rows[0]] : std::sqrt(squared_gap(node.box, asked[0])), &node});
    };
    add(root[0]);
    while (!queue.top().second->children.empty()) {
      const Node* node = queue.top().second;
      queue.pop();
      for (const Node& child : node->children) add(child);
    }
    if (is_open)  // rows that are as near as the nearest one are found in the same order
      for (auto* rows : {&found, &expected})
        std::erase_if(*rows, [&](std::size_t row) { return keys[row] > *std::min_element(keys.begin(), keys.end()); });
    CHECK(found == expected);
    CHECK(nearest == queue.top().second->rows[0]);
  }
}

void pairs_are_in_the_order_of_a_plain_sort(std::size_t seed) {
  Random random(seed);
  for (std::size_t rows : {1, 2, 17, 300})
    for (const bool both_ways : {false, true}) {
      current_case() = "pairs of " + std::to_string(rows) + " rows, seed " + std::to_string(seed);
      std::vector<std::int64_t> visited;
      std::vector<std::size_t> place(rows);
      for (std::size_t row = 0; row < rows; ++row) visited.push_back(static_cast<std::int64_t>(row));
      for (std::size_t k = rows; k > 1; --k) std::swap(visited[k - 1], visited[random.below(k)]);
      for (std::size_t k = 0; k < rows; ++k) place[static_cast<std::size_t>(visited[k])] = k;
      std::set<std::pair<std::int64_t, std::int64_t>> chosen;
      for (std::size_t k = random.below(3 * rows + 1); k > 0; --k) {
        const auto a = static_cast<std::int64_t>(random.below(rows)), b = static_cast<std::int64_t>(random.below(rows));
        if (!both_ways || a == b || !chosen.contains({b, a})) chosen.insert({a, b});
      }
      std::vector<std::int64_t> one, other;
      std::vector<std::tuple<std::int64_t, std::size_t, std::int64_t>> expected;
      for (const auto& [a, b] : chosen) {
        one.push_back(a);
        other.push_back(b);
        expected.push_back({a, place[static_cast<std::size_t>(b)], b});
        if (both_ways && a != b) expected.push_back({b, place[static_cast<std::size_t>(a)], a});
      }
      std::sort(expected.begin(), expected.end());
      Interrupt interrupt;
      const PairsInOrder found =
          pairs_in_order(one.data(), other.data(), one.size(), both_ways, visited, rows, interrupt);
      CHECK(found.size == expected.size());
      for (std::size_t k = 0; k < found.size; ++k)
        CHECK(found.rows[k] == std::get<0>(expected[k]) && found.rows[found.size + k] == std::get<2>(expected[k]));
    }
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  equal_centers_leave_the_order_open();
  extreme_centers_are_in_order_or_left_open();
  for (std::size_t seed = 0; seed < rounds(argc, argv, 10); ++seed) {
    order_is_that_of_plain_sorts(seed);
    almost_equal_centers_are_told_apart(seed);
    pairs_are_in_the_order_of_a_plain_sort(seed);
    near_rows_are_those_of_a_loop(seed);
    search_of_geos_is_that_by_a_queue(seed);
  }
}
