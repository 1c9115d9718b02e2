"""
A map: which counties are next to each other
============================================

The 3,510 bounding boxes of all US counties, in the public domain, are bundled with the
package. For your own geometries: ``bp.boxes.from_geometries(frame.geometry)`` takes a
GeoSeries or a list of shapely geometries.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import PolyCollection

import broadphase as bp
from broadphase.data import load

boxes = load("us_counties")
pairs = bp.pairs(boxes)
degree = np.bincount(pairs.ravel(), minlength=len(boxes))
print(f"{len(boxes):,} boxes, {len(pairs):,} pairs; at most {degree.max()} of one box")

# %%
# Queries: the boxes in a window of the map, those near a place, and the nearest one.

index = bp.Index(boxes)
window = np.array([[-125.0, 31.0], [-113.0, 43.0]])
shown = index.query(window)
place = [-118.24, 34.05]
around = index.query_ball(place, 1.5)
print(f"{len(shown)} in the window, {len(around)} within 1.5 degrees of Los Angeles")

# %%
# The picture: the window, coloured by the number of overlaps; boxes around Los Angeles
# have a red edge.

lower, upper = bp.boxes.as_corners(boxes[shown])
corners = np.stack(
    [
        lower,
        np.stack([upper[:, 0], lower[:, 1]], 1),
        upper,
        np.stack([lower[:, 0], upper[:, 1]], 1),
    ],
    axis=1,
)
figure, axes = plt.subplots(figsize=(7, 6.4), layout="constrained")
colours = axes.add_collection(
    PolyCollection(
        corners, array=degree[shown], cmap="YlGnBu", alpha=0.55, linewidths=0.6
    )
)
colours.set_edgecolor(
    np.where(
        np.isin(shown, around)[:, np.newaxis],
        (0.75, 0.22, 0.17, 1.0),
        (0.3, 0.35, 0.4, 0.5),
    )
)
axes.scatter(*place, color="#C0392B", marker="*", s=120, zorder=3)
axes.set(
    xlim=window[:, 0],
    ylim=window[:, 1],
    xlabel="longitude",
    ylabel="latitude",
    aspect=1.2,
)
figure.colorbar(colours, label="boxes that overlap it", shrink=0.8)
plt.show()
