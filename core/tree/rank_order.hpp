// Rows sorted so that every aligned run of 8, 64, 512, ... rows has its boxes close together, whatever their scales and
// shapes: where MedianOrder fails, at some four times its cost.
//
// A coordinate is replaced by its rank, the number of corners before it along the axis. Boxes that overlap do so in
// ranks, too, and all scales are alike: a dense spot takes as much room as it has boxes, and where boxes crowd around a
// plane on ever smaller scales, each scale takes as much room as the others. In ranks, rows are split where a sample
// shows the least sum of surface areas (I. Wald, "On fast Construction of SAH-based Bounding Volume Hierarchies", 2007,
// 10.1109/RT.2007.4342588), at a multiple of a power of eight, so that blocks are full. They are split by their places
// or by their lengths along an axis: long boxes that cross each other are nowhere apart, but those along one axis, by
// themselves, are along the others.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/radix_sort.hpp"
#include "base/samples.hpp"
#include "base/with_dimension.hpp"
#include "boxes/grown_boxes.hpp"
#include "simd/kernels.hpp"
#include "tree/median_order.hpp"
#include "tree/places.hpp"

namespace broadphase {

namespace detail {

// Of places with the middle along each axis, times two, and then the length along each.
template <std::size_t D>
class AreaSorter {
 public:
  using Item = Place<2 * D>;

  AreaSorter(Item* items, Item* spare, RowKey* rows, const Kernels& kernels)
      : select_(items, spare, kernels), rows_(rows) {}

  // Splits a part of more than kFew rows in two, which can then be sorted on different threads.
  std::pair<PlacePart, PlacePart> cut(const PlacePart& part, const PartThreads& threads) const {
    std::size_t unit = 8;
    while (unit * 8 < part.count()) unit *= 8;
    const Cut cut = best_cut(select_.at(part), part.count(), unit);
    return select_.cut(part, part.begin + cut.units * unit, cut.key, threads);
  }

  // Recursion: at most seven calls for each power of eight.
  void sort(const PlacePart& part, const PartThreads& threads) const {
    if (part.count() <= kFew) {
      sort_few(select_.at(part), part.count(), rows_ + part.begin);
      return;
    }
    const auto [first, second] = cut(part, threads);
    sort(first, threads);
    sort(second, threads);
  }

 private:
  static constexpr std::size_t kFew = PlaceSelect<2 * D>::kFew, kMany = 4096, kUnits = 8;

  // Lower corners, then upper ones with their signs changed: a union is the least of each number.
  struct Around {
    float at[8];
    void add(const Around& other) {
      for (std::size_t k = 0; k < 8; ++k) at[k] = other.at[k] < at[k] ? other.at[k] : at[k];
    }
    float half_area() const {
      float x[4];
      for (std::size_t k = 0; k < 4; ++k) x[k] = std::max(0.0F, -at[k] - at[4 + k]);  // 0 where there is none
      if constexpr (D == 1) return x[0];
      if constexpr (D == 2) return x[0] + x[1];
      if constexpr (D == 3) return x[0] * x[1] + (x[0] + x[1]) * x[2];
      return x[0] * x[1] * (x[2] + x[3]) + (x[0] + x[1]) * x[2] * x[3];
    }
  };
  static constexpr Around kNothing = {{1e30F, 1e30F, 1e30F, 1e30F, 1e30F, 1e30F, 1e30F, 1e30F}};
  static Around around(const Item& item) {
    Around box{};
    for (std::size_t k = 0; k < D; ++k) {
      box.at[k] = item.at[k] - item.at[D + k];
      box.at[4 + k] = -item.at[k] - item.at[D + k];
    }
    return box;
  }

  // Between units, in the order of a coordinate.
  struct Cut {
    std::size_t key = 0, units = 1;
    float cost = -1;

    void improve(std::size_t by, const Around* unit, std::size_t count) {
      float behind[kUnits];
      Around all = kNothing;
      for (std::size_t u = count; u-- > 1;) {
        all.add(unit[u]);
        behind[u] = all.half_area() * static_cast<float>(count - u);
      }
      all = kNothing;
      for (std::size_t u = 1; u < count; ++u) {
        all.add(unit[u - 1]);
        const float sum = all.half_area() * static_cast<float>(u) + behind[u];
        if (cost >= 0 && !(sum < cost)) continue;
        *this = {by, u, sum};
      }
    }
  };

