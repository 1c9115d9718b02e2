"""Others that find the same on a device, written as well as their documentation shows.

Each is made once, with its arrays and room for the results, and called again and again; a call builds and queries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.gpu.devices import require, warp
from benchmarks.gpu.parts import Setting, Skip
from benchmarks.measuring import load

if TYPE_CHECKING:
    from numpy.typing import NDArray


class WarpBvh:
    """``warp.Bvh``: built again in place, and queried with each of its boxes; pairs are appended by an atomic counter.

    Parameters
    ----------
    boxes : ndarray, shape (n, 2, 2) or (n, 2, 3)
        With two axes, they lie in a plane.
    room : int
        For pairs.
    setting : Setting
        The device.
    constructor : str
        "lbvh", which a GPU builds; or "cubql", which is an experiment of Warp; or "sah", by the CPU.
    groups : ndarray of int32, shape (n,), optional
        Trees by themselves below the root.
    """

    def __init__(
        self,
        boxes: NDArray[Any],
        room: int,
        setting: Setting,
        constructor: str = "lbvh",
        groups: NDArray[Any] | None = None,
    ) -> None:
        from benchmarks.gpu import kernels

        wp = warp()
        self.device = require(setting.device)
        if boxes.shape[2] == 2:
            boxes = np.concatenate([boxes, np.zeros((len(boxes), 2, 1), boxes.dtype)], axis=2)
        self.lowers, self.uppers = (
            wp.array(np.ascontiguousarray(boxes[:, side], np.float32), dtype=wp.vec3, device=self.device)
            for side in (0, 1)
        )
        self.groups = None
        if groups is not None:
            self.groups = wp.array(groups.astype(np.int32), dtype=wp.int32, device=self.device)
        # The builder of a GPU is none for the CPU.
        chosen = None if self.device.is_cpu and constructor == "lbvh" else constructor
        self.bvh = wp.Bvh(self.lowers, self.uppers, constructor=chosen, groups=self.groups)
        self._kernels, self._room, self._wp = kernels, room, wp
        self._count = wp.zeros(1, dtype=wp.int32, device=self.device)
        self._found = wp.empty(max(room, 1), dtype=wp.vec2i, device=self.device)

    def __call__(self) -> Any:
        """Build and query; return the number of pairs and the pairs."""
        self.bvh.rebuild()
        return self.query()

    def query(self) -> Any:
        """Query only."""
        self._count.zero_()
        inputs = [self.bvh.id, self.lowers, self.uppers, self.groups, self._room, self._count, self._found]
        self._wp.launch(self._kernels.append_pairs, len(self.lowers), inputs=inputs, device=self.device)
        return self._count, self._found

    def pairs(self, found: Any) -> NDArray[Any]:
        """Return what a call has found, in host memory."""
        count, pairs = found
        return np.asarray(pairs.numpy()[: int(count.numpy()[0])])


class WarpRays:
    """``warp.bvh_query_ray``: the first box on each ray, in a tree that is kept."""

    def __init__(
        self,
        tree: WarpBvh,
        origins: NDArray[Any],
        directions: NDArray[Any],
        groups: NDArray[Any] | None = None,
        ignored: NDArray[Any] | None = None,
    ) -> None:
        wp = warp()
        self.tree, self._wp = tree, wp
        device = tree.device
        self._rays = [
            wp.array(np.ascontiguousarray(rays, np.float32), dtype=wp.vec3, device=device)
            for rays in (origins, directions)
        ]
        self._groups, self._ignored = (
            None if rows is None else wp.array(rows.astype(np.int32), dtype=wp.int32, device=device)
            for rows in (groups, ignored)
        )
        self._rows = wp.empty(len(origins), dtype=wp.int32, device=device)
        self._distances = wp.empty(len(origins), dtype=float, device=device)

    def __call__(self) -> Any:
        """Cast the rays; return rows and distances."""
        from benchmarks.gpu import kernels

        tree = self.tree
        inputs = [tree.bvh.id, tree.lowers, tree.uppers, *self._rays, self._groups, self._ignored]
        inputs += [self._rows, self._distances]
        self._wp.launch(kernels.first_hits, len(self._rows), inputs=inputs, device=tree.device)
        return self._rows, self._distances

    def updated(self) -> Any:
        """Refit the tree, and cast the rays."""
        self.tree.bvh.refit()
        return self()


class WarpHashGrid:
    """``warp.HashGrid``: its cells repeat, so that with cells that fill a cube they are those of a periodic one.

    Points are visited in the order of the cells, as Warp's examples do; each pair once, by the image that is nearest.
    """

    def __init__(self, points: NDArray[Any], side: float, cutoff: float, room: int, setting: Setting) -> None:
        wp = warp()
        device = require(setting.device)
        cells = int(side / cutoff)
        if cells < 3:
            raise ValueError("the cube is too small for its cells")
        self._side, self._cutoff, self._width, self._room, self._wp = side, cutoff, side / cells, room, wp
        self._points = wp.array(np.ascontiguousarray(points, np.float32), dtype=wp.vec3, device=device)
        self._grid = wp.HashGrid(cells, cells, cells, device=device)
        self._grid.reserve(len(points))
        self._count = wp.zeros(1, dtype=wp.int32, device=device)
        self._pairs = wp.empty(room, dtype=wp.vec2i, device=device)
        self._distances = wp.empty(room, dtype=float, device=device)
        self._shifts = wp.empty(room, dtype=wp.vec3i, device=device)

    def __call__(self) -> Any:
        """Build and query; return the number of pairs, pairs, distances and shifts."""
        from benchmarks.gpu import kernels

        self._grid.build(self._points, self._width)
        self._count.zero_()
        inputs = [self._grid.id, self._points, self._side, self._cutoff, self._room, self._count]
        inputs += [self._pairs, self._distances, self._shifts]
        self._wp.launch(kernels.append_near, len(self._points), inputs=inputs, device=self._points.device)
        return self._count, self._pairs, self._distances, self._shifts


def torch_all_pairs(boxes: Any) -> Any:
    """Compare all boxes of each scene in one expression of torch; scene, first and second box of each pair."""
    torch = load("torch")
    lower, upper = boxes[:, :, 0], boxes[:, :, 1]
    meets = ((lower[:, :, None] <= upper[:, None]) & (lower[:, None] <= upper[:, :, None])).all(dim=-1)
    return torch.nonzero(torch.triu(meets, diagonal=1))


def vesin(points: Any, side: float, cutoff: float) -> Any:
    """Call vesin on points of torch, which it takes as float64."""
    torch, module = load("torch"), optional("vesin")
    box = side * torch.eye(3, dtype=torch.float64, device=points.device)
    calculator = module.NeighborList(cutoff=cutoff, full_list=False)
    return calculator.compute(points=points, box=box, periodic=True, quantities="PdS", copy=False)


def nvalchemi(points: Any, side: float, cutoff: float, most: int, *, as_list: bool) -> Any:
    """Call ALCHEMI Toolkit-Ops of NVIDIA on points of torch: a matrix with so much room for each, or a list."""
    torch, module = load("torch"), optional("nvalchemiops.torch.neighbors")
    cell = side * torch.eye(3, dtype=points.dtype, device=points.device)
    periodic = torch.tensor([True, True, True], device=points.device)
    return module.neighbor_list(
        points,
        cutoff,
        cell=cell,
        pbc=periodic,
        half_fill=True,
        return_neighbor_list=as_list,
        return_distances=True,
        max_neighbors=most,
    )


def optional(module: str) -> Any:
    """Import a library that may be missing; skip the task where it is."""
    try:
        return load(module)
    except ImportError as error:
        raise Skip(str(error)) from None
