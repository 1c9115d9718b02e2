"""How much memory Python objects take that nobody has set a limit to."""

import functools
import gc
import sys
import tracemalloc


def traced_memory() -> int:
    """Give the bytes that `tracemalloc` knows of, without what is unused and without the caches that have a limit.

    These are the caches of the package that have a `maxsize`, and one of Python: it remembers up to 4096 attributes
    that it has looked up, and with each its name. Where C code looks up an attribute (the decoder of JSON, NumPy), the
    name is a new string each time, so that the first thousands of calls take about 60 bytes each, and later ones none.
    """
    caches = [function for function in gc.get_objects() if isinstance(function, functools._lru_cache_wrapper)]
    for function in caches:
        if function.__module__.startswith("broadphase") and function.cache_parameters()["maxsize"] is not None:
            function.cache_clear()
    forget_attributes = getattr(sys, "_clear_internal_caches", None) or sys._clear_type_cache
    forget_attributes()
    gc.collect()
    return tracemalloc.get_traced_memory()[0]
