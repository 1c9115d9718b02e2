"""Full numbers: ten thousand histories in which every beginning has its end, a million actors of one row."""

import pytest

import broadphase as bp
from handler_histories import play
from seeds import seeds

pytestmark = pytest.mark.soak


def test_enters_and_exits_balance_over_ten_thousand_histories():
    ends = slips = 0
    for seed in seeds(10_000, least=100):
        accounts, slipped = play(seed, 100)
        assert not any(+account.open for account in accounts), seed
        ends += sum(account.ends for account in accounts)
        slips += slipped
    assert ends > slips > 0


def test_a_million_actors_of_one_row_are_each_stale_for_ever():
    world = bp.World(dim=2)
    kept = []
    for number in range(1_000_000):
        actor = world.add(bp.Point(), position=(0, 0))
        assert actor.row == 0
        if number % 1000 == 0:
            kept.append(actor)
        actor.remove()
    for actor in kept:
        assert not actor.alive
        with pytest.raises(bp.errors.UnknownRowError):
            actor.position  # noqa: B018
