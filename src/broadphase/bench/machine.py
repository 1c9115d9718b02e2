"""What the figures were taken on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import numpy as np

import broadphase as bp
from broadphase.testing import simd_levels

__all__ = ["describe_machine", "footnote"]


def processor_name() -> str:
    """Give the processor's name as the system knows it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def describe_machine() -> dict[str, str]:
    """Give processor, cores, instruction set in use, system, and versions of Python, NumPy and broadphase."""
    return {
        "processor": processor_name(),
        "cores": str(os.cpu_count() or 1),
        "instruction sets": ", ".join(simd_levels()),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "broadphase": bp.__version__,
    }


def footnote(machine: dict[str, str]) -> str:
    """Say below a plot where its figures come from."""
    return f"{machine['processor']}, Python {machine['python']}, NumPy {machine['numpy']}; medians, one thread"
