"""Each array of every public call, laid out in memory in other ways, gives the same result."""

import warnings

import numpy as np
import pytest

import broadphase as bp
from public_calls import calls

# Differ from call to call: what is measured.
VARYING = {"seconds", "last_query_seconds"}


def swapped(array):
    return array.astype(array.dtype.newbyteorder(">"))


def backwards(array):
    return array[::-1].copy()[::-1] if array.ndim else array


def strided(array):
    wide = np.zeros((*array.shape[:-1], 3 * array.shape[-1]), array.dtype)
    wide[..., ::3] = array
    return wide[..., ::3]


def rows_apart(array):
    wide = np.zeros((2 * len(array), *array.shape[1:]), array.dtype)
    wide[::2] = array
    return wide[::2]


def unaligned(array):
    memory = np.zeros(array.nbytes + 1, np.uint8)
    view = memory[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


def read_only(array):
    copy = array.copy()
    copy.setflags(write=False)
    return copy


class Holder:
    """Something that is no array but can become one, as a series of pandas."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array if dtype is None else self.array.astype(dtype)

    def __iter__(self):
        return iter(self.array)


FORMS = {
    "swapped": swapped,
    "backwards": backwards,
    "fortran": np.asfortranarray,
    "strided": strided,
    "rows apart": rows_apart,
    "unaligned": unaligned,
    "read only": read_only,
    "subclass": lambda array: array.view(type("Subclass", (np.ndarray,), {})),
    "holder": Holder,
    "lists": lambda array: array.tolist(),
}


def as_array(value):
    """The value as an array of one axis or more of numbers, or None."""
    if isinstance(value, list):
        try:
            value = np.asarray(value)
        except ValueError:  # shapes, parts
            return None
    is_array = isinstance(value, np.ndarray) and value.ndim and value.size and value.dtype.kind in "iufb"
    return value if is_array else None


def flat(value, depth=0):
    """What a result holds, as nested tuples that can be compared."""
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes()
    if value is None or isinstance(value, (bool, int, float, str, bytes, np.generic)):
        return value
    if isinstance(value, dict):
        return tuple((key, flat(one, depth + 1)) for key, one in value.items() if key not in VARYING)
    if isinstance(value, bp.index.BoxIndex):
        return type(value).__name__, flat((value.boxes_of(value.rows), value.pairs(sort=True)))
    if isinstance(value, (list, tuple)):
        return tuple(flat(one, depth + 1) for one in value)
    names = [name for of in type(value).__mro__ for name in getattr(of, "__slots__", ())]
    names += list(getattr(value, "__dict__", ()))
    if depth > 4:
        return type(value).__name__
    return type(value).__name__, tuple(
        (name, flat(getattr(value, name, None), depth + 1)) for name in names if name not in VARYING
    )


@pytest.mark.parametrize("form", FORMS)
def test_every_array_argument_in_every_form_gives_the_same_result(form):
    tried, wrong = 0, []
    for name, function, given in calls():
        for parameter, value in given.items():
            array = as_array(value)
            if array is None:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = flat(function(**{**given, parameter: array}))
                try:
                    result = flat(function(**{**given, parameter: FORMS[form](array)}))
                except Exception as error:  # collected, so that all are shown
                    wrong.append(f"{name}({parameter}=): {type(error).__name__}: {error}")
                    continue
            tried += 1
            if result != expected:
                wrong.append(f"{name}({parameter}=): another result")
    assert not wrong, "\n".join(wrong)
    assert tried > 200
