// Pairs of any boxes, with any options, by every method: those of a double loop. Boxes that are invalid are refused.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "batches/rows_by_key.hpp"
#include "choose/find.hpp"
#include "fuzz/scene_bytes.hpp"
#include "periodic/cell_pairs.hpp"
#include "tests/methods.hpp"

namespace broadphase::fuzz {
namespace {

using tests::current_case;
using tests::in_order;
using tests::PairList;

// Sorting more of each method takes the time of hundreds of other inputs.
constexpr std::size_t kMostPairs = 10000;

// What rows a filter lets pass, in arrays of its own.
struct Attributes {
  std::vector<std::uint64_t> layer, mask;
  std::vector<std::int64_t> group, shared;
  std::vector<std::uint8_t> is_static;

  Attributes(Random& random, std::size_t count, std::size_t kinds) {
    for (std::size_t row = 0; row < count; ++row) {
      const std::size_t what = random.below(256);
      layer.push_back(std::uint64_t{1} << what % 3);
      mask.push_back(what < 128 ? ~std::uint64_t{0} : what % 8);
      group.push_back(static_cast<std::int64_t>(what % 5) - 2);
      is_static.push_back(what % 3 == 0);
      shared.push_back(static_cast<std::int64_t>(what % 7));
      shared.push_back(static_cast<std::int64_t>(what / 7));
    }
    use_ = kinds;
  }
  BoxAttributes view() const {
    BoxAttributes result;
    if ((use_ & 1) != 0) result.layer = layer.data(), result.mask = mask.data();
    if ((use_ & 2) != 0) result.group = group.data();
    if ((use_ & 4) != 0) result.is_static = is_static.data();
    if ((use_ & 8) != 0) result.shared = shared.data(), result.shared_width = 2;
    return result;
  }

 private:
  std::size_t use_ = 0;
};

struct AnyMethod {
  using Scratch = std::shared_ptr<void>;
  PreparedMethod method;

  std::size_t task_count() const { return method.task_count; }
  void run(std::size_t task, Scratch& scratch, PairBuffer& out) const {
    if (scratch == nullptr) scratch = method.make_scratch();
    method.run(task, scratch.get(), out);
  }
};

// Along an axis of whole numbers, whether some image of the one meets the other.
template <class T>
bool images_meet(const T* lower_i, const T* upper_i, const T* lower_j, const T* upper_j, std::size_t axis,
                 const PeriodicCell& cell, bool touching) {
  if (!touching && (lower_i[axis] >= upper_i[axis] || lower_j[axis] >= upper_j[axis])) return false;
  const double period = cell.repeats(axis) ? cell.period[axis] : 0;
  const int most = cell.repeats(axis) ? static_cast<int>(400 / period) + 1 : 0;
  for (int k = -most; k <= most; ++k) {
    const double a = static_cast<double>(lower_i[axis]), b = static_cast<double>(upper_i[axis]),
                 c = static_cast<double>(lower_j[axis]) + k * period,
                 d = static_cast<double>(upper_j[axis]) + k * period;
    if (touching ? a <= d && c <= b : a < d && c < b) return true;
  }
  return false;
}

template <class T>
PairList plain_pairs_in(const Problem<T>& problem, const PeriodicCell& cell, const std::vector<std::int64_t>* keys) {
  PairList result;
  const BoxView<T>& other = problem.cross ? problem.second : problem.first;
  for (std::size_t i = 0; i < problem.first.count; ++i)
    for (std::size_t j = problem.cross ? 0 : i + 1; j < other.count; ++j) {
      bool meet = (problem.filter == nullptr || problem.filter->allows(i, j)) &&
                  (keys == nullptr || keys[0][i] == keys[problem.cross ? 1 : 0][j]);
      for (std::size_t k = 0; k < problem.dimension && meet; ++k)
        meet = images_meet(problem.first.lower_of(i), problem.first.upper_of(i), other.lower_of(j), other.upper_of(j),
                           k, cell, problem.touching);
      if (meet) result.emplace_back(static_cast<std::int32_t>(i), static_cast<std::int32_t>(j));
    }
  return result;
}

template <class T>
bool are_valid(const BoxView<T>& boxes, std::size_t dimension) {
  for (std::size_t row = 0; row < boxes.count; ++row)
    for (std::size_t k = 0; k < dimension; ++k)
      if (!(boxes.lower_of(row)[k] <= boxes.upper_of(row)[k])) return false;
  return true;
}

template <class T>
class Target {
 public:
  explicit Target(Random& random) : random_(random) {}

