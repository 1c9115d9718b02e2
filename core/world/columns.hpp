// What a world borrows for one step: the columns of its bodies, arrays by row, and what is known of the rows from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "query/filter.hpp"
#include "shapes/store.hpp"

namespace broadphase {

// As the world numbers them.
inline constexpr std::uint8_t kDynamic = 0, kStatic = 1;
enum class Boundary : std::uint8_t { none, bounce, wrap, remove };

using RowList = std::vector<std::int32_t>;
using RowFlags = std::vector<std::uint8_t>;  // 0 or 1 for each row

// Shapes at the poses where they were placed, and their boxes.
template <std::size_t D>
struct Placement {
  ShapeStore* shapes;
  double *positions, *rotations, *boxes;  // rotations: null where nothing is rotated
};

// Arrays that may be null: all rows have the default then.
template <std::size_t D>
struct Columns {
  std::size_t slots, living;
  const std::uint8_t* alive;
  const std::int64_t* generation;
  const std::int64_t* generation_then;  // at the last step, where rows were removed since
  double *positions, *velocities, *rotations, *angular_velocities;
  const std::uint8_t* body_types;
  const std::uint8_t *boundaries, *ccd, *asleep;
  const std::int32_t* update_intervals;
  const std::uint64_t *layer, *mask;
  const std::int64_t *group, *batch;
  const std::int32_t* ignored;  // pairs, one after the other, in lexicographic order
  std::size_t ignored_count;
  const double* bounds;  // lower corner, upper corner
  Boundary boundary;     // of dynamic bodies that were given no other
  bool closed;           // bodies touch whose boxes only touch
  Placement<D> seen, spare;
  // Rows: whose pairs are to be searched for; removed since the last step; elsewhere in `spare` than in `seen`.
  std::uint8_t *changed, *renewed, *stale;
  std::uint8_t* displaced;             // put elsewhere, and their shapes are not there yet
  std::uint8_t *next_changed, *moved;  // what the step computes
  // Changes when bodies come or go, or begin or stop moving.
  std::uint64_t version;

  const double* period_bounds() const { return boundary == Boundary::wrap ? bounds : nullptr; }
};

// Flags by row that follow from columns which seldom change, made again when these have.
class RowKinds {
 public:
  RowFlags moves;                   // in use, not static, awake
  RowFlags bounces, wraps, leaves;  // of these, those that a boundary acts on; empty where there are none
  RowFlags is_static;               // empty where there are none
  RowFlags is_ccd;                  // in use, not static, marked as ccd; empty where there are none
  RowList numbers;                  // the rows in use
  double period[3] = {};            // the sizes of a periodic world

  template <std::size_t D>
  void look(const Columns<D>& columns) {
    if (version_ == columns.version && moves.size() == columns.slots) return;
    const std::size_t slots = columns.slots;
    moves.resize(slots);
    is_static.assign(slots, 0);
    is_ccd.assign(columns.ccd != nullptr ? slots : 0, 0);
    numbers.clear();
    bool any_static = false, any_ccd = false;
    for (std::size_t row = 0; row < slots; ++row) {
      is_static[row] = columns.body_types[row] == kStatic;
      any_static |= is_static[row] != 0;
      const bool sleeps = columns.asleep != nullptr && columns.asleep[row] != 0;
      moves[row] = columns.alive[row] != 0 && is_static[row] == 0 && !sleeps;
      if (columns.alive[row] != 0) numbers.push_back(static_cast<std::int32_t>(row));
      if (columns.ccd == nullptr) continue;
      is_ccd[row] = columns.ccd[row] != 0 && columns.alive[row] != 0 && is_static[row] == 0;
      any_ccd |= is_ccd[row] != 0;
    }
    if (!any_static) is_static.clear();
    if (!any_ccd) is_ccd.clear();
    flag_those_of(columns, Boundary::bounce, bounces);
    flag_those_of(columns, Boundary::wrap, wraps);
    flag_those_of(columns, Boundary::remove, leaves);
    for (std::size_t axis = 0; axis < D && columns.period_bounds() != nullptr; ++axis)
      period[axis] = columns.bounds[D + axis] - columns.bounds[axis];
    version_ = columns.version;
  }

