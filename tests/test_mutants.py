"""The list of small changes of the core that `make mutants` tries: it follows the core."""

import json
from pathlib import Path

from mutation.places import ESTIMATES, SUBJECTS, bodies_of, chosen, without_words

TESTS = Path(__file__).parent
CORE = TESTS.parent / "core"


def test_functions_that_only_estimate_are_where_the_list_says():
    for file, names in ESTIMATES.items():
        code = without_words((CORE / file).read_text())
        assert [name for name in names if not bodies_of(name, code)] == [], file


def test_places_of_every_subject_are_found():
    assert len(chosen(CORE, 0, [])) == sum(count for _, count in SUBJECTS.values())


def test_files_of_recorded_changes_exist():
    lived = json.loads((TESTS / "mutation" / "tried.json").read_text())["lived"]
    assert [one["file"] for one in lived if not (CORE / one["file"]).is_file()] == []
