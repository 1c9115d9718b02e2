// A few boxes against many: see few_in_cells.hpp.
#include "grid/few_in_cells.hpp"

#include <atomic>
#include <bit>
#include <cmath>

#include "base/parallel.hpp"
#include "base/read_ahead.hpp"
#include "base/samples.hpp"
#include "base/with_dimension.hpp"
#include "boxes/extent.hpp"
#include "grid/plan.hpp"

namespace broadphase {

namespace {

// The monotone map of an axis. What lies below `low` is in cell 0, and the last cell has what lies above the others: no
// box has a part in them, unless it is far from most of the few. NaN is in cell 0.
template <class T>
inline T place_along(T x, T low, T scale, T last) {
  T at = (x - low) * scale + T(1);
  at = at > T(0) ? at : T(0);
  return at < last ? at : last;
}
template <class T>
inline std::int32_t cell_along(T x, T low, T scale, T last) {
  return static_cast<std::int32_t>(place_along(x, low, scale, last));
}

// Set bits, without the instruction that baseline processors lack.
inline std::uint32_t count_marks(std::uint64_t marks) {
  marks -= marks >> 1 & 0x5555555555555555u;
  marks = (marks & 0x3333333333333333u) + (marks >> 2 & 0x3333333333333333u);
  marks = (marks + (marks >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return static_cast<std::uint32_t>(marks * 0x0101010101010101u >> 56);
}

// Calls use(Dimension<D>()) for two axes or three.
template <class Use>
auto in_plane_or_space(std::size_t dimension, Use&& use) {
  return dimension == 2 ? use(Dimension<2>()) : use(Dimension<3>());
}

// Sets bits [first, last].
inline void mark(std::vector<std::uint64_t>& marks, std::uint32_t first, std::uint32_t last) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  const std::uint64_t begin = kAll << first % 64, end = kAll >> (63 - last % 64);
  if (first / 64 == last / 64) {
    marks[first / 64] |= begin & end;
    return;
  }
  marks[first / 64] |= begin;
  for (std::uint32_t word = first / 64 + 1; word < last / 64; ++word) marks[word] = kAll;
  marks[last / 64] |= end;
}

inline std::size_t words_of(unsigned bits) { return ((std::size_t{1} << bits) + 63) / 64; }

// The number of the block of a cell: without the last bit along each axis.
template <std::size_t D, class Level>
inline std::uint32_t block_of(const Level& level, std::uint32_t cell) {
  std::uint32_t block = (cell & ((1u << level.shift[1]) - 1)) >> 1;
  if constexpr (D > 2) {
    block |= (cell & ((1u << level.shift[2]) - 1)) >> (level.shift[1] + 1) << (level.shift[1] - 1);
    return block | cell >> (level.shift[2] + 1) << (level.shift[2] - 2);
  } else {
    return block | cell >> (level.shift[1] + 1) << (level.shift[1] - 1);
  }
}

// Precondition: the block has a list.
template <class Level>
inline std::uint32_t list_of_block(const Level& level, std::uint32_t block) {
  const std::uint64_t before = (std::uint64_t{1} << block % 64) - 1;
  return level.lists_before[block / 64] + count_marks(level.has_list[block / 64] & before);
}

inline constexpr std::size_t kTogether = 64;  // rows of the many

// Bit k: the box overlaps the one whose corners are lower[d][k] and upper[d][k].
template <std::size_t D, bool Closed, class T>
std::uint64_t hits_of(const T* box, const T (&lower)[D][kTogether], const T (&upper)[D][kTogether]) {
  // Numbers as wide as T, and then bytes: several at a time.
  T meet[kTogether];
  std::fill_n(meet, kTogether, T(1));
  for (std::size_t d = 0; d < D; ++d) {
    const T low = box[d], high = box[D + d];
    for (std::size_t k = 0; k < kTogether; ++k) {
      const T x = lower[d][k], y = upper[d][k];
      meet[k] = (Closed ? x <= high : x < high) ? meet[k] : T(0);
      meet[k] = (Closed ? low <= y : low < y) ? meet[k] : T(0);
      if (!Closed) meet[k] = x < y ? meet[k] : T(0);
    }
  }
  std::uint8_t bytes[kTogether];
  for (std::size_t k = 0; k < kTogether; ++k) bytes[k] = static_cast<std::uint8_t>(static_cast<std::int32_t>(meet[k]));
  std::uint64_t hits = 0;
  for (std::size_t k = 0; k < kTogether; k += 8) {
    // Bit b of the top byte of the product is the last bit of byte b.
    std::uint64_t eight = 0;
    for (std::size_t b = 0; b < 8; ++b) eight |= std::uint64_t{bytes[k + b]} << 8 * b;
    hits |= (eight * 0x0102040810204080u >> 56) << k;
  }
  return hits;
}

// The largest finite numbers of T have no finite difference.
template <class T>
T scale_of(double cells, double width) {
  // A little less, so that the upper end stays in the last cell but one.
  const double scale = cells * 0.999 / width;
  constexpr double kLeast = static_cast<double>(std::numeric_limits<T>::min()),
                   kMost = static_cast<double>(std::numeric_limits<T>::max()) / 4;
  return static_cast<T>(scale > kLeast ? std::min(scale, kMost) : kLeast);
}

}  // namespace

template <class T>
FewCells<T>::FewCells(const Problem<T>& problem, unsigned look) : dimension_(problem.dimension) {
  const bool few_first = problem.first.count < problem.second.count;
  const BoxView<T>&few = few_first ? problem.first : problem.second, &many = few_first ? problem.second : problem.first;
  in_plane_or_space(dimension_,
                    [&]<std::size_t D>(Dimension<D>) { make<D>(few, many, problem.touching, problem.grow, look); });
}

template <class T>
template <std::size_t D>
void FewCells<T>::make(const BoxView<T>& few, const BoxView<T>& many, bool touching, T grow, unsigned look) {
  boxes_.reserve(2 * D * few.count);
  rows_.reserve(few.count);
  for (std::size_t row = 0; row < few.count; ++row) {
    T box[2 * D];
    bool is_valid = true, has_inside = true;
    for (std::size_t d = 0; d < D; ++d) {
      const T lower = few.lower_of(row)[d], upper = few.upper_of(row)[d];
      is_valid &= lower <= upper;
      box[d] = lower - grow;
      box[D + d] = upper + grow;
      has_inside &= box[d] < box[D + d];
    }
    valid_ &= is_valid;
    if (!is_valid || !(touching || has_inside)) continue;
    boxes_.insert(boxes_.end(), box, box + 2 * D);
    rows_.push_back(static_cast<std::int32_t>(row));
  }

  Sample sample;
  const RandomSample taken(many.count, sample_size(many.count) * (look == 0 ? 1 : 8), look);
  for (std::size_t k = 0; k < taken.size(); ++k) {
    T lower[D], upper[D];
    bool is_valid = true;
    for (std::size_t d = 0; d < D; ++d) {
      lower[d] = many.lower_of(taken[k])[d] - grow;
      upper[d] = many.upper_of(taken[k])[d] + grow;
      is_valid &= lower[d] <= upper[d];
    }
    for (std::size_t d = 0; d < D && is_valid; ++d) {
      sample.lower[d].push_back(lower[d]);
      sample.upper[d].push_back(upper[d]);
    }
  }

  // Where sizes end, one level is for all of them, but for a few that are a little larger than those of the sample.
  // Where they do not, the first level is for all but a few long boxes, the last for some that the sample does not
  // show, and others between them, each for boxes so many times as long.
  constexpr double kUsual = 0.97, kMostLonger = 1.5, kLarger = 1.02, kStep = 4, kMostLevels = 3;
  double usual[D], times[D], steps = 0;
  for (std::size_t d = 0; d < D; ++d) {
    std::vector<double> sizes;
    for (std::size_t k = 0; k < sample.size(); ++k)
      if (const T size = sample.upper[d][k] - sample.lower[d][k]; std::isfinite(size))
        sizes.push_back(static_cast<double>(size));
    std::sort(sizes.begin(), sizes.end());
    const double longest = sizes.empty() ? 0 : sizes.back();
    usual[d] = sizes.empty() ? 0 : sizes[static_cast<std::size_t>(kUsual * static_cast<double>(sizes.size() - 1))];
    const double most = static_cast<double>(std::numeric_limits<T>::max());
    times[d] = 1;
    if (longest <= kMostLonger * usual[d]) {
      usual[d] = std::min(kLarger * longest, most);
      continue;
    }
    if (usual[d] <= 0) usual[d] = longest;
    times[d] = std::min(kStep * longest, most) / usual[d];
    steps = std::max(steps, std::ceil(std::log(times[d]) / std::log(kStep)));
  }
  steps = std::min(steps, kMostLevels);
  take_wide_out<D>(usual, sample);
  const auto count = static_cast<std::uint32_t>(rows_.size());
  start_ = {0, count};
  for (std::uint32_t k = 0; k < count; ++k) few_.push_back(k);
  for (double step = 0; step <= steps; ++step) {
    T reach[D];
    for (std::size_t d = 0; d < D; ++d)
      reach[d] = static_cast<T>(step > 0 ? usual[d] * std::pow(times[d], step / steps) : usual[d]);
    add_level<D>(reach, sample, many.count);
  }
  lengthen_lists(D);

  work_.wide = static_cast<double>(wide_rows_.size());
  for (std::size_t k = 0; k < sample.size(); ++k) {
    T lower[D], upper[D];
    for (std::size_t d = 0; d < D; ++d) lower[d] = sample.lower[d][k], upper[d] = sample.upper[d][k];
    const std::uint32_t list = list_of<D>(lower, upper);
    if (list == kNotLong) continue;
    const double share = 1 / static_cast<double>(sample.size());
    work_.listed += share;
    (column_[list] == kNotLong ? work_.tests : work_.long_tests) += share * length(list);
  }
}

// Those that would be on the lists of more than a sixteenth of the many, if these were spread evenly.
template <class T>
template <std::size_t D>
void FewCells<T>::take_wide_out(const double* reach, const Sample& sample) {
  constexpr double kMost = 1.0 / 16;
  double least[D], most[D];
  for (std::size_t d = 0; d < D; ++d) {
    least[d] = std::numeric_limits<double>::infinity();
    most[d] = -least[d];
    for (const T x : sample.lower[d]) {
      if (!std::isfinite(x)) continue;
      least[d] = std::min(least[d], static_cast<double>(x));
      most[d] = std::max(most[d], static_cast<double>(x));
    }
  }
  std::size_t kept = 0;
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    const T* box = boxes_.data() + 2 * D * k;
    double share = 1;
    for (std::size_t d = 0; d < D; ++d) {
      const double low = std::max(least[d], static_cast<double>(box[d]) - reach[d]),
                   high = std::min(most[d], static_cast<double>(box[D + d]));
      if (most[d] > least[d] || !(low <= high)) share *= std::max(0.0, high - low) / (most[d] - least[d]);
    }
    if (share > kMost) {
      wide_boxes_.insert(wide_boxes_.end(), box, box + 2 * D);
      wide_rows_.push_back(rows_[k]);
      continue;
    }
    std::copy_n(box, 2 * D, boxes_.data() + 2 * D * kept);
    rows_[kept++] = rows_[k];
  }
  rows_.resize(kept);
  boxes_.resize(2 * D * kept);
}

template <class T>
template <std::size_t D>
void FewCells<T>::add_level(const T* reach, const Sample& sample, std::size_t many) {
  // Of a cell, to the length of a usual box with the reach: of the first level, which is for nearly all.
  const double edge_of_length = levels_.empty() ? 0.5 : 1;
  constexpr unsigned kLeastBits = 3, kMostBitsAlong = 11;
  const std::size_t count = rows_.size();
  // The bits of so many cells lie in a near cache.
  const unsigned most_bits = count <= 256 ? 17 : 18 + D;
  const std::size_t most_entries = std::max<std::size_t>({16 * count, many / 8, 4096});
  Level level;
  std::copy_n(reach, D, level.reach);

  const auto corners = [&](std::size_t k) { return BoxCorners<T>{&boxes_[2 * D * k], &boxes_[2 * D * k + D]}; };
  const Extent<T> extent = bulk_of<T>(finite_extent<T>(D, count, T(0), corners), D, count, corners);
  const StratifiedSample some(count, 256);
  double width[D];
  for (std::size_t d = 0; d < D; ++d) {
    // Where there are both the few and lower corners of the many.
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const T x : sample.lower[d])
      if (std::isfinite(x))
        least = std::min(least, static_cast<double>(x)), most = std::max(most, static_cast<double>(x));
    const double more = sample.size() > 0 ? 2 * (most - least) / static_cast<double>(sample.size()) : 0;
    double low = static_cast<double>(extent.low[d]) - static_cast<double>(reach[d]),
           high = static_cast<double>(extent.high[d]);
    if (least <= most) low = std::max(low, least - more), high = std::min(high, most + more);
    // Finite and in order: the few may all be infinite, or lie on one side of the many, or be none.
    constexpr double kMost = static_cast<double>(std::numeric_limits<T>::max());
    if (!(low <= high)) low = high = static_cast<double>(extent.low[d]);
    low = std::isfinite(low) ? low : 0;
    // A little less, so that rounding takes no box of the few to the cell below the others.
    low -= std::isfinite(high) ? 0.001 * (high - low) : 0;
    low = std::clamp(low - 4 * std::abs(low) * static_cast<double>(std::numeric_limits<T>::epsilon()), -kMost, kMost);
    level.low[d] = static_cast<T>(low);
    width[d] = std::isfinite(high) ? std::max(0.0, high / 2 - low / 2) : 0;

    std::vector<T> sizes;
    for (std::size_t k = 0; k < some.size(); ++k) {
      const auto [lower, upper] = corners(some[k]);
      if (const T size = upper[d] - lower[d]; std::isfinite(size)) sizes.push_back(size);
    }
    if (!sizes.empty()) std::nth_element(sizes.begin(), sizes.begin() + sizes.size() / 2, sizes.end());
    const double usual = sizes.empty() ? 0 : static_cast<double>(sizes[sizes.size() / 2]);
    const double edge = edge_of_length * (usual + static_cast<double>(reach[d]));
    const double cells = std::min(2 * width[d] / edge + 2, 1e6);  // NaN for points on a point
    level.bits[d] =
        width[d] > 0
            ? static_cast<unsigned>(std::clamp<long>(std::lround(std::log2(cells)) + 1, kLeastBits, kMostBitsAlong))
            : kLeastBits;
  }

