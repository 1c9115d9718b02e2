"""Functions that are alike take what they have in common in one order, with one default."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("warp", reason="NVIDIA Warp is not installed: pip install 'broadphase[gpu]'")
sys.path.append(str(Path(__file__).resolve().parents[1] / "docs"))

from signatures import parameters_of, public_functions, write_page

from broadphase.options import ORDER

FUNCTIONS = dict(public_functions())
# Other defaults for a reason: what is added to a world, and what takes minutes and so runs on all cores.
OTHER_DEFAULTS = {
    ("broadphase.World", "margin"),  # chosen by how far bodies move
    ("broadphase.World.add", "batch"),
    ("broadphase.World.add", "group"),
    ("broadphase.World.add_many", "batch"),
    ("broadphase.World.add_many", "group"),
    ("broadphase.clearances", "max_distance"),
    ("broadphase.scale.pairs", "workers"),
    ("broadphase.scenes.Scene.changed", "method"),
    ("broadphase.triangle_pairs", "ignore_shared"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_options_that_functions_share_stand_in_one_order(name):
    for names in parameters_of(FUNCTIONS[name]):
        shared = [one for one in names if one in ORDER]
        assert shared == sorted(shared, key=ORDER.index)


def test_options_that_functions_share_have_one_default():
    defaults = {}
    for name, signature in FUNCTIONS.items():
        for one in signature.parameters.values():
            is_shared = one.name in ORDER[ORDER.index("method") :] or one.name == "max_distance"
            is_its_own = one.name == "workers" and one.default is None  # those of the index or the world
            if is_shared and not is_its_own and one.default is not one.empty and (name, one.name) not in OTHER_DEFAULTS:
                defaults.setdefault(one.name, {}).setdefault(repr(one.default), []).append(name)
    assert {option: values for option, values in defaults.items() if len(values) > 1} == {}


def test_options_are_keywords_wherever_they_are_shared():
    options = {"workers", "sort", "touching", "ignore", "period", "max_pairs", "capacity", "invalid", "progress"}
    of_values = {"broadphase.scale.BoxColumns", "broadphase.scenes.Remove"}  # what files say, by name
    assert not [name for name, s in FUNCTIONS.items() if name not in of_values and set(parameters_of(s)[0]) & options]


def test_page_of_signatures_has_a_row_for_each_function(tmp_path):
    write_page(tmp_path / "signatures.rst")
    text = (tmp_path / "signatures.rst").read_text("utf-8")
    assert text.count("   * - ``") == len(FUNCTIONS) > 250
    row = "   * - ``pairs``\n     - ``boxes`` ``other``\n     - ``form`` ``degrees`` ``method`` ``workers`` ``sort``"
    assert row in text


def test_rows_come_before_the_values_that_they_get():
    not_changes = {"broadphase.index.TreeCells", "broadphase.World.render"}
    late = [name for name, s in FUNCTIONS.items() if "rows" in parameters_of(s)[0][1:]]
    assert [name for name in late if name not in not_changes] == []
