"""Changes of worlds, interrupted at every instruction and every line."""

import numpy as np
import pytest
from scale import times

from test_world_interrupts import OPTIONS
from world_interrupts import CHANGES, Interrupts

pytestmark = [pytest.mark.soak, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize(("dimension", "options"), OPTIONS)
def test_change_interrupted_at_every_instruction_leaves_one_state_or_the_other(dimension, options, name, lines):
    interrupts = Interrupts(dimension, options, name, lines=lines)
    every = np.linspace(0, interrupts.length - 1, min(interrupts.length, times(20_000))).astype(int)
    for number in np.unique(every).tolist():
        interrupts.check(number, (KeyboardInterrupt, MemoryError)[number % 2])
