// What `with` statements hold of a guard.
#include "guard.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "bindings.hpp"

namespace broadphase::python {

namespace {

// What a `with` statement holds. It is released when the statement is left, and at the latest when nothing refers to it
// any more: an exception that falls between the statement's own instructions, such as Ctrl-C or one raised by a
// debugger, cannot leave the guard held.
class Hold {
 public:
  using Step = void (Guard::*)();

  Hold(nb::handle guard, Step start, Step stop)
      : owner_(nb::borrow(guard)), guard_(nb::inst_ptr<Guard>(guard)), start_(start), stop_(stop) {}
  Hold(Hold&& other) noexcept
      : owner_(std::move(other.owner_)),
        guard_(other.guard_),
        start_(other.start_),
        stop_(other.stop_),
        is_held_(std::exchange(other.is_held_, false)) {}
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() { leave(); }

  void enter() {
    if (is_held_) throw std::runtime_error("this hold has been entered already: get another one from the guard");
    (guard_->*start_)();
    is_held_ = true;
  }

  void leave() {
    if (std::exchange(is_held_, false)) (guard_->*stop_)();
  }

 private:
  nb::object owner_;
  Guard* guard_;
  Step start_, stop_;
  bool is_held_ = false;
};

template <Hold::Step start, Hold::Step stop>
Hold hold(nb::handle_t<Guard> guard) {
  return {guard, start, stop};
}

}  // namespace

void bind_guard(nb::module_& module) {
  nb::class_<Hold>(module, "Hold", "What ``with guard.reading:`` and its like hold; for one ``with`` statement.")
      .def("__enter__", &Hold::enter)
      .def(
          "__exit__", [](Hold& hold, nb::handle, nb::handle, nb::handle) { hold.leave(); }, "type"_a.none(),
          "error"_a.none(), "traceback"_a.none());
  nb::class_<Guard>(module, "Guard", "Many readers or one writer of an index or a world; others are refused.")
      .def(nb::init<std::string>(), "name"_a = "index")
      .def_prop_ro("reading", &hold<&Guard::start_reading, &Guard::stop_reading>,
                   "What a query runs in; RuntimeError while a change runs.")
      .def_prop_ro("changing", &hold<&Guard::start_changing, &Guard::stop_changing>,
                   "What a change runs in; RuntimeError while a query or another change runs.")
      .def_prop_ro("is_changing", &Guard::is_changing, "Whether a change runs.")
      .def_prop_ro("changes", &Guard::changes, "How many changes have begun.")
      .def_prop_ro("building", &hold<&Guard::start_building, &Guard::stop_building>,
                   "What a query builds in: other threads wait, and the thread that builds is refused.");
}

}  // namespace broadphase::python
