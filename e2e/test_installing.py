"""`mcp-agent providers install` with the real npm and registry, on a PATH that holds none of the CLIs."""

import os
import sys
from dataclasses import replace
from pathlib import Path

from e2e.place import Place

REGISTRY = ("NODE_", "NPM_CONFIG_", "SSL_CERT_")
"""How the variables begin that say where this machine's npm installs from, and whom it trusts."""


def test_an_installed_cli_is_found_and_answers(place: Place) -> None:
    registry = {name: value for name, value in os.environ.items() if name.upper().startswith(REGISTRY)}
    path = os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin:/usr/bin:/bin"])
    bare = replace(place, environment={**place.environment, **registry, "NODE_USE_SYSTEM_CA": "1", "PATH": path})

    assert "mcp-agent providers install claude-code" in bare.run("providers", "check", "claude-code").err
    installed = bare.run("providers", "install", "claude-code", "--json")
    assert installed.status == 0, installed.err
    assert installed.json["used"] == installed.json["program"]
    assert str(installed.json["program"]).startswith(str(place.root / "home"))

    checked = bare.run("providers", "check", "claude-code")
    assert (checked.status, checked.err) == (0, "")
    assert str(installed.json["program"]) in checked.out
    assert bare.run("providers", "install", "claude-code", "--json").json["was_there"] is True
