"""A link of a robot, and the joint by which it hangs on its parent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from broadphase.shapes.records import ShapesLike

__all__ = ["JOINTS", "VALUES", "Joint", "Link"]

Joint: TypeAlias = Literal["fixed", "revolute", "continuous", "prismatic", "ball", "floating"]
# As the core numbers them.
JOINTS: dict[Joint, int] = {"fixed": 0, "revolute": 1, "continuous": 1, "prismatic": 2, "ball": 3, "floating": 4}
# The values of joints that have several.
VALUES: dict[Joint, tuple[str, ...]] = {
    "ball": ("qw", "qx", "qy", "qz"),
    "floating": ("x", "y", "z", "qw", "qx", "qy", "qz"),
}


@dataclass(frozen=True, eq=False)
class Link:
    """A link of a robot, and the joint by which it moves in the frame of its parent.

    Nothing is checked before links are put together; see `Articulated`.

    Parameters
    ----------
    name : str
        Another one for each link.
    shapes : Shape or iterable of Shape
        What it looks like, in space, in the frame of the link. Default: nothing, a frame only.
    parent : str, optional
        Name of the link that it hangs on. Default: None, the world.
    joint : {"fixed", "revolute", "continuous", "prismatic", "ball", "floating"}
        How it moves: not at all; by turning about the axis, "continuous" without limits; by sliding along it; by
        turning about its origin, with the four values of a quaternion (w, x, y, z); freely, with seven values: a
        position and a quaternion. Quaternions may have any length but zero.
    axis : array_like, shape (3,)
        In the frame of the link, of any length but zero. Default: z.
    position : array_like, shape (3,)
        Of the link's frame in that of its parent, while the joint is at 0.
    rotation : array_like, shape (4,)
        The same: a quaternion (w, x, y, z), of any length but zero.
    limits : (float, float), optional
        The least and the greatest value of the joint, in radians or units of length. Default: none. Not for "ball"
        and "floating".
    joint_name : str, optional
        Default: the name of the link.
    mimic : (str, float, float), optional
        The name of another joint, a multiplier and an offset: this joint has no value of its own but is always at
        multiplier * value + offset. The other may mimic a third. Not for "ball" and "floating".

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.Link("door", bp.Box(1, 0.1, 2, offset=(0.5, 0, 0)), joint="revolute", limits=(0, 1.5)).joint
    'revolute'
    """

    name: str
    shapes: ShapesLike = ()
    parent: str | None = None
    joint: Joint = "fixed"
    axis: ArrayLike = (0.0, 0.0, 1.0)
    position: ArrayLike = (0.0, 0.0, 0.0)
    rotation: ArrayLike = (1.0, 0.0, 0.0, 0.0)
    limits: tuple[float, float] | None = None
    joint_name: str | None = None
    mimic: tuple[str, float, float] | None = None
