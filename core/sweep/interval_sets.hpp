// What intervals cover together: the clusters of those that meet, and what the intervals of another set leave of each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "sweep/keyed_order.hpp"
#include "sweep/sorted_intervals.hpp"

namespace broadphase {

// Lengths: of whole numbers unsigned, so that none overflows.
template <class T>
using LengthOf = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;

template <class T>
LengthOf<T> length_between(T begin, T end) {
  return static_cast<LengthOf<T>>(end) - static_cast<LengthOf<T>>(begin);
}

// Which intervals are in one cluster. No gap: those that share more than a point; else all that are at most so far
// apart, those that touch among them.
template <class T>
struct Joining {
  std::optional<LengthOf<T>> gap;

  // Of an interval that begins at `lower`, and all before it, which reach to `reach`.
  bool is_apart(T lower, T reach) const {
    if (!gap) return lower >= reach;
    return lower > reach && length_between(reach, lower) > *gap;
  }
};

// The clusters of one set, found by one pass along it: a cluster ends where the next interval begins behind all before
// it. On threads by parts of the positions: what each part reaches, first, then its clusters.
template <class T>
class Clusters {
  using Order = KeyedOrder<T>;
  using Stretch = typename Order::Stretch;

 public:
  Clusters(const Order& order, std::size_t set, const Joining<T>& joining, unsigned workers, Interrupt& interrupt)
      : order_(order), set_(set), parts_((column().count + kPart - 1) / kPart) {
    const std::size_t count = column().count;
    begins_ = allocate_plain<std::uint32_t>(count + parts_.size());
    furthest_ = allocate_plain<std::uint32_t>(count + parts_.size());
    first_.resize(order.stretches().size() + 1);
    for_each_task(parts_.size(), workers, interrupt, [&](unsigned, std::size_t p) { reach(p); });
    for (std::size_t p = 1; p < parts_.size(); ++p) carry_into(p);
    for_each_task(parts_.size(), workers, interrupt, [&](unsigned, std::size_t p) { find(p, joining); });
    join_parts();
  }

  std::size_t size() const { return size_; }
  // The number of the first cluster of a stretch, in the order of positions; of one behind the last, of all.
  std::size_t first(std::size_t stretch) const { return first_[stretch]; }

  // Calls use(number, stretch, begin, end, furthest) for each cluster, on threads: its positions, and the one that ends
  // last.
  template <class Use>
  void each(unsigned workers, Interrupt& interrupt, const Use& use) const {
    for_each_task(parts_.size(), workers, interrupt, [&](unsigned, std::size_t p) {
      const Part& part = parts_[p];
      if (part.count == 0) return;
      const std::uint32_t* const begins = begins_.get() + p * (kPart + 1);
      const std::uint32_t* const furthest = furthest_.get() + p * (kPart + 1);
      std::size_t s = stretch_of(begins[0]);
      for (std::size_t k = 0; k < part.count; ++k) {
        while (begins[k] >= stretches()[s].end[set_]) ++s;
        const bool is_last = k + 1 == part.count;
        use(part.number + k, s, begins[k], is_last ? part.end_of_last : begins[k + 1],
            is_last ? part.furthest_of_last : furthest[k + 1]);
      }
    });
  }
  // Calls use(position, number, stretch) for each position, on threads.
  template <class Use>
  void each_position(unsigned workers, Interrupt& interrupt, const Use& use) const {
    for_each_task(parts_.size(), workers, interrupt, [&](unsigned, std::size_t p) {
      const Part& part = parts_[p];
      const std::uint32_t* const begins = begins_.get() + p * (kPart + 1);
      const std::size_t end = std::min(column().count, (p + 1) * kPart);
      std::size_t position = p * kPart, s = stretch_of(position);
      for (std::size_t k = 0; k <= part.count; ++k) {
        while (position >= stretches()[s].end[set_] && s + 1 < stretches().size()) ++s;
        for (const std::size_t until = k < part.count ? begins[k] : end; position < until; ++position)
          use(position, part.number + k - 1, s);
      }
    });
  }

 private:
  static constexpr std::size_t kPart = std::size_t{1} << 15;

