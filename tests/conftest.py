"""Settings of the whole suite."""

import gc
import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# The default run is the same every time; `HYPOTHESIS_PROFILE=explore` looks for new examples.
settings.register_profile("steady", derandomize=True, deadline=None, database=None, print_blob=True)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

HERE = Path(__file__).resolve().parent
# Tests of one folder import from those of others by name, as all names are different.
sys.path += [str(path) for path in sorted(HERE.iterdir()) if path.is_dir()]

# What these test does not exist on Windows: fork, signals between processes, limits on memory.
NOT_ON_WINDOWS = ["test_fork.py", "test_interrupt.py", "test_out_of_memory.py"]
collect_ignore = [f"process/{name}" for name in NOT_ON_WINDOWS] if sys.platform == "win32" else []

# They are settings, not modules with examples; and two modules of one name cannot both be collected.
collect_ignore_glob = ["conftest.py", "*/conftest.py"]

# The benchmarks are a package of the repository, not of the wheel.
if not (HERE.parent / "benchmarks").is_dir():
    collect_ignore_glob.append("bench/*")

DATA = HERE.parents[1] / "shared" / "data"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "soak: full numbers, hours, in parts; run by `make soak`")
    # A shell lets what it runs in the background ignore Ctrl-C, and so would all programs that tests start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Keep the objects of all tests, some 650,000, out of every search for garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def data_folder() -> Path:
    """The folder of the large real sets, which are not part of the repository."""
    if not DATA.is_dir():
        pytest.skip("the real sets are not there")
    return DATA
