// The grid's kernels: every level against definitions written out plainly, record by record and bit by bit.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "grid/grid.hpp"
#include "methods.hpp"

namespace broadphase::tests {
namespace {

// --- Filing: boxes to the records of the cells they cover.

// What a record says, whatever its layout.
struct PlainRecord {
  std::int16_t lower[4], negated_upper[4];
  std::uint32_t row;
  bool operator==(const PlainRecord&) const = default;
};
using PlainCells = std::map<std::size_t, std::vector<PlainRecord>>;

std::int16_t saturated_to_16_bits(std::int64_t x) {
  return static_cast<std::int16_t>(std::clamp<std::int64_t>(x, -32768, 32767));
}

template <class T>
std::int32_t plain_steps(T x, const GridLayout<T>& layout, std::size_t axis) {
  if (const Segments<T>* segments = layout.segments[axis]) {
    std::size_t at = kSegments - 1;
    while (at > 0 && !(segments->begin[at] <= x)) --at;
    const auto each = (layout.largest[axis] + 1) / static_cast<std::int32_t>(kSegments);
    const T steps = (x - segments->begin[at]) * segments->inverse_width[at] * static_cast<T>(each);
    const std::int32_t within = !(steps > 0)                    ? 0
                                : steps >= static_cast<T>(each) ? each - 1
                                                                : static_cast<std::int32_t>(steps);
    return static_cast<std::int32_t>(at) * each + within;
  }
  const T steps = (x - layout.origin[axis]) * layout.scale[axis];
  if (!(steps > 0)) return 0;
  return steps >= static_cast<T>(layout.largest[axis]) ? layout.largest[axis] : static_cast<std::int32_t>(steps);
}

// The records that rows [0, count) should get, and whether all boxes are valid. `rows` null: the rows themselves.
template <std::size_t D, class T>
PlainCells plain_cells(const FileBoxes<T>& boxes, std::size_t count, bool& valid) {
  PlainCells cells;
  const GridLayout<T>& layout = *boxes.layout;
  valid = true;
  for (std::size_t place = 0; place < count; ++place) {
    const auto row = static_cast<std::ptrdiff_t>(boxes.rows != nullptr ? boxes.rows[place] : place);
    const T *lower = boxes.lower + row * boxes.lower_stride, *upper = boxes.upper + row * boxes.upper_stride;
    std::int32_t from[D], to[D], cell[D];
    bool kept = true;
    for (std::size_t d = 0; d < D; ++d) {
      if (!(lower[d] <= upper[d])) valid = false;
      const T low = lower[d] - boxes.grow, high = upper[d] + boxes.grow;
      kept = kept && (boxes.drop_empty ? low < high : low <= high);
      from[d] = plain_steps(low, layout, d);
      to[d] = plain_steps(high, layout, d);
      cell[d] = from[d] / kCellSteps;
    }
    for (bool more = kept; more;) {
      PlainRecord record{};
      std::size_t number = 0;
      for (std::size_t d = 0; d < D; ++d) {
        const std::int64_t centre = std::int64_t{cell[d]} * kCellSteps + kCellSteps / 2;
        number += static_cast<std::size_t>(cell[d]) * static_cast<std::size_t>(layout.cell_stride[d]);
        record.lower[d] = std::max<std::int16_t>(kBeganBefore, saturated_to_16_bits(from[d] - centre));
        record.negated_upper[d] = saturated_to_16_bits(centre - to[d]);
      }
      record.row = static_cast<std::uint32_t>(place);
      cells[number].push_back(record);
      more = false;
      for (std::size_t d = 0; d < D && !more; ++d) {
        more = cell[d] < to[d] / kCellSteps;
        cell[d] = more ? cell[d] + 1 : from[d] / kCellSteps;
      }
    }
  }
  return cells;
}

template <std::size_t D>
PlainRecord plain_record(const Record<D>& record) {
  PlainRecord plain{};
  for (std::size_t d = 0; d < D; ++d) {
    plain.lower[d] = record.lower[d];
    plain.negated_upper[d] = record.negated_upper[d];
  }
  if constexpr (D < 4)
    plain.row = record.row_low | static_cast<std::uint32_t>(record.row_high) << 16;
  else
    plain.row = record.row;
  return plain;
}

template <class T>
auto file_boxes_of(const Kernels& kernels, std::size_t dimension) {
  return kernels.eight->of<T>().file_boxes[dimension - 1];
}

// A pool that grows whenever a kernel runs out of it, by as little as the kernel needs.
template <std::size_t D>
class GrowingPool {
 public:
  GrowingPool(std::size_t cell_count, int chunk_bits)
      : next_chunk_(1), first_chunk_(cell_count, kNoChunk), slots_(cell_count, 0) {
    view_.used = 1;
    view_.capacity = 1;
    view_.chunk_bits = chunk_bits;
    view_.at_a_time =
        static_cast<std::uint32_t>(std::min(cell_count + (kRecordsAtATime >> chunk_bits), kRecordsAtATime));
    grow(0);
  }
  ChunkPool& view() { return view_; }
  void grow(std::size_t chunks) {
    view_.capacity += static_cast<std::uint32_t>(chunks);
    records_.resize(std::size_t{view_.capacity} << view_.chunk_bits);
    next_chunk_.resize(view_.capacity);
    view_.records = records_.data();
    view_.next_chunk = next_chunk_.data();
    view_.first_chunk = first_chunk_.data();
    view_.slots = slots_.data();
  }
  PlainCells cells() const {
    PlainCells cells;
    for (std::size_t cell = 0; cell < first_chunk_.size(); ++cell)
      for (std::uint32_t chunk = first_chunk_[cell]; chunk != kNoChunk; chunk = next_chunk_[chunk]) {
        const std::size_t full = std::size_t{1} << view_.chunk_bits;
        const bool last = next_chunk_[chunk] == kNoChunk;
        const std::size_t count = last ? ((slots_[cell] - 1) & (full - 1)) + 1 : full;
        for (std::size_t k = 0; k < count; ++k) cells[cell].push_back(plain_record<D>(records_[chunk * full + k]));
      }
    return cells;
  }

