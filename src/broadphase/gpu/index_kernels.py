"""Kernels of `broadphase.gpu.Index`: walks of its tree for boxes, balls, points and rays.

Rows, order and distances are those of the CPU (core/query/queries.hpp), to the last bit. Walks compute in the type of
the nodes, and skip only nodes that surely have no result; the boxes decide, in doubles, and if these leave a doubt,
without rounding.

Numbers are 0 or from `LEAST` to `MOST` in size (`broadphase.gpu.boxes`): no square, product or quotient overflows, and
no rounding error of a product is too small for a double.
"""

from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import warp as wp

from broadphase.gpu.boxes import LEAST, MOST
from broadphase.gpu.native import NODE_OF_DOUBLES, NODE_OF_FLOATS
from broadphase.gpu.pairs_kernels import Results, append_key
from broadphase.gpu.tree_kernels import Order, kernel_module, lower_place, sampled_row, tree_kernels

__all__ = ["ALL_ROWS", "BY_KEY", "BY_SCENE", "INVALID", "OCTAVE", "Items", "Queries", "index_kernels"]

#: Which rows queries look at: all, those of a scene, or those with a key.
ALL_ROWS, BY_SCENE, BY_KEY = 0, 1, 2
#: The row in results of invalid queries, or while boxes are invalid.
INVALID = -2
#: One octave in the sum of `growth`, which is of integers, so that it does not depend on their order.
OCTAVE = 1024

_INVALID = wp.constant(INVALID)
_OCTAVE = wp.constant(wp.float64(OCTAVE))
_MOST_GROWTH = wp.constant(wp.float64(4.0))
_NEVER = wp.constant(wp.float64(wp.inf))
_LEAST, _MOST = wp.constant(wp.float64(LEAST)), wp.constant(wp.float64(MOST))

# The decisions --------------------------------------------------------------------------------------------------------

# The sign of a sum of products without rounding: numbers of which none overlaps another, from the smallest to the
# largest (J. R. Shewchuk, 1997, 10.1007/PL00009321); products and their errors as by T. J. Dekker, 1971.
_SUMS = """
#if !defined(OUTLINED)
#if defined(__CUDA_ARCH__)
#define OUTLINED __noinline__
#else
#define OUTLINED
#endif
#endif
    struct ExactSum {
        double parts[24];
        int count = 0;

        CUDA_CALLABLE void add(double value) {
            int kept = 0;
            for (int k = 0; k < count; ++k) {
                const double sum = value + parts[k], added = sum - value;
                const double error = (value - (sum - added)) + (parts[k] - added);
                if (error != 0) parts[kept++] = error;
                value = sum;
            }
            if (value != 0) parts[kept++] = value;
            count = kept;
        }
        CUDA_CALLABLE static double upper_half(double value) {
            const double larger = 0x1p27 * value + value;
            return larger - (larger - value);
        }
        CUDA_CALLABLE OUTLINED void add_product(double a, double b) {
            const double product = a * b, high_a = upper_half(a), high_b = upper_half(b);
            const double low_a = a - high_a, low_b = b - high_b;
            add(((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b);
            add(product);
        }
        CUDA_CALLABLE int sign() const { return count == 0 ? 0 : parts[count - 1] > 0 ? 1 : -1; }
    };
"""

# Whether a box is at most a distance from a point: Ball of the CPU.
_BALL = """
    struct Ball {
        CUDA_CALLABLE OUTLINED static bool meets_exactly(const double* center, double radius, const double* low,
                                                const double* high) {
            ExactSum sum;
            sum.add_product(radius, -radius);
            for (int k = 0; k < D; ++k) {
                const double side = center[k] < low[k] ? low[k] : center[k] > high[k] ? high[k] : center[k];
                if (side == center[k]) continue;
                sum.add_product(side, side);
                sum.add_product(-2 * side, center[k]);
                sum.add_product(center[k], center[k]);
            }
            return sum.sign() <= 0;
        }
        CUDA_CALLABLE static double gap(double low, double high, double spot) {
            const double before = low - spot, behind = spot - high, most = before > behind ? before : behind;
            return most > 0 ? most : 0.0;
        }
        // The square of the distance, as squared_distance of the CPU; infinite for a box at infinity.
        CUDA_CALLABLE static double squared_distance(const double* center, const double* low, const double* high) {
            double sum = 0;
            for (int k = 0; k < D; ++k) sum += gap(low[k], high[k], center[k]) * gap(low[k], high[k], center[k]);
            return sum;
        }
        CUDA_CALLABLE OUTLINED static bool meets(const double* center, double radius, const double* low,
                                                 const double* high) {
            const double sum = squared_distance(center, low, high), squared = radius * radius;
            if (sum == INFINITY || sum > squared * (1 + 0x1p-48)) return false;
            return sum < squared * (1 - 0x1p-48) || sum == 0 || meets_exactly(center, radius, low, high);
        }
    };
"""