  // By a sample.
  Cut best_cut(const Item* items, std::size_t count, std::size_t unit) const {
    // The places of small parts matter less, and there are many of them.
    const StratifiedSample sample(count, count > kMany ? kFew : kFew / 2);
    Item taken[kFew];
    Around box[kFew];
    std::size_t unit_of[kFew];  // by rank: as if the sampled items were the middles of stretches of all in order
    const double each = static_cast<double>(count) / static_cast<double>(sample.size());
    for (std::size_t i = 0; i < sample.size(); ++i) {
      taken[i] = items[sample[i]];
      box[i] = around(taken[i]);
      unit_of[i] = static_cast<std::size_t>((static_cast<double>(i) + 0.5) * each) / unit;
    }
    Cut cut;
    alignas(64) std::int32_t rank[kFew];
    for (std::size_t key = 0; key < 2 * D; ++key) {
      if (key >= D && are_alike(taken, sample.size(), key)) continue;
      select_.rank(sample.size(), [&](std::size_t i) { return taken[i].at[key]; }, rank);
      Around in_unit[kUnits];
      std::fill_n(in_unit, kUnits, kNothing);
      for (std::size_t i = 0; i < sample.size(); ++i) in_unit[unit_of[rank[i]]].add(box[i]);
      cut.improve(key, in_unit, (count + unit - 1) / unit);
    }
    return cut;
  }
  // True if nothing is to be gained by splitting a sample by these lengths.
  static bool are_alike(const Item* taken, std::size_t count, std::size_t key) {
    float least = taken[0].at[key], most = least;
    for (std::size_t i = 1; i < count; ++i) {
      least = taken[i].at[key] < least ? taken[i].at[key] : least;
      most = taken[i].at[key] > most ? taken[i].at[key] : most;
    }
    return most <= 2 * least;
  }

  // Up to kFew rows, by the places of all of them: sorted along each axis once.
  struct Few {
    Around box[kFew];
    std::uint8_t order[D][kFew];  // numbers of items along each axis
  };
  void sort_few(const Item* items, std::size_t count, RowKey* rows) const {
    if (count <= kUnits) {
      for (std::size_t i = 0; i < count; ++i) rows[i].row = items[i].row;
      return;
    }
    Few few;
    alignas(64) std::int32_t rank[kFew];
    for (std::size_t i = 0; i < count; ++i) few.box[i] = around(items[i]);
    for (std::size_t k = 0; k < D; ++k) {
      select_.rank(count, [&](std::size_t i) { return items[i].at[k]; }, rank);
      for (std::size_t i = 0; i < count; ++i) few.order[k][rank[i]] = static_cast<std::uint8_t>(i);
    }
    split_few(few, 0, count);
    for (std::size_t i = 0; i < count; ++i) rows[i].row = items[few.order[0][i]].row;
  }
  // Recursion: at most seven calls.
  static void split_few(Few& few, std::size_t begin, std::size_t end) {
    const std::size_t units = (end - begin + kUnits - 1) / kUnits;
    if (units <= 1) return;
    Cut cut;
    for (std::size_t k = 0; k < D; ++k) {
      Around in_unit[kUnits];
      for (std::size_t u = 0; u < units; ++u) {
        const std::size_t first = begin + kUnits * u, last = std::min(first + kUnits, end);
        Around all = kNothing;
        for (std::size_t i = first; i < last; ++i) all.add(few.box[few.order[k][i]]);
        in_unit[u] = all;
      }
      cut.improve(k, in_unit, units);
    }
    const std::size_t middle = begin + kUnits * cut.units;
    std::uint64_t first = 0;
    for (std::size_t i = begin; i < middle; ++i) first |= std::uint64_t{1} << few.order[cut.key][i];
    for (std::size_t k = 0; k < D; ++k) {
      std::uint8_t second[kFew];
      std::size_t front = begin, back = 0;
      for (std::size_t i = begin; i < end; ++i) {
        const std::uint8_t item = few.order[k][i];
        few.order[k][front] = second[back] = item;
        front += first >> item & 1u;
        back += ~(first >> item) & 1u;
      }
      std::copy_n(second, back, few.order[k] + front);
    }
    split_few(few, begin, middle);
    split_few(few, middle, end);
  }

