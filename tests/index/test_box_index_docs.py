"""The page about indexes tells what the registry says."""

import inspect
import re
from pathlib import Path

import broadphase as bp
from broadphase.index.queries import QUERIES
from broadphase.methods import METHODS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "indexes.md"


def table_of_capabilities():
    head, _, *lines = re.search(r"<!-- The table.*?-->\n((?:\|.*\n)+)", PAGE.read_text("utf-8"))[1].splitlines()
    words = [cell.strip() for cell in head.strip("|").split("|")][1:]
    for line in lines:
        first, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        yield re.search(r"`(\w+)`", first)[1], {word for word, cell in zip(words, cells, strict=True) if cell == "yes"}


def test_table_of_capabilities_is_that_of_the_registry():
    expected = {row.index_class: set(row.capabilities) for row in METHODS}
    written = dict(table_of_capabilities())
    assert written.pop("Index", expected["BVH"]) == expected["BVH"]
    assert written == expected


def test_every_public_method_of_an_index_is_on_the_page():
    text = PAGE.read_text("utf-8")
    names = [name for name in dir(bp.index.BoxIndex) if not name.startswith("_")]
    assert not [name for name in names if not re.search(rf"\b{name}\b", text)]


def test_every_question_of_an_index_shows_an_example():
    for name in (*(row.name for row in QUERIES), "pairs", "changes", "insert", "move", "handles"):
        assert ">>> " in inspect.getdoc(getattr(bp.index.BoxIndex, name)), name
