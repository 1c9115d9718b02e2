// Pairs of boxes in a periodic cell, by any method.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "batches/rows_by_key.hpp"
#include "choose/find.hpp"
#include "periodic/cell_boxes.hpp"
#include "query/collect.hpp"
#include "query/method.hpp"

namespace broadphase {

// Rows by key, with the images of the rows behind the rows of their key.
template <class T>
RowsByKey with_images(const RowsByKey& by_key, const CellBoxes<T>& boxes, std::vector<std::uint32_t>& before) {
  const std::size_t keys = by_key.key_count();
  std::vector<std::uint32_t> key_of(boxes.count());
  for (std::uint32_t key = 0; key < keys; ++key)
    for (std::uint32_t at = by_key.start[key]; at < by_key.start[key + 1]; ++at)
      key_of[static_cast<std::size_t>(by_key.row(at))] = key;
  before.assign(keys + 1, 0);  // how many images there are of rows of lower keys
  boxes.for_each_image([&](std::int32_t row) { ++before[key_of[static_cast<std::size_t>(row)] + 1]; });
  for (std::size_t key = 0; key < keys; ++key) before[key + 1] += before[key];

  RowsByKey result;
  result.rows.grow(boxes.count() + boxes.image_count());
  result.start.resize(keys + 1);
  std::vector<std::uint32_t> next(keys);
  for (std::size_t key = 0; key <= keys; ++key) result.start[key] = by_key.start[key] + before[key];
  for (std::size_t key = 0; key < keys; ++key) {
    std::uint32_t to = result.start[key];
    for (std::uint32_t at = by_key.start[key]; at < by_key.start[key + 1]; ++at) result.rows[to++] = by_key.row(at);
    next[key] = to;
  }
  auto number = static_cast<std::int32_t>(boxes.count());
  boxes.for_each_image(
      [&](std::int32_t row) { result.rows[next[key_of[static_cast<std::size_t>(row)]]++] = number++; });
  return result;
}

// Boxes in a cell as a problem of open space, without a filter.
template <class T>
class CellProblem {
 public:
  CellProblem(const Problem<T>& given, PeriodicCell cell, Interrupt& interrupt) : given_(given) {
    choose_place(given, cell);
    sets_.reserve(2);
    sets_.emplace_back(given.first, given.grow, given.touching, cell, interrupt);
    if (given.cross) sets_.emplace_back(given.second, given.grow, given.touching, cell, interrupt);
    if (given.batches != nullptr) add_batches(*given.batches);
  }

  Problem<T> in_open_space() const {
    Problem<T> result = given_;
    result.first = first().view();
    if (given_.cross) result.second = second().view();
    result.grow = 0;
    result.filter = nullptr;
    result.batches = given_.batches != nullptr ? &batches_ : nullptr;
    return result;
  }
  const CellBoxes<T>& first() const { return sets_.front(); }
  const CellBoxes<T>& second() const { return sets_.back(); }
  bool cross() const { return given_.cross; }
  std::size_t image_count() const { return first().image_count() + (cross() ? second().image_count() : 0); }

 private:
  void add_batches(const Batches& given) {
    batches_.key_count = given.key_count;
    batches_.with_pairs = given.with_pairs;
    for (std::size_t k = 0; k < sets_.size(); ++k) {
      const std::vector<std::uint32_t>& start = given.sets[k].start;
      std::vector<std::uint32_t> before;
      batches_.sets[k] = with_images(given.sets[k], sets_[k], before);
      for (Batch& batch : batches_.with_pairs) {
        const auto key =
            static_cast<std::size_t>(std::lower_bound(start.begin(), start.end(), batch.begin[k]) - start.begin());
        batch.begin[k] += before[key];
        batch.end[k] += before[key + 1];
      }
    }
  }

  Problem<T> given_;
  std::vector<CellBoxes<T>> sets_;
  Batches batches_;
};

// Finds the pairs of boxes and images by a method, and keeps those that are to be taken, as rows.
template <class T>
class CellPairs {
 public:
  struct Scratch {
    std::shared_ptr<void> of_method;
    PairBuffer found{nullptr, false};
  };

  CellPairs(const Problem<T>& problem, const PeriodicCell& cell, MethodName name, const Preparation& with)
      : problem_(problem, cell, with.interrupt),
        method_(prepare_method(name, problem_.in_open_space(), with)),
        is_filtered_(problem.filter != nullptr) {}

  std::size_t task_count() const { return method_.task_count; }

  void run(std::size_t task, Scratch& scratch, PairBuffer& out) const {
    if (scratch.of_method == nullptr) scratch.of_method = method_.make_scratch();
    // Where nothing else looks at the pairs before, they are kept in place.
    const bool in_place = !is_filtered_ && !out.counts_only() && out.limit_before_filter() == kNoLimit;
    PairBuffer& found = in_place ? out : scratch.found;
    if (!in_place) found.clear();
    const PairBuffer::Mark before = found.mark();
    method_.run(task, scratch.of_method.get(), found);
    const std::size_t count = found.size() - before.size;
    found.rewind(before);
    const std::int32_t *first = found.first(), *second = found.second();
    if (in_place) {
      out.commit(keep(first, second, count, out));
      return;
    }
    for (std::size_t begin = 0; begin < count; begin += kStretch) {
      const std::size_t part = std::min(kStretch, count - begin);
      out.room(part);
      out.commit(keep(first + begin, second + begin, part, out));
    }
  }

 private:
  static constexpr std::size_t kStretch = 8192;

  // Writes those that are to be taken to where `out` has room, which may be where they are; returns how many.
  std::size_t keep(const std::int32_t* first, const std::int32_t* second, std::size_t count, PairBuffer& out) const {
    const CellBoxes<T>&one = problem_.first(), &two = problem_.second();
    const bool cross = problem_.cross();
    std::int32_t *to_first = out.first(), *to_second = out.second();
    std::size_t kept = 0;
    for (std::size_t at = 0; at < count; ++at) {
      std::int32_t a = first[at], b = second[at];
      if (!one.is_as_given(a) || !two.is_as_given(b)) {
        const std::int32_t row = one.row_of(a), other = two.row_of(b);
        if ((!cross && row == other) || !one.takes(a, two, b)) continue;
        a = cross ? row : std::min(row, other);
        b = cross ? other : std::max(row, other);
      }
      to_first[kept] = a;
      to_second[kept++] = b;
    }
    return kept;
  }

  CellProblem<T> problem_;
  PreparedMethod method_;
  bool is_filtered_;
};

}  // namespace broadphase
