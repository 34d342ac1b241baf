"""How a command ends on a signal: by an exception, so that everything it started is stopped on the way out."""

import signal
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import NoReturn, TypeVar

import anyio

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

ResultT = TypeVar("ResultT")


class Left(SystemExit):
    """A signal ended the command."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(128 + number)


def leave_on_signals() -> None:
    """Raise `Left` on each ending signal; one that the caller ignores, as `nohup` does, stays ignored."""
    for number in _heard():
        signal.signal(number, _leave)


def _heard() -> list[signal.Signals]:
    return [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    raise Left(number)


def run_until_signal(work: Callable[[], Awaitable[ResultT]]) -> ResultT:
    """Run asynchronous work to its end; a signal cancels it, and `Left` is raised when it has cleaned up."""
    return anyio.run(_until_signal, work)


async def _until_signal(work: Callable[[], Awaitable[ResultT]]) -> ResultT:
    results: list[ResultT] = []
    came: list[int] = []

    async def listen() -> None:
        with anyio.open_signal_receiver(*_heard()) as signals:
            listening.set()
            async for number in signals:
                came.append(number)
                group.cancel_scope.cancel()

    listening = anyio.Event()
    raised: list[Exception] = []
    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        await listening.wait()
        try:
            results.append(await work())
        except Exception as error:  # noqa: BLE001 - carried over the task group, which would wrap it
            raised.append(error)
        group.cancel_scope.cancel()
    if came:
        raise Left(came[0])
    if raised:
        raise raised[0]
    return results[0]
