"""Links of URDF files, and of what yourdfpy has loaded."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from broadphase.arguments import as_reals
from broadphase.errors import MissingExtraError, PartialFileWarning, clipped, quoted, unknown_name
from broadphase.extras import import_extra
from broadphase.files import files_beside
from broadphase.mesh_formats import PARSED, LeftOut, joined, parse_nodes
from broadphase.robots.link import JOINTS, Joint, Link
from broadphase.robots.model_files import Element, file_of, naming_file, read_xml
from broadphase.robots.solids import cylinder
from broadphase.shapes import Box, ConvexHull, Mesh, Shape, Sphere
from broadphase.shapes.turning import quaternions_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Find: TypeAlias = Callable[[str], str]  # the path of the mesh of a name

__all__ = ["links_of_urdf"]

_JOINTS = tuple(joint for joint in JOINTS if joint != "ball")  # which URDF does not have
# Of each geometry, the numbers by their attributes. The radius of a cylinder comes before its length.
_GEOMETRIES = {"box": {"size": 3}, "sphere": {"radius": 1}, "cylinder": {"radius": 1, "length": 1}, "mesh": {}}


@dataclass(frozen=True)
class _Origin:
    position: Any = (0.0, 0.0, 0.0)
    rotation: Any = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class _Geometry:
    kind: str
    sizes: tuple[float, ...]
    origin: _Origin
    mesh: str = ""  # the name of its file
    scale: Any = 1.0


@dataclass(frozen=True)
class _Joint:
    name: str
    kind: Joint
    parent: str
    child: str
    origin: _Origin
    axis: Any
    limits: tuple[float, float] | None
    mimic: tuple[str, float, float] | None


@dataclass(frozen=True)
class _Robot:
    geometries: dict[str, list[_Geometry]]  # of links by name, in the order of the file
    joints: list[_Joint]


def links_of_urdf(source: Any, hulls: bool) -> list[Link]:
    """Read links, each with the joint above it, in the order of the file; see `Articulated.from_urdf`."""
    path = file_of(source)
    with naming_file(source):
        if path is not None:
            folder = Path(path).absolute().parent
            robot, find = _robot_of_xml(read_xml(path)), _finder(path, folder)
        elif hasattr(source, "robot"):
            robot, find = _robot_of_yourdfpy(source.robot), _finder_of_yourdfpy(source)
        else:
            raise TypeError(f"source must be a path or a yourdfpy.URDF, not {quoted(source)}")
        return _links(robot, find, hulls)


def _links(robot: _Robot, find: Find, hulls: bool) -> list[Link]:
    shapes = {name: _shapes(name, given, find, hulls) for name, given in robot.geometries.items()}
    links: dict[str, Link] = {}
    # Joints in the order of the file, so that columns are as yourdfpy has them; then the links that hang on the world.
    for joint in robot.joints:
        if joint.child in links:
            other = links[joint.child].joint_name
            raise ValueError(f"joint {quoted(joint.name)}: link {quoted(joint.child)} is the child of {quoted(other)}")
        links[joint.child] = Link(
            joint.child,
            shapes[joint.child],
            joint.parent,
            joint.kind,
            axis=joint.axis,
            position=joint.origin.position,
            rotation=joint.origin.rotation,
            limits=joint.limits,
            joint_name=joint.name,
            mimic=joint.mimic,
        )
    return [Link(name, shapes[name]) for name in shapes if name not in links] + list(links.values())


def _shapes(link: str, geometries: list[_Geometry], find: Find, hulls: bool) -> list[Shape]:
    """Give the collision geometries of a link, in its frame."""
    found: list[Shape] = []
    for geometry in geometries:
        where: dict[str, Any] = {"offset": geometry.origin.position, "rotation": geometry.origin.rotation}
        what = f"the mesh {quoted(geometry.mesh)}" if geometry.kind == "mesh" else f"<{geometry.kind}>"
        try:
            if geometry.kind == "box":
                found.append(Box(*geometry.sizes, **where))
            elif geometry.kind == "sphere":
                found.append(Sphere(*geometry.sizes, offset=geometry.origin.position))
            elif geometry.kind == "cylinder":
                found.append(cylinder(*geometry.sizes, **where))
            else:
                vertices, faces = _mesh(find(geometry.mesh))
                vertices = vertices * geometry.scale
                found.append(ConvexHull(vertices, **where) if hulls else Mesh(vertices, faces, **where))
        except ValueError as error:
            raise ValueError(f"link {quoted(link)}: {what}: {error}") from error
        except (FileNotFoundError, MissingExtraError) as error:
            raise type(error)(f"link {quoted(link)}: {what}: {error}") from error
    return found


# ---- Files ----


def _robot_of_xml(root: Element) -> _Robot:
    if root.tag != "robot":
        raise ValueError(f"line {root.line}: the root element is {_tag(root)}, not <robot>")
    for child in root.children:
        if child.tag.startswith("xacro:"):
            advice = "expand this file by xacro, and read what that writes"
            raise ValueError(f"line {child.line}: {_tag(child)} belongs to xacro; {advice}")
    geometries: dict[str, list[_Geometry]] = {}
    for element in root.all("link"):
        name = _text(element, "name", f"line {element.line}")
        if name in geometries:
            raise ValueError(f"line {element.line}: two links are named {quoted(name)}")
        where = f"line {element.line}: link {quoted(name)}"
        geometries[name] = [_geometry(collision, where) for collision in element.all("collision")]
    if not geometries:
        raise ValueError("the robot has no <link>")
    return _Robot(geometries, [_joint(element, geometries) for element in root.all("joint")])


def _joint(element: Element, links: dict[str, Any]) -> _Joint:
    name = _text(element, "name", f"line {element.line}")
    where = f"line {element.line}: joint {quoted(name)}"
    kind = _joint_kind(_text(element, "type", where), where)
    parent, child = (_end(element, tag, links, where) for tag in ("parent", "child"))
    axis, limit, mimic = (element.first(tag) for tag in ("axis", "limit", "mimic"))
    if kind in ("fixed", "floating"):
        axis = mimic = None
    limits = None
    if limit is not None and kind in ("revolute", "prismatic"):
        low, high = (_number(limit, bound, where, "0") for bound in ("lower", "upper"))
        limits = min(low, high), max(low, high)
    return _Joint(
        name,
        kind,
        parent,
        child,
        _origin(element, where),
        (1.0, 0.0, 0.0) if axis is None else _numbers(axis, "xyz", 3, where, "1 0 0"),
        limits,
        None
        if mimic is None
        else (
            _text(mimic, "joint", where),
            _number(mimic, "multiplier", where, "1"),
            _number(mimic, "offset", where, "0"),
        ),
    )


def _end(joint: Element, tag: str, links: dict[str, Any], where: str) -> str:
    """Give the name of the link at one end of a joint."""
    end = joint.first(tag)
    if end is None:
        raise ValueError(f"{where} has no <{tag}>")
    return _known_link(_text(end, "link", where), links, f"{where}: <{tag}>")


def _geometry(collision: Element, where: str) -> _Geometry:
    holder = collision.first("geometry")
    given = [] if holder is None else holder.children
    if not given or given[0].tag not in _GEOMETRIES:
        what = "nothing" if not given else _tag(given[0])
        raise ValueError(f"{where}: a <collision> has {what} where URDF has one of {', '.join(_GEOMETRIES)}")
    element, kind = given[0], given[0].tag
    sizes = [number for name, count in _GEOMETRIES[kind].items() for number in _numbers(element, name, count, where)]
    origin = _origin(collision, where)
    if kind != "mesh":
        return _Geometry(kind, tuple(sizes), origin)
    texts = element.attributes.get("scale", "1").replace(",", " ").split()
    scale = _numbers(element, "scale", 1 if len(texts) == 1 else 3, where, "1")
    return _Geometry(kind, (), origin, _text(element, "filename", where), scale)


def _origin(element: Element, where: str) -> _Origin:
    origin = element.first("origin")
    if origin is None:
        return _Origin()
    roll, pitch, yaw = (angle / 2 for angle in _numbers(origin, "rpy", 3, where, "0 0 0"))
    (sr, cr), (sp, cp), (sy, cy) = ((np.sin(half), np.cos(half)) for half in (roll, pitch, yaw))
    # About the fixed axes x, y and z in turn.
    rotation = (
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )
    return _Origin(_numbers(origin, "xyz", 3, where, "0 0 0"), rotation)


def _text(element: Element, name: str, where: str) -> str:
    text = element.attributes.get(name, "")
    if not text:
        raise ValueError(f"{where}: {_tag(element)} has no {name}")
    return text


def _number(element: Element, name: str, where: str, default: str | None = None) -> float:
    return _numbers(element, name, 1, where, default)[0]


def _numbers(element: Element, name: str, count: int, where: str, default: str | None = None) -> tuple[float, ...]:
    """Give the numbers of an attribute, between spaces or commas; it must be there if there is no default."""
    text = element.attributes.get(name, default)
    if text is None:
        raise ValueError(f"{where}: {_tag(element)} has no {name}")
    try:
        found = tuple(map(float, text.replace(",", " ").split()))
    except ValueError:
        found = ()
    if len(found) != count or not np.isfinite(found).all() or "_" in text:  # Python reads 1_0 as ten
        wanted = "a number" if count == 1 else f"{count} numbers"
        advice = "; expand this file by xacro, and read what that writes" if "${" in text else ""
        raise ValueError(f"{where}: {name} of {_tag(element)} must be {wanted}, not {quoted(text)}{advice}")
    return found


def _tag(element: Element) -> str:
    return f"<{clipped(element.tag)}>"


def _finder(file: str, folder: Path) -> Find:
    """Give what finds the meshes of a file: beside it, or in one of the folders above, by package first."""

    def find(name: str) -> str:
        scheme, parted, rest = name.partition("://")
        names = [rest if parted else name]
        if scheme in ("package", "model") and parted:
            names.append(rest.partition("/")[2])
        for one in names:
            for above in (folder, *folder.parents):
                path = os.path.join(above, one)
                if one and os.path.isfile(path):
                    return path
        raise FileNotFoundError(f"there is no such file beside {clipped(file)}, or in a folder above it")

    return find


def _mesh(path: str) -> tuple[Floats, NDArray[np.int64]]:
    """Read the vertices and faces of all parts of a file, where they are; warn of what is not read."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix in PARSED:
        left = LeftOut()
        with open(path, "rb") as stream:
            nodes = parse_nodes(stream.read(), suffix, "mesh", left, folder=Path(path).parent)
        if not nodes:
            raise ValueError("has no faces")
        if str(left):
            warnings.warn(f"{clipped(path)}: {left}", PartialFileWarning, stacklevel=2)
        return joined(nodes)
    trimesh = import_extra("trimesh", purpose="reading meshes of URDF files", extra="robots")
    try:
        loaded = trimesh.load(path, force="mesh", skip_materials=True, resolver=files_beside(trimesh, path))
        vertices, faces = np.asarray(loaded.vertices, float), np.asarray(loaded.faces)
    except ImportError as error:
        raise MissingExtraError(f"trimesh cannot read it: {error}") from error
    except MemoryError as error:  # a damaged length, more likely than a file so large
        raise ValueError("reading it takes more memory than there is") from error
    except Exception as error:  # damaged files make trimesh raise all kinds of exceptions
        kind = os.path.splitext(path)[1]
        raise ValueError(f"not a readable {kind} file ({type(error).__name__}: {clipped(str(error))})") from error
    if not len(faces):
        raise ValueError("has no faces")
    return vertices, faces


