"""Full numbers: every wrong value for every parameter of every public callable."""

import pytest

from public_calls import complaints

pytestmark = pytest.mark.soak


def test_every_wrong_argument_works_or_is_refused_by_name():
    found, count = complaints(0, 1.0)
    assert not found, "\n".join(found)
    assert count > 20_000