  const auto lay_out = [&] {
    unsigned shift = 0;
    for (std::size_t d = 0; d < D; ++d) {
      level.shift[d] = shift;
      shift += level.bits[d];
      level.last[d] = static_cast<T>((1u << level.bits[d]) - 1);
      level.scale[d] = scale_of<T>((static_cast<double>(level.last[d]) - 1) / 2, width[d]);
    }
    return shift;
  };
  // The cells along an axis that the lower corner of a box with the reach can be in, if it meets this box of the few.
  const auto cells_of = [&](std::size_t few, std::size_t d, std::uint32_t& first, std::uint32_t& last) {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    const T *box = &boxes_[2 * D * few], reach_above = std::nextafter(level.reach[d], kInfinity);
    const T from = std::nextafter(box[d] - reach_above, -kInfinity);
    first = static_cast<std::uint32_t>(cell_along(from, level.low[d], level.scale[d], level.last[d]));
    last = static_cast<std::uint32_t>(cell_along(box[D + d], level.low[d], level.scale[d], level.last[d]));
  };
  // Entries of all lists, by some of the boxes; and the axis along which a box covers most blocks.
  const auto entries = [&](std::size_t& longest) {
    double all = 0, along[D] = {};
    for (std::size_t k = 0; k < some.size(); ++k) {
      double product = 1;
      for (std::size_t d = 0; d < D; ++d) {
        std::uint32_t first, last;
        cells_of(some[k], d, first, last);
        const double blocks = last / 2 - first / 2 + 1;
        product *= blocks;
        if (level.bits[d] > kLeastBits) along[d] += blocks;
      }
      all += product;
    }
    longest = static_cast<std::size_t>(std::max_element(along, along + D) - along);
    return all / static_cast<double>(some.size()) * static_cast<double>(count);
  };
  std::vector<std::uint32_t> blocks, count_of;
  for (unsigned all_bits = lay_out(); count > 0;) {
    std::size_t longest = 0;
    if (all_bits > most_bits || entries(longest) > static_cast<double>(most_entries)) {
      if (all_bits > most_bits)
        longest = static_cast<std::size_t>(std::max_element(level.bits, level.bits + D) - level.bits);
      if (level.bits[longest] > kLeastBits) {
        --level.bits[longest];
        all_bits = lay_out();
        continue;
      }
    }
    // Of all: the sample may not show a few wide ones.
    blocks.clear();
    count_of.clear();
    bool are_few = true;
    for (std::size_t k = 0; k < count && are_few; ++k) {
      std::uint32_t first[3] = {}, last[3] = {};
      for (std::size_t d = 0; d < D; ++d) cells_of(k, d, first[d], last[d]);
      const std::size_t before = blocks.size();
      for (std::uint32_t z = first[2] / 2; z <= last[2] / 2; ++z)
        for (std::uint32_t y = first[1] / 2; y <= last[1] / 2; ++y) {
          const std::uint32_t at =
              block_of<D>(level, (D > 2 ? 2 * z << level.shift[D - 1] : 0) | 2 * y << level.shift[1]);
          for (std::uint32_t x = first[0] / 2; x <= last[0] / 2; ++x) blocks.push_back(at | x);
        }
      count_of.push_back(static_cast<std::uint32_t>(blocks.size() - before));
      are_few = blocks.size() <= 4 * most_entries || all_bits == kLeastBits * D;
    }
    if (are_few) break;
    longest = static_cast<std::size_t>(std::max_element(level.bits, level.bits + D) - level.bits);
    --level.bits[longest];
    all_bits = lay_out();
  }

