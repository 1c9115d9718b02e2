// Intervals of one set or two in the order of key and begin.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/radix_sort.hpp"
#include "base/samples.hpp"
#include "boxes/box_view.hpp"
#include "query/problem.hpp"

namespace broadphase {

// The key of a row that is in no pair, whatever its corners.
inline constexpr std::uint32_t kNoKey = 0xffffffffu;

// One set of intervals: floating-point or whole numbers. `keys`: of each row, below a count that both sets share, or
// kNoKey; null: all rows have key 0.
template <class T>
struct KeyedIntervals {
  BoxView<T> boxes;
  const std::uint32_t* keys = nullptr;
};

// Both sets in the order of key and begin, those of the first set before those of the second that begin with them, and
// within a set by rows.
//
// Rows are sorted by scattering them to buckets of some hundred, of equal width between the ends of a sample, which is
// one pass through memory; each bucket is sorted in the nearest cache by counting, and what that leaves by insertion.
// Crowded buckets are sorted by radix, so that the time is linear whatever the numbers.
template <class T>
class KeyedOrder {
 public:
  struct Column {
    std::size_t count = 0;
    PlainArray<T> lower, upper;
    PlainArray<std::int32_t> rows;
    PlainArray<std::uint32_t> begins;  // of two sets: of the run, in the other one
  };
  // The positions of a key in both sets.
  struct Stretch {
    std::size_t begin[2], end[2];
  };

  // Throws InvalidBoxes for NaN and for lower > upper in a row that has a key. Without `cross`, the second set has no
  // rows. Numbers of another type are kept as T if T holds each of them: see is_exact(). Not `closed`: rows whose
  // interval has no length are left out.
  template <class Given>
  KeyedOrder(const KeyedIntervals<Given>& first, const KeyedIntervals<Given>& second, bool cross, std::size_t key_count,
             bool closed, T grow, unsigned workers, Interrupt& interrupt)
      : is_cross_(cross), is_closed_(closed), grow_(grow), rows_{first.boxes.count, second.boxes.count} {
    const KeyedIntervals<Given> sets[2] = {first, second};
    is_exact_ = plan_buckets(sets, std::max<std::size_t>(key_count, 1)) && scatter(sets, workers, interrupt);
    if (is_exact_) sort(workers, interrupt);
  }
  KeyedOrder(const KeyedOrder&) = delete;
  KeyedOrder& operator=(const KeyedOrder&) = delete;

  // False if T does not hold all numbers: then there is nothing here, and they have to be kept as they are.
  bool is_exact() const { return is_exact_; }
  // How many rows a set has, with and without a key.
  std::size_t rows(std::size_t set) const { return rows_[set]; }
  const Column& column(std::size_t set) const { return columns_[set]; }
  // Of each key, one behind the other, unless some have been left out.
  const std::vector<Stretch>& stretches() const { return stretches_; }
  // The first that ends behind a position of a set.
  std::size_t stretch_of(std::size_t set, std::size_t position) const {
    const auto found = std::partition_point(stretches_.begin(), stretches_.end(),
                                            [&](const Stretch& stretch) { return stretch.end[set] <= position; });
    return static_cast<std::size_t>(found - stretches_.begin());
  }
  template <class Wanted>
  void keep_stretches(const Wanted& wanted) {
    std::erase_if(stretches_, [&](const Stretch& stretch) { return !wanted(stretch); });
  }
  std::size_t bytes() const {
    std::size_t result = stretches_.capacity() * sizeof(Stretch);
    for (const Column& column : columns_)
      result += (column.lower.size() + column.upper.size()) * sizeof(T) +
                (column.rows.size() + column.begins.size()) * sizeof(std::int32_t);
    return result;
  }

 private:
  // Some hundred items of 24 bytes fit the nearest cache, and a few thousand buckets as many lines of the next one.
  static constexpr std::size_t kBucketRows = 512, kMostInCache = 2048, kParts = 1024, kFew = 16;
  static constexpr std::size_t kSample = 4096;
  static constexpr std::uint32_t kSecond = std::uint32_t{1} << 31;  // marks rows of the second set

  struct Item {
    T lower, upper;
    std::uint32_t row;
    std::uint32_t part;  // of the bucket
  };
  // Where the begins of a key's intervals go: evenly from `low` on; what lies outside goes to the ends.
  struct Place {
    double low = 0, scale = 0, top = 0;
    std::uint32_t bucket = 0, buckets = 1;

