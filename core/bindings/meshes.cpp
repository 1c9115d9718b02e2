// Triangles of meshes.
#include <cstdint>

#include "bindings.hpp"
#include "narrow/triangles.hpp"

namespace broadphase::python {

namespace {

// Of the candidates, a row of the first faces and one of the second each, those whose triangles meet.
nb::object triangle_pairs(Table<double> vertices, Table<std::int32_t> faces, Table<double> other_vertices,
                          Table<std::int32_t> other_faces, Vector<std::int32_t> first, Vector<std::int32_t> second,
                          bool touching, unsigned workers) {
  const TrianglePairs method({vertices.data(), faces.data()}, {other_vertices.data(), other_faces.data()}, first.data(),
                             second.data(), first.shape(0), touching);
  Pairs result;
  {
    const nb::gil_scoped_release release;
    Interrupt interrupt(signal_pending);
    result = collect_pairs(method, nullptr, workers, kNoLimit, interrupt);
  }
  return as_array(std::move(result));
}

}  // namespace

void bind_meshes(nb::module_& module) {
  module.def("triangle_pairs", &triangle_pairs, nb::arg("vertices"), nb::arg("faces"), nb::arg("other_vertices"),
             nb::arg("other_faces"), nb::arg("first"), nb::arg("second"), nb::arg("touching"), nb::arg("workers"));
}

}  // namespace broadphase::python
