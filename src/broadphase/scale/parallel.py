"""Tasks on threads, for a main thread that a signal may interrupt anywhere."""

from __future__ import annotations

from _thread import start_new_thread
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["in_parallel"]

Task = TypeVar("Task")
Result = TypeVar("Result")
Item = TypeVar("Item")


def in_parallel(
    work: Callable[[Task], Result], tasks: Sequence[Task], workers: int, stopped: threading.Event
) -> Iterator[Result]:
    """Yield what `work` returns for each task, as they end; stop all at the first error, or at Ctrl-C.

    `stopped` is set when no more work is wanted; a `work` that takes long looks at it, and raises. What `work` raises
    comes out once no thread works any more.

    The thread that waits does so without a lock of `threading`. A signal between two steps of one would leave it to
    nobody, so that RuntimeError takes the place of KeyboardInterrupt, or to this thread, so that the others wait for
    ever.
    """
    waiting: SimpleQueue[Task] = SimpleQueue()
    ended: SimpleQueue[tuple[Result] | BaseException] = SimpleQueue()
    left: SimpleQueue[None] = SimpleQueue()
    for task in tasks:
        waiting.put(task)

    def run() -> None:
        try:
            while not stopped.is_set():
                try:
                    task = waiting.get_nowait()
                except Empty:
                    break
                ended.put((work(task),))
        except BaseException as error:  # also SystemExit: the thread that waits raises it
            ended.put(error)
        finally:
            left.put(None)

    count = min(workers, len(tasks))
    threads: list[int] = []
    try:
        # One call, and none of Python: a signal comes before or after it, and `threads` always holds those that run.
        threads.extend(map(start_new_thread, [run] * count, [()] * count))
        for _ in tasks:
            result = _next(ended)
            if isinstance(result, BaseException):
                raise result
            yield result[0]
    except BaseException:
        stopped.set()
        raise
    finally:
        for _ in threads:
            _next(left)


def _next(queue: SimpleQueue[Item]) -> Item:
    while True:
        try:
            return queue.get(timeout=0.5)  # without a limit, Windows would not see Ctrl-C
        except Empty:
            pass
