"""Kernels that find points within a cutoff of one another: they are filed into cells, and compared with cells around.

Points are placed in the frame of the lattice (see core/neighbors/lattice.hpp), in which a box holds one image of each.
Cells are at least as wide as the reach; along the first axis, several times narrower. A table has where the points of
each cell begin, by the number of the cell. Cells of a row, along the first axis, have consecutive numbers: a row within
reach is one stretch of points. If a periodic box has few cells, numbers are exact; otherwise rows are at hashed places.
Then points of other cells may be among those of a row, so that the cell of each point is compared first.

The given numbers decide in float64 whether a pair is near. Before that, floats decide sure cases: places within cells
are numbers as small as cells, so that floats are exact enough wherever the points are. `bound_lattices` computes the
bounds.
"""

from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import warp as wp

from broadphase.gpu.native import loads
from broadphase.gpu.tree_kernels import kernel_module

__all__ = ["filing_kernels", "neighbor_kernels", "result_kernels"]

#: What `Lattice.wrong` says, if not 0: it spans no volume, or has more images than there are numbers.
FLAT, MANY = 1, 2

#: Counters of faults follow the number of pairs, for each of two sets: 2**31 minus the first row.
NOT_A_NUMBER, INFINITE, BAD_KEY, WRONG_CELL, FAR, MANY_IMAGES, FAULTS = range(7)
#: The last one: points are so far from their cell that rounding errors are larger than cells.
COUNTERS = 2 + 2 * FAULTS
_NOT_A_NUMBER, _INFINITE, _BAD_KEY, _WRONG_CELL, _FAR, _MANY_IMAGES = (wp.constant(k) for k in range(6))
_LAST_COUNTER = wp.constant(COUNTERS - 1)

#: Squares of smaller numbers round to 0, which is at most any cutoff.
LEAST_REACH = 1e-161
_LEAST_REACH = wp.constant(wp.float64(LEAST_REACH))
# As in core/neighbors/lattice.hpp: how many cells a point may be away.
_MOST_CELLS = wp.constant(wp.float64(2.0**30))
# Places in the frame differ from those of the formula by at most this share of all numbers that are added up.
_ROUNDING = wp.constant(wp.float64(2.0**-48))
# Along axes without end, cells have one width up to this number. Beyond, they are numbered by its upper bits, and have
# 2**-24 of it as width, farther away 2**-18, so that all numbers fit into 32 bits. Places in such wide cells are NaN:
# their pairs are compared in float64.
_EVEN_CELLS = wp.constant(wp.float64(2.0**30))
_FAR_CELLS = wp.constant(wp.float64(2.0**62))
_EVEN_BITS, _FAR_BITS = (wp.constant(wp.int64((1023 + power) << 52)) for power in (30, 62))
_DROPPED_BITS = wp.constant(wp.int64(52 - 24))
_FAR_DROPPED_BITS = wp.constant(wp.int64(52 - 18))
# Floats hold the place along the first axis modulo so many cells; a stretch has at most half as many.
_PERIOD = wp.constant(32)

vec3l = wp.types.vector(length=3, dtype=wp.int64)


@wp.struct
class Lattice:
    """The given vectors, the axes of the frame, the short vectors by their parts along these, and which given vectors
    they are made of, each as rows; the number of cells along each axis, 0 without end, and their width.

    Then the number of periodic axes; which axes of the space have no part in the lattice; how often a point may be
    wrapped along each given vector; one by the unit of floats; the cutoff; what is wrong; whether two images of a point
    can be near another one.
    """

    vectors: wp.mat33d
    frame: wp.mat33d
    parts: wp.mat33d
    combination: wp.mat33d
    cells: wp.vec3d
    widths: wp.vec3d
    apart: wp.vec3d
    room: wp.vec3d
    unit: wp.float64
    cutoff: wp.float64
    axes: wp.int32
    wrong: wp.int32
    repeats: wp.int32


@wp.struct
class Plan:
    """What `bound_lattices` makes of a lattice, for each axis: the number of cells, how many to look at on each side,
    the most images on each side, and the width in units.

    Up to the square `low` of a distance, in units, pairs surely are near; beyond `high`, they surely are not.
    """

    cells: wp.vec3i
    sides: wp.vec3i
    images: wp.vec3i
    widths: wp.vec3
    low: wp.float32
    high: wp.float32


@wp.struct
class Points:
    """A set of points: their batches and lattices, and, in the order of cells, what a search reads of each.

    The batch of a row is its scene, its key, or, with a step of 0, one key. All have the same lattice if
    `lattice_count` is 0. `exact` has the row too.
    """

    scene_size: wp.int32
    keys: wp.array(dtype=wp.int64)
    step: wp.int32
    lattices: wp.array(dtype=Lattice)
    lattice_count: wp.int32
    numbers: wp.array(dtype=wp.int32)
    order: wp.array(dtype=wp.int32)
    spots: wp.array(dtype=wp.vec4)
    cells: wp.array(dtype=wp.vec4i)
    exact: wp.array(dtype=wp.vec4d)
    wraps: wp.array(dtype=wp.vec3i)


