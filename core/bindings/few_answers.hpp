// One query, or a few, answered by one call: what they are given, how many they are, what they may find, and the form
// of their results. For an index in few_queries.cpp, for a world in few_bodies.cpp.
#pragma once

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "guard.hpp"
#include "index.hpp"
#include "query/planes.hpp"
#include "query/queries.hpp"
#include "small_arrays.hpp"
#include "tree/queries.hpp"

namespace broadphase::python {

// More are sooner sorted and walked together, and take longer than the conversion of their arrays.
inline constexpr std::size_t kMostQueries = 64;
inline constexpr std::size_t kMostNearest = 64;

// One argument of a few queries: a row for each of them, or one for all.
struct Given {
  double numbers[8 * kMostQueries];
  FewRows rows{0, false};
  std::size_t size = 0;  // of a row

  const double* of(std::size_t query) const { return numbers + (rows.count == 1 ? 0 : query * size); }
  bool are_finite() const {
    return std::all_of(numbers, numbers + rows.count * size, [](double x) { return std::isfinite(x); });
  }
  // False for NaN, too.
  bool are_within(double limit) const {
    return std::all_of(numbers, numbers + rows.count * size, [=](double x) { return std::fabs(x) <= limit; });
  }
};

// How many queries there are. One, if none of the arguments has an axis of queries; its result has none either.
struct Asked {
  std::size_t count = 1;
  bool is_one = true;

  // False where the arguments differ in their number, or are too many.
  bool fits(const Given& given) {
    const std::size_t more = given.rows.count;
    is_one = is_one && given.rows.is_one;
    if (more == 0 || more > kMostQueries || (more != 1 && count != 1 && more != count)) return false;
    count = std::max(count, more);
    return true;
  }
};

// Rays, or boxes that move and stop.
struct FewRays {
  Given from, along, farthest;
  Asked asked;
  bool ends = false;

  double limit(std::size_t query) const { return ends ? 1 : *farthest.of(query); }
  Sweep sweep(std::size_t query) const {
    const std::size_t dimension = along.size;
    Sweep result;
    result.ends = ends;
    std::copy_n(from.of(query), dimension, result.box);
    std::copy_n(from.of(query) + (ends ? dimension : 0), dimension, result.box + dimension);
    std::copy_n(along.of(query), dimension, result.motion);
    return result;
  }
};

// What the queries may find.
struct Allowed {
  QueryFilter filter;
  std::uint64_t layer[kMostQueries], mask[kMostQueries];
  std::int32_t ignored[QueryFilter::kFewIgnored];
};

// The rows of an index or a world, by which options are read.
struct FewRowsOf {
  using Words = std::optional<Vector<std::uint64_t>>;

  Words layer, mask;  // none: `blank_layer`, and all bits, for every row
  AnyArray alive;
  std::uint64_t blank_layer = ~std::uint64_t{0};
  // Of a world: the generation of each row in use, the numbers of layers by their names, the class of its actors, and
  // the world itself, which is only compared.
  Vector<std::int64_t> generation{};
  nb::object numbers_of_layers{}, actors{};
  PyObject* world = nullptr;

  const std::uint8_t* in_use() const { return static_cast<const std::uint8_t*>(alive.data()); }
  bool is_in_use(long long row) const {
    return row >= 0 && row < static_cast<long long>(alive.shape(0)) && in_use()[row] != 0;
  }

