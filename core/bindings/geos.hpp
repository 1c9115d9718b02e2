// Simple features as shapely has them: read from its geometries by the functions of the GEOS that it has loaded.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/read_ahead.hpp"
#include "bindings.hpp"
#include "narrow/simple_features.hpp"

namespace broadphase::python {

// Functions of the C API of GEOS (3.11 and later), and one of the C API of shapely.
class GeosFunctions {
 public:
  using Context = void*;
  using Geometry = const void*;
  using Sequence = const void*;

  // find(name): the address of a function of GEOS. Raises what `find` raises, and ImportError without shapely.
  explicit GeosFunctions(const nb::callable& find) {
    const auto look_up = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(nb::cast<std::uintptr_t>(find(name)));
    };
    look_up(begin, "GEOS_init_r");
    look_up(end, "GEOS_finish_r");
    look_up(extent, "GEOSGeom_getExtent_r");
    look_up(type, "GEOSGeomTypeId_r");
    look_up(coordinate_count, "GEOSGetNumCoordinates_r");
    look_up(part_count, "GEOSGetNumGeometries_r");
    look_up(part, "GEOSGetGeometryN_r");
    look_up(hole_count, "GEOSGetNumInteriorRings_r");
    look_up(hole, "GEOSGetInteriorRingN_r");
    look_up(shell, "GEOSGetExteriorRing_r");
    look_up(sequence, "GEOSGeom_getCoordSeq_r");
    look_up(size, "GEOSCoordSeq_getSize_r");
    look_up(copy, "GEOSCoordSeq_copyToBuffer_r");
    look_up(distance, "GEOSDistance_r");
    look_up(equal, "GEOSEquals_r");
    const auto* shapely = static_cast<void* const*>(PyCapsule_Import("shapely.lib._C_API", 0));
    if (shapely == nullptr) throw nb::python_error();
    geometry = reinterpret_cast<decltype(geometry)>(shapely[1]);  // PyGEOS_GetGEOSGeometry
  }

  Context (*begin)();
  void (*end)(Context);
  int (*extent)(Context, Geometry, double* x, double* y, double* x_end, double* y_end);  // 0 for empty ones
  int (*type)(Context, Geometry);
  int (*coordinate_count)(Context, Geometry);
  int (*part_count)(Context, Geometry);
  Geometry (*part)(Context, Geometry, int);
  int (*hole_count)(Context, Geometry);
  Geometry (*hole)(Context, Geometry, int);
  Geometry (*shell)(Context, Geometry);
  Sequence (*sequence)(Context, Geometry);
  int (*size)(Context, Sequence, unsigned*);
  int (*copy)(Context, Sequence, double*, int has_z, int has_m);
  int (*distance)(Context, Geometry, Geometry, double*);  // 0 for what GEOS cannot measure
  char (*equal)(Context, Geometry, Geometry);             // 2 for what it cannot compare
  char (*geometry)(PyObject*, Geometry*);                 // null for None
};

// What GEOS wants to be given by a thread.
class GeosContext {
 public:
  explicit GeosContext(const GeosFunctions& geos) : geos_(geos), context_(geos.begin()) {}
  GeosContext(const GeosContext&) = delete;
  GeosContext& operator=(const GeosContext&) = delete;
  ~GeosContext() { geos_.end(context_); }
  operator GeosFunctions::Context() const { return context_; }

 private:
  const GeosFunctions& geos_;
  const GeosFunctions::Context context_;
};