 private:
  std::vector<Record<D>> records_;
  std::vector<std::uint32_t> next_chunk_, first_chunk_, slots_;
  ChunkPool view_{};
};

struct FilingCase {
  std::size_t count, layout;
  bool drop_empty, by_rows, invalid, by_quantiles = false;
};

template <std::size_t D, class T>
void check_filing(std::uint64_t seed, const FilingCase& given) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  Random random(seed);
  SceneShape shape;
  GridLayout<T> layout{};
  Segments<T> segments[4];
  for (std::size_t k = 0; k < 4; ++k) layout.cells[k] = k < D ? static_cast<std::int32_t>(1 + random.below(6)) : 1;
  for (std::size_t k = 0; k < D; ++k) {
    shape.map[k].low = -1;
    shape.map[k].width = random.chance(0.1) ? 0 : 10;
    layout.origin[k] = T(-1);
    if (!given.by_quantiles) continue;
    // Some of them equal.
    for (std::size_t at = 0; at <= kSegments; ++at)
      shape.map[k].quantiles.push_back(static_cast<T>(std::floor(100 * random.uniform()) / 8 - 2));
    std::sort(shape.map[k].quantiles.begin(), shape.map[k].quantiles.end());
    segments[k] = segments_of<T>(shape.map[k]);
    layout.segments[k] = &segments[k];
  }
  finish_layout(layout, shape, D);
  // Most boxes are in one cell or reach into the next, some over many cells; some begin or end outside of the scene.
  const std::size_t n = given.count;
  std::vector<T> lower(n * D), upper(n * D);
  for (std::size_t at = 0; at < n * D; ++at) {
    const double low = random.uniform() * 12 - 2, size = random.uniform() * (random.chance(0.05) ? 12 : 1.5);
    lower[at] = static_cast<T>(random.chance(0.3) ? std::floor(low) : low);
    upper[at] = random.chance(0.1) ? lower[at] : lower[at] + static_cast<T>(size);
    if (random.chance(0.01)) lower[at] = -kInfinity;
    if (random.chance(0.01)) upper[at] = kInfinity;
    if (random.chance(0.01)) lower[at] = -std::numeric_limits<T>::max();
    if (random.chance(0.01)) upper[at] = std::numeric_limits<T>::max();
  }
  if (given.invalid && n > 0) {
    const std::size_t at = random.below(n * D);
    (random.chance(0.5) ? lower : upper)[at] = std::numeric_limits<T>::quiet_NaN();
    if (random.chance(0.5)) lower[at] = T(1), upper[at] = T(0.5);
  }
  const Boxes<T> boxes(lower, upper, D, given.layout);
  std::vector<std::uint32_t> rows(n);
  for (std::size_t k = 0; k < n; ++k) rows[k] = static_cast<std::uint32_t>(random.below(n));
  const T grow = random.chance(0.5) ? T(0) : static_cast<T>(random.uniform());
  const int chunk_bits = static_cast<int>(random.below(5));
  FileBoxes<T> request{boxes.view.lower,
                       boxes.view.upper,
                       boxes.view.lower_stride,
                       boxes.view.upper_stride,
                       0,
                       n,
                       grow,
                       given.drop_empty,
                       true,
                       &layout,
                       nullptr,
                       given.by_rows ? rows.data() : nullptr};
  bool valid = true;
  const PlainCells expected = plain_cells<D>(request, n, valid);
  for_each_level([&](const Kernels& kernels) {
    current_case() = std::string(kernels.level) + (sizeof(T) == 4 ? ", float" : ", double") + ", D " +
                     std::to_string(D) + ", " + std::to_string(n) + " boxes, layout " + std::to_string(given.layout) +
                     ", chunks of 2^" + std::to_string(chunk_bits) + ", seed " + std::to_string(seed);
    GrowingPool<D> pool(layout.cell_count, chunk_bits);
    FileBoxes<T> work = request;
    work.pool = &pool.view();
    // As the grid does it: a kernel stops where the pool may not do, and goes on from there.
    for (std::size_t stops = 0; (work.begin = file_boxes_of<T>(kernels, D)(work)) < n; ++stops) {
      CHECK(stops < 100 * n + 100);
      pool.grow(1 + (stops % 3) * pool.view().at_a_time + (stops > 20 ? layout.cell_count : 0));
    }
    CHECK(work.valid == valid);
    // What the boxes of an invalid set are filed as does not matter: the call ends there.
    if (valid) CHECK(pool.cells() == expected);
  });
}

template <std::size_t D, class T>
void check_all_filing(std::uint64_t seed) {
  // Two boxes a step, 128 a batch, and never the last one of a call: counts on both sides of each.
  for (const std::size_t count : {0u, 1u, 2u, 3u, 4u, 5u, 127u, 128u, 129u, 130u, 131u, 257u, 600u})
    for (std::size_t layout = 0; layout < 3; ++layout)
      check_filing<D, T>(seed * 1000 + count, {count, layout, false, false, false});
  for (const bool drop_empty : {false, true})
    for (const bool by_rows : {false, true})
      for (const bool invalid : {false, true})
        for (const bool by_quantiles : {false, true})
          check_filing<D, T>(seed, {150, seed % 3, drop_empty, by_rows, invalid, by_quantiles});
}

// --- One cell: its records sorted, and each tested against the run behind it.

template <std::size_t D>
std::vector<Record<D>> random_records(Random& random, std::size_t count) {
  std::vector<Record<D>> records(count);
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t d = 0; d < D; ++d) {
      // Coarse, so that equal numbers, which leave a pair undecided, are frequent; and the ends of the range.
      const int low = random.chance(0.2) ? kBeganBefore : static_cast<int>(random.below(40)) * 800 - 16384;
      const int high = random.chance(0.1) ? 32768 : low + static_cast<int>(random.below(6)) * 800;
      records[k].lower[d] = static_cast<std::int16_t>(low);
      records[k].negated_upper[d] = static_cast<std::int16_t>(-std::min(high, 32768));
    }
    const auto row = static_cast<std::uint32_t>(random.bits());
    if constexpr (D < 4) {
      records[k].row_low = static_cast<std::uint16_t>(row & 0xffff);
      records[k].row_high = static_cast<std::uint16_t>(row >> 16);
    } else {
      records[k].row = row;
    }
  }
  return records;
}

