"""Where CLIs are that `mcp-agent providers install` has installed, for whoever looks for one."""

import os
from collections.abc import Mapping
from pathlib import Path


def private_clis(environ: Mapping[str, str]) -> Path:
    """The directory of all of them, below the data directory of whoever has this environment."""
    data = environ.get("XDG_DATA_HOME") or Path(environ.get("HOME") or Path.home(), ".local", "share")
    return Path(data, "mcp-agent", "clis")


def private_programs(environ: Mapping[str, str]) -> Path:
    """The directory of their programs, which may not be there."""
    return private_clis(environ) / "bin"


def search_path(environ: Mapping[str, str]) -> str:
    """PATH, and behind it the programs that were installed for sessions alone."""
    path = environ.get("PATH", os.defpath)
    programs = private_programs(environ)
    known = str(programs) in path.split(os.pathsep) or not programs.is_dir()
    return path if known else os.pathsep.join([path, str(programs)])
