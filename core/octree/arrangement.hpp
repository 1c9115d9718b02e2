// Rows filed in the cells of an octree: all at once, or one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/morton.hpp"
#include "base/parallel.hpp"
#include "base/with_dimension.hpp"
#include "octree/cells.hpp"

namespace broadphase {

// A row lives in the smallest cell that contains it, among those there are: a leaf is split when it has more than
// `capacity` rows of which one would go into a smaller cell. A cell with children keeps only rows that none could hold.
class OctreeArrangement : public OctreeCells {
 public:
  OctreeArrangement(BlockTree& tree, const OctreeOptions& options) : OctreeCells(tree), options_(options) {}

  const OctreeLattice& lattice() const { return lattice_; }
  const OctreeOptions& options() const { return options_; }
  // True if the lanes of rows hold the very numbers that were given, moved by a power of two.
  bool is_exact() const { return tree().is_exact(); }

  // Files these rows and no others.
  template <class T>
  void build(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, Interrupt& interrupt) {
    const std::size_t dimension = blocks().dimension();
    tree().frame = frame_of(boxes, dimension, rows, count);
    lattice_ = lattice_of(tree().frame, boxes, dimension, rows, count, options_);
    tree().lossy = false;
    start(boxes.count);
    add_root();
    with_dimension(dimension, [&]<std::size_t D>(Dimension<D>) { build_all<D>(boxes, rows, count, interrupt); });
    clean();
  }

 protected:
  template <std::size_t D, class T>
  void insert(const BoxView<T>& boxes, std::int32_t row) {
    const Entry<D> entry = enclosed<D>(boxes, row);
    sink<D>(boxes, entry.spot.level == OctreeLattice::kOutside ? kTop : root(), row, entry);
  }

  // Climbs to the first cell that contains the row, then sinks as deep as it can.
  template <std::size_t D, class T>
  void move(const BoxView<T>& boxes, std::int32_t row) {
    const Entry<D> entry = enclosed<D>(boxes, row);
    const Spot& spot = entry.spot;
    std::int32_t number = cell_of(row);
    if (contains<D>(number, spot) && (cell(number).children == 0 || spot.level == cell(number).level)) {
      set_row(row, spot.level, entry.box);
      split_if_full<D>(boxes, number);
      return;
    }
    while (!contains<D>(number, spot)) number = cell(number).parent;
    remove_row(row);
    sink<D>(boxes, number, row, entry);
  }

  static constexpr std::size_t kStretch = std::size_t{1} << 16;  // rows between two looks at the interrupt

  // Set when the root cannot grow: the tree is to be built anew, with larger cells.
  bool needs_build_ = false;

 private:
  // Sorted as they will be filed. `key` interleaves the bits of the lattice coordinates in the root.
  struct Item {
    std::uint64_t key;
    std::int32_t row, level;
  };

  // A row, read where it lies: as floats that contain it, and where it belongs.
  template <std::size_t D>
  struct Corners {
    double lower[D], upper[D];
  };
  template <std::size_t D>
  struct Entry {
    Spot spot;
    float box[2 * D];
  };
  template <std::size_t D, class T>
  Corners<D> corners_of(const BoxView<T>& boxes, std::int32_t row) const {
    Corners<D> corners;
    const T *lower = boxes.lower_of(static_cast<std::size_t>(row)),
            *upper = boxes.upper_of(static_cast<std::size_t>(row));
    for (std::size_t k = 0; k < D; ++k) {
      corners.lower[k] = frame().local(static_cast<double>(lower[k]), k);
      corners.upper[k] = frame().local(static_cast<double>(upper[k]), k);
    }
    return corners;
  }
  template <std::size_t D>
  void round(const Corners<D>& corners, float* box) {
    const LocalFrame& it = frame();
    bool is_exact = it.exact;
    for (std::size_t k = 0; k < D; ++k) {
      box[k] = static_cast<float>(corners.lower[k]);
      box[D + k] = static_cast<float>(corners.upper[k]);
      is_exact = is_exact && static_cast<double>(box[k]) == corners.lower[k] &&
                 static_cast<double>(box[D + k]) == corners.upper[k];
    }
    if (is_exact) return;
    tree().lossy = true;
    for (std::size_t k = 0; k < D; ++k) {
      box[k] = it.below(corners.lower[k]);
      box[D + k] = it.above(corners.upper[k]);
    }
  }
  template <std::size_t D, class T>
  Entry<D> entry_of(const BoxView<T>& boxes, std::int32_t row) {
    Entry<D> entry;
    const Corners<D> corners = corners_of<D>(boxes, row);
    round(corners, entry.box);
    lattice_.place<D>(corners.lower, corners.upper, entry.spot);
    return entry;
  }
  // The root made to contain it, if it can be: a box with a corner at infinity stays outside.
  template <std::size_t D, class T>
  Entry<D> enclosed(const BoxView<T>& boxes, std::int32_t row) {
    Entry<D> entry = entry_of<D>(boxes, row);
    if (entry.spot.level == OctreeLattice::kOutside) grow_to(corners_of<D>(boxes, row), entry.spot);
    return entry;
  }
  template <std::size_t D>
  void grow_to(const Corners<D>& corners, Spot& spot) {
    for (std::size_t k = 0; k < D; ++k)
      if (!std::isfinite(corners.lower[k]) || !std::isfinite(corners.upper[k])) return;
    while (!lattice_.place<D>(corners.lower, corners.upper, spot)) {
      if (!lattice_.grow(corners.lower)) {
        needs_build_ = true;
        return;
      }
      const std::int32_t before = root();
      float none[8] = {};
      hang(before, none, true);
      add_root();
      adopt(root(), before, octant_of<D>(cell(root()), cell(before).corner));
      soil(before);
      rest(before);
    }
  }

