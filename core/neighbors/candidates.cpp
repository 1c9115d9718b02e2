#include "neighbors/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/read_ahead.hpp"

namespace broadphase {

#if defined(__x86_64__) || defined(_M_X64)
namespace avx2 {
extern const NearKernels kNearKernels;
}
namespace avx512 {
extern const NearKernels kNearKernels;
}
#endif

const NearKernels& near_kernels(const char* level) {
#if defined(__x86_64__) || defined(_M_X64)
  const std::string_view name(level);
  if (name == "avx2") return avx2::kNearKernels;
  if (name == "avx512") return avx512::kNearKernels;
#endif
  static_cast<void>(level);
  static constexpr NearKernels kNone;
  return kNone;
}

PlacedPairs placed(const NeighborPairs& pairs, std::size_t points, Interrupt& interrupt) {
  constexpr std::uint32_t kUnnamed = ~std::uint32_t{0};
  PlacedPairs out;
  out.rows.grow(points);
  out.parts.resize(1);
  PlacedHits& hits = out.parts[0];
  hits.room(pairs.size);
  std::vector<std::uint32_t> place(points, kUnnamed);
  std::uint32_t named = 0;
  // In the order in which pairs name them, which keeps together what is near in space.
  const auto place_of = [&](std::size_t row) {
    if (place[row] == kUnnamed) {
      out.rows[named] = static_cast<std::int32_t>(row);
      place[row] = named++;
    }
    return place[row];
  };
  const std::int32_t *first = pairs.first(), *second = pairs.second();
  in_stretches(pairs.size, interrupt, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      hits.own[k] = place_of(static_cast<std::size_t>(first[k]));
      hits.others[k] = place_of(static_cast<std::size_t>(second[k]));
      const std::int32_t* numbers = pairs.shifts.get() + k * pairs.dimension;
      const Shift shift{numbers[0], numbers[1], pairs.dimension > 2 ? numbers[2] : 0};
      if (hits.runs.empty() || hits.runs.back().shift != shift) hits.runs.push_back({k, shift});
      hits.runs.back().end = k + 1;
    }
  });
  hits.size = pairs.size;
  for (std::size_t row = 0; row < points; ++row) place_of(row);
  return out;
}

NeighborCandidates::NeighborCandidates(PlacedPairs pairs, bool both, bool sorted, Interrupt& interrupt)
    : rows_(std::move(pairs.rows)), wraps_(std::move(pairs.wraps)), shifts_(2, Shift{}), points_(rows_.size()) {
  const std::int32_t* const rows = rows_.get();
  place_of_row_.grow(points_);
  for (std::size_t k = 0; k < points_; ++k)
    place_of_row_[static_cast<std::size_t>(rows[k])] = static_cast<std::uint32_t>(k);
  // Calls use(from, to, number of its shift) for the entries of lists.
  std::map<Shift, std::uint32_t> numbers{{Shift{}, 0}};
  const auto each = [&](const auto& use) {
    for (const PlacedHits& part : pairs.parts) {
      std::size_t begin = 0;
      for (const PlacedHits::Run& run : part.runs) {
        const auto [found, is_new] = numbers.try_emplace(run.shift, static_cast<std::uint32_t>(shifts_.size()));
        if (is_new) {
          shifts_.push_back(run.shift);
          shifts_.push_back({-run.shift[0], -run.shift[1], -run.shift[2]});
        }
        const std::uint32_t number = found->second;
        const bool is_negative = run.shift < Shift{};
        for (std::size_t k = begin; k < run.end; ++k) {
          const std::uint32_t own = part.own[k], other = part.others[k];
          if (both) {
            use(own, other, number);
            use(other, own, number ^ 1);
          } else {
            // The lower row comes first; of a point and its own image, so that the shift is positive.
            const bool is_turned = rows[own] > rows[other] || (own == other && is_negative);
            const std::uint32_t difference = is_turned ? own ^ other : 0;
            use(own ^ difference, other ^ difference, number ^ static_cast<std::uint32_t>(is_turned));
          }
        }
        begin = run.end;
      }
      interrupt.check();
    }
  };
  starts_.assign(points_ + 2, 0);
  std::size_t* const starts = starts_.data() + 2;  // one more: they become where lists begin as these are filled
  each([=](std::uint32_t from, std::uint32_t, std::uint32_t) { ++starts[static_cast<std::ptrdiff_t>(from)]; });
  for (std::size_t k = 2; k < starts_.size(); ++k) starts_[k] += starts_[k - 1];
  count_ = starts_.back();
  for (std::size_t k = 0; k < points_; ++k) longest_ = std::max(longest_, starts_[k + 2] - starts_[k + 1]);
  constexpr std::size_t kBehind = 8;  // that a kernel may read
  places_.grow(count_ + kBehind);
  std::uint32_t* const places = places_.get();
  std::fill_n(places + count_, kBehind, 0);
  std::size_t* const next = starts_.data() + 1;
  if (shifts_.size() > 2) {
    shifted_.assign(points_, 0);
    images_.grow(count_ + kBehind);
    std::fill_n(images_.get(), count_ + kBehind, 0);
    std::uint32_t* const images = images_.get();
    std::uint8_t* const shifted = shifted_.data();
    each([=](std::uint32_t from, std::uint32_t to, std::uint32_t number) {
      const std::size_t at = next[from]++;
      places[at] = to;
      if (number < 2) return;
      images[at] = number;
      shifted[from] = 1;
    });
  } else {
    each([=](std::uint32_t from, std::uint32_t to, std::uint32_t) { places[next[from]++] = to; });
  }
  starts_.pop_back();
  if (sorted) sort_lists(interrupt);
}

