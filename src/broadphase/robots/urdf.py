"""Links of URDF files, and of what yourdfpy has loaded."""

from __future__ import annotations

import os
import warnings
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
from broadphase.shapes import Box, ConvexHull, Cylinder, Mesh, Shape, Sphere
from broadphase.shapes.turning import quaternions_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Find: TypeAlias = Callable[[str], str]  # the path of the mesh of a name

__all__ = ["links_of_urdf"]

_EXPAND = "expand this file by xacro, and read what that writes"
_JOINTS = tuple(joint for joint in JOINTS if joint != "ball")  # which URDF does not have
# Of each geometry, the numbers by their attributes. The radius of a cylinder comes before its length.
_GEOMETRIES = {"box": {"size": 3}, "sphere": {"radius": 1}, "cylinder": {"radius": 1, "length": 1}, "mesh": {}}
_MATRIX = "4x4"  # of origins that yourdfpy has read; in a file, no name of an attribute begins with a digit


def links_of_urdf(source: Any, hulls: bool) -> list[Link]:
    """Read links, each with the joint above it, in the order of the file; see `Articulated.from_urdf`."""
    path = file_of(source)
    with naming_file(source):
        if path is not None:
            root, find = read_xml(path), _finder(path)
        elif hasattr(source, "robot"):
            root, find = _elements_of_yourdfpy(source.robot), _finder_of_yourdfpy(source)
        else:
            raise TypeError(f"source must be a path or a yourdfpy.URDF, not {quoted(source)}")
        return _links(root, find, hulls)


def _links(root: Element, find: Find, hulls: bool) -> list[Link]:
    if root.tag != "robot":
        raise ValueError(f"line {root.line}: the root element is {_tag(root)}, not <robot>")
    for child in root.children:
        if child.tag.startswith("xacro:"):
            raise ValueError(f"line {child.line}: {_tag(child)} belongs to xacro; {_EXPAND}")
    shapes: dict[str, list[Shape]] = {}
    for element in root.all("link"):
        name, where = _named(element)
        if name in shapes:
            raise ValueError(f"{_line(element)}two links are named {quoted(name)}")
        shapes[name] = [_shape(collision, where, find, hulls) for collision in element.all("collision")]
    if not shapes:
        raise ValueError("the robot has no <link>")
    links: dict[str, Link] = {}
    # Joints in the order of the file, so that columns are as yourdfpy has them; then the links that hang on the world.
    for element in root.all("joint"):
        link = _joint(element, shapes)
        if link.name in links:
            both = quoted(links[link.name].joint_name)
            raise ValueError(f"joint {quoted(link.joint_name)}: link {quoted(link.name)} is the child of {both}")
        links[link.name] = link
    return [Link(name, shapes[name]) for name in shapes if name not in links] + list(links.values())


def _joint(element: Element, shapes: dict[str, list[Shape]]) -> Link:
    """Read a joint and the link below it."""
    name, where = _named(element)
    kind = _joint_kind(_text(element, "type", where), where)
    parent, child = (_end(element, tag, shapes, where) for tag in ("parent", "child"))
    axis, limit, mimic = (element.first(tag) for tag in ("axis", "limit", "mimic"))
    position, rotation = _origin(element, where)
    options: dict[str, Any] = {}
    if limit is not None and kind in ("revolute", "prismatic"):
        options["limits"] = tuple(sorted(_number(limit, bound, where, "0") for bound in ("lower", "upper")))
    if mimic is not None and kind not in ("fixed", "floating"):
        factors = (_number(mimic, key, where, default) for key, default in (("multiplier", "1"), ("offset", "0")))
        options["mimic"] = _text(mimic, "joint", where), *factors
    if axis is None or kind in ("fixed", "floating"):
        axis = Element("axis", {}, 0)
    return Link(
        child,
        shapes[child],
        parent,
        kind,
        axis=_numbers(axis, "xyz", 3, where, "1 0 0"),
        position=position,
        rotation=rotation,
        joint_name=name,
        **options,
    )


def _joint_kind(given: str, where: str) -> Joint:
    if given == "planar":
        raise ValueError(f"{where} is planar: write it as two prismatic joints and a revolute one")
    kind = next((one for one in _JOINTS if one == given), None)
    if kind is None:
        raise ValueError(f"{where}: {unknown_name('type', given, _JOINTS)}")
    return kind


def _end(joint: Element, tag: str, links: Collection[str], where: str) -> str:
    """Give the name of the link at one end of a joint."""
    end = joint.first(tag)
    if end is None:
        raise ValueError(f"{where} has no <{tag}>")
    name = _text(end, "link", where)
    if name not in links:
        raise ValueError(f"{where}: <{tag}>: there is no link {quoted(name)}")
    return name