# When a ray touches a box: touch_time of the CPU, for a point that moves without end.
_TOUCH = """
    struct Touch {
        CUDA_CALLABLE OUTLINED static bool exactly(const double* origin, const double* motion, const double* low,
                                          const double* high) {
            double from[D], to[D], beyond[D], behind[D], speed[D];
            for (int k = 0; k < D; ++k) {
                const bool forward = motion[k] > 0;
                speed[k] = forward ? motion[k] : -motion[k];
                from[k] = forward ? low[k] : origin[k];
                to[k] = forward ? origin[k] : high[k];
                beyond[k] = forward ? high[k] : origin[k];
                behind[k] = forward ? origin[k] : low[k];
            }
            for (int i = 0; i < D; ++i) {
                if (speed[i] == 0 || from[i] <= to[i]) continue;
                if (from[i] == INFINITY || to[i] == -INFINITY) return false;
                for (int j = 0; j < D; ++j) {
                    if (j == i || speed[j] == 0 || beyond[j] == INFINITY || behind[j] == -INFINITY) continue;
                    const double enter = (from[i] - to[i]) / speed[i], leave = (beyond[j] - behind[j]) / speed[j];
                    if (enter * (1 + 0x1p-48) < leave) continue;
                    if (leave * (1 + 0x1p-48) < enter) return false;
                    ExactSum late;
                    late.add_product(from[i], speed[j]);
                    late.add_product(-to[i], speed[j]);
                    late.add_product(-beyond[j], speed[i]);
                    late.add_product(behind[j], speed[i]);
                    if (late.sign() > 0) return false;
                }
            }
            return true;
        }
        // The time, or -1 if it never does.
        CUDA_CALLABLE static double first(const double* origin, const double* motion, const double* low,
                                          const double* high) {
            double enter = 0, leave = INFINITY;
            for (int k = 0; k < D; ++k) {
                const double ahead = low[k] - origin[k], behind = high[k] - origin[k], m = motion[k];
                if (m == 0) {
                    if (ahead > 0 || behind < 0) return -1;
                } else {
                    const double in = (m > 0 ? ahead : behind) / m, out = (m > 0 ? behind : ahead) / m;
                    enter = in > enter ? in : enter;
                    leave = out < leave ? out : leave;
                }
            }
            if (leave < 0 || leave * (1 + 0x1p-48) < enter) return -1;
            return enter * (1 + 0x1p-48) < leave || exactly(origin, motion, low, high) ? enter : -1;
        }
    };
"""

# Numbers of nodes: the nearest one that is not less than a double, the nearest that is not greater, and one above a
# number from 0 on by more than ways to nodes are rounded. Only floats round to 0, by less than `TINY`.
_REALS = """
    constexpr bool IS_FLOAT = sizeof(Real) == 4;
    constexpr Real TINY = IS_FLOAT ? static_cast<Real>(1e-36) : 0;
    struct Reals {
        CUDA_CALLABLE static float next_to(float value, bool up) {
            union { float value; int bits; } both;
            both.value = value;
            if (value == 0)
                both.bits = up ? 1 : static_cast<int>(0x80000001u);
            else
                both.bits += (value > 0) == up ? 1 : -1;
            return both.value;
        }
        CUDA_CALLABLE static Real above(double value) {
            const Real rounded = static_cast<Real>(value);
            return rounded < value ? next_to(rounded, true) : rounded;
        }
        CUDA_CALLABLE static Real below(double value) {
            const Real rounded = static_cast<Real>(value);
            return rounded > value ? next_to(rounded, false) : rounded;
        }
        CUDA_CALLABLE static Real loosely_above(double value) {
            return IS_FLOAT && value > 1e36 ? INFINITY : static_cast<Real>(value) * static_cast<Real>(1.00001) + TINY;
        }
    };
"""