// The records as separate runs, some of them of a single record.
template <std::size_t D>
std::vector<RecordRun> cut_at_random(Random& random, const std::vector<Record<D>>& records) {
  std::vector<RecordRun> runs;
  for (std::size_t at = 0; at < records.size();) {
    const std::size_t count = 1 + random.below(std::min<std::size_t>(records.size() - at, 20));
    runs.push_back({records.data() + at, count});
    at += count;
  }
  return runs;
}

template <std::size_t D>
std::vector<CandidateBlock> swept(const Kernels& kernels, SweepRequest request) {
  std::vector<CandidateBlock> all, blocks(request.capacity);
  const auto sweep = request.a == request.b ? kernels.sweep_behind[D - 1] : kernels.sweep_across[D - 1];
  while (request.begin < request.end) {
    const std::size_t used = sweep(request, blocks.data());
    CHECK(used <= request.capacity);
    CHECK(used + 3 > request.capacity || request.begin >= request.end);
    all.insert(all.end(), blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(used));
  }
  return all;
}

// Every pair of records of a and b that a sweep tests, by the definition of the test.
template <std::size_t D>
void check_sweep(const Kernels& kernels, const SweepRequest& request) {
  const CellArrays &a = *request.a, &b = *request.b;
  const std::int16_t *begin_a = a.lower[request.sweep_axis], *begin_b = b.lower[request.sweep_axis];
  const auto bucket = [&](std::int16_t x) { return (x - request.buckets->lowest) >> request.buckets->shift; };
  // Of another set: whether the record finds the candidate, and not the candidate the record.
  const auto begins_behind = [&](std::size_t i, std::size_t j) {
    return bucket(begin_b[j]) >= bucket(begin_a[i]) + (request.skip_own_bucket ? 1 : 0);
  };
  std::vector<std::uint8_t> found(a.count * std::max<std::size_t>(b.count, 1), 0);
  for (const CandidateBlock& block : swept<D>(kernels, request))
    for (std::size_t lane = 0; lane < kBlockLanes; ++lane) {
      const std::size_t i = (block.record & ~kDiagonal) + ((block.record & kDiagonal) != 0 ? lane : 0);
      const std::size_t j = block.candidate + lane;
      CHECK(i < a.count + kCellPadding && j < b.count + kCellPadding);
      int worst = -100000;
      for (std::size_t d = 0; d < D; ++d) {
        worst = std::max(worst, a.lower[d][i] + b.negated_upper[d][j]);
        worst = std::max(worst, a.negated_upper[d][i] + b.lower[d][j]);
      }
      const bool elsewhere =
          (a.began_before[i] & b.began_before[j]) != 0 || (request.a != request.b && !begins_behind(i, j));
      CHECK((block.sure >> lane & 1u) == (worst < 0 && !elsewhere));
      CHECK((block.possible >> lane & 1u) == (worst <= 0 && !elsewhere));
      if ((block.possible >> lane & 1u) == 0) continue;
      CHECK(i >= request.begin && i < request.end && j < b.count);
      ++found[i * b.count + j];
    }
  // Nothing that may overlap is left out, and nothing is found twice.
  for (std::size_t i = request.begin; i < request.end; ++i)
    for (std::size_t j = 0; j < b.count; ++j) {
      bool expected = (a.began_before[i] & b.began_before[j]) == 0;
      for (std::size_t d = 0; d < D; ++d)
        expected &= a.lower[d][i] + b.negated_upper[d][j] <= 0 && a.negated_upper[d][i] + b.lower[d][j] <= 0;
      if (request.a == request.b)
        expected &= j > i;
      else
        expected &= begins_behind(i, j);
      CHECK(found[i * b.count + j] == (expected ? 1 : 0));
    }
}