// What the objects of a contiguous array are in GEOS, if all are geometries or None; they live as long as the array has
// them.
inline std::optional<std::vector<GeosFunctions::Geometry>> find_geometries(const GeosFunctions& geos,
                                                                           nb::handle objects) {
  Py_buffer buffer;
  if (PyObject_GetBuffer(objects.ptr(), &buffer, PyBUF_ND | PyBUF_FORMAT) != 0) throw nb::python_error();
  const auto* object = static_cast<PyObject* const*>(buffer.buf);
  const bool are_objects = buffer.format != nullptr && buffer.format[0] == 'O' && buffer.format[1] == 0;
  std::vector<GeosFunctions::Geometry> geometries(are_objects ? static_cast<std::size_t>(buffer.len) / sizeof(object)
                                                              : 0);
  bool are_geometries = are_objects;
  for (std::size_t k = 0; are_geometries && k < geometries.size(); ++k)
    are_geometries = geos.geometry(object[k], &geometries[k]) != 0;
  PyBuffer_Release(&buffer);
  if (!are_geometries) return std::nullopt;
  return geometries;
}
inline std::vector<GeosFunctions::Geometry> geometries_of(const GeosFunctions& geos, nb::handle objects) {
  auto geometries = find_geometries(geos, objects);
  if (!geometries) throw nb::type_error("must be an array of geometries");
  return std::move(*geometries);
}

// Asks for the memory of a geometry that will be read soon.
inline void prefetch_after(std::span<const GeosFunctions::Geometry> geometries, std::size_t k) {
  const auto* soon = static_cast<const char*>(geometries[std::min(k + 8, geometries.size() - 1)]);
  read_ahead(soon);
  read_ahead(soon + 64);
}

// Boxes (x, y, x_end, y_end) of geometries, NaN for those that have no coordinates; and their types, -1 for null.
struct GeosBounds {
  PlainArray<double> boxes;
  PlainArray<std::int32_t> types;
  bool are_finite = true;
};

inline GeosBounds geos_bounds(const GeosFunctions& geos, const std::vector<GeosFunctions::Geometry>& geometries,
                              Interrupt& interrupt) {
  const GeosContext context(geos);
  GeosBounds bounds;
  bounds.boxes.grow(4 * geometries.size());
  bounds.types.grow(geometries.size());
  for (std::size_t k = 0; k < geometries.size(); ++k) {
    if (k % 1024 == 0) interrupt.check();
    prefetch_after(geometries, k);
    double* box = bounds.boxes.get() + 4 * k;
    bounds.types[k] = geometries[k] == nullptr ? -1 : geos.type(context, geometries[k]);
    if (geometries[k] == nullptr || geos.extent(context, geometries[k], box, box + 1, box + 2, box + 3) == 0)
      std::fill_n(box, 4, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t side = 0; side < 4; ++side) bounds.are_finite = bounds.are_finite && std::isfinite(box[side]);
  }
  return bounds;
}

// Of what GEOS cannot read, and of collections, curves and geometries with an empty part, the kind is unknown.
class GeosFeatures {
 public:
  GeosFeatures(const GeosFunctions& geos, std::span<const GeosFunctions::Geometry> geometries, Interrupt& interrupt)
      : geos_(geos), context_(geos) {
    first_part_.reserve(geometries.size() + 1);
    kinds_.reserve(geometries.size());
    first_.reserve(geometries.size() + 1);
    holes_.reserve(geometries.size());
    extend(geometries, interrupt);
  }
  // Reads more geometries; what was read may move in memory.
  void extend(std::span<const GeosFunctions::Geometry> geometries, Interrupt& interrupt) {
    if (!first_.empty()) first_.pop_back();
    for (std::size_t begin = 0; begin < geometries.size(); begin += kTogether) {
      interrupt.check();
      const std::size_t end = std::min(geometries.size(), begin + kTogether);
      for (std::size_t k = begin; k < end; ++k) {
        prefetch_after(geometries, k);
        add(geometries[k]);
      }
      copy_coordinates();
    }
    first_.push_back(coordinate_count_);
  }
  FeatureTable table() const {
    return {coordinates_.get(), first_.data(), first_part_.data(), kinds_.data(), holes_.data(), kinds_.size()};
  }

 private:
  // Geometries whose sequences are found before their coordinates are copied: they are in the processor's cache then.
  static constexpr std::size_t kTogether = 512;

  struct Line {
    GeosFunctions::Sequence sequence;
    unsigned size;
  };

