#include "neighbors/nearest.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "neighbors/point_batches.hpp"
#include "neighbors/point_tree.hpp"
#include "neighbors/search.hpp"

namespace broadphase {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Points that are searched at once, and all that belongs to them.
struct NearestPart {
  PointView points, others;
  bool cross = false;
  const Cell* cell = nullptr;
  const Lattice* lattice = nullptr;  // of the cell
  std::size_t wanted = 1;
  double cutoff = kInfinity;
};

// A point near to one of a group: its image, and the square of its distance by the numbers that decide.
struct Near {
  double square;
  std::uint32_t position, image;
};

// Those of one point.
class NearPoints {
 public:
  std::size_t count = 0;
  Near* items() const { return items_.get(); }
  void make_room(std::size_t more) {
    if (count + more > items_.size()) items_.grow(std::max(count + more, 2 * items_.size()));
  }

 private:
  PlainArray<Near> items_;
};

// Where lists go: to their places if these are known before, as they are without a cutoff; else one behind the other,
// and `places` says where.
struct Lists {
  struct Place {
    std::uint32_t worker, count;
    std::size_t begin;
  };

  const std::vector<std::int64_t>& offsets;
  const NeighborPairs* known = nullptr;
  std::vector<NeighborPairs> found;  // by worker
  std::vector<Place> places;         // by row
};

// The images and the neighbours of a group: what one thread needs.
struct GroupRoom {
  GroupWalk walk;
  std::array<NearPoints, kLeafPoints> near;
  std::vector<Image> images;
  struct Cells {
    double gap;
    std::array<std::int64_t, 3> cells;
  };
  std::vector<Cells> shell;
  // The square of the longest reach of the group before, which is often near: a good guess, or infinity.
  double guess = kInfinity;
  PlainArray<Near> sorted;
  std::vector<std::uint32_t> places;
};

// Keeps its memory for the next part.
class NearestSearch {
 public:
  void start(const NearestPart& part, unsigned workers, Interrupt& interrupt) {
    part_ = part;
    place(own_, part.points, false, workers, interrupt);
    if (part.cross) place(others_, part.others, true, workers, interrupt);
    own_tree_.build(own_, workers, interrupt);
    if (part.cross) other_tree_.build(others_, workers, interrupt);
    error_ = neighbor_tree().count() > 0 ? rounded_by(lattice(), *part.cell, farthest(), own_, framed_others()) : 0;
    limit_ = part.cutoff < kInfinity ? largest_square(part.cutoff) : kInfinity;
  }

  std::size_t group_count() const { return own_tree_.leaf_count(); }

  // Finds the neighbours of a group.
  void run(std::size_t group, GroupKernel kernel, GroupRoom& room) const {
    GroupWalk& walk = room.walk;
    const std::size_t count = own_tree_.leaf_size(group);
    walk.own = own_tree_.leaves()[group];
    const PointNode& bounds = own_tree_.node_of(group);
    for (std::size_t axis = 0; axis < 3; ++axis) walk.lower[axis] = bounds.lower[axis];
    for (std::size_t axis = 0; axis < 3; ++axis) walk.upper[axis] = bounds.upper[axis];
    walk.nodes = neighbor_tree().nodes();
    walk.leaves = neighbor_tree().leaves();
    room.images.clear();
    const double most = part_.cutoff < kInfinity ? squared_reach(part_.cutoff) : kInfinity;
    const std::uint32_t all = count < kLeafPoints ? (1u << count) - 1 : (1u << kLeafPoints) - 1;
    static_assert(kLeafPoints < 32);
    const double guess = std::min(room.guess, most);
    std::uint32_t missing = 0;
    search(group, all, guess, kernel, room);
    double longest = 0;
    for (std::size_t own = 0; own < count; ++own) {
      if (room.near[own].count < part_.wanted && guess < most)
        missing |= 1u << own;
      else
        longest = std::max(longest, walk.reach[own]);
    }
    if (missing != 0) {
      search(group, missing, most, kernel, room);
      for (std::size_t own = 0; own < count; ++own) longest = std::max(longest, walk.reach[own]);
    }
    room.guess = longest * kGuess;
    for (std::size_t own = 0; own < count; ++own) finish(room, own);
  }

