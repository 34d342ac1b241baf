"""The one place that imports DBOS, when the first execution needs it: it takes over a second.

What DBOS says goes to this process's log: it would print it, and to a console of its own.
"""

import importlib
import logging
from typing import Any

_LOGGER = "dbos"
_NO_NEWS = "Asyncio task cancelled"
"""What it warns of for each execution that runs on while the engine is closed."""


def load() -> Any:
    """The package `dbos`. Blocks; call it in a thread."""
    _take_over_log()
    return importlib.import_module("dbos")


def _take_over_log() -> None:
    """DBOS adds a handler for the console unless there is one."""
    logger = logging.getLogger(_LOGGER)
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
        logger.addFilter(_told_in_one_line)
        logger.propagate = True


def _told_in_one_line(record: logging.LogRecord) -> bool:
    """Its tracebacks and statements say nothing that its first line does not; what is wrong is told by us as well."""
    first, *_ = record.getMessage().splitlines() or [""]
    record.msg, record.args, record.exc_info = first, (), None
    return not first.startswith(_NO_NEWS)