 private:
  template <std::size_t D>
  void flag_those_of(const Columns<D>& columns, Boundary boundary, RowFlags& flags) const {
    flags.clear();
    if (columns.bounds == nullptr || (columns.boundaries == nullptr && columns.boundary != boundary)) return;
    flags.resize(columns.slots);
    bool any = columns.boundaries == nullptr;
    for (std::size_t row = 0; row < columns.slots; ++row) {
      const bool is_subject = columns.boundaries == nullptr
                                  ? columns.body_types[row] == kDynamic
                                  : columns.boundaries[row] == static_cast<std::uint8_t>(boundary);
      flags[row] = moves[row] != 0 && is_subject;
      any |= flags[row] != 0;
    }
    if (!any) flags.clear();
  }

  std::uint64_t version_ = 0;  // of no columns
};

inline const std::uint8_t* or_null(const RowFlags& flags) { return flags.empty() ? nullptr : flags.data(); }

// Which pairs of rows count, of all rows or of those in use under numbers of their own.
class RowFilter {
 public:
  // `is_static`: rows of which no two make a pair, or null. Without keys: the search knows of batches.
  template <std::size_t D>
  const Filter* of(const Columns<D>& columns, const std::uint8_t* is_static, bool has_keys) {
    set_ignored(columns, nullptr);
    const std::uint64_t* mask = columns.mask;
    if (columns.layer != nullptr && mask == nullptr) {
      every_bit_.assign(columns.slots, ~std::uint64_t{0});
      mask = every_bit_.data();
    }
    return set({columns.layer, mask, columns.group, is_static, has_keys ? columns.batch : nullptr, nullptr, 0});
  }

  // Of the rows listed, ascending, as 0, 1, 2...
  template <std::size_t D>
  const Filter* of_some(const Columns<D>& columns, const std::uint8_t* is_static, const RowList& rows) {
    set_ignored(columns, &rows);
    const auto picked = [&](const auto* column, auto& to) {
      to.resize(column != nullptr ? rows.size() : 0);
      for (std::size_t k = 0; k < to.size(); ++k) to[k] = column[rows[k]];
      return column != nullptr ? to.data() : nullptr;
    };
    const std::uint64_t *layer = picked(columns.layer, layer_), *mask = picked(columns.mask, mask_);
    if (layer != nullptr && mask == nullptr) {
      every_bit_.assign(rows.size(), ~std::uint64_t{0});
      mask = every_bit_.data();
    }
    return set({layer, mask, picked(columns.group, group_), picked(is_static, static_), nullptr, nullptr, 0});
  }

 private:
  const Filter* set(const BoxAttributes& attributes) {
    filter_.first = filter_.second = attributes;
    filter_.ignored = &ignored_;
    const bool is_empty = attributes.layer == nullptr && attributes.group == nullptr &&
                          attributes.is_static == nullptr && attributes.batch == nullptr && ignored_.empty();
    return is_empty ? nullptr : &filter_;
  }

  template <std::size_t D>
  void set_ignored(const Columns<D>& columns, const RowList* rows) {
    ignored_.start(columns.ignored_count);
    if (columns.ignored_count == 0) return;
    if (rows != nullptr) places_.assign(columns.slots, -1);
    for (std::size_t k = 0; rows != nullptr && k < rows->size(); ++k)
      places_[static_cast<std::size_t>((*rows)[k])] = static_cast<std::int32_t>(k);
    for (std::size_t k = 0; k < columns.ignored_count; ++k) {
      std::int32_t one = columns.ignored[2 * k], other = columns.ignored[2 * k + 1];
      if (rows != nullptr) {
        one = places_[static_cast<std::size_t>(one)];
        other = places_[static_cast<std::size_t>(other)];
      }
      if (one >= 0 && other >= 0) ignored_.add(static_cast<std::uint32_t>(one), static_cast<std::uint32_t>(other));
    }
  }

  Filter filter_;
  PairSet ignored_;
  std::vector<std::uint64_t> every_bit_, layer_, mask_;
  std::vector<std::int64_t> group_;
  RowFlags static_;
  RowList places_;
};

}  // namespace broadphase
