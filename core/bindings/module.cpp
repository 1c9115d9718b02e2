// The compiled module: arrays in, row numbers out.
#include "bindings.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "choose/methods.hpp"
#include "query/collect.hpp"

namespace broadphase::python {

namespace {

std::atomic<const Kernels*> chosen{nullptr};

std::vector<std::string> simd_levels() {
  std::size_t count = 0;
  const Kernels* const* levels = available_kernels(count);
  std::vector<std::string> names;
  for (std::size_t k = 0; k < count; ++k) names.emplace_back(levels[k]->level);
  return names;
}

void set_simd_level(const std::string& name) {
  std::size_t count = 0;
  const Kernels* const* levels = available_kernels(count);
  for (std::size_t k = 0; k < count; ++k)
    if (name == levels[k]->level) {
      chosen = levels[k];
      return;
    }
  std::string known;
  for (const std::string& level : simd_levels()) known += (known.empty() ? "" : ", ") + level;
  throw nb::value_error(("SIMD level '" + name + "' is not one of: " + known).c_str());
}

// What this thread calls with the tasks that are done, and with all; null: nothing. Owned.
thread_local PyObject* watcher = nullptr;

// Takes None or a callable, and returns the one before.
nb::object watch(nb::object next) {
  PyObject* const before = std::exchange(watcher, next.is_none() ? nullptr : next.release().ptr());
  return before != nullptr ? nb::steal(before) : nb::none();
}

}  // namespace

const Kernels& chosen_kernels() { return *chosen.load(); }

bool signal_pending(std::size_t done, std::size_t total) {
  const RetakenGil gil;
  if (PyErr_CheckSignals() != 0) return true;
  if (watcher == nullptr || total == 0) return false;
  PyObject* const called = std::exchange(watcher, nullptr);  // not of the searches that it makes
  bool has_raised = false;
  try {
    call_python(called, done, total);
  } catch (nb::python_error& error) {
    error.restore();
    has_raised = true;
  }
  Py_XDECREF(std::exchange(watcher, called));
  return has_raised;
}

// One in each file. What others use comes first: the filters of pairs before the indexes, the base class of indexes on
// trees (tree_queries) before these, shapes before meshes. The indexes are those of the methods.
// clang-format off
#define BROADPHASE_BINDINGS(each) \
  each(pairs) each(guard) each(store) each(regions) each(forest) each(tree_queries) each(few_queries) each(few_bodies) \
  BROADPHASE_METHODS(each) each(joining) each(shapes) each(making_shapes) \
  each(meshes) each(mesh_scene) each(robots) each(columns) each(periodic_pairs) each(world) each(world_queries) each(world_overlaps) each(coherent_pairs) \
  each(budget) each(commit) each(suppression) each(padding) each(tiles) each(intervals) each(names) each(column_rows) \
  each(simple_features) each(nearest_features) each(neighbors) each(drop_ins) each(moving_points) each(lidar)
// clang-format on
#define BROADPHASE_DECLARE(name, ...) void bind_##name(nb::module_& module);
BROADPHASE_BINDINGS(BROADPHASE_DECLARE)

}  // namespace broadphase::python

// The name that the macro gives to its function, which the one at the end of this file calls.
#define PyInit__core init_core
NB_MODULE(_core, m) {
  using namespace broadphase;
  using namespace broadphase::python;

  // Daemon threads that are inside calls at exit keep what they use: nothing that a user is to read of.
  nb::set_leak_warnings(false);
  m.def("set_leak_warnings", &nb::set_leak_warnings, "on"_a,
        "Say whether the interpreter's end lists the objects of this module that are left; for tests.");
  const char* wanted = std::getenv("BROADPHASE_SIMD");
  set_simd_level(wanted != nullptr && *wanted != '\0' ? std::string(wanted) : simd_levels().back());
  m.def("simd_levels", &simd_levels, "SIMD levels of this build that this processor supports, weakest first.");
  m.def("simd_level", [] { return std::string(chosen_kernels().level); }, "The SIMD level in use.");
  m.def("set_simd_level", &set_simd_level, "name"_a, "Select the SIMD level.");
  m.def("watch", &watch, "watcher"_a.none(),
        "Call ``watcher(done, total)`` now and then while this thread searches; None: no longer. Returns the one "
        "before.");

  nb::exception<InvalidBoxes>(m, "InvalidBoxes", PyExc_ValueError);
  nb::exception<TooManyPairs>(m, "TooManyPairs", PyExc_RuntimeError);
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const Interrupted&) {
      // PyErr_CheckSignals has set the exception of the signal's handler.
    }
  });

#define BROADPHASE_BIND(name, ...) bind_##name(m);
  BROADPHASE_BINDINGS(BROADPHASE_BIND)
}
#undef PyInit__core

namespace {

int (*fill_module)(PyObject* module) = nullptr;

// nanobind knows one interpreter. Calls from another one, such as that of an application of mod_wsgi, would wait for
// ever for the GIL that they have, and whatever fills the module there takes it away from the first.
int fill_in_main_interpreter(PyObject* module) {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return fill_module(module);
  PyErr_SetString(PyExc_ImportError,
                  "broadphase cannot be used in a subinterpreter, only in the main interpreter of a process (with "
                  "mod_wsgi: WSGIApplicationGroup %{GLOBAL})");
  return -1;
}

}  // namespace

extern "C" NB_EXPORT PyObject* PyInit__core(void);
extern "C" NB_EXPORT PyObject* PyInit__core(void) {
  PyObject* const made = init_core();
  if (made == nullptr || !PyObject_TypeCheck(made, &PyModuleDef_Type)) return made;
  void* const ours = reinterpret_cast<void*>(&fill_in_main_interpreter);
  for (PyModuleDef_Slot* slot = reinterpret_cast<PyModuleDef*>(made)->m_slots; slot->slot != 0; ++slot)
    if (slot->slot == Py_mod_exec && slot->value != ours)
      fill_module = reinterpret_cast<int (*)(PyObject*)>(std::exchange(slot->value, ours));
  return made;
}