template <std::size_t D>
void check_cell(std::uint64_t seed, std::size_t count, std::size_t other_count) {
  Random random(seed);
  const std::vector<Record<D>> records[2] = {random_records<D>(random, count), random_records<D>(random, other_count)};
  const std::vector<RecordRun> runs[2] = {cut_at_random(random, records[0]), cut_at_random(random, records[1])};
  const std::size_t axis = random.below(D);
  std::int32_t low = 32767, high = -32768;
  for (const auto& set : records)
    for (const Record<D>& record : set) {
      low = std::min<std::int32_t>(low, record.lower[axis]);
      high = std::max<std::int32_t>(high, record.lower[axis]);
    }
  if (low > high) return;
  Buckets buckets{low, static_cast<std::int32_t>(random.below(12)), 0};
  buckets.count = static_cast<std::uint32_t>((high - low) >> buckets.shift) + 1;
  for_each_level([&](const Kernels& kernels) {
    current_case() = std::string(kernels.level) + ", D " + std::to_string(D) + ", " + std::to_string(count) + " and " +
                     std::to_string(other_count) + " records, seed " + std::to_string(seed);
    std::int32_t lowest = 32767, highest = -32768;
    CellRoom room[2];
    for (std::size_t s = 0; s < 2; ++s) {
      const CellRecords cell{runs[s].data(), runs[s].size(), records[s].size()};
      kernels.sweep_range[D - 1](cell, axis, &lowest, &highest);
      std::vector<Record<D>> sorted(records[s].size() + 1);
      room[s].prepare(records[s].size(), D, buckets.count);
      kernels.sort_cell[D - 1](cell, axis, buckets, sorted.data(), room[s].arrays);
      // A stable sort by bucket, spread out.
      std::vector<Record<D>> expected = records[s];
      const auto bucket = [&](const Record<D>& record) { return (record.lower[axis] - low) >> buckets.shift; };
      std::stable_sort(expected.begin(), expected.end(),
                       [&](const Record<D>& p, const Record<D>& q) { return bucket(p) < bucket(q); });
      const CellArrays& arrays = room[s].arrays;
      for (std::size_t k = 0; k < expected.size(); ++k) {
        const PlainRecord record = plain_record<D>(expected[k]);
        unsigned before = 0;
        for (std::size_t d = 0; d < D; ++d) {
          CHECK(arrays.lower[d][k] == record.lower[d]);
          CHECK(arrays.negated_upper[d][k] == record.negated_upper[d]);
          before |= static_cast<unsigned>(record.lower[d] == kBeganBefore) << d;
        }
        CHECK(arrays.began_before[k] == before);
        CHECK(arrays.row[k] == record.row);
      }
      for (std::size_t k = expected.size(); k < expected.size() + kCellPadding; ++k)
        for (std::size_t d = 0; d < D; ++d) CHECK(arrays.lower[d][k] == 32767 && arrays.negated_upper[d][k] == 32767);
      for (std::uint32_t b = 0; b < buckets.count; ++b)
        CHECK(arrays.bucket_end[b] ==
              static_cast<std::size_t>(std::count_if(expected.begin(), expected.end(), [&](const Record<D>& record) {
                return bucket(record) <= static_cast<std::int32_t>(b);
              })));
    }
    CHECK(lowest == low && highest == high);
    const CellArrays &a = room[0].arrays, &b = room[1].arrays;
    // Blocks for a part of a record's run only, for one record, and for all of them at once.
    const auto part = [&](std::size_t share) { return a.count * share / 5 / kBlockLanes * kBlockLanes; };
    for (const std::size_t capacity : {3u, 4u, 128u}) {
      check_sweep<D>(kernels, {&a, &a, &buckets, axis, false, 0, a.count, capacity});
      check_sweep<D>(kernels, {&a, &a, &buckets, axis, false, part(1), part(3), capacity});
      check_sweep<D>(kernels, {&a, &b, &buckets, axis, false, 0, a.count, capacity});
      check_sweep<D>(kernels, {&b, &a, &buckets, axis, true, 0, b.count, capacity});
    }
  });
}