  // Writes them, after `run`.
  void write(std::size_t group, const GroupRoom& room, unsigned worker, Lists& lists) const {
    for (std::size_t own = 0; own < own_tree_.leaf_size(group); ++own) {
      const NearPoints& near = room.near[own];
      const std::size_t position = group * kLeafPoints + own;
      const auto row = static_cast<std::size_t>(own_tree_.exact(position).row);
      if (lists.known != nullptr) {
        write(position, near, room.images, *lists.known, static_cast<std::size_t>(lists.offsets[row]));
        continue;
      }
      NeighborPairs& to = lists.found[worker];
      to.room(near.count);
      write(position, near, room.images, to, to.size);
      lists.places[row] = {worker, static_cast<std::uint32_t>(near.count), to.size};
      to.size += near.count;
    }
  }

 private:
  static constexpr std::uint32_t kNoLeaf = std::numeric_limits<std::uint32_t>::max();

  // By distance, row and shift. The roots of squares that are nearly equal may be equal.
  struct Order {
    const NearestSearch& search;
    const std::vector<Image>& images;

    bool operator()(const Near& a, const Near& b) const {
      const double difference = a.square - b.square;
      if (std::abs(difference) > b.square * kNearlyEqual) return difference < 0;
      return decide(a, b);
    }

   private:
#if defined(__GNUC__)
    __attribute__((noinline))
#endif
    bool decide(const Near& a, const Near& b) const {
      const double one = std::sqrt(a.square), two = std::sqrt(b.square);
      if (one != two) return one < two;
      const std::int32_t row = search.neighbor_tree().exact(a.position).row,
                         other = search.neighbor_tree().exact(b.position).row;
      if (row != other) return row < other;
      return images[a.image].shift < images[b.image].shift;
    }
  };

  const Lattice& lattice() const { return *part_.lattice; }
  const FramedPoints& framed_others() const { return part_.cross ? others_ : own_; }
  const PointTree& neighbor_tree() const { return part_.cross ? other_tree_ : own_tree_; }

  static void place(FramedPoints& framed, const PointView& points, bool are_others, const Lattice& lattice,
                    unsigned workers, Interrupt& interrupt) {
    framed.place(points, lattice, workers, interrupt);
    if (framed.far_row() >= 0) throw FarPoint(are_others, framed.far_row());
  }
  void place(FramedPoints& framed, const PointView& points, bool are_others, unsigned workers, Interrupt& interrupt) {
    place(framed, points, are_others, lattice(), workers, interrupt);
  }

  // No neighbour that is wanted is farther, in a periodic cell.
  double farthest() const {
    if (lattice().count() == 0) return 0;
    // So many images are on a line of the shortest vector, and in a block of cells.
    const auto wanted = static_cast<double>(part_.wanted);
    double shortest = kInfinity, all = 0;
    for (std::size_t k = 0; k < lattice().count(); ++k) {
      const double length = std::sqrt(dot(lattice().components(k), lattice().components(k)));
      shortest = std::min(shortest, length);
      all += length;
    }
    const double side = std::ceil(std::pow(wanted + 1, 1.0 / static_cast<double>(lattice().count())));
    double most = std::min((wanted / 2 + 1) * shortest, (side / 2 + 1) * all);
    if (part_.cross) {  // of any other point
      most += all;
      for (std::size_t axis = lattice().count(); axis < 3; ++axis)
        most += std::max(own_.bounds()[axis].upper, others_.bounds()[axis].upper) -
                std::min(own_.bounds()[axis].lower, others_.bounds()[axis].lower);
    }
    return std::min(most, part_.cutoff);
  }

  double squared_reach(double distance) const {
    const double reach = reach_of(distance, error_);
    return std::max(reach * reach, std::numeric_limits<double>::min());
  }