  PlaceSelect<2 * D> select_;
  RowKey* rows_;
};

}  // namespace detail

// Whether a sample shows that boxes are long and cross each other, so that RankOrder finds far better blocks: by how
// many blocks a point lies in where each holds boxes as long as the longest of eight, and where each holds boxes alike.
template <class T>
class CrossingSample {
 public:
  CrossingSample(const GrownBoxes<T>& boxes, const std::int32_t* rows, std::size_t count, const Kernels& kernels)
      : boxes_(boxes), block_(std::pow(8 / static_cast<double>(count), 1 / static_cast<double>(boxes.dimension))) {
    if (count < 2 * kMany) return;
    // Boxes from anywhere first, which costs little; those that are near each other may be alike, as in frames.
    std::int32_t taken[kMany];
    take(rows, count, kFew, taken);
    if (!crosses(taken, kFew)) return;
    take(rows, count, kMany, taken);
    MedianOrder<T> near;
    Interrupt never;
    near.sort(boxes, taken, kMany, kernels, 1, never);
    for (std::size_t at = 0; at < kMany; ++at) taken[at] = static_cast<std::int32_t>(near.items()[at].row);
    found_ = crosses(taken, kMany);
  }
  bool found() const { return found_; }

 private:
  static constexpr std::size_t kFew = 128, kMany = 512, kGroup = 8;

  // Several rows at each place, because rows may differ by turns; groups of eight are from eight places.
  void take(const std::int32_t* rows, std::size_t count, std::size_t size, std::int32_t* taken) const {
    constexpr std::size_t kTogether = 4;
    const StratifiedSample places(count - kTogether, size / kTogether);
    const std::size_t groups = places.size() / kGroup;
    for (std::size_t p = 0; p < places.size(); ++p)
      for (std::size_t j = 0; j < kTogether; ++j) {
        const std::size_t group = p % groups * kTogether + (j + p / groups) % kTogether, at = places[p] + j;
        taken[group * kGroup + p / groups] = rows != nullptr ? rows[at] : static_cast<std::int32_t>(at);
      }
  }

  bool crosses(const std::int32_t* rows, std::size_t size) const {
    constexpr double kManyBlocks = 96, kTimesAsMany = 4;
    double alike[kMany], mixed[kMany / kGroup];
    std::fill_n(alike, size, 1.0);
    std::fill_n(mixed, size / kGroup, 1.0);
    for (std::size_t k = 0; k < boxes_.dimension; ++k) {
      T lower[kMany], upper[kMany];
      std::size_t lowers = 0, uppers = 0;
      for (std::size_t at = 0; at < size; ++at) {
        lower[lowers] = boxes_.lower(static_cast<std::size_t>(rows[at]), k);
        upper[uppers] = boxes_.upper(static_cast<std::size_t>(rows[at]), k);
        lowers += std::isfinite(lower[lowers]) ? 1 : 0;
        uppers += std::isfinite(upper[uppers]) ? 1 : 0;
      }
      if (lowers < 8 || uppers < 8) continue;
      T *const low = lower + lowers / 8, *const high = upper + (uppers - 1 - uppers / 8);
      std::nth_element(lower, low, lower + lowers);
      std::nth_element(upper, high, upper + uppers);
      const T least = std::min(*low, *high), most = std::max(*low, *high);
      const auto room = static_cast<double>(most) / 2 - static_cast<double>(least) / 2;
      if (!(room > 0)) continue;
      for (std::size_t first = 0; first < size; first += kGroup) {
        double longest = 0;
        for (std::size_t at = first; at < first + kGroup; ++at) {
          const auto row = static_cast<std::size_t>(rows[at]);
          const T from = std::clamp(boxes_.lower(row, k), least, most),
                  to = std::clamp(boxes_.upper(row, k), least, most);
          const double length = (static_cast<double>(to) / 2 - static_cast<double>(from) / 2) / room;
          alike[at] *= 1 + length / block_;
          longest = std::max(longest, length);
        }
        mixed[first / kGroup] *= 1 + longest / block_;
      }
    }
    double in_mixed = 0, in_alike = 0;
    for (std::size_t at = 0; at < size; ++at) {
      in_mixed += mixed[at / kGroup];
      in_alike += alike[at];
    }
    return in_mixed > kManyBlocks * static_cast<double>(size) && in_mixed > kTimesAsMany * in_alike;
  }

