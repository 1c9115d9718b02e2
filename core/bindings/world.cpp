// The step of a world: the columns that it borrows from Python, what it calls in Python, and what it found.
#include "world/step.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "base/team.hpp"
#include "bindings.hpp"
#include "bodies.hpp"
#include "borrowed_columns.hpp"
#include "change.hpp"
#include "filters.hpp"

namespace broadphase::python {

namespace {

template <class T>
nb::object array_of(const std::vector<T>& values, std::initializer_list<std::size_t> shape) {
  return as_array(std::vector<T>(values), shape);
}
template <class T>
nb::object array_of(const std::vector<T>& values) {
  return as_array(std::vector<T>(values));
}

nb::object flags_of(const std::uint8_t* flags, std::size_t count) {
  return as_array(std::vector<std::uint8_t>(flags, flags + count));
}

template <class T>
std::vector<T> values_of(nb::handle array) {
  const auto given = nb::cast<nb::ndarray<const T, nb::c_contig, nb::device::cpu>>(array);
  return {given.data(), given.data() + given.size()};
}

// others(first, second, numbers of each pair...) gives times and normals.
template <class Pairs, class... Numbers>
void ask_for_times(nb::handle others, Pairs& some, const Numbers&... numbers) {
  const auto [times, normals] = nb::cast<std::tuple<Vector<double>, Table<double>>>(
      call_python(others, as_array(std::vector(some.first)), as_array(std::vector(some.second)), numbers...));
  require(times.shape(0) == some.times.size() && normals.size() == some.normals.size());
  std::copy_n(times.data(), some.times.size(), some.times.begin());
  std::copy_n(normals.data(), some.normals.size(), some.normals.begin());
}

// (pairs (m, 2), times, normals).
template <std::size_t D>
nb::object as_columns(const std::vector<Meeting<D>>& meetings) {
  Pairs pairs;
  std::vector<double> times, normals;
  for (const Meeting<D>& one : meetings) {
    push(pairs, one.first, one.second);
    times.push_back(one.time);
    normals.insert(normals.end(), one.normal.begin(), one.normal.end());
  }
  return as_tuple(std::move(pairs), std::move(times), as_table(std::move(normals), D));
}

// Pairs, since when, and whether dropped: see `Waiting`.
nb::tuple parts_of(const Waiting& waiting) {
  return as_tuple(copy_of(waiting.columns()), array_of(waiting.since), array_of(waiting.dropped));
}
Waiting waiting_of(nb::handle given) {
  const auto [pairs, since, dropped] = nb::cast<std::tuple<nb::object, nb::object, nb::object>>(given);
  const Pairs some = pairs_of(pairs);
  Waiting waiting{{some.block.get(), some.block.get() + some.size},
                  {some.block.get() + some.stride, some.block.get() + some.stride + some.size},
                  values_of<std::int64_t>(since),
                  values_of<std::uint8_t>(dropped)};
  if (waiting.since.size() != some.size || waiting.dropped.size() != some.size)
    throw nb::value_error("one number and one flag for each pair that waits");
  return waiting;
}

// The callbacks of a step are methods of an object of Python.
template <std::size_t D>
class PythonCallbacks final : public StepCallbacks<D> {
 public:
  PythonCallbacks(nb::handle answers, const Columns<D>& columns, double dt)
      : answers_(answers), columns_(columns), dt_(dt) {}