  // Finds the neighbours of those points of a group whose bits are set, within the reach.
  void search(std::size_t group, std::uint32_t which, double squared_reach, GroupKernel kernel, GroupRoom& room) const {
    GroupWalk& walk = room.walk;
    for (std::size_t own = 0; own < kLeafPoints; ++own) {
      const bool is_searched = (which >> own & 1u) != 0;
      walk.reach[own] = is_searched ? squared_reach : -1;
      walk.last_square[own] = kInfinity;
      walk.last_row[own] = std::numeric_limits<std::int32_t>::max();
      if (is_searched) room.near[own].count = 0;
    }
    if (neighbor_tree().count() == 0) return;
    search(Image{}, group, kernel, room);
    if (lattice().count() > 0) search_images(group, kernel, room);
  }

  // Adds what is near in an image of the tree.
  void search(const Image& image, std::size_t group, GroupKernel kernel, GroupRoom& room) const {
    GroupWalk& walk = room.walk;
    const auto number = static_cast<std::uint32_t>(room.images.size());
    const bool is_own = !part_.cross && image.order == 0;
    room.images.push_back(image);
    for (std::size_t axis = 0; axis < 3; ++axis) walk.shift[axis] = image.in_frame[axis];
    walk.own_leaf = is_own ? static_cast<std::uint32_t>(group) : kNoLeaf;
    walk.stack[0] = 0;
    walk.height = 1;
    const bool is_moved = image.order != 0 || own_tree_.wraps() != nullptr || neighbor_tree().wraps() != nullptr;
    const std::size_t itself = is_own ? group * kLeafPoints : std::size_t{1} << 40;
    while (kernel(walk)) {
      std::uint32_t begin = 0;
      for (std::uint32_t left = walk.with_hits; left != 0; left &= left - 1) {
        const auto own = static_cast<std::size_t>(std::countr_zero(left));
        const std::uint32_t end = walk.hit_end[own];
        if (is_moved)
          add<true>(number, group * kLeafPoints + own, itself + own, own, begin, end, room);
        else
          add<false>(number, group * kLeafPoints + own, itself + own, own, begin, end, room);
        begin = end;
      }
    }
  }

  // Of a pair of points, the vector from the first one to the image of the second.
  template <bool Moved>
  Vector3 vector_of(std::size_t position, std::size_t other, const Image& image, Shift& shift) const {
    const ExactPoint &from = own_tree_.exact(position), &to = neighbor_tree().exact(other);
    double x = to.x - from.x, y = to.y - from.y, z = to.z - from.z;
    if constexpr (Moved) {
      shift = image.shift;
      const Shift *own_wraps = own_tree_.wraps(), *other_wraps = neighbor_tree().wraps();
      Shift wrap{};
      for (std::size_t l = 0; l < 3; ++l)
        wrap[l] =
            (own_wraps != nullptr ? own_wraps[position][l] : 0) - (other_wraps != nullptr ? other_wraps[other][l] : 0);
      if ((wrap[0] | wrap[1] | wrap[2]) != 0) {
        for (std::size_t l = 0; l < 3; ++l) shift[l] += wrap[l];
        const Vector3 moved = part_.cell->translation(shift);
        x += moved[0], y += moved[1], z += moved[2];
      } else {
        x += image.exact[0], y += image.exact[1], z += image.exact[2];
      }
    }
    return {x, y, z};
  }

  template <bool Moved>
  void add(std::uint32_t number, std::size_t position, std::size_t itself, std::size_t own, std::uint32_t begin,
           std::uint32_t end, GroupRoom& room) const {
    NearPoints& near = room.near[own];
    near.make_room(end - begin);
    Near* const items = near.items();
    const std::uint32_t* const hits = room.walk.hits;
    const Image& image = room.images[number];
    const std::size_t points = neighbor_tree().count(), wanted = part_.wanted;
    std::size_t count = near.count;
    const auto candidate = [&](std::size_t other) {
      Shift shift;
      const Vector3 vector = vector_of<Moved>(position, other, image, shift);
      return Near{vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2],
                  static_cast<std::uint32_t>(other), number};
    };
    if (wanted > kFewWanted) {
      for (std::uint32_t hit = begin; hit < end; ++hit) {
        const std::size_t other = hits[hit];
        if (other >= points || other == itself) continue;
        items[count] = candidate(other);
        count += items[count].square <= limit_ ? 1 : 0;
      }
      near.count = count;
      if (count >= wanted + std::max(wanted / 2, kFewWanted)) settle(room, own);
      return;
    }
    const Order order{*this, room.images};
    bool is_changed = false;
    const auto farthest_of = [&] {
      return count == wanted ? items[wanted - 1].square * (1 + 2 * kNearlyEqual) : limit_;
    };
    double farthest = farthest_of();
    for (std::uint32_t hit = begin; hit < end; ++hit) {
      const std::size_t other = hits[hit];
      if (other >= points || other == itself) continue;
      const Near one = candidate(other);
      if (!(one.square <= farthest)) continue;
      std::size_t to = count;
      if (count < wanted)
        ++count;
      else if (order(one, items[--to]))
        ;
      else
        continue;
      for (; to > 0 && order(one, items[to - 1]); --to) items[to] = items[to - 1];
      items[to] = one;
      is_changed = true;
      farthest = farthest_of();
    }
    near.count = count;
    if (is_changed && count == wanted) shorten(room, own, items[wanted - 1]);
  }

