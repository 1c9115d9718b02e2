// The numbers by which "auto" chooses a method, in one place. `make tune` measures what each is worth.
#pragma once

namespace broadphase {

// each(name, value, without): nanoseconds unless it says otherwise, on one core of the machine that they were fitted
// on; their ratios hold more widely. `without` stands for a rule that does not know the number: `make tune` compares
// the two.
// clang-format off
#define BROADPHASE_AUTO_COSTS(each) \
  /* Brute force: a call, a box, and a pair of two boxes of floats for each axis. */ \
  each(brute_force_call, 500, 0) \
  each(brute_force_box, 20, 0) \
  each(pair_for_each_axis, 0.25 / 3, 0.25) \
  /* The sweep along the only axis: a box, and more for doubles. */ \
  each(interval_box, 12, 0) \
  each(interval_box_of_doubles, 3, 0) \
  /* The sweep: a call, a box, more for each axis, for a run that does not end at once, and for doubles. */ \
  each(sweep_call, 8000, 0) \
  each(sweep_box, 18, 0) \
  each(sweep_box_for_each_axis, 5, 0) \
  each(sweep_box_with_run, 13, 0) \
  each(sweep_box_of_doubles, 12, 0) \
  each(sweep_short_run, 20, 1e300) \
  /* How many times as long as by brute force a pair in a run takes: runs are short, and begin anywhere. */ \
  each(sweep_pair, 1.6, 1) \
  /* A run of so many boxes is half as long to test as floats; so many times as many overlaps undo that. */ \
  each(sweep_rounded_run, 48, 1e300) \
  /* A run of so many boxes is tested in blocks, if no more than such a share of the blocks is met. */ \
  each(sweep_blocks_run, 1024, 1e300) \
  each(sweep_blocks_met, 0.25, 1) \
  /* The grid: a call, and what cutting an axis at quantiles takes. */ \
  each(grid_call, 12000, 0) \
  each(grid_quantiles, 10000, 0) \
  /* Boxes are filed two or more at a time, which saves such a share of the plan's cost up to so much a box. */ \
  each(grid_filed_together, 0.5, 0) \
  each(grid_filed_box, 90, 1e300) \
  /* Boxes that whole numbers do not tell apart: only so many more than chance, and such a share of all at most. */ \
  each(grid_blur_chance, 1.0 / 8192, 0) \
  each(grid_blur_ranked, 0.6, 1) \
  /* A few boxes in cells: one of the few; of the many, one for each axis, one that has a list, a test, \
     and for each axis a test of a wide one. */ \
  each(few_box, 300, 0) \
  each(few_row_for_each_axis, 1.5, 0) \
  each(few_listed, 15, 0) \
  each(few_test, 12, 0) \
  each(few_wide_for_each_axis, 0.4, 0) \
  /* The tree: a call, a box and level, the same where scales nest, and a pair that it finds. */ \
  each(bvh_call, 10000, 0) \
  each(bvh_box, 20, 10) \
  each(bvh_box_of_nested_scales, 32, 20) \
  each(bvh_pair, 4, 0)
// clang-format on

struct AutoCosts {
#define BROADPHASE_COST(name, value, without) double name = value;
  BROADPHASE_AUTO_COSTS(BROADPHASE_COST)
#undef BROADPHASE_COST
};

// Changed by `make tune` alone, while nothing is searched.
inline AutoCosts auto_costs;

}  // namespace broadphase
