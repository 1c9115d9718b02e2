// When a step of a world does what.
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
  std::size_t rows_for_threads = 20'000;  // once, for all parts of the step
};
inline StepLimits step_limits;

}  // namespace broadphase
