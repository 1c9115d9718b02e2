"""The long tests: least advanced first, for two hours at most, each recorded."""

import time
from collections.abc import Iterator

import pytest

import seeds

BEGIN, HOURS = time.monotonic(), 2


def name_of(item: pytest.Item) -> str:
    return f"{item.path.stem}::{item.name}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rows = seeds.rows()
    items.sort(key=lambda item: rows.get(name_of(item), {}).get("seconds", 0))


def pytest_configure(config: pytest.Config) -> None:
    config.soak_commit = seeds.head()


def pytest_runtest_setup() -> None:
    if time.monotonic() - BEGIN > 3600 * HOURS:
        pytest.skip(f"{HOURS} hours are over: `make soak` goes on here")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with seeds.recorded(name_of(item), item.config.soak_commit):
        return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section("reached so far")
    terminalreporter.write_line(seeds.table())