  void refuse(typename StepCallbacks<D>::Refusal why, std::size_t row) override {
    const RetakenGil gil;
    call("refuse", static_cast<int>(why), row, dt_);
    throw nb::value_error("a row of a world is refused");
  }
  Ragged near(const std::vector<double>& boxes, const RowList& rows) override {
    const RetakenGil gil;
    const nb::object found = call("near", boxes_of(boxes), array_of(rows));
    const auto [near_rows, offsets] = nb::cast<std::tuple<nb::object, nb::object>>(found);
    Ragged near{values_of<std::int32_t>(near_rows), values_of<std::int64_t>(offsets)};
    if (near.offsets.size() != rows.size() + 1) throw nb::value_error("the offsets are those of other queries");
    return near;
  }
  void enlarge(const std::vector<double>& boxes, const RowList& rows) override {
    const RetakenGil gil;
    call("enlarge", boxes_of(boxes), array_of(rows));
  }
  void look_at_margins(const Pairs& pairs, std::size_t rows) override {
    const RetakenGil gil;
    call("look_at_margins", as_array(copy_of(columns_of(pairs))), rows);
  }
  std::optional<Pairs> by_given_method(const Filter* filter) override {
    const RetakenGil gil;
    const nb::object allowed = filter == nullptr ? nb::none() : nb::cast(PairFilter(*filter)),
                     found = call("by_given_method", allowed);
    if (found.is_none()) return std::nullopt;
    return pairs_of(found);
  }
  Pairs touching(const RowList& pairs) override {
    const RetakenGil gil;
    return pairs_of(call("touching", array_of(pairs, {pairs.size() / 2, 2})));
  }
  Pairs touching_images(const RowList& pairs, const std::vector<double>& offsets) override {
    const RetakenGil gil;
    const std::size_t count = pairs.size() / 2;
    return pairs_of(call("touching_images", array_of(pairs, {count, 2}), array_of(offsets, {count, D})));
  }
  Spent spend(const PairColumns& pairs, bool is_tight, const std::uint8_t* renewed) override {
    const RetakenGil gil;
    const nb::object spent = call("spend", as_array(copy_of(pairs)), is_tight, flags_of(renewed, columns_.slots));
    const auto [found, waiting, left, tests, seconds] =
        nb::cast<std::tuple<nb::object, nb::object, nb::object, std::size_t, double>>(spent);
    return {pairs_of(found), waiting_of(waiting), pairs_of(left), tests, seconds};
  }
  void refuse(const EndlessRoute<D>& route) override {
    const RetakenGil gil;
    nb::list from, motion;
    for (const double x : route.from) from.append(x);
    for (const double x : route.motion) motion.append(x);
    call("refuse_route", route.row, kMostBends, from, motion);
    throw nb::value_error("a route of a world is refused");
  }
  void meet(Approaches<D>& pairs) override {
    const RetakenGil gil;
    const nb::object meet = answers_.attr("meet");
    ask_for_times(meet, pairs, as_table(std::vector(pairs.motions), D), as_table(std::vector(pairs.offsets), D));
  }
  void meet(TurningApproaches<D>& pairs) override {
    const RetakenGil gil;
    constexpr std::size_t kNumbers = PairMotion<D>::kNumbers;
    std::vector<double> motions(pairs.size() * kNumbers);
    std::memcpy(motions.data(), pairs.motions.data(), motions.size() * sizeof(double));
    const nb::object meet = answers_.attr("meet_turning");
    ask_for_times(meet, pairs, as_table(std::move(motions), kNumbers));
  }

 private:
  template <class... Arguments>
  nb::object call(const char* name, const Arguments&... arguments) const {
    const nb::object method = answers_.attr(name);
    return call_python(method, arguments...);
  }
  static nb::object boxes_of(const std::vector<double>& boxes) {
    return array_of(boxes, {boxes.size() / (2 * D), 2, D});
  }

  nb::handle answers_;
  const Columns<D>& columns_;
  double dt_;
};

// The pairs that touch after a step, for the core and for Python.
struct TouchingArray {
  std::shared_ptr<const Touching> touching;
  nb::object array;  // made on first access

  nb::object get() {
    if (!array.is_valid()) {
      const PairColumns pairs = touching->columns();
      static const std::int32_t kNone = 0;
      const std::int32_t* data = pairs.first != nullptr ? pairs.first : &kNone;
      const std::int64_t strides[2] = {1, pairs.count > 0 ? static_cast<std::int64_t>(touching->pairs.stride) : 1};
      array = array_in(std::shared_ptr(touching), data, {pairs.count, 2}, strides);
    }
    return array;
  }
};

// What a step found, as arrays that are made when they are looked at.
class Found {
 public:
  template <std::size_t D>
  Found(Step<D>& step, const StepRequest& request, double time, bool is_dropped,
        std::shared_ptr<TouchingArray> touching, nb::object method)
      : number_(request.number),
        time_(time),
        is_dropped_(is_dropped),
        touching_(std::move(touching)),
        enter_(std::move(step.enter)),
        exit_(std::move(step.exit)),
        left_(std::move(step.left)),
        enter_at_(std::move(step.enter_at)),
        exit_handles_(std::move(step.exit_handles)),
        removed_handles_(std::move(step.removed_handles)),
        impacts_(std::move(step.impacts.meetings)),
        stats_(step.stats),
        method_(std::move(method)) {}

