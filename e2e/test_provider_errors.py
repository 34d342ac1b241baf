"""What becomes of a turn when the provider's model fails: the real programs, with a scripted model that refuses.

Each failure ends its turn with the provider's reason, after the provider's own retries, and the session takes the next
prompt as if nothing had happened.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import pytest

from e2e.conftest import Model
from e2e.place import KEY, Done, Place

LONGEST = "400s"
"""More than any provider's own retries take."""
TOLD_WITHIN_SECONDS = 60
IN_AN_HOUR = 3600
REASON = "the scripted reason"

DONE, LOGIN_INVALID, LIMITED = 0, 5, 6

pytestmark = [pytest.mark.real_cli, pytest.mark.contract("S3", "T10")]


@dataclass(frozen=True)
class Failure:
    """A model that fails, and what is made of it."""

    provider: str
    status: int
    """0: nothing answers at all."""
    exit_code: int
    reason: str = REASON
    """Stands in what the caller is told."""
    state: str = "ready"
    """What the session is afterwards."""
    busy: str = ""
    """Stands in the reason for being busy meanwhile."""

    @property
    def name(self) -> str:
        return f"{self.provider} {self.status or 'down'}"


CLAUDE, CODEX, PI = "claude-code", "codex-cli", "pi-cli"
IN_EVERY_RUN = [
    Failure(CLAUDE, 500, LIMITED, busy="retrying: "),
    Failure(PI, 401, LOGIN_INVALID),
]
IN_LONG_RUNS = [
    Failure(CLAUDE, 401, LOGIN_INVALID),
    Failure(CLAUDE, 429, LIMITED, state="limited (rate)"),
    Failure(CLAUDE, 0, LIMITED, "Connection refused", busy="retrying: Connection refused"),
    Failure(CODEX, 401, LOGIN_INVALID, f"401 Unauthorized: {REASON}"),
    Failure(CODEX, 429, LIMITED, "429 Too Many Requests", state="limited (rate)"),
    Failure(CODEX, 500, LIMITED, "high demand", busy="reconnecting: "),
    Failure(PI, 429, LIMITED, state="limited (rate)", busy="Retrying (3/3)"),
    Failure(PI, 500, LIMITED, busy="Retrying (3/3)"),
    Failure(PI, 0, LIMITED, "ECONNREFUSED", busy="Retrying (3/3)"),
]
ALL = [pytest.param(each, id=each.name) for each in IN_EVERY_RUN] + [
    pytest.param(each, id=each.name, marks=pytest.mark.long) for each in IN_LONG_RUNS
]


@pytest.mark.parametrize("failure", ALL)
def test_a_turn_fails_with_the_providers_reason_and_the_next_one_completes(
    onboarded: Place, model: Model, failure: Failure
) -> None:
    session = start(onboarded, model, failure.provider, CLAUDE_CODE_MAX_RETRIES="2")
    break_down(model, failure)
    assert_fails(onboarded, session, failure)
    recover(model, failure)
    assert_answers(onboarded, session)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_every_retry_of_claude_codes_own_is_waited_for(onboarded: Place, model: Model) -> None:
    session = start(onboarded, model, CLAUDE)
    failure = Failure(CLAUDE, 500, LIMITED, busy="retrying: ")
    break_down(model, failure)
    assert_fails(onboarded, session, failure)
    assert model.refusals() > 10
    recover(model, failure)
    assert_answers(onboarded, session)


def test_a_used_up_plan_of_codex_tells_when_it_begins_anew_and_its_offer_of_another_model_is_declined(
    onboarded: Place, model: Model
) -> None:
    session, resets_at = start(onboarded, model, CODEX), int(time.time()) + IN_AN_HOUR
    window = {"used-percent": "100", "window-minutes": "300", "reset-at": str(resets_at)}
    headers = {f"x-codex-primary-{name}": value for name, value in window.items()}
    model.refuse(429, REASON, headers=headers, details={"type": "usage_limit_reached", "resets_at": resets_at})
    assert_used_up(onboarded, session, "hit your usage limit", resets_at=resets_at)
    until_shown(onboarded, session, "Keep current model")
    model.accept()
    assert_answers(onboarded, session)
    assert "Keep current model" in onboarded.run("session", "events", session).out