  const unsigned all_bits = lay_out();
  level.marks.assign(words_of(all_bits), 0);
  for (std::size_t k = 0; k < count; ++k) {
    std::uint32_t first[3] = {}, last[3] = {};
    for (std::size_t d = 0; d < D; ++d) cells_of(k, d, first[d], last[d]);
    for (std::uint32_t z = first[2]; z <= last[2]; ++z)
      for (std::uint32_t y = first[1]; y <= last[1]; ++y) {
        const std::uint32_t at = (D > 2 ? z << level.shift[D - 1] : 0) | y << level.shift[1];
        mark(level.marks, at | first[0], at | last[0]);
      }
  }
  level.has_list.assign(words_of(all_bits - unsigned{D}), 0);
  for (const std::uint32_t block : blocks) mark(level.has_list, block, block);
  auto lists = static_cast<std::uint32_t>(start_.size() - 1);
  const std::uint32_t first_list = lists;
  level.lists_before.reserve(level.has_list.size());
  for (const std::uint64_t marks : level.has_list) {
    level.lists_before.push_back(lists);
    lists += count_marks(marks);
  }
  // Where the lists end, then begin: each entry goes to the end of its list, the last box first.
  const std::uint32_t begin = start_.back();
  start_.resize(lists + 1, 0);
  for (std::uint32_t& block : blocks) {
    block = list_of_block(level, block);
    ++start_[block + 1];
  }
  for (std::uint32_t list = first_list; list < lists; ++list) start_[list + 1] += start_[list];
  few_.resize(begin + blocks.size());
  std::vector<std::uint32_t> to(start_.begin() + first_list, start_.end());
  std::size_t next = 0;
  for (std::uint32_t k = 0; k < count; ++k)
    for (std::uint32_t entry = 0; entry < count_of[k]; ++entry, ++next) few_[to[blocks[next] - first_list]++] = k;
  levels_.push_back(std::move(level));
}

