"""A device: what it is, arrays of each library on it, and times by its events."""

from __future__ import annotations

import os
import platform
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp
from benchmarks.gpu.parts import Setting, Skip
from benchmarks.measuring import Timing, load, processor_name, version_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Libraries of arrays and what pip calls them.
LIBRARIES = {"warp": "warp-lang", "torch": "torch", "cupy": "cupy-cuda13x", "jax": "jax"}
_OTHERS = ("cupy-cuda12x", "vesin", "nvalchemi-toolkit-ops", "triton")


def warp() -> Any:
    """Import Warp, quietly."""
    wp = load("warp", "warp-lang")
    wp.config.log_level = wp.LOG_WARNING
    wp.init()
    return wp


def require(device: str) -> Any:
    """Return a device of Warp that can run kernels.

    Raises
    ------
    ValueError
        There is no such device, or Warp cannot compile for it here.
    """
    wp = warp()
    try:
        found = wp.get_device(device)
    except (ValueError, RuntimeError):
        there = ", ".join(one.alias for one in wp.get_devices()) or "none"
        raise ValueError(f"there is no device {device}; Warp sees: {there}") from None
    if found.is_cpu and not wp.is_cpu_available():
        raise ValueError(
            "Warp cannot compile for the CPU here: its library warp-clang is not there (benchmarks.gpu.carry leaves it"
            " out); use a CUDA device"
        )
    return found


def library(name: str, setting: Setting) -> Any:
    """Import a library of arrays that can be on the device; skip the task where it cannot."""
    if name == "cupy":
        setting.require_cuda()
    if name == "warp":
        return warp()
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # or JAX takes most of the memory of a card
    try:
        module = load(name, LIBRARIES[name])
        if name == "torch" and setting.is_cuda and not module.cuda.is_available():
            raise Skip("this torch knows no CUDA")
        if name == "jax":
            module.config.update("jax_enable_x64", True)  # or it rounds doubles, and results of distances
            module.devices("cuda" if setting.is_cuda else "cpu")
    except (ImportError, RuntimeError) as error:
        raise Skip(str(error).splitlines()[0]) from None
    return module


def put(array: NDArray[Any], name: str, setting: Setting) -> Any:
    """Copy an array to the device, for a library."""
    module = library(name, setting)
    if name == "torch":
        return module.from_numpy(np.ascontiguousarray(array)).to(setting.device)
    if name == "jax":
        return module.device_put(array, module.devices("cuda" if setting.is_cuda else "cpu")[0])
    if name == "warp":
        return module.array(array, dtype=module.dtype_from_numpy(array.dtype), device=setting.device)
    return module.asarray(array)


def taken(array: Any) -> NDArray[Any]:
    """Copy an array of any library from the device, behind the work of the caller's stream."""
    kind = type(array).__module__.partition(".")[0]
    if kind == "torch":
        return np.asarray(array.cpu())
    if kind == "cupy":
        return np.asarray(array.get())
    if kind == "warp":
        return np.asarray(array.numpy())
    return np.asarray(array)


def facts(setting: Setting) -> dict[str, str]:
    """Return what the device is, and the versions of what runs on it."""
    wp = warp()
    device = require(setting.device)
    found = {"device": f"{device.name} ({device.alias})", "processor": processor_name()}
    if device.is_cuda:
        found["compute capability"] = f"{device.arch // 10}.{device.arch % 10}"
        found["multiprocessors"] = str(device.sm_count)
        found["memory"] = f"{device.total_memory / 2**30:.1f} GiB"
        found["driver"] = _driver()
        found["CUDA of the driver"] = ".".join(map(str, wp.get_cuda_driver_version() or ()))
        found["CUDA of Warp"] = ".".join(map(str, wp.get_cuda_toolkit_version() or ()))
    found["python"] = platform.python_version()
    found |= {"broadphase": bp.__version__, "numpy": np.__version__}
    for distribution in (*LIBRARIES.values(), *_OTHERS):
        if version := version_of(distribution):
            found[distribution] = version
    found["warp-lang"] = wp.config.version
    return found


def _driver() -> str:
    program = shutil.which("nvidia-smi")
    if program is None:
        return "unknown"
    command = [program, "--query-gpu=driver_version", "--format=csv,noheader"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    return (done.stdout.splitlines() or ["unknown"])[0].strip()


# Times ----------------------------------------------------------------------------------------------------------------

#: Bytes that are written before each timed call, so that nothing of the one before is in the cache: caches have 50 to
#: 126 MB on the cards of today.
_FLUSH = 256 << 20
_LEAST = 5


class Clock:
    """Takes times on a device: by its events, of the caller's stream in Warp and in torch, or of the CPU by the host.

    Before each call, the device is idle and its cache has other things, so that a time is that of one call by itself
    on data that come from its memory, with what the host needs to start it.
    """

    def __init__(self, setting: Setting) -> None:
        wp = warp()
        self.device = require(setting.device)
        self._is_cuda = setting.is_cuda
        self._torch: Any = None
        if self._is_cuda:
            try:
                self._torch = load("torch")
            except ImportError:
                self._torch = None
            if self._torch is not None and not self._torch.cuda.is_available():
                self._torch = None
            self._flushed = wp.empty(_FLUSH // 4, dtype=wp.int32, device=self.device)
            self._events = [wp.Event(self.device, enable_timing=True) for _ in range(2)]

    def once(self, call: Callable[[], Any], *, is_cold: bool = True) -> float:
        """Return the milliseconds of one call."""
        wp = warp()
        if not self._is_cuda:
            start = time.perf_counter()
            call()
            return (time.perf_counter() - start) * 1e3
        with ExitStack() as stack:
            if self._torch is not None:
                stream = wp.stream_to_torch(self.device)
                stack.enter_context(self._torch.cuda.stream(stream))
            if is_cold:
                self._flushed.fill_(1)
            wp.synchronize_device(self.device)
            begin, end = self._events
            wp.record_event(begin)
            result = call()
            wp.record_event(end)
            wp.synchronize_event(end)
            del result
            return float(wp.get_event_elapsed_time(begin, end))

    def times(
        self,
        calls: Mapping[str, Callable[[], Any]],
        budget: float,
        *,
        most: int = 100,
        is_cold: bool = True,
    ) -> dict[str, Timing]:
        """Time several calls in turns.

        Parameters
        ----------
        calls : mapping of str to callable
            What to time. Each runs twice more at the start, which does not count.
        budget : float
            Seconds for all.
        most : int
            Most runs of each.
        is_cold : bool
            Whether the cache is emptied before each call.
        """
        wp = warp()
        with wp.ScopedDevice(self.device):
            samples: dict[str, list[float]] = {name: [] for name in calls}
            for _ in range(2):
                for call in calls.values():
                    self.once(call, is_cold=is_cold)
            end = time.monotonic() + budget
            for turn in range(most):
                for name, call in calls.items():
                    samples[name].append(self.once(call, is_cold=is_cold))
                if turn + 1 >= _LEAST and time.monotonic() > end:
                    break
        return {name: Timing(statistics.median(taken), min(taken), len(taken)) for name, taken in samples.items()}

    def bandwidth(self, size: int) -> float:
        """Return the bytes a second that copying an array moves, read and written bytes together."""
        wp = warp()
        pair = [wp.zeros(size // 4, dtype=wp.int32, device=self.device) for _ in range(2)]
        found = self.times({"copy": lambda: wp.copy(pair[1], pair[0])}, 0.3, most=20, is_cold=False)
        return 2 * size / (found["copy"].milliseconds * 1e-3)
