"""The methods of finding pairs, one row each: what tests, benchmarks, the command line and the docs read."""

from dataclasses import dataclass

__all__ = ["METHODS", "Method"]


@dataclass(frozen=True)
class Method:
    """One way to find the pairs.

    Attributes
    ----------
    name : str
        What to pass as ``method=``.
    title : str
        Its name in prose.
    summary : str
        When it is the right one, in one line.
    dimensions : tuple of int
        Dimensions of the boxes it takes.
    dtypes : tuple of str
        Coordinate types it works on without conversion.
    capabilities : frozenset of str
        What it can be asked: by `broadphase.pairs` and its like ``"pairs"``, ``"cross"``, ``"count"``, ``"stream"``;
        as an index ``"rows"``, ``"query"``, ``"query_ball"``, ``"nearest"``, ``"raycast"``, ``"shapecast"``,
        ``"convex"``, ``"update"``, ``"insert"``, ``"remove"``, ``"changes"``, ``"outline"``.
    index_class : str
        The class of its index in `broadphase`; empty where it has none.
    paper : str
        Where the idea was published.
    doi : str
        DOI or other lasting address of that source.
    docs_page : str
        Its page, relative to the project's root.
    """

    name: str
    title: str
    summary: str
    dimensions: tuple[int, ...]
    dtypes: tuple[str, ...]
    capabilities: frozenset[str]
    index_class: str
    paper: str
    doi: str
    docs_page: str


_ALL_DIMENSIONS = (1, 2, 3, 4)
_ALL_DTYPES = ("float32", "float64")
_ONE_SHOT = frozenset({"pairs", "cross", "count", "stream"})
_CHANGE = frozenset({"update", "insert", "remove"})
_PLACES = frozenset({"query", "query_ball", "convex"})
_ASK = _PLACES | {"nearest", "raycast", "shapecast", "outline"}

METHODS: tuple[Method, ...] = (
    Method(
        name="brute_force",
        title="Brute force",
        summary="Every box against every other, many at a time; the quickest for a few hundred boxes.",
        dimensions=_ALL_DIMENSIONS,
        dtypes=_ALL_DTYPES,
        capabilities=_ONE_SHOT | _CHANGE | (_ASK - {"outline"}),
        index_class="BruteForce",
        paper="C. Ericson, Real-Time Collision Detection, Morgan Kaufmann, 2005, section 7.1",
        doi="10.1201/b14581",
        docs_page="docs/methods/brute_force.md",
    ),
    Method(
        name="sweep_and_prune",
        title="Sweep and prune",
        summary="Boxes sorted along one axis, or any direction; good where they lie along a line.",
        dimensions=_ALL_DIMENSIONS,
        dtypes=_ALL_DTYPES,
        capabilities=_ONE_SHOT | _CHANGE | _PLACES | {"rows", "outline"},
        index_class="SweepAndPrune",
        paper="D. Baraff, Dynamic Simulation of Non-Penetrating Rigid Bodies, PhD thesis, Cornell University, 1992",
        doi="https://hdl.handle.net/1813/7115",
        docs_page="docs/methods/sweep_and_prune.md",
    ),
    Method(
        name="grid",
        title="Grid of columns",
        summary="Columns cut to the scene, a short sweep in each; the workhorse above a few hundred boxes.",
        dimensions=_ALL_DIMENSIONS,
        dtypes=_ALL_DTYPES,
        capabilities=_ONE_SHOT | _CHANGE | _PLACES | {"outline"},
        index_class="Grid",
        paper="Dittrich, Seeger, Data Redundancy and Duplicate Detection in Spatial Join Processing, ICDE 2000",
        doi="10.1109/ICDE.2000.839452",
        docs_page="docs/methods/grid.md",
    ),
    Method(
        name="linear_tree",
        title="Linear tree",
        summary="Boxes sorted by the Morton number of the cell around them: quadtree and octree without pointers.",
        dimensions=_ALL_DIMENSIONS,
        dtypes=_ALL_DTYPES,
        capabilities=_ONE_SHOT | _CHANGE | _ASK,
        index_class="LinearTree",
        paper="I. Gargantini, An Effective Way to Represent Quadtrees, Communications of the ACM 25 (12), 1982",
        doi="10.1145/358728.358741",
        docs_page="docs/methods/linear_tree.md",
    ),
    Method(
        name="bvh",
        title="Bounding volume hierarchy",
        summary="Boxes around boxes, eight to a node; sizes may differ as they like, and it answers every question.",
        dimensions=_ALL_DIMENSIONS,
        dtypes=_ALL_DTYPES,
        capabilities=_ONE_SHOT | _CHANGE | _ASK | {"changes"},
        index_class="BVH",
        paper="I. Kamel, C. Faloutsos, Hilbert R-tree: An Improved R-tree Using Fractals, VLDB 1994",
        doi="https://www.vldb.org/conf/1994/P500.PDF",
        docs_page="docs/methods/bvh.md",
    ),
    Method(
        name="octree",
        title="Octree",
        summary="Cubes that halve, loosely; objects are re-filed as they move, and unmoved ones cost nothing.",
        dimensions=_ALL_DIMENSIONS,
        dtypes=_ALL_DTYPES,
        capabilities=_ONE_SHOT | _CHANGE | _ASK,
        index_class="Octree",
        paper="D. Meagher, Geometric Modeling Using Octree Encoding, Computer Graphics and Image Processing 19, 1982",
        doi="10.1016/0146-664X(82)90104-6",
        docs_page="docs/methods/octree.md",
    ),
)