void NeighborCandidates::sort_lists(Interrupt& interrupt) {
  struct Entry {
    std::int32_t row;
    std::uint32_t place, image;
  };
  std::vector<Entry> list;
  in_stretches(points_, interrupt, [&](std::size_t first, std::size_t last) {
    for (std::size_t at = first; at < last; ++at) {
      const std::size_t begin = starts_[at], count = starts_[at + 1] - begin;
      const bool is_shifted = !shifted_.empty() && shifted_[at] != 0;
      list.resize(count);
      for (std::size_t k = 0; k < count; ++k) {
        const std::uint32_t place = places_[begin + k];
        list[k] = {rows_[place], place, is_shifted ? images_[begin + k] : 0};
      }
      std::sort(list.begin(), list.end(), [&](const Entry& one, const Entry& two) {
        return one.row != two.row ? one.row < two.row : shifts_[one.image] < shifts_[two.image];
      });
      for (std::size_t k = 0; k < count; ++k) {
        places_[begin + k] = list[k].place;
        if (is_shifted) images_[begin + k] = list[k].image;
      }
    }
  });
}

// Looks at candidates where points are now.
class NearLook {
 public:
  NearLook(const NeighborCandidates& candidates, const NearQuery& query, const NearKernels& kernels, unsigned workers,
           Interrupt& interrupt)
      : candidates_(candidates),
        query_(query),
        by_species_(query.rules != nullptr && query.rules->by_species()),
        kernels_(kernels) {
    const std::size_t count = candidates.points_;
    limit_ = largest_square(query.cutoff);
    if (by_species_) limits_ = query.rules->squares.data(), species_ = query.rules->species;
    points_.grow(count);
    in_stretches_on_threads(count, workers, interrupt, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) {
        constexpr std::size_t kAhead = 16;
        if (k + kAhead < end)
          read_ahead(query.points + static_cast<std::size_t>(candidates.rows_[k + kAhead]) * query.dimension);
        const std::int32_t row = candidates.rows_[k];
        const double* point = query.points + static_cast<std::size_t>(row) * query.dimension;
        const std::int32_t kind = by_species_ ? query.rules->kinds[static_cast<std::size_t>(row)] : 0;
        points_[k] = {point[0], point[1], query.dimension > 2 ? point[2] : 0.0, row, static_cast<std::uint32_t>(kind)};
      }
    });
    mark();
    for (const Shift& shift : candidates.shifts_) {
      const Vector3 moved = query.cells.is_one ? query.cells.cells->translation(shift) : Vector3{};
      translations_.push_back({moved[0], moved[1], moved[2], 0.0});
    }
  }

  NeighborLists run(unsigned workers, Interrupt& interrupt) const {
    const std::size_t count = candidates_.points_;
    NeighborLists lists;
    NeighborPairs& out = lists.entries;
    out = NeighborPairs(query_.dimension, query_.distances, query_.vectors, query_.shifts);
    if (query_.by_point) lists.offsets.assign(count + 1, 0);
    std::int64_t* const offsets = query_.by_point ? lists.offsets.data() + 1 : nullptr;
    // So many lists are a task of some 2^15 candidates.
    const std::size_t each = std::clamp<std::size_t>((count << 15) / std::max<std::size_t>(candidates_.count_, 1), 16,
                                                     std::size_t{1} << 14),
                      tasks = (count + each - 1) / each;
    const auto in_task = [&](std::size_t task, const auto& use) {
      use(task * each, std::min(count, (task + 1) * each));
    };
    if (workers <= 1 || tasks <= 1) {
      out.room(candidates_.count_ + 1);
      Waiting waiting(candidates_.longest_, query_.shifts);
      for (std::size_t task = 0; task < tasks; ++task) {
        in_task(task, [&](std::size_t begin, std::size_t end) {
          out.size = write(begin, end, out.size, out, offsets, waiting);
        });
        interrupt.check();
      }
      return lists;
    }
    // Counted first, so that each task knows where its own begin.
    std::vector<std::size_t> target(tasks + 1, 0);
    for_each_task(tasks, workers, interrupt, [&](unsigned, std::size_t task) {
      in_task(task, [&](std::size_t begin, std::size_t end) {
        for (std::size_t slot = begin; slot < end; ++slot) target[task + 1] += count_near(place_of(slot));
      });
    });
    for (std::size_t task = 0; task < tasks; ++task) target[task + 1] += target[task];
    out.room(target.back() + 1);
    out.size = target.back();
    std::vector<Waiting> waiting;
    for (unsigned worker = 0; worker < workers; ++worker) waiting.emplace_back(candidates_.longest_, query_.shifts);
    for_each_task(tasks, workers, interrupt, [&](unsigned worker, std::size_t task) {
      in_task(task, [&](std::size_t begin, std::size_t end) {
        write(begin, end, target[task], out, offsets, waiting[worker]);
      });
    });
    return lists;
  }

 private:
  // The mark of a place is its species and, above it, a number that tells points apart which were moved by different
  // lattice vectors. A table of 2^20 species would need terabytes.
  using Place = NearPlace;
  static constexpr int kKindBits = 20;
  static constexpr std::uint32_t kMostMarks = (1u << (32 - kKindBits)) - 1;

  // Entries that wait in a near cache until they are some hundreds.
  struct Waiting {
    static constexpr std::size_t kMany = 512, kBehind = 8;

    explicit Waiting(std::size_t longest_list, bool has_shifts) {
      const std::size_t size = kMany + longest_list + kBehind;
      numbers.grow(4 * size);
      rows.grow(2 * size);
      if (has_shifts) shifts.grow(size);
      columns = {numbers.get(), numbers.get() + size, numbers.get() + 2 * size, numbers.get() + 3 * size,
                 rows.get(),    rows.get() + size};
    }
    PlainArray<double> numbers;
    PlainArray<std::int32_t> rows;
    PlainArray<Shift> shifts;
    NearColumns columns{};
    std::size_t size = 0;
  };

  std::size_t place_of(std::size_t slot) const { return query_.by_point ? candidates_.place_of_row_[slot] : slot; }

  void mark() {
    if (candidates_.wraps_.empty() && query_.jump_count == 0) return;
    wraps_ = candidates_.wraps_;
    wraps_.resize(candidates_.points_, Shift{});
    for (std::size_t k = 0; k < query_.jump_count; ++k) {
      const Jump& jump = query_.jumps[k];
      Shift& wrap = wraps_[candidates_.place_of_row_[static_cast<std::size_t>(jump.row)]];
      for (std::size_t axis = 0; axis < 3; ++axis) wrap[axis] += jump.shift[axis];
    }
    std::map<Shift, std::uint32_t> marks{{Shift{}, 0}};
    Shift last{};
    std::uint32_t mark_of_last = 0;
    for (std::size_t k = 0; k < wraps_.size(); ++k) {
      if (wraps_[k] != last) {
        last = wraps_[k];
        mark_of_last = marks.try_emplace(last, static_cast<std::uint32_t>(marks.size())).first->second;
        are_many_ = are_many_ || mark_of_last > kMostMarks;
      }
      points_[k].mark |= std::min(mark_of_last, kMostMarks) << kKindBits;
    }
  }

  bool is_near(const Place& from, const Place& to, double square) const {
    if (!by_species_) return square <= limit_;
    constexpr std::uint32_t kMask = (1u << kKindBits) - 1;
    return square <= limits_[(from.mark & kMask) * species_ + (to.mark & kMask)];
  }

  // Calls use(to, shift, vector, square) for the list of a place, whatever its shifts are.
  template <class Use>
  void each(std::size_t at, const Use& use) const {
    const Place from = points_[at];
    const bool is_shifted = !candidates_.shifted_.empty() && candidates_.shifted_[at] != 0;
    const Cell& cell = query_.cells.of(static_cast<std::size_t>(from.row));
    for (std::size_t k = candidates_.starts_[at]; k < candidates_.starts_[at + 1]; ++k) {
      const std::uint32_t place = candidates_.places_[k];
      const Place& to = points_[place];
      Vector3 way{to.x - from.x, to.y - from.y, to.z - from.z};
      const std::uint32_t image = is_shifted ? candidates_.images_[k] : 0;
      Shift shift = candidates_.shifts_[image];
      const bool is_moved = are_many_ || (from.mark ^ to.mark) >> kKindBits != 0;
      if (!is_moved && query_.cells.is_one) {
        const NearTranslation& translation = translations_[image];
        way[0] += translation.x, way[1] += translation.y, way[2] += translation.z;
      } else {
        if (is_moved) {
          const Shift &own = wraps_[at], &other = wraps_[place];
          for (std::size_t axis = 0; axis < 3; ++axis) shift[axis] += own[axis] - other[axis];
        }
        if ((shift[0] | shift[1] | shift[2]) != 0)
          for (std::size_t axis = 0; axis < 3; ++axis) way[axis] += cell.along(axis, shift[0], shift[1], shift[2]);
      }
      use(from, to, shift, way, dot(way, way));
    }
  }

  std::size_t count_near(std::size_t at) const {
    std::size_t count = 0;
    each(at, [&](const Place& from, const Place& to, const Shift&, const Vector3&, double square) {
      count += is_near(from, to, square) ? 1 : 0;
    });
    return count;
  }

  // Writes the entries of the lists [begin, end) from entry `size` on. Returns where they end.
  std::size_t write(std::size_t begin, std::size_t end, std::size_t size, NeighborPairs& out, std::int64_t* offsets,
                    Waiting& waiting) const {
    for (std::size_t slot = begin; slot < end; ++slot) {
      if (query_.by_point) ask_ahead(slot, end);
      const std::size_t at = place_of(slot);
      waiting.size = add_list(at, slot + 1 < end ? place_of(slot + 1) : at, waiting);
      const std::size_t last = size + waiting.size;
      if (offsets != nullptr) offsets[slot] = static_cast<std::int64_t>(last);
      if (waiting.size < Waiting::kMany && slot + 1 < end) continue;
      write_waiting(size, out, waiting);
      size = last;
      waiting.size = 0;
    }
    return size;
  }

  // Rows are in no order that a cache could follow: asks for the lists of the next ones.
  void ask_ahead(std::size_t slot, std::size_t end) const {
    constexpr std::size_t kStart = 12, kList = 6, kLine = 64 / sizeof(std::uint32_t), kMostLines = 6;
    if (slot + kStart < end) read_ahead(candidates_.starts_.data() + place_of(slot + kStart));
    if (slot + kList >= end) return;
    const std::size_t at = place_of(slot + kList), first = candidates_.starts_[at], last = candidates_.starts_[at + 1];
    read_ahead(points_.get() + at);
    for (std::size_t k = first; k < std::min(last, first + kMostLines * kLine); k += kLine)
      read_ahead(candidates_.places_.get() + k);
    if (candidates_.shifted_.empty() || candidates_.shifted_[at] == 0) return;
    for (std::size_t k = first; k < std::min(last, first + kMostLines * kLine); k += kLine)
      read_ahead(candidates_.images_.get() + k);
  }

  // Adds those of a list that are near. Returns where they end.
  std::size_t add_list(std::size_t at, std::size_t at_next, Waiting& waiting) const {
    const std::vector<std::size_t>& starts = candidates_.starts_;
    const std::uint32_t* const places = candidates_.places_.get();
    const bool is_shifted = !candidates_.shifted_.empty() && candidates_.shifted_[at] != 0;
    const std::size_t size = waiting.size;
    if (!are_many_ && !by_species_ && !(is_shifted && (query_.shifts || !query_.cells.is_one))) {
      NearList list{points_.get(),
                    places + starts[at],
                    translations_.data(),
                    is_shifted ? candidates_.images_.get() + starts[at] : nullptr,
                    starts[at + 1] - starts[at],
                    static_cast<std::uint32_t>(at),
                    limit_,
                    places + starts[at_next],
                    query_.by_point ? starts[at_next + 1] - starts[at_next] : 0,
                    0};
      const std::size_t after = kernels_.list != nullptr ? kernels_.list(list, waiting.columns, size)
                                                         : add_one_by_one(list, waiting.columns, size);
      if (list.marks >> kKindBits == 0) {
        if (query_.shifts) std::fill(waiting.shifts.get() + size, waiting.shifts.get() + after, Shift{});
        return after;
      }
    }
    const NearColumns columns = waiting.columns;
    Shift* const shifts = query_.shifts ? waiting.shifts.get() : nullptr;
    std::size_t after = size;
    each(at, [&](const Place& from, const Place& to, const Shift& shift, const Vector3& way, double square) {
      columns.x[after] = way[0], columns.y[after] = way[1], columns.z[after] = way[2];
      columns.squares[after] = square;
      columns.first[after] = from.row, columns.second[after] = to.row;
      if (shifts != nullptr) shifts[after] = shift;
      after += is_near(from, to, square) ? 1 : 0;
    });
    return after;
  }

  static std::size_t add_one_by_one(NearList& list, const NearColumns& columns, std::size_t size) {
    const NearColumns to = columns;
    const NearPlace from = list.places[list.from];
    const double limit = list.limit;
    std::uint32_t differ = 0;
    for (std::size_t k = 0; k < list.count; ++k) {
      const NearPlace& other = list.places[list.list[k]];
      double x = other.x - from.x, y = other.y - from.y, z = other.z - from.z;
      if (list.images != nullptr) {
        const NearTranslation& translation = list.translations[list.images[k]];
        x += translation.x, y += translation.y, z += translation.z;
      }
      const double square = x * x + y * y + z * z;
      differ |= from.mark ^ other.mark;
      to.x[size] = x, to.y[size] = y, to.z[size] = z;
      to.squares[size] = square;
      to.first[size] = from.row, to.second[size] = other.row;
      size += square <= limit ? 1 : 0;
    }
    list.marks = differ;
    return size;
  }

  void write_waiting(std::size_t to, NeighborPairs& out, const Waiting& waiting) const {
    const std::size_t count = waiting.size, dimension = out.dimension;
    const NearColumns& columns = waiting.columns;
    std::copy(columns.first, columns.first + count, out.first() + to);
    std::copy(columns.second, columns.second + count, out.second() + to);
    double* const distances = query_.distances ? out.distances.get() + to : nullptr;
    double* const vectors = query_.vectors ? out.vectors.get() + to * dimension : nullptr;
    if (kernels_.write != nullptr && dimension > 2) {
      kernels_.write(columns, count, {vectors, distances});
    } else {
      for (std::size_t k = 0; distances != nullptr && k < count; ++k) distances[k] = std::sqrt(columns.squares[k]);
      for (std::size_t k = 0; vectors != nullptr && k < count; ++k) {
        double* const entry = vectors + k * dimension;
        entry[0] = columns.x[k] + 0.0;  // 0 is never negative
        entry[1] = columns.y[k] + 0.0;
        if (dimension > 2) entry[2] = columns.z[k] + 0.0;
      }
    }
    for (std::size_t k = 0; query_.shifts && k < count; ++k)
      std::copy_n(waiting.shifts[k].begin(), dimension, out.shifts.get() + (to + k) * dimension);
  }

  const NeighborCandidates& candidates_;
  const NearQuery& query_;
  bool by_species_, are_many_ = false;
  double limit_ = 0;
  const double* limits_ = nullptr;
  std::size_t species_ = 0;
  PlainArray<Place> points_;
  std::vector<Shift> wraps_;  // of places, where any is moved
  std::vector<NearTranslation> translations_;
  NearKernels kernels_;
};

