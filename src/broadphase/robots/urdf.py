"""Links of URDF files, by yourdfpy."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.errors import quoted
from broadphase.extras import import_extra
from broadphase.robots.link import JOINTS, Link
from broadphase.robots.solids import cylinder
from broadphase.shapes import Box, ConvexHull, Mesh, Shape, Sphere
from broadphase.shapes.turning import quaternions_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["links_of_urdf"]


def links_of_urdf(source: Any, hulls: bool) -> list[Link]:
    """Read links, each with the joint above it, in the order of the file; see `Articulated.from_urdf`."""
    if isinstance(source, str | os.PathLike):
        yourdfpy = import_extra("yourdfpy", purpose="reading URDF files", extra="robots")
        path = os.fspath(source)
        if not os.path.isfile(path):  # yourdfpy would look for it elsewhere
            raise FileNotFoundError(f"there is no file {quoted(path)}")
        source = yourdfpy.URDF.load(path, build_scene_graph=False, load_meshes=False)
    if not hasattr(source, "robot"):
        raise TypeError(f"source must be a path or a yourdfpy.URDF, not {quoted(source)}")
    robot = source.robot
    joints = {joint.child: joint for joint in robot.joints}
    links = []
    # Joints in the order of the file, so that columns are as yourdfpy has them; then the links that hang on the world.
    known = {link.name: link for link in robot.links}
    for joint in robot.joints:
        if joint.type not in JOINTS:
            raise ValueError(f"joint {quoted(joint.name)} is {quoted(joint.type)}: only {', '.join(JOINTS)} are known")
        if joint.child not in known:
            raise ValueError(f"joint {quoted(joint.name)}: there is no link {quoted(joint.child)}")
        position, rotation = _place(joint.origin)
        limit, mimic = joint.limit, joint.mimic
        has_limits = joint.type != "continuous" and limit is not None
        links.append(
            Link(
                joint.child,
                _shapes(known[joint.child], source, hulls),
                joint.parent,
                joint.type,
                axis=(1.0, 0.0, 0.0) if joint.axis is None or joint.type == "fixed" else joint.axis,
                position=position,
                rotation=rotation,
                limits=(limit.lower or 0.0, limit.upper or 0.0) if has_limits else None,
                joint_name=joint.name,
                mimic=None if mimic is None else (mimic.joint, mimic.multiplier, mimic.offset),
            )
        )
    roots = [Link(link.name, _shapes(link, source, hulls)) for link in robot.links if link.name not in joints]
    return roots + links


def _shapes(link: Any, source: Any, hulls: bool) -> list[Shape]:
    """Give the collision geometries of a link, in its frame."""
    found: list[Shape] = []
    for collision in link.collisions:
        position, rotation = _place(collision.origin)
        where: dict[str, Any] = {"offset": position, "rotation": rotation}
        geometry = collision.geometry
        if geometry.box is not None:
            found.append(Box(*np.asarray(geometry.box.size, float), **where))
        elif geometry.sphere is not None:
            found.append(Sphere(geometry.sphere.radius, offset=position))
        elif geometry.cylinder is not None:
            found.append(cylinder(geometry.cylinder.radius, geometry.cylinder.length, **where))
        elif geometry.mesh is not None:
            vertices, faces = _mesh(geometry.mesh, link.name, source)
            try:
                found.append(ConvexHull(vertices, **where) if hulls else Mesh(vertices, faces, **where))
            except ValueError as error:
                name = quoted(geometry.mesh.filename)
                raise ValueError(f"link {quoted(link.name)}: the mesh {name}: {error}") from None
        else:
            raise ValueError(f"link {quoted(link.name)} has a collision geometry that URDF does not define")
    return found


def _mesh(mesh: Any, link: str, source: Any) -> tuple[Any, Any]:
    """Read the vertices and faces of a mesh from the file that yourdfpy finds for its name."""
    path = source._filename_handler(fname=mesh.filename)
    if not os.path.isfile(path):
        raise FileNotFoundError(f"link {quoted(link)}: there is no file for the mesh {quoted(mesh.filename)}")
    trimesh = import_extra("trimesh", purpose="reading meshes of URDF files", extra="robots")
    loaded = trimesh.load(path, force="mesh", skip_materials=True)
    if not len(getattr(loaded, "faces", ())):
        raise ValueError(f"link {quoted(link)}: the mesh {quoted(mesh.filename)} has no faces")
    scale = 1.0 if mesh.scale is None else np.asarray(mesh.scale, float)
    return np.asarray(loaded.vertices) * scale, np.asarray(loaded.faces)


def _place(origin: Any) -> tuple[Floats, Floats]:
    """Give the position and the rotation of a frame, (4, 4), or of none."""
    if origin is None:
        return np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
    matrix = np.asarray(origin, float)
    return matrix[:3, 3], quaternions_of(matrix[np.newaxis, :3, :3])[0]