  std::int64_t number() const { return number_; }
  double time() const { return time_; }
  bool is_dropped() const { return is_dropped_; }
  nb::object touching() const { return touching_->get(); }
  nb::object enter() { return once(arrays_[0], enter_); }
  nb::object exit() { return once(arrays_[1], exit_); }
  nb::object left() { return once(arrays_[2], left_); }
  nb::object enter_at() const { return array_of(enter_at_); }
  nb::object exit_handles() {
    if (!arrays_[3].is_valid()) arrays_[3] = as_table(std::move(exit_handles_), 2);
    return arrays_[3];
  }
  nb::object removed_handles() {
    if (!arrays_[4].is_valid()) arrays_[4] = array_of(removed_handles_);
    return arrays_[4];
  }
  nb::object impacts() const {
    return std::visit([](const auto& meetings) { return as_columns(meetings); }, impacts_);
  }
  nb::dict stats() const {
    nb::dict stats;
    stats["method"] = method_;
    stats["reason"] = reason();
    stats["bodies"] = stats_.bodies;
    stats["changed"] = stats_.changed;
    stats["looked_at"] = stats_.looked_at;
    stats["candidates"] = stats_.candidates;
    stats["tests"] = stats_.tests;
    stats["compared"] = stats_.compared;
    stats["followed"] = stats_.followed;
    stats["route_pairs"] = stats_.route_pairs;
    stats["brute_force_tests"] = stats_.bodies > 0 ? stats_.bodies * (stats_.bodies - 1) / 2 : 0;
    stats["seconds_of_motion"] = stats_.motion;
    stats["seconds_of_broad_phase"] = stats_.broad_phase;
    stats["seconds_of_narrow_phase"] = stats_.narrow_phase;
    stats["seconds"] = seconds_;
    stats["seconds_uncut"] = seconds_ - stats_.cut;
    return stats;
  }
  void end(double seconds) { seconds_ = seconds; }

 private:
  static nb::object once(nb::object& array, Pairs& pairs) {
    if (!array.is_valid()) array = as_array(std::move(pairs));
    return array;
  }
  std::string reason() const {
    const std::string some = std::to_string(stats_.changed) + " of " + std::to_string(stats_.living) + " changed: ",
                      ago = std::to_string(stats_.near_uses) + " steps ago";
    switch (stats_.search) {
      case Search::given_for_each_batch: return "the method was given, for each batch";
      case Search::given: return "the method was given";
      case Search::near: return some + "those near each other " + ago;
      case Search::near_few: return some + "those near them " + ago;
      case Search::all: return some + "search for all pairs";
      case Search::around: return some + "queries of a tree around these";
      case Search::none: break;
    }
    return "nothing has changed";
  }

  std::int64_t number_;
  double time_;
  bool is_dropped_;  // what a budget left does not wait
  std::shared_ptr<TouchingArray> touching_;
  Pairs enter_, exit_, left_;
  std::vector<std::int64_t> enter_at_, exit_handles_, removed_handles_;
  std::variant<std::vector<Meeting<2>>, std::vector<Meeting<3>>> impacts_;
  StepStats stats_;
  nb::object method_, arrays_[5];
  double seconds_ = 0;
};

// How the steps of a world find pairs, and the name of the method for reports.
struct StepSearch {
  nb::object name;
  SearchOptions options;
  std::vector<double> limits;
};

// A world of Python: columns that it borrows, and what steps remember.
class PyWorld {
 public:
  PyWorld(nb::handle columns, nb::handle rows, std::size_t dimension, std::optional<Vector<double>> bounds,
          int boundary, bool closed)
      : columns_(columns, rows, dimension, bounds, static_cast<Boundary>(boundary), closed) {
    if (dimension == 3) world_.emplace<World<3>>();
    last_ = std::make_shared<TouchingArray>(memory_.touching, nb::object());
  }

  // `drops`: whether a budget drops what it leaves; none: there is no budget. `behind`: rows whose boxes may have left
  // those of the index, if there is one.
  nb::object step(double dt, std::optional<bool> drops, bool are_all_in_core, nb::handle_t<StepSearch> search,
                  std::optional<WrittenFlags> behind, nb::handle answers) {
    if (!search.is(search_)) {
      if (search_.is_valid()) {
        memory_.near = NearPairs();
        memory_.quiet_steps = 0;
      }
      search_ = nb::borrow(search);
    }
    StepRequest request{};
    request.number = number + 1;
    request.dt = dt;
    request.has_budget = drops.has_value();
    request.are_all_in_core = are_all_in_core;
    request.behind = behind ? behind->data() : nullptr;
    const StepSearch& how = *nb::inst_ptr<StepSearch>(search);
    request.search = how.options;
    request.search.limits = how.limits.empty() ? nullptr : how.limits.data();
    request.search.kernels = &chosen_kernels();
    return std::visit([&](auto& world) { return step_of(world, request, drops.value_or(false), behind, answers); },
                      world_);
  }