  // False where they are not what the queries are made for.
  bool read_options(nb::handle options, const Asked& asked, Allowed& to) const {
    std::uint64_t of_layer = kEveryBit, of_mask = kEveryBit;
    PyObject *name = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(options.ptr(), &at, &name, &value) != 0;) {
      if (value == Py_None) {
        if (name != name_of<"by">() && name != name_of<"batch">() && name != name_of<"workers">() &&
            name != name_of<"layer">() && name != name_of<"mask">() && name != name_of<"ignore">())
          return false;
      } else if (name == name_of<"workers">()) {  // does not change the answer
        long long workers = 0;
        if (!read_whole(value, workers) || (workers < 1 && workers != -1)) return false;
      } else if (name == name_of<"layer">()) {
        if (!read_bits(value, of_layer)) return false;
      } else if (name == name_of<"mask">()) {
        if (!read_bits(value, of_mask)) return false;
      } else if (name != name_of<"ignore">() || !read_ignored(value, asked.is_one, to)) {
        return false;
      }
    }
    if (!layer && !mask && of_layer == kEveryBit && of_mask == kEveryBit) return true;
    QueryFilter& filter = to.filter;
    std::fill_n(to.layer, asked.count, of_layer);
    std::fill_n(to.mask, asked.count, of_mask);
    filter.is_uniform = true;
    filter.query_layer = to.layer;
    filter.query_mask = to.mask;
    filter.row_layer = layer ? layer->data() : &blank_layer;
    filter.row_mask = mask ? mask->data() : &kEveryBit;
    filter.row_layer_step = layer ? 1 : 0;
    filter.row_mask_step = mask ? 1 : 0;
    return true;
  }

  // Adds a row, or -1, to those that all queries ignore. False where they are too many.
  static bool ignore(long long row, Allowed& to) {
    if (to.filter.ignored_count == QueryFilter::kFewIgnored) return false;
    to.ignored[to.filter.ignored_count++] = static_cast<std::int32_t>(row);
    to.filter.ignored = to.ignored;
    std::sort(to.ignored, to.ignored + to.filter.ignored_count);
    return true;
  }

 private:
  static constexpr std::uint64_t kEveryBit = ~std::uint64_t{0};

  // Of all queries: as one int of 64 bits, with a sign or without, or as the name of a layer.
  bool read_bits(PyObject* from, std::uint64_t& to) const {
    if (numbers_of_layers.is_valid() && PyUnicode_CheckExact(from)) {
      long long number = 0;
      PyObject* known = PyDict_GetItemWithError(numbers_of_layers.ptr(), from);
      if (known == nullptr) PyErr_Clear();
      if (known == nullptr || !read_whole(known, number)) return false;
      to = std::uint64_t{1} << number;
      return true;
    }
    if (!PyLong_CheckExact(from)) return false;
    int overflow = 0;
    to = static_cast<std::uint64_t>(PyLong_AsLongLongAndOverflow(from, &overflow));
    if (overflow > 0) {
      to = PyLong_AsUnsignedLongLong(from);
      if (PyErr_Occurred() == nullptr) return true;
      PyErr_Clear();
    }
    return overflow == 0;
  }
  // What all queries ignore, or what one does, as one or several: rows in use, or -1; in a world also handles and
  // actors.
  bool read_ignored(PyObject* from, bool is_one, Allowed& to) const {
    const auto add = [&](PyObject* given) {
      long long row = 0;
      return read_row(given, row) && ignore(row, to);
    };
    if (add(from)) return true;
    if (!is_one || !(PyList_CheckExact(from) || PyTuple_CheckExact(from))) return false;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(from); ++k) {
      const nb::object item = nb::steal(PySequence_GetItem(from, k));
      if (!item.is_valid()) PyErr_Clear();  // another thread has shortened the list
      if (!item.is_valid() || !add(item.ptr())) return false;
    }
    return true;
  }
  bool read_row(PyObject* from, long long& row) const {
    if (actors.is_valid() && PyObject_TypeCheck(from, reinterpret_cast<PyTypeObject*>(actors.ptr())) != 0) {
      const nb::object of = nb::steal(PyObject_GetAttr(from, name_of<"_world">())),
                       handle = nb::steal(PyObject_GetAttr(from, name_of<"_handle">()));
      if (!of.is_valid() || !handle.is_valid()) PyErr_Clear();
      return handle.is_valid() && of.ptr() == world && read_whole(handle.ptr(), row) && read_handle(row);
    }
    if (!read_whole(from, row)) return false;
    return row == -1 || is_in_use(row) || read_handle(row);
  }
  // A handle in place of a row: the generation of the row, then the row.
  bool read_handle(long long& row) const {
    constexpr int kRowBits = 32;
    const long long number = row & ((1LL << kRowBits) - 1), generation_then = row >> kRowBits;
    if (!generation.is_valid() || generation_then < 1 || !is_in_use(number) ||
        generation.data()[number] != generation_then)
      return false;
    row = number;
    return true;
  }
};