NeighborLists NeighborCandidates::near(const NearQuery& query, const NearKernels& kernels, unsigned workers,
                                       Interrupt& interrupt) const {
  return NearLook(*this, query, kernels, workers, interrupt).run(workers, interrupt);
}

namespace {

Vector3 times(const Vector3& row, const Matrix3& matrix) {
  Vector3 product{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    product[axis] = (row[0] * matrix[0][axis] + row[1] * matrix[1][axis]) + row[2] * matrix[2][axis];
  return product;
}

}  // namespace

Moved motion_of(const Motion& motion, unsigned workers, Interrupt& interrupt) {
  constexpr std::size_t kTask = std::size_t{1} << 14;
  constexpr double kMostJumps = 1 << 20, kFar = std::numeric_limits<double>::infinity();
  const std::size_t tasks = (motion.count + kTask - 1) / kTask;
  const double most = motion.limit >= 0 ? motion.limit * motion.limit : -1.0;
  struct Part {
    double size = 0, way = 0;
    std::vector<Jump> jumps;
  };
  std::vector<Part> parts(tasks);
  const auto at = [&](const double* points, std::size_t row) {
    const double* from = points + row * motion.dimension;
    return Vector3{from[0], from[1], motion.dimension > 2 ? from[2] : 0.0};
  };
  for_each_task(tasks, std::min<unsigned>(workers, static_cast<unsigned>(std::max<std::size_t>(tasks, 1))), interrupt,
                [&](unsigned, std::size_t task) {
                  Part own;
                  for (std::size_t row = task * kTask; row < std::min(motion.count, (task + 1) * kTask); ++row) {
                    const Vector3 now = at(motion.points, row), before = at(motion.before, row);
                    for (std::size_t axis = 0; axis < 3; ++axis)
                      own.size = std::max({own.size, std::abs(now[axis]), std::abs(before[axis])});
                    Vector3 way = motion.back != nullptr ? times(now, motion.back[motion.cells_before.at(row)]) : now;
                    for (std::size_t axis = 0; axis < 3; ++axis) way[axis] -= before[axis];
                    double square = dot(way, way);
                    if (square > most && motion.inverses != nullptr) {
                      // A point that was put back into the cell has moved by lattice vectors, and by the rest.
                      const std::size_t cell = motion.cells_before.at(row);
                      const Vector3 steps = times(way, motion.inverses[cell]);
                      Shift jump{};
                      for (std::size_t k = 0; k < 3; ++k) {
                        const double number = std::nearbyint(steps[k]);
                        if (std::abs(number) < kMostJumps)
                          jump[k] = static_cast<std::int32_t>(number);
                        else
                          square = kFar;
                      }
                      if (square < kFar && jump != Shift{}) {
                        const Vector3 moved = motion.cells_before.cells[cell].translation(jump);
                        for (std::size_t axis = 0; axis < 3; ++axis) way[axis] -= moved[axis];
                        square = dot(way, way);
                        own.jumps.push_back({static_cast<std::int32_t>(row), jump});
                      }
                    }
                    own.way = std::max(own.way, square);
                  }
                  parts[task] = std::move(own);
                });
  Moved moved;
  double size = 0, way = 0;
  for (const Part& part : parts) {
    size = std::max(size, part.size), way = std::max(way, part.way);
    moved.jumps.insert(moved.jumps.end(), part.jumps.begin(), part.jumps.end());
  }
  const double limit = motion.limit - motion.rounding * size;
  moved.farthest = std::sqrt(way);
  moved.is_little = limit >= 0 && way <= limit * limit;
  return moved;
}

}  // namespace broadphase
