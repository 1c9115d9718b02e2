"""Wrong arguments: every public callable, every parameter, and values of every kind but the right one."""

import inspect

import pytest

import broadphase as bp
from broadphase import boxes, cameras, morton
from public_calls import calls, complaint, complaints

# What is made by the library, not by its users; what runs programs, opens pages or writes files.
NOT_CALLED = {
    "Actor", "CustomShape", "boxes.describe_invalid", "boxes.from_frame", "boxes.from_geometries", "join", "plot",
    "save_replay",
}  # fmt: skip
MODULES = (boxes, cameras, morton)
OF_WORLDS = {  # without arguments, or with functions, actors, files and pages
    "from_bytes", "load", "save", "to_bytes", "on_exit", "on_stay", "on_step", "outline", "record", "refresh", "render",
    "stats", "index_stats", "validate", "clear_handlers",
}  # fmt: skip


def test_all_calls_work_with_the_right_arguments():
    for name, function, given in calls():
        assert function(**given) is not Ellipsis, name


def test_every_public_callable_is_called():
    called = {name for name, _, _ in calls()}
    public = {name for name in dir(bp) if callable(getattr(bp, name))}
    public |= {f"{m.__name__[11:]}.{name}" for m in MODULES for name in m.__all__ if callable(getattr(m, name))}
    assert public - called - NOT_CALLED == {"boxes.Boxes"} & public
    methods = {name for name, _ in inspect.getmembers(bp.World, inspect.isfunction) if not name.startswith("_")}
    assert {f"World.{name}" for name in methods - OF_WORLDS} <= called


@pytest.mark.parametrize("seed", range(3))
def test_wrong_arguments_work_or_are_refused_by_name(seed):
    found, count = complaints(seed, 0.12)
    assert not found, "\n".join(found[:20])
    assert count > 2000


@pytest.mark.parametrize(
    ("name", "parameter", "wrong"),
    [
        ("iter_pairs", "chunk", "whole"),
        ("morton.cell_of", "number", "whole"),
        ("raycast", "shapes", "class"),
        ("pairs", "workers", "inf"),
        ("pairs", "margin", "huge"),
        ("pairs", "method", "dict"),
        ("pairs", "sort", "array"),
        ("BVH.nearest", "k", "large"),
        ("QueryResult.padded", "width", "large"),
        ("World", "dim", "objects"),
        ("World.step", "budget", "date"),
        ("World.add", "position", "None"),
        ("Circle", "radius", "empty"),
        ("cameras.perspective", "fov", "text"),
    ],
)
def test_arguments_that_once_showed_the_core_are_refused_by_name(name, parameter, wrong):
    tried = [complaint(*call, parameter, wrong) for call in calls() if call[0] == name and parameter in call[2]]
    assert tried
    assert set(tried) == {None}
