"""Robots: forward kinematics, collisions, clearances and first contacts, for thousands of configurations at once."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np

from broadphase import _native
from broadphase.arguments import as_flag, as_length, as_reals
from broadphase.boxes import as_numbers
from broadphase.boxes.checking import as_row_pairs
from broadphase.errors import UnsupportedQueryError, quoted, unknown_name
from broadphase.robots.collisions import Collisions, NearestParts, PlacedRobots, find_collisions, find_nearest
from broadphase.robots.link import JOINTS, VALUES, Link
from broadphase.robots.model_files import naming_file
from broadphase.robots.obstacles import Obstacles, as_obstacles
from broadphase.shapes import Shape, Shapes
from broadphase.shapes.kinds import ShapeKind
from broadphase.shapes.parameters import LARGEST, as_rows
from broadphase.shapes.records import Geometries, Records, as_shapes, dimension_of, records_of
from broadphase.shapes.turning import as_rotations
from broadphase.workers import worker_count

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Self, TypeAlias

    from numpy.typing import ArrayLike, NDArray

    from broadphase.shapes.records import ShapesLike

    Floats = NDArray[np.float64]
    AnyObstacles: TypeAlias = Obstacles | Shapes | Iterable[Any] | None
    Allowed: TypeAlias = Iterable[tuple[str, str | None]]

__all__ = ["Articulated", "Poses"]

_FREE = ("floating", "fixed")


class Poses(NamedTuple):
    """Where the links of a robot are, in n configurations.

    Attributes
    ----------
    positions : ndarray, shape (n, links, 3), float64
        Of the frame of each link in the world; (links, 3) for one configuration.
    rotations : ndarray, shape (n, links, 4), float64
        Quaternions (w, x, y, z), unit up to rounding.
    """

    positions: Floats
    rotations: Floats


class _CoreLinks(NamedTuple):
    """Links as the core takes them, parents first."""

    parents: NDArray[np.int32]
    joints: NDArray[np.uint8]
    axes: Floats
    positions: Floats
    rotations: Floats
    columns: NDArray[np.int32]
    scales: Floats


class Articulated:
    """A robot: a tree of links with shapes, asked in thousands of configurations what it touches.

    Parameters
    ----------
    links : iterable of Link
        In any order; several may hang on the world.
    allowed : iterable of (str, str or None), optional
        Pairs of links that may touch; None for the second: this link may touch obstacles.
    neighbors : bool
        Whether links may touch that are joined by one joint. Links that are fixed to each other count as one here, and
        links without shapes as none: the links on either side of them are neighbors.
    pairs : array_like, shape (m, 2), of ints, optional
        Shapes by number, in the order of the links: only these pairs may be compared. Default: None, all.

    Attributes
    ----------
    links : tuple of Link
    joint_names : tuple of str
        The columns of configurations: the joints that have values of their own, in the order of their links. The four
        values of a ball joint "hip" are "hip.qw", "hip.qx", "hip.qy" and "hip.qz"; those of a floating joint "base"
        begin with "base.x", "base.y" and "base.z".
    limits : ndarray, shape (columns, 2), float64
        The least and the greatest value of each; infinite without limits, -1 and 1 in quaternions. Read-only.
    part_links : ndarray, shape (parts,), int32
        Which link each shape belongs to, in the order of the links. Read-only.
    pairs : ndarray, shape (m, 2), int32
        Parts that are compared with each other. Read-only.
    attached : tuple of str
        The names of the objects that are attached, in the order of their links, which are the last.

    Raises
    ------
    ValueError, TypeError, UnsupportedQueryError
        No link, two of one name, an unknown parent, joint or link, links in a circle, joints that mimic each other in
        a circle, a wrong number: names the link. Shapes in the plane, or of a type of the user's own.

    Notes
    -----
    Configurations are arrays (n, columns), or (columns,) for one. Values beyond the limits of a joint are values like
    any others: planners keep within `limits` themselves.

    Poses are computed in float64, link by link: the rotation of a link is the product of the quaternions of its
    parent, of its own frame and of its joint, its position that of its parent plus a turned offset. They are the poses
    that `placed` gives to `Shapes`, so ``collides`` is exactly what `overlaps` finds among those.

    Links that never move relative to each other are not compared. All queries release the GIL; any number of threads
    may query at the same time.

    Examples
    --------
    >>> import broadphase as bp
    >>> arm = bp.Articulated([
    ...     bp.Link("upper", bp.Capsule((0, 0, 0), (1, 0, 0), 0.1), joint="revolute"),
    ...     bp.Link("lower", bp.Capsule((0, 0, 0), (1, 0, 0), 0.1), "upper", "revolute", position=(1, 0, 0)),
    ... ])
    >>> wall = bp.Obstacles(bp.Shapes(bp.Box(0.2, 4, 4), [1.5, 0, 0]))
    >>> arm.collides([[0, 0], [1.6, 0], [1.6, 3]], wall)
    array([ True, False, False])
    >>> arm.clearance([[0, 0], [1.6, 0]], wall).round(3)
    array([0. , 1.3])
    >>> round(float(arm.first_contact([1.6, 0], [0, 0], wall)), 3)
    0.46
    """

    def __init__(
        self,
        links: Iterable[Link],
        *,
        allowed: Allowed = (),
        neighbors: bool = True,
        pairs: ArrayLike | None = None,
    ) -> None:
        self.links = _checked_links(links)
        number_of = {link.name: number for number, link in enumerate(self.links)}
        parents = np.array([_parent(link, number_of) for link in self.links], np.int32)
        order = _parents_first(self.links, parents)
        self._place_of = np.empty(len(order), np.int64)  # of each link in the order of the core
        self._place_of[order] = np.arange(len(order))
        self.joint_names, self.limits, self._quaternions, columns, scales = _columns(self.links)
        self._shapes, self.part_links = _parts(self.links)
        self._geometries = Geometries()
        self._records = records_of(self._shapes, len(self.part_links), 3, self._geometries)
        self._require_known_shapes()
        self._allowed, self._neighbors = _checked_allowed(allowed, number_of), as_flag(neighbors, "neighbors")
        self._only = None if pairs is None else as_row_pairs(pairs, (len(self.part_links),) * 2, "shapes")
        self._rigid, self._is_static = _rigid_links(self.links, parents, order)
        self.pairs = self._compared(parents, order)
        blind = {first for first, second in self._allowed if second is None}
        self._meet_obstacles = np.array([link not in blind for link in self.part_links.tolist()], np.bool_)
        axes, positions, rotations = _frames(self.links)
        self._core_links = _CoreLinks(
            np.array([-1 if parents[number] < 0 else self._place_of[parents[number]] for number in order], np.int32),
            np.array([JOINTS[self.links[number].joint] for number in order], np.uint8),
            axes[order],
            positions[order],
            rotations[order],
            columns[order],
            scales[order],
        )
        self._bare: Self | None = None  # the robot that objects were attached to
        self._attached: tuple[tuple[Link, tuple[str | None, ...]], ...] = ()  # with the links that each may touch
        self._prepare()

    def _prepare(self) -> None:
        """Let the core read everything."""
        self._require_still_boundaries()
        self._native = _native.Articulated(
            *self._core_links,
            self._place_of[self.part_links].astype(np.int32),
            self._records.kinds,
            self._records.sizes,
            np.ascontiguousarray(self._records.numbers),
            self._geometries.prepared,
            self._geometries.vertices,
            self._meet_obstacles.view(np.uint8),
            self.pairs,
        )
        self.limits.flags.writeable = self.part_links.flags.writeable = self.pairs.flags.writeable = False

    def _require_still_boundaries(self) -> None:
        if not np.isin(self._records.kinds, (ShapeKind.HALF_SPACE, ShapeKind.COMPOUND)).any():
            return
        boxes = Shapes(self._shapes, np.zeros((len(self.part_links), 3))).boxes
        moving = self.part_links[np.isinf(boxes).any(axis=(1, 2)) & ~self._is_static[self.part_links]]
        if len(moving):
            name = quoted(self.links[int(moving[0])].name)
            raise ValueError(f"link {name}: a HalfSpace, which has no end, needs a link that is fixed to the world")

    def _require_known_shapes(self) -> None:
        if self._geometries.has_custom:
            raise UnsupportedQueryError("robots cannot have shapes of types of your own")

    @classmethod
    def from_urdf(
        cls,
        source: str | os.PathLike[str] | Any,
        *,
        hulls: bool = False,
        allowed: Allowed = (),
        neighbors: bool = True,
    ) -> Self:
        """Read a robot from a URDF file. Meshes need trimesh: ``pip install "broadphase[robots]"``.

        Parameters
        ----------
        source : path, or yourdfpy.URDF
            A file, or what yourdfpy has loaded.
        hulls : bool
            Whether meshes become their convex hulls, which have an inside and are faster. Default: as they are.
        allowed, neighbors
            As the class takes them; URDF does not say which links may touch.

        Returns
        -------
        Articulated
            Links have the names and the collision geometries of the file.

        Raises
        ------
        FileFormatError, FileNotFoundError, MissingExtraError
            The file is damaged, or has a planar joint: names the file, and the link or joint with its line. There is
            no file, or none for a mesh. trimesh is not installed.
        ValueError
            The same for what yourdfpy has loaded.

        Notes
        -----
        A bound of a limit that is missing is 0, as the format says; bounds in reverse order are put in order.

        Meshes are looked for beside the file and in the folders above it; those of ``package://name/path`` as
        ``name/path`` and then as ``path``. Declared entities are refused, and xacro files: expand these first.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> import broadphase as bp
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "door.urdf"
        >>> _ = file.write_text('''<robot name="door"><link name="frame"/><link name="leaf"><collision>
        ... <geometry><box size="1 0.1 2"/></geometry></collision></link><joint name="hinge" type="revolute">
        ... <parent link="frame"/><child link="leaf"/><axis xyz="0 0 1"/>
        ... <limit lower="0" upper="1.5" effort="1" velocity="1"/></joint></robot>''')
        >>> bp.Articulated.from_urdf(file)  # doctest: +SKIP
        <a robot of 2 links, 1 shape and 1 joint>
        """
        from broadphase.robots.urdf import links_of_urdf

        links = links_of_urdf(source, as_flag(hulls, "hulls"))
        may_touch, may_meet = _named(allowed, links), as_flag(neighbors, "neighbors")
        with naming_file(source):
            return cls(links, allowed=may_touch, neighbors=may_meet)

    @classmethod
    def from_mjcf(
        cls,
        source: str | os.PathLike[str] | Any,
        *,
        free: Literal["floating", "fixed"] = "floating",
        allowed: Allowed = (),
    ) -> Self:
        """Read a robot from an MJCF file, by MuJoCo: ``pip install "broadphase[robots]"``.

        Parameters
        ----------
        source : path, or mujoco.MjModel
            A file, or a compiled model.
        free : {"floating", "fixed"}
            What bodies with a free joint do: they have the seven values of ``qpos``, so that configurations are those
            of MuJoCo; or they stay where the model has them, and the joint has no values.
        allowed
            More pairs of bodies that may touch, as the class takes it.

        Returns
        -------
        Articulated
            Its links are the bodies, by name, and configurations are as ``qpos``. Geometries are compared if MuJoCo
            compares them, by masks, exclusions, pairs, parents and flags of the model.

        Raises
        ------
        ValueError, MissingExtraError
            What MuJoCo cannot read, and signed distance fields and soft bodies, which have no shape here, are a
            FileFormatError that names the file and the element. mujoco is not installed.

        Notes
        -----
        As in MuJoCo, meshes are their convex hulls, geometries whose masks are both 0 touch nothing and are left out,
        and the geometries of the world are a link. Planes are half spaces. Margins and gaps are ignored:
        what collides is what touches. Geometries that never move relative to each other are not compared.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> import broadphase as bp
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "door.xml"
        >>> _ = file.write_text('''<mujoco><worldbody><body name="leaf"><joint name="hinge" axis="0 0 1"/>
        ... <geom type="box" size="0.5 0.05 1"/></body></worldbody></mujoco>''')
        >>> bp.Articulated.from_mjcf(file)  # doctest: +SKIP
        <a robot of 2 links, 1 shape and 1 joint>
        """
        from broadphase.robots.mjcf import links_of_mjcf

        if free not in _FREE:
            raise ValueError(unknown_name("free", free, _FREE))
        links, pairs = links_of_mjcf(source, free)
        may_touch = _named(allowed, links)
        with naming_file(source):
            return cls(links, allowed=may_touch, neighbors=False, pairs=pairs)

    @property
    def attached(self) -> tuple[str, ...]:
        """The names of the objects that are attached, in the order of their links, which are the last."""
        return tuple(link.name for link, _ in self._attached)

    def attach(
        self,
        link: str,
        shapes: ShapesLike,
        position: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        *,
        name: str = "object",
        touch_links: Iterable[str | None] = (),
    ) -> Self:
        """Attach an object to a link, such as what a gripper holds: it moves with the link, and collides as it does.

        Parameters
        ----------
        link : str
            The name of the link, which may be that of an object that is attached.
        shapes : Shape or iterable of Shape
            The object, in its own frame.
        position, rotation : array_like, shape (3,) and (4,)
            Of the object in the frame of the link, as of `Link`.
        name : str
            Of the object: no link has it. It becomes a link of this name, fixed to the other.
        touch_links : iterable of str or None
            Links that the object may touch, such as the fingers that hold it; None stands for the obstacles.

        Returns
        -------
        Articulated
            A new robot, with one link more, the last; this one does not change. Configurations, numbers of links and
            parts, and the pairs that are compared stay as they are. The object is compared with obstacles and with all
            links but those of `touch_links` and those that it never moves relative to: also with the neighbors of its
            link, and with obstacles if `allowed` says that its link may touch them.

        Raises
        ------
        ValueError, TypeError, UnsupportedQueryError
            There is no such link, or one with the name of the object; as the class: names the link.

        See Also
        --------
        detach : The robot without it.

        Notes
        -----
        0.14 ms for an arm: all but the tables of the core is shared. A `Mesh` or `ConvexHull` is prepared when it
        is first used; attach the same object again, and it is not.

        Examples
        --------
        >>> import broadphase as bp
        >>> lift = bp.Articulated([bp.Link("fork", bp.Box(1, 1, 0.1), joint="prismatic", axis=(0, 0, 1))])
        >>> shelf = bp.Obstacles(bp.Shapes(bp.Box(1, 1, 0.1), [0, 0, 2]))
        >>> laden = lift.attach("fork", bp.Box(0.5, 0.5, 1), (0, 0, 0.55), name="crate")
        >>> lift.collides([1.5], shelf), laden.collides([1.5], shelf)
        (np.False_, np.True_)
        >>> laden.detach("crate") is lift
        True
        """
        return self._with(Link(name, shapes, link, position=position, rotation=rotation), touch_links)

    def detach(self, name: str | None = None) -> Self:
        """Return the robot without an object that is attached to it.

        Parameters
        ----------
        name : str, optional
            Of the object, as `attach` took it. Default: None, all of them.

        Returns
        -------
        Articulated
            If no other object is left, the very robot to which the first was attached. This one does not change.

        Raises
        ------
        ValueError
            No object of this name is attached, or another is attached to it: names both.
        """
        if name is not None and not isinstance(name, str):
            raise TypeError(f"name must be a text, not {quoted(name)}")
        if name is not None and name not in self.attached:
            raise ValueError(f"link {quoted(name)} is not attached: {unknown_name('name', name, self.attached)}")
        robot = self if self._bare is None else self._bare
        for link, touch_links in self._attached:
            if name is None or link.name == name:
                continue
            if link.parent == name:
                raise ValueError(f"link {quoted(link.name)} is attached to {quoted(name)}: detach it first")
            robot = robot._with(link, [other for other in touch_links if other != name])
        return robot

    def _with(self, link: Link, touch_links: Iterable[str | None]) -> Self:
        """Make this robot with an object attached, a link that is fixed to another."""
        _checked_links([link])
        number_of = {one.name: number for number, one in enumerate(self.links)}
        if link.name in number_of:
            raise ValueError(f"link {quoted(link.name)}: the robot has a link of this name; pass another name=")
        parent = _parent(link, number_of)
        with _naming(link):
            touched = _checked_touch(touch_links, number_of)
        robot = object.__new__(type(self))
        robot.__dict__.update(self.__dict__)
        number = len(self.links)
        shapes, owners = _parts((link,))
        frame = _frames((link,))
        # Copies, with which `detach` attaches it again.
        position, rotation = (np.array(given, np.float64) for given in (link.position, link.rotation))
        link = Link(link.name, tuple(shapes), link.parent, position=position, rotation=rotation)
        robot.links, robot._shapes = (*self.links, link), self._shapes + shapes
        robot._geometries = self._geometries.copy()
        records = records_of(shapes, len(owners), 3, robot._geometries)
        robot._require_known_shapes()
        robot._records = Records(*(_followed_by(kept, more) for kept, more in zip(self._records, records, strict=True)))
        robot.part_links = _followed_by(self.part_links, owners + np.int32(number))
        robot._place_of = _followed_by(self._place_of, [number])
        robot._rigid = _followed_by(self._rigid, [self._rigid[parent]])
        robot._is_static = _followed_by(self._is_static, [self._is_static[parent]])
        robot._meet_obstacles = _followed_by(self._meet_obstacles, [None not in touched] * len(owners))
        row = (self._place_of[parent], JOINTS["fixed"], *(values[0] for values in frame), 0, (1.0, 0.0))
        robot._core_links = _CoreLinks(
            *(_followed_by(kept, [one]) for kept, one in zip(self._core_links, row, strict=True))
        )
        is_met = self._rigid != self._rigid[parent]
        is_met &= ~(self._is_static & self._is_static[parent])
        is_met[[other for other in touched if other is not None]] = False
        others = np.flatnonzero(is_met[self.part_links])
        parts = len(self.part_links) + np.arange(len(owners))
        found = np.column_stack([np.tile(others, len(parts)), np.repeat(parts, len(others))])
        robot.pairs = _followed_by(self.pairs, found)
        robot._bare = self if self._bare is None else self._bare
        names = tuple(None if other is None else self.links[other].name for other in touched)
        robot._attached = (*self._attached, (link, names))
        robot._prepare()
        return robot

    def poses(self, q: ArrayLike) -> Poses:
        """Compute where all links are: forward kinematics.

        Parameters
        ----------
        q : array_like, shape (n, joints), or (joints,) for one
            Configurations: radians and units of length, at most 1e40.

        Returns
        -------
        Poses
            ``positions`` and ``rotations`` of the links, in their order.

        Raises
        ------
        ValueError, TypeError
            Wrong shape or dtype; a value that is not finite: names the row and the joint.

        Examples
        --------
        >>> import broadphase as bp
        >>> slide = bp.Articulated([bp.Link("cart", joint="prismatic", axis=(1, 0, 0))])
        >>> slide.poses([[0.5], [2]]).positions.tolist()
        [[[0.5, 0.0, 0.0]], [[2.0, 0.0, 0.0]]]
        """
        values, single = self._values(q, "q")
        found: Any = self._native.poses(values)
        positions, rotations = (array[:, self._place_of] for array in found)
        return Poses(positions[0], rotations[0]) if single else Poses(positions, rotations)

    def placed(self, q: ArrayLike) -> Shapes:
        """Place all shapes in one configuration, to look at them or for other queries.

        Parameters
        ----------
        q : array_like, shape (joints,)
            As in `poses`.

        Returns
        -------
        Shapes
            A row for each shape; `part_links` says of which link.

        Examples
        --------
        >>> import broadphase as bp
        >>> slide = bp.Articulated([bp.Link("cart", bp.Sphere(1), joint="prismatic", axis=(1, 0, 0))])
        >>> slide.placed([3]).boxes.round(6).tolist()
        [[[2.0, -1.0, -1.0], [4.0, 1.0, 1.0]]]
        """
        values, single = self._values(q, "q")
        if not single:
            raise ValueError(f"q must be one configuration, of shape ({len(self.joint_names)},), not {values.shape}")
        positions, rotations = self.poses(values[0])
        return Shapes(self._shapes, positions[self.part_links], rotations[self.part_links])

    @overload
    def collides(
        self,
        q: ArrayLike,
        obstacles: AnyObstacles = None,
        *,
        padding: float = 0.0,
        pairs: Literal[False] = False,
        workers: int = 1,
    ) -> Any: ...

    @overload
    def collides(
        self,
        q: ArrayLike,
        obstacles: AnyObstacles = None,
        *,
        padding: float = 0.0,
        pairs: Literal[True],
        workers: int = 1,
    ) -> Collisions: ...

    @overload
    def collides(
        self,
        q: ArrayLike,
        obstacles: AnyObstacles = None,
        *,
        padding: float = 0.0,
        pairs: bool,
        workers: int = 1,
    ) -> Any: ...

    def collides(
        self,
        q: ArrayLike,
        obstacles: AnyObstacles = None,
        *,
        padding: float = 0.0,
        pairs: bool = False,
        workers: int = 1,
    ) -> Any:
        """Find in which configurations a link touches an obstacle, or another link.

        Shapes are closed: what only touches collides.

        Parameters
        ----------
        q : array_like, shape (n, joints), or (joints,) for one
            As in `poses`.
        obstacles : Obstacles, or what it is made of
            Default: None, only the robot itself. Make `Obstacles` of shapes that serve several calls.
        padding : float
            Links that are nearer than this to an obstacle, or as near, collide with it. Links among each other are
            compared as they are.
        pairs : bool
            Whether to give all pairs that collide, too.
        workers : int
            Threads; -1 for one per core. Does not change the result.

        Returns
        -------
        ndarray, shape (n,), bool
            For one configuration, a bool of NumPy. With `pairs`, `Collisions`: that as ``collides``, and of each pair
            ``rows``, ``parts``, ``obstacles`` and ``links``, in lexicographic order.

        Raises
        ------
        ValueError, TypeError
            As `poses`; `padding` that is below 0 or not finite; as `Obstacles`.

        Notes
        -----
        Without padding, exactly what `overlaps` finds among the shapes of `placed`, the obstacles and the pairs of
        links that are compared; with padding, what `distance` does. A mesh is a surface here: what is wholly inside it
        does not touch it; a `ConvexHull` has an inside.

        Some 1.5 us for an arm of six links among 500 boxes. A configuration is left at its first contact. With `pairs`,
        those that collide are compared again, by `overlaps` or `distance`, in some ten times as long.

        Examples
        --------
        >>> import broadphase as bp
        >>> lift = bp.Articulated([bp.Link("fork", bp.Sphere(1), joint="prismatic", axis=(0, 0, 1))])
        >>> scene = bp.Obstacles(bp.Shapes(bp.Sphere(1), [[0, 0, 3], [0, 0, 4]]))
        >>> found = lift.collides([[0], [1.5], [2.5]], scene, pairs=True)
        >>> found.rows.tolist(), found.obstacles.tolist(), found.links.tolist()
        ([1, 2, 2], [0, 0, 1], [['fork', None], ['fork', None], ['fork', None]])
        """
        values, single = self._values(q, "q")
        grown, threads, with_pairs = as_length(padding, "padding"), worker_count(workers), as_flag(pairs, "pairs")
        shapes, known = as_obstacles(obstacles)
        answers: Any = self._native.collides(values, known, grown, threads)
        found = answers.view(np.bool_)
        if with_pairs:
            counts = len(self.part_links), len(self.pairs)
            each = find_collisions(self._placing(values), np.flatnonzero(found), counts, shapes, grown)
            return Collisions(found[0] if single else found, *each, self._links_of(each.parts))
        return found[0] if single else found

    @overload
    def clearance(
        self,
        q: ArrayLike,
        obstacles: AnyObstacles = None,
        *,
        points: Literal[False] = False,
        max_distance: float = np.inf,
        workers: int = 1,
    ) -> Any: ...

    @overload
    def clearance(
        self,
        q: ArrayLike,
        obstacles: AnyObstacles = None,
        *,
        points: Literal[True],
        max_distance: float = np.inf,
        workers: int = 1,
    ) -> NearestParts: ...

    @overload
    def clearance(
        self,
        q: ArrayLike,
        obstacles: AnyObstacles = None,
        *,
        points: bool,
        max_distance: float = np.inf,
        workers: int = 1,
    ) -> Any: ...

    def clearance(
        self,
        q: ArrayLike,
        obstacles: AnyObstacles = None,
        *,
        points: bool = False,
        max_distance: float = np.inf,
        workers: int = 1,
    ) -> Any:
        """Compute the least distance of a link from an obstacle, or from another link.

        Parameters
        ----------
        q, obstacles, workers
            As in `collides`, and so are errors.
        points : bool
            Whether to give the nearest pair and its nearest points, too.
        max_distance : float
            Distances above are infinite, which saves time. At least 0.

        Returns
        -------
        ndarray, shape (n,), float64
            0 for configurations that collide; infinite if there is nothing to compare with. For one configuration, a
            float of NumPy. With `points`, `NearestParts`: that as ``distances``, and ``parts``, ``obstacles``,
            ``links`` and ``points``.

        Notes
        -----
        The least of what `distance` computes, but for depths. Between links and obstacles, boxes that are farther
        apart than the least distance so far are left out. With `points`, pairs whose boxes are as near as the least
        distance are compared again: of several that collide, the deepest is given, and of several at one distance the
        first. The distance of the points may differ from it in the last digits.

        Examples
        --------
        >>> import broadphase as bp
        >>> lift = bp.Articulated([bp.Link("fork", bp.Sphere(1), joint="prismatic", axis=(0, 0, 1))])
        >>> scene = bp.Obstacles(bp.Shapes(bp.Sphere(1), [[0, 0, 9], [0, 3, 0]]))
        >>> found = lift.clearance([[0], [6]], scene, points=True)
        >>> found.distances.tolist(), found.obstacles.tolist(), found.points[1].tolist()
        ([1.0, 1.0], [1, 0], [[0.0, 0.0, 7.0], [0.0, 0.0, 8.0]])
        """
        values, single = self._values(q, "q")
        limit, threads = as_length(max_distance, "max_distance", finite=False), worker_count(workers)
        with_points, (shapes, known) = as_flag(points, "points"), as_obstacles(obstacles)
        gaps: Any = self._native.clearance(values, known, limit, threads)
        if not with_points:
            return gaps[0] if single else gaps
        near, counts = np.flatnonzero(gaps < np.inf), (len(self.part_links), len(self.pairs))
        each, where = find_nearest(self._placing(values), near, gaps, counts, shapes, threads)
        parts, rows = np.full((len(gaps), 2), -1, np.int32), np.full(len(gaps), -1, np.int32)
        both = np.full((len(gaps), 2, 3), np.nan)
        parts[each.rows], rows[each.rows], both[each.rows] = each.parts, each.obstacles, where
        found = NearestParts(gaps, parts, rows, self._links_of(parts), both)
        return NearestParts(*(column[0] for column in found)) if single else found

    def edges_collide(
        self,
        starts: ArrayLike,
        ends: ArrayLike,
        obstacles: AnyObstacles = None,
        *,
        padding: float = 0.0,
        tolerance: float = 1e-4,
        workers: int = 1,
    ) -> Any:
        """Find on which straight ways from one configuration to another a robot collides.

        Parameters
        ----------
        starts, ends : array_like, shape (n, joints), or (joints,) for one
            All joint values move evenly from those of `starts` to those of `ends`, as for `first_contact`.
        obstacles, padding, workers
            As in `collides`, and so are errors.
        tolerance : float
            A length, above 0 and finite: what comes as near as this may count as touching.

        Returns
        -------
        ndarray, shape (n,), bool
            Whether there is a collision anywhere on the way, both ends included. For one way, a bool of NumPy.

        See Also
        --------
        first_contact : Where it is.

        Notes
        -----
        False is certain: no contact is missed, however thin. True may err by the tolerance: somewhere on the way
        something is at most that near.

        Ways are halved: their middles are compared as by `collides`, and each shape that cannot reach an obstacle from
        there, by its velocity and a bound of its acceleration [1]_, is not compared in the halves again. A way of up to
        0.2 radians in each joint of an arm among 500 boxes takes some 6 us, a quarter of the time of 20 samples.

        References
        ----------
        .. [1] S. Redon, Y. J. Kim, M. C. Lin, D. Manocha, "Fast Continuous Collision Detection for Articulated Models",
           Journal of Computing and Information Science in Engineering 5 (2), 2005. 10.1115/1.1884133

        Examples
        --------
        >>> import broadphase as bp
        >>> cart = bp.Articulated([bp.Link("cart", bp.Sphere(1), joint="prismatic", axis=(1, 0, 0))])
        >>> pane = bp.Obstacles(bp.Shapes(bp.Box(1e-6, 9, 9), [5, 0, 0]))
        >>> cart.edges_collide([[0], [0], [9]], [[3], [9], [7]], pane)
        array([False,  True, False])
        """
        begin, end, single = self._ends(starts, ends, ("starts", "ends"))
        grown, least = as_length(padding, "padding"), _checked_tolerance(tolerance)
        (_, known), threads = as_obstacles(obstacles), worker_count(workers)
        answers: Any = self._native.edges_collide(begin, end, known, grown, least, threads)
        found = answers.view(np.bool_)
        return found[0] if single else found

    def first_contact(
        self,
        q0: ArrayLike,
        q1: ArrayLike,
        obstacles: AnyObstacles = None,
        *,
        padding: float = 0.0,
        tolerance: float = 1e-4,
        workers: int = 1,
    ) -> Any:
        """Find where a robot first touches something on the straight way from one configuration to another.

        Parameters
        ----------
        q0, q1 : array_like, shape (n, joints), or (joints,) for one
            Both ends: all joint values move evenly from those of `q0` to those of `q1`.
        obstacles, padding, workers
            As in `collides`, and so are errors.
        tolerance : float
            A length, above 0 and finite: what comes as near as this may count as touching.

        Returns
        -------
        ndarray, shape (n,), float64
            The share of the way, 0 to 1; infinite for ways that are free. Nothing touches before, however thin it is;
            and there something is at most `tolerance` from touching. For one way, a float of NumPy.

        Notes
        -----
        As `edges_collide`, the earlier half first. Time grows with the logarithm of 1 / `tolerance`, and for links that
        slide along a mesh with the length of that way over its distance.
        """
        begin, end, single = self._ends(q0, q1, ("q0", "q1"))
        grown, least = as_length(padding, "padding"), _checked_tolerance(tolerance)
        (_, known), threads = as_obstacles(obstacles), worker_count(workers)
        shares: Any = self._native.first_contact(begin, end, known, grown, least, threads)
        return shares[0] if single else shares

    def _placing(self, values: Floats) -> Callable[[NDArray[np.intp]], PlacedRobots]:
        """Give what places all parts in some of these configurations."""

        def place(rows: NDArray[np.intp]) -> PlacedRobots:
            count = len(rows)
            positions, rotations = self.poses(values[rows])
            kinds, sizes, numbers = self._records
            records = Records(np.tile(kinds, count), np.tile(sizes, count), np.tile(numbers, count))
            shapes = object.__new__(Shapes)
            where = positions[:, self.part_links].reshape(-1, 3), rotations[:, self.part_links].reshape(-1, 4)
            shapes.__setstate__((3, records, self._geometries, *where, False))
            return PlacedRobots(shapes, len(self.part_links), self._meet_obstacles, self.pairs)

        return place

    def _links_of(self, parts: NDArray[np.int32]) -> NDArray[np.object_]:
        """Give the names of the links of parts; None for none."""
        names = np.array([*(self.links[link].name for link in self.part_links.tolist()), None], np.object_)
        return names[parts]

    def __reduce__(self) -> tuple[Any, ...]:
        names = [link.name for link in self.links]
        allowed = [(names[first], None if second is None else names[second]) for first, second in self._allowed]
        own = self.links[: len(self.links) - len(self._attached)]
        return _rebuilt, (type(self), own, allowed, self._neighbors, self._only, self._attached)

    def __repr__(self) -> str:
        joints = sum(link.joint != "fixed" and link.mimic is None for link in self.links)
        counts = ((len(self.links), "link"), (len(self.part_links), "shape"), (joints, "joint"))
        with_links, with_shapes, with_joints = (f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts)
        return f"<a robot of {with_links}, {with_shapes} and {with_joints}>"

    def _values(self, q: ArrayLike, name: str) -> tuple[Floats, bool]:
        """Check configurations; return rows of them, contiguous, and whether one was given without rows."""
        count = len(self.joint_names)
        values: Floats = as_numbers(q, name=name).astype(np.float64, order="C")  # a copy
        single = values.ndim == 1 and (values.shape[0] > 0 or count == 0)
        if values.shape == (0,) and count:
            values = np.empty((0, count))
        rows = values[np.newaxis] if single else values
        if rows.ndim != 2 or rows.shape[1] != count:
            raise ValueError(f"{name} must have shape (n, {count}) or ({count},), not {values.shape}")
        good = np.abs(rows) <= LARGEST  # False for NaN, too
        if not good.all():
            row, column = np.argwhere(~good)[0].tolist()
            value, joint = rows[row, column], quoted(self.joint_names[column])
            fault = f"beyond {LARGEST}" if np.isfinite(value) else "not finite"
            raise ValueError(f"{name}: {'' if single else f'row {row}, '}joint {joint} is {value}, which is {fault}")
        for column in self._quaternions:
            turns = rows[:, column : column + 4].any(axis=1)
            if not turns.all():
                row, joint = int(np.argmin(turns)), quoted(self.joint_names[column].removesuffix(".qw"))
                fault = "has a quaternion of zeros; (1, 0, 0, 0) is no rotation"
                raise ValueError(f"{name}: {'' if single else f'row {row}, '}joint {joint} {fault}")
        return rows, single

    def _ends(self, begin: ArrayLike, end: ArrayLike, names: tuple[str, str]) -> tuple[Floats, Floats, bool]:
        """Check both ends of ways, as `_values` does."""
        first, single = self._values(begin, names[0])
        last, last_single = self._values(end, names[1])
        if first.shape != last.shape or single != last_single:
            shapes = f"{np.shape(begin)} and {np.shape(end)}"
            raise ValueError(f"{names[0]} and {names[1]} must have the same shape, not {shapes}")
        return first, last, single

    def _compared(self, parents: NDArray[np.int32], order: Sequence[int]) -> NDArray[np.int32]:
        """Give the pairs of parts that are compared with each other."""
        rigid, is_static = self._rigid.tolist(), self._is_static.tolist()
        has_parts = {rigid[link] for link in self.part_links.tolist()}
        above: dict[int, int] = {}  # the next above with shapes
        for number in order:
            if rigid[number] != number or parents[number] < 0:
                continue
            next_up = rigid[int(parents[number])]
            above[number] = next_up if next_up in has_parts else above.get(next_up, -1)
        may_touch = {frozenset(pair) for pair in self._allowed if pair[1] is not None}
        found = []
        owners = self.part_links.tolist()
        if self._only is None:
            candidates = [(first, second) for second in range(len(owners)) for first in range(second)]
        else:
            rows = np.unique(np.sort(self._only, axis=1)[:, ::-1], axis=0)  # in the same order
            candidates = [(first, second) for second, first in rows.tolist()]
        for first, second in candidates:
            a, b = owners[first], owners[second]
            x, y = rigid[a], rigid[b]
            if x == y or (is_static[a] and is_static[b]) or frozenset((a, b)) in may_touch:
                continue
            if self._neighbors and (above.get(x) == y or above.get(y) == x):
                continue
            found.append((first, second))
        return np.array(found, np.int32).reshape(-1, 2)


def _checked_tolerance(tolerance: float) -> float:
    least = as_length(tolerance, "tolerance")
    if not least > 0:
        raise ValueError("tolerance must be above 0")
    return least


def _rebuilt(
    kind: type[Articulated],
    links: tuple[Link, ...],
    allowed: Any,
    neighbors: bool,
    pairs: NDArray[np.int32] | None,
    attached: tuple[tuple[Link, tuple[str | None, ...]], ...],
) -> Articulated:
    robot = kind(links, allowed=allowed, neighbors=neighbors, pairs=pairs)
    for link, touch_links in attached:
        robot = robot._with(link, touch_links)
    return robot


def _checked_links(links: Iterable[Link]) -> tuple[Link, ...]:
    try:
        given = tuple(links)
    except TypeError:
        raise TypeError(f"links must be an iterable of Link, not {quoted(links)}") from None
    if not given:
        raise ValueError("links: a robot has at least one")
    names: set[str] = set()
    for place, link in enumerate(given):
        if not isinstance(link, Link):
            raise TypeError(f"links: number {place} is {quoted(link)}, not a Link")
        if not isinstance(link.name, str):
            raise TypeError(f"links: the name of number {place} is {quoted(link.name)}, not a text")
        for what, text in (("parent", link.parent), ("joint", link.joint), ("joint_name", link.joint_name)):
            if not isinstance(text, str) and not (text is None and what != "joint"):
                raise TypeError(f"link {quoted(link.name)}: {what} must be a text, not {quoted(text)}")
        if link.name in names:
            raise ValueError(f"links: two are named {quoted(link.name)}")
        if link.joint not in JOINTS:
            raise ValueError(f"link {quoted(link.name)}: {unknown_name('joint', link.joint, JOINTS)}")
        names.add(link.name)
    return given


def _parent(link: Link, number_of: dict[str, int]) -> int:
    if link.parent is None:
        return -1
    if link.parent not in number_of:
        raise ValueError(f"link {quoted(link.name)}: there is no link {quoted(link.parent)}, its parent")
    return number_of[link.parent]


def _parents_first(links: tuple[Link, ...], parents: NDArray[np.int32]) -> list[int]:
    """Give an order of the links in which parents come before their children."""
    order: list[int] = []
    done: set[int] = set()
    for number in range(len(links)):
        chain = []
        at = number
        while at >= 0 and at not in done:
            if at in chain:
                raise ValueError(f"link {quoted(links[at].name)} hangs on itself, over its parents")
            chain.append(at)
            at = int(parents[at])
        order += reversed(chain)
        done.update(chain)
    return order


def _rigid_links(
    links: tuple[Link, ...], parents: NDArray[np.int32], order: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Give the first of the links that each is fixed to, over others, and whether it never moves in the world."""
    rigid, is_static = np.arange(len(links)), np.zeros(len(links), np.bool_)
    for number in order:
        parent, is_fixed = int(parents[number]), links[number].joint == "fixed"
        if is_fixed and parent >= 0:
            rigid[number] = rigid[parent]
        is_static[number] = is_fixed and (parent < 0 or is_static[parent])
    return rigid, is_static