def test_a_used_up_plan_of_claude_code_tells_when_it_begins_anew(onboarded: Place, model: Model) -> None:
    """A plan is what a login has, and an API key has not. Below the composer stands that the CLI goes on by itself."""
    variables = {"ANTHROPIC_BASE_URL": model.url, "CLAUDE_CODE_OAUTH_TOKEN": KEY}
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    options = ("-p", CLAUDE, "--trust", *(word for name in quiet for word in ("--env", name)))
    session = onboarded.run("session", "start", *options, **variables, **quiet).out.strip()
    resets_at = int(time.time()) + IN_AN_HOUR
    limit = {"status": "rejected", "reset": str(resets_at), "representative-claim": "five_hour"}
    model.refuse(429, REASON, headers={f"anthropic-ratelimit-unified-{name}": value for name, value in limit.items()})
    assert_used_up(onboarded, session, "hit your 5-hour limit", resets_at=resets_at)
    until_shown(onboarded, session, "Continuing automatically")
    assert onboarded.run("session", "show", session).out.splitlines()[0].endswith("limited (usage)")
    model.accept()
    assert_answers(onboarded, session)


@pytest.mark.long
def test_codex_without_a_model_server_is_busy_with_the_reason_until_the_callers_deadline(
    onboarded: Place, model: Model
) -> None:
    session = start(onboarded, model, CODEX)
    model.go_down()
    ended = ask(onboarded, session, "8s")
    assert (ended.status, "turn_deadline" in ended.err) == (1, True)
    assert "reconnecting: Connection failed" in onboarded.run("session", "events", session).out
    model.come_up()
    assert_answers(onboarded, session)


@pytest.mark.long
def test_a_turn_of_codex_outlives_a_model_server_that_was_down_for_a_while(onboarded: Place, model: Model) -> None:
    session = start(onboarded, model, CODEX)
    model.go_down()
    assert onboarded.run("session", "send", session, "hello").status == 0
    until_told(onboarded, session, "reconnecting: Connection failed")
    model.come_up()
    until_told(onboarded, session, "outcome=completed")
    assert_answers(onboarded, session)


def start(place: Place, model: Model, provider: str, **variables: str) -> str:
    """A session that has had a turn already."""
    options = ("-p", provider, "--trust", "--model-endpoint", model.url, "--model-key-variable", "LOOPBACK_KEY")
    started = place.run("session", "start", *options, LOOPBACK_KEY=KEY, **variables)
    assert started.status == 0, started.err
    session = started.out.strip()
    assert_answers(place, session)
    return session


def ask(place: Place, session: str, deadline: str = LONGEST) -> Done:
    return place.run("session", "ask", session, "hello", "--deadline", deadline)


def assert_answers(place: Place, session: str) -> None:
    answered = ask(place, session)
    assert (answered.status, answered.out) == (DONE, "ECHO: hello\n"), answered.err
    assert show(place, session)["state"] == "ready"


def assert_fails(place: Place, session: str, failure: Failure) -> None:
    failed = ask(place, session)
    assert (failed.status, failure.reason in failed.err) == (failure.exit_code, True), failed.err
    assert failed.err.count("\n") == 1, failed.err
    until_told(place, session, "outcome=failed")
    assert failure.busy in place.run("session", "events", session).out
    state, _, detail = failure.state.partition(" ")
    found = show(place, session)
    assert (found["state"], found["detail"]) == (state, detail.strip("()") or None)


def assert_used_up(place: Place, session: str, reason: str, *, resets_at: int) -> None:
    failed = ask(place, session)
    assert (failed.status, reason in failed.err) == (LIMITED, True), failed.err
    until_told(place, session, "state=limited detail=usage")
    deadline_seconds = time.monotonic() + TOLD_WITHIN_SECONDS
    while (found := show(place, session))["resets_at"] is None:
        assert time.monotonic() < deadline_seconds, found
    assert (found["state"], found["detail"], found["resets_at"]) == ("limited", "usage", resets_at)


def break_down(model: Model, failure: Failure) -> None:
    if failure.status:
        model.refuse(failure.status, REASON, headers={"retry-after": "1"})
    else:
        model.go_down()


def recover(model: Model, failure: Failure) -> None:
    if failure.status:
        model.accept()
    else:
        model.come_up()


def show(place: Place, session: str) -> Mapping[str, object]:
    return cast("Mapping[str, object]", json.loads(place.run("session", "show", session, "--json").out))


def until_told(place: Place, session: str, text: str) -> None:
    """Wait until an event of the session says this."""
    _until(place, session, text, command="events")


def until_shown(place: Place, session: str, text: str) -> None:
    """Wait until the screen shows this."""
    _until(place, session, text, command="screen")


def _until(place: Place, session: str, text: str, *, command: str) -> None:
    deadline_seconds = time.monotonic() + TOLD_WITHIN_SECONDS
    while text not in (found := place.run("session", command, session).out):
        assert time.monotonic() < deadline_seconds, found