  // Places the shapes of all rows where the rows are.
  void look(std::optional<WrittenFlags> behind, nb::handle answers) {
    std::visit([&](auto& world) { look_at(world, behind, answers); }, world_);
  }

  void let_go() { columns_.let_go(); }
  bool add_body(const NewBody& body, const Followers& followers) {
    return std::visit([&]<std::size_t D>(World<D>&) { return python::add_body<D>(columns_, body, followers); }, world_);
  }
  bool remove_body(std::size_t row, nb::handle then, const Followers& followers) {
    return std::visit([&]<std::size_t D>(World<D>&) { return python::remove_body<D>(columns_, row, then, followers); },
                      world_);
  }

  nb::object touching() { return last_->get(); }
  void set_touching(nb::handle array, std::size_t rows) {
    auto next = std::make_shared<Touching>();
    next->pairs = pairs_of(array);
    next->rows = rows;
    next->starts.grow(rows + 1);
    std::size_t at = 0;
    for (std::size_t row = 0; row <= rows; ++row) {
      while (at < next->pairs.size && static_cast<std::size_t>(next->pairs.block[at]) < row) ++at;
      next->starts[row] = static_cast<std::uint32_t>(at);
    }
    memory_.touching = next;
    last_ = std::make_shared<TouchingArray>(memory_.touching, nb::object());
  }
  nb::tuple waiting() const { return parts_of(memory_.waiting); }
  void set_waiting(nb::handle given) {
    memory_.waiting = waiting_of(given);
    memory_.has_left = true;
  }
  void forget_near() { memory_.near.drop(); }
  std::size_t memory_bytes() const {
    const Touching& touching = *memory_.touching;
    return memory_.memory_bytes() + touching.pairs.stride * 2 * sizeof(std::int32_t);
  }

  int quiet_steps() const { return memory_.quiet_steps; }
  void set_quiet_steps(int steps) { memory_.quiet_steps = steps; }

  std::int64_t number = 0;
  double time = 0;
  nb::object found = nb::none();  // of the last step; None before the first

 private:
  // What else is to be written: rows that leave, and what shows the shapes.
  std::unique_ptr<PreparedChange> prepared(nb::handle answers, const RowList& removed,
                                           const std::vector<std::int64_t>& handles) const {
    if (removed.empty() && !columns_.has_view()) return nullptr;
    const nb::object changes = answers.attr("changes"),
                     more = call_python(changes, array_of(removed), array_of(handles));
    const auto list = [&](const char* name) { return nb::cast<nb::list>(more.attr(name)); };
    return std::make_unique<PreparedChange>(list("_arrays"), list("_dictionaries"), list("_items"), list("_shapes"));
  }

  static void require_room(const std::optional<WrittenFlags>& behind, std::size_t slots) {
    if (behind && behind->shape(0) < slots) throw nb::value_error("a flag for each row that is behind");
  }

  template <std::size_t D>
  void look_at(World<D>& world, const std::optional<WrittenFlags>& behind, nb::handle answers) {
    const Columns<D> columns = columns_.look<D>();
    require_room(behind, columns.slots);
    PythonCallbacks<D> callbacks(answers, columns, 0);
    without_gil(columns.slots, [&] { world.look(columns, callbacks); });
    const std::unique_ptr<PreparedChange> change = prepared(answers, {}, {});
    const nb::object no_frame = nb::int_(0);
    for (std::size_t row = 0; behind && row < columns.slots; ++row) behind->data()[row] |= columns.moved[row];
    memory_.near.drop();
    std::copy_n(columns.next_changed, columns.slots, columns.changed);
    if (columns_.has_displaced()) std::fill_n(columns.displaced, columns.slots, std::uint8_t{0});
    columns_.swap_placements(no_frame);
    if (change) change->write(1);
  }