  // Of many: leaves little more than are wanted, and says how far the last of them is.
  void settle(GroupRoom& room, std::size_t own) const {
    NearPoints& near = room.near[own];
    const std::size_t wanted = part_.wanted;
    if (near.count < wanted || wanted <= kFewWanted) return;
    Near* const items = near.items();
    const Order order{*this, room.images};
    if (near.count > wanted) {
      count_places(room, near);
      std::size_t below = 0, last = 0;
      while ((below += room.places[last]) < wanted) ++last;
      if (below <= wanted + wanted / 8) {
        const Places places = places_of(near, room.places.size());
        std::size_t kept = 0;
        for (std::size_t k = 0; k < near.count; ++k) {
          const Near item = items[k];
          items[kept] = item;
          kept += places(item) <= last ? 1 : 0;
        }
        near.count = kept;
      } else {
        std::nth_element(items, items + (wanted - 1), items + near.count, order);
        near.count = wanted;
      }
    }
    const Near* last = items;
    for (std::size_t k = 1; k < near.count; ++k)
      if (items[k].square > last->square * (1 - kNearlyEqual) && order(*last, items[k])) last = items + k;
    shorten(room, own, *last);
  }
  void shorten(GroupRoom& room, std::size_t own, const Near& last) const {
    GroupWalk& walk = room.walk;
    walk.reach[own] = std::min(walk.reach[own], squared_reach(std::sqrt(last.square)));
    walk.last_row[own] = neighbor_tree().exact(last.position).row;
    // Numbers of the frame that are off tell no more than that nothing is nearer than 0.
    walk.last_square[own] = error_ == 0 || last.square == 0 ? last.square : kInfinity;
  }

  // About where each of many belongs among them, where points are spread evenly: monotone in the distance.
  struct Places {
    double per_square, last;
    bool is_flat;
    std::size_t operator()(const Near& near) const {
      const double share = near.square * per_square;
      return static_cast<std::size_t>((is_flat ? share : share * std::sqrt(share)) * last);
    }
  };
  Places places_of(const NearPoints& near, std::size_t places) const {
    double most = 0;
    for (std::size_t k = 0; k < near.count; ++k) most = std::max(most, near.items()[k].square);
    // Shares are at most 1, whatever is rounded; all 0 where they would not be numbers.
    const double per_square = (1 - 0x1p-40) / most;
    return {per_square < kInfinity && most < kInfinity ? per_square : 0, static_cast<double>(places),
            part_.points.dimension == 2};
  }
  void count_places(GroupRoom& room, const NearPoints& near) const {
    room.places.assign(std::bit_ceil(near.count), 0);
    const Places places = places_of(near, room.places.size());
    for (std::size_t k = 0; k < near.count; ++k) ++room.places[places(near.items()[k])];
  }