// Copies the boxes of long lists into columns.
template <class T>
void FewCells<T>::lengthen_lists(std::size_t dimension) {
  std::size_t all = 0;
  column_.assign(start_.size() - 1, kNotLong);
  for (std::uint32_t list = 0; list < column_.size(); ++list) {
    if (length(list) < kLong) continue;
    column_[list] = static_cast<std::uint32_t>(all);
    all += length(list);
  }
  if (all == 0) return;
  columns_ = BoxColumns<T>(all, dimension);
  for (std::size_t list = 0; list < column_.size(); ++list) {
    if (column_[list] == kNotLong) continue;
    for (std::uint32_t entry = start_[list], at = column_[list]; entry < start_[list + 1]; ++entry, ++at)
      for (std::size_t d = 0; d < dimension; ++d) {
        columns_.lower(d)[at] = boxes_[2 * dimension * few_[entry] + d];
        columns_.upper(d)[at] = boxes_[2 * dimension * few_[entry] + dimension + d];
      }
  }
}

// The list of a marked cell; kNotLong of another.
template <class T>
template <std::size_t D>
std::uint32_t FewCells<T>::list_in(const Level& level, std::uint32_t cell) {
  return (level.marks[cell / 64] >> cell % 64 & 1) != 0 ? list_of_block(level, block_of<D>(level, cell)) : kNotLong;
}