# ---- yourdfpy ----


def _robot_of_yourdfpy(robot: Any) -> _Robot:
    geometries: dict[str, list[_Geometry]] = {}
    for link in robot.links:
        if link.name in geometries:
            raise ValueError(f"two links are named {quoted(link.name)}")
        where = f"link {quoted(link.name)}"
        geometries[link.name] = [_geometry_of_yourdfpy(one, where) for one in link.collisions]
    return _Robot(geometries, [_joint_of_yourdfpy(joint, geometries) for joint in robot.joints])


def _joint_of_yourdfpy(joint: Any, links: dict[str, Any]) -> _Joint:
    where = f"joint {quoted(joint.name)}"
    kind = _joint_kind(joint.type, where)
    axis, limit, mimic = joint.axis, joint.limit, joint.mimic
    if kind in ("fixed", "floating"):
        axis = mimic = None
    limits = None
    if limit is not None and kind in ("revolute", "prismatic"):
        low, high = (float(_given(bound or 0.0, "a limit", (), where)) for bound in (limit.lower, limit.upper))
        limits = min(low, high), max(low, high)
    return _Joint(
        joint.name,
        kind,
        _known_link(joint.parent, links, where),
        _known_link(joint.child, links, where),
        _origin_of_yourdfpy(joint.origin, where),
        (1.0, 0.0, 0.0) if axis is None else _given(axis, "axis", (3,), where),
        limits,
        None if mimic is None else (mimic.joint, mimic.multiplier, mimic.offset),
    )


