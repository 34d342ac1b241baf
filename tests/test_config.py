"""The user's configuration file."""

from datetime import timedelta
from pathlib import Path

import pytest

from mcp_agent.config import Config, config_path, load_config
from mcp_agent.errors import BadConfiguration
from mcp_agent.timeouts import FileTimeouts, Policy, ProviderLimits


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def problem(file: Path, text: str) -> str:
    """What the refusal of this text says after the file's name."""
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadConfiguration) as caught:
        load_config(file)
    assert caught.value.path == file
    assert "\n" not in str(caught.value)
    return caught.value.problem


def test_a_missing_file_means_the_defaults(file: Path) -> None:
    config = load_config(file)
    assert config == Config()
    assert (config.sessions.columns, config.sessions.rows) == (120, 36)
    assert config.file_timeouts() == FileTimeouts()


def test_a_whole_file_is_read(file: Path, tmp_path: Path) -> None:
    file.write_text(
        f"""
        [timeouts]
        mcp_tool = "17m"
        tool_execution = "0"
        [providers.one]
        idle_retention = "1h30m"
        [sessions]
        columns = 100
        rows = 30
        allow_tools = ["lookup"]
        trusted_directories = ["{tmp_path}"]
        [tools]
        allow = ["lookup", "change"]
        modules = ["my_tools"]
        paths = ["{tmp_path}", "~/tools"]
        """
    )
    config = load_config(file)
    assert config.file_timeouts() == FileTimeouts(
        {"mcp_tool": timedelta(minutes=17), "tool_execution": timedelta(0)},
        {"one": {"idle_retention": timedelta(minutes=90)}},
    )
    assert (config.sessions.columns, config.sessions.rows) == (100, 30)
    assert config.sessions.allow_tools == ("lookup",)
    assert config.sessions.trusted_directories == (tmp_path,)
    assert config.tools.allow == ("lookup", "change")
    assert config.tools.modules == ("my_tools",)
    assert config.tools.paths == (tmp_path, Path.home() / "tools")


@pytest.mark.contract("T1")
def test_the_files_limits_are_in_force(file: Path) -> None:
    file.write_text('[timeouts]\nmcp_tool = "17m"\n[providers.one]\nidle_retention = "1h"\n')
    policy = Policy.resolve({}, load_config(file).file_timeouts())
    assert policy.mcp_call == timedelta(minutes=17)
    assert policy.idle_retention("one", ProviderLimits()) == timedelta(hours=1)
    assert policy.warnings == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '[timeouts]\nidle_retentoin = "3h"',
            "line 2: unknown key 'idle_retentoin' in [timeouts]; did you mean 'idle_",
        ),
        ('[providers.one]\n\nprompt_redy = "1m"', "line 3: unknown key 'prompt_redy' in [providers.one]; did you mean"),
        ("[timouts]", "line 1: unknown key 'timouts'; did you mean 'timeouts'?"),
        ("xyz = 1", "line 1: unknown key 'xyz'; known ones: agents, executions, providers, sessions, timeouts, tools"),
        ("providers = {one = {foo = 1}}", "line 1: unknown key 'foo' in [providers.one]; known ones: idle_retention,"),
        ("[tools]\n# words\n[timeouts]\nmcp_tool = 90", "line 4: timeouts.mcp_tool: 90 is no duration; write it in"),
        ('[timeouts]\nmcp_tool = "90"', "line 2: timeouts.mcp_tool: '90' has no unit; write 90s or 90m"),
        ('[timeouts]\nmcp_tool = "0s"', "line 2: timeouts.mcp_tool: the limit must be positive"),
        ('[timeouts]\ntool_execution = "-1s"', "line 2: timeouts.tool_execution: the limit must not be negative"),
        ("[sessions]\nrows = 3", "line 2: sessions.rows: Input should be greater than or equal to 10"),
        ('[sessions]\nrows = "36"', "line 2: sessions.rows: Input should be a valid integer"),
        ('[sessions]\nallow_tools = "lookup"', "line 2: sessions.allow_tools: must be a list"),
        ('[sessions]\ntrusted_directories = ["here"]', "line 2: sessions.trusted_directories: here is not an absolute"),
        ('[sessions]\ntrusted_directories = ["~no-such-user/x"]', "line 2: sessions.trusted_directories: ~no-such-"),
        ("timeouts = 3", "line 1: timeouts: must be a table"),
        ("\n[timeouts\n", "line 2: no TOML: Expected ']' at the end of a table declaration"),
        ("a = 1\na = 2", "line 2: no TOML: "),
    ],
)
def test_a_bad_file_is_refused_in_one_line_that_names_the_place(file: Path, text: str, expected: str) -> None:
    assert problem(file, text).startswith(expected)


def test_a_file_that_cannot_be_read_is_refused(file: Path, tmp_path: Path) -> None:
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(BadConfiguration, match="cannot be read"):
        load_config(file)
    with pytest.raises(BadConfiguration, match="cannot be read"):
        load_config(tmp_path)


def test_the_file_is_looked_for_in_the_users_configuration_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, short_tmp: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for place in (Path("config.toml"), Path("mcp-agent/config.toml")):
        place.parent.mkdir(exist_ok=True)
        place.write_text("[sessions]\ncolumns = 99\n")
    assert load_config() == Config()
    assert config_path() == short_tmp / "config" / "mcp-agent" / "config.toml"
    config_path().parent.mkdir(parents=True)
    config_path().write_text("[sessions]\ncolumns = 77\n")
    assert load_config().sessions.columns == 77


def test_a_relative_configuration_home_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", ".")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert config_path() == tmp_path / ".config" / "mcp-agent" / "config.toml"
