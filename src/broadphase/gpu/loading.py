"""Compile kernels on first use, with a line on stderr if that takes long."""

from __future__ import annotations

import sys
import threading
from typing import Any

from broadphase.gpu.arrays import wp

__all__ = ["load"]

_SILENT = 1.0  # seconds: kernels that were compiled before are loaded in a tenth of one
_loaded: set[tuple[str, str]] = set()


def load(device: Any, *modules: Any) -> None:
    """Load modules of kernels before their first use on a device.

    Warp compiles each once on a machine, for seconds, and keeps it in ``warp.config.kernel_cache_dir``.
    """
    for module in modules:
        key = module.name, device.alias
        if key in _loaded:
            continue
        timer = threading.Timer(_SILENT, _tell, (module.name, device.alias))
        timer.daemon = True
        timer.start()
        try:
            with wp.ScopedLogLevel(wp.LOG_WARNING):
                wp.load_module(module, device=device, block_dim=1 if device.is_cpu else None)
        finally:
            timer.cancel()
        _loaded.add(key)


def _tell(name: str, device: str) -> None:
    if sys.stderr is not None:
        print(
            f"broadphase: compiling {name} for {device}; Warp keeps it for the next time", file=sys.stderr, flush=True
        )
