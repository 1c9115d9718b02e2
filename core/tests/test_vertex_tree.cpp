// Boxes of vertices in any rotation: the same numbers as if every vertex were looked at, with memory and without.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "check.hpp"
#include "failing_memory.hpp"
#include "shapes/vertex_tree.hpp"

namespace broadphase::tests {

namespace {

// On a sphere, in a cube, on a lattice with many ties, in a plane, on a line, in one place.
constexpr std::size_t kForms = 6;

std::vector<double> vertices_of(std::size_t form, std::size_t count, Random& random) {
  std::vector<double> vertices;
  for (std::size_t k = 0; k < count; ++k) {
    double x = 2 * random.uniform() - 1, y = 2 * random.uniform() - 1, z = 2 * random.uniform() - 1;
    if (form == 0) {
      const double length = std::sqrt(x * x + y * y + z * z);
      x /= length, y /= length, z /= length;
    }
    if (form == 2) x = std::round(2 * x), y = std::round(2 * y), z = std::round(2 * z);
    if (form == 3) z = 0.25;
    if (form == 4) y = 2 * x, z = -x;
    if (form == 5) x = 0.5, y = 0.25, z = -3;
    vertices.insert(vertices.end(), {x, y, z});
  }
  return vertices;
}

VertexTree::Extents plain_extents(const std::vector<double>& vertices, const double* axes) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  VertexTree::Extents found{{kInfinity, kInfinity, kInfinity}, {-kInfinity, -kInfinity, -kInfinity}};
  for (std::size_t at = 0; at < vertices.size(); at += 3)
    for (std::size_t k = 0; k < 3; ++k) {
      const double height = axes[k] * vertices[at] + axes[3 + k] * vertices[at + 1] + axes[6 + k] * vertices[at + 2];
      found.lower[k] = std::min(found.lower[k], height);
      found.upper[k] = std::max(found.upper[k], height);
    }
  return found;
}

std::array<double, 9> axes_of(std::size_t number, Random& random) {
  std::array<double, 9> axes;
  for (double& x : axes) x = 2 * random.uniform() - 1;
  if (number % 2 == 1) {  // about a coordinate axis: a face of the lattice is as high everywhere
    const double angle = 6 * random.uniform();
    axes = {std::cos(angle), std::sin(angle), 0, -std::sin(angle), std::cos(angle), 0, 0, 0, 1};
  }
  return axes;
}

void extents_are_those_of_all_vertices() {
  Random random(1);
  // On both sides of the sizes at which vertices are sorted, and levels come: 64, 128, 1024, 8192.
  for (const std::size_t count : {1, 2, 63, 64, 65, 127, 128, 129, 500, 1024, 1025, 8192, 8193})
    for (std::size_t form = 0; form < kForms; ++form) {
      current_case() = std::to_string(count) + " vertices, form " + std::to_string(form);
      const std::vector<double> vertices = vertices_of(form, count, random);
      const VertexTree tree(vertices);
      CHECK(tree.memory_bytes() == 0);
      for (std::size_t number = 0; number < 20; ++number) {
        const std::array<double, 9> axes = axes_of(number, random);
        const VertexTree::Extents wanted = plain_extents(vertices, axes.data()), found = tree.extents(axes.data());
        CHECK(found.lower == wanted.lower && found.upper == wanted.upper);
      }
      CHECK((tree.memory_bytes() > 0) == (count > 64));
    }
}

void extents_are_the_same_without_memory() {
  Random random(2);
  const std::vector<double> vertices = vertices_of(0, 3000, random);
  const std::array<double, 9> axes = axes_of(0, random);
  const VertexTree::Extents wanted = plain_extents(vertices, axes.data());
  for (long long allocations = 0;; ++allocations) {
    current_case() = "memory for " + std::to_string(allocations) + " allocations";
    const VertexTree tree(vertices);
    allow_allocations(allocations);
    const VertexTree::Extents found = tree.extents(axes.data());
    allow_allocations(-1);
    CHECK(found.lower == wanted.lower && found.upper == wanted.upper);
    if (tree.memory_bytes() > 0) {
      CHECK(allocations > 3);
      return;
    }
  }
}

void trees_are_found_by_their_numbers() {
  const std::vector<double> vertices(3);
  const VertexTree tree(vertices);
  VertexTrees trees;
  for (const std::size_t number : {0, 15, 16, 47, 48, 1000, 100'000}) {
    CHECK(trees[number] == nullptr);
    trees.put(number, nullptr);
    trees.put(number, &tree);
    CHECK(trees[number] == &tree);
    CHECK(trees[number + 1] == nullptr);
    trees.put(number, nullptr);
    CHECK(trees[number] == nullptr);
  }
}

}  // namespace

}  // namespace broadphase::tests

int main() {
  broadphase::tests::extents_are_those_of_all_vertices();
  broadphase::tests::extents_are_the_same_without_memory();
  broadphase::tests::trees_are_found_by_their_numbers();
}