// What answers a few queries of an index or a world as it is when this is made. Each query takes the arguments and the
// options of the method of the same name, and gives what that gives; or NotImplemented where it is not made for the
// arguments, or where there has begun a change since: then the general way in Python answers, or raises.
class FewAnswers {
 public:
  // Whether nothing has begun to change since.
  bool is_current() const { return guard_.changes() == changes_; }

 protected:
  // Places in `results`.
  enum Result { kQueryResult, kNearest, kRayHits, kRayHitsAll, kShapecastHits };

  // Made inside a query. `results` are the classes of results.
  FewAnswers(nb::object guard, std::size_t dimension, FewRowsOf rows, nb::tuple results)
      : guard_owner_(std::move(guard)),
        results_(std::move(results)),
        guard_(nb::cast<Guard&>(guard_owner_)),
        dimension_(dimension),
        changes_(guard_.changes()),
        rows_(std::move(rows)) {}

  static nb::object other_way() { return nb::borrow(Py_NotImplemented); }

  std::size_t dimension() const { return dimension_; }
  const FewRowsOf& of_rows() const { return rows_; }

  // Arguments. Each of these is false where they are not what the queries are made for.

  bool read_boxes(nb::handle from, Given& to) const {
    const FewNumbers read(from, to.numbers);
    std::optional<FewRows> given = read.rows_of({2, dimension_});
    if (!given) given = read.rows_of({2 * dimension_});
    // A tuple of two is lower and upper corners, of one box here.
    if (!given || (!given->is_one && PyTuple_Check(from.ptr()) && PyTuple_GET_SIZE(from.ptr()) == 2)) return false;
    to.rows = *given;
    to.size = 2 * dimension_;
    for (const double* box = to.numbers; box != to.numbers + given->count * to.size; box += to.size)
      for (std::size_t k = 0; k < dimension_; ++k)
        if (!(box[k] <= box[dimension_ + k])) return false;
    return true;
  }
  // Finite points or vectors.
  bool read_points(nb::handle from, Given& to) const {
    to.size = dimension_;
    const std::optional<FewRows> given = FewNumbers(from, to.numbers).rows_of({to.size});
    if (!given) return false;
    to.rows = *given;
    return to.are_finite();
  }
  // At least 0.
  static bool read_lengths(nb::handle from, Given& to) {
    to.size = 1;
    if (read_number(from.ptr(), to.numbers[0]))
      to.rows = {1, true};
    else
      to.rows = {FewNumbers(from, to.numbers).length(), false};
    return to.rows.count > 0 &&
           std::all_of(to.numbers, to.numbers + to.rows.count, [](double length) { return length >= 0; });
  }
  bool read_rays(nb::handle origins, nb::handle directions, nb::handle max_distance, FewRays& to) const {
    return read_points(origins, to.from) && read_points(directions, to.along) &&
           read_lengths(max_distance, to.farthest) && to.asked.fits(to.from) && to.asked.fits(to.along) &&
           to.asked.fits(to.farthest);
  }

