"""The expected results of the tests, computed without the core: slow, and plain enough to be checked by reading."""