// --- Hits: counted, listed and named.

void check_hits(std::uint64_t seed) {
  Random random(seed);
  const std::size_t count = random.below(200), rows = 5000;
  std::vector<CandidateBlock> blocks(count);
  std::vector<std::uint32_t> a(rows), b(rows);
  for (std::size_t k = 0; k < rows; ++k) {
    a[k] = static_cast<std::uint32_t>(random.below(1u << 31));
    b[k] = static_cast<std::uint32_t>(random.below(1u << 31));
  }
  std::vector<std::uint64_t> expected;
  for (std::size_t k = 0; k < count; ++k) {
    const bool diagonal = random.chance(0.5);
    const auto record = static_cast<std::uint32_t>(random.below(rows - 32));
    const auto candidate = static_cast<std::uint32_t>(random.below(rows - 32));
    // None, few, just four, one more, and all.
    const std::size_t kind = random.below(6);
    const std::uint32_t sure = kind == 0   ? 0
                               : kind == 1 ? static_cast<std::uint32_t>(random.bits() & random.bits() & random.bits())
                               : kind == 2 ? 0x80010003u
                               : kind == 3 ? 0x80010013u
                               : kind == 4 ? ~0u
                                           : static_cast<std::uint32_t>(random.bits());
    blocks[k] = {record | (diagonal ? kDiagonal : 0), candidate, sure,
                 sure | static_cast<std::uint32_t>(random.bits())};
    for (std::uint32_t lane = 0; lane < 32; ++lane)
      if ((sure >> lane & 1u) != 0)
        expected.push_back(static_cast<std::uint64_t>(record + (diagonal ? lane : 0)) << 32 | (candidate + lane));
  }
  for_each_level([&](const Kernels& kernels) {
    current_case() = std::string(kernels.level) + ", hits, seed " + std::to_string(seed);
    CHECK(kernels.count_hits(blocks.data(), count) == expected.size());
    std::vector<std::uint64_t> hits(expected.size() + 4);
    CHECK(kernels.list_hits(blocks.data(), count, hits.data()) == expected.size());
    CHECK(std::equal(expected.begin(), expected.end(), hits.begin()));
    for (const bool ordered : {true, false}) {
      std::vector<std::int32_t> first(expected.size() + 1, -7), second(expected.size() + 1, -7);
      kernels.name_rows(expected.data(), expected.size(), a.data(), b.data(), ordered, first.data(), second.data());
      for (std::size_t k = 0; k < expected.size(); ++k) {
        auto p = static_cast<std::int32_t>(a[expected[k] >> 32]);
        auto q = static_cast<std::int32_t>(b[expected[k] & 0xffffffffu]);
        if (ordered && p > q) std::swap(p, q);
        CHECK(first[k] == p && second[k] == q);
      }
      CHECK(first.back() == -7 && second.back() == -7);
    }
  });
}