    double of(T begin) const {
      double place = (static_cast<double>(begin) - low) * scale;
      place = place > 0 ? place : 0;  // and NaN
      return place < top ? place : top;
    }
  };
  // Where its items begin, and how many items of the first set are before it.
  struct Bucket {
    std::uint32_t begin, of_first;
  };

  // A number as T, or another one where T does not hold it.
  template <class Given>
  static T kept(Given given) {
    if constexpr (std::is_same_v<Given, T>) {
      return given;
    } else {
      constexpr T kLeast = std::numeric_limits<T>::lowest(), kMost = std::numeric_limits<T>::max();
      return given >= static_cast<Given>(kLeast) && given <= static_cast<Given>(kMost) ? static_cast<T>(given) : T(0);
    }
  }

  template <class Given>
  static std::uint32_t key_of(const KeyedIntervals<Given>& set, std::size_t row) {
    return set.keys == nullptr ? 0 : set.keys[row];
  }

  // By a sample: as many buckets for a key as it has rows, between the first and the last begin. False if T does not
  // hold it.
  template <class Given>
  bool plan_buckets(const KeyedIntervals<Given> (&sets)[2], std::size_t key_count) {
    struct Seen {
      double low = std::numeric_limits<double>::infinity(), high = -low;
      std::size_t count = 0;
    };
    std::vector<Seen> seen(key_count);
    std::size_t sampled = 0;
    for (const KeyedIntervals<Given>& set : sets) {
      const StratifiedSample sample(set.boxes.count, kSample);
      for (std::size_t k = 0; k < sample.size(); ++k) {
        const std::uint32_t key = key_of(set, sample[k]);
        const Given given = set.boxes.lower_of(sample[k])[0];
        const T lower = kept(given);
        const double begin = static_cast<double>(lower - grow_);
        if (key != kNoKey && given == given && static_cast<Given>(lower) != given) return false;
        if (key == kNoKey || !std::isfinite(begin)) continue;
        seen[key].low = std::min(seen[key].low, begin);
        seen[key].high = std::max(seen[key].high, begin);
        ++seen[key].count;
        ++sampled;
      }
    }
    const double rows = static_cast<double>(rows_[0] + rows_[1]);
    places_.resize(key_count);
    std::uint32_t next = 0;
    for (std::size_t key = 0; key < key_count; ++key) {
      Place& place = places_[key];
      place.bucket = next;
      if (seen[key].count > 0) {
        const double share = static_cast<double>(seen[key].count) / static_cast<double>(sampled);
        place.buckets = 1 + static_cast<std::uint32_t>(share * rows / kBucketRows);
        place.low = seen[key].low;
        const double width = seen[key].high - seen[key].low;
        place.scale = width > 0 ? place.buckets / width : 0;
        place.top = place.buckets - 0.5 / kParts;
      }
      next += place.buckets;
    }
    bucket_count_ = next;
    return true;
  }

  static std::uint32_t part_of(double place, std::uint32_t bucket) {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>((place - static_cast<std::int32_t>(bucket)) * kParts));
  }

  // Calls use(row, bucket, item) for each row; the bucket behind the last is for those that are in no pair.
  template <class Given, class Use>
  void each_row(const KeyedIntervals<Given>& set, std::size_t from, std::size_t to, const Use& use) const {
    const bool leave_out_empty = !is_closed_;
    if (set.keys == nullptr) {
      const Place place = places_[0];
      for (std::size_t row = from; row < to; ++row) {
        const T lower = kept(set.boxes.lower_of(row)[0]) - grow_, upper = kept(set.boxes.upper_of(row)[0]) + grow_;
        const double at = place.of(lower);
        auto bucket = static_cast<std::uint32_t>(static_cast<std::int32_t>(at));
        const std::uint32_t part = part_of(at, bucket);
        if (leave_out_empty) bucket = lower < upper ? bucket : bucket_count_;
        use(row, bucket, Item{lower, upper, static_cast<std::uint32_t>(row), part});
      }
      return;
    }
    for (std::size_t row = from; row < to; ++row) {
      const std::uint32_t key = set.keys[row];
      const Place& place = places_[key == kNoKey ? 0 : key];
      const T lower = kept(set.boxes.lower_of(row)[0]) - grow_, upper = kept(set.boxes.upper_of(row)[0]) + grow_;
      const double at = place.of(lower);
      auto bucket = static_cast<std::uint32_t>(static_cast<std::int32_t>(at));
      const std::uint32_t part = part_of(at, bucket);
      bucket += place.bucket;
      bucket = key == kNoKey || (leave_out_empty && !(lower < upper)) ? bucket_count_ : bucket;
      use(row, bucket, Item{lower, upper, static_cast<std::uint32_t>(row), part});
    }
  }