  // Half sizes of boxes: one number, one row for all, or a row each.
  bool read_half_sizes(nb::handle from, Given& to) const {
    to.size = dimension_;
    if (read_number(from.ptr(), to.numbers[0])) {
      std::fill_n(to.numbers, to.size, to.numbers[0]);
      to.rows = {1, true};
    } else {
      const std::optional<FewRows> given = FewNumbers(from, to.numbers).rows_of({to.size});
      if (!given) return false;
      to.rows = *given;
    }
    return to.are_finite() &&
           std::all_of(to.numbers, to.numbers + to.rows.count * to.size, [](double half) { return half >= 0; });
  }
  // Angles in the plane, quaternions in space. Precondition: one of these it is.
  bool read_rotations(nb::handle from, Given& to) const {
    to.size = dimension_ == 2 ? 1 : 4;
    if (dimension_ == 2 && read_number(from.ptr(), to.numbers[0])) {
      to.rows = {1, true};
      return to.are_finite();
    }
    const FewNumbers read(from, to.numbers);
    const std::optional<FewRows> given =
        dimension_ == 2 ? read.length() > 0 ? std::optional(FewRows{read.length(), false}) : std::nullopt
                        : read.rows_of({to.size});
    if (!given) return false;
    to.rows = *given;
    if (dimension_ == 2) return to.are_finite();
    // Those of extreme length are scaled first, and zero is none.
    constexpr double kLeast = 0x1p-100, kMost = 0x1p100;
    for (const double* turn = to.numbers; turn != to.numbers + to.rows.count * to.size; turn += to.size) {
      double largest = 0;
      for (std::size_t k = 0; k < to.size; ++k) {
        if (!std::isfinite(turn[k])) return false;
        largest = std::max(largest, std::fabs(turn[k]));
      }
      if (!(largest >= kLeast && largest <= kMost)) return false;
    }
    return true;
  }
  // What cameras see, or is between planes, as index/regions.py has it.
  bool read_regions(nb::handle matrix, nb::handle planes, nb::handle depth, RegionSlabs& to, Asked& asked) const {
    constexpr std::size_t kMostPlanes = 8;  // the time grows fast with their number
    const std::size_t d = dimension_, width = d + 1;
    if ((d != 2 && d != 3) || matrix.is_none() == planes.is_none() || !PyUnicode_CheckExact(depth.ptr())) return false;
    const bool is_half = PyUnicode_CompareWithASCIIString(depth.ptr(), "zero_to_one") == 0;
    if (!is_half && PyUnicode_CompareWithASCIIString(depth.ptr(), "minus_one_to_one") != 0) return false;
    const bool are_views = planes.is_none();
    double numbers[kMostQueries * kMostPlanes * 4];
    const FewNumbers read(are_views ? matrix : planes, numbers);
    if (read.axes() < 2) return false;
    const std::size_t each = read.length_along(read.axes() - 2), count = read.axes() == 2 ? 1 : read.length_along(0),
                      size = each * width;
    if (read.length_along(read.axes() - 1) != width || count > kMostQueries || each > kMostPlanes ||
        (are_views && each != width) ||
        !std::all_of(numbers, numbers + count * size, [](double x) { return std::isfinite(x); }))
      return false;
    asked.count = count;
    asked.is_one = read.axes() == 2;
    Interrupt none;
    if (!are_views) return make_regions(numbers, count, each, d, false, none, to) == count;
    std::vector<double> sides;
    for (std::size_t query = 0; query < count; ++query) {
      const double *rows = numbers + query * size, *last = rows + d * width;
      for (const double sign : {1.0, -1.0})
        for (std::size_t row = 0; row < d; ++row)
          for (std::size_t k = 0; k < width; ++k) {
            const double own = rows[row * width + k];
            sides.push_back(is_half && row == 2 && sign > 0 ? own : last[k] + sign * own);
          }
    }
    return make_regions(sides.data(), count, 2 * d, d, true, none, to) == count;
  }
  // One of these regions. `around` has room for the box around it.
  ConvexRegion region_of(const RegionSlabs& regions, std::size_t query, double* around) const {
    const std::size_t d = dimension_, begin = static_cast<std::size_t>(regions.offsets[query]),
                      end = static_cast<std::size_t>(regions.offsets[query + 1]);
    std::copy_n(regions.around_lower.data() + query * d, d, around);
    std::copy_n(regions.around_upper.data() + query * d, d, around + d);
    return {around, regions.axes.data() + begin * d, regions.least.data() + begin, regions.most.data() + begin,
            end - begin};
  }

  Guard& guard() const { return guard_; }
  // That it is about what there is now. Inside a query.
  void renew() { changes_ = guard_.changes(); }
  // What it is about.
  std::uint64_t changes() const { return changes_; }