  const GrownBoxes<T>& boxes_;
  double block_;  // the length of a block of eight boxes, if it were a cube, in lengths of the scene
  bool found_ = false;
};
template <class T>
bool boxes_cross(const GrownBoxes<T>& boxes, const std::int32_t* rows, std::size_t count, const Kernels& kernels) {
  return CrossingSample<T>(boxes, rows, count, kernels).found();
}

template <class T>
class RankOrder {
 public:
  // `rows` null: all of them. `boxes` has a dimension, and corners lower(row, k) and upper(row, k). Throws bad_alloc or
  // Interrupted.
  template <class Boxes>
  void sort(const Boxes& boxes, const std::int32_t* rows, std::size_t count, const Kernels& kernels, unsigned workers,
            Interrupt& interrupt);

  RowKey* items() { return items_.get(); }  // in order; their keys have no meaning

 private:
  template <std::size_t D, class Boxes>
  void sort_in(const Boxes& boxes, const std::int32_t* rows, const Kernels& kernels, unsigned workers,
               Interrupt& interrupt) {
    PlainArray<detail::Place<2 * D>> items, spare;
    items.grow(count_);
    spare.grow(count_);
    const auto row_at = [&](std::size_t at) { return rows != nullptr ? static_cast<std::size_t>(rows[at]) : at; };
    std::vector<RowSorter<T>> sorters(std::max(1u, workers));
    for_each_task(D, workers, interrupt, [&](unsigned worker, std::size_t k) {
      RowSorter<T>& sorter = sorters[worker];
      sorter.start(2 * count_);
      for (std::size_t i = 0; i < count_; ++i) {
        sorter.add(boxes.lower(row_at(i), k), static_cast<std::uint32_t>(2 * i));
        sorter.add(boxes.upper(row_at(i), k), static_cast<std::uint32_t>(2 * i + 1));
      }
      Interrupt none;  // the calling thread is the only one that can be interrupted
      sorter.sort(worker == 0 ? interrupt : none);
      std::size_t rank = 0;
      for (std::size_t at = 0; at < 2 * count_; ++at) {
        if (at > 0 && sorter.bits(at) != sorter.bits(at - 1)) rank = at;
        const std::size_t corner = sorter.row(at);
        items[corner / 2].at[corner % 2 * D + k] = static_cast<float>(rank);
      }
    });
    in_stretches_on_threads(count_, workers, interrupt, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        items[i].row = static_cast<std::uint32_t>(row_at(i));
        for (std::size_t k = 0; k < D; ++k) {
          const float lower = items[i].at[k], upper = items[i].at[D + k];
          items[i].at[k] = lower + upper;
          items[i].at[D + k] = upper - lower;
        }
      }
    });
    detail::sort_places(detail::AreaSorter<D>(items.get(), spare.get(), items_.get(), kernels), count_, workers,
                        interrupt);
  }

  PlainArray<RowKey> items_;
  std::size_t count_ = 0;
};

template <class T>
template <class Boxes>
void RankOrder<T>::sort(const Boxes& boxes, const std::int32_t* rows, std::size_t count, const Kernels& kernels,
                        unsigned workers, Interrupt& interrupt) {
  items_.grow(count);
  count_ = count;
  with_dimension(boxes.dimension, [&](auto dimension) {
    sort_in<decltype(dimension)::value>(boxes, rows, kernels, workers, interrupt);
  });
}

// Compiled once: orders.cpp.
extern template bool boxes_cross(const GrownBoxes<float>&, const std::int32_t*, std::size_t, const Kernels&);
extern template bool boxes_cross(const GrownBoxes<double>&, const std::int32_t*, std::size_t, const Kernels&);
extern template void RankOrder<float>::sort(const GrownBoxes<float>&, const std::int32_t*, std::size_t, const Kernels&,
                                            unsigned, Interrupt&);
extern template void RankOrder<double>::sort(const GrownBoxes<double>&, const std::int32_t*, std::size_t,
                                             const Kernels&, unsigned, Interrupt&);

}  // namespace broadphase
