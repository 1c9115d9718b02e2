"""Changes of the core made by machine, to learn whether a test notices each: `make mutants`.

All changes are compiled at once, each behind a test of one number, so that the core is built once. Tests are collected
once, too: each mutant is a fork of the process that has collected them, and ends at the first test that fails. What
lives meets the tests of the core without Python, under sanitizers.
"""
