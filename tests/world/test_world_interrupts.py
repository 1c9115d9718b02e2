"""Whatever interrupts a change of a world, wherever: the world is as it was, or as it is to be, and goes on."""

import numpy as np
import pytest

from world_interrupts import CHANGES, Interrupts

# Python ignores what is raised while it drops an object, and says so.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

OPTIONS = [(2, {"method": "auto", "boundary": "bounce"}), (3, {"method": "bvh", "boundary": "remove", "margin": 0.2})]


@pytest.mark.parametrize(("which", "name"), list(enumerate(CHANGES)))
def test_change_interrupted_at_any_instruction_leaves_one_state_or_the_other(which, name):
    interrupts = Interrupts(*OPTIONS[which % 2], name)
    rng = np.random.default_rng(7)
    for number in rng.integers(interrupts.length, size=6):
        interrupts.check(int(number), KeyboardInterrupt)
    interrupts.check(int(rng.integers(interrupts.length)), MemoryError)
