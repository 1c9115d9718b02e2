// Non-maximum suppression: of boxes in the order of their scores, each is kept unless it overlaps one that was kept
// before it by more than a threshold (greedy), or loses a part of its score to each of them (soft).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "base/radix_sort.hpp"
#include "boxes/kept_boxes.hpp"
#include "boxes/overlap_ratio.hpp"

namespace broadphase {

// When a box excludes a worse one.
struct Exclusion {
  RatioTo measure;
  double threshold;
};

// Rows by descending score, equal ones ascending. Null: a score is NaN.
template <class Score>
std::optional<std::vector<std::int32_t>> best_first(const Score* scores, std::size_t count, Interrupt& interrupt) {
  RowSorter<Score> sorter(count);
  bool is_number = true;
  for (std::size_t row = 0; row < count; ++row) {
    is_number &= scores[row] == scores[row];
    if constexpr (std::is_unsigned_v<Score>)
      sorter.add(static_cast<Score>(~scores[row]), static_cast<std::uint32_t>(row));
    else
      sorter.add(-scores[row], static_cast<std::uint32_t>(row));
  }
  if (!is_number) return std::nullopt;
  sorter.sort(interrupt);
  std::vector<std::int32_t> rows(count);
  for (std::size_t k = 0; k < count; ++k) rows[k] = static_cast<std::int32_t>(sorter.row(k));
  return rows;
}

namespace detail {

// Rows that are sorted by key, in their order for one key, and where each key begins; then the end.
struct Batches {
  std::vector<std::int32_t> rows;
  std::vector<std::size_t> starts;
};

// `keys` may be null: all rows have one.
inline Batches in_batches(std::vector<std::int32_t> rows, const std::int64_t* keys, Interrupt& interrupt) {
  const std::size_t count = rows.size();
  std::vector<std::size_t> starts{0};
  if (keys != nullptr && count > 0) {
    constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
    RowSorter<std::uint64_t> sorter(count);
    for (const std::int32_t row : rows)
      sorter.add(static_cast<std::uint64_t>(keys[row]) ^ kSign, static_cast<std::uint32_t>(row));
    sorter.sort(interrupt);
    for (std::size_t k = 0; k < count; ++k) {
      rows[k] = static_cast<std::int32_t>(sorter.row(k));
      if (k > 0 && sorter.bits(k) != sorter.bits(k - 1)) starts.push_back(k);
    }
  }
  starts.push_back(count);
  return {std::move(rows), std::move(starts)};
}

// Calls run(workspace, rows, count, interrupt) for each batch, on threads where there are several; make() makes a
// workspace.
template <class Make, class Run>
void for_each_batch(const Batches& batches, unsigned workers, Interrupt& interrupt, const Make& make, const Run& run) {
  constexpr std::size_t kRowsATask = 4096;
  const std::vector<std::size_t>& starts = batches.starts;
  const std::int32_t* rows = batches.rows.data();
  if (starts.size() == 2) {
    auto workspace = make();
    run(workspace, rows, starts[1], interrupt);
    return;
  }
  std::vector<std::size_t> tasks{0};  // of whole batches
  for (std::size_t k = 1; k < starts.size(); ++k)
    if (k + 1 == starts.size() || starts[k] - starts[tasks.back()] >= kRowsATask) tasks.push_back(k);
  for_each_task(tasks.size() - 1, workers, interrupt, [&](unsigned, std::size_t task) {
    Interrupt none;
    auto workspace = make();
    for (std::size_t k = tasks[task]; k < tasks[task + 1]; ++k)
      run(workspace, rows + starts[k], starts[k + 1] - starts[k], none);
  });
}

}  // namespace detail

// Flags of the rows that are kept, of `rows` in the order of their scores. Only rows with the same key exclude each
// other; `keys` may be null.
template <class Boxes>
std::vector<std::uint8_t> keep_best(const Boxes& boxes, std::vector<std::int32_t> rows, const std::int64_t* keys,
                                    Exclusion exclusion, unsigned workers, Interrupt& interrupt) {
  using Kept = KeptBoxes<Boxes>;
  constexpr std::size_t kRowsAhead = 8;  // about as long as memory takes
  std::vector<std::uint8_t> flags(rows.size());
  const auto [measure, threshold] = exclusion;
  const auto make = [&, measure = measure, threshold = threshold] {
    return Kept(boxes, typename Kept::Reach(threshold, measure));
  };
  const auto run = [&, measure = measure, threshold = threshold](Kept& kept, const std::int32_t* batch,
                                                                 std::size_t count, Interrupt& pause) {
    kept.clear();
    for (std::size_t k = 0; k < count; ++k) {
      if (k + kRowsAhead < count) boxes.read_ahead(static_cast<std::size_t>(batch[k + kRowsAhead]));
      const auto row = static_cast<std::size_t>(batch[k]);
      const auto& box = boxes[row];
      if (!box.has_volume()) {  // overlaps none
        flags[row] = 1;
        continue;
      }
      if (k % 1024 == 1023) pause.check();
      if (kept.any_near(box, 0,
                        [&](const auto& other, std::uint32_t) { return other.exceeds(box, measure, threshold); }))
        continue;
      flags[row] = 1;
      kept.keep(box, count - k - 1, [&](std::size_t next) { return static_cast<std::size_t>(batch[k + 1 + next]); });
    }
  };
  detail::for_each_batch(detail::in_batches(std::move(rows), keys, interrupt), workers, interrupt, make, run);
  return flags;
}

struct RowPair {
  std::int32_t first, second;
};

namespace detail {

// Two rows, one of which excludes the other, by their places in the order of the scores.
struct Rivals {
  std::uint32_t better, worse;
};

inline std::vector<std::uint32_t> ranks_of(const std::vector<std::int32_t>& rows) {
  std::vector<std::uint32_t> rank(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k) rank[static_cast<std::size_t>(rows[k])] = static_cast<std::uint32_t>(k);
  return rank;
}

// Flags of the rows that are kept, of `rows` in the order of their scores.
inline std::vector<std::uint8_t> keep_unrivaled(const std::vector<std::int32_t>& rows,
                                                const std::vector<Rivals>& rivals) {
  std::vector<std::uint32_t> end(rows.size() + 1);
  for (const Rivals& pair : rivals) ++end[pair.better + 1];
  for (std::size_t k = 0; k < rows.size(); ++k) end[k + 1] += end[k];
  std::vector<std::uint32_t> worse(rivals.size()), next(end.begin(), end.end() - 1);
  for (const Rivals& pair : rivals) worse[next[pair.better]++] = pair.worse;
  std::vector<std::uint8_t> kept(rows.size(), 1);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (kept[static_cast<std::size_t>(rows[k])] == 0) continue;
    for (std::uint32_t at = end[k]; at < end[k + 1]; ++at) kept[static_cast<std::size_t>(rows[worse[at]])] = 0;
  }
  return kept;
}

}  // namespace detail

