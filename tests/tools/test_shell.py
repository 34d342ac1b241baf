"""`execute_shell_command`: what a command did is told truthfully."""

from __future__ import annotations

import json
import os
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from mcp_agent.errors import BadArguments, ToolError
from mcp_agent.processes import identify
from mcp_agent.tools import call_files
from mcp_agent.tools.shell import ExecuteShellCommand, ShellArguments
from mcp_agent.tools.tool import declared_wait

if TYPE_CHECKING:
    from tests.tools.conftest import Shell

pytestmark = pytest.mark.anyio

STANDARD_SIGNALS = 0x7FFFFFFF


async def test_a_command_answers_with_its_output_and_exit_status(shell: Shell) -> None:
    answer = await shell.run("echo out; echo err >&2; exit 3")
    elapsed_seconds = answer.pop("elapsed_seconds")
    assert answer == {"exit_status": 3, "signal": None, "ended": "exited", "stdout": "out\n", "stderr": "err\n"}
    assert elapsed_seconds > 0


async def test_a_command_that_a_signal_ended_has_no_exit_status(shell: Shell) -> None:
    answer = await shell.run("kill -SEGV $$")
    assert (answer["exit_status"], answer["signal"], answer["ended"]) == (None, "SIGSEGV", "exited")


async def test_a_working_directory_is_relative_to_the_sessions(shell: Shell) -> None:
    (shell.workspace / "sub").mkdir()
    assert (await shell.run("pwd"))["stdout"] == f"{shell.workspace}\n"
    assert (await shell.run("pwd", working_directory="sub"))["stdout"] == f"{shell.workspace}/sub\n"
    assert (await shell.run("pwd", working_directory="/"))["stdout"] == "/\n"


@pytest.mark.parametrize(
    ("command", "directory", "problem"),
    [("touch ran", "missing", "missing"), ("touch ran; : " + "x" * 300_000, ".", "too long")],
    ids=["no directory", "too long"],
)
async def test_a_command_that_could_not_be_started_says_so_and_has_no_exit_status(
    shell: Shell, command: str, directory: str, problem: str
) -> None:
    answer = await shell.run(command, working_directory=directory)
    assert (answer["ended"], answer["exit_status"], answer["signal"]) == ("not_started", None, None)
    assert problem in answer["error"]
    assert list(shell.workspace.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [
        "cat",
        'read x; echo "[$x]"',
        f"{sys.executable} -c 'open(\"/dev/tty\")'",
        "git init -q . && git commit --allow-empty",
    ],
)
async def test_a_command_that_asks_its_user_ends_instead_of_waiting(shell: Shell, command: str) -> None:
    assert (await shell.run(command))["ended"] == "exited"