  void add_root() {
    const std::int32_t number = add_cell(kTop, 0);
    OctreeCell& cell = at(number);
    cell.level = static_cast<std::int8_t>(lattice_.levels());
    for (std::size_t k = 0; k < blocks().dimension(); ++k) cell.corner[k] = lattice_.low(k);
  }

  template <std::size_t D>
  bool contains(std::int32_t number, const Spot& spot) const {
    const OctreeCell& it = cell(number);
    if (number == kTop) return true;
    if (spot.level > it.level) return false;
    for (std::size_t k = 0; k < D; ++k)
      if ((spot.at[k] - it.corner[k]) >> it.level != 0) return false;
    return true;
  }
  template <std::size_t D>
  std::size_t octant_of(const OctreeCell& it, const std::int64_t* at) const {
    if (it.level == OctreeLattice::kOutside) return 0;
    std::size_t octant = 0;
    for (std::size_t k = 0; k < D; ++k)
      octant |= static_cast<std::size_t>((at[k] - it.corner[k]) >> (it.level - 1) & 1) << k;
    return octant;
  }
  std::int32_t child_for(std::int32_t number, std::size_t octant) {
    const std::int32_t there = child(number, octant);
    if (there != kNoCell) return there;
    const std::int32_t made = add_cell(number, octant);
    const OctreeCell& above = cell(number);
    OctreeCell& it = at(made);
    it.level = static_cast<std::int8_t>(above.level - 1);
    for (std::size_t k = 0; k < blocks().dimension(); ++k)
      it.corner[k] = above.corner[k] + (static_cast<std::int64_t>(octant >> k & 1u) << it.level);
    return made;
  }

  template <std::size_t D, class T>
  void sink(const BoxView<T>& boxes, std::int32_t number, std::int32_t row, const Entry<D>& entry) {
    while (entry.spot.level < cell(number).level && cell(number).children != 0)
      number = child_for(number, octant_of<D>(cell(number), entry.spot.at));
    add_row(number, row, entry.spot.level, entry.box);
    split_if_full<D>(boxes, number);
  }

  // Recursion: one call a level, OctreeLattice::kMostLevels at most.
  template <std::size_t D, class T>
  void split_if_full(const BoxView<T>& boxes, std::int32_t number) {
    const OctreeCell& it = cell(number);
    if (number == kTop || it.sinking == 0 || static_cast<std::size_t>(it.rows) <= options_.capacity) return;
    std::vector<std::int32_t> rows;
    for_each_row(number, [&](std::int32_t row) {
      if (level_of(row) < it.level) rows.push_back(row);
    });
    for (const std::int32_t row : rows) {
      const Entry<D> entry = entry_of<D>(boxes, row);
      remove_row(row);
      add_row(child_for(number, octant_of<D>(cell(number), entry.spot.at)), row, entry.spot.level, entry.box);
    }
    for_each_child(number, [&](std::int32_t below) { split_if_full<D>(boxes, below); });
  }