// The same, by the pairs of all boxes that overlap and have the same key: `pairs(k)`, k < count.
template <class Boxes, class Pairs>
std::vector<std::uint8_t> keep_best_by_pairs(const Boxes& boxes, const std::vector<std::int32_t>& rows,
                                             std::size_t count, Pairs&& pairs, Exclusion exclusion,
                                             Interrupt& interrupt) {
  constexpr std::size_t kAhead = 16;  // pairs: about as long as memory takes
  const std::vector<std::uint32_t> rank = detail::ranks_of(rows);
  std::vector<detail::Rivals> rivals(count);
  std::size_t found = 0;
  in_stretches(count, interrupt, [&](std::size_t from, std::size_t to) {
    for (std::size_t k = from; k < to; ++k) {
      if (k + kAhead < count) {
        const RowPair later = pairs(k + kAhead);
        boxes.read_ahead(static_cast<std::size_t>(later.first));
        boxes.read_ahead(static_cast<std::size_t>(later.second));
      }
      const RowPair pair = pairs(k);
      const auto i = static_cast<std::size_t>(pair.first), j = static_cast<std::size_t>(pair.second);
      rivals[found] = {std::min(rank[i], rank[j]), std::max(rank[i], rank[j])};
      found += boxes[i].exceeds(boxes[j], exclusion.measure, exclusion.threshold) ? 1 : 0;
    }
  });
  rivals.resize(found);
  return detail::keep_unrivaled(rows, rivals);
}

// What is left of the score of a box that overlaps a better one by a ratio.
struct Decay {
  enum class Kind { kLinear, kGaussian } kind;
  double parameter;  // the least ratio that counts, or sigma

  double factor(double ratio) const {
    if (kind == Kind::kGaussian) return std::exp(-(ratio * ratio) / parameter);
    return ratio >= parameter ? 1 - ratio : 1;
  }
};