  template <std::size_t D>
  nb::object step_of(World<D>& world, StepRequest& request, bool is_dropped, std::optional<WrittenFlags> behind,
                     nb::handle answers) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point began = Clock::now();
    const Columns<D> columns = columns_.look<D>();
    require_room(behind, columns.slots);
    request.has_displaced = columns_.has_displaced();
    request.is_held = columns_.is_held();
    request.writes = columns_.writes();
    PythonCallbacks<D> callbacks(answers, columns, request.dt);
    std::optional<Team> team(std::in_place);  // of all that is done without the GIL
    Step<D> step = without_gil(columns.slots, [&] {
      Interrupt interrupt(signal_pending);
      return world.step(columns, memory_, request, callbacks, interrupt);
    });
    if (step.is_synchronized) {  // the index may have been built meanwhile
      const nb::object now_behind = answers.attr("behind");
      behind = nb::cast<WrittenFlags>(call_python(now_behind), false);
      require_room(behind, columns.slots);
      request.behind = behind->data();
    }

    // All that is needed is made before anything is written.
    const std::unique_ptr<PreparedChange> change = prepared(answers, step.moved.removed, step.removed_handles);
    std::shared_ptr<TouchingArray> next = last_;
    if (step.touching != memory_.touching) next = std::make_shared<TouchingArray>(step.touching, nb::object());
    const double then = time + request.dt;
    auto result =
        std::make_unique<Found>(step, request, then, is_dropped, next, nb::inst_ptr<StepSearch>(search_)->name);
    Found& outcome = *result;
    nb::object kept = nb::cast(result.release(), nb::rv_policy::take_ownership);
    const nb::object number_then = nb::int_(request.number);

    without_gil(columns.slots, [&] {
      world.commit(columns, memory_, request, step);
      team.reset();
    });
    if (request.has_displaced) std::fill_n(columns.displaced, columns.slots, std::uint8_t{0});
    columns_.swap_placements(number_then);
    columns_.forget_removals();
    if (change) change->write(1);
    number = request.number;
    time = then;
    last_ = std::move(next);
    found = kept;
    outcome.end(std::chrono::duration<double>(Clock::now() - began).count());
    return kept;
  }

  std::variant<World<2>, World<3>> world_;
  BorrowedColumns columns_;
  StepMemory memory_;
  nb::object search_;  // by which the last step searched
  std::shared_ptr<TouchingArray> last_;
};

}  // namespace

