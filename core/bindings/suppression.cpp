// Suppression of boxes that overlap better ones, and the ratios by which it decides.
#include <nanobind/stl/optional.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/even_sample.hpp"
#include "base/parallel.hpp"
#include "base/radix_sort.hpp"
#include "base/with_dimension.hpp"
#include "bindings.hpp"
#include "boxes/overlap_ratio.hpp"
#include "boxes/suppression.hpp"

namespace broadphase::python {

namespace {

using Scores = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Corners = nb::ndarray<nb::ro, nb::shape<-1, 2, -1>, nb::c_contig, nb::device::cpu>;
using RowPairs = nb::ndarray<const std::int32_t, nb::shape<-1, 2>, nb::device::cpu>;

// Boxes are rows of d lower and d upper corners.
nb::object overlap_ratios(Table<double> boxes, Table<double> others, Vector<std::int32_t> first,
                          Vector<std::int32_t> second, RatioTo measure) {
  const std::size_t pairs = first.shape(0), width = boxes.shape(1);
  std::vector<double> ratios;
  {
    const ReleasedGil release;
    ratios.resize(pairs);
    for (std::size_t k = 0; k < pairs; ++k) {
      const auto i = static_cast<std::size_t>(first.data()[k]), j = static_cast<std::size_t>(second.data()[k]);
      ratios[k] = overlap_ratio(boxes.data() + i * width, others.data() + j * width, width / 2, measure);
    }
  }
  return as_array(std::move(ratios), 1);
}

// Whether a sample of boxes says that each overlaps few others.
bool few_overlap(Corners boxes, double few) {
  const std::size_t count = boxes.shape(0), dimension = boxes.shape(2);
  const auto share = [&]<class T>(const T* corners) {
    const EvenSample some(count, 8), others(count, 128);
    std::array<std::size_t, 8> rows{};
    for (std::size_t i = 0; i < some.size(); ++i) rows[i] = some[i];
    std::size_t met = 0;
    for (std::size_t j = 0; j < others.size(); ++j)
      for (std::size_t i = 0, other = others[j]; i < some.size(); ++i) {
        const T *a = corners + rows[i] * 2 * dimension, *b = corners + other * 2 * dimension;
        bool meet = rows[i] != other;
        for (std::size_t k = 0; k < dimension; ++k)
          meet &= static_cast<unsigned>(a[k] < b[dimension + k]) & static_cast<unsigned>(b[k] < a[dimension + k]);
        met += meet ? 1 : 0;
      }
    constexpr std::size_t kMereChance = 4;
    return met <= kMereChance ? 0.0 : static_cast<double>(met) / static_cast<double>(some.size() * others.size());
  };
  const double met = boxes.dtype() == nb::dtype<float>() ? share(static_cast<const float*>(boxes.data()))
                                                         : share(static_cast<const double*>(boxes.data()));
  return met * static_cast<double>(count) <= 2 * few;
}

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

template <class T>
bool are_finite(const T* corners, std::size_t count, std::size_t dimension) {
  bool are = true;
  for (std::size_t row = 0; row < count; ++row)
    for (std::size_t k = 0; k < dimension; ++k) {
      const T low = corners[row * 2 * dimension + k], high = corners[(row * 2 + 1) * dimension + k];
      // False for NaN too.
      are &= low <= high && low >= std::numeric_limits<T>::lowest() && high <= std::numeric_limits<T>::max();
    }
  return are;
}

// Flags of the rows that are kept. `rows`, in the order of their scores, are sorted by key.
template <class T, std::size_t D>
std::vector<std::uint8_t> keep(const T* boxes, std::vector<std::int32_t> rows, const std::int64_t* keys,
                               double threshold, RatioTo measure, unsigned workers, Interrupt& interrupt) {
  constexpr std::size_t kRowsATask = 4096;
  const std::size_t count = rows.size();
  std::vector<std::uint8_t> kept(count);
  std::vector<std::size_t> starts{0};  // of batches
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
  if (starts.size() == 2) {
    Suppression<T, D>(boxes, threshold, measure).run(rows.data(), count, kept.data(), interrupt);
    return kept;
  }
  std::vector<std::size_t> tasks{0};  // of whole batches
  for (std::size_t k = 1; k < starts.size(); ++k)
    if (k + 1 == starts.size() || starts[k] - starts[tasks.back()] >= kRowsATask) tasks.push_back(k);
  for_each_task(tasks.size() - 1, workers, interrupt, [&](unsigned, std::size_t task) {
    Interrupt none;
    Suppression<T, D> suppression(boxes, threshold, measure);
    for (std::size_t k = tasks[task]; k < tasks[task + 1]; ++k)
      suppression.run(rows.data() + starts[k], starts[k + 1] - starts[k], kept.data(), none);
  });
  return kept;
}

// The same, by all pairs of boxes that overlap: rows, in two columns.
template <class T, std::size_t D>
std::vector<std::uint8_t> keep_by_pairs(const T* boxes, const std::vector<std::int32_t>& rows, const RowPairs& pairs,
                                        double threshold, RatioTo measure, Interrupt& interrupt) {
  const Suppression<T, D> suppression(boxes, threshold, measure);
  std::vector<std::uint32_t> rank(rows.size()), end(rows.size() + 1);
  for (std::size_t k = 0; k < rows.size(); ++k) rank[static_cast<std::size_t>(rows[k])] = static_cast<std::uint32_t>(k);
  struct Rivals {
    std::uint32_t better, worse;  // by rank
  };
  std::vector<Rivals> rivals(pairs.shape(0));
  std::size_t found = 0;
  in_stretches(pairs.shape(0), interrupt, [&](std::size_t from, std::size_t to) {
    for (std::size_t k = from; k < to; ++k) {
      const auto i = static_cast<std::size_t>(pairs(k, 0)), j = static_cast<std::size_t>(pairs(k, 1));
      rivals[found] = {std::min(rank[i], rank[j]), std::max(rank[i], rank[j])};
      found += suppression.excludes(i, j) ? 1 : 0;
    }
  });
  for (std::size_t k = 0; k < found; ++k) ++end[rivals[k].better + 1];
  for (std::size_t k = 0; k < rows.size(); ++k) end[k + 1] += end[k];
  std::vector<std::uint32_t> worse(found), next(end.begin(), end.end() - 1);
  for (std::size_t k = 0; k < found; ++k) worse[next[rivals[k].better]++] = rivals[k].worse;
  std::vector<std::uint8_t> kept(rows.size(), 1);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (kept[static_cast<std::size_t>(rows[k])] == 0) continue;
    for (std::uint32_t at = end[k]; at < end[k + 1]; ++at) kept[static_cast<std::size_t>(rows[worse[at]])] = 0;
  }
  return kept;
}

// The rows that are kept, by descending score; None where a box or a score is not allowed.
// With `pairs`, those of all boxes that overlap and have the same key.
nb::object nms(Corners boxes, Scores scores, std::optional<Vector<std::int64_t>> keys, std::optional<RowPairs> pairs,
               double threshold, RatioTo measure, unsigned workers) {
  const std::size_t count = boxes.shape(0), dimension = boxes.shape(2);
  if (scores.shape(0) != count || (keys && keys->shape(0) != count))
    throw nb::value_error("one score and one key for each box");
  std::vector<std::int32_t> found;
  bool are_allowed = false;
  without_gil(count, [&] {
    Interrupt interrupt(signal_pending);
    const auto with = [&]<class T>(const T* corners) {
      if (!are_finite(corners, count, dimension)) return;
      std::optional<std::vector<std::int32_t>> rows;
      if (scores.dtype() == nb::dtype<float>())
        rows = best_first(static_cast<const float*>(scores.data()), count, interrupt);
      else if (scores.dtype() == nb::dtype<double>())
        rows = best_first(static_cast<const double*>(scores.data()), count, interrupt);
      else
        rows = best_first(static_cast<const std::uint64_t*>(scores.data()), count, interrupt);
      if (!rows) return;
      const std::vector<std::uint8_t> kept = with_dimension(dimension, [&](auto d) {
        if (pairs) return keep_by_pairs<T, d()>(corners, *rows, *pairs, threshold, measure, interrupt);
        return keep<T, d()>(corners, *rows, keys ? keys->data() : nullptr, threshold, measure, workers, interrupt);
      });
      for (const std::int32_t row : *rows)
        if (kept[static_cast<std::size_t>(row)] != 0) found.push_back(row);
      are_allowed = true;
    };
    if (boxes.dtype() == nb::dtype<float>())
      with(static_cast<const float*>(boxes.data()));
    else
      with(static_cast<const double*>(boxes.data()));
  });
  return are_allowed ? as_array(std::move(found), 1) : nb::none();
}

}  // namespace

void bind_suppression(nb::module_& module) {
  nb::enum_<RatioTo>(module, "RatioTo").value("union", RatioTo::kUnion).value("smaller", RatioTo::kSmaller);
  module.def("overlap_ratios", &overlap_ratios, nb::arg("boxes"), nb::arg("others"), nb::arg("first"),
             nb::arg("second"), nb::arg("measure"));
  module.def("few_overlap", &few_overlap, nb::arg("boxes"), nb::arg("few"));
  module.def("nms", &nms, nb::arg("boxes"), nb::arg("scores"), nb::arg("keys").none(), nb::arg("pairs").none(),
             nb::arg("threshold"), nb::arg("measure"), nb::arg("workers"),
             "Of contiguous boxes, float32 or float64, and scores, which may be uint64 too.");
}

}  // namespace broadphase::python