@pytest.mark.contract("A3")
async def test_a_command_sees_its_sessions_environment_and_nothing_of_the_servers(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONLY_THE_SERVERS", "secret")
    context = shell.context(FOR_THE_SESSION="yes")
    seen = dict(
        line.split("=", 1) for line in (await shell.run("/usr/bin/env", context=context))["stdout"].splitlines()
    )
    assert seen["FOR_THE_SESSION"] == "yes"
    assert (seen["MCP_AGENT_SESSION"], seen["MCP_AGENT_CALL"]) == (context.session_id, context.call_id)
    assert "ONLY_THE_SERVERS" not in seen


async def test_a_background_process_does_not_hold_the_answer_up_and_is_named_in_it(shell: Shell) -> None:
    answer = await shell.run("sleep 300 & echo $!")
    assert (answer["ended"], answer["exit_status"]) == ("exited", 0)
    assert answer["survivors"] == [int(answer["stdout"])]


async def test_a_background_process_that_writes_on_is_neither_blocked_nor_killed_by_it(shell: Shell) -> None:
    os.mkfifo(shell.workspace / "begin")
    os.mkfifo(shell.workspace / "end")
    more_than_a_pipe_holds = f"{sys.executable} -c 'print(\"x\" * 300_000)'"
    answer = await shell.run(f"(read go < begin; {more_than_a_pipe_holds} && echo met > end) & echo ok")
    assert answer["stdout"] == "ok\n"
    assert (await shell.run("echo go > begin; cat end"))["stdout"] == "met\n"


@pytest.mark.parametrize("command", ["sleep 300", "trap '' TERM; (trap '' TERM; sleep 300) & wait; sleep 300"])
async def test_a_command_that_runs_into_its_own_timeout_is_killed_and_said_to_be(shell: Shell, command: str) -> None:
    answer = await shell.run(f"echo begun; {command}", timeout_seconds=0.5)
    assert (answer["ended"], answer["exit_status"], answer["stdout"]) == ("killed_timeout", None, "begun\n")
    assert answer["signal"] in {"SIGTERM", "SIGKILL"}
    assert "killed" in answer["message"]
    assert "timed_out" not in answer
    assert shell.processes() == []


@pytest.mark.contract("C4", "T9")
async def test_a_command_that_overruns_the_limit_of_its_work_is_cancelled_by_its_supervisor(shell: Shell) -> None:
    context = shell.context(work_limit=timedelta(milliseconds=500))
    answer = await shell.run("sleep 300", context=context)
    assert answer["ended"] == "killed_work_limit"
    assert answer["message"].startswith(
        f"CANCELED: layer=server_tool owner=supervisor tool=execute_shell_command session={context.session_id}"
        " timeout=0.5s elapsed="
    )
    assert f"call_id={context.call_id}" in answer["message"]
    assert shell.processes() == []


async def test_fifty_megabytes_of_output_are_shown_as_head_and_tail_with_the_exact_omission(shell: Shell) -> None:
    answer = await shell.run("echo first line; yes | head -c 50000000; echo FAILED: E42; echo problem >&2")
    head, _, tail = answer["stdout"].partition(f"\n[... {answer['stdout_omitted_bytes']} bytes omitted ...]\n")
    assert head.startswith("first line\n")
    assert tail.endswith("FAILED: E42\n")
    assert len(head) + len(tail) + answer["stdout_omitted_bytes"] == 50_000_000 + 23
    assert answer["stderr"] == "problem\n"


async def test_the_whole_answer_fits_the_budget_whatever_the_output_is(shell: Shell) -> None:
    tool = ExecuteShellCommand(shown_bytes=4096)
    arguments = tool.validate({"command": "head -c 100000 /dev/zero | tee /dev/stderr"})
    text = (await tool.run(shell.context(), arguments)).text
    assert len(text.encode()) < 4096 + 512
    assert json.loads(text)["binary"] is True


async def test_output_that_is_no_text_becomes_valid_json_and_is_flagged(shell: Shell) -> None:
    answer = await shell.run(r"printf '\xff\x00ok\xed\xa0\x80'")
    assert answer["stdout"].startswith("�\0ok")
    assert answer["binary"] is True


async def test_a_character_written_byte_by_byte_arrives_whole(shell: Shell) -> None:
    script = "import os; [os.write(1, bytes([byte])) for byte in ('漢' + 'a' * 4095 + '漢').encode()]"
    answer = await shell.run(f'{sys.executable} -c "{script}"')
    assert answer["stdout"] == "漢" + "a" * 4095 + "漢"
    assert "binary" not in answer


async def test_what_a_command_wrote_is_kept_for_its_owner_only(shell: Shell) -> None:
    context = shell.context(SECRET="hidden")
    await shell.run("echo kept", context=context)
    modes = {path.name: path.stat().st_mode & 0o777 for path in context.call_directory.iterdir()}
    assert {"spec.json", "supervisor.json", "exit.json", "stdout", "stderr"} <= modes.keys()
    assert set(modes.values()) == {0o600}
    assert context.call_directory.stat().st_mode & 0o777 == 0o700


async def test_a_command_whose_supervisor_was_killed_reads_unknown_and_nothing_is_left(shell: Shell) -> None:
    command = "setsid sleep 300 & kill -KILL $PPID; sleep 300"
    answer = await shell.run(command)
    assert (answer["ended"], answer["exit_status"]) == ("unknown", None)
    assert "unknown" in answer["message"]
    assert "something of it may still run" in answer["message"]
    assert shell.processes() == []


async def test_the_end_of_a_command_whose_files_were_deleted_is_known_and_on_record_again(shell: Shell) -> None:
    context = shell.context()
    answer = await shell.run(f"echo lost; rm -rf {context.call_directory}; exit 3", context=context)
    assert (answer["ended"], answer["exit_status"], answer["stdout_omitted_bytes"]) == ("exited", 3, 5)
    assert answer["capture_error"] == "the file of the output was deleted"
    record = call_files.read_exit(context.call_directory)
    assert record is not None
    assert record.exit_status == 3


async def test_what_a_command_left_running_outlives_the_deletion_of_its_files(shell: Shell) -> None:
    context = shell.context()
    answer = await shell.run(f"sleep 300 & rm -rf {context.call_directory}", context=context)
    assert len(answer["survivors"]) == 1
    assert identify(answer["survivors"][0])


async def test_the_environment_of_a_command_is_on_disk_only_until_it_starts(shell: Shell) -> None:
    context = shell.context(HTTPS_PROXY="http://user:hidden-password@proxy")
    answer = await shell.run(
        f"echo ${{HTTPS_PROXY%%:*}}; grep -rl hidden-pass[w]ord {context.call_directory}", context=context
    )
    assert (answer["stdout"], answer["exit_status"]) == ("http\n", 1)
    assert call_files.read_spec(context.call_directory).environment == {}


async def test_a_supervisor_that_the_system_refuses_to_start_is_a_call_that_was_not_started(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", os.fspath(shell.root / "missing"))
    context = shell.context()
    with pytest.raises(ToolError, match=r"^the call was not started: No such file or directory$"):
        await shell.run("true", context=context)
    assert not (context.call_directory / call_files.ENVIRONMENT).exists()


async def test_signals_that_are_blocked_for_the_supervisors_start_reach_the_command(shell: Shell) -> None:
    answer = await shell.run("grep -E 'Sig(Blk|Ign)' /proc/self/status")
    masks = {line.split()[0]: int(line.split()[1], 16) & STANDARD_SIGNALS for line in answer["stdout"].splitlines()}
    assert masks == {"SigBlk:": 0, "SigIgn:": 0}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "command"),
        ({"command": ""}, "command"),
        ({"command": " \n"}, "command"),
        ({"command": "a\0b"}, "NUL"),
        ({"command": "a", "working_directory": ""}, "working_directory"),
        ({"command": "a", "timeout_seconds": 0}, "timeout_seconds"),
        ({"command": "a", "timeout_seconds": -1}, "timeout_seconds"),
        ({"command": "a", "timeout_seconds": float("nan")}, "timeout_seconds"),
        ({"command": "a", "timeout_seconds": float("inf")}, "timeout_seconds"),
        ({"command": "a", "timeout_seconds": 86401}, "timeout_seconds"),
        ({"command": "a", "cwd": "/"}, "cwd"),
    ],
)
async def test_bad_arguments_are_refused_with_every_problem_in_one_line(
    arguments: dict[str, object], problem: str
) -> None:
    with pytest.raises(BadArguments) as refused:
        ExecuteShellCommand().validate(arguments)
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.contract("W2")
async def test_the_wait_is_the_commands_own_timeout_and_something_more() -> None:
    tool = ExecuteShellCommand()
    assert declared_wait(tool, ShellArguments(command="a")) is None
    assert declared_wait(tool, ShellArguments(command="a", timeout_seconds=600)) == timedelta(seconds=630)


async def test_the_tool_describes_its_arguments_and_itself() -> None:
    tool = ExecuteShellCommand()
    assert set(tool.input_schema["properties"]) == {"command", "working_directory", "timeout_seconds"}  # type: ignore[call-overload]
    assert (tool.input_schema["required"], tool.input_schema["additionalProperties"]) == (["command"], False)
    assert (tool.name, tool.long_running, tool.category) == ("execute_shell_command", True, "virtual")
