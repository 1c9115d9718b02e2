// Suppression of boxes that overlap better ones, and the ratios by which it decides.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/samples.hpp"
#include "base/with_dimension.hpp"
#include "bindings.hpp"
#include "boxes/overlap_ratio.hpp"
#include "boxes/rotated_box.hpp"
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
  std::vector<double> ratios(pairs);
  at_work([&](Interrupt&) {
    for (std::size_t k = 0; k < pairs; ++k) {
      const auto i = static_cast<std::size_t>(first.data()[k]), j = static_cast<std::size_t>(second.data()[k]);
      ratios[k] = overlap_ratio(boxes.data() + i * width, others.data() + j * width, width / 2, measure);
    }
  });
  return as_array(std::move(ratios));
}

// Whether a sample of boxes says that each overlaps few others.
bool few_overlap(Corners boxes, double few) {
  const std::size_t count = boxes.shape(0), dimension = boxes.shape(2);
  const auto share = [&]<class T>(const T* corners) {
    // So many that what is found is no mere chance.
    const StratifiedSample some(count, 8), others(count, std::clamp<std::size_t>(count / 16, 128, 1 << 14));
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

// Copies corners, to which another thread may write, as they are compared; false where one is not finite, or lower >
// upper.
template <class T>
bool copy_finite(const T* corners, std::size_t count, std::size_t dimension, T* to) {
  bool are = true;
  for (std::size_t row = 0; row < count; ++row, corners += 2 * dimension, to += 2 * dimension) {
    for (std::size_t k = 0; k < dimension; ++k) {
      const T low = to[k] = corners[k], high = to[dimension + k] = corners[dimension + k];
      // False for NaN too.
      are &= low <= high && low >= std::numeric_limits<T>::lowest() && high <= std::numeric_limits<T>::max();
    }
  }
  return are;
}

// As `best_first`, for scores of any type.
std::optional<std::vector<std::int32_t>> order_of(const Scores& scores, unsigned workers, Interrupt& interrupt) {
  const std::size_t count = scores.shape(0);
  if (scores.dtype() == nb::dtype<float>())
    return best_first(static_cast<const float*>(scores.data()), count, workers, interrupt);
  if (scores.dtype() == nb::dtype<double>())
    return best_first(static_cast<const double*>(scores.data()), count, workers, interrupt);
  return best_first(static_cast<const std::uint64_t*>(scores.data()), count, workers, interrupt);
}

using Keys = std::optional<Vector<std::int64_t>>;
using Rivals = std::optional<RowPairs>;

void require_one_each(std::size_t count, std::size_t scores, const Keys& keys) {
  if (scores != count || (keys && keys->shape(0) != count)) throw nb::value_error("one score and one key for each box");
}

auto pairs_of(const RowPairs& rivals) {
  return [&rivals](std::size_t k) { return RowPair{rivals(k, 0), rivals(k, 1)}; };
}

// The rows that are kept, by descending score; None where a score is NaN. `rivals`: pairs of all boxes that overlap and
// have the same key.
template <class Boxes>
nb::object best_of(const Boxes& boxes, std::size_t count, const Scores& scores, const Keys& keys, const Rivals& rivals,
                   Exclusion exclusion, unsigned workers) {
  require_one_each(count, scores.shape(0), keys);
  auto rows = without_gil(count, [&] {
    Interrupt interrupt(signal_pending);
    auto best = order_of(scores, workers, interrupt);
    if (!best) return best;
    const std::vector<std::uint8_t> kept =
        rivals ? keep_best_by_pairs(boxes, *best, rivals->shape(0), pairs_of(*rivals), exclusion, interrupt)
               : keep_best(boxes, *best, data_of(keys), exclusion, workers, interrupt);
    std::erase_if(*best, [&](std::int32_t row) { return kept[static_cast<std::size_t>(row)] == 0; });
    return best;
  });
  return rows ? as_array(std::move(*rows)) : nb::none();
}

// None where a box or a score is not allowed.
nb::object nms(Corners boxes, Scores scores, Keys keys, Rivals rivals, double threshold, RatioTo measure,
               unsigned workers) {
  const std::size_t count = boxes.shape(0), dimension = boxes.shape(2);
  const auto with = [&]<class T>(const T* corners) -> nb::object {
    PlainArray<T> own;
    own.grow(2 * dimension * count);
    if (!without_gil(count, [&] { return copy_finite(corners, count, dimension, own.get()); })) return nb::none();
    return with_dimension(dimension, [&](auto d) {
      return best_of(UprightBoxes<T, d()>{own.get()}, count, scores, keys, rivals, {measure, threshold}, workers);
    });
  };
  return boxes.dtype() == nb::dtype<float>() ? with(static_cast<const float*>(boxes.data()))
                                             : with(static_cast<const double*>(boxes.data()));
}

// Rows and scores of those that are kept. `rivals`: as above.
template <class Boxes>
nb::object softened(const Boxes& boxes, std::size_t count, const Vector<double>& scores, const Keys& keys,
                    const Rivals& rivals, Decay decay, double least, unsigned workers) {
  require_one_each(count, scores.shape(0), keys);
  Softened found = without_gil(count, [&] {
    Interrupt interrupt(signal_pending);
    const auto with = [&](const auto& make_taken) {
      std::vector<double> before(scores.data(), scores.data() + count);
      return soften(boxes, make_taken, std::move(before), data_of(keys), decay, least, workers, interrupt);
    };
    if (rivals) {
      const Neighbors neighbors(count, rivals->shape(0), pairs_of(*rivals));
      std::vector<std::uint32_t> numbers(count);
      return with([&] { return TakenByPairs<Boxes>(boxes, neighbors, numbers.data()); });
    }
    const double threshold = decay.kind == Decay::Kind::kLinear ? std::clamp(decay.parameter, 0.0, 1.0) : 0.0;
    using Taken = TakenByPlace<Boxes>;
    return with([&] { return Taken(boxes, typename Taken::Box::Reach(threshold, RatioTo::kUnion)); });
  });
  std::vector<double> kept;
  kept.reserve(found.rows.size());
  for (const std::int32_t row : found.rows) kept.push_back(found.scores[static_cast<std::size_t>(row)]);
  return as_tuple(std::move(found.rows), std::move(kept));
}

// Boxes and scores are as they should be.
nb::object soft_nms(Table<double> boxes, Vector<double> scores, Keys keys, Rivals rivals, Decay::Kind decay,
                    double parameter, double least, unsigned workers) {
  const std::size_t count = boxes.shape(0), dimension = boxes.shape(1) / 2;
  PlainArray<double> own;
  own.grow(2 * dimension * count);
  without_gil(count, [&] { return copy_finite(boxes.data(), count, dimension, own.get()); });
  return with_dimension(dimension, [&](auto d) {
    const UprightBoxes<double, d()> upright{own.get()};
    return softened(upright, count, scores, keys, rivals, {decay, parameter}, least, workers);
  });
}

// Boxes with an angle, of the plane or of space: what is computed from each of them once.
class RotatedBoxes {
 public:
  // Rows of numbers as `RotatedBox` takes them, 5 or 7, finite, sizes not negative.
  RotatedBoxes(Table<double> numbers, bool is_in_degrees)
      : boxes_(without_gil(numbers.shape(0), [&]() -> Boxes {
          if (numbers.shape(1) == 5) return RotatedBoxRows<2>(numbers.data(), numbers.shape(0), is_in_degrees);
          return RotatedBoxRows<3>(numbers.data(), numbers.shape(0), is_in_degrees);
        })) {}

  // Lower and upper corners.
  nb::object enclosing() const {
    return std::visit(
        [](const auto& boxes) {
          constexpr std::size_t kDimension = std::remove_cvref_t<decltype(boxes)>::kDimension;
          std::vector<double> corners(boxes.size() * 2 * kDimension);
          for (std::size_t row = 0; row < boxes.size(); ++row)
            for (std::size_t k = 0; k < kDimension; ++k) {
              corners[row * 2 * kDimension + k] = boxes[row].lower(k);
              corners[(row * 2 + 1) * kDimension + k] = boxes[row].upper(k);
            }
          return as_array(std::move(corners), {boxes.size(), 2, kDimension});
        },
        boxes_);
  }

  // Of boxes in the same space.
  nb::object ratios(const RotatedBoxes& others, Vector<std::int32_t> first, Vector<std::int32_t> second,
                    RatioTo measure) const {
    return of_pairs<double>(others, first, second,
                            [=](const auto& box, const auto& other) { return box.ratio(other, measure); });
  }
  // Those of some pairs that meet, by one number each.
  nb::object meet(const RotatedBoxes& others, Vector<std::int32_t> first, Vector<std::int32_t> second,
                  bool touching) const {
    return of_pairs<std::uint8_t>(others, first, second,
                                  [=](const auto& box, const auto& other) { return box.meets(other, touching); });
  }

  nb::object nms(Scores scores, Keys keys, Rivals rivals, double threshold, RatioTo measure, unsigned workers) const {
    const auto search = [&](const auto& boxes) {
      return best_of(boxes, boxes.size(), scores, keys, rivals, {measure, threshold}, workers);
    };
    return std::visit(search, boxes_);
  }

  nb::object soft_nms(Vector<double> scores, Keys keys, Rivals rivals, Decay::Kind decay, double parameter,
                      double least, unsigned workers) const {
    const auto search = [&](const auto& boxes) {
      return softened(boxes, boxes.size(), scores, keys, rivals, {decay, parameter}, least, workers);
    };
    return std::visit(search, boxes_);
  }

 private:
  using Boxes = std::variant<RotatedBoxRows<2>, RotatedBoxRows<3>>;

  template <class T, class Compare>
  nb::object of_pairs(const RotatedBoxes& others, const Vector<std::int32_t>& first, const Vector<std::int32_t>& second,
                      const Compare& compare) const {
    std::vector<T> values(first.shape(0));
    const auto compare_all = [&](const auto& boxes) {
      const ReleasedGil release;
      const auto& other = std::get<std::remove_cvref_t<decltype(boxes)>>(others.boxes_);
      for (std::size_t k = 0; k < values.size(); ++k)
        values[k] = static_cast<T>(compare(boxes[static_cast<std::size_t>(first.data()[k])],
                                           other[static_cast<std::size_t>(second.data()[k])]));
    };
    std::visit(compare_all, boxes_);
    return as_array(std::move(values));
  }

  Boxes boxes_;
};

}  // namespace

void bind_suppression(nb::module_& module) {
  nb::enum_<RatioTo>(module, "RatioTo")
      .value("union", RatioTo::kUnion)
      .value("smaller", RatioTo::kSmaller)
      .value("union_less_distance", RatioTo::kUnionLessDistance);
  nb::enum_<Decay::Kind>(module, "Decay")
      .value("linear", Decay::Kind::kLinear)
      .value("gaussian", Decay::Kind::kGaussian);
  module.def("overlap_ratios", &overlap_ratios, "boxes"_a, "others"_a, "first"_a, "second"_a, "measure"_a);
  module.def("few_overlap", &few_overlap, "boxes"_a, "few"_a);
  module.def("nms", &nms, "boxes"_a, "scores"_a, "keys"_a.none(), "pairs"_a.none(), "threshold"_a, "measure"_a,
             "workers"_a, "Of contiguous boxes, float32 or float64, and scores, which may be uint64 too.");
  module.def("soft_nms", &soft_nms, "boxes"_a, "scores"_a, "keys"_a.none(), "pairs"_a.none(), "decay"_a, "parameter"_a,
             "least"_a, "workers"_a);
  nb::class_<RotatedBoxes>(module, "RotatedBoxes")
      .def(nb::init<Table<double>, bool>(), "numbers"_a, "is_in_degrees"_a)
      .def("enclosing", &RotatedBoxes::enclosing)
      .def("ratios", &RotatedBoxes::ratios, "others"_a, "first"_a, "second"_a, "measure"_a)
      .def("meet", &RotatedBoxes::meet, "others"_a, "first"_a, "second"_a, "touching"_a)
      .def("nms", &RotatedBoxes::nms, "scores"_a, "keys"_a.none(), "pairs"_a.none(), "threshold"_a, "measure"_a,
           "workers"_a)
      .def("soft_nms", &RotatedBoxes::soft_nms, "scores"_a, "keys"_a.none(), "pairs"_a.none(), "decay"_a, "parameter"_a,
           "least"_a, "workers"_a);
}

}  // namespace broadphase::python