def _geometry_of_yourdfpy(collision: Any, where: str) -> _Geometry:
    origin, geometry = _origin_of_yourdfpy(collision.origin, where), collision.geometry
    for kind, sizes in _GEOMETRIES.items():
        given = getattr(geometry, kind, None)
        if given is None:
            continue
        if kind != "mesh":
            numbers = [_given(getattr(given, name), name, () if n == 1 else (n,), where) for name, n in sizes.items()]
            return _Geometry(kind, tuple(np.hstack(numbers).tolist()), origin)
        scale = 1.0 if given.scale is None else given.scale
        return _Geometry(
            kind, (), origin, given.filename, _given(scale, "scale", (3,) if np.ndim(scale) else (), where)
        )
    raise ValueError(f"{where} has a <collision> without one of {', '.join(_GEOMETRIES)}")


def _origin_of_yourdfpy(matrix: Any, where: str) -> _Origin:
    if matrix is None:
        return _Origin()
    frame = _given(matrix, "origin", (4, 4), where)
    return _Origin(frame[:3, 3], quaternions_of(frame[np.newaxis, :3, :3])[0])


def _given(values: Any, name: str, shape: tuple[int, ...], where: str) -> Floats:
    try:
        found = as_reals(values, name)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from error
    if found.shape != shape or not np.isfinite(found).all():
        raise ValueError(f"{where}: {name} must be finite numbers of shape {shape}, not {quoted(values)}")
    return found


def _finder_of_yourdfpy(source: Any) -> Find:
    def find(name: str) -> str:
        path: str = source._filename_handler(fname=name)
        if not os.path.isfile(path):
            raise FileNotFoundError("there is no such file")
        return path

    return find


# ---- Both ----


def _joint_kind(given: Any, where: str) -> Joint:
    if given == "planar":
        raise ValueError(f"{where} is planar: write it as two prismatic joints and a revolute one")
    kind = next((one for one in _JOINTS if one == given), None)
    if kind is None:
        raise ValueError(f"{where}: {unknown_name('type', given, _JOINTS)}")
    return kind


def _known_link(name: Any, links: dict[str, Any], where: str) -> str:
    if name not in links:
        raise ValueError(f"{where}: there is no link {quoted(name)}")
    return str(name)
