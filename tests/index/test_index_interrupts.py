"""Whatever ends a change of an index, wherever: the index answers as before it or as after it, and goes on."""

import itertools
import os
import signal
import sys

import pytest

from failing_malloc import compiler, run_with_failing_malloc
from index_interrupts import VARIANTS, Attack, attacked_at_random_times, attacked_everywhere

# Python ignores what is raised while it drops an object, and says so.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

REFUSALS = """
import itertools, os, sys
sys.path += sys.argv[1].split(os.pathsep)
from index_interrupts import VARIANTS, Attack

def refused(number):
    def interrupting(call):
        memory.allow_blocks(number, 1024)
        try:
            call()
        except MemoryError:
            pass
        finally:
            asked = memory.blocks_asked()
            refuse_none()
        return asked > number
    return interrupting

for label in sys.argv[3:]:
    name, options = VARIANTS[label]
    attack = Attack(name, "refusals", count=200, span=60.0, **options)
    for which in range(len(attack.changes())):
        for number in itertools.count(0, int(sys.argv[2])):
            attack.settle()
            if not attack.attack(attack.changes()[which](), refused(number)):
                break
    print(label, attack.points)
"""


@pytest.mark.parametrize("label", VARIANTS)
def test_change_interrupted_at_any_instruction_leaves_one_state_or_the_other(label):
    name, options = VARIANTS[label]
    attack = Attack(name, "instructions", **options)
    for which in range(len(attack.changes())):
        places = itertools.count(int(attack.rng.integers(60)), 97)
        attacked_everywhere(attack, lambda which=which: attack.changes()[which](), "opcode", places)
    assert attack.changed
    assert attack.unchanged


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs interval timers")
@pytest.mark.parametrize("label", ["BVH", "LinearTree", "Octree drop", "SweepAndPrune"])
def test_change_interrupted_by_a_signal_leaves_one_state_or_the_other(label):
    name, options = VARIANTS[label]
    attack = Attack(name, "signals", count=2000, span=1000.0, **options)
    attacked_at_random_times(attack, 15)
    assert attack.points


@pytest.mark.skipif(compiler() is None, reason="needs Linux with glibc and a C compiler")
def test_change_refused_memory_leaves_one_state_or_the_other(tmp_path):
    labels = ("Octree drop", "LinearTree", "BVH", "SweepAndPrune")
    said = run_with_failing_malloc(REFUSALS, tmp_path, os.pathsep.join(sys.path), "3", *labels)
    assert [line.rsplit(" ", 1)[0] for line in said.splitlines()] == list(labels)
    assert all(int(line.rsplit(" ", 1)[1]) > 3 for line in said.splitlines())