  // Rows of one set that one task counts, and then puts into their buckets.
  struct Part {
    std::size_t set, begin, end;
    std::vector<std::uint32_t> next;  // for each bucket: a count, then the place of its next row
  };

  // Counts the rows of each bucket, looks for invalid ones, and puts all rows into their buckets, those of the first
  // set first, each set in the order of its rows. False if T does not hold one of them. Numbers are read twice, and
  // another thread may write to them in between: a row goes to the bucket in which it was counted.
  template <class Given>
  bool scatter(const KeyedIntervals<Given> (&sets)[2], unsigned workers, Interrupt& interrupt) {
    constexpr std::size_t kPartRows = 20000;  // fewer are read sooner than a thread wakes
    std::vector<Part> parts;
    for (std::size_t set = 0; set < 2; ++set) {
      const EvenSplit split{rows_[set], std::clamp<std::size_t>(rows_[set] / kPartRows, 1, std::max(1u, workers))};
      for (std::size_t k = 0; k < split.parts; ++k)
        parts.push_back({set, split.at(k), split.at(k + 1), std::vector<std::uint32_t>(bucket_count_ + 1, 0)});
    }
    const PlainMemory<std::uint32_t> buckets = allocate_plain<std::uint32_t>(rows_[0] + rows_[1]);
    const PlainMemory<std::uint16_t> bucket_parts = allocate_plain<std::uint16_t>(rows_[0] + rows_[1]);
    std::atomic<bool> is_exact{true};
    // Calls work(part, from, to, bucket_of, part_of_row) for stretches of the parts' rows.
    const auto in_parts = [&](const auto& work) {
      for_each_task(parts.size(), workers, interrupt, [&](unsigned worker, std::size_t number) {
        Interrupt alone;  // for threads other than the calling one
        Part& part = parts[number];
        const std::size_t before = part.set == 0 ? 0 : rows_[0];
        in_stretches(part.end - part.begin, worker == 0 ? interrupt : alone, [&](std::size_t from, std::size_t to) {
          work(part, part.begin + from, part.begin + to, buckets.get() + before, bucket_parts.get() + before);
        });
      });
    };
    in_parts([&](Part& part, std::size_t from, std::size_t to, std::uint32_t* bucket_of, std::uint16_t* part_of_row) {
      if (!is_exact.load(std::memory_order_relaxed)) return;
      const KeyedIntervals<Given>& set = sets[part.set];
      const bool has_keys = set.keys != nullptr;
      bool are_exact = true, are_valid = true;
      std::uint32_t* const counts = part.next.data();
      each_row(set, from, to, [&](std::size_t row, std::uint32_t bucket, const Item& item) {
        const Given lower = set.boxes.lower_of(row)[0], upper = set.boxes.upper_of(row)[0];
        const bool matters = !has_keys || set.keys[row] != kNoKey;
        are_valid &= lower <= upper || !matters;  // false for NaN
        if constexpr (!std::is_same_v<Given, T>)
          are_exact &= (static_cast<Given>(item.lower) == lower && static_cast<Given>(item.upper) == upper) || !matters;
        ++counts[bucket];
        bucket_of[row] = bucket;
        part_of_row[row] = static_cast<std::uint16_t>(item.part);
      });
      if (!are_valid) throw InvalidBoxes();
      if (!are_exact) is_exact.store(false, std::memory_order_relaxed);
    });
    if (!is_exact.load(std::memory_order_relaxed)) return false;
    buckets_.resize(bucket_count_ + 1);
    std::uint32_t sum = 0, of_first = 0;
    for (std::uint32_t bucket = 0; bucket <= bucket_count_; ++bucket) {
      buckets_[bucket] = {sum, of_first};
      for (Part& part : parts) {
        const std::uint32_t count = std::exchange(part.next[bucket], sum);
        sum += count;
        of_first += part.set == 0 ? count : 0;
      }
    }
    items_ = allocate_plain<Item>(rows_[0] + rows_[1]);
    in_parts([&](Part& part, std::size_t from, std::size_t to, const std::uint32_t* bucket_of,
                 const std::uint16_t* part_of_row) {
      const BoxView<Given>& boxes = sets[part.set].boxes;
      const std::uint32_t mark = part.set == 0 ? 0 : kSecond;
      std::uint32_t* const next = part.next.data();
      bool are_valid = true;
      for (std::size_t row = from; row < to; ++row) {
        const T lower = kept(boxes.lower_of(row)[0]) - grow_, upper = kept(boxes.upper_of(row)[0]) + grow_;
        const std::uint32_t bucket = bucket_of[row];
        are_valid &= lower <= upper || bucket == bucket_count_;
        items_[next[bucket]++] = {lower, upper, static_cast<std::uint32_t>(row) | mark, part_of_row[row]};
      }
      if (!are_valid) throw InvalidBoxes();
    });
    return true;
  }

