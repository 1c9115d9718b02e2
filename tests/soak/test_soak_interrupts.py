"""Changes of worlds and indexes, interrupted at every instruction, at any time, and for lack of memory."""

import itertools
import os
import sys

import numpy as np
import pytest

from failing_malloc import compiler, run_with_failing_malloc
from index_interrupts import VARIANTS, Attack, attacked_at_random_times, attacked_everywhere
from seeds import seeds
from test_index_interrupts import REFUSALS
from test_out_of_memory import refusals
from test_world_interrupts import OPTIONS
from world_interrupts import CHANGES, Interrupts

pytestmark = [pytest.mark.soak, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize(("dimension", "options"), OPTIONS)
def test_change_interrupted_at_every_instruction_leaves_one_state_or_the_other(dimension, options, name, lines):
    interrupts = Interrupts(dimension, options, name, lines=lines)
    every = np.unique(np.linspace(0, interrupts.length - 1, min(interrupts.length, 20_000)).astype(int)).tolist()
    for seed in seeds(len(every)):
        number = every[seed]
        interrupts.check(number, (KeyboardInterrupt, MemoryError)[number % 2])


@pytest.mark.parametrize("events", ["opcode", "line"])
@pytest.mark.parametrize("label", VARIANTS)
def test_change_of_an_index_interrupted_at_every_place_leaves_one_state_or_the_other(label, events):
    name, options = VARIANTS[label]
    for seed in seeds(3):
        attack = Attack(name, seed, **options)
        for which in range(len(attack.changes())):
            attacked_everywhere(attack, lambda which=which, of=attack: of.changes()[which](), events, itertools.count())
        print(label, events, seed, attack.points, "points")


@pytest.mark.parametrize("count", [300, 5000, 100_000])
@pytest.mark.parametrize("label", VARIANTS)
def test_change_of_an_index_interrupted_at_any_time_leaves_one_state_or_the_other(label, count):
    name, options = VARIANTS[label]
    for seed in seeds(40 if count < 100_000 else 6):
        attack = Attack(name, f"times {seed}", count=count, span=count / 2, **options)
        attacked_at_random_times(attack, 10)


@pytest.mark.skipif(compiler() is None, reason="needs Linux with glibc and a C compiler")
@pytest.mark.parametrize("label", VARIANTS)
def test_change_of_an_index_refused_any_block_leaves_one_state_or_the_other(label, tmp_path):
    print(run_with_failing_malloc(REFUSALS, tmp_path, os.pathsep.join(sys.path), "1", label))


@pytest.mark.skipif(compiler() is None, reason="needs Linux with glibc and a C compiler")
def test_call_refused_every_block_in_turn_raises_memory_error_and_answers_the_next_time(tmp_path):
    print(refusals(tmp_path, 1))
