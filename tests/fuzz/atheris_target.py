"""Run one target of `readers` under Atheris: ``python atheris_target.py NAME`` and options of libFuzzer."""

import logging
import resource
import sys
import tempfile
from pathlib import Path

import atheris
import numpy as np

with atheris.instrument_imports(include=["broadphase", "trimesh"]):
    import readers

name, options = sys.argv[1], sys.argv[2:]
logging.disable(logging.CRITICAL)
np.seterr(all="ignore")
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
    atheris.Setup([name, *options], lambda data: readers.replay(name, data, Path(folder)))
    atheris.Fuzz()
