"""The requests that wait for the server: each is answered once, or cancelled and never answered."""

from .jsonrpc import RequestId
from .loop import Loop, Task


class InFlight:
    """The tasks of requests by their ids; the first of a request's tasks is the one that answers it."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._tasks: dict[RequestId, tuple[Task, ...]] = {}

    def __contains__(self, request_id: RequestId) -> bool:
        return request_id in self._tasks

    def start(self, request_id: RequestId, *tasks: Task) -> None:
        self._tasks[request_id] = tasks
        for task in reversed(tasks):
            self._loop.start(task)

    def end(self, request_id: RequestId) -> None:
        """The request is about to be answered: end what else is done for it."""
        for task in self._tasks.pop(request_id)[1:]:
            self._loop.stop(task)

    def cancel(self, request_id: RequestId) -> None:
        for task in self._tasks.pop(request_id, ()):
            self._loop.stop(task)

    def cancel_all(self) -> None:
        for request_id in [*self._tasks]:
            self.cancel(request_id)