  // Puts those that are wanted in order.
  void finish(GroupRoom& room, std::size_t own) const {
    NearPoints& near = room.near[own];
    if (part_.wanted <= kFewWanted) return;
    const Order order{*this, room.images};
    count_places(room, near);
    const Places places = places_of(near, room.places.size());
    std::uint32_t sum = 0;
    for (std::uint32_t& count : room.places) sum += std::exchange(count, sum);
    room.sorted.grow(near.count);
    Near *const items = near.items(), *const sorted = room.sorted.get();
    for (std::size_t k = 0; k < near.count; ++k) sorted[room.places[places(items[k])]++] = items[k];
    // Each place now ends where the next one begins.
    constexpr std::uint32_t kFew = 24;
    for (std::size_t place = 0, begin = 0; place < room.places.size() && begin < part_.wanted; ++place) {
      const std::size_t end = room.places[place];
      if (end - begin > kFew) std::sort(sorted + begin, sorted + end, order);
      begin = end;
    }
    near.count = std::min(near.count, part_.wanted + 0);
    for (std::size_t k = 0; k < sum; ++k) {
      const Near one = sorted[k];
      std::size_t to = k;
      for (; to > 0 && order(one, items[to - 1]); --to) items[to] = items[to - 1];
      items[to] = one;
    }
  }

  // Images of the tree, the nearest first, until none can be near enough.
  void search_images(std::size_t group, GroupKernel kernel, GroupRoom& room) const {
    const std::size_t count = own_tree_.leaf_size(group);
    const auto farthest_reach = [&] {
      double most = 0;
      for (std::size_t own = 0; own < count; ++own) most = std::max(most, room.walk.reach[own]);
      return most;
    };
    double step = kInfinity;
    for (std::size_t k = 0; k < lattice().count(); ++k) step = std::min(step, lattice().edge(k));
    for (double done = -1;;) {
      for (std::size_t own = 0; own < count; ++own) settle(room, own);
      const double next = std::min(std::sqrt(farthest_reach()) * (1 + 1e-15), done < 0 ? step : 2 * done);
      if (next <= done) return;
      find_shell(room, done, next);
      for (const GroupRoom::Cells& cells : room.shell) {
        if (cells.gap * cells.gap > farthest_reach()) break;
        search(image_of(lattice(), *part_.cell, cells.cells), group, kernel, room);
      }
      done = next;
    }
  }

  // Those farther from the group than `done`, or at least 0, and no farther than `next`, in their order.
  void find_shell(GroupRoom& room, double done, double next) const {
    const Lattice& cells = lattice();
    const std::array<Bounds, 3>& all = framed_others().bounds();
    const GroupWalk& walk = room.walk;
    room.shell.clear();
    // Calls use(number, gap) for those along axis k that are within `next`.
    const auto each = [&](std::size_t k, double base, const auto& use) {
      const auto gap_at = [&](double moved) {
        return std::max({0.0, (all[k].lower + moved) - walk.upper[k], walk.lower[k] - (all[k].upper + moved)});
      };
      if (k >= cells.count()) return use(std::int64_t{0}, gap_at(0));
      const double edge = cells.edge(k);
      const double first = std::floor((walk.lower[k] - next - base - all[k].upper) / edge);
      const double last = std::ceil((walk.upper[k] + next - base - all[k].lower) / edge);
      if (!(last - first < 4e6)) throw ManyImages();
      for (auto number = static_cast<std::int64_t>(first); number <= static_cast<std::int64_t>(last); ++number) {
        const double gap = gap_at(base + static_cast<double>(number) * edge);
        if (gap <= next) use(number, gap);
      }
    };
    const auto base = [&](std::size_t k, std::int64_t y, std::int64_t z) {
      return static_cast<double>(z) * cells.components(2)[k] + static_cast<double>(y) * cells.components(1)[k];
    };
    each(2, 0.0, [&](std::int64_t z, double z_gap) {
      each(1, base(1, 0, z), [&](std::int64_t y, double y_gap) {
        each(0, base(0, y, z), [&](std::int64_t x, double x_gap) {
          const double gap = std::sqrt(x_gap * x_gap + y_gap * y_gap + z_gap * z_gap);
          if (gap > done && gap <= next && (x | y | z) != 0) room.shell.push_back({gap, {x, y, z}});
        });
      });
    });
    std::sort(room.shell.begin(), room.shell.end(),
              [](const GroupRoom::Cells& a, const GroupRoom::Cells& b) { return a.gap < b.gap; });
  }