  void run() {
    const std::size_t dimension = 1 + random_.below(4), use = random_.below(64), filters = random_.below(32);
    const bool is_periodic = (use & 3) == 3, has_keys = (use & 12) == 12;
    Coordinates<T> coordinates(random_, !is_periodic);
    problem_.cross = (use & 16) != 0;
    problem_.touching = (use & 32) == 0;
    problem_.dimension = dimension;
    if (!is_periodic && random_.chance(0.3)) problem_.grow = std::fabs(coordinates.finite());
    const std::size_t most = is_periodic ? 40 : 1000;  // the plain search of periodic cells is slow
    const std::size_t count = some(random_) % most, other_count = problem_.cross ? some(random_) % most : 0;
    const Boxes<T> first = coordinates.boxes(count, dimension), second = coordinates.boxes(other_count, dimension);
    problem_.first = first.view;
    if (problem_.cross) problem_.second = second.view;
    const Attributes attributes(random_, count, filters), other_attributes(random_, other_count, filters);
    Filter filter;
    filter.first = attributes.view();
    filter.second = problem_.cross ? other_attributes.view() : attributes.view();
    PairSet ignored;
    ignored.start(8);
    for (std::size_t k = filters >= 16 ? random_.below(8) : 0; k > 0 && count > 0; --k) {
      const auto i = static_cast<std::uint32_t>(random_.below(count));
      const auto j = static_cast<std::uint32_t>(random_.below(problem_.cross ? other_count + 1 : count));
      ignored.add(problem_.cross ? i : std::min(i, j), problem_.cross ? j : std::max(i, j));
    }
    filter.ignored = &ignored;
    if (filters != 0) problem_.filter = &filter;
    std::vector<std::int64_t> keys[2];
    Batches batches;
    if (has_keys) {
      const std::size_t different = 1 + random_.below(32);
      for (std::size_t row = 0; row < count; ++row)
        keys[0].push_back(static_cast<std::int64_t>(random_.below(different)));
      for (std::size_t row = 0; row < other_count; ++row)
        keys[1].push_back(static_cast<std::int64_t>(random_.below(different)));
      const RowKeys own{count, keys[0].data(), 1}, other{other_count, keys[1].data(), 1};
      batches = batches_of(own, problem_.cross ? &other : nullptr, never_);
      if (!batches.is_whole) problem_.batches = &batches;
    }
    const bool is_valid = are_valid(problem_.first, dimension) && are_valid(problem_.second, dimension);
    PeriodicCell cell;
    cell.dimension = dimension;
    for (std::size_t k = 0; k < 4; ++k) {
      const std::size_t period = random_.below(256);
      cell.period[k] = is_periodic && period < 192 ? static_cast<double>(1 + period) : INFINITY;
    }
    PairList expected;
    if (is_valid && is_periodic) {
      expected = plain_pairs_in(problem_, cell, problem_.batches != nullptr ? keys : nullptr);
    } else if (is_valid) {
      expected = tests::plain_pairs(problem_);
      if (problem_.batches != nullptr)
        std::erase_if(expected, [&](const auto& pair) {
          return keys[0][static_cast<std::size_t>(pair.first)] !=
                 keys[problem_.cross ? 1 : 0][static_cast<std::size_t>(pair.second)];
        });
    }
    if (expected.size() > kMostPairs) return;
    std::size_t levels = 0;
    const Kernels* const* kernels = available_kernels(levels);
    const Preparation with{*kernels[random_.below(levels)], 1 + static_cast<unsigned>(random_.below(8) == 7), never_};
    for (const tests::NamedMethod& of : tests::kMethods) {
      current_case() = tests::describe(problem_) + ", " + with.kernels.level + ", " + of.name +
                       (is_periodic ? ", periodic" : "") + (problem_.batches != nullptr ? ", keys" : "");
      try {
        const bool in_parts = is_periodic || random_.below(4) == 0;
        if (in_parts) {
          const AnyMethod method{is_periodic ? prepared(std::shared_ptr<const CellPairs<T>>(
                                                   new CellPairs<T>(problem_, cell, of.method, with)))
                                             : prepare_method(of.method, problem_, with)};
          CHECK(in_order(collect_pairs(method, problem_.filter, with.workers, kNoLimit, never_)) == expected);
          CHECK(count_pairs(method, problem_.filter, with.workers, never_) == expected.size());
        } else {
          CHECK(tests::pairs_by(of.method, problem_, with) == expected);
          CHECK(count_pairs(of.method, problem_, with) == expected.size());
        }
        CHECK(is_valid);
      } catch (const InvalidBoxes&) {
        CHECK(!is_valid);
      }
    }
  }

 private:
  Random& random_;
  Problem<T> problem_;
  Interrupt never_;
};

}  // namespace
}  // namespace broadphase::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  broadphase::tests::Random random(data, size);
  if (random.below(2) == 0)
    broadphase::fuzz::Target<float>(random).run();
  else
    broadphase::fuzz::Target<double>(random).run();
  return 0;
}
