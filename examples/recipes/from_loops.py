"""
From NumPy loops to broadphase
==============================

Which of these discs touch? Five versions of one program: two loops, one loop, no loop,
a broad phase that skips most pairs, and one call. All find the same pairs; the picture
shows their times against the number of discs.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

import broadphase as bp

random = np.random.default_rng(6)
radius = 0.5


def discs(count):
    """Return the centers of discs, as dense for any number of them."""
    return random.uniform(0, 1.6 * np.sqrt(count), (count, 2))


# %%
# **Two loops.** Clear, but O(n²): 1,000 discs are 499,500 tests, and each takes Python
# a microsecond or two.


def two_loops(centers):
    """Return pairs of discs that touch, as tuples."""
    pairs = []
    for i in range(len(centers)):
        for j in range(i + 1, len(centers)):
            dx, dy = centers[i] - centers[j]
            if dx * dx + dy * dy <= (2 * radius) ** 2:
                pairs.append((i, j))
    return pairs


# %%
# **One loop.** NumPy compares each disc with all that follow: the same tests, a hundred
# times as fast.


def one_loop(centers):
    """Return pairs of discs that touch, shape (m, 2)."""
    pairs = [np.empty((0, 2), np.intp)]
    for i in range(len(centers) - 1):
        ways = centers[i + 1 :] - centers[i]
        (found,) = np.nonzero((ways * ways).sum(axis=1) <= (2 * radius) ** 2)
        pairs.append(np.column_stack([np.full(len(found), i), found + i + 1]))
    return np.concatenate(pairs)


# %%
# **No loop.** All distances at once. Shorter, rarely faster, and O(n²) in memory too:
# 20,000 discs need 6.4 GB.


def no_loop(centers):
    """Return pairs of discs that touch, shape (m, 2)."""
    ways = centers[:, np.newaxis] - centers
    touching = (ways * ways).sum(axis=2) <= (2 * radius) ** 2
    return np.argwhere(np.triu(touching, k=1))


# %%
# **A broad phase.** Discs whose boxes do not overlap cannot touch. ``bp.pairs`` finds
# overlapping boxes without testing most pairs. The remaining pairs are tested as
# before.


def boxes_first(centers):
    """Return pairs of discs that touch, shape (m, 2)."""
    pairs = bp.pairs(bp.boxes.from_spheres(centers, radius))
    ways = centers[pairs[:, 0]] - centers[pairs[:, 1]]
    return pairs[(ways * ways).sum(axis=1) <= (2 * radius) ** 2]


# %%
# **One call.** ``bp.overlaps`` tests discs. ``bp.neighbors`` finds points within a
# distance. A world moves discs and reports which pairs are new: :doc:`/start`.


def shapes(centers):
    """Return pairs of discs that touch, shape (m, 2)."""
    return bp.overlaps(bp.Shapes(bp.Circle(radius), centers))


ways_to_do_it = {
    "two loops": (two_loops, 1_000),
    "one loop": (one_loop, 10_000),
    "no loop": (no_loop, 3_000),
    "boxes first": (boxes_first, 1_000_000),
    "bp.overlaps": (shapes, 1_000_000),
}
some = discs(500)
wanted = set(two_loops(some))
for name, (function, _) in ways_to_do_it.items():
    assert {tuple(sorted(pair)) for pair in function(some)} == wanted, name

# %%
# The time of each.

figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
for name, (function, most) in ways_to_do_it.items():
    counts, times = [], []
    for count in (100, 300, 1_000, 3_000, 10_000, 100_000, 1_000_000):
        if count > most:
            break
        centers = discs(count)
        tries = []
        for _ in range(3 if count <= most / 10 else 1):
            begin = perf_counter()
            found = function(centers)
            tries.append(1e3 * (perf_counter() - begin))
        counts.append(count)
        times.append(min(tries))
    print(f"{name:12} {counts[-1]:9,} discs: {times[-1]:8.1f} ms, {len(found):,} pairs")
    axes.loglog(counts, times, marker="o", label=name)
axes.axhline(1000 / 60, color="#999999", linewidth=0.8)
axes.text(12_000, 1100 / 60, "60 frames a second", color="#666666", va="bottom")
axes.set(xlabel="discs", ylabel="milliseconds", title="Which of these discs touch?")
axes.legend(frameon=False)
plt.show()
