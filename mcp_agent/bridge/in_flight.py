"""The requests that wait for the server: each is answered once, or cancelled and never answered."""

import threading

from .jsonrpc import Message, RequestId
from .stdio import Output
from .unix_http import Exchange


class InFlight:
    """Sending happens under the lock and never blocks, so a cancel that was read first always wins."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._lock = threading.Lock()
        self._exchanges: dict[RequestId, Exchange] = {}

    def __contains__(self, request_id: RequestId) -> bool:
        with self._lock:
            return request_id in self._exchanges

    def open(self, request_id: RequestId) -> Exchange:
        exchange = Exchange()
        with self._lock:
            self._exchanges[request_id] = exchange
        return exchange

    def tell(self, request_id: RequestId, exchange: Exchange, message: Message) -> None:
        """Send a message about a request, unless that request is over."""
        with self._lock:
            if self._exchanges.get(request_id) is exchange:
                self._output.send(message)

    def finish(self, request_id: RequestId, exchange: Exchange, answer: Message) -> None:
        """Answer a request, unless it was cancelled; its id may by then belong to another one."""
        with self._lock:
            if self._exchanges.get(request_id) is exchange:
                del self._exchanges[request_id]
                self._output.send(answer)

    def cancel(self, request_id: RequestId) -> None:
        with self._lock:
            exchange = self._exchanges.pop(request_id, None)
        if exchange is not None:
            exchange.abandon()

    def cancel_all(self) -> None:
        with self._lock:
            exchanges = list(self._exchanges.values())
            self._exchanges.clear()
        for exchange in exchanges:
            exchange.abandon()