@wp.struct
class Table:
    """Where the points of each cell begin, by the number of the cell or of a hash."""

    starts: wp.array(dtype=wp.int32)
    size: wp.int32
    is_hashed: wp.int32


@wp.struct
class Task:
    """Which pairs to look for, and where they are written: see `search_points`."""

    is_half: wp.int32
    is_by_row: wp.int32
    is_upper: wp.int32
    is_one_set: wp.int32
    slices: wp.int32
    count: wp.int32
    limit: wp.float64
    plans: wp.array(dtype=Plan)
    capacity: wp.int64
    offsets: wp.array(dtype=wp.int64)
    found: wp.array(dtype=wp.vec2i)
    images: wp.array(dtype=wp.int32)


_MOST_OF_WARP = """
    long long most = value;
#if defined(__CUDA_ARCH__)
    for (int step = 16; step > 0; step /= 2) {
        const long long other = __shfl_xor_sync(0xffffffffu, most, step);
        most = other > most ? other : most;
    }
#endif
    return most;
"""


@wp.func_native(loads("spots", "float4", 1, "wp::vec_t<4, wp::float32>"))
def spot_at(spots: wp.array(dtype=wp.vec4), index: int) -> wp.vec4:
    """Return the place of a point in its cell and its row as bits, by one load of 16 bytes."""


@wp.func_native(loads("points", "double2", 2, "wp::vec_t<4, wp::float64>"))
def point_at(points: wp.array(dtype=wp.vec4d), index: int) -> wp.vec4d:
    """Return a point and its row, by two loads of 16 bytes."""


@wp.func_native(loads("cells", "int4", 1, "wp::vec_t<4, wp::int32>"))
def cell_at(cells: wp.array(dtype=wp.vec4i), index: int) -> wp.vec4i:
    """Return the cell of a point and its scene, by one load of 16 bytes."""


@wp.func_native(_MOST_OF_WARP)
def most_of_warp(value: wp.int64) -> wp.int64:
    """Return the largest value of all threads of a warp, which must all call it; on the CPU, a warp is one thread."""


@wp.struct
class Spot:
    """A point within the box: its cell, its place in it, and how often each given vector was subtracted."""

    cell: wp.vec3i
    offset: wp.vec3d
    wraps: vec3l
    is_far: wp.int32


