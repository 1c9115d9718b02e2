// Lidars of the bodies of a world.
#include "world/lidar.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "queried_bodies.hpp"

namespace broadphase::python {

namespace {

constexpr std::size_t kBeamsATask = 4096;

// What looks, and for what.
struct Lookers {
  Rows rows;
  Table<double> positions;  // of all bodies, and so are rotations and keys
  MaybeNumbers rotations;
  Numbers directions;
  Vector<double> limits;
  Rows seen;  // rows in use
  std::optional<Vector<std::int64_t>> keys;

  template <std::size_t D>
  LidarRequest<D> request() const {
    const bool is_one_fan = directions.ndim() < D;
    return {rows.data(),        rows.shape(0),     positions.data(),
            data_of(rotations), directions.data(), directions.shape(is_one_fan ? 0 : 1),
            is_one_fan,         limits.data()};
  }
  // The origins of the fans, one after the other.
  template <std::size_t D>
  std::vector<double> origins() const {
    std::vector<double> origins(rows.shape(0) * D);
    for (std::size_t query = 0; query < rows.shape(0); ++query)
      std::copy_n(positions.data() + D * static_cast<std::size_t>(rows.data()[query]), D, origins.data() + D * query);
    return origins;
  }
};

// Writes what one fan after the other finds.
template <std::size_t D, class T>
class Writer {
 public:
  Writer(const BodiesInTree& given, const LidarRequest<D>& request)
      : bodies_(given.bodies<D>()), request_(request), filter_(given.filter()) {
    if (request.is_one_fan) shared_.take(request, 0, nullptr);
    distances_.grow(request.count * request.beams);
    rows_.grow(request.count * request.beams);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  struct Scratch {
    std::optional<LidarSearch<D>> search;
    RefusedRow refused;
  };
  // look(search) finds what is hit.
  template <class Look>
  void write(std::size_t query, Scratch& scratch, const Look& look) {
    if (!scratch.search) scratch.search.emplace(request_, bodies_, filter_, shared_, chosen_kernels());
    scratch.search->begin(query);
    look(*scratch.search);
    const std::size_t at = query * request_.beams;
    scratch.refused.note(query, scratch.search->end(distances_.get() + at, rows_.get() + at));
  }
  void end(const Scratch& scratch) { refused_.note(scratch.refused); }

  nb::object result() && {
    const std::size_t count = request_.count, beams = request_.beams;
    return nb::make_tuple(as_array(std::move(distances_), {count, beams}), as_array(std::move(rows_), {count, beams}),
                          refused_.row);
  }

 private:
  const QueriedBodies<D> bodies_;
  const LidarRequest<D>& request_;
  const QueryFilter& filter_;
  Beams<D> shared_;
  PlainArray<T> distances_;
  PlainArray<std::int32_t> rows_;
  RefusedRow refused_;
};

template <std::size_t D, class T>
nb::object by_tree(const BodiesInTree& given, const Lookers& lookers, unsigned workers) {
  using Scratch = typename Writer<D, T>::Scratch;
  const LidarRequest<D> request = lookers.request<D>();
  const std::vector<double> origins = lookers.origins<D>();
  Writer<D, T> writer(given, request);
  const std::size_t beams = request.count * request.beams;
  BlockIndex tight;
  given.distinct_queries(beams, QueryLimits::rays_for_a_copy, workers, tight)
      .each<Scratch>(
          places_of(origins.data(), request.count, D), D, workers, [](std::size_t) {},
          [&](const TreeQueries& tree, std::size_t query, Scratch& scratch) {
            writer.write(query, scratch, [&](LidarSearch<D>& search) { search.look_through(tree); });
          },
          [&](const Scratch& scratch) { writer.end(scratch); });
  return std::move(writer).result();
}

// None: some may see too many.
template <std::size_t D, class T>
nb::object at_once(const BodiesInTree& given, const Lookers& lookers, bool is_any_number, unsigned workers) {
  using Scratch = typename Writer<D, T>::Scratch;
  const LidarRequest<D> request = lookers.request<D>();
  std::optional<Writer<D, T>> writer;
  at_work([&](Interrupt& interrupt) {
    const LidarGroups groups({request.rows, request.count}, {lookers.seen.data(), lookers.seen.shape(0)},
                             data_of(lookers.keys), interrupt);
    if (!is_any_number && groups.most() > LidarLimits::most_at_once) return;
    writer.emplace(given, request);
    const std::size_t together = std::max<std::size_t>(1, kBeamsATask / std::max<std::size_t>(1, request.beams));
    std::vector<Scratch> own(std::max(1u, workers));
    for_each_task((request.count + together - 1) / together, workers, interrupt,
                  [&](unsigned worker, std::size_t task) {
                    std::size_t group = 0;
                    for (std::size_t at = task * together; at < std::min(request.count, (task + 1) * together); ++at) {
                      const std::size_t query = groups.query(at);
                      writer->write(query, own[worker],
                                    [&](LidarSearch<D>& search) { search.look_at(groups.seen_by(query, group)); });
                    }
                  });
    for (const Scratch& scratch : own) writer->end(scratch);
  });
  return writer ? std::move(*writer).result() : nb::none();
}

nb::object lidar(const BodiesInTree& given, Rows rows, Table<double> positions, MaybeNumbers rotations,
                 Numbers directions, Vector<double> limits, Rows seen, std::optional<Vector<std::int64_t>> keys,
                 bool is_any_number, bool is_single, unsigned workers) {
  const Lookers lookers{std::move(rows),   std::move(positions), std::move(rotations), std::move(directions),
                        std::move(limits), std::move(seen),      std::move(keys)};
  require(lookers.limits.shape(0) == lookers.rows.shape(0) && lookers.positions.shape(1) == given.dimension());
  return in_plane_or_space(given.dimension(), [&](auto d) {
    const auto answer = [&]<class T>(T) {
      return given.has_tree() ? by_tree<d(), T>(given, lookers, workers)
                              : at_once<d(), T>(given, lookers, is_any_number, workers);
    };
    return is_single ? answer(0.0F) : answer(0.0);
  });
}

}  // namespace

void bind_lidar(nb::module_& module) {
  module.def("lidar", &lidar, "bodies"_a, "rows"_a, "positions"_a, "rotations"_a.none(), "directions"_a, "limits"_a,
             "seen"_a, "keys"_a.none(), "is_any_number"_a, "is_single"_a, "workers"_a,
             "Distances and rows, (n, b), and the row of a custom shape that decides one of them, or -1. None if there "
             "is no tree and some may see too many bodies.");
}

}  // namespace broadphase::python