  struct Part {
    bool has_begun = false;         // whether the stretch at its end begins in it
    bool goes_on = false;           // whether the stretch at its begin begins before it
    std::uint32_t reaching = 0;     // of the stretch at its end, up to there: the position that ends last
    std::uint32_t carried = 0;      // of the stretch at its begin, before it
    std::uint32_t closing = 0;      // of the cluster that is open at its begin: the position that ends last
    std::size_t count = 0;          // of the clusters that begin in it
    std::size_t number = 0;         // of the first of these
    std::uint32_t end_of_last = 0;  // of these
    std::uint32_t furthest_of_last = 0;
  };

  const typename Order::Column& column() const { return order_.column(set_); }
  const std::vector<Stretch>& stretches() const { return order_.stretches(); }
  std::size_t stretch_of(std::size_t position) const { return order_.stretch_of(set_, position); }
  // Of two positions the one that ends later; the latter if both end together, as `find` has it.
  std::uint32_t later(std::uint32_t one, std::uint32_t two) const {
    return column().upper[two] >= column().upper[one] ? two : one;
  }

  void reach(std::size_t p) {
    const std::size_t begin = p * kPart, end = std::min(column().count, begin + kPart);
    const std::size_t last = stretches()[stretch_of(end - 1)].begin[set_];
    Part& part = parts_[p];
    part.has_begun = last >= begin;
    part.goes_on = stretches()[stretch_of(begin)].begin[set_] < begin;
    auto furthest = static_cast<std::uint32_t>(std::max(begin, last));
    for (std::size_t k = furthest; k < end; ++k) furthest = later(furthest, static_cast<std::uint32_t>(k));
    part.reaching = furthest;
  }
  void carry_into(std::size_t p) {
    Part& part = parts_[p];
    if (!part.goes_on) return;
    part.carried = parts_[p - 1].reaching;
    if (!part.has_begun) part.reaching = later(part.carried, part.reaching);
  }

  // Writes every position as the begin of the next cluster, and what is furthest as of the last one: the next step
  // writes over it, unless a cluster begins.
  void find(std::size_t p, const Joining<T>& joining) {
    const std::size_t begin = p * kPart, end = std::min(column().count, begin + kPart);
    const T *const lower = column().lower.get(), *const upper = column().upper.get();
    std::uint32_t* const begins = begins_.get() + p * (kPart + 1);
    std::uint32_t* const furthest = furthest_.get() + p * (kPart + 1);
    Part& part = parts_[p];
    std::size_t size = 0;
    std::uint32_t last = part.carried;
    for (std::size_t s = stretch_of(begin), k = begin; k < end; ++s) {
      const std::size_t until = std::min(end, stretches()[s].end[set_]);
      if (k == stretches()[s].begin[set_] && k < until) {
        first_[s] = size;
        last = static_cast<std::uint32_t>(k);
        begins[size++] = last;
        furthest[size] = last;
        ++k;
      }
      T reach = upper[last];
      for (; k < until; ++k) {
        const bool is_apart = joining.is_apart(lower[k], reach);
        begins[size] = static_cast<std::uint32_t>(k);
        size += is_apart;
        const bool is_later = upper[k] >= reach;  // as it is of all that are apart
        last = is_later ? static_cast<std::uint32_t>(k) : last;
        reach = is_later ? upper[k] : reach;
        furthest[size] = last;
      }
    }
    part.closing = furthest[0];
    part.count = size;
    if (size > 0) part.furthest_of_last = furthest[size];
  }

  void join_parts() {
    std::size_t open = parts_.size();  // the part in which the last cluster began
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      Part& part = parts_[p];
      part.number = size_;
      size_ += part.count;
      const bool has_open = part.count == 0 || begins_[p * (kPart + 1)] > p * kPart;
      if (has_open) parts_[open].furthest_of_last = part.closing;
      if (part.count == 0) continue;
      if (open < parts_.size()) parts_[open].end_of_last = begins_[p * (kPart + 1)];
      open = p;
    }
    if (open < parts_.size()) parts_[open].end_of_last = static_cast<std::uint32_t>(column().count);
    first_.back() = size_;
    for (std::size_t s = stretches().size(); s-- > 0;) {
      const Stretch& stretch = stretches()[s];
      if (stretch.begin[set_] < stretch.end[set_])
        first_[s] += parts_[stretch.begin[set_] / kPart].number;
      else
        first_[s] = first_[s + 1];
    }
  }

