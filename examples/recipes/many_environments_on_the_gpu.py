"""
Many environments on the GPU
============================

Robot learning steps thousands of environments at once, and everything stays on the
device. Here, 256 rooms have 24 discs each: a kernel of NVIDIA Warp moves the discs,
``gpu.pairs`` finds touching pairs, and another kernel turns these around. On a CUDA
device, the whole step is recorded once as a CUDA graph, and replayed. Without a CUDA
device, the same program runs on the CPU. See :doc:`/gpu`.
"""

import matplotlib.pyplot as plt
import numpy as np
import warp as wp

from broadphase import gpu

device = "cuda:0" if wp.is_cuda_available() else "cpu"
random = np.random.default_rng(4)
rooms, discs, radius, edge = 256, 24, 0.3, 8.0
positions = random.uniform(radius, edge - radius, (rooms, discs, 2))
velocities = random.normal(size=(rooms, discs, 2))

# %%
# The step uses two kernels, and arrays that stay at their addresses on the device.


@wp.kernel
def move(
    places: wp.array(dtype=wp.vec2),
    ways: wp.array(dtype=wp.vec2),
    lower: wp.array(dtype=wp.vec2),
    upper: wp.array(dtype=wp.vec2),
    touched: wp.array(dtype=wp.int32),
    time: float,
):
    """Move a disc, turn it around at the walls, and write its box."""
    row = wp.tid()
    place = places[row] + time * ways[row]
    way = ways[row]
    for axis in range(2):
        if (place[axis] < radius and way[axis] < 0.0) or (
            place[axis] > edge - radius and way[axis] > 0.0
        ):
            way[axis] = -way[axis]
    places[row] = place
    ways[row] = way
    lower[row] = place - wp.vec2(radius, radius)
    upper[row] = place + wp.vec2(radius, radius)
    touched[row] = 0


@wp.kernel
def collide(
    pairs: wp.array2d(dtype=wp.int32),
    places: wp.array(dtype=wp.vec2),
    ways: wp.array(dtype=wp.vec2),
    touched: wp.array(dtype=wp.int32),
    total: wp.array(dtype=wp.int32),
):
    """Push two discs apart whose boxes overlap, if they touch and come nearer."""
    i, j = pairs[wp.tid(), 0], pairs[wp.tid(), 1]
    if i < 0:
        return
    between = places[j] - places[i]
    if wp.length(between) > 2.0 * radius:
        return
    normal = wp.normalize(between)
    nearer = wp.dot(ways[i] - ways[j], normal)
    if nearer > 0.0:
        wp.atomic_add(ways, i, -nearer * normal)
        wp.atomic_add(ways, j, nearer * normal)
        touched[i] = 1
        touched[j] = 1
        wp.atomic_add(total, i // discs, 1)


def on_device(values):
    """Put points on the device, one after the other."""
    return wp.array(values.reshape(-1, 2), dtype=wp.vec2, device=device)


places, ways = on_device(positions), on_device(velocities)
lower, upper = on_device(positions - radius), on_device(positions + radius)
touched = wp.zeros(rooms * discs, dtype=wp.int32, device=device)
total = wp.zeros(rooms, dtype=wp.int32, device=device)
capacity = 4 * rooms * discs

# %%
# The step. ``capacity`` gives the result a fixed size, so the program does not wait for
# the device; ``found.count`` shows whether there was room for all pairs.


def step():
    """Move all discs by a sixtieth of a second."""
    wp.launch(
        move,
        rooms * discs,
        inputs=[places, ways, lower, upper, touched, 1 / 60],
        device=device,
    )
    boxes = lower.reshape((rooms, discs)), upper.reshape((rooms, discs))
    found = gpu.pairs(boxes, capacity=capacity)
    inputs = [found.pairs, places, ways, touched, total]
    wp.launch(collide, capacity, inputs=inputs, device=device)
    return found


found = step()  # compiles the kernels, and takes memory
graph = None
if device != "cpu":
    with wp.ScopedCapture(device=device) as capture:
        found = step()
    graph = capture.graph
most = 0
for _ in range(600):
    if graph is None:
        found = step()
    else:
        wp.capture_launch(graph)
    most = max(most, int(found.count.numpy()[0]))
assert most <= capacity
print(f"{rooms} rooms of {discs} discs on {device}, at most {most:,} pairs of boxes")
print(f"{total.numpy().sum():,} collisions in ten seconds")

# %%
# Six of the rooms at the end; discs that have just touched are red. All rooms have
# similar numbers of collisions, as expected.

figure = plt.figure(figsize=(9, 5.4), layout="constrained")
panels = figure.add_gridspec(2, 4, width_ratios=(1, 1, 1, 1.4))
ends = places.numpy().reshape(rooms, discs, 2)
red = touched.numpy().reshape(rooms, discs)
for room in range(6):
    axes = figure.add_subplot(panels[room // 3, room % 3])
    for place, is_touched in zip(ends[room], red[room], strict=True):
        colour = "#C0392B" if is_touched else "#9EC9E2"
        axes.add_patch(plt.Circle(place, radius, facecolor=colour, edgecolor="#2B6C99"))
    axes.set(xlim=(0, edge), ylim=(0, edge), aspect="equal", xticks=[], yticks=[])
axes = figure.add_subplot(panels[:, 3])
axes.hist(total.numpy(), bins=24, color="#2B6C99")
axes.set(xlabel="collisions of a room in ten seconds", ylabel="rooms")
plt.show()