def _columns(links: tuple[Link, ...]) -> tuple[tuple[str, ...], Floats, list[int], NDArray[np.int32], Floats]:
    """Give names and limits of columns, and where quaternions begin; of links the first column, scale and offset."""
    columns, scales = np.zeros(len(links), np.int32), np.tile([1.0, 0.0], (len(links), 1))
    names: list[str] = []
    limits, quaternions = [], []
    joints: dict[str, int] = {}  # the links of joints
    for number, link in enumerate(links):
        if link.joint == "fixed":
            continue
        name = link.name if link.joint_name is None else link.joint_name
        if name in joints:
            raise ValueError(f"link {quoted(link.name)}: there are two joints {quoted(name)}")
        joints[name] = number
        if link.mimic is None:
            columns[number] = len(names)
            values = VALUES.get(link.joint, ())
            quaternions += [len(names) + place for place, value in enumerate(values) if value == "qw"]
            names += [f"{name}.{value}" for value in values] or [name]
            limits += _checked_limits(link)
        else:
            scales[number] = _factors(link)
    own = scales.copy()
    for number, link in enumerate(links):
        if link.joint != "fixed" and link.mimic is not None:
            columns[number], scales[number] = _followed(number, links, joints, columns, own)
    return tuple(names), np.array(limits).reshape(-1, 2), quaternions, columns, scales


