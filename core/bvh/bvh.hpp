// A bounding volume hierarchy: a tree of boxes with eight children per node, that can be changed row by row.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/row_numbers.hpp"
#include "boxes/any_boxes.hpp"
#include "bvh/bounds.hpp"
#include "bvh/build.hpp"
#include "bvh/edit.hpp"
#include "bvh/pairs.hpp"
#include "tree/blocks.hpp"
#include "tree/curve_order.hpp"
#include "tree/median_order.hpp"

namespace broadphase {

// How to build: packed along a curve, packed by medians, or split by the surface-area heuristic.
enum class BvhQuality { fast, balanced, sah };

// Statistics of a tree.
struct BvhReport {
  std::size_t depth = 0, lanes = 0;  // lanes in use, of all blocks
  // Expected number of blocks that a random ray through the root's box visits: the sum of half-areas divided by the
  // root's.
  double cost = 0;
  std::vector<std::size_t> blocks_by_level;
};

// Builds and changes a tree that its owner gives to queries.
class Bvh {
 public:
  explicit Bvh(BlockTree& tree, BvhQuality quality = BvhQuality::balanced) : tree_(tree), quality_(quality) {}
  Bvh(const Bvh&) = delete;
  Bvh& operator=(const Bvh&) = delete;

  // What long calls need.
  struct Work {
    const Kernels& kernels;
    unsigned workers;
    Interrupt& interrupt;
  };

  std::size_t rows() const { return rows_; }
  std::size_t rebuilds() const { return rebuilds_; }
  std::size_t limit() const { return places_.size(); }  // all row numbers are below
  bool has(std::size_t row) const { return row < places_.size() && places_[row] != kNoPlace; }
  std::size_t bytes() const { return tree_.blocks.bytes() + places_.size() * sizeof(std::uint32_t); }

  // Replaces the tree. Throws bad_alloc or Interrupted, or invalid_argument for a row without a box, and then the tree
  // is unchanged.
  template <class T>
  void build(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, const Work& work);

  // These throw invalid_argument, naming a row: unless all rows are in the tree; unless, besides, each is given once;
  // and unless none is in the tree, each is given once, and all are below a limit. The last may throw bad_alloc, too.
  void require_rows(const std::int32_t* rows, std::size_t count) const {
    broadphase::require_rows(rows, count, limit(), [this](std::size_t row) { return has(row); });
  }
  void require_distinct_rows(const std::int32_t* rows, std::size_t count) { require(rows, count, limit(), true); }
  void require_new_rows(const std::int32_t* rows, std::size_t count, std::size_t row_limit) {
    grow_places(row_limit);
    require(rows, count, row_limit, false);
  }

  // Adds rows. Throws bad_alloc or Interrupted, or invalid_argument for a row that is in the tree already, is given
  // twice or has no box; none of the rows is in the tree then.
  template <class T>
  void insert(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, const Work& work);

  // Throws invalid_argument, before anything is removed, if a row is not in the tree or is given twice.
  void remove(const std::int32_t* rows, std::size_t count) {
    require_distinct_rows(rows, count);
    tree_.exact_bounds.forget();
    tree_.with_numbers([&](auto number) {
      BvhEdit<decltype(number)> edit(tree_, places_.get());
      for (std::size_t at = 0; at < count; ++at) {
        edit.remove(rows[at]);
        --rows_;
      }
    });
    changes_ += count;
  }

  // Moves rows. Throws invalid_argument, before anything is moved, if a row is not in the tree; or bad_alloc or
  // Interrupted, and then the tree is sound, and each row is where it was or where it belongs.
  template <class T>
  void update(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, const Work& work);

  // Visits all blocks from the root down and regroups the grandchildren of each where that reduces surface area.
  // Returns how many blocks improved. Throws bad_alloc or Interrupted, and then the tree is sound.
  std::size_t optimize(Interrupt& interrupt) {
    tree_.exact_bounds.forget();
    std::vector<std::int32_t> open;
    if (tree_.root != kNoBlock) open.push_back(tree_.root);
    std::size_t gained = 0;
    tree_.with_numbers([&](auto number) {
      BvhRegroup<decltype(number)> regroup(tree_, places_.get());
      while (!open.empty()) {
        const std::int32_t block = open.back();
        open.pop_back();
        open.reserve(open.size() + kLanes);
        gained += static_cast<std::size_t>(regroup.run(block));
        for_each_lane(tree_.blocks.occupied(block) & ~tree_.blocks.rows(block),
                      [&](std::size_t lane) { open.push_back(tree_.blocks.child(block)[lane]); });
        interrupt.check();
      }
    });
    regroupings_ += gained;
    return gained;
  }
  std::size_t regroupings() const { return regroupings_; }

