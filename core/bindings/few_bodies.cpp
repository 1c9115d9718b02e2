// One query of a world, or a few, each kind by one call.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "few_answers.hpp"
#include "queried_bodies.hpp"
#include "world/overlaps.hpp"

namespace broadphase::python {

namespace {

// Of a world without periodic boundaries whose index has a tree.
class FewBodies : public FewAnswers {
 public:
  // `bodies` have a tree and no filter. `world` is only compared.
  FewBodies(nb::object guard, nb::object bodies, FewRowsOf rows, nb::tuple results)
      : FewAnswers(std::move(guard), nb::cast<const BodiesInTree&>(bodies).dimension(), std::move(rows),
                   std::move(results)),
        bodies_owner_(std::move(bodies)),
        bodies_(nb::cast<const BodiesInTree&>(bodies_owner_)) {}

  nb::object query(nb::handle boxes, nb::dict options) const {
    Given given;
    Asked asked;
    if (!read_boxes(boxes, given) || !given.are_within(kLargest) || !asked.fits(given)) return other_way();
    return rows_of<false>(asked, options, [&](std::size_t query, auto& sought) { sought.set_box(given.of(query)); });
  }

  nb::object query_points(nb::handle points, nb::dict options) const {
    Given place;
    Asked asked;
    if (!read_points(points, place) || !place.are_within(kLargest) || !asked.fits(place)) return other_way();
    return rows_of<false>(asked, options, [&](std::size_t query, auto& sought) { sought.set_point(place.of(query)); });
  }

  nb::object query_ball(nb::handle centers, nb::handle radii, nb::dict options) const {
    Given centre, radius;
    Asked asked;
    if (!read_points(centers, centre) || !centre.are_within(kLargest) || !read_lengths(radii, radius) ||
        !radius.are_within(kLargest) || !asked.fits(centre) || !asked.fits(radius))
      return other_way();
    return rows_of<true>(
        asked, options, [&](std::size_t query, auto& sought) { sought.set_ball(centre.of(query), *radius.of(query)); });
  }

 private:
  // Of coordinates and lengths of shapes: see shapes/parameters.py.
  static constexpr double kLargest = 1e40;

  // Finds what overlaps the shape that set(query, sought) sets for each query: a ball or another one.
  template <bool are_balls, class Set>
  nb::object rows_of(const Asked& asked, nb::handle options, const Set& set) const {
    Allowed allowed;
    if (!of_rows().read_options(options, asked, allowed)) return other_way();
    std::vector<std::int32_t> rows;
    std::int64_t offsets[kMostQueries + 1] = {};
    bool is_known = true;
    const auto search = [&] {
      const TreeQueries tree(bodies_.tree(), bodies_.boxes(), allowed.filter, chosen_kernels());
      in_plane_or_space(dimension(), [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
        const QueriedBodies<D> bodies = bodies_.bodies<D>();
        OverlapScratch<D> scratch;
        for (std::size_t query = 0; query < asked.count && is_known; ++query) {
          set(query, scratch.sought);
          if constexpr (are_balls)
            find_near_ball(tree, query, scratch);
          else
            find_near_box(tree, query, scratch.sought.box(), scratch);
          const std::size_t begin = rows.size();
          for_each_body(bodies, std::span<const std::int32_t>(scratch.near), 0, [&](std::int32_t row) {
            if (bodies.is_left_out(row)) return;
            const Overlap overlap = overlap_of(bodies, row, scratch.sought);
            is_known = is_known && overlap != Overlap::unknown;
            if (overlap == Overlap::yes) rows.push_back(row);
          });
          sort_rows(rows.data() + begin, rows.size() - begin);
          offsets[query + 1] = static_cast<std::int64_t>(rows.size());
        }
      });
    };
    if (!answer(search) || !is_known) return other_way();
    return rows_found(asked, std::move(rows), offsets);
  }

  nb::object bodies_owner_;
  const BodiesInTree& bodies_;
};

}  // namespace

void bind_few_bodies(nb::module_& module) {
  const auto options = "options"_a;
  nb::class_<FewBodies> bound(module, "FewBodies",
                              "A few queries of a world; NotImplemented where the general way must answer.");
  bound
      .def(
          "__init__",
          [](FewBodies* self, nb::object guard, nb::object bodies, FewRowsOf::Words layer, FewRowsOf::Words mask,
             AnyArray alive, Vector<std::int64_t> generation, nb::dict layers, nb::object actors, nb::handle world,
             nb::tuple results) {
            constexpr std::uint64_t kDefaultLayer = 1;
            new (self) FewBodies(std::move(guard), std::move(bodies),
                                 {std::move(layer), std::move(mask), std::move(alive), kDefaultLayer,
                                  std::move(generation), std::move(layers), std::move(actors), world.ptr()},
                                 std::move(results));
          },
          "guard"_a, "bodies"_a, "layer"_a.none(), "mask"_a.none(), "alive"_a, "generation"_a, "layers"_a, "actors"_a,
          "world"_a, "results"_a)
      .def_prop_ro("is_current", &FewBodies::is_current)
      .def("query", &FewBodies::query, "boxes"_a.none(), options)
      .def("query_points", &FewBodies::query_points, "points"_a.none(), options)
      .def("query_ball", &FewBodies::query_ball, "centers"_a.none(), "radii"_a.none(), options);
  const auto leave_rays = [](const FewBodies&, nb::handle, nb::handle, nb::handle, nb::dict) {
    return nb::borrow(Py_NotImplemented);
  };
  for (const char* name : {"raycast", "raycast_all", "raycast_any"})
    bound.def(name, leave_rays, "origins"_a.none(), "directions"_a.none(), "max_distance"_a.none(), options);
  bound.def(
      "nearest",
      [](const FewBodies&, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::dict) {
        return nb::borrow(Py_NotImplemented);
      },
      "points"_a.none(), "k"_a.none(), "max_distance"_a.none(), "rows"_a.none(), "exclude_self"_a, options);
}

}  // namespace broadphase::python
