"""Which variables of the caller a provider's CLI may see, and which of them its shell commands may.

An allow-list: what is named neither here, nor by the adapter, nor by whoever starts the session, stays out.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from mcp_agent.adapter import SESSION_MARK as SESSION_MARK
from mcp_agent.program_places import search_path

COMMON = frozenset(
    {
        "COLORTERM",
        "HOME",
        "LANG",
        "LANGUAGE",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TMPDIR",
        "TZ",
        "USER",
        "ALL_PROXY",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "NO_PROXY",
        "all_proxy",
        "https_proxy",
        "http_proxy",
        "no_proxy",
        "CURL_CA_BUNDLE",
        "NODE_EXTRA_CA_CERTS",
        "REQUESTS_CA_BUNDLE",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_RUNTIME_DIR",
        "XDG_STATE_HOME",
    }
)

_OF_THE_USERS_HOME = frozenset(name for name in COMMON if name.startswith("XDG_")) | {"TMPDIR"}


def shared(caller: Mapping[str, str], *, home: Path | None) -> dict[str, str]:
    """What both the CLI and its shell commands see. A home of its own replaces the user's and what points there."""
    kept = {name: value for name, value in caller.items() if name in COMMON or name.startswith("LC_")}
    if "PATH" in kept:
        kept["PATH"] = search_path(caller)
    if home is not None:
        kept = {name: value for name, value in kept.items() if name not in _OF_THE_USERS_HOME}
        kept["HOME"] = str(home)
    return kept


def for_session(caller: Mapping[str, str], *, named: Collection[str] = (), home: Path | None = None) -> dict[str, str]:
    """What the CLI and its shell commands see: what is shared, and what somebody named for this session."""
    named_here = {name: caller[name] for name in named if name in caller and not (home and name == "HOME")}
    return shared(caller, home=home) | named_here


def named_by_adapter(caller: Mapping[str, str], names: Sequence[str], *, without: Sequence[str] = ()) -> dict[str, str]:
    """What only the CLI sees, credentials among it; `without` leaves out the ones that an endpoint replaces."""
    return {name: caller[name] for name in names if name in caller and name not in without}