  const Order& order_;
  std::size_t set_, size_ = 0;
  std::vector<Part> parts_;
  PlainMemory<std::uint32_t> begins_, furthest_;  // of each part, one more than its positions
  std::vector<std::size_t> first_;
};

// What the second set of an order covers, as blocks apart from each other, and what that is of each interval of the
// first. The intervals of the second set that have no length cut what they are in where `cuts`; else they do nothing.
template <class T>
class Coverage {
  using Order = KeyedOrder<T>;
  using Length = LengthOf<T>;

 public:
  Coverage(const Order& order, bool cuts, unsigned workers, Interrupt& interrupt) : order_(order) {
    const Clusters<T> clusters(order, 1, Joining<T>{Length(0)}, workers, interrupt);
    const auto& column = order.column(1);
    lower_ = allocate_plain<T>(clusters.size());
    upper_ = allocate_plain<T>(clusters.size());
    clusters.each(workers, interrupt,
                  [&](std::size_t number, std::size_t, std::size_t begin, std::size_t, std::size_t furthest) {
                    lower_[number] = column.lower[begin];
                    upper_[number] = column.upper[furthest];
                  });
    for (std::size_t s = 0; s <= order.stretches().size(); ++s) first_.push_back(clusters.first(s));
    if (!cuts) leave_out_empty();
  }

  // The length of what is covered of each interval of the first set; 0 for a row without a key.
  template <class Measured>
  void measure(Measured* lengths, unsigned workers, Interrupt& interrupt) {
    std::fill_n(lengths, order_.rows(0), Measured(0));
    add_up(workers, interrupt);
    const auto& column = order_.column(0);
    each(workers, interrupt, [&](std::size_t k, std::size_t begin, std::size_t end) {
      lengths[column.rows[k]] = static_cast<Measured>(covered(column.lower[k], column.upper[k], begin, end));
    });
  }

