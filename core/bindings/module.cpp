// The compiled module: arrays in, row numbers out.
#include "bindings.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

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

// After the meshes, whose classes it uses.
void bind_mesh_scene(nb::module_& module);
void bind_robots(nb::module_& module);
void bind_seams(nb::module_& module);
void bind_world(nb::module_& module);
void bind_coherent_pairs(nb::module_& module);
// After the shapes, whose class it uses.
void bind_meetings(nb::module_& module);
void bind_forest(nb::module_& module);
void bind_turns(nb::module_& module);
void bind_neighbors(nb::module_& module);
void bind_tiles(nb::module_& module);
// After the pairs, whose filters it uses.
void bind_intervals(nb::module_& module);
void bind_names(nb::module_& module);
void bind_simple_features(nb::module_& module);
void bind_drop_ins(nb::module_& module);
void bind_moving_points(nb::module_& module);

}  // namespace broadphase::python

NB_MODULE(_core, m) {
  using namespace broadphase;
  using namespace broadphase::python;

  // Daemon threads that are inside calls at exit keep what they use: nothing that a user is to read of.
  nb::set_leak_warnings(false);
  m.def("set_leak_warnings", &nb::set_leak_warnings, nb::arg("on"),
        "Say whether the interpreter's end lists the objects of this module that are left; for tests.");
  const char* wanted = std::getenv("BROADPHASE_SIMD");
  set_simd_level(wanted != nullptr && *wanted != '\0' ? std::string(wanted) : simd_levels().back());
  m.def("simd_levels", &simd_levels, "SIMD levels of this build that this processor supports, weakest first.");
  m.def("simd_level", [] { return std::string(chosen_kernels().level); }, "The SIMD level in use.");
  m.def("set_simd_level", &set_simd_level, nb::arg("name"), "Select the SIMD level.");
  m.def("watch", &watch, nb::arg("watcher").none(),
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

  bind_pairs(m);
  bind_guard(m);
  bind_store(m);
  bind_regions(m);
  bind_forest(m);
  bind_tree_queries(m);
  bind_few_queries(m);
  bind_bvh(m);
  bind_octree(m);
  bind_linear_tree(m);
  bind_sweep_and_prune(m);
  bind_brute_force(m);
  bind_joining(m);
  bind_grid(m);
  bind_shapes(m);
  bind_meshes(m);
  bind_mesh_scene(m);
  bind_robots(m);
  bind_touching(m);
  bind_seams(m);
  bind_world(m);
  bind_coherent_pairs(m);
  bind_meetings(m);
  bind_turns(m);
  bind_commit(m);
  bind_suppression(m);
  bind_padding(m);
  bind_tiles(m);
  bind_intervals(m);
  bind_names(m);
  bind_simple_features(m);
  bind_neighbors(m);
  bind_motion(m);
  bind_drop_ins(m);
  bind_moving_points(m);
}