# What walks read.
_NODES = """
    struct Node {
        Real low[3], high[3];
        int child, follows;
    };
    const auto item_at = [&](int index) {@LOADS@    };
    const auto load = [&](int number) {
        const auto item = item_at(number);
        Node node;
        for (int k = 0; k < 3; ++k) node.low[k] = item[k], node.high[k] = item[k + 3];
#if @FLOATS@
        union { float value; int number; } child, follows;
        child.value = item[6], follows.value = item[7];
        node.child = child.number, node.follows = follows.number;
#else
        node.child = static_cast<int>(item[6]), node.follows = static_cast<int>(item[7]);
#endif
        return node;
    };
    const auto read_box = [&](const Node& node, double* low, double* high) {
        for (int k = 0; k < D; ++k) low[k] = node.low[k], high[k] = node.high[k];
    };
    double spot_at[D];
    Real after_low[D], before_high[D];  // what is before `after_low` is surely before the spot
    for (int k = 0; k < D; ++k) {
        spot_at[k] = spot[k];
        after_low[k] = Reals::above(spot[k]), before_high[k] = Reals::below(spot[k]);
    }
"""

# The nearer child of a node first: `reached` returns its time or distance, or -1 to skip it. `look_at` tests a leaf.
_WALK = """
    int stack[@STACK@];
    int depth = 0, number = root;
    Node node = load(number);
    bool is_walking = reached(node) >= 0;
    while (is_walking) {
        if (number >= inner) {
            look_at(node);
        } else if (depth < @STACK@) {
            const int left = node.child;
            const Node a = load(left);
            const int right = a.follows;
            const Node b = load(right);
            const Real to_a = reached(a), to_b = reached(b);
            if (to_a >= 0 || to_b >= 0) {
                const bool is_left = to_b < 0 || (to_a >= 0 && to_a <= to_b);
                if (to_a >= 0 && to_b >= 0) stack[depth++] = is_left ? right : left;
                number = is_left ? left : right;
                node = is_left ? a : b;
                continue;
            }
        } else {
            for (int at = node.child; at != node.follows && !is_done;) {
                const Node one = load(at);
                const bool is_reached = reached(one) >= 0;
                if (is_reached && at >= inner) look_at(one);
                at = is_reached && at < inner ? one.child : one.follows;
            }
        }
        is_walking = false;
        while (depth > 0 && !is_walking && !is_done) {
            number = stack[--depth];
            node = load(number);
            is_walking = reached(node) >= 0;
        }
    }
"""