// By the first level that is for such a box.
template <class T>
template <std::size_t D>
std::uint32_t FewCells<T>::list_of(const T* lower, const T* upper) const {
  for (const Level& level : levels_) {
    std::uint32_t cell = 0;
    bool fits = true;
    for (std::size_t d = 0; d < D; ++d) {
      fits &= upper[d] - lower[d] <= level.reach[d];  // false where both are the same infinity
      const std::int32_t along = cell_along(lower[d], level.low[d], level.scale[d], level.last[d]);
      cell |= static_cast<std::uint32_t>(along) << level.shift[d];
    }
    if (fits) return list_in<D>(level, cell);
  }
  return kListOfAll;
}

template <class T>
FewInCells<T>::FewInCells(const Problem<T>& problem, const Preparation& with)
    : cells_(std::static_pointer_cast<const FewCells<T>>(with.plan->few)),
      dimension_(problem.dimension),
      touching_(problem.touching),
      few_first_(problem.first.count < problem.second.count),
      grow_(problem.grow),
      overlap_(overlap_kernels<T>(with.kernels, problem.touching).run[problem.dimension - 1]) {
  many_ = few_first_ ? problem.second : problem.first;
  if (!cells_->valid_) throw InvalidBoxes();
  stretches_.resize((many_.count + kStretch - 1) / kStretch);
  std::vector<PlainArray<Listed>> room(std::max(1u, with.workers));
  std::atomic<bool> valid{true};
  std::atomic<std::uint64_t> tests{0};
  for_each_task(stretches_.size(), with.workers, with.interrupt, [&](unsigned worker, std::size_t k) {
    room[worker].grow(kStretch + 1);
    const std::size_t begin = k * kStretch, end = std::min(many_.count, begin + kStretch);
    Listed* const own = room[worker].get();
    const bool is_valid = in_plane_or_space(dimension_, [&]<std::size_t D>(Dimension<D>) {
      return touching_ ? look_up<D, true>(begin, end, own, stretches_[k])
                       : look_up<D, false>(begin, end, own, stretches_[k]);
    });
    if (!is_valid) valid.store(false, std::memory_order_relaxed);
    const std::uint64_t found = tests.fetch_add(stretches_[k].tests, std::memory_order_relaxed);
    const auto all = static_cast<double>(found + stretches_[k].tests);
    if (all > with.most_tests) throw PlanMissed(all);
  });
  if (!valid) throw InvalidBoxes();
  const auto add_tasks = [&](const auto* begin, const auto* end, bool are_many, const auto& add) {
    std::uint64_t here = 0;
    for (const auto* at = begin; at != end && are_many; ++at) {
      if (here > 0 && here + most_pairs(*at) > kTaskCandidates) {
        add(begin, at);
        begin = at;
        here = 0;
      }
      here += most_pairs(*at);
    }
    if (begin != end) add(begin, end);
  };
  for (const Stretch& stretch : stretches_) {
    const bool are_many = stretch.pairs > kTaskCandidates;
    add_tasks(stretch.listed.get(), stretch.listed.get() + stretch.count, are_many,
              [&](const Listed* begin, const Listed* end) { tasks_.push_back({begin, end, nullptr, nullptr}); });
    add_tasks(stretch.wide.data(), stretch.wide.data() + stretch.wide.size(), are_many,
              [&](const WideHits* begin, const WideHits* end) { tasks_.push_back({nullptr, nullptr, begin, end}); });
  }
}

