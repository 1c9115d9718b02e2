"""Links of MJCF files, by MuJoCo."""

from __future__ import annotations

import html
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.errors import clipped, quoted
from broadphase.extras import import_extra
from broadphase.robots.link import Link
from broadphase.robots.model_files import file_of, naming_file
from broadphase.shapes import (
    Box,
    Capsule,
    ConvexHull,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    HeightField,
    Shape,
    Sphere,
)
from broadphase.shapes.turning import as_matrices

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["links_of_mjcf"]

# Attributes that name files, or folders in which these are.
_FILES = re.compile(rb"""\b(file\w*|meshdir|texturedir|assetdir)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_BITS = 16  # by which the first body is shifted in a signature


def links_of_mjcf(source: Any, free: str) -> tuple[list[Link], NDArray[np.int64]]:
    """Read links, and the pairs of shapes that MuJoCo compares; see `Articulated.from_mjcf`.

    Each body is a link; frames come in between for bodies with several joints, or whose joint is elsewhere.
    """
    mujoco = import_extra("mujoco", purpose="reading MJCF files", extra="robots")
    path = file_of(source)
    with naming_file(source):
        if path is None:
            model = source
        else:
            _require_regular_files(path)
            try:
                model = mujoco.MjModel.from_xml_path(path)
            except (ValueError, mujoco.FatalError) as error:
                raise ValueError(f"MuJoCo cannot read it: {clipped(' '.join(str(error).split()))}") from error
        if not isinstance(model, mujoco.MjModel):
            raise TypeError(f"source must be a path or a mujoco.MjModel, not {quoted(source)}")
        _require_rigid(mujoco, model)
        bodies, joints = _names(model)
        geoms = _geoms(model)
        shapes: list[list[Shape]] = [[] for _ in bodies]
        for geom, body in zip(geoms, model.geom_bodyid[geoms].tolist(), strict=True):
            shapes[body].append(_shape(mujoco, model, geom))
        links: list[Link] = []
        for body in range(model.nbody):
            links += _links_of_body(mujoco, model, body, shapes[body], bodies, joints, free)
        return links, _compared(mujoco, model, geoms)


def _require_regular_files(path: str) -> None:
    """Raise ValueError if a file names a pipe or a device, for which MuJoCo would wait."""
    folders, names, known = [os.path.dirname(os.path.abspath(path))], {""}, [path]
    for file in known:  # which grows by the files that are included
        for attribute, *values in _FILES.findall(Path(file).read_bytes()):
            name = html.unescape(os.fsdecode(b"".join(values)))
            if attribute.endswith(b"dir"):
                folders.append(os.path.join(folders[0], name))
            elif name not in names:
                names.add(name)
                found = [os.path.join(folder, name) for folder in folders if name.endswith(".xml")]
                known += filter(os.path.isfile, found)
                folders += [os.path.dirname(one) for one in found]
    for name in names:
        for folder in folders:
            one = os.path.join(folder, name)
            if os.path.exists(one) and not os.path.isfile(one) and not os.path.isdir(one):
                raise ValueError(f"names {quoted(name)}, which is not a regular file")


def _require_rigid(mujoco: Any, model: Any) -> None:
    for flex in range(model.nflex):
        if model.flex_contype[flex] or model.flex_conaffinity[flex]:
            name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_FLEX, flex) or str(flex)
            raise ValueError(f"flex {quoted(name)} is soft and has no shape here: let it touch nothing, by masks of 0")


def _names(model: Any) -> tuple[list[str], list[str]]:
    """Give the names of bodies and of joints; those without a name are numbered."""
    names = []
    for kind, count in (("body", model.nbody), ("joint", model.njnt)):
        given = [_name(model, kind, number) for number in range(count)]
        names.append([name or _free_name(f"{kind} {number}", given) for number, name in enumerate(given)])
    return names[0], names[1]


def _name(model: Any, kind: str, number: int) -> str:
    try:
        return str(getattr(model, kind)(number).name)
    except UnicodeDecodeError as error:
        raise ValueError(f"the name of {kind} {number} is not UTF-8") from error


def _free_name(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "'"
    return name


def _links_of_body(
    mujoco: Any, model: Any, body: int, shapes: list[Shape], names: list[str], joint_names: list[str], free: str
) -> list[Link]:
    """Give a link for a body: moved by each of its joints in turn, about where that is, and then back."""
    if body == 0:
        return [Link(names[0], shapes)]
    kinds = mujoco.mjtJoint
    links: list[Link] = []
    parent = names[model.body_parentid[body]]
    position, rotation = model.body_pos[body].copy(), model.body_quat[body].copy()
    count, first = int(model.body_jntnum[body]), int(model.body_jntadr[body])
    for joint in range(first, first + count):
        kind, joint_name = kinds(model.jnt_type[joint]), joint_names[joint]
        address = int(model.jnt_qposadr[joint])
        if kind == kinds.mjJNT_FREE:  # in the world; the only joint of its body
            start = model.qpos0[address : address + 7]
            where: dict[str, Any] = {"joint": "floating", "joint_name": joint_name}
            if free == "fixed":
                where = {"position": start[:3].copy(), "rotation": start[3:].copy()}
            return [Link(names[body], shapes, parent, **where)]
        anchor, axis = model.jnt_pos[joint].copy(), model.jnt_axis[joint].copy()
        # A frame at the joint; without an anchor, the last of them is that of the body.
        is_body = joint == first + count - 1 and not anchor.any()
        name = names[body] if is_body else _free_name(f"{names[body]}, {joint_name}", names)
        matrix = as_matrices(rotation[np.newaxis], 3)[0]
        # The body is where it is described at this value, not at 0.
        start = 0.0 if kind == kinds.mjJNT_BALL else float(model.qpos0[address])
        turns = kind != kinds.mjJNT_SLIDE
        at = position + matrix @ (anchor if turns else anchor - start * axis)
        has_limits = model.jnt_limited[joint] and kind != kinds.mjJNT_BALL
        links.append(
            Link(
                name,
                shapes if is_body else (),
                parent,
                "ball" if kind == kinds.mjJNT_BALL else "revolute" if turns else "prismatic",
                axis=axis,
                position=at,
                rotation=_product(rotation, _about(axis, -start)) if turns and start else rotation,
                limits=tuple(model.jnt_range[joint].tolist()) if has_limits else None,
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


def _geoms(model: Any) -> list[int]:
    """Give the geometries that can touch anything, in the order of their bodies."""
    touches = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    touches[model.pair_geom1] = touches[model.pair_geom2] = True
    return np.flatnonzero(touches).tolist()


def _shape(mujoco: Any, model: Any, geom: int) -> Shape:
    kinds = mujoco.mjtGeom
    kind, size = kinds(model.geom_type[geom]), model.geom_size[geom].copy()
    name = quoted(_name(model, "geom", geom) or str(geom))
    where: dict[str, Any] = {"offset": model.geom_pos[geom].copy(), "rotation": model.geom_quat[geom].copy()}
    try:
        if kind == kinds.mjGEOM_BOX:
            return Box(*(2 * size), **where)
        if kind == kinds.mjGEOM_SPHERE:
            return Sphere(size[0], offset=where["offset"])
        if kind == kinds.mjGEOM_CAPSULE:
            return Capsule((0, 0, -size[1]), (0, 0, size[1]), size[0], **where)
        if kind == kinds.mjGEOM_CYLINDER:
            return Cylinder((0, 0, -size[1]), (0, 0, size[1]), size[0], **where)
        if kind == kinds.mjGEOM_ELLIPSOID:
            return Ellipsoid(size, **where)
        if kind == kinds.mjGEOM_MESH:
            return ConvexHull(_hull_points(model, int(model.geom_dataid[geom])), **where)
        if kind == kinds.mjGEOM_PLANE:
            return HalfSpace((0, 0, 1), **where)
        if kind == kinds.mjGEOM_HFIELD:
            return HeightField(*_grid(model, int(model.geom_dataid[geom])), **where)
    except ValueError as error:
        raise ValueError(f"geometry {name}: {error}") from error
    raise ValueError(
        f"geometry {name} is of type {_name_of(kind)}, which has no shape here: let it touch nothing, by masks of 0"
    )


def _grid(model: Any, field: int) -> tuple[Floats, tuple[float, float], float]:
    """Give the heights of a field, the sides of its cells, and its bottom."""
    rows, columns, begin = (int(table[field]) for table in (model.hfield_nrow, model.hfield_ncol, model.hfield_adr))
    x, y, top, below = model.hfield_size[field].tolist()
    heights = top * model.hfield_data[begin : begin + rows * columns].astype(float).reshape(rows, columns)
    return heights, (2 * x / (columns - 1), 2 * y / (rows - 1)), -below


def _hull_points(model: Any, mesh: int) -> Floats:
    """Give the vertices of the hull that MuJoCo compares, which may have fewer than that of the mesh."""
    begin, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    vertices: Floats = model.mesh_vert[begin : begin + count].astype(float)
    graph = int(model.mesh_graphadr[mesh])
    if graph < 0:
        return vertices
    # The counts of vertices and faces, where the edges of each vertex begin, and the vertices.
    count = int(model.mesh_graph[graph])
    numbers = model.mesh_graph[graph + 2 + count : graph + 2 + 2 * count]
    points: Floats = vertices[numbers]
    return points


def _name_of(kind: Any) -> str:
    """Give the name of a type of MuJoCo as its files write it."""
    return str(kind.name).rpartition("_")[2].lower()


def _compared(mujoco: Any, model: Any, geoms: list[int]) -> NDArray[np.int64]:
    """Give the pairs of geometries that MuJoCo compares, by their places among those given."""
    off = mujoco.mjtDisableBit
    flags = int(model.opt.disableflags)
    if flags & (int(off.mjDSBL_CONTACT) | int(off.mjDSBL_CONSTRAINT)) or not geoms:
        return np.empty((0, 2), np.int64)
    bodies = model.geom_bodyid[geoms]
    welds = model.body_weldid[bodies]  # the body that moves it
    above = model.body_weldid[model.body_parentid[welds]]
    types, affinities = model.geom_contype[geoms], model.geom_conaffinity[geoms]
    kinds = model.geom_type[geoms]
    meets = (types[:, np.newaxis] & affinities) != 0
    meets |= meets.T
    meets &= welds[:, np.newaxis] != welds
    if not flags & int(off.mjDSBL_FILTERPARENT):
        # Not with its parent, unless that is the world or does not move.
        is_parent = (above[:, np.newaxis] == welds) & (welds[:, np.newaxis] != 0) & (welds != 0)
        meets &= ~(is_parent | is_parent.T)
    for signature in model.exclude_signature.tolist():
        first, second = divmod(signature, 1 << _BITS)
        is_excluded = (bodies == first)[:, np.newaxis] & (bodies == second)
        meets &= ~(is_excluded | is_excluded.T)
    place_of = {geom: place for place, geom in enumerate(geoms)}
    for one, other in zip(model.pair_geom1.tolist(), model.pair_geom2.tolist(), strict=True):
        meets[place_of[one], place_of[other]] = meets[place_of[other], place_of[one]] = True
    is_ground = np.isin(kinds, [int(mujoco.mjtGeom.mjGEOM_PLANE), int(mujoco.mjtGeom.mjGEOM_HFIELD)])
    meets &= ~(is_ground[:, np.newaxis] & is_ground)
    return np.argwhere(np.triu(meets, 1))