  void copy_coordinates() {
    const auto needed = static_cast<std::size_t>(2 * coordinate_count_);
    if (needed > coordinates_.size()) coordinates_.grow(2 * needed);
    double* next = coordinates_.get() + copied_;
    for (const auto& [sequence, size] : sequences_) {
      if (geos_.copy(context_, sequence, next, 0, 0) == 0)
        std::fill_n(next, 2 * std::size_t{size}, std::numeric_limits<double>::quiet_NaN());
      next += 2 * std::size_t{size};
    }
    sequences_.clear();
    copied_ = needed;
  }

  void add(GeosFunctions::Geometry geometry) {
    const std::size_t parts = first_.size(), lines = sequences_.size();
    const std::int64_t coordinates = coordinate_count_;
    const int type = geometry == nullptr ? -1 : geos_.type(context_, geometry);
    FeatureKind kind = FeatureKind::kUnknown;
    bool is_read = false;
    switch (type) {
      case kPoint:
      case kMultiPoint:
        kind = FeatureKind::kPoints;
        add_part(false);
        is_read = for_parts(type == kMultiPoint, geometry, [&](auto point) { return add_coordinates(point); });
        break;
      case kLineString:
      case kLinearRing:
      case kMultiLineString:
        kind = FeatureKind::kLines;
        is_read = for_parts(type == kMultiLineString, geometry, [&](auto line) { return add_line(line, false); });
        break;
      case kPolygon:
      case kMultiPolygon:
        kind = FeatureKind::kAreas;
        is_read = for_parts(type == kMultiPolygon, geometry, [&](auto polygon) { return add_polygon(polygon); });
        break;
      default: break;
    }
    if (!is_read) {
      kind = FeatureKind::kUnknown;
      first_.resize(parts);
      holes_.resize(parts);
      sequences_.resize(lines);
      coordinate_count_ = coordinates;
    }
    kinds_.push_back(static_cast<std::uint8_t>(kind));
    first_part_.push_back(static_cast<std::int64_t>(first_.size()));
  }

  // Whether use(part) is true for all parts of a geometry that has some, or for the geometry itself.
  template <class Use>
  bool for_parts(bool is_multiple, GeosFunctions::Geometry geometry, const Use& use) {
    if (!is_multiple) return use(geometry);
    const int count = geos_.part_count(context_, geometry);
    for (int k = 0; k < count; ++k)
      if (!use(geos_.part(context_, geometry, k))) return false;
    return count > 0;
  }

  bool add_polygon(GeosFunctions::Geometry polygon) {
    if (polygon == nullptr || !add_line(geos_.shell(context_, polygon), false)) return false;
    // What has no more coordinates than its shell has no holes: to count them takes longer.
    if (geos_.coordinate_count(context_, polygon) == static_cast<int>(sequences_.back().size)) return true;
    const int count = geos_.hole_count(context_, polygon);
    for (int k = 0; k < count; ++k)
      if (!add_line(geos_.hole(context_, polygon, k), true)) return false;
    return count >= 0;
  }

  bool add_line(GeosFunctions::Geometry line, bool is_hole) {
    add_part(is_hole);
    return add_coordinates(line);
  }

  void add_part(bool is_hole) {
    first_.push_back(coordinate_count_);
    holes_.push_back(is_hole ? 1 : 0);
  }

  bool add_coordinates(GeosFunctions::Geometry simple) {
    const GeosFunctions::Sequence sequence = simple == nullptr ? nullptr : geos_.sequence(context_, simple);
    unsigned size = 0;
    if (sequence == nullptr || geos_.size(context_, sequence, &size) == 0 || size == 0) return false;
    sequences_.push_back({sequence, size});
    coordinate_count_ += size;
    return true;
  }

  enum Type { kPoint, kLineString, kLinearRing, kPolygon, kMultiPoint, kMultiLineString, kMultiPolygon };

  const GeosFunctions& geos_;
  const GeosContext context_;
  std::vector<std::int64_t> first_, first_part_{0};  // both with the end of the last one
  std::vector<std::uint8_t> kinds_, holes_;
  std::vector<Line> sequences_;
  std::int64_t coordinate_count_ = 0;
  PlainArray<double> coordinates_;
  std::size_t copied_ = 0;  // numbers
};

}  // namespace broadphase::python