template <class T>
std::size_t FewInCells<T>::most_pairs(const Listed& box) const {
  return cells_->column_[box.list] == FewCells<T>::kNotLong ? count_marks(box.hits) : cells_->length(box.list);
}

template <class T>
std::size_t FewInCells<T>::most_pairs(const WideHits& hits) const {
  return count_marks(hits.hits);
}

// A box of the many, grown. Returns whether it has an interior.
template <class T>
template <std::size_t D>
bool FewInCells<T>::read(std::uint32_t row, T* box) const {
  bool has_inside = true;
  for (std::size_t d = 0; d < D; ++d) {
    box[d] = many_.lower_of(row)[d] - grow_;
    box[D + d] = many_.upper_of(row)[d] + grow_;
    has_inside &= box[d] < box[D + d];
  }
  return has_inside;
}

// Finds the boxes of a stretch that overlap some of the few, or have a long list; false if a box is invalid.
template <class T>
template <std::size_t D, bool Closed>
bool FewInCells<T>::look_up(std::size_t begin, std::size_t end, Listed* room, Stretch& to) const {
  constexpr std::size_t kAhead = 2 * kTogether;
  constexpr std::uint32_t kNotLong = FewCells<T>::kNotLong;
  using Level = typename FewCells<T>::Level;
  const FewCells<T>& cells = *cells_;
  const Level& level = cells.levels_[0];
  const std::uint64_t* const marks = level.marks.data();
  const T grow = grow_;
  bool valid = true;
  std::size_t count = 0;
  for (std::size_t block = begin; block < end; block += kTogether) {
    const std::size_t rows = std::min(kTogether, end - block);
    for (std::size_t row = block + kAhead; row < std::min(many_.count, block + kAhead + kTogether); ++row) {
      read_ahead(many_.lower_of(row));
      read_ahead(many_.upper_of(row));
    }
    std::int32_t cell[kTogether] = {};
    T lower[D][kTogether], upper[D][kTogether], longer[kTogether] = {}, place[kTogether];
    for (std::size_t d = 0; d < D; ++d) {
      const T *from_lower = many_.lower_of(block) + d, *from_upper = many_.upper_of(block) + d;
      for (std::size_t k = 0; k < rows; ++k, from_lower += many_.lower_stride, from_upper += many_.upper_stride) {
        lower[d][k] = *from_lower;
        upper[d][k] = *from_upper;
      }
      std::fill(lower[d] + rows, lower[d] + kTogether, lower[d][0]);
      std::fill(upper[d] + rows, upper[d] + kTogether, upper[d][0]);
      const T reach = level.reach[d], low = level.low[d], scale = level.scale[d], last = level.last[d];
      const auto shift = static_cast<int>(level.shift[d]);
      // One loop for each type, which processors then do several rows of at a time.
      T wrong = T(0);
      for (std::size_t k = 0; k < kTogether; ++k) {
        wrong = lower[d][k] <= upper[d][k] ? wrong : T(1);
        lower[d][k] -= grow;
        upper[d][k] += grow;
        longer[k] = upper[d][k] - lower[d][k] <= reach ? longer[k] : T(1);
        place[k] = place_along(lower[d][k], low, scale, last);
      }
      for (std::size_t k = 0; k < kTogether; ++k) cell[k] |= static_cast<std::int32_t>(place[k]) << shift;
      valid &= wrong == T(0);
    }
    for (std::size_t wide = 0; wide < cells.wide_rows_.size(); ++wide) {
      const T* box = cells.wide_boxes_.data() + 2 * D * wide;
      const std::uint64_t hits = hits_of<D, Closed>(box, lower, upper) & ~std::uint64_t{0} >> (kTogether - rows);
      if (hits == 0) continue;
      to.wide.push_back({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(wide), hits});
      to.pairs += count_marks(hits);
    }
    to.tests += rows * cells.wide_rows_.size();
    for (std::size_t k = 0; k < rows; ++k) {
      const auto at = static_cast<std::uint32_t>(cell[k]);
      const auto is_long = static_cast<std::uint32_t>(longer[k] != T(0));
      room[count] = {static_cast<std::uint32_t>(block + k), at | (0 - is_long), 0};
      count += static_cast<std::size_t>((marks[at / 64] >> at % 64 & 1) | is_long);
    }
  }
  if (cells.rows_.empty()) count = 0;
  for (std::size_t k = 0; k < count; ++k) {
    if (room[k].list == kNotLong) continue;
    room[k].list = list_of_block(level, block_of<D>(level, room[k].list));
    read_ahead(&cells.start_[room[k].list]);
  }
  // The list and then its first box come from farther memory.
  constexpr std::size_t kListsAhead = 16, kBoxesAhead = 8;
  const auto first_of = [&](std::size_t k) {
    const std::uint32_t list = k < count && room[k].list != kNotLong ? room[k].list : FewCells<T>::kListOfAll;
    return cells.few_.data() + cells.start_[list];
  };
  std::size_t kept = 0;
  for (std::size_t k = 0; k < count; ++k) {
    read_ahead(first_of(k + kListsAhead));
    read_ahead(cells.boxes_.data() + 2 * D * std::size_t{*first_of(k + kBoxesAhead)});
    Listed box = room[k];
    T own[2 * D];
    const bool has_inside = read<D>(box.row, own);
    if (box.list == kNotLong && (box.list = cells.template list_of<D>(own, own + D)) == kNotLong) continue;
    if (!Closed && !has_inside) continue;
    const std::uint32_t length = cells.length(box.list);
    to.tests += length;
    if (cells.column_[box.list] != kNotLong) {
      to.pairs += length;
      room[kept++] = box;
      continue;
    }
    const std::uint32_t* list = cells.few_.data() + cells.start_[box.list];
    for (std::uint32_t entry = 0; entry < length; ++entry) {
      const T* other = cells.boxes_.data() + 2 * D * std::size_t{list[entry]};
      bool meet = true;
      for (std::size_t d = 0; d < D; ++d)
        meet &= Closed ? (own[d] <= other[D + d]) & (other[d] <= own[D + d])
                       : (own[d] < other[D + d]) & (other[d] < own[D + d]);
      box.hits |= static_cast<std::uint32_t>(meet) << entry;
      to.pairs += meet;
    }
    room[kept] = box;
    kept += box.hits != 0;
  }
  to.listed.grow(kept);
  std::copy_n(room, kept, to.listed.get());
  to.count = kept;
  return valid;
}