struct Softened {
  std::vector<std::int32_t> rows;  // that are kept, by descending score, equal ones ascending
  std::vector<double> scores;      // of all rows, as they are when the row is kept or falls below the least
};

namespace detail {

struct SoftEntry {
  double score;  // no less than it is
  std::int32_t row;
  bool operator<(const SoftEntry& other) const { return score != other.score ? score < other.score : row > other.row; }
};

// A box that was taken, as the `order`-th, and by what it multiplies a score.
struct SoftHit {
  std::uint32_t order;
  double factor;
  bool operator<(const SoftHit& other) const { return order < other.order; }
};

}  // namespace detail

// Soft-NMS. Always the best box is taken next, and those that overlap it lose a part of their scores; what falls below
// `least` is gone. Scores are finite and not negative. They only fall, so a box is compared with those that were taken
// since its last turn when its turn comes, and not with all those that it overlaps. O((n + p) log n) time for p
// comparisons, of boxes with those that were taken before them and near them; O(n) memory.
template <class Boxes>
Softened soften(const Boxes& boxes, std::vector<double> scores, const std::int64_t* keys, Decay decay, double least,
                unsigned workers, Interrupt& interrupt) {
  using Kept = KeptBoxes<Boxes>;
  using detail::SoftEntry, detail::SoftHit;
  struct Workspace {
    Kept kept;
    std::vector<SoftHit> hits;
  };
  const std::size_t count = scores.size();
  std::vector<std::uint32_t> seen(count);  // how many were taken when the score was computed
  std::vector<std::uint8_t> flags(count);
  const double threshold = decay.kind == Decay::Kind::kLinear ? std::clamp(decay.parameter, 0.0, 1.0) : 0.0;
  const auto make = [&] { return Workspace{Kept(boxes, typename Kept::Reach(threshold, RatioTo::kUnion)), {}}; };
  const auto run = [&](Workspace& workspace, const std::int32_t* batch, std::size_t rows, Interrupt& pause) {
    Kept& kept = workspace.kept;
    std::vector<SoftHit>& hits = workspace.hits;
    kept.clear();
    std::vector<SoftEntry> entries(rows);
    for (std::size_t k = 0; k < rows; ++k) entries[k] = {scores[static_cast<std::size_t>(batch[k])], batch[k]};
    std::priority_queue<SoftEntry> queue(std::less<SoftEntry>(), std::move(entries));
    for (std::size_t turn = 1; !queue.empty(); ++turn) {
      if (turn % 1024 == 0) pause.check();
      const SoftEntry best = queue.top();
      if (best.score < least) break;
      queue.pop();
      const auto row = static_cast<std::size_t>(best.row);
      const auto& box = boxes[row];
      const bool can_lose = best.score > 0 && box.has_volume();
      if (can_lose && seen[row] < kept.count()) {
        hits.clear();
        kept.any_near(box, seen[row], [&](const auto& other, std::uint32_t order) {
          const double ratio = other.ratio(box, RatioTo::kUnion);
          if (ratio > 0) hits.push_back({order, decay.factor(ratio)});
          return false;
        });
        seen[row] = kept.count();
        // In the order in which they were taken, each once: the product is that of the plain loop.
        std::sort(hits.begin(), hits.end());
        double score = best.score;
        for (std::size_t k = 0; k < hits.size() && score >= least; ++k)
          if (k == 0 || hits[k].order != hits[k - 1].order) score *= hits[k].factor;
        scores[row] = score;
        const SoftEntry current{score, best.row};
        if (score < least) continue;
        if (!queue.empty() && current < queue.top()) {
          queue.push(current);
          continue;
        }
      }
      flags[row] = 1;
      if (box.has_volume())
        kept.keep(box, rows, [&](std::size_t next) { return static_cast<std::size_t>(batch[next]); });
    }
  };
  std::vector<std::int32_t> all(count);
  for (std::size_t row = 0; row < count; ++row) all[row] = static_cast<std::int32_t>(row);
  detail::for_each_batch(detail::in_batches(std::move(all), keys, interrupt), workers, interrupt, make, run);
  Softened result;
  const auto order = best_first(scores.data(), count, interrupt);
  for (const std::int32_t row : *order)
    if (flags[static_cast<std::size_t>(row)] != 0) result.rows.push_back(row);
  result.scores = std::move(scores);
  return result;
}

}  // namespace broadphase