  BvhReport report() const {
    BvhReport result;
    if (tree_.root == kNoBlock) return result;
    const double root = half_area(read_bounds(tree_.blocks, tree_.root).box, tree_.dimension());
    double sum = root;
    for_each_block([&](std::int32_t block, std::size_t level) {
      if (result.blocks_by_level.size() <= level) result.blocks_by_level.resize(level + 1);
      ++result.blocks_by_level[level];
      result.lanes += tree_.blocks.lanes_in_use(block);
      double box[8];
      for_each_lane(tree_.blocks.occupied(block) & ~tree_.blocks.rows(block), [&](std::size_t lane) {
        tree_.blocks.read_box(block, lane, box);
        sum += half_area(box, tree_.dimension());
      });
    });
    result.depth = result.blocks_by_level.size();
    result.cost = root > 0 ? sum / root : static_cast<double>(tree_.blocks.count());
    return result;
  }

  // Calls use(block, level) for every block, parents first; the root's level is 0.
  template <class Use>
  void for_each_block(Use&& use) const {
    if (tree_.root != kNoBlock) for_each_block(tree_.root, 0, use);
  }

  // Calls use(row) for every row, in tree order: consecutive rows are close in space.
  template <class Use>
  void for_each_row(Use&& use) const {
    for_each_block([&](std::int32_t block, std::size_t) {
      for_each_lane(tree_.blocks.rows(block), [&](std::size_t lane) { use(tree_.blocks.child(block)[lane]); });
    });
  }

  // Checks all invariants: a description of the first violation, or an empty string.
  std::string validate(const AnyBoxes& boxes, const std::int32_t* rows, std::size_t count) const;

 private:
  template <class Order, class T>
  void pack(const GrownBoxes<T>& boxes, const std::int32_t* rows, std::size_t count, std::uint32_t* places,
            const Work& work) {
    TreePacker<T, Order> packer;
    packer.pack(tree_, boxes, rows, count, places, work.kernels, work.workers, work.interrupt);
  }

  // Above these fractions of all rows (1 / k), changing all at once is faster than one by one.
  static constexpr std::size_t kManyInserts = 4, kManyMoves = 4;
  // The tree is rebuilt when the total half-area of its blocks per row has grown by this factor: queries then take
  // about as much longer, and a build costs less than the changes since the last one did.
  static constexpr double kWorse = 1.5, kShrunk = 6;

  // No deeper than kMostLevels. Nothing is allocated: a build that has succeeded must not fail here.
  template <class Use>
  void for_each_block(std::int32_t block, std::size_t level, Use& use) const {
    use(block, level);
    for_each_lane(tree_.blocks.occupied(block) & ~tree_.blocks.rows(block),
                  [&](std::size_t lane) { for_each_block(tree_.blocks.child(block)[lane], level + 1, use); });
  }

  // A place has its highest bit clear, and kNoPlace has it set.
  void require(const std::int32_t* rows, std::size_t count, std::size_t row_limit, bool present) {
    constexpr std::uint32_t kAbsent = 0x80000000u;
    broadphase::require_distinct_rows(
        rows, count, row_limit, present, [&](std::size_t row) { return (places_[row] & kAbsent) == 0; },
        [&](std::size_t row) { places_[row] ^= kAbsent; });
  }

  void grow_places(std::size_t rows) {
    const std::size_t before = places_.size();
    if (rows <= before) return;
    places_.grow(std::max(rows, before + before / 2));
    std::fill(places_.get() + before, places_.get() + places_.size(), kNoPlace);
  }

