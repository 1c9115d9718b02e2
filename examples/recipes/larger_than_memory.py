"""
Files larger than memory: pairs from Parquet to Parquet
=======================================================

Building footprints, triangles or detections often come as folders of Parquet files that
do not fit into memory. ``broadphase.scale.pairs`` reads them, cuts space into tiles,
finds every overlapping pair exactly once, and writes the pairs to files; ``memory=``
limits its memory. The folder of this recipe is small, so that it takes seconds. It
needs ``pip install 'broadphase[scale,plot]'``. See :doc:`/scale`.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib.patches import Rectangle

from broadphase import scale

random = np.random.default_rng(9)
folder = Path(tempfile.mkdtemp())
towns = random.uniform(0, 100, (25, 2))
every = []
for number in range(8):  # footprints crowd in towns
    center = towns[random.integers(0, 25, 50_000) ** 2 // 25] + random.normal(
        0, 3, (50_000, 2)
    )
    size = random.uniform(0.005, 0.03, (50_000, 2))
    every.append(center)
    columns = {"id": np.arange(50_000) + 50_000 * number}
    for k, axis in enumerate("xy"):
        columns[f"{axis}min"], columns[f"{axis}max"] = (
            center[:, k] - size[:, k],
            center[:, k] + size[:, k],
        )
    pq.write_table(pa.table(columns), folder / f"footprints-{number}.parquet")

# %%
# From files to files. To resume an interrupted run, call it again.

corners = {"lower": ("xmin", "ymin"), "upper": ("xmax", "ymax")}
report = scale.pairs(
    str(folder / "*.parquet"), output=folder / "pairs", memory="200MB", **corners
)
print(report)
print(pq.read_table(folder / "pairs").slice(0, 3).to_pylist())

# %%
# The tiles of a plan with small tiles, over the footprints: each tile holds about the
# same number.

plan = scale.plan(str(folder / "*.parquet"), tile_memory="20MB", **corners)
figure, axes = plt.subplots(figsize=(6.5, 6.5), layout="constrained")
axes.scatter(*np.concatenate(every)[::10].T, s=0.2, color="#2B6C99", rasterized=True)
for lower, upper in zip(
    *np.moveaxis(np.clip(plan.bounds, -15, 115), 1, 0), strict=True
):
    axes.add_patch(
        Rectangle(
            lower, *(upper - lower), fill=False, edgecolor="#C0392B", linewidth=0.8
        )
    )
axes.set(
    xlim=(-15, 115),
    ylim=(-15, 115),
    aspect="equal",
    title=f"{plan.tile_count} tiles, {report.pair_count:,} pairs",
)
plt.show()