void check_ranks(std::uint64_t seed) {
  Random random(seed);
  for (std::size_t count = 8; count <= 64; count += 8) {
    std::vector<std::int32_t> keys(count);
    const std::int32_t from = random.chance(0.5) ? std::numeric_limits<std::int32_t>::min() : -30;
    std::iota(keys.begin(), keys.end(), from);
    if (random.chance(0.5)) keys.back() = std::numeric_limits<std::int32_t>::max();
    for (std::size_t k = count; k > 1; --k) std::swap(keys[k - 1], keys[random.below(k)]);
    for_each_level([&](const Kernels& kernels) {
      current_case() = std::string(kernels.level) + ", ranks of " + std::to_string(count);
      alignas(64) std::int32_t given[64], ranks[64];
      std::copy(keys.begin(), keys.end(), given);
      kernels.eight->rank_keys(given, count, ranks);
      for (std::size_t k = 0; k < count; ++k)
        CHECK(ranks[k] == std::count_if(keys.begin(), keys.end(), [&](std::int32_t key) { return key < keys[k]; }));
    });
  }
}

template <std::size_t D>
void check_dimension(std::uint64_t seed) {
  check_all_filing<D, float>(seed);
  check_all_filing<D, double>(seed);
  // Eight records are spread out at a time, 32 tested.
  for (const std::size_t count : {0u, 1u, 2u, 7u, 8u, 9u, 16u, 31u, 32u, 33u, 34u, 65u, 150u, 500u})
    check_cell<D>(seed + count, count, seed % 2 == 0 ? 40 : count + 1);
}

}  // namespace
}  // namespace broadphase::tests

int main(int argc, char** argv) {
  using namespace broadphase::tests;
  for (std::uint64_t seed = 0; seed < rounds(argc, argv, 4); ++seed) {
    check_dimension<1>(seed);
    check_dimension<2>(seed);
    check_dimension<3>(seed);
    check_dimension<4>(seed);
  }
  for (std::uint64_t seed = 0; seed < rounds(argc, argv, 200); ++seed) {
    check_hits(seed);
    check_ranks(seed);
  }
}