  // Calls change(edit, row, box) for each row, with its box as lanes hold it.
  template <class T, class Change>
  void edit_rows(LocalBoxes<T>& local, const std::int32_t* rows, std::size_t count, const Change& change) {
    tree_.with_numbers([&](auto number) {
      using Number = decltype(number);
      BvhEdit<Number> edit(tree_, places_.get());
      Number box[8];
      for (std::size_t at = 0; at < count; ++at) {
        edit.make_room();
        local.get(static_cast<std::size_t>(rows[at]), box);
        if (local.lossy()) tree_.frame.exact = false, local.get(static_cast<std::size_t>(rows[at]), box);
        change(edit, rows[at], box);
      }
    });
  }

  std::vector<std::int32_t> rows_in_order() const {
    std::vector<std::int32_t> rows;
    rows.reserve(rows_);
    for_each_row([&](std::int32_t row) { rows.push_back(row); });
    return rows;
  }

  // Total half-area of the blocks of a tree that is not wide: of all, and of those near where most boxes are. Extents
  // count up to twice that part of the scene, or far boxes would hide how the others lie.
  struct Area {
    double all = 0, near = 0;

    void add(const float* box, std::size_t dimension) {
      constexpr float kNear = 2;
      const auto area = static_cast<double>(half_area(box, dimension, 2 * kNear));
      bool is_near = true;
      for (std::size_t k = 0; k < dimension; ++k) is_near = is_near && box[k] >= -kNear && box[dimension + k] <= kNear;
      all += area;
      near += is_near ? area : 0;
    }
    void add_blocks(const Blocks& blocks, std::int32_t block) {
      float box[8];
      for_each_lane(blocks.occupied(block) & ~blocks.rows(block), [&](std::size_t lane) {
        blocks.get_box(block, lane, box);
        add(box, blocks.dimension());
      });
    }
  };

  // Of a tree that is not wide.
  template <class T>
  Area refit(LocalBoxes<T>& local) {
    float box[8];
    const auto read_rows = [&] {
      for_each_block([&](std::int32_t block, std::size_t) {
        for_each_lane(tree_.blocks.rows(block), [&](std::size_t lane) {
          local.get(static_cast<std::size_t>(tree_.blocks.child(block)[lane]), box);
          tree_.blocks.set_box(block, lane, box);
        });
      });
    };
    read_rows();
    if (tree_.frame.exact && local.lossy()) {
      tree_.frame.exact = false;
      read_rows();
    }
    Area area;
    BvhEdit<float>(tree_, places_.get()).refit([&](const float* around) { area.add(around, tree_.dimension()); });
    return area;
  }
  Area area_of_blocks() const {
    Area area;
    for_each_block([&](std::int32_t block, std::size_t) { area.add_blocks(tree_.blocks, block); });
    return area;
  }
  // The same of a tree that has just been built: all its blocks are in use. Takes no memory: the tree is there already.
  Area area_of_new_blocks(unsigned workers) const {
    constexpr std::size_t kParts = 64, kBlocksAPart = 512;
    const std::size_t count = tree_.blocks.limit();
    const EvenSplit split{count, std::clamp<std::size_t>(count / kBlocksAPart, 1, kParts)};
    std::array<Area, kParts> parts{};
    Interrupt never;
    for_each_task(split.parts, workers, never, [&](unsigned, std::size_t part) {
      for (std::size_t block = split.at(part); block < split.at(part + 1); ++block)
        parts[part].add_blocks(tree_.blocks, static_cast<std::int32_t>(block));
    });
    Area area;
    for (const Area& part : parts) area.all += part.all, area.near += part.near;
    return area;
  }