  template <std::size_t D, class T>
  void build_all(const BoxView<T>& boxes, const std::int32_t* rows, std::size_t count, Interrupt& interrupt) {
    std::vector<Item> items, outside;
    items.reserve(count);
    make_room(count, options_.capacity);
    const int bits = key_bits(), skipped = lattice_.levels() - bits;
    for (std::size_t k = 0; k < count; ++k) {
      const Corners<D> corners = corners_of<D>(boxes, rows[k]);
      Spot spot;
      if (lattice_.place<D>(corners.lower, corners.upper, spot)) {
        std::uint64_t key = 0;
        for (std::size_t axis = 0; axis < D; ++axis)
          key |= spread_bits<D>(static_cast<std::uint64_t>(spot.at[axis] - lattice_.low(axis)) >> skipped) << axis;
        items.push_back({key, rows[k], spot.level});
      } else {
        outside.push_back({0, rows[k], spot.level});
      }
      if (k % kStretch == 0) interrupt.check();
    }
    std::vector<Item> spare(items.size());
    fill<D>(boxes, root(), items.data(), items.data() + items.size(), spare.data(), interrupt);
    file<D>(boxes, kTop, outside.data(), outside.data() + outside.size());
  }
  // Bits of each coordinate that a key holds.
  int key_bits() const {
    return std::min(blocks().dimension() <= 2 ? 32 : static_cast<int>(64 / blocks().dimension()), lattice_.levels());
  }

  template <std::size_t D, class T>
  void file(const BoxView<T>& boxes, std::int32_t number, const Item* begin, const Item* end) {
    // Several are read before the first is filed: rows lie anywhere, and their misses of the cache then overlap.
    constexpr std::ptrdiff_t kTogether = 16;
    Corners<D> corners[kTogether];
    for (; begin != end; begin += std::min(end - begin, kTogether)) {
      const std::ptrdiff_t together = std::min(end - begin, kTogether);
      for (std::ptrdiff_t k = 0; k < together; ++k) corners[k] = corners_of<D>(boxes, begin[k].row);
      for (std::ptrdiff_t k = 0; k < together; ++k) {
        float box[2 * D];
        round(corners[k], box);
        add_row(number, begin[k].row, begin[k].level, box);
      }
    }
  }

  // Recursion: one call a level, OctreeLattice::kMostLevels at most.
  template <std::size_t D, class T>
  void fill(const BoxView<T>& boxes, std::int32_t number, Item* begin, Item* end, Item* spare, Interrupt& interrupt) {
    const int level = cell(number).level, depth = lattice_.levels() - level;
    const bool has_key = depth < key_bits();
    const auto stays = [level](const Item& item) { return item.level >= level; };
    if (static_cast<std::size_t>(end - begin) <= options_.capacity || !has_key || std::all_of(begin, end, stays)) {
      file<D>(boxes, number, begin, end);
      split_if_full<D>(boxes, number);
      return;
    }
    interrupt.check();
    // Sorted by octant into `spare`, those that stay behind the others; the cells below use what is free here.
    constexpr std::size_t kOctants = std::size_t{1} << D;
    const int shift = (key_bits() - 1 - depth) * static_cast<int>(D);
    const auto bucket = [&](const Item& item) {
      return stays(item) ? kOctants : static_cast<std::size_t>(item.key >> shift) & (kOctants - 1);
    };
    std::size_t place[kOctants + 2] = {};
    for (const Item* item = begin; item != end; ++item) ++place[bucket(*item) + 1];
    for (std::size_t k = 1; k <= kOctants + 1; ++k) place[k] += place[k - 1];
    std::size_t first[kOctants + 2];
    std::copy_n(place, kOctants + 2, first);
    for (const Item* item = begin; item != end; ++item) spare[place[bucket(*item)]++] = *item;
    for (std::size_t octant = 0; octant < kOctants; ++octant)
      if (first[octant] < first[octant + 1])
        fill<D>(boxes, child_for(number, octant), spare + first[octant], spare + first[octant + 1],
                begin + first[octant], interrupt);
    file<D>(boxes, number, spare + first[kOctants], spare + first[kOctants + 1]);
  }

  OctreeOptions options_;
  OctreeLattice lattice_;
};

}  // namespace broadphase