  // Sorts the items of each bucket, and puts them into the columns of their sets.
  void sort(unsigned workers, Interrupt& interrupt);

  void sort_bucket(std::uint32_t bucket, PlainArray<Item>& spare, unsigned workers, Interrupt& interrupt) {
    const Bucket& from = buckets_[bucket];
    Item* const items = items_.get() + from.begin;
    const std::size_t count = buckets_[bucket + 1].begin - from.begin;
    const auto in_place = [](std::size_t k) { return k; };
    if (count > kMostInCache) return file(sort_many(items, count, spare, workers, interrupt), count, from, in_place);
    std::uint16_t order[kMostInCache];
    if (count <= kFew) {
      for (std::size_t k = 0; k < count; ++k) order[k] = static_cast<std::uint16_t>(k);
    } else {
      std::uint16_t places[kParts] = {};
      for (std::size_t k = 0; k < count; ++k) ++places[items[k].part];
      std::uint16_t sum = 0;
      for (std::uint16_t& next : places) {
        const std::uint16_t here = next;
        next = sum;
        sum = static_cast<std::uint16_t>(sum + here);
      }
      for (std::size_t k = 0; k < count; ++k) order[places[items[k].part]++] = static_cast<std::uint16_t>(k);
    }
    // Many have the same place where numbers are crowded, or lie beyond the sample.
    const auto begin = [&](std::uint16_t k) { return items[k].lower; };
    if (!insertion_sort(order, count, begin, 4 * count + kFew * kFew))
      std::sort(order, order + count, [&](std::uint16_t a, std::uint16_t b) {
        return items[a].lower < items[b].lower || (items[a].lower == items[b].lower && a < b);
      });
    file(items, count, from, [&](std::size_t k) { return order[k]; });
  }

  // By radix: the highest 33 bits, which settle all but a few, or all of them. Returns where the items are then.
  Item* sort_many(Item* items, std::size_t count, PlainArray<Item>& spare, unsigned workers, Interrupt& interrupt) {
    spare.grow(count);
    using Bits = OrderBits<T>;
    const auto bits = [](const Item& item) {
      if constexpr (std::is_floating_point_v<T>)
        return order_bits(item.lower);
      else
        return static_cast<Bits>(static_cast<Bits>(item.lower) ^ Bits{1} << (8 * sizeof(T) - 1));
    };
    Bits least = bits(items[0]), most = least;
    for (std::size_t k = 1; k < count; ++k) {
      const Bits here = bits(items[k]);
      least = here < least ? here : least;
      most = here > most ? here : most;
    }
    const auto key = [&](const Item& item) { return static_cast<Bits>(bits(item) - least); };
    const auto width = static_cast<int>(std::bit_width(static_cast<Bits>(most - least)));
    const int skipped = width > 33 ? width - 33 : 0;
    Item* sorted = radix_sort<11>(items, spare.get(), count, skipped, width, key, workers, interrupt);
    const auto begin = [](const Item& item) { return item.lower; };
    if (skipped > 0 && !insertion_sort(sorted, count, begin, 4 * count))
      sorted = radix_sort<11>(sorted, sorted == items ? spare.get() : items, count, 0, width, key, workers, interrupt);
    return sorted;
  }