// Writes the pairs of a box; returns how many there are.
template <class T>
template <std::size_t D>
std::size_t FewInCells<T>::put_of(const Listed& box, std::int32_t* few, std::int32_t* many) const {
  const FewCells<T>& cells = *cells_;
  const std::uint32_t *list = cells.few_.data() + cells.start_[box.list], column = cells.column_[box.list];
  std::size_t found = 0;
  if (column == FewCells<T>::kNotLong) {
    for (std::uint32_t hits = box.hits; hits != 0; hits &= hits - 1)
      few[found++] = cells.rows_[list[std::countr_zero(hits)]];
  } else {
    T own[2 * D];
    read<D>(box.row, own);
    const std::size_t end = column + cells.length(box.list);
    found = overlap_({cells.columns_.pointers(), column, end, own}, reinterpret_cast<std::uint32_t*>(few));
    for (std::size_t k = 0; k < found; ++k) few[k] = cells.rows_[list[static_cast<std::uint32_t>(few[k]) - column]];
  }
  std::fill_n(many, found, static_cast<std::int32_t>(box.row));
  return found;
}

template <class T>
std::size_t FewInCells<T>::put(const Listed& box, std::int32_t* few, std::int32_t* many) const {
  return dimension_ == 2 ? put_of<2>(box, few, many) : put_of<3>(box, few, many);
}

