"""The command ``broadphase info``."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import broadphase as bp
from broadphase import data
from broadphase.cli.options import JsonOption, NamesOption, OptionalFileArgument, PartsOption
from broadphase.cli.screen import print_facts, print_json
from broadphase.cli.sources import complaint, open_source, valid_boxes
from broadphase.io import BoxFile
from broadphase.testing import simd_levels


def info(
    file: OptionalFileArgument = None,
    parts: PartsOption = False,
    names: NamesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell about this installation; and with FILE, about its boxes and which of them are invalid.

    For example:

    - `broadphase info`

    - `broadphase info rooms.csv --json`
    """
    facts = _about_installation() if file is None else _about_boxes(open_source(file, parts=parts, names=names))
    if as_json:
        print_json(facts)
        return
    title = "Installation" if file is None else file
    print_facts(title, [(name.replace("_", " "), _as_text(value)) for name, value in facts.items()])


def _about_installation() -> dict[str, Any]:
    return {
        "broadphase": bp.__version__,
        "Python": f"{platform.python_version()} ({sys.implementation.name})",
        "NumPy": np.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "SIMD_levels": simd_levels(),
        "methods": [method.name for method in bp.METHODS],
        "bundled_data": [f"{name} ({data.describe(name).box_count:,} boxes)" for name in data.NAMES],
        "extras": _extras(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


def _extras() -> dict[str, str]:
    """Return for each extra the libraries it brings, and which version is there."""
    try:
        lines = metadata.requires("broadphase") or []
    except metadata.PackageNotFoundError:  # run from its source folder
        return {}
    extras: dict[str, list[str]] = {}
    for line in lines:
        match = re.match(r"""([\w.-]+).*extra\s*==\s*['"](\w+)['"]""", line)
        if match:
            library, extra = match.groups()
            extras.setdefault(extra, []).append(f"{library} {_version(library)}")
    return {extra: ", ".join(libraries) for extra, libraries in extras.items()}


def _version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "missing"


def _about_boxes(file: BoxFile) -> dict[str, Any]:
    boxes, valid = file.boxes, valid_boxes(file)
    facts: dict[str, Any] = {
        "source": file.source,
        "kind": file.kind,
        "box_count": len(boxes),
        "dimension": boxes.shape[2],
        "dtype": str(boxes.dtype),
        "named": file.names is not None,
    }
    if len(valid):
        with np.errstate(invalid="ignore"):  # the width of a box at infinity is NaN
            width = valid[:, 1] - valid[:, 0]
        bounds = bp.boxes.merge(valid)
        facts["lower"], facts["upper"] = bounds[0].tolist(), bounds[1].tolist()
        for name, function in (("smallest", np.min), ("median", np.median), ("mean", np.mean), ("largest", np.max)):
            facts[f"{name}_width"] = function(width, axis=0).tolist()
        facts["boxes_of_zero_width"] = int((width == 0).any(axis=1).sum())
        facts["infinite_boxes"] = int(np.isinf(valid).any(axis=(1, 2)).sum())
    facts["invalid_rows"] = len(boxes) - len(valid)
    if len(boxes) > len(valid):
        facts["first_invalid"] = complaint(file)
    return facts


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(_as_text(item) for item in value)
    if isinstance(value, dict):
        return "\n".join(f"{key}: {item}" for key, item in value.items()) or "unknown"
    return str(value)