# In a unit of time, the fastest axis moves by 1: a way too long for floats also takes too long. Times of nodes have a
# relative error below 2^-21, or that of the smallest floats; comparisons allow 2^-18. What decides is in memory,
# outside the loop, so that the loop keeps its registers.
_CAST = """
    struct Ray {
        double origin[D], motion[D];
        double limit, length, fastest;
        int best_row;
        double best_time, best_away;
        Real inverse[D], latest;
        bool forward[D];

        CUDA_CALLABLE OUTLINED void begin(const double* spot, const double* direction, double most, Real* after_low,
                                          Real* before_high) {
            best_row = -1;
            best_time = best_away = INFINITY;
            limit = most;
            fastest = 0;
            for (int k = 0; k < D; ++k) {
                origin[k] = spot[k];
                motion[k] = direction[k];
                fastest = wp::max(fastest, wp::abs(motion[k]));
            }
            length = 0;
            for (int k = 0; k < D; ++k) length += motion[k] * motion[k];
            length = sqrt(length);
            for (int k = 0; k < D; ++k) {
                forward[k] = motion[k] >= 0;
                inverse[k] = INFINITY;
                if (motion[k] == 0) continue;
                const double inverted = 1 / (motion[k] / fastest);
                inverse[k] = static_cast<Real>(inverted);
                if (wp::abs(inverted) <= 1e30) continue;
                // So slow that it arrives later than floats can hold, if at all: this axis excludes nothing.
                forward[k] = true;
                inverse[k] = 1;
                after_low[k] = INFINITY;
                before_high[k] = -INFINITY;
            }
            latest = INFINITY;
            if (fastest > 0) latest = Reals::loosely_above(limit / (length / fastest));
        }
        // Takes a box that is touched before all others so far, and returns whether it is.
        CUDA_CALLABLE OUTLINED bool takes(const double* low, const double* high, int row) {
            const double time = Touch::first(origin, motion, low, high), away = time * length;
            if (time < 0 || !(away <= limit)) return false;
            if (best_row >= 0 && (time > best_time || (time == best_time && row > best_row))) return false;
            best_time = time, best_away = away, best_row = row;
            latest = wp::min(latest, Reals::loosely_above(time * fastest));
            return true;
        }
    };
    double direction_at[D];
    for (int k = 0; k < D; ++k) direction_at[k] = direction[k];
    Ray ray;
    ray.begin(spot_at, direction_at, limit, after_low, before_high);
    Real inverse[D], latest = ray.latest;
    bool forward[D];
    for (int k = 0; k < D; ++k) inverse[k] = ray.inverse[k], forward[k] = ray.forward[k];
    // The time at which a node is reached, or -1. NaN, from infinities on both sides, excludes nothing.
    const auto reached = [&](const Node& node) {
        Real enter = 0, leave = INFINITY;
        for (int k = 0; k < D; ++k) {
            const Real to_low = (node.low[k] - after_low[k]) * inverse[k];
            const Real to_high = (node.high[k] - before_high[k]) * inverse[k];
            enter = wp::max(enter, forward[k] ? to_low : to_high);
            leave = wp::min(leave, forward[k] ? to_high : to_low);
        }
        return enter <= leave * static_cast<Real>(1.000004) + TINY && enter <= latest ? enter : -1;
    };
    bool is_done = false;
    const auto look_at = [&](const Node& node) {
        if (node.child == ignored) return;
        double low[D], high[D];
        read_box(node, low, high);
        if (!ray.takes(low, high, node.child)) return;
        latest = ray.latest;
        is_done = hits.data != nullptr;
    };
"""

_CAST_END = """
    if (hits.data) {
        hits.data[query] = ray.best_row >= 0;
    } else {
        rows.data[query] = ray.best_row;
        distances.data[query] = ray.best_away;
    }
"""

# Squares of distances of nodes are too large by at most 2^-19 of themselves; comparisons allow more.
_NEAREST = """
    // The nearest rows so far, in the memory of the results, with the squares of their distances.
    struct Nearest {
        double point[D];
        double limit;
        int wanted, count;
        Real farthest;
        int* rows;
        double* squares;

        CUDA_CALLABLE bool is_before(double squared, int row, int place) const {
            return squared < squares[place] || (squared == squares[place] && row < rows[place]);
        }
        CUDA_CALLABLE OUTLINED void begin(const double* spot, double most) {
            for (int k = 0; k < D; ++k) point[k] = spot[k];
            limit = most;
            count = 0;
            farthest = Reals::loosely_above(limit * limit);
        }
        CUDA_CALLABLE OUTLINED void consider(const double* low, const double* high, int row) {
            const double squared = Ball::squared_distance(point, low, high);
            if (squared == INFINITY || (count == wanted && !is_before(squared, row, wanted - 1))) return;
            if (limit < INFINITY && !Ball::meets(point, limit, low, high)) return;
            int place = count < wanted ? count++ : wanted - 1;
            for (; place > 0 && is_before(squared, row, place - 1); --place) {
                rows[place] = rows[place - 1];
                squares[place] = squares[place - 1];
            }
            rows[place] = row;
            squares[place] = squared;
            if (count == wanted) farthest = wp::min(farthest, Reals::loosely_above(squares[wanted - 1]));
        }
        CUDA_CALLABLE OUTLINED void finish() {
            for (int place = 0; place < wanted; ++place) {
                squares[place] = place < count ? sqrt(squares[place]) : INFINITY;
                if (place >= count) rows[place] = -1;
            }
        }
    };
    Nearest nearest;
    nearest.wanted = wanted;
    nearest.rows = rows.data + static_cast<long long>(query) * wanted;
    nearest.squares = distances.data + static_cast<long long>(query) * wanted;
    nearest.begin(spot_at, limit);
    Real farthest = nearest.farthest;
    // The square of the distance of a node, or -1.
    const auto reached = [&](const Node& node) {
        Real sum = 0;
        for (int k = 0; k < D; ++k) {
            const Real ahead = node.low[k] - after_low[k], behind = before_high[k] - node.high[k];
            const Real gap = wp::max(wp::max(ahead, behind), static_cast<Real>(0));
            sum += gap * gap;
        }
        return sum <= farthest ? sum : -1;
    };
    const auto look_at = [&](const Node& node) {
        if (node.child == ignored) return;
        double low[D], high[D];
        read_box(node, low, high);
        nearest.consider(low, high, node.child);
        farthest = nearest.farthest;
    };
    const bool is_done = false;
"""