@contextmanager
def _naming(link: Link) -> Iterator[None]:
    """Let errors name a link."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"link {quoted(link.name)}: {error}") from None


def _factors(link: Link) -> Floats:
    """Give the multiplier and the offset of a joint that mimics another."""
    with _naming(link):
        if link.joint in VALUES:
            raise ValueError(f"a {link.joint} joint cannot mimic another")
        mimic = link.mimic
        if not isinstance(mimic, tuple | list) or len(mimic) != 3 or not isinstance(mimic[0], str):
            raise TypeError(f"mimic must be a name and two numbers, not {quoted(mimic)}")
        factors: Floats = as_rows(mimic[1:], "mimic", (2,), "two numbers").rows[0]
        return factors


def _followed(
    number: int, links: tuple[Link, ...], joints: dict[str, int], columns: NDArray[np.int32], own: Floats
) -> tuple[int, tuple[float, float]]:
    """Give the column that a joint follows, over all joints in between, and by which factor and offset of its value.

    `own` are the factors and offsets by which joints follow the next one.
    """
    scale, offset = 1.0, 0.0
    at, passed = number, {number}
    while (mimic := links[at].mimic) is not None:
        scale, offset = scale * own[at, 0], scale * own[at, 1] + offset
        with _naming(links[at]):
            above = joints.get(mimic[0])
            if above is None:
                raise ValueError(f"there is no joint {quoted(mimic[0])} with values to mimic")
            if links[above].joint in VALUES:
                raise ValueError(f"joint {quoted(mimic[0])} is {links[above].joint} and has no single value to mimic")
            if above in passed:
                raise ValueError(f"joints mimic each other in a circle, over {quoted(mimic[0])}")
        passed.add(above)
        at = above
    if not np.isfinite([scale, offset]).all():
        raise ValueError(f"link {quoted(links[number].name)}: the factors of the joints that it mimics overflow")
    return int(columns[at]), (scale, offset)


def _checked_limits(link: Link) -> list[tuple[float, float]]:
    """Give the least and the greatest value of each column of a joint."""
    with _naming(link):
        if link.joint in VALUES:
            if link.limits is not None:
                raise ValueError(f"a {link.joint} joint has no limits")
            return [(-1.0, 1.0) if value.startswith("q") else (-np.inf, np.inf) for value in VALUES[link.joint]]
        if link.limits is None:
            return [(-np.inf, np.inf)]
        given = as_reals(link.limits, "limits")
        if given.shape != (2,):
            raise ValueError(f"limits must be two numbers, not {quoted(link.limits)}")
        low, high = given.tolist()
        if not low <= high:
            raise ValueError(f"limits are {low} and {high}, not in order")
        return [(low, high)]


def _frames(links: tuple[Link, ...]) -> tuple[Floats, Floats, Floats]:
    """Give axes and rotations of length 1, and positions."""
    found = []
    for link in links:
        with _naming(link):
            axis = as_rows(link.axis, "axis", (3,), "(3,)")
            position = as_rows(link.position, "position", (3,), "(3,)")
            rotation = as_rotations(link.rotation, 3)
            for name, given in (("axis", axis), ("position", position), ("rotation", rotation)):
                if not given.single:
                    raise ValueError(f"{name} must be one, not {len(given.rows)}")
            if not axis.rows.any():
                raise ValueError("axis is zero")
        found.append((_unit(axis.rows[0]), position.rows[0], _unit(rotation.rows[0])))
    axes, positions, rotations = zip(*found, strict=True)
    return np.array(axes), np.array(positions), np.array(rotations)


def _unit(vector: Floats) -> Floats:
    scaled = vector / np.abs(vector).max()  # so that no square is out of range
    length = np.sqrt((scaled * scaled).sum())
    unit: Floats = scaled if length == 1 else scaled / length
    return unit


def _parts(links: tuple[Link, ...]) -> tuple[list[Shape], NDArray[np.int32]]:
    """Give the shapes of all links, and the number of the link of each."""
    shapes: list[Shape] = []
    owners: list[int] = []
    for number, link in enumerate(links):
        with _naming(link):
            given = as_shapes(link.shapes)
            dimension_of(given, 3)
        parts = [given] if isinstance(given, Shape) else given
        shapes += parts
        owners += [number] * sum(map(len, parts))
    return shapes, np.array(owners, np.int32)


def _checked_allowed(allowed: Allowed, number_of: dict[str, int]) -> list[tuple[int, int | None]]:
    found: list[tuple[int, int | None]] = []
    try:
        pairs = [tuple(pair) if not isinstance(pair, str) else (pair,) for pair in allowed]
    except TypeError:
        raise TypeError(f"allowed must be pairs of names, not {quoted(allowed)}") from None
    for row, pair in enumerate(pairs):
        if len(pair) != 2:
            raise ValueError(f"allowed: row {row} is {quoted(pair)}, not a pair of names")
        for place, name in enumerate(pair):
            is_known = isinstance(name, str) and name in number_of
            if not is_known and not (place == 1 and name is None):
                raise ValueError(f"allowed: row {row} names {quoted(name)}, which is no link")
        first, second = pair
        found.append((number_of[str(first)], None if second is None else number_of[second]))
    return found


def _checked_touch(touch_links: Iterable[str | None], number_of: dict[str, int]) -> list[int | None]:
    """Give the numbers of links that may be touched; None for the obstacles."""
    if isinstance(touch_links, str):
        raise TypeError(f"touch_links must be a list of names, not {quoted(touch_links)}")
    try:
        names = list(touch_links)
    except TypeError:
        raise TypeError(f"touch_links must be a list of names, not {quoted(touch_links)}") from None
    for name in names:
        if name is not None and not (isinstance(name, str) and name in number_of):
            raise ValueError(f"touch_links names {quoted(name)}, which is no link")
    return [None if name is None else number_of[name] for name in names]


def _followed_by(array: Any, rows: Any) -> NDArray[Any]:
    """Put rows behind those of an array, in a new array of the same dtype."""
    return np.concatenate([array, np.asarray(rows, array.dtype).reshape(-1, *array.shape[1:])])


def _named(allowed: Allowed, links: Iterable[Link]) -> list[tuple[str, str | None]]:
    """Check pairs of names before links are put together, so that their errors are told from those of a file."""
    names = [link.name for link in links]
    found = _checked_allowed(allowed, {name: number for number, name in enumerate(names)})
    return [(names[first], None if second is None else names[second]) for first, second in found]
