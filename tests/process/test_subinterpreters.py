"""Subinterpreters, in which servers such as mod_wsgi run applications: refused at import, at once."""

import subprocess
import sys

import pytest

CREATE = """
import sys
{first}
if sys.version_info >= (3, 14):
    from concurrent import interpreters
    def run(code): interpreters.create().exec(code)
else:
    try:
        import _xxsubinterpreters as plain
        def run(code): plain.run_string(plain.create(), code)
    except ImportError:
        import _interpreters as plain
        def run(code): plain.run_string(plain.create("legacy"), code)
code = '''
try:
    import broadphase as bp
except ImportError as error:
    print(error, flush=True)
else:
    print(bp.pairs([[0, 0, 2, 2], [1, 1, 3, 3]]), flush=True)
'''
run(code)
run(code)
{last}
"""
PAIRS = "import broadphase as bp; print(bp.pairs([[0, 0, 2, 2], [1, 1, 3, 3]]).tolist(), flush=True)"


@pytest.mark.parametrize("order", ["first", "last", "never"])
def test_import_in_a_subinterpreter_raises_and_leaves_the_main_one_as_it_is(order):
    """Before the main interpreter has imported the package, after it, and without it."""
    program = CREATE.format(first=PAIRS * (order == "first"), last=PAIRS * (order == "last"))
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines.count("[[0, 1]]") == (order != "never"), done.stderr
    said = [line for line in lines if "subinterpreter" in line]
    assert len(said) == 2, (lines, done.stderr)
