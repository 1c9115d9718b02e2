// When steps, queries and lidars of a world do what.
#pragma once

#include <cstddef>

namespace broadphase {

// Python changes these only in tests, so that small worlds come to everything.
struct StepLimits {
  // "auto" queries a tree about the rows that have changed if these are few: that takes 1-2 us for each of them, where
  // finding all pairs takes 60-100 ns for every row. And not at once: the tree must be built first, which takes as long
  // as two or three searches, and may be needed only once.
  double few = 1.0 / 30;
  int steps_before_a_tree = 3;
  std::size_t rows_for_a_tree = 1000;
  std::size_t rows_for_near_pairs = 32;
  // Where it is known that no others can have moved, rows are looked at one by one up to this share of all.
  double steady = 1.0 / 16;
  // Where more rows than this share are followed on their routes, to find out what is far from these takes longer than
  // to search among all: from a tenth to a quarter of the rows on, measured with 1,000 and 20,000 bodies; below, the
  // search would take up to five times.
  double followed = 1.0 / 4;
};
inline StepLimits step_limits;

struct QueryLimits {
  // From so many queries on, for each body and thread, the tree is copied around the boxes themselves, without their
  // margins: 15 to 20 ns a body, for 100 ns of a search for the nearest and 20 ns of a ray. Measured with 20,000 and
  // 200,000 boxes.
  static constexpr double nearest_for_a_copy = 0.25, rays_for_a_copy = 1;
};

struct LidarLimits {
  // Each body looks at all others if these are so few; else at those nearby, and then through a tree: that takes 10 us
  // for 64 beams, the time of some 250 others. Measured with 100 to 2,000 discs.
  static constexpr std::size_t most_at_once = 256;
  // So many others are nearby: as many as the kernel tests in the time in which some ten beams are walked through a
  // tree. Measured with 10,000 discs, dense and sparse.
  static constexpr std::size_t nearby = 64;
};

}  // namespace broadphase