  // Calls search() as a query. False if that is no longer about what it was.
  template <class Search>
  bool answer(const Search& search) const {
    const Reading reading(guard_);
    if (!is_current()) return false;
    const ReleasedGil release;
    search();
    return true;
  }
  // Calls search(queries) with queries of a tree that a filter allows. Where it allows few rows, the tree is theirs.
  // With `copies`, it may be that of rows that differ.
  template <class Search>
  void search_allowed(const BlockIndex& index, const AnyBoxes& boxes, const QueryFilter& filter, const Search& search,
                      const SearchForCopies* copies = nullptr) const {
    const Kernels& kernels = chosen_kernels();
    const BlockTree& tree = index.walked();
    const bool has_inner = has_inner_blocks(tree), can_match = filter.has_layers() && has_inner;
    const LayerMatch match = can_match ? LayerMatch::of(filter, 0) : LayerMatch{};
    const auto make = [&] { return tree_of_matching(tree, boxes, filter.without_ignored(), 0, kernels); };
    MatchingTrees::State matching;
    if (can_match) matching = index.matching.get(match, changes_, make);
    const BlockTree& base = matching.tree != nullptr ? *matching.tree : tree;
    const auto make_distinct = [&] { return copies->make(base, filter.without_ignored(), 0); };
    WhenCopies when{};
    DistinctTrees::State distinct;
    if (copies != nullptr && has_inner) {
      when = copies->when;
      if (can_match) when.version = changes_;
      distinct = when.get(copies->trees, match, make_distinct);
    }
    const bool are_known = distinct.tree != nullptr;
    const TreeQueries queries(are_known ? distinct.tree->tree : base, boxes,
                              are_known || matching.tree != nullptr ? filter.without_layers() : filter, kernels,
                              are_known ? distinct.tree->next_copy.data() : nullptr);
    search(queries);
    if (can_match && !matching.is_decided && !are_known)
      index.matching.add_lost(match, changes_, queries.rejected(), MatchingTrees::enough(boxes.count()), make);
    // To take note of a little is a part of what one query takes.
    constexpr std::uint64_t kFew = 32;
    if (copies != nullptr && has_inner && !distinct.is_decided && queries.visited() > kFew)
      when.add_lost(copies->trees, match, DistinctTrees::lost(queries.visited()), false, make_distinct);
  }

  // Results.

  nb::handle kind(Result of) const { return PyTuple_GET_ITEM(results_.ptr(), static_cast<Py_ssize_t>(of)); }

  // Those of each query: rows[offsets[k]] to rows[offsets[k + 1]].
  nb::object rows_found(const Asked& asked, std::vector<std::int32_t>&& rows, const std::int64_t* offsets) const {
    const nb::object found = found_array(std::move(rows), NumPy::get().int32);
    if (asked.is_one) return found;
    return kind(kQueryResult)(found, small_array(offsets, asked.count + 1, 0, NumPy::get().int64));
  }
  template <class T>
  static nb::object found_array(std::vector<T>&& values, PyObject* dtype) {
    constexpr std::size_t kSmall = 1024;
    return values.size() > kSmall ? as_array(std::move(values)) : small_array(values.data(), values.size(), 0, dtype);
  }
  // Past the function of Python that a named tuple is called by, which would take as long as a query.
  nb::object named_tuple(Result of, nb::object first, nb::object second) const {
    const nb::tuple fields = nb::make_tuple(nb::make_tuple(first, second));
    auto* type = reinterpret_cast<PyTypeObject*>(kind(of).ptr());
    nb::object made = nb::steal(PyTuple_Type.tp_new(type, fields.ptr(), nullptr));
    if (!made.is_valid()) throw nb::python_error();
    return made;
  }

 private:
  nb::object guard_owner_;
  nb::tuple results_;
  Guard& guard_;
  std::size_t dimension_;
  std::atomic<std::uint64_t> changes_;
  FewRowsOf rows_;
};

}  // namespace broadphase::python