  void write(std::size_t position, const NearPoints& near, const std::vector<Image>& images, const NeighborPairs& to,
             std::size_t begin) const {
    const std::size_t dimension = to.dimension, count = near.count;
    const Near* const items = near.items();
    std::int32_t *first = to.first() + begin, *second = to.second() + begin;
    const std::int32_t row = own_tree_.exact(position).row;
    for (std::size_t k = 0; k < count; ++k) first[k] = row;
    for (std::size_t k = 0; k < count; ++k) second[k] = neighbor_tree().exact(items[k].position).row;
    if (to.has_distances)
      for (std::size_t k = 0; k < count; ++k) to.distances[begin + k] = std::sqrt(items[k].square);
    if (!to.has_vectors && !to.has_shifts) return;
    for (std::size_t k = 0; k < count; ++k) {
      Shift shift;
      const Vector3 vector = vector_of<true>(position, items[k].position, images[items[k].image], shift);
      for (std::size_t axis = 0; axis < dimension; ++axis) {
        if (to.has_vectors) to.vectors[(begin + k) * dimension + axis] = vector[axis] + 0.0;  // 0 is never negative
        if (to.has_shifts) to.shifts[(begin + k) * dimension + axis] = shift[axis];
      }
    }
  }

  // Of fewer, each is put into its place as it is found.
  static constexpr std::size_t kFewWanted = 8;
  static constexpr double kNearlyEqual = 0x1p-50, kGuess = 1.1;

  NearestPart part_;
  FramedPoints own_, others_;
  PointTree own_tree_, other_tree_;
  double error_ = 0, limit_ = 0;
};

// What one thread needs, kept from one batch to the next.
struct Room {
  NearestSearch search;
  GroupRoom group;
};

// Searches the points of a batch, or all.
class BatchSearch {
 public:
  BatchSearch(const NearestQuery& query, GroupKernel kernel)
      : query_(query), kernel_(kernel), lattices_(query.cells, query.cell_count) {}

  // How many neighbours each point has, if that is known before: where there is no cutoff.
  std::size_t known_count(std::size_t points, std::size_t others, std::size_t cell) const {
    if (points == 0 || (query_.cross && others == 0)) return 0;
    const std::array<bool, 3>& repeats = query_.cells[cell].periodic;
    if (repeats[0] || repeats[1] || repeats[2]) return query_.wanted;
    return std::min(query_.wanted, query_.cross ? others : points - 1);
  }

  // On more threads than one only where the points are many: with a room for each. `worker`: who has the first room.
  void run(const PointView& points, const PointView& others, std::size_t cell, Room* rooms, unsigned worker,
           unsigned workers, Interrupt& interrupt, Lists& lists) const {
    if (points.count == 0) return;
    std::optional<Lattice> own_lattice;
    NearestPart part;
    part.points = points;
    part.others = others;
    part.cross = query_.cross;
    part.cell = query_.cells + cell;
    part.lattice = &lattices_.of(cell, own_lattice);
    part.wanted = query_.wanted;
    part.cutoff = query_.cutoff;
    NearestSearch& search = rooms[0].search;
    search.start(part, workers, interrupt);
    constexpr std::size_t kGroups = kPointsATask / kLeafPoints;
    const std::size_t groups = search.group_count(), tasks = (groups + kGroups - 1) / kGroups;
    for_each_task(tasks, workers, interrupt, [&](unsigned by, std::size_t task) {
      for (std::size_t group = task * kGroups; group < std::min(groups, (task + 1) * kGroups); ++group) {
        search.run(group, kernel_, rooms[by].group);
        search.write(group, rooms[by].group, worker + by, lists);
      }
    });
  }

 private:
  const NearestQuery& query_;
  GroupKernel kernel_;
  LatticesOfCells lattices_;
};

// Batches of all points, those without others too.
std::vector<Batch> batches_with_points(const NearestQuery& query, const Batches& batches) {
  std::vector<Batch> all = batches_of_points(batches);
  if (!query.cross) return all;
  auto with_others = batches.with_pairs.begin();
  for (Batch& batch : all) {
    if (with_others == batches.with_pairs.end() || with_others->begin[0] != batch.begin[0]) continue;
    batch = *with_others++;
  }
  return all;
}

}  // namespace

