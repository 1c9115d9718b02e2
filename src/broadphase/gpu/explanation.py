"""How boxes on a device are searched, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broadphase.gpu.boxes import keys_of
from broadphase.gpu.searches import sets_of, way_of

if TYPE_CHECKING:
    from broadphase.boxes.forms import Boxes

__all__ = ["DeviceExplanation", "explain"]


@dataclass(frozen=True)
class DeviceExplanation:
    """The result of `broadphase.gpu.explain`; ``print`` it for a table.

    Attributes
    ----------
    method : str
        "tree", "scenes" where all boxes of a scene are compared, or "none" where there can be no pairs.
    reason : str
        Why, in one sentence.
    box_count : int
        Number of boxes, of both sets together where there are two.
    dim : int
        Number of axes.
    dtype : str
        The dtype in which boxes are compared.
    device : str
        Where.
    library : str
        Of which library results are.
    batch_count : int
        Number of scenes of one size; 1 where there are none.
    working_bytes : int
        Memory on the device that is kept for the next call on the stream.
    """

    method: str
    reason: str
    box_count: int
    dim: int
    dtype: str
    device: str
    library: str
    batch_count: int
    working_bytes: int

    def __str__(self) -> str:
        return "\n".join(
            [
                f"{self.box_count:,} boxes in {self.dim} dimensions, {self.dtype}, on {self.device}",
                *([f"  batches            {self.batch_count:,}"] if self.batch_count > 1 else []),
                f"  results            arrays of {self.library}",
                f"  working memory     {self.working_bytes / 1e6:,.1f} MB, kept for the next call",
                self.reason,
            ]
        )


def explain(boxes: Boxes, other: Boxes | None = None, *, device: Any = None, batch: Any = None) -> DeviceExplanation:
    """Explain how `pairs` searches these boxes on a device, and why; parameters and errors are those of `pairs`.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.gpu.explain([[0, 0, 1, 1]] * 1000, device="cpu").method
    'scenes'
    """
    sets, _ = sets_of(boxes, other, device, 0.0)
    own, second = sets[0], sets[-1]
    place = own.place
    with place.running() as scratch:
        keys = keys_of(batch, sets, scratch)
        bytes_kept = scratch.nbytes
    way = way_of(sets, keys)
    size = keys[-1].scene_size or second.count
    if way == "none":
        reason = "none: there are too few boxes for a pair."
    elif way == "scenes":
        many = f" of its scene, {size:,} boxes" if keys[-1].scene_size else f", {size:,} in all"
        reason = f"scenes: each box is compared with every other{many}; for so few, a tree would not pay."
    else:
        of_sets = "one tree" if len(sets) == 1 else "a tree for each set"
        apart = ", keys before places in its order" if keys[0].rows is not None or keys[0].scene_size else ""
        reason = f"tree: {of_sets} over boxes in Z order{apart}; each leaf walks those behind it."
    return DeviceExplanation(
        method=way,
        reason=reason,
        box_count=sum(one.count for one in sets),
        dim=own.dim,
        dtype=own.dtype.__name__,
        device=place.device.alias,
        library=place.library.name,
        batch_count=max(keys[0].scene_count, 1),
        working_bytes=bytes_kept,
    )
