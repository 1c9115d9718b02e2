"""The methods, one row each: read by indexes, the command, the demo, tests, benchmarks and docs.

Those of the compiled core are in `core/choose/methods.hpp`.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

__all__ = ["METHODS", "METHOD_NAMES", "Method", "MethodName"]

#: What ``method=`` takes.
MethodName: TypeAlias = Literal["auto", "brute_force", "sweep_and_prune", "grid", "linear_tree", "bvh", "octree"]
#: The same as values.
METHOD_NAMES: tuple[MethodName, ...] = get_args(MethodName)


@dataclass(frozen=True)
class Method:
    """A method to find pairs, for boxes of 1 to 4 dimensions, float32 or float64.

    Attributes
    ----------
    name : MethodName
        The value of ``method=``.
    title : str
        Its name in prose.
    summary : str
        When to use it, in one line.
    idea : str
        How it saves tests of boxes, in one sentence about the bodies of a world.
    drawn : str
        What the demo draws of it, in one sentence.
    capabilities : frozenset of str
        What its index supports besides pairs and changes of boxes: ``"query"``, ``"query_ball"``, ``"convex"``
        (oriented boxes and cameras), ``"nearest"``, ``"raycast"``, ``"shapecast"``, ``"changes"``, ``"rows"``
        (`SweepAndPrune.query_rows`), ``"outline"``.
    index_class : str
        The class of its index in `broadphase`.
    paper : str
        Publication of the idea.
    doi : str
        DOI or other permanent address of it.
    docs_page : str
        Its page, relative to the root of the project.
    """

    name: MethodName
    title: str
    summary: str
    idea: str
    drawn: str
    capabilities: frozenset[str]
    index_class: str
    paper: str
    doi: str
    docs_page: str


_PLACES = frozenset({"query", "query_ball", "convex"})
_ALL_QUERIES = _PLACES | {"nearest", "raycast", "shapecast"}

METHODS: tuple[Method, ...] = (
    Method(
        name="brute_force",
        title="Brute force",
        summary="Every box against every other, many at a time; the fastest for a few hundred boxes.",
        idea="Every body is compared with every other one.",
        drawn="Drawn: one body after another, and all that it is compared with.",
        capabilities=_ALL_QUERIES,
        index_class="BruteForce",
        paper="C. Ericson, Real-Time Collision Detection, Morgan Kaufmann, 2005, section 7.1",
        doi="10.1201/b14581",
        docs_page="docs/methods/brute_force.md",
    ),
    Method(
        name="sweep_and_prune",
        title="Sweep and prune",
        summary="Boxes sorted along one axis, or any direction; for scenes along a line.",
        idea="Bodies are sorted along one axis; only those whose shadows on it overlap are compared.",
        drawn="Drawn: the axis, a mark where each body begins, and yellow ones at gaps, where a search stops.",
        capabilities=_PLACES | {"rows", "outline"},
        index_class="SweepAndPrune",
        paper="D. Baraff, Dynamic Simulation of Non-Penetrating Rigid Bodies, PhD thesis, Cornell University, 1992",
        doi="https://hdl.handle.net/1813/7115",
        docs_page="docs/methods/sweep_and_prune.md",
    ),
    Method(
        name="grid",
        title="Grid of columns",
        summary="Columns sized to the scene, a short sweep in each; the workhorse above a few hundred boxes.",
        idea="The world is cut into columns; only bodies in the same column, one close behind the other, are compared.",
        drawn="Drawn: the columns that bodies are in.",
        capabilities=_PLACES | {"outline"},
        index_class="Grid",
        paper="Dittrich, Seeger, Data Redundancy and Duplicate Detection in Spatial Join Processing, ICDE 2000",
        doi="10.1109/ICDE.2000.839452",
        docs_page="docs/methods/grid.md",
    ),
    Method(
        name="linear_tree",
        title="Linear tree",
        summary="Boxes sorted by the Morton number of their cell: quadtree and octree without pointers.",
        idea=(
            "Bodies are sorted by the cell that they are in; only those in cells that share a corner of space "
            "are compared."
        ),
        drawn="Drawn: the cells that bodies are in, in a colour for each level.",
        capabilities=_ALL_QUERIES | {"outline"},
        index_class="LinearTree",
        paper="I. Gargantini, An Effective Way to Represent Quadtrees, Communications of the ACM 25 (12), 1982",
        doi="10.1145/358728.358741",
        docs_page="docs/methods/linear_tree.md",
    ),
    Method(
        name="bvh",
        title="Bounding volume hierarchy",
        summary="Boxes around boxes, eight to a node; for boxes of any sizes, and for every query.",
        idea=(
            "Neighbours are put into a common box, such boxes into a larger one, and so on; boxes that do not "
            "meet rule out all bodies in them."
        ),
        drawn="Drawn: the boxes around neighbours, in a colour for each level of the tree.",
        capabilities=_ALL_QUERIES | {"changes", "outline"},
        index_class="BVH",
        paper="I. Kamel, C. Faloutsos, Hilbert R-tree: An Improved R-tree Using Fractals, VLDB 1994",
        doi="https://www.vldb.org/conf/1994/P500.PDF",
        docs_page="docs/methods/bvh.md",
    ),
    Method(
        name="octree",
        title="Octree",
        summary="Loose cubes that halve; only boxes that move are filed again.",
        idea=(
            "Space is halved again and again where bodies are; only bodies in cells that meet are compared, and "
            "only those that leave their cell are filed again."
        ),
        drawn="Drawn: the cells, in a colour for each level; those without bodies are faint.",
        capabilities=_ALL_QUERIES | {"outline"},
        index_class="Octree",
        paper="D. Meagher, Geometric Modeling Using Octree Encoding, Computer Graphics and Image Processing 19, 1982",
        doi="10.1016/0146-664X(82)90104-6",
        docs_page="docs/methods/octree.md",
    ),
)