NeighborLists find_nearest(const NearestQuery& query, GroupKernel kernel, unsigned workers, Interrupt& interrupt) {
  workers = std::max(workers, 1u);
  const BatchSearch search(query, kernel);
  const bool is_known = !(query.cutoff < kInfinity);
  Batches batches;
  std::vector<Batch> all;
  if (query.keys) {
    batches = batches_of(*query.keys, query.cross ? &*query.other_keys : nullptr, interrupt);
    all = batches_with_points(query, batches);
  }
  const auto cell = [&](const Batch& batch) { return cell_of(batch, batches, *query.keys, query.cell_count); };

  NeighborLists result;
  result.offsets.assign(query.points.count + 1, 0);
  result.entries = NeighborPairs(query.points.dimension, query.distances, query.vectors, query.shifts);
  const auto make_entries = [&] {
    constexpr std::size_t kMost = std::numeric_limits<std::ptrdiff_t>::max() / 64;
    for (std::size_t row = 0; row < query.points.count; ++row) {
      const auto sum =
          static_cast<std::size_t>(result.offsets[row]) + static_cast<std::size_t>(result.offsets[row + 1]);
      if (sum > kMost) throw std::bad_alloc();
      result.offsets[row + 1] = static_cast<std::int64_t>(sum);
    }
    const auto total = static_cast<std::size_t>(result.offsets.back());
    result.entries.expect(total);
    result.entries.room(std::max<std::size_t>(total, 1));
    result.entries.size = total;
  };
  Lists lists{result.offsets, nullptr, {}, {}};
  if (is_known) {
    if (query.keys) {
      for (const Batch& batch : all) {
        const auto count = static_cast<std::int64_t>(search.known_count(batch.count(0), batch.count(1), cell(batch)));
        for (std::uint32_t k = batch.begin[0]; k < batch.end[0]; ++k)
          result.offsets[static_cast<std::size_t>(batches.sets[0].row(k)) + 1] = count;
      }
    } else {
      const std::size_t count = search.known_count(query.points.count, query.others.count, 0);
      std::fill(result.offsets.begin() + 1, result.offsets.end(), static_cast<std::int64_t>(count));
    }
    make_entries();
    lists.known = &result.entries;
  } else {
    for (unsigned worker = 0; worker < workers; ++worker)
      lists.found.emplace_back(query.points.dimension, query.distances, query.vectors, query.shifts).room(1);
    lists.places.resize(query.points.count);
  }

  std::vector<Room> rooms(workers);
  const auto run = [&](const Batch& batch, Room* own_rooms, unsigned worker, unsigned threads,
                       Interrupt& own_interrupt) {
    const PointView others = query.cross ? points_of(query.others, batches, batch, 1) : PointView{};
    search.run(points_of(query.points, batches, batch, 0), others, cell(batch), own_rooms, worker, threads,
               own_interrupt, lists);
  };
  if (!query.keys) search.run(query.points, query.others, 0, rooms.data(), 0, workers, interrupt, lists);
  for_tasks_of(
      all, [&](const Batch& batch) { run(batch, rooms.data(), 0, workers, interrupt); },
      [&](const std::vector<std::size_t>& tasks) {
        for_each_task(tasks.size() - 1, workers, interrupt, [&](unsigned worker, std::size_t task) {
          Interrupt none;
          for (std::size_t k = tasks[task]; k < tasks[task + 1]; ++k) run(all[k], &rooms[worker], worker, 1, none);
        });
      });
  if (is_known) return result;

  for (std::size_t row = 0; row < query.points.count; ++row)
    result.offsets[row + 1] = static_cast<std::int64_t>(lists.places[row].count);
  make_entries();
  in_stretches_on_threads(query.points.count, workers, interrupt, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const Lists::Place& place = lists.places[row];
      result.entries.copy(lists.found[place.worker], place.begin, place.begin + place.count,
                          static_cast<std::size_t>(result.offsets[row]));
    }
  });
  return result;
}

}  // namespace broadphase