void bind_world(nb::module_& module) {
  nb::class_<StepLimits>(module, "StepLimits", "When a step does what: for tests.")
      .def_rw("few", &StepLimits::few)
      .def_rw("steps_before_a_tree", &StepLimits::steps_before_a_tree)
      .def_rw("rows_for_a_tree", &StepLimits::rows_for_a_tree)
      .def_rw("rows_for_near_pairs", &StepLimits::rows_for_near_pairs)
      .def_rw("steady", &StepLimits::steady)
      .def_rw("followed", &StepLimits::followed);
  module.attr("step_limits") = nb::cast(&step_limits, nb::rv_policy::reference);
  nb::class_<Found>(module, "StepFound", "What a step found; arrays are made when they are looked at.")
      .def_prop_ro("number", &Found::number)
      .def_prop_ro("time", &Found::time)
      .def_prop_ro("touching", &Found::touching, nb::sig("def touching(self, /) -> numpy.typing.NDArray[numpy.int32]"))
      .def_prop_ro("enter", &Found::enter, nb::sig("def enter(self, /) -> numpy.typing.NDArray[numpy.int32]"))
      .def_prop_ro("exit", &Found::exit, nb::sig("def exit(self, /) -> numpy.typing.NDArray[numpy.int32]"))
      .def_prop_ro("left", &Found::left, nb::sig("def left(self, /) -> numpy.typing.NDArray[numpy.int32]"))
      .def_prop_ro("is_dropped", &Found::is_dropped)
      .def_prop_ro("enter_at", &Found::enter_at, nb::sig("def enter_at(self, /) -> numpy.typing.NDArray[numpy.int64]"))
      .def_prop_ro("exit_handles", &Found::exit_handles,
                   nb::sig("def exit_handles(self, /) -> numpy.typing.NDArray[numpy.int64]"))
      .def_prop_ro("removed_handles", &Found::removed_handles,
                   nb::sig("def removed_handles(self, /) -> numpy.typing.NDArray[numpy.int64]"))
      .def_prop_ro("impacts", &Found::impacts,
                   nb::sig("def impacts(self, /) -> tuple[typing.Any, typing.Any, typing.Any]"))
      .def_prop_ro("stats", &Found::stats, nb::sig("def stats(self, /) -> dict[str, typing.Any]"));
  nb::class_<StepSearch>(module, "StepSearch", "How the steps of a world find pairs.")
      .def(
          "__init__",
          [](StepSearch* self, nb::object name, MethodName method, bool keeps_nothing, unsigned workers,
             std::optional<Vector<double>> limits, bool refuses_outside) {
            const bool is_given = method != MethodName::automatic;
            new (self) StepSearch{
                std::move(name), {method, is_given, keeps_nothing, workers, nullptr, nullptr, refuses_outside}, {}};
            if (limits) self->limits.assign(limits->data(), limits->data() + limits->size());
          },
          "name"_a, "method"_a, "keeps_nothing"_a, "workers"_a, "limits"_a.none() = nb::none(),
          "refuses_outside"_a = false);
  nb::class_<PyWorld>(module, "World", "The steps of a world, whose columns it borrows.")
      .def(nb::init<nb::handle, nb::handle, std::size_t, std::optional<Vector<double>>, int, bool>(), "columns"_a,
           "rows"_a, "dimension"_a, "bounds"_a.none(), "boundary"_a, "closed"_a)
      .def("step", &PyWorld::step, "dt"_a, "drops"_a.none(), "are_all_in_core"_a, "search"_a,
           "behind"_a.noconvert().none(), "answers"_a,
           nb::sig("def step(self, dt: float, drops: bool | None, are_all_in_core: bool, search: StepSearch, "
                   "behind: typing.Any, answers: typing.Any) -> StepFound"),
           "Do a step: all of it, or nothing.")
      .def("look", &PyWorld::look, "behind"_a.noconvert().none(), "answers"_a,
           "Place the shapes of all rows where the rows are.")
      .def(
          "add_body",
          [](PyWorld& self, nb::handle kind, nb::handle record, nb::handle position, nb::handle velocity,
             nb::handle rotation, nb::handle angular_velocity, std::uint8_t type, int boundary, std::uint64_t layer,
             std::uint64_t mask, nb::tuple rare, nb::handle actor, nb::handle world, nb::handle data, int hooks,
             bool is_held, nb::handle actors, nb::handle index, nb::handle settle, nb::handle view) {
            return self.add_body({kind, record, position, velocity, rotation, angular_velocity, type, boundary, layer,
                                  mask, std::move(rare), actor, world, data, hooks, is_held},
                                 {actors, index, settle, view});
          },
          "kind"_a, "record"_a, "position"_a, "velocity"_a.none(), "rotation"_a.none(), "angular_velocity"_a.none(),
          "type"_a, "boundary"_a, "layer"_a, "mask"_a, "rare"_a, "actor"_a, "world"_a, "data"_a.none(), "hooks"_a,
          "is_held"_a, "actors"_a, "index"_a.none(), "settle"_a, "view"_a.none(),
          "Take one row into use; false, and nothing has changed, for what is not usual.")
      .def(
          "remove_body",
          [](PyWorld& self, std::size_t row, nb::handle then, nb::handle actors, nb::handle index) {
            return self.remove_body(row, then, {actors, index, {}, {}});
          },
          "row"_a, "then"_a.none(), "actors"_a, "index"_a.none(),
          "Take one row out of use; false, and nothing has changed, for what is not usual.")
      .def("let_go", &PyWorld::let_go, "Let go of arrays that longer ones have replaced.")
      .def("set_touching", &PyWorld::set_touching, "pairs"_a, "rows"_a)
      .def("forget_near", &PyWorld::forget_near)
      .def_prop_ro("touching", &PyWorld::touching,
                   nb::sig("def touching(self, /) -> numpy.typing.NDArray[numpy.int32]"))
      .def_prop_rw(
          "waiting", &PyWorld::waiting, &PyWorld::set_waiting,
          nb::for_getter(nb::sig("def waiting(self, /) -> tuple[typing.Any, typing.Any, typing.Any]")),
          nb::for_setter(nb::sig("def waiting(self, arg: tuple[typing.Any, typing.Any, typing.Any], /) -> None")))
      .def_prop_rw("quiet_steps", &PyWorld::quiet_steps, &PyWorld::set_quiet_steps)
      .def_prop_ro("memory_bytes", &PyWorld::memory_bytes)
      .def_rw("number", &PyWorld::number)
      .def_rw("time", &PyWorld::time)
      .def_prop_ro(
          "found", [](const PyWorld& self) { return self.found; }, nb::sig("def found(self, /) -> StepFound | None"));
}

}  // namespace broadphase::python
