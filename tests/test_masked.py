"""Masked arrays: no public call uses a value that a mask hides, in any of its array arguments."""

from __future__ import annotations

import copy
import re
import warnings

import numpy as np
import pytest

import broadphase as bp
from broadphase import testing
from public_calls import ACCEPTED, calls

pytestmark = pytest.mark.filterwarnings("ignore")

# Arguments that are no arrays: their sequences are texts, shapes or settings.
NO_ARRAYS = {"links", "settings", "method"}


def hidden(value):
    """The same numbers, the first of them hidden; None for what holds no numbers."""
    try:
        array = np.asarray(value)
    except ValueError:
        return None
    if array.dtype.kind not in "biuf" or array.ndim == 0 or array.size == 0:
        return None
    mask = np.zeros(array.shape, bool)
    mask.flat[0] = True
    return np.ma.array(array, mask=mask)


def step_in_budget(**given):
    """A budget is checked where it is used."""
    bp.World(2).step(budget=bp.Budget(**given))


def every_call():
    """The public calls, and those that take arrays elsewhere: attributes, plots, answers of custom shapes."""
    for name, function, given in calls():
        yield name, step_in_budget if name == "Budget" else function, given
    world = bp.World(2)
    ball = world.add(bp.Circle(1), position=(0, 0), actor=bp.Actor)
    for name in ("position", "velocity"):
        yield f"Actor.{name}", lambda value, name=name: setattr(ball, name, value), {"value": np.array([1.0, 2.0])}
    yield "World.render", lambda rows: world.render(None, rows=rows), {"rows": np.array([0])}
    yield "Shape[]", lambda rows: bp.Circle([1, 2, 3])[rows], {"rows": np.array([0, 2])}
    yield "assert_same_pairs", testing.assert_same_pairs, {"actual": np.array([[0, 1]]), "expected": np.array([[0, 1]])}
    skipped = {
        "boxes": [[0, 0, 1, 1], [0, np.nan, 1, 1]],
        "layer": np.array([1, 1]),
        "ignore_pairs": np.array([[0, 1]]),
    }
    yield "pairs that skip", lambda **given: bp.pairs(**given, invalid="skip"), skipped
    pytest.importorskip("matplotlib").use("Agg")
    yield "plot", bp.plot, {"what": np.array([[0.0, 0, 1, 1], [2, 2, 3, 3]]), "pairs": np.array([[0, 1]])}
    rays = np.array([[0.0, 0]]), np.array([[1.0, 0]]), np.array([5.0])
    yield "plot", bp.plot, {"what": np.array([[0.0, 0, 1, 1]]), "rays": rays}


def damaged(value):
    """Each way to put a masked array into an argument: as the whole of it, as an item of it, or as its one number."""
    masked = hidden(value)
    if masked is not None:
        yield masked
        if masked.ndim > 1:
            yield list(masked)
    if type(value) in (int, float):
        yield np.ma.array([value], mask=[True])
        yield np.ma.array(value, mask=True)
        yield np.ma.masked
    if isinstance(value, tuple | list):
        for place, one in enumerate(value):
            for other in damaged(one) if isinstance(one, np.ndarray | list | tuple) else ():
                yield type(value)([*value[:place], other, *value[place + 1 :]])


def answer(function, given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(**given)
        except ACCEPTED as error:
            return error
    return None


def test_masked_values_of_every_array_argument_are_refused():
    accepted, unclear, count = [], [], 0
    for name, function, given in every_call():
        for parameter, value in given.items():
            if parameter in NO_ARRAYS:
                continue
            for masked in damaged(value):
                count += 1
                error = answer(function, {**copy.copy(given), parameter: masked})
                if error is None:
                    accepted.append(f"{name}({parameter}={masked!r})")
                elif not re.search("mask|must be a tuple", str(error)) and not isinstance(value, int | float):
                    unclear.append(f"{name}({parameter}={masked!r}): {error}")
    assert not accepted, "\n".join(accepted)
    assert not unclear, "\n".join(unclear)
    assert count > 700


def test_masks_that_hide_nothing_are_as_if_they_were_not_there():
    count = 0
    for name, function, given in every_call():
        for parameter, value in given.items():
            masked = hidden(value) if parameter not in NO_ARRAYS else None
            if masked is None:
                continue
            for mask in (np.ma.nomask, np.zeros(masked.shape, bool)):
                count += 1
                error = answer(function, {**given, parameter: np.ma.array(masked.data, mask=mask)})
                assert error is None or answer(function, {**given, parameter: masked.data}) is not None, (name, error)
    assert count > 300


def test_message_names_argument_and_row():
    with pytest.raises(ValueError, match=r"^scores: row 1 has a masked value; fill it or remove the row$"):
        bp.nms([[0, 0, 1, 1], [0, 0, 1, 1]], np.ma.array([0.5, 0.7], mask=[False, True]), 0.5)