def _shape(collision: Element, where: str, find: Find, hulls: bool) -> Shape:
    """Make the shape of a collision geometry, in the frame of its link."""
    holder = collision.first("geometry")
    given = [] if holder is None else holder.children
    if not given or given[0].tag not in _GEOMETRIES:
        what = "nothing" if not given else _tag(given[0])
        raise ValueError(f"{where}: a <collision> has {what} where URDF has one of {', '.join(_GEOMETRIES)}")
    element, kind, what = given[0], given[0].tag, _tag(given[0])
    sizes = [number for name, count in _GEOMETRIES[kind].items() for number in _numbers(element, name, count, where)]
    offset, rotation = _origin(collision, where)
    if kind == "mesh":
        name = _text(element, "filename", where)
        what = f"the mesh {quoted(name)}"
        texts = element.attributes.get("scale", "1").replace(",", " ").split()
        scale = _numbers(element, "scale", 1 if len(texts) == 1 else 3, where, "1")
    try:
        if kind == "box":
            return Box(*sizes, offset=offset, rotation=rotation)
        if kind == "sphere":
            return Sphere(*sizes, offset=offset)
        if kind == "cylinder":
            radius, length = sizes
            return Cylinder((0, 0, -length / 2), (0, 0, length / 2), radius, offset=offset, rotation=rotation)
        vertices, faces = _mesh(find(name))
        vertices = vertices * scale
        if hulls:
            return ConvexHull(vertices, offset=offset, rotation=rotation)
        return Mesh(vertices, faces, offset=offset, rotation=rotation)
    except ValueError as error:
        raise ValueError(f"{where}: {what}: {error}") from error
    except (FileNotFoundError, MissingExtraError) as error:
        raise type(error)(f"{where}: {what}: {error}") from error


def _origin(element: Element, where: str) -> tuple[Any, Any]:
    """Give a position and a quaternion (w, x, y, z)."""
    origin = element.first("origin")
    if origin is None:
        return (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
    if _MATRIX in origin.attributes:
        frame = np.reshape(_numbers(origin, _MATRIX, 16, where), (4, 4))
        return frame[:3, 3], quaternions_of(frame[np.newaxis, :3, :3])[0]
    roll, pitch, yaw = (angle / 2 for angle in _numbers(origin, "rpy", 3, where, "0 0 0"))
    (sr, cr), (sp, cp), (sy, cy) = ((np.sin(half), np.cos(half)) for half in (roll, pitch, yaw))
    # About the fixed axes x, y and z in turn.
    rotation = (
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )
    return _numbers(origin, "xyz", 3, where, "0 0 0"), rotation


def _named(element: Element) -> tuple[str, str]:
    """Give the name of a link or a joint, and what errors call it."""
    name = _text(element, "name", _line(element).removesuffix(": "))
    return name, f"{_line(element)}{element.tag} {quoted(name)}"


def _line(element: Element) -> str:
    return f"line {element.line}: " if element.line else ""


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
        advice = f"; {_EXPAND}" if "${" in text else ""
        raise ValueError(f"{where}: {name} of {_tag(element)} must be {wanted}, not {quoted(text)}{advice}")
    return found


def _tag(element: Element) -> str:
    return f"<{clipped(element.tag)}>"


def _finder(file: str) -> Find:
    """Give what finds the meshes of a file: beside it, or in one of the folders above, by package first."""
    folder = Path(file).absolute().parent

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


def _finder_of_yourdfpy(source: Any) -> Find:
    def find(name: str) -> str:
        path: str = source._filename_handler(fname=name)
        if not os.path.isfile(path):
            raise FileNotFoundError("there is no such file")
        return path

    return find


def _elements_of_yourdfpy(robot: Any) -> Element:
    """Give what yourdfpy has read as the elements of a file, whose numbers are exactly the same."""
    links = [_element("link", *map(_collision, link.collisions), name=link.name) for link in robot.links]
    joints = []
    for joint in robot.joints:
        parts = [_element("parent", link=joint.parent), _element("child", link=joint.child)]
        parts += [_element("axis", xyz=joint.axis), *_origin_element(joint.origin)]
        if joint.limit is not None:
            parts.append(_element("limit", lower=joint.limit.lower, upper=joint.limit.upper))
        if joint.mimic is not None:
            mimic = joint.mimic
            parts.append(_element("mimic", joint=mimic.joint, multiplier=mimic.multiplier, offset=mimic.offset))
        joints.append(_element("joint", *parts, name=joint.name, type=joint.type))
    return _element("robot", *links, *joints)


def _collision(collision: Any) -> Element:
    given = [(kind, getattr(collision.geometry, kind, None)) for kind in _GEOMETRIES]
    geometries = []
    for kind, values in given:
        if values is not None:
            names = _GEOMETRIES[kind] or ("filename", "scale")
            geometries.append(_element(kind, **{name: getattr(values, name) for name in names}))
    return _element("collision", _element("geometry", *geometries), *_origin_element(collision.origin))


def _origin_element(matrix: Any) -> list[Element]:
    return [] if matrix is None else [_element("origin", **{_MATRIX: matrix})]


def _element(tag: str, *children: Element, **attributes: Any) -> Element:
    """Make an element without a line, with the attributes that are not None."""
    texts = {name: _written(value) for name, value in attributes.items() if value is not None}
    return Element(tag, texts, 0, list(children))


def _written(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return " ".join(map(repr, as_reals(value, "value").ravel().tolist()))
    except (TypeError, ValueError):
        return str(value)  # refused where it is read, with the name of the link or the joint