_NEAREST_END = """
    nearest.finish();
"""

#: Nodes that a walk keeps, one for each level. There are up to 157 levels: below this one, it walks in the order of the
#: leaves, which needs no memory.
STACK = 64


def _text(dim: int, kind: Any, *parts: str) -> str:
    text = f"    constexpr int D = {dim};\n    typedef @REAL@ Real;\n" + "".join(parts)
    values = {
        "@FLOATS@": int(kind is wp.float32),
        "@REAL@": "float" if kind is wp.float32 else "double",
        "@LOADS@": NODE_OF_FLOATS if kind is wp.float32 else NODE_OF_DOUBLES,
        "@STACK@": STACK,
    }
    for name, value in values.items():
        text = text.replace(name, str(value))
    return text


_IS_IN_BALL = """
    double at[D], from[D], to[D];
    for (int k = 0; k < D; ++k) at[k] = center[k], from[k] = low[k], to[k] = high[k];
    return Ball::meets(at, radius, from, to);
"""


@wp.func_native(_text(3, wp.float32, _REALS, "    return Reals::above(value);\n"))
def float_above(value: wp.float64) -> wp.float32:
    """Return the least float that is not less than a double."""


@wp.func
def float_below(value: wp.float64) -> wp.float32:
    """Return the largest float that is not greater than a double."""
    return -float_above(-value)


@wp.func_native(_text(3, wp.float64, _SUMS, _BALL, _IS_IN_BALL))
def is_in_ball(center: wp.vec3d, radius: wp.float64, low: wp.vec3d, high: wp.vec3d) -> bool:
    """Return whether a box is at most a radius from a center; an axis that is not there is 0."""


# Threads of a block, and blocks that must have enough registers. Without this, walks take 116 registers for rare cases;
# with more blocks, they would keep more in memory. Chosen by compiler output; not measured on a card yet.
_BOUNDS = (256, 3)

# What queries share ---------------------------------------------------------------------------------------------------


@wp.struct
class Queries:
    """What each query asks. Arrays of floats or of doubles are given, or none where one number is for all.

    `floats` are points, centers, origins or lower corners, `other_floats` directions, with a step of 0 one for all, or
    upper corners, `numbers` radii or distances.

    A query looks at a subtree. `by` is ALL_ROWS, BY_SCENE with scenes of `scene_size` rows, numbered from `first_key`
    on, or BY_KEY. The key of a query is its scene if queries come in scenes of `query_size`, that in `keys`, or `key`.
    """

    floats: wp.array2d(dtype=wp.float32)
    doubles: wp.array2d(dtype=wp.float64)
    other_floats: wp.array2d(dtype=wp.float32)
    other_doubles: wp.array2d(dtype=wp.float64)
    other_step: wp.int32
    number_floats: wp.array(dtype=wp.float32)
    number_doubles: wp.array(dtype=wp.float64)
    number: wp.float64
    is_ball: wp.int32
    by: wp.int32
    scene_size: wp.int32
    first_key: wp.int64
    query_size: wp.int32
    keys: wp.array(dtype=wp.int64)
    key: wp.int64
    ignored_rows: wp.array(dtype=wp.int64)
    ignored: wp.int64


@wp.struct
class Items:
    """Stretches of leaves that walks are for: of each query one, or what earlier walks of `queries` have left.

    There are at most `count` of them, and as many as a counter says, unless it is 0.
    """

    queries: wp.array(dtype=wp.int32)
    begins: wp.array(dtype=wp.int32)
    ends: wp.array(dtype=wp.int32)
    count: wp.int64
    counter: wp.int32