  template <class Order>
  void file(const Item* items, std::size_t count, const Bucket& from, const Order& order) {
    if (is_cross_)
      file<true>(items, count, from, order);
    else
      file<false>(items, count, from, order);
  }
  template <bool Cross, class Order>
  void file(const Item* items, std::size_t count, const Bucket& from, const Order& order) {
    T *lower[2], *upper[2];
    std::int32_t* rows[2];
    std::uint32_t* begins[2];
    for (std::size_t k = 0; k < 2; ++k) {
      lower[k] = columns_[k].lower.get();
      upper[k] = columns_[k].upper.get();
      rows[k] = columns_[k].rows.get();
      begins[k] = columns_[k].begins.get();
    }
    std::size_t first = from.of_first, second = from.begin - from.of_first;
    for (std::size_t k = 0; k < count; ++k) {
      const Item& item = items[order(k)];
      // Without a branch, which would be as good as random.
      const std::size_t set = Cross ? item.row / kSecond : 0;
      const std::size_t at = Cross ? first ^ ((first ^ second) & (0 - set)) : first;
      lower[set][at] = item.lower;
      upper[set][at] = item.upper;
      rows[set][at] = static_cast<std::int32_t>(item.row & ~kSecond);
      if constexpr (Cross) begins[set][at] = static_cast<std::uint32_t>(first + second - at);
      first += 1 - set;
      second += set;
    }
  }

  bool is_cross_, is_closed_, is_exact_ = true;
  T grow_;
  std::size_t rows_[2];
  std::vector<Place> places_;  // of each key
  std::uint32_t bucket_count_ = 0;
  std::vector<Bucket> buckets_;  // and one for the rows that have no key
  PlainMemory<Item> items_;
  Column columns_[2];
  std::vector<Stretch> stretches_;
};

template <class T>
void KeyedOrder<T>::sort(unsigned workers, Interrupt& interrupt) {
  constexpr std::uint32_t kTogetherBuckets = 16;
  constexpr std::size_t kLarge = std::size_t{1} << 17;  // items that take some milliseconds, on all threads
  for (std::size_t k = 0; k < 2; ++k) {
    columns_[k].lower.grow(rows_[k]);
    columns_[k].upper.grow(rows_[k]);
    columns_[k].rows.grow(rows_[k]);
    if (is_cross_) columns_[k].begins.grow(rows_[k]);
  }
  columns_[0].count = buckets_[bucket_count_].of_first;
  columns_[1].count = buckets_[bucket_count_].begin - columns_[0].count;
  std::vector<PlainArray<Item>> spares(std::max(1u, workers));
  const auto is_large = [&](std::uint32_t bucket) {
    return buckets_[bucket + 1].begin - buckets_[bucket].begin > kLarge;
  };
  for (std::uint32_t bucket = 0; bucket < bucket_count_; ++bucket)
    if (is_large(bucket)) sort_bucket(bucket, spares[0], workers, interrupt);
  const std::uint32_t tasks = (bucket_count_ + kTogetherBuckets - 1) / kTogetherBuckets;
  const bool is_alone = rows_[0] + rows_[1] < kLarge / 8;
  for_each_task(tasks, is_alone ? 1 : workers, interrupt, [&](unsigned worker, std::size_t task) {
    Interrupt alone;  // for threads other than the calling one
    const auto begin = static_cast<std::uint32_t>(task) * kTogetherBuckets;
    for (std::uint32_t bucket = begin; bucket < std::min(begin + kTogetherBuckets, bucket_count_); ++bucket)
      if (!is_large(bucket)) sort_bucket(bucket, spares[worker], 1, alone);
  });
  for (const Place& place : places_) {
    const Bucket &begin = buckets_[place.bucket], &end = buckets_[place.bucket + place.buckets];
    const Stretch stretch{{begin.of_first, begin.begin - begin.of_first}, {end.of_first, end.begin - end.of_first}};
    stretches_.push_back(stretch);
  }
  items_.reset();
  places_.clear();
  buckets_.clear();
}

// Compiled once: sweep.cpp.
extern template class KeyedOrder<float>;
extern template class KeyedOrder<double>;
extern template class KeyedOrder<std::int32_t>;
extern template class KeyedOrder<std::int64_t>;

}  // namespace broadphase