  // The blocks that an interval has something of, or, of one without length, the one that covers it: blocks
  // [begin, end).
  struct Run {
    std::uint32_t begin, end;
    bool is_empty() const { return begin == end; }
  };
  // Of each row of the first set; without any for a row without a key.
  void find_runs(Run* runs, unsigned workers, Interrupt& interrupt) const {
    const auto& column = order_.column(0);
    if (column.count < order_.rows(0)) std::fill_n(runs, order_.rows(0), Run{0, 0});
    each(workers, interrupt, [&](std::size_t k, std::size_t begin, std::size_t end) {
      runs[column.rows[k]] = {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
    });
  }
  // How many pieces are left of an interval whose run is not empty: all is left of others.
  std::size_t piece_count(T lower, T upper, const Run& run) const {
    if (!(lower < upper)) return 0;
    return (lower < lower_[run.begin] ? 1 : 0) + (run.end - run.begin - 1) + (upper_[run.end - 1] < upper ? 1 : 0);
  }
  // Calls write(lower, upper) for these.
  template <class Write>
  void each_piece(T lower, T upper, const Run& run, const Write& write) const {
    T from = lower;
    for (std::uint32_t block = run.begin; block < run.end; ++block) {
      if (from < lower_[block]) write(from, lower_[block]);
      from = upper_[block];
    }
    if (from < upper) write(from, upper);
  }

 private:
  static constexpr std::size_t kRows = std::size_t{1} << 12;  // of a task
  static constexpr std::size_t kFew = 4;

  void leave_out_empty() {
    std::size_t to = 0;
    for (std::size_t s = 0; s + 1 < first_.size(); ++s) {
      const std::size_t begin = std::exchange(first_[s], to);
      for (std::size_t block = begin; block < first_[s + 1]; ++block) {
        lower_[to] = lower_[block], upper_[to] = upper_[block];
        to += lower_[block] < upper_[block];
      }
    }
    first_.back() = to;
  }

  // Calls use(position, begin, end) for all of the first set, on threads, with the blocks that end behind where it
  // begins and begin before it ends.
  template <class Use>
  void each(unsigned workers, Interrupt& interrupt, const Use& use) const {
    const auto& column = order_.column(0);
    const auto& stretches = order_.stretches();
    for_each_task((column.count + kRows - 1) / kRows, workers, interrupt, [&](unsigned, std::size_t task) {
      std::size_t k = task * kRows;
      const std::size_t end = std::min(column.count, k + kRows);
      std::size_t s = order_.stretch_of(0, k);
      for (; k < end; ++s) {
        const T *const first = upper_.get() + first_[s], *const last = upper_.get() + first_[s + 1];
        std::size_t begin =
            first_[s] + static_cast<std::size_t>(std::upper_bound(first, last, column.lower[k]) - first);
        std::size_t guess = begin;  // where a long run ends
        for (const std::size_t until = std::min(end, stretches[s].end[0]); k < until; ++k) {
          while (begin < first_[s + 1] && upper_[begin] <= column.lower[k]) ++begin;
          if (column.lower[k] < column.upper[k]) {
            std::size_t behind = begin;  // mostly there are few
            for (const std::size_t few = std::min(begin + kFew, first_[s + 1]);
                 behind < few && lower_[behind] < column.upper[k];)
              ++behind;
            if (behind == begin + kFew)
              behind = guess = end_of_run<false>(lower_.get(), behind, first_[s + 1], guess, column.upper[k]);
            use(k, begin, behind);
          } else {
            const bool is_covered = begin < first_[s + 1] && lower_[begin] <= column.lower[k];
            use(k, begin, begin + is_covered);
          }
        }
      }
    });
  }

  // Long runs of blocks by what is between the first and the last of them: those two may be infinite.
  Length covered(T lower, T upper, std::size_t begin, std::size_t end) const {
    constexpr std::size_t kAdded = 8;
    Length sum(0);
    const auto add = [&](std::size_t block) {
      sum += length_between(std::max(lower, lower_[block]), std::min(upper, upper_[block]));
    };
    if (end - begin <= kAdded) {
      for (std::size_t block = begin; block < end; ++block) add(block);
      return sum;
    }
    add(begin);
    add(end - 1);
    return sum + Sum::between(before(begin + 1), before(end - 1));
  }

  // Sums of lengths, from which others are taken away: of floating-point numbers with what each addition loses.
  struct Sum {
    Length most = 0, rest = 0;

    void add(Length length) {
      const Length sum = most + length;
      if constexpr (std::is_floating_point_v<T>) {
        const Length added = sum - most;
        rest += (most - (sum - added)) + (length - added);
      }
      most = sum;
    }
    static Length between(const Sum& one, const Sum& two) { return (two.most - one.most) + (two.rest - one.rest); }
  };

  // The sum of the lengths of all blocks before one, but for infinite ones.
  Sum before(std::size_t block) const {
    Sum sum = parts_[block / kPart];
    sum.add(sums_[block].most);
    sum.rest += sums_[block].rest;
    return sum;
  }
  void add_up(unsigned workers, Interrupt& interrupt) {
    const std::size_t count = first_.back() + 1;
    sums_ = allocate_plain<Sum>(count);
    parts_.assign((count + kPart - 1) / kPart + 1, Sum{});
    for_each_task(parts_.size() - 1, workers, interrupt, [&](unsigned, std::size_t part) {
      Sum sum;
      for (std::size_t block = part * kPart; block < std::min(count, (part + 1) * kPart); ++block) {
        sums_[block] = sum;
        if (block + 1 == count) break;
        const Length length = length_between(lower_[block], upper_[block]);
        if constexpr (std::is_floating_point_v<T>)
          sum.add(std::isfinite(length) ? length : 0);
        else
          sum.add(length);
      }
      parts_[part + 1] = sum;
    });
    for (std::size_t part = 1; part < parts_.size(); ++part) {
      const Sum own = parts_[part];
      parts_[part] = parts_[part - 1];
      parts_[part].add(own.most);
      parts_[part].rest += own.rest;
    }
  }

  static constexpr std::size_t kPart = std::size_t{1} << 14;  // blocks whose lengths are added up by one task

  const Order& order_;
  PlainMemory<T> lower_, upper_;
  std::vector<std::size_t> first_;  // of each stretch, and one behind the last
  PlainMemory<Sum> sums_;           // of the blocks before each, from the begin of its part
  std::vector<Sum> parts_;          // of all parts before each
};

}  // namespace broadphase