@wp.func
def number_of(queries: Queries, query: int) -> wp.float64:
    if queries.number_doubles:
        return queries.number_doubles[query]
    if queries.number_floats:
        return wp.float64(queries.number_floats[query])
    return queries.number


@wp.func
def part_of(queries: Queries, query: int, axis: int) -> wp.float64:
    if queries.doubles:
        return queries.doubles[query, axis]
    return wp.float64(queries.floats[query, axis])


@wp.func
def other_part_of(queries: Queries, query: int, axis: int) -> wp.float64:
    if queries.other_doubles:
        return queries.other_doubles[query * queries.other_step, axis]
    return wp.float64(queries.other_floats[query * queries.other_step, axis])


@wp.func
def is_in_range(number: wp.float64) -> bool:
    size = wp.abs(number)
    return size == wp.float64(0.0) or (size >= _LEAST and size <= _MOST)


@wp.func
def ignored_by(queries: Queries, query: int) -> int:
    row = queries.ignored
    if queries.ignored_rows:
        row = queries.ignored_rows[query]
    return int(wp.clamp(row, wp.int64(-1), wp.int64(0x7FFFFFFF)))


@wp.func
def places_of(queries: Queries, order: Order, query: int) -> wp.vec2i:
    """Return the first place of a query, and the one after its last."""
    if queries.by == ALL_ROWS:
        return wp.vec2i(0, order.count)
    key = queries.key
    if queries.query_size > 0:
        key = wp.int64(query // queries.query_size)
    elif queries.keys:
        key = queries.keys[query]
    if queries.by == BY_SCENE:
        scene = key - queries.first_key
        if scene < wp.int64(0) or scene >= wp.int64(order.count // queries.scene_size):
            return wp.vec2i(0, 0)
        begin = int(scene) * queries.scene_size
        return wp.vec2i(begin, begin + queries.scene_size)
    low = lower_place(order, key, wp.int64(-0x7FFFFFFFFFFFFFFF))
    return wp.vec2i(low, lower_place(order, key, wp.int64(0x7FFFFFFFFFFFFFFF)))


@wp.func
def root_of(order: Order, begin: int, end: int) -> int:
    """Return the node of the subtree of all leaves from a place to before another."""
    if end - begin == order.count:
        return 0
    if end - begin == 1:
        return order.count - 1 + begin
    if begin == 0 or (end < order.count and order.levels[end - 1] < order.levels[begin - 1]):
        return end - 1
    return begin


@lru_cache(maxsize=None)
def index_kernels(dim: int, kind: Any) -> SimpleNamespace:
    """Return the kernels for an index of boxes of a dimension and a type, float32 or float64."""
    module = kernel_module("index", dim, kind)
    tree = tree_kernels(dim, kind)
    node_type, node_at, take = tree.node_type, tree.access.at, tree.access.take
    boxes_type, check, meets = tree.boxes_type, tree.check, tree.meets
    box_type = wp.types.vector(length=2 * dim, dtype=kind)
    point_type = wp.types.vector(length=dim, dtype=wp.float64)

    def walking_kernel(name: str, is_ray: bool, *parts: str) -> Any:
        """Return the kernel of queries that look at the nearer nodes first, of parts in C++."""

        def walk_of(
            nodes: wp.array(dtype=node_type),
            inner: int,
            root: int,
            spot: point_type,
            direction: point_type,
            limit: wp.float64,
            ignored: int,
            wanted: int,
            query: int,
            rows: wp.array(dtype=wp.int32),
            distances: wp.array(dtype=wp.float64),
            hits: wp.array(dtype=wp.bool),
        ):
            """Write the rows nearest to a point, or the first row on a ray."""

        # Native functions are known by their names.
        walk_of.__qualname__ = f"{name}_{dim}d_{kind.__name__}"
        walk_of = wp.func_native(_text(dim, kind, _SUMS, *parts))(walk_of)

        def walk(
            nodes: wp.array(dtype=node_type),
            order: Order,
            queries: Queries,
            wanted: int,
            state: wp.array(dtype=wp.int64),
            rows: wp.array(dtype=wp.int32),
            distances: wp.array(dtype=wp.float64),
            hits: wp.array(dtype=wp.bool),
        ):
            """Find the wanted rows of each query, or, with `hits`, whether there is one."""
            query = wp.tid()
            limit = number_of(queries, query)
            is_valid = limit >= wp.float64(0.0)
            spot = point_type()
            direction = point_type()
            for axis in range(wp.static(dim)):
                spot[axis] = part_of(queries, query, axis)
                is_valid = is_valid and is_in_range(spot[axis])
                if wp.static(is_ray):
                    direction[axis] = other_part_of(queries, query, axis)
                    is_valid = is_valid and is_in_range(direction[axis])
            if hits and not is_valid:
                wp.atomic_max(state, 2, wp.int64(0x80000000) - wp.int64(query))
            is_valid = is_valid and state[0] == wp.int64(0)
            places = places_of(queries, order, query)
            if is_valid and places[0] < places[1]:
                root = root_of(order, places[0], places[1])
                missed = ignored_by(queries, query)
                inner = order.count - 1
                walk_of(nodes, inner, root, spot, direction, limit, missed, wanted, query, rows, distances, hits)
                return
            if hits:
                hits[query] = False
                return
            row = int(-1)
            distance = _NEVER
            if not is_valid:
                row = _INVALID
                distance = wp.float64(wp.nan)
            for k in range(wanted):
                rows[wp.int64(query) * wp.int64(wanted) + wp.int64(k)] = row
                distances[wp.int64(query) * wp.int64(wanted) + wp.int64(k)] = distance

        walk.__qualname__ = name
        return wp.kernel(module=module, enable_backward=False, launch_bounds=_BOUNDS)(walk)

    @wp.kernel(module=module, enable_backward=False)
    def take_boxes(boxes: boxes_type, own: boxes_type, state: wp.array(dtype=wp.int64)):
        """Copy boxes, and look for invalid ones."""
        row = wp.tid()
        check(boxes, row, 0, state)
        for axis in range(wp.static(dim)):
            low = boxes.lower[row, axis]
            high = boxes.upper[row, axis]
            if wp.static(kind is wp.float64):
                if not ((is_in_range(low) or wp.isinf(low)) and (is_in_range(high) or wp.isinf(high))):
                    wp.atomic_max(state, 0, wp.int64(0x80000000) - wp.int64(row))
            own.lower[row, axis] = low
            own.upper[row, axis] = high

    @wp.kernel(module=module, enable_backward=False)
    def growth_of_nodes(
        nodes: wp.array(dtype=node_type),
        inner: int,
        sample_count: int,
        is_first: int,
        sizes: wp.array(dtype=wp.float64),
        state: wp.array(dtype=wp.int64),
    ):
        """Add up by how many octaves a sample of nodes has grown from their smallest sizes, or store these."""
        sample = wp.tid()
        node = node_at(nodes, sampled_row(sample, inner, sample_count))
        size = wp.float64(0.0)
        for axis in range(wp.static(dim)):
            size += wp.float64(0.5) * wp.float64(node[axis + 3]) - wp.float64(0.5) * wp.float64(node[axis])
        size = wp.clamp(size, wp.float64(1e-300), wp.float64(1e300))
        if is_first != 0:
            sizes[sample] = size
            return
        was = sizes[sample]
        grown = wp.clamp(wp.log2(size) - wp.log2(was), wp.float64(0.0), _MOST_GROWTH)
        sizes[sample] = wp.min(size, was)
        wp.atomic_add(state, 1, wp.int64(grown * _OCTAVE))

    @wp.kernel(module=module, enable_backward=False)
    def ask_boxes(
        queries: Queries,
        order: Order,
        asked: wp.array(dtype=box_type),
        items: Items,
        counters: wp.array(dtype=wp.int64),
    ):
        """Convert boxes, points or balls to boxes of the type of the index, and find the places to look at.

        For an index of floats, doubles are rounded inwards: a float is not less than a double if, and only if, it is
        not less than the next float. Such a box may have lower > upper, but still overlaps boxes around it.
        """
        query = wp.tid()
        is_valid = bool(True)
        radius = wp.float64(0.0)
        if queries.is_ball != 0:
            radius = number_of(queries, query)
            is_valid = radius >= wp.float64(0.0) and radius < _NEVER
        box = box_type()
        for axis in range(wp.static(dim)):
            low = part_of(queries, query, axis)
            high = other_part_of(queries, query, axis)
            is_valid = is_valid and low <= high
            if queries.is_ball != 0:
                is_valid = is_valid and is_in_range(low)
                low -= radius
                high += radius
                low -= wp.abs(low) * wp.float64(wp.static(2.0**-52))
                high += wp.abs(high) * wp.float64(wp.static(2.0**-52))
            if wp.static(kind is wp.float32):
                box[axis] = float_above(low)
                box[axis + wp.static(dim)] = float_below(high)
            else:
                box[axis] = low
                box[axis + wp.static(dim)] = high
        places = places_of(queries, order, query)
        if not is_valid:
            wp.atomic_max(counters, 2, wp.int64(0x80000000) - wp.int64(query))
            places = wp.vec2i(0, 0)
        asked[query] = box
        items.begins[query] = places[0]
        items.ends[query] = places[1]

    @wp.kernel(module=module, enable_backward=False, launch_bounds=_BOUNDS)
    def find_rows(
        nodes: wp.array(dtype=node_type),
        order: Order,
        queries: Queries,
        asked: wp.array(dtype=box_type),
        items: Items,
        piece_count: int,
        thread_count: wp.int64,
        budget: int,
        left: Items,
        results: Results,
    ):
        """Find the rows of queries, each in its own walk, which leaves the rest to others after some nodes.

        Items are queries, or what earlier walks have left, and are divided into pieces.
        """
        inner = order.count - 1
        item_count = items.count
        if items.counter > 0:
            item_count = wp.min(item_count, results.counters[items.counter])
        task = wp.int64(wp.tid())
        while task < item_count * wp.int64(piece_count):
            item = int(task / wp.int64(piece_count))
            piece = task - wp.int64(item) * wp.int64(piece_count)
            query = item
            if items.queries:
                query = items.queries[item]
            begin = items.begins[item]
            length = wp.int64(items.ends[item] - begin)
            at = begin + int(length * piece / wp.int64(piece_count))
            end = begin + int(length * (piece + wp.int64(1)) / wp.int64(piece_count))
            number = int(0)
            if at < end:
                if not items.queries:
                    number = root_of(order, at, end)
                elif at > 0:
                    before = node_at(nodes, inner + at - 1)
                    number = take(before[7])
            box = asked[query]
            own = node_type()
            for axis in range(wp.static(dim)):
                own[axis] = box[axis]
                own[axis + 3] = box[axis + wp.static(dim)]
            missed = ignored_by(queries, query)
            steps = budget
            while at < end:
                if steps == 0:
                    place = wp.atomic_add(results.counters, left.counter, wp.int64(1))
                    if place < left.count:
                        left.queries[place] = query
                        left.begins[place] = at
                        left.ends[place] = end
                        break
                steps -= 1
                node = node_at(nodes, number)
                if meets(own, node):
                    if number < inner:
                        number = take(node[6])
                        continue
                    row = take(node[6])
                    is_hit = row != missed
                    if is_hit and queries.is_ball != 0:
                        center = wp.vec3d()
                        low = wp.vec3d()
                        high = wp.vec3d()
                        for axis in range(wp.static(dim)):
                            center[axis] = part_of(queries, query, axis)
                            low[axis] = wp.float64(node[axis])
                            high[axis] = wp.float64(node[axis + 3])
                        is_hit = is_in_ball(center, number_of(queries, query), low, high)
                    if is_hit:
                        append_key(results, query, row)
                number = take(node[7])
                at = number
                if number >= inner:
                    at = number - inner
            task += thread_count

    return SimpleNamespace(
        box_type=box_type,
        take=take_boxes,
        growth=growth_of_nodes,
        ask=ask_boxes,
        find=find_rows,
        nearest=walking_kernel("nearest_rows", False, _BALL, _REALS, _NODES, _NEAREST, _WALK, _NEAREST_END),
        cast=walking_kernel("cast_rays", True, _TOUCH, _REALS, _NODES, _CAST, _WALK, _CAST_END),
        module=module,
    )