  // After many changes: rebuilds the tree if its quality has degraded.
  template <class T>
  void improve(const BoxView<T>& boxes, const Work& work) {
    if (changes_ < rows_ / 2 + kLanes) return;
    changes_ = 0;
    const GrownBoxes<T> given{boxes, tree_.dimension()};
    if (tree_.is_wide() || is_worse(area_of_blocks()) || is_now_blurred(given) ||
        crosses_otherwise(given, rows_in_order().data(), rows_, work.kernels))
      rebuild(boxes, work);
  }
  bool is_worse(const Area& area) const {
    const double most = kWorse * static_cast<double>(std::max<std::size_t>(rows_, 1)) /
                        static_cast<double>(std::max<std::size_t>(rows_then_, 1));
    // Where all has shrunk, a tree that is far too large may still be smaller than the one after the build.
    const bool shrunk = area.all * kShrunk < most * area_.all;
    return area.all > most * area_.all || area.near > most * area_.near || shrunk || tree_.blocks.count() > rows_;
  }
  // Of a tree that is not wide: true if many boxes have moved to where floats cannot tell them apart.
  template <class T>
  bool is_now_blurred(const GrownBoxes<T>& boxes) const {
    return blocks_are_blurred(tree_, boxes, rows_, [this](std::size_t row) { return has(row); });
  }
  // True if boxes cross now and did not at the last build, or the other way round. These rows may be only some of them.
  template <class T>
  bool crosses_otherwise(const GrownBoxes<T>& boxes, const std::int32_t* rows, std::size_t count,
                         const Kernels& kernels) const {
    return boxes_cross(boxes, rows, count, kernels) != crossing_ &&
           boxes_cross(boxes, rows_in_order().data(), rows_, kernels) != crossing_;
  }
  template <class T>
  void rebuild(const BoxView<T>& boxes, const Work& work) {
    const std::vector<std::int32_t> rows = rows_in_order();
    build(boxes, rows.data(), rows.size(), work);
    ++rebuilds_;
  }

