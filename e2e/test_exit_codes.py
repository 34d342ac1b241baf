"""Who has to act on a run that did not pass: each exit code, with a real CLI, and what the command says to do."""

import pytest

from e2e.conftest import Model
from e2e.place import KEY, Done, Place

CLAUDE = "claude-code"
WRONG_KEY = "sk-test-of-nobody"
NO_RETRY = {"x-should-retry": "false"}

pytestmark = [pytest.mark.real_cli, pytest.mark.contract("X3")]


def run(place: Place, model: Model, key: str = KEY) -> Done:
    """The shortest run with the provider's own model server, which its own variable moves to loopback."""
    variables = {"ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": model.url, "CLAUDE_CODE_MAX_RETRIES": "1"}
    return real(place, "--probe", "note canary", **variables)


def real(place: Place, *more: str, **variables: str) -> Done:
    arguments = ("test", "coding-agent-chat-e2e", "-p", CLAUDE, "--model-server", "real", *more)
    done = place.run(*arguments, **variables)
    assert place.processes() == []
    return done


def test_a_model_that_answers_passes(place: Place, model: Model) -> None:
    done = run(place, model)
    assert done.status == 0, done.out + done.err
    assert "2 of 2 probes passed" in done.out


def test_no_credentials_is_3_and_names_the_variables_to_set(place: Place) -> None:
    done = real(place)
    assert (done.status, done.out.startswith("not run: ")) == (3, True)
    assert "set ANTHROPIC_API_KEY" in done.out


def test_a_missing_cli_is_4_and_says_how_to_install_it(place: Place) -> None:
    done = real(place, PATH="/usr/bin:/bin:" + place.environment["PATH"].split(":")[2], ANTHROPIC_API_KEY=KEY)
    assert (done.status, done.out.startswith("not run: ")) == (4, True)
    assert "install it with: " in done.out


def test_an_invalid_key_is_5_and_a_matter_of_the_login(place: Place, model: Model) -> None:
    done = run(place, model, key=WRONG_KEY)
    assert done.status == 5, done.out + done.err
    assert "invalid api key" in done.out
    assert "renew the provider's credentials" in done.out
    assert WRONG_KEY not in done.out


def test_a_rate_limit_is_6_and_says_to_come_back_later(place: Place, model: Model) -> None:
    model.refuse(429, "slow down", headers=NO_RETRY)
    done = run(place, model)
    assert done.status == 6, done.out + done.err
    assert "slow down" in done.out
    assert "run it again later" in done.out


def test_a_model_that_does_not_follow_is_7_after_one_more_try(place: Place, model: Model) -> None:
    model.ignore()
    done = run(place, model)
    assert done.status == 7, done.out + done.err
    assert "The model did not follow the instruction, twice." in done.out
    assert sum("weather" in line for line in done.out.splitlines() if line.strip().startswith("answer")) == 4