@wp.func
def key_of(row: int, points: Points) -> wp.int64:
    """Return the key of the batch of a row."""
    if points.scene_size > 0:
        return wp.int64(row // points.scene_size)
    if points.keys:
        return points.keys[row * points.step]
    return wp.int64(0)


@wp.func
def lattice_of(key: wp.int64, lattice_count: int) -> int:
    """Return which lattice a batch has."""
    if key > wp.int64(0) and key < wp.int64(lattice_count):
        return int(key)
    return 0


@wp.func
def placed(point: wp.vec3d, lattices: wp.array(dtype=Lattice), at: int) -> Spot:
    """Return the spot of a finite point."""
    spot = Spot()
    place = point
    axes = lattices[at].axes
    if axes > 0:
        for k in range(3):
            a = lattices[at].frame[k, 0] * point[0]
            b = lattices[at].frame[k, 1] * point[1]
            place[k] = a + b + lattices[at].frame[k, 2] * point[2]
        for turn in range(3):
            last = 2 - turn
            if last < axes:
                steps = wp.floor(place[last] / lattices[at].parts[last, last])
                if not (wp.abs(steps) <= _MOST_CELLS):
                    spot.is_far = 1
                    return spot
                if steps != wp.float64(0.0):
                    for axis in range(3):
                        place[axis] = place[axis] - steps * lattices[at].parts[last, axis]
                        times = wp.int64(lattices[at].combination[last, axis])
                        spot.wraps[axis] = spot.wraps[axis] + wp.int64(steps) * times
        for axis in range(3):
            if wp.abs(spot.wraps[axis]) > wp.int64(_MOST_CELLS):
                spot.is_far = 1
    for k in range(3):
        count = lattices[at].cells[k]
        width = lattices[at].widths[k]
        number = place[k] / width
        if count > wp.float64(0.0):
            number = wp.clamp(wp.floor(number), wp.float64(0.0), count - wp.float64(1.0))
            spot.cell[k] = int(number)
            spot.offset[k] = place[k] - number * width
        elif wp.abs(number) < _EVEN_CELLS:
            number = wp.floor(number)
            spot.cell[k] = int(number)
            spot.offset[k] = place[k] - number * width
        else:
            # Bits of positive doubles are ordered as they are.
            near = wp.cast(wp.min(wp.abs(number), _FAR_CELLS), wp.int64) - _EVEN_BITS
            far = wp.cast(wp.max(wp.abs(number), _FAR_CELLS), wp.int64) - _FAR_BITS
            beyond = wp.int64(_EVEN_CELLS) + (near >> _DROPPED_BITS) + (far >> _FAR_DROPPED_BITS)
            if number < wp.float64(0.0):
                beyond = wp.int64(-1) - beyond
            spot.cell[k] = int(beyond)
            spot.offset[k] = wp.float64(wp.nan)
    return spot


@wp.func
def mixed(value: wp.uint64) -> wp.uint64:
    """Return a hash of 64 bits: the last steps of MurmurHash3."""
    x = value ^ (value >> wp.uint64(33))
    x = x * wp.uint64(0xFF51AFD7ED558CCD)
    x = x ^ (x >> wp.uint64(33))
    x = x * wp.uint64(0xC4CEB9FE1A85EC53)
    return x ^ (x >> wp.uint64(33))


@wp.func
def row_begin(key: wp.int64, y: int, z: int, counts: wp.vec3i, table: Table) -> int:
    """Return the number in the table of the first cell of a row."""
    if table.is_hashed != 0:
        hashed = mixed(wp.uint64(key) + wp.uint64(0x9E3779B97F4A7C15))
        hashed = mixed(hashed ^ ((wp.uint64(wp.uint32(y)) << wp.uint64(32)) | wp.uint64(wp.uint32(z))))
        return int(hashed & wp.uint64(table.size - 1))
    return ((int(key) * counts[2] + z) * counts[1] + y) * counts[0]


@wp.func
def images_of(cell: int, count: int) -> int:
    """Return the image of the box in which a cell beyond it lies; axes without end have none."""
    images = int(0)
    if count > 0:
        if cell >= count:
            images = cell // count
        elif cell < 0:
            images = -((count - 1 - cell) // count)
    return images


@wp.func
def shift_of(
    x: int, y: int, z: int, own: wp.vec3i, other: wp.vec3i, lattices: wp.array(dtype=Lattice), at: int
) -> vec3l:
    """Return how many times each given vector is added, for an image of the box and the given points."""
    shift = vec3l()
    for axis in range(3):
        total = wp.int64(own[axis]) - wp.int64(other[axis])
        total += wp.int64(x) * wp.int64(lattices[at].combination[0, axis])
        total += wp.int64(y) * wp.int64(lattices[at].combination[1, axis])
        total += wp.int64(z) * wp.int64(lattices[at].combination[2, axis])
        shift[axis] = total
    return shift


@wp.func
def vector_of(own: wp.vec4d, other: wp.vec4d, shift: vec3l, lattices: wp.array(dtype=Lattice), at: int) -> wp.vec3d:
    """Return the vector of a pair by the documented formula: every operation rounds as written."""
    vector = wp.vec3d()
    for axis in range(3):
        a = wp.float64(shift[0]) * lattices[at].vectors[0, axis]
        b = wp.float64(shift[1]) * lattices[at].vectors[1, axis]
        c = wp.float64(shift[2]) * lattices[at].vectors[2, axis]
        vector[axis] = (other[axis] - own[axis]) + ((a + b) + c)
    return vector


@wp.func
def square_of(vector: wp.vec3d) -> wp.float64:
    return (vector[0] * vector[0] + vector[1] * vector[1]) + vector[2] * vector[2]


@wp.func
def is_negative(shift: vec3l) -> bool:
    """Return whether the first number that is not 0 is negative."""
    if shift[0] != wp.int64(0):
        return shift[0] < wp.int64(0)
    if shift[1] != wp.int64(0):
        return shift[1] < wp.int64(0)
    return shift[2] < wp.int64(0)


@lru_cache(maxsize=None)
def filing_kernels(dim: int, kind: Any) -> SimpleNamespace:
    """Return the kernels that read points of a dimension and a type, float32 or float64."""
    module = kernel_module("points", dim, kind)

    @wp.func
    def point_of(points: wp.array2d(dtype=kind), row: int) -> wp.vec3d:
        point = wp.vec3d()
        for axis in range(wp.static(dim)):
            point[axis] = wp.float64(points[row, axis])
        return point

    @wp.kernel(module=module, enable_backward=False)
    def measure_points(
        given: wp.array2d(dtype=kind), points: Points, threads: int, lanes: int, most: wp.array(dtype=wp.int64)
    ):
        """Find the largest coordinates and numbers of wraps, as bits of doubles.

        Each thread looks at several points, so that few write; threads are whole warps.
        """
        thread = wp.tid()
        coordinates = wp.vec3d()
        wraps = wp.vec3d()
        row = thread
        while row < given.shape[0]:
            point = point_of(given, row)
            if wp.isfinite(point[0]) and wp.isfinite(point[1]) and wp.isfinite(point[2]):
                spot = placed(point, points.lattices, lattice_of(key_of(row, points), points.lattice_count))
                if spot.is_far == 0:
                    for axis in range(3):
                        coordinates[axis] = wp.max(coordinates[axis], wp.abs(point[axis]))
                        wraps[axis] = wp.max(wraps[axis], wp.float64(wp.abs(spot.wraps[axis])))
            row += threads
        for axis in range(3):
            far = most_of_warp(wp.cast(coordinates[axis], wp.int64))
            often = most_of_warp(wp.cast(wraps[axis], wp.int64))
            if thread % lanes == 0:
                if far > most[axis]:
                    wp.atomic_max(most, axis, far)
                if often > most[3 + axis]:
                    wp.atomic_max(most, 3 + axis, often)

    @wp.kernel(module=module, enable_backward=False)
    def file_points(
        given: wp.array2d(dtype=kind),
        points: Points,
        table: Table,
        is_counted: int,
        faults: int,
        counters: wp.array(dtype=wp.int64),
    ):
        """Write the number of the cell of each point, count the points of each cell, and look for faults."""
        row = wp.tid()
        told = wp.int64(0x80000000) - wp.int64(row)
        point = point_of(given, row)
        fault = int(-1)
        for axis in range(wp.static(dim)):
            if wp.isnan(point[axis]):
                fault = _NOT_A_NUMBER
            elif not wp.isfinite(point[axis]) and fault < 0:
                fault = _INFINITE
        if fault >= 0:
            point = wp.vec3d()
        key = key_of(row, points)
        if points.lattice_count > 0 and (key < wp.int64(0) or key >= wp.int64(points.lattice_count)):
            key = wp.int64(0)
            if fault < 0:
                fault = _BAD_KEY
        at = lattice_of(key, points.lattice_count)
        spot = placed(point, points.lattices, at)
        if fault < 0 and points.lattices[at].wrong != 0:
            fault = _WRONG_CELL
        if fault < 0 and spot.is_far != 0:
            fault = _FAR
        for axis in range(3):
            if fault < 0 and wp.float64(wp.abs(spot.wraps[axis])) >= points.lattices[at].room[axis]:
                fault = _MANY_IMAGES
        if fault >= 0:
            wp.atomic_max(counters, faults + fault, told)
        cells = points.lattices[at].cells
        counts = wp.vec3i(int(cells[0]), int(cells[1]), int(cells[2]))
        number = row_begin(key, spot.cell[1], spot.cell[2], counts, table) + spot.cell[0]
        if table.is_hashed != 0:
            number = number & (table.size - 1)
        # After all cells, where no search looks: a simulation that went wrong has many invalid points.
        if fault >= 0:
            number = table.size
        points.numbers[row] = number
        points.order[row] = row
        if is_counted != 0:
            wp.atomic_add(table.starts, number, 1)

    @wp.kernel(module=module, enable_backward=False)
    def gather_points(given: wp.array2d(dtype=kind), points: Points, table: Table):
        """Write the points in the order of cells, as a search reads them; those with a fault have the scene -1."""
        place = wp.tid()
        row = points.order[place]
        point = point_of(given, row)
        points.exact[place] = wp.vec4d(point[0], point[1], point[2], wp.float64(row))
        is_fault = points.numbers[place] == table.size
        if is_fault:
            point = wp.vec3d()
        at = lattice_of(key_of(row, points), points.lattice_count)
        spot = placed(point, points.lattices, at)
        unit = points.lattices[at].unit
        across = wp.float64(spot.cell[0] & (_PERIOD - 1)) * points.lattices[at].widths[0]
        points.spots[place] = wp.vec4(
            wp.float32((across + spot.offset[0]) * unit),
            wp.float32(spot.offset[1] * unit),
            wp.float32(spot.offset[2] * unit),
            wp.cast(row, wp.float32),
        )
        scene = int(0)
        if points.scene_size > 0:
            scene = row // points.scene_size
        if is_fault:
            scene = -1
        points.cells[place] = wp.vec4i(spot.cell[0], spot.cell[1], spot.cell[2], scene)
        if points.wraps:
            points.wraps[place] = wp.vec3i(int(spot.wraps[0]), int(spot.wraps[1]), int(spot.wraps[2]))

    return SimpleNamespace(measure=measure_points, file=file_points, gather=gather_points, module=module)


@lru_cache(maxsize=None)
def neighbor_kernels(dim: int) -> SimpleNamespace:
    """Return the kernels that find the pairs of points of a dimension."""
    module = kernel_module("neighbors", dim, wp.float64)

    @wp.kernel(module=module, enable_backward=False)
    def take_lattice(lattice: Lattice, lattices: wp.array(dtype=Lattice)):
        lattices[0] = lattice

    @wp.kernel(module=module, enable_backward=False)
    def bound_lattices(
        lattices: wp.array(dtype=Lattice),
        most: wp.array(dtype=wp.int64),
        plans: wp.array(dtype=Plan),
        counters: wp.array(dtype=wp.int64),
    ):
        """Find how far to look around a point, and between which distances floats leave a doubt.

        Frame and formula differ by at most `error`: eight times the share `_ROUNDING` of all numbers added up. Floats
        have an error of 2**-24 of their numbers: along the first axis, up to `_PERIOD` cells, in a dozen operations;
        along the others, up to the reach and a cell, in six.
        """
        at = wp.tid()
        lattice = lattices[at]
        axes = lattice.axes
        cutoff = lattice.cutoff
        one = wp.float64(1.0)
        slack = wp.float64(1.00000000001)
        error = wp.float64(0.0)
        reach = wp.max(cutoff * slack, _LEAST_REACH)
        sides = wp.vec3d()
        images = wp.vec3d()
        is_wrong = bool(False)
        # Longer reaches have more images, and these larger rounding errors.
        for turn in range(3):
            for k in range(3):
                sides[k] = wp.ceil(reach * wp.float64(1.000244140625) / lattice.widths[k])
            images = wp.vec3d()
            for before in range(3):
                last = 2 - before
                if last < axes:
                    along = sides[last]
                    for above in range(3):
                        if above > last:
                            part = wp.abs(lattice.parts[above, last]) / lattice.widths[last]
                            along += wp.ceil(images[above] * part)
                    images[last] = wp.floor(along / lattice.cells[last]) + wp.float64(3.0)
            if axes > 0 and turn < 2:
                error = wp.float64(0.0)
                for axis in range(3):
                    if lattice.apart[axis] == wp.float64(0.0):
                        error += wp.cast(most[axis], wp.float64)
                    shifts = wp.cast(most[3 + axis], wp.float64)
                    for k in range(3):
                        shifts += images[k] * wp.abs(lattice.combination[k, axis])
                    for k in range(3):
                        error += shifts * wp.abs(lattice.vectors[axis, k])
                error = wp.float64(8.0) * (error * _ROUNDING)
                reach = wp.max((cutoff + error) * slack, _LEAST_REACH)
        if wp.static(dim == 2):
            sides[2] = wp.float64(0.0)
        number = wp.float64(1.0)
        rows = wp.float64(1.0)
        for k in range(3):
            number = number * (wp.float64(2.0) * images[k] + one)
            rows = rows * (wp.float64(2.0) * sides[k] + one)
        if not (number < wp.float64(2147483648.0)) or not (rows < wp.float64(1e18)):
            is_wrong = True
        if not (sides[0] < wp.float64(1e9)) or not (rows / (wp.float64(2.0) * sides[0] + one) < wp.float64(1e9)):
            is_wrong = True
        if is_wrong:
            sides = wp.vec3d()
            images = wp.vec3d()
            if lattice.wrong == 0:
                wp.atomic_max(counters, _LAST_COUNTER, wp.int64(0x80000000))
        unit = lattice.unit
        rounded = wp.float64(3.0517578125e-05) * lattice.widths[0]
        for k in range(3):
            if k < wp.static(dim):
                rounded += wp.float64(1.9073486328125e-06) * (reach + lattice.widths[k])
        high = (reach + rounded) * unit
        low = ((cutoff - error) / slack - rounded) * unit
        low_square = wp.float64(-1.0)
        if low > wp.float64(0.0):
            low_square = low * low * wp.float64(0.9999980926513672)
        plan = Plan()
        plan.low = wp.float32(low_square)
        plan.high = wp.float32(high * high * wp.float64(1.0000019073486328))
        for k in range(3):
            plan.cells[k] = int(lattice.cells[k])
            plan.sides[k] = int(sides[k])
            plan.images[k] = int(images[k])
            plan.widths[k] = wp.float32(lattice.widths[k] * unit)
        plans[at] = plan

    @wp.func
    def seen_cell(cell: int, within: wp.float32, moved: wp.float64, width: wp.float64, unit: wp.float64) -> int:
        """Return the cell, along one axis, of a point moved into the frame of an image."""
        if moved == wp.float64(0.0):
            return cell
        return int(wp.floor((wp.float64(cell) * width + wp.float64(within) / unit - moved) / width))

    @wp.func
    def seen_within(
        cell: int, within: wp.float32, moved: wp.float64, width: wp.float64, unit: wp.float64
    ) -> wp.float32:
        """Return the place in that cell."""
        if moved == wp.float64(0.0):
            return within
        place = wp.float64(cell) * width + wp.float64(within) / unit - moved
        return wp.float32((place - wp.floor(place / width) * width) * unit)

    @wp.func
    def skew_y(image_z: int, lattices: wp.array(dtype=Lattice), at: int) -> wp.float64:
        """Return how far images along z are moved along y in a skewed cell."""
        if image_z == 0:
            return wp.float64(0.0)
        return wp.float64(image_z) * lattices[at].parts[2, 1]

    @wp.func
    def skew_x(image_z: int, image_y: int, lattices: wp.array(dtype=Lattice), at: int) -> wp.float64:
        if image_z == 0 and image_y == 0:
            return wp.float64(0.0)
        along_z = wp.float64(image_z) * lattices[at].parts[2, 0]
        return along_z + wp.float64(image_y) * lattices[at].parts[1, 0]

    @wp.func
    def first_step(lower: wp.float32, side: int) -> int:
        """Return the first cell that a ball reaches, from its lower end in widths, which may be NaN or infinite."""
        if lower >= wp.float32(-1e9):
            return wp.max(-side, int(wp.floor(lower - wp.float32(0.004) + lower * wp.float32(1e-6))))
        return -side

    @wp.func
    def last_step(upper: wp.float32, side: int) -> int:
        if upper <= wp.float32(1e9):
            return wp.min(side, int(wp.floor(upper + wp.float32(0.004) + upper * wp.float32(1e-6))))
        return side

    @wp.func
    def image_number(x: int, y: int, z: int, most: wp.vec3i) -> int:
        """Return the number of an image."""
        return ((z + most[2]) * (2 * most[1] + 1) + y + most[1]) * (2 * most[0] + 1) + x + most[0]

    @wp.func
    def square_from(
        that: wp.vec4, phase: wp.float32, width: wp.float32, from_x: wp.float32, from_y: wp.float32, from_z: wp.float32
    ) -> wp.float32:
        """Return the square of the distance to a point of a stretch, whose lower corner is at `from`."""
        dx = that[0] - phase
        period = wp.float32(_PERIOD) * width
        dx = dx + wp.where(dx < wp.float32(-8.0) * width, period, wp.float32(0.0)) + from_x
        dy = that[1] + from_y
        dz = that[2] + from_z
        return dx * dx + dy * dy + dz * dz

    @wp.func
    def is_in_stretch(
        cell: wp.vec4i, row: int, x: int, more: int, y: int, z: int, scene: int, key: wp.int64, points: Points
    ) -> bool:
        """Return whether a point is in the cells of a stretch, and not in others with the same number."""
        if cell[1] != y or cell[2] != z or cell[3] != scene or cell[0] < x or cell[0] > x + more:
            return False
        if points.keys:
            return points.keys[row * points.step] == key
        return True

    @wp.func
    def is_near(
        place: int,
        k: int,
        row: int,
        other: int,
        x: int,
        y: int,
        z: int,
        at: int,
        own: Points,
        others: Points,
        task: Task,
    ) -> bool:
        """Decide by the documented formula, and with `is_upper` whether this point reports the pair."""
        shift = vec3l()
        if others.wraps:
            shift = shift_of(x, y, z, own.wraps[place], others.wraps[k], own.lattices, at)
        if task.is_upper != 0 and (other < row or (other == row and is_negative(shift))):
            return False
        vector = vector_of(point_at(own.exact, place), point_at(others.exact, k), shift, own.lattices, at)
        return square_of(vector) <= task.limit

    @wp.func
    def write_pair(task: Task, at: int, place: int, k: int, image: int):
        if task.found and wp.int64(at) < task.capacity:
            task.found[at] = wp.vec2i(place, k)
            if task.images:
                task.images[at] = image

    @wp.kernel(module=module, enable_backward=False, cuda_max_registers=80)
    def search_points(own_points: Points, points: Points, table: Table, task: Task):
        """Compare a point with those in the cells around: count near ones, or write them if there is `found`.

        `slices` threads share the rows around a point. In one set, each pair is found once: with `is_half`, a point is
        compared with those after it in its row, and with half of the rows around. With `is_upper`, it is compared with
        all, but only higher rows of the input count, and of its own images those with a positive shift.

        Pairs are places of both, in the order of points, or with `is_by_row` of rows of the input. `offsets` has the
        number of pairs of each thread, later the place of the first; `images` the image of the second point.
        """
        number = wp.tid()
        place = number // task.slices
        part = number - place * task.slices
        own = spot_at(own_points.spots, place)
        row = wp.cast(own[3], wp.int32)
        cell = cell_at(own_points.cells, place)
        key = key_of(row, own_points)
        lattices = own_points.lattices
        at = lattice_of(key, own_points.lattice_count)
        counts = task.plans[at].cells
        count_x = counts[0]
        most = task.plans[at].images
        width_x = task.plans[at].widths[0]
        width_y = task.plans[at].widths[1]
        width_z = task.plans[at].widths[2]
        per_width_x = wp.float32(1.0) / width_x
        low = task.plans[at].low
        high = task.plans[at].high
        side_x = task.plans[at].sides[0]
        side_y = task.plans[at].sides[1]
        side_z = task.plans[at].sides[2]
        own_x = own[0] - wp.float32(cell[0] & (_PERIOD - 1)) * width_x
        index = wp.where(task.is_by_row != 0, row * task.slices + part, number)
        begin = int(0)
        if task.found:
            begin = int(wp.min(task.offsets[index], task.capacity))
        elif number == 0:
            task.offsets[task.count] = wp.int64(0)
        count = int(0)
        itself = wp.where(task.is_one_set != 0, place, -1)
        # The rows around by z and y, of which each thread takes every `slices`-th; half of them begin with the own row.
        step_z = wp.where(task.is_half != 0, 0, -side_z)
        step_y = wp.where(task.is_half != 0, 0, -side_y) + part
        if cell[3] < 0:
            step_z = side_z + 1
            step_y = part - side_y
        while True:
            while step_y > side_y:
                step_y -= 2 * side_y + 1
                step_z += 1
            if step_z > side_z:
                break
            # Along z.
            z = cell[2]
            image_z = int(0)
            from_z = -own[2]  # of the lower side of the row
            if wp.static(dim == 3):
                image_z = images_of(z + step_z, counts[2])
                z = z + step_z - image_z * counts[2]
                from_z = wp.float32(step_z) * width_z - own[2]
            gap_z = wp.max(wp.max(from_z, -(from_z + width_z)), wp.float32(0.0))
            # Along y.
            skew = skew_y(image_z, lattices, at)
            y = seen_cell(cell[1], own[1], skew, lattices[at].widths[1], lattices[at].unit) + step_y
            within_y = seen_within(cell[1], own[1], skew, lattices[at].widths[1], lattices[at].unit)
            image_y = images_of(y, counts[1])
            y = y - image_y * counts[1]
            from_y = wp.float32(step_y) * width_y - within_y
            gap_y = wp.max(wp.max(from_y, -(from_y + width_y)), wp.float32(0.0))
            gaps = gap_y * gap_y + gap_z * gap_z
            # Along x: the cells that a ball can reach at this distance.
            skew = skew_x(image_z, image_y, lattices, at)
            x = seen_cell(cell[0], own_x, skew, lattices[at].widths[0], lattices[at].unit)
            within_x = seen_within(cell[0], own_x, skew, lattices[at].widths[0], lattices[at].unit)
            half = wp.sqrt(high * wp.float32(1.000244140625) - gaps)
            is_own_row = task.is_half != 0 and step_y == 0 and step_z == 0
            step_x = wp.where(is_own_row, 0, first_step((within_x - half) * per_width_x, side_x))
            last_x = last_step((within_x + half) * per_width_x, side_x)
            if gaps > high:
                last_x = step_x - 1
            row_number = row_begin(key, y, z, counts, table)
            while step_x <= last_x:
                # A stretch: in one image, half a period long, and in one piece in the table.
                image_x = images_of(x + step_x, count_x)
                x_here = x + step_x - image_x * count_x
                more = wp.min(last_x - step_x, _PERIOD // 2 - 1)
                more = wp.where(count_x > 0, wp.min(more, count_x - 1 - x_here), more)
                cell_number = row_number + x_here
                if table.is_hashed != 0:
                    cell_number = cell_number & (table.size - 1)
                    more = wp.min(more, table.size - 1 - cell_number)
                end = table.starts[cell_number + more + 1]
                k = wp.where(is_own_row and step_x == 0, place + 1, table.starts[cell_number])
                first = k
                image = image_number(image_x, image_y, image_z, most)
                from_x = wp.float32(step_x) * width_x - within_x
                phase = wp.float32(x_here & (_PERIOD - 1)) * width_x
                # A point itself is none of its neighbors, but its images may be: those are for the second turn.
                is_open = itself >= k and itself < end and not (image_x == 0 and image_y == 0 and image_z == 0)
                while k < end:
                    that = spot_at(points.spots, k)
                    square = square_from(that, phase, width_x, from_x, from_y, from_z)
                    if square <= low and k != itself:
                        other = wp.cast(that[3], wp.int32)
                        if task.is_upper == 0 or other > row:
                            if table.is_hashed == 0 or is_in_stretch(
                                cell_at(points.cells, k), other, x_here, more, y, z, cell[3], key, points
                            ):
                                write_pair(task, begin + count, place, k, image)
                                count += 1
                    elif not (square > high):
                        is_open = bool(True)
                    k += 1
                # What floats leave in doubt. This is rare, and the loop above needs the registers.
                k = wp.where(is_open, first, end)
                while k < end:
                    that = spot_at(points.spots, k)
                    square = square_from(that, phase, width_x, from_x, from_y, from_z)
                    is_told = square <= low or square > high
                    if k == itself:
                        is_told = image_x == 0 and image_y == 0 and image_z == 0
                    other = wp.cast(that[3], wp.int32)
                    if not is_told and table.is_hashed != 0:
                        cell_k = cell_at(points.cells, k)
                        is_told = not is_in_stretch(cell_k, other, x_here, more, y, z, cell[3], key, points)
                    if not is_told:
                        if is_near(place, k, row, other, image_x, image_y, image_z, at, own_points, points, task):
                            write_pair(task, begin + count, place, k, image)
                            count += 1
                    k += 1
                step_x += more + 1
            step_y += task.slices
        if not task.found:
            task.offsets[index] = wp.int64(count)

    @wp.func
    def shift_of_pair(pair: wp.vec2i, number: int, own: Points, others: Points, at: int, most: wp.vec3i) -> vec3l:
        rest = number // (2 * most[0] + 1)
        x = number - rest * (2 * most[0] + 1) - most[0]
        z = rest // (2 * most[1] + 1) - most[2]
        y = rest - (z + most[2]) * (2 * most[1] + 1) - most[1]
        return shift_of(x, y, z, own.wraps[pair[0]], others.wraps[pair[1]], own.lattices, at)

    @wp.kernel(module=module, enable_backward=False)
    def key_pairs(
        own: Points,
        others: Points,
        task: Task,
        axis: int,
        is_first: int,
        bits: int,
        padding: wp.int64,
        order: wp.array(dtype=wp.int32),
        keys: wp.array(dtype=wp.int64),
    ):
        """Write the keys to sort pairs by: their rows, or with an axis from 0 on their shifts along it."""
        place = wp.tid()
        if is_first != 0:
            order[place] = place
        source = order[place]
        if wp.int64(source) >= task.offsets[task.count]:
            keys[place] = padding
            return
        pair = task.found[source]
        row = own.exact[pair[0]][3]
        if axis < 0:
            keys[place] = (wp.int64(row) << wp.int64(bits)) | wp.int64(others.exact[pair[1]][3])
        else:
            at = lattice_of(key_of(int(row), own), own.lattice_count)
            shift = shift_of_pair(pair, task.images[source], own, others, at, task.plans[at].images)
            keys[place] = shift[axis] + wp.int64(0x80000000)

    @wp.kernel(module=module, enable_backward=False)
    def tell_pairs(
        own_points: Points,
        points: Points,
        task: Task,
        order: wp.array(dtype=wp.int32),
        pairs: wp.array(dtype=wp.vec2i),
        rows: wp.array(dtype=wp.int32),
        distances: wp.array(dtype=wp.float64),
        vectors: wp.array2d(dtype=wp.float64),
        shifts: wp.array2d(dtype=wp.int32),
    ):
        """Write the wanted results of each pair; rows may replace places in the same memory.

        With `is_half`, the lower row comes first; a point and its own image get a positive shift.
        """
        place = wp.tid()
        if wp.int64(place) >= task.offsets[task.count]:
            pairs[place] = wp.vec2i(-1, -1)
            if distances:
                distances[place] = wp.float64(wp.inf)
            for axis in range(wp.static(dim)):
                if vectors:
                    vectors[place, axis] = wp.float64(0.0)
                if shifts:
                    shifts[place, axis] = 0
            return
        source = place
        if order:
            source = order[place]
        pair = task.found[source]
        own = point_at(own_points.exact, pair[0])
        other = point_at(points.exact, pair[1])
        i = int(own[3])
        j = int(other[3])
        at = int(0)
        shift = vec3l()
        if points.wraps:
            at = lattice_of(key_of(i, own_points), own_points.lattice_count)
            shift = shift_of_pair(pair, task.images[source], own_points, points, at, task.plans[at].images)
        sign = int(1)
        if task.is_half != 0 and (i > j or (i == j and is_negative(shift))):
            sign = -1
        if sign < 0:
            pairs[place] = wp.vec2i(j, i)
        else:
            pairs[place] = wp.vec2i(i, j)
        if rows:
            rows[place] = j
        if distances or vectors:
            vector = vector_of(own, other, shift, own_points.lattices, at)
            if distances:
                distances[place] = wp.sqrt(square_of(vector))
            if vectors:
                for axis in range(wp.static(dim)):
                    # No zero is negative.
                    vectors[place, axis] = vector[axis] * wp.float64(sign) + wp.float64(0.0)
        if shifts:
            for axis in range(wp.static(dim)):
                shifts[place, axis] = int(shift[axis]) * sign

    return SimpleNamespace(
        take=take_lattice, bound=bound_lattices, search=search_points, keys=key_pairs, tell=tell_pairs, module=module
    )


@lru_cache(maxsize=None)
def result_kernels() -> SimpleNamespace:
    """Return the kernels for numbers of pairs of any points."""
    module = wp.get_module("broadphase.gpu.neighbor_rows")
    module.options.update({"enable_backward": False})

    @wp.kernel(module=module, enable_backward=False)
    def tell_offsets(slices: int, offsets: wp.array(dtype=wp.int64), own: wp.array(dtype=wp.int64)):
        """Write where the pairs of each row, counted in slices, begin."""
        row = wp.tid()
        own[row] = offsets[row * slices]

    @wp.kernel(module=module, enable_backward=False)
    def tell_count(counters: wp.array(dtype=wp.int64), count: wp.array(dtype=wp.int32)):
        """Write the number of pairs as an int32, at most the largest; or -1 - row of a fault."""
        total = wp.min(counters[0], wp.int64(0x7FFFFFFF))
        for k in range(wp.static(COUNTERS - 1)):
            fault = counters[wp.static(COUNTERS - 1) - k]
            if fault > wp.int64(0):
                total = fault - wp.int64(0x80000001)
        count[0] = wp.int32(total)

    return SimpleNamespace(offsets=tell_offsets, count=tell_count, module=module)