  BlockTree& tree_;
  BvhQuality quality_;
  PlainArray<std::uint32_t> places_;  // of each row; kNoPlace: not in the tree
  std::size_t rows_ = 0;
  std::size_t changes_ = 0, rebuilds_ = 0;  // changes since the quality was last checked; rebuilds in total
  std::size_t regroupings_ = 0;
  Area area_;              // after the last build
  bool crossing_ = false;  // see boxes_cross; at the last build
  std::size_t rows_then_ = 0;
};

template <class T>
void Bvh::build(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, const Work& work) {
  require_boxes(rows, count, boxes.count, work.workers, work.interrupt);
  PlainArray<std::uint32_t> places;
  places.grow(boxes.count);
  in_stretches_on_threads(boxes.count, work.workers, work.interrupt, [&](std::size_t begin, std::size_t end) {
    std::fill(places.get() + begin, places.get() + end, kNoPlace);
  });
  const GrownBoxes<T> given{boxes, tree_.dimension()};
  if (quality_ == BvhQuality::sah)
    build_by_area(tree_, given, rows, count, places.get(), work.kernels, work.workers, work.interrupt);
  else if (quality_ == BvhQuality::balanced)
    pack<MedianOrder<T>>(given, rows, count, places.get(), work);
  else
    pack<CurveOrder<T>>(given, rows, count, places.get(), work);
  tree_.exact_bounds.forget();
  places_ = std::move(places);
  rows_ = count;
  crossing_ = boxes_cross(given, rows, count, work.kernels);
  area_ = tree_.is_wide() ? Area() : area_of_new_blocks(work.workers);
  rows_then_ = rows_;
  changes_ = 0;
}

template <class T>
void Bvh::insert(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, const Work& work) {
  require_new_rows(rows, count, boxes.count);
  if (count == 0) return;
  if (count > rows_ / kManyInserts) {
    std::vector<std::int32_t> all = rows_in_order();
    all.insert(all.end(), rows, rows + count);
    build(boxes, all.data(), all.size(), work);
    ++rebuilds_;
    return;
  }
  tree_.exact_bounds.forget();
  std::size_t done = 0;
  try {
    const GrownBoxes<T> given{boxes, tree_.dimension()};
    LocalBoxes<T> local(given, tree_.frame);
    edit_rows(local, rows, count, [&](auto& edit, std::int32_t row, const auto* box) {
      edit.insert(row, box);
      ++rows_;
      ++done;
    });
    changes_ += count;
    improve(boxes, work);
  } catch (...) {
    remove(rows, done);
    throw;
  }
}

template <class T>
void Bvh::update(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, const Work& work) {
  require_rows(rows, count);
  tree_.exact_bounds.forget();
  const GrownBoxes<T> given{boxes, tree_.dimension()};
  LocalBoxes<T> local(given, tree_.frame);
  if (count > rows_ / kManyMoves) {
    changes_ = 0;
    // In a wide tree, areas of a few large blocks would hide how the others lie.
    if (tree_.is_wide() || is_worse(refit(local)) || is_now_blurred(given) ||
        crosses_otherwise(given, rows, count, work.kernels))
      rebuild(boxes, work);
    return;
  }
  edit_rows(local, rows, count, [](auto& edit, std::int32_t row, const auto* box) { edit.move(row, box); });
  changes_ += count;
  improve(boxes, work);
}

inline std::string Bvh::validate(const AnyBoxes& boxes, const std::int32_t* rows, std::size_t count) const {
  const Blocks& blocks = tree_.blocks;
  std::string wrong;
  const auto check = [&](bool holds, const std::string& what) {
    if (!holds && wrong.empty()) wrong = what;
    return holds;
  };
  if (tree_.root == kNoBlock) {
    check(count == 0 && rows_ == 0, "rows without a root");
    check(blocks.count() == 0, "blocks without a root");
    return wrong;
  }
  check(count == rows_, std::to_string(rows_) + " rows instead of " + std::to_string(count));
  check(blocks.parent(tree_.root) == static_cast<std::int32_t>(kNoPlace), "the root has a parent");
  std::size_t seen_blocks = 0, seen_rows = 0;
  double box[8];
  const std::size_t dimension = tree_.dimension();
  const auto inside = [&](const double* inner, const double* outer) {
    bool holds = true;
    for (std::size_t k = 0; k < dimension; ++k)
      holds &= outer[k] <= inner[k] && inner[dimension + k] <= outer[dimension + k];
    return holds;
  };
  for_each_block([&](std::int32_t block, std::size_t level) {
    const std::string name = "block " + std::to_string(block);
    ++seen_blocks;
    check(level < kMostLevels, name + " is too deep");
    check(blocks.occupied(block) != 0, name + " is empty");
    check((blocks.rows(block) & ~blocks.occupied(block)) == 0, name + " has rows in lanes not in use");
    check(blocks.next(block) == kNoBlock, name + " has a continuation");
    for_each_lane(blocks.occupied(block), [&](std::size_t lane) {
      const std::int32_t what = blocks.child(block)[lane];
      blocks.read_box(block, lane, box);
      if ((blocks.rows(block) >> lane & 1) == 0) {
        check(inside(read_bounds(blocks, what).box, box), name + " does not contain block " + std::to_string(what));
        check(static_cast<std::uint32_t>(blocks.parent(what)) == place_of(block, lane),
              "block " + std::to_string(what) + " has a wrong parent");
        return;
      }
      ++seen_rows;
      const auto row = static_cast<std::size_t>(what);
      const std::string row_name = "row " + std::to_string(what);
      if (!check(has(row) && row < boxes.count(), row_name + " is not in the tree")) return;
      check(places_[row] == place_of(block, lane), row_name + " is not at its recorded place");
      // Lanes filled while the frame was exact stay exact, and are narrower than the same box would be stored now:
      // only containment counts.
      double given[8];
      boxes.read(row, given);
      bool holds = true;
      for (std::size_t k = 0; k < dimension; ++k)
        holds &= box[k] <= tree_.frame.local(given[k], k) &&
                 tree_.frame.local(given[dimension + k], k) <= box[dimension + k];
      check(holds, row_name + " is not contained in its lane");
    });
  });
  check(seen_blocks == blocks.count(), "some blocks are not reachable");
  check(seen_rows == count, "the tree has duplicate or missing rows");
  for (std::size_t at = 0; at < count; ++at)
    check(has(static_cast<std::size_t>(rows[at])), "row " + std::to_string(rows[at]) + " is missing");
  return wrong;
}

// Compiled once: bvh.cpp.
extern template void Bvh::build(const BoxView<float>&, const std::int32_t*, std::size_t, const Bvh::Work&);
extern template void Bvh::insert(const BoxView<float>&, const std::int32_t*, std::size_t, const Bvh::Work&);
extern template void Bvh::update(const BoxView<float>&, const std::int32_t*, std::size_t, const Bvh::Work&);
extern template void Bvh::build(const BoxView<double>&, const std::int32_t*, std::size_t, const Bvh::Work&);
extern template void Bvh::insert(const BoxView<double>&, const std::int32_t*, std::size_t, const Bvh::Work&);
extern template void Bvh::update(const BoxView<double>&, const std::int32_t*, std::size_t, const Bvh::Work&);

}  // namespace broadphase
