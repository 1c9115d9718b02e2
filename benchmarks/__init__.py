"""Benchmarks: methods, indexes and worlds of broadphase against other libraries; not part of the wheel."""