template <class T>
std::size_t FewInCells<T>::put(const WideHits& hits, std::int32_t* few, std::int32_t* many) const {
  std::size_t found = 0;
  for (std::uint64_t left = hits.hits; left != 0; left &= left - 1)
    many[found++] = static_cast<std::int32_t>(hits.row + static_cast<std::uint32_t>(std::countr_zero(left)));
  std::fill_n(few, found, cells_->wide_rows_[hits.wide]);
  return found;
}

template <class T>
template <class Found>
void FewInCells<T>::put_all(const Found* begin, const Found* end, PairBuffer& out) const {
  constexpr std::size_t kTogether = 4096;
  constexpr std::size_t kBehind = 64;  // see OverlapRun
  for (const Found* at = begin; at != end;) {
    std::size_t room = 0;
    const Found* to = at;
    do room += most_pairs(*to++);
    while (to != end && room < kTogether);
    out.room(room + kBehind);
    std::int32_t* const few = few_first_ ? out.first() : out.second();
    std::int32_t* const many = few_first_ ? out.second() : out.first();
    std::size_t found = 0;
    for (; at != to; ++at) found += put(*at, few + found, many + found);
    if (out.counts_only())
      out.add_count(found);
    else
      out.commit(found);
  }
}

template <class T>
void FewInCells<T>::run(std::size_t task, Scratch&, PairBuffer& out) const {
  put_all(tasks_[task].begin, tasks_[task].end, out);
  put_all(tasks_[task].wide_begin, tasks_[task].wide_end, out);
}

template class FewCells<float>;
template class FewCells<double>;
template class FewInCells<float>;
template class FewInCells<double>;

}  // namespace broadphase
