"""Links of MJCF files, by MuJoCo."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.errors import quoted
from broadphase.extras import import_extra
from broadphase.robots.link import Link
from broadphase.robots.solids import cylinder, ellipsoid
from broadphase.shapes import Box, Capsule, ConvexHull, Shape, Sphere
from broadphase.shapes.turning import as_matrices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["links_of_mjcf"]

_WIDE = 2000.0  # of the box that stands for a plane


def links_of_mjcf(source: Any) -> tuple[list[Link], list[tuple[str, str]]]:
    """Read links, and pairs of bodies that MuJoCo does not compare; see `Articulated.from_mjcf`.

    Each body is a link; frames come in between for bodies with several joints, or whose joint is elsewhere.
    """
    mujoco = import_extra("mujoco", purpose="reading MJCF files", extra="robots")
    model = source
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        if not os.path.isfile(path):
            raise FileNotFoundError(f"there is no file {quoted(path)}")
        model = mujoco.MjModel.from_xml_path(path)
    if not isinstance(model, mujoco.MjModel):
        raise TypeError(f"source must be a path or a mujoco.MjModel, not {quoted(source)}")
    names = [model.body(body).name or f"body {body}" for body in range(model.nbody)]
    links: list[Link] = []
    for body in range(model.nbody):
        links += _links_of_body(mujoco, model, body, names)
    filters_parents = not int(model.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_FILTERPARENT)
    return links, _may_touch(model, names, filters_parents)


def _links_of_body(mujoco: Any, model: Any, body: int, names: list[str]) -> list[Link]:
    """Give a link for a body: moved by each of its joints in turn, about where that is, and then back."""
    shapes = [_shape(mujoco, model, geom) for geom in _geoms(model, body)]
    if body == 0:
        return [Link(names[0], shapes)]
    links = []
    parent = names[model.body_parentid[body]]
    position, rotation = model.body_pos[body].copy(), model.body_quat[body].copy()
    count, first = int(model.body_jntnum[body]), int(model.body_jntadr[body])
    for joint in range(first, first + count):
        kind, joint_name = mujoco.mjtJoint(model.jnt_type[joint]), model.joint(joint).name or f"joint {joint}"
        if kind not in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE):
            raise ValueError(
                f"joint {quoted(joint_name)} of body {quoted(names[body])} is {_name_of(kind)}:"
                " only hinge and slide are known"
            )
        turns = kind == mujoco.mjtJoint.mjJNT_HINGE
        anchor, axis = model.jnt_pos[joint].copy(), model.jnt_axis[joint].copy()
        # A frame at the joint; without an anchor, the last of them is that of the body.
        is_body = joint == first + count - 1 and not anchor.any()
        name = names[body] if is_body else f"{names[body]}, {joint_name}"
        matrix = as_matrices(rotation[np.newaxis], 3)[0]
        # The body is where it is described at this value, not at 0.
        start = float(model.qpos0[model.jnt_qposadr[joint]])
        at = position + matrix @ (anchor if turns else anchor - start * axis)
        links.append(
            Link(
                name,
                shapes if is_body else (),
                parent,
                "revolute" if turns else "prismatic",
                axis=axis,
                position=at,
                rotation=_product(rotation, _about(axis, -start)) if turns and start else rotation,
                limits=tuple(model.jnt_range[joint].tolist()) if model.jnt_limited[joint] else None,
                joint_name=joint_name,
            )
        )
        parent, position, rotation = name, -anchor, np.array([1.0, 0.0, 0.0, 0.0])
    if not links or links[-1].name != names[body]:
        links.append(Link(names[body], shapes, parent, position=position, rotation=rotation))
    return links


def _about(axis: Floats, angle: float) -> Floats:
    """Give the quaternion of a rotation about a unit vector."""
    return np.array([np.cos(angle / 2), *np.sin(angle / 2) * axis])


def _product(a: Floats, b: Floats) -> Floats:
    """Multiply two quaternions."""
    way = a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])
    return np.array([a[0] * b[0] - a[1:] @ b[1:], *way])


def _geoms(model: Any, body: int) -> list[int]:
    """Give the geometries of a body that can touch anything."""
    begin = int(model.body_geomadr[body])
    numbers = range(begin, begin + int(model.body_geomnum[body]))
    paired = {*model.pair_geom1.tolist(), *model.pair_geom2.tolist()}
    return [geom for geom in numbers if model.geom_contype[geom] or model.geom_conaffinity[geom] or geom in paired]


def _shape(mujoco: Any, model: Any, geom: int) -> Shape:
    kind, size = mujoco.mjtGeom(model.geom_type[geom]), model.geom_size[geom].copy()
    offset, rotation = model.geom_pos[geom].copy(), model.geom_quat[geom].copy()
    where: dict[str, Any] = {"offset": offset, "rotation": rotation}
    kinds = mujoco.mjtGeom
    if kind == kinds.mjGEOM_BOX:
        return Box(*(2 * size), **where)
    if kind == kinds.mjGEOM_SPHERE:
        return Sphere(size[0], offset=offset)
    if kind == kinds.mjGEOM_CAPSULE:
        return Capsule((0, 0, -size[1]), (0, 0, size[1]), size[0], **where)
    if kind == kinds.mjGEOM_CYLINDER:
        return cylinder(size[0], 2 * size[1], **where)
    if kind == kinds.mjGEOM_ELLIPSOID:
        return ellipsoid(size, **where)
    if kind == kinds.mjGEOM_MESH:
        mesh = int(model.geom_dataid[geom])
        begin = int(model.mesh_vertadr[mesh])
        return ConvexHull(model.mesh_vert[begin : begin + int(model.mesh_vertnum[mesh])].astype(float), **where)
    if kind == kinds.mjGEOM_PLANE:
        down = as_matrices(rotation[np.newaxis], 3)[0][:, 2] * (_WIDE / 2)
        return Box(_WIDE, _WIDE, _WIDE, offset=offset - down, rotation=rotation)
    name = model.geom(geom).name or str(geom)
    raise ValueError(f"geometry {quoted(name)} is of type {_name_of(kind)}, which has no shape here")


def _name_of(kind: Any) -> str:
    """Give the name of a type of MuJoCo as its files write it."""
    return str(kind.name).rpartition("_")[2].lower()


def _may_touch(model: Any, names: list[str], filters_parents: bool) -> list[tuple[str, str]]:
    """Give the pairs of bodies that MuJoCo never compares."""
    excluded = {divmod(int(signature), 1 << 16) for signature in model.exclude_signature}
    bodies = model.geom_bodyid
    paired = {(int(bodies[i]), int(bodies[j])) for i, j in zip(model.pair_geom1, model.pair_geom2, strict=True)}
    weld = model.body_weldid
    found = []
    for b in range(model.nbody):
        for a in range(b):
            if (a, b) in paired or (b, a) in paired:
                continue
            x, y = int(weld[a]), int(weld[b])
            # Not with its parent, unless that is the world or does not move.
            above_x, above_y = (int(weld[model.body_parentid[body]]) for body in (x, y))
            are_neighbors = filters_parents and x and y and (above_x == y or above_y == x)
            if are_neighbors or (a, b) in excluded or (b, a) in excluded or not _masks_meet(model, a, b):
                found.append((names[a], names[b]))
    return found


def _masks_meet(model: Any, a: int, b: int) -> bool:
    """Say whether the masks of any two geometries of two bodies let them touch."""
    of_a, of_b = _geoms(model, a), _geoms(model, b)
    types, affinities = model.geom_contype, model.geom_conaffinity
    return any(types[i] & affinities[j] or types[j] & affinities[i] for i in of_a for j in of_b)
