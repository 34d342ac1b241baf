"""How the CLIs tell that a plan is used up, and until when. Rows and screens are those of the real programs."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from adapters import claude_code, codex_cli
from mcp_agent.adapter import (
    Adapter,
    Blocked,
    Busy,
    Composer,
    Dialog,
    DialogAnswer,
    LimitedBy,
    Ready,
    Screen,
    Source,
)

EPOCH = 1796069233
RESETS_AT = datetime.fromtimestamp(EPOCH, UTC)
USED_UP = LimitedBy("usage", RESETS_AT, Source.TRANSCRIPT)
RULE = "─" * 80

pytestmark = pytest.mark.contract("S3")


def limits_of(row: Mapping[str, object], adapter: Adapter) -> list[LimitedBy]:
    return [signal for signal in adapter.read_transcript([json.dumps(row)]) if isinstance(signal, LimitedBy)]


@pytest.mark.parametrize(
    ("error", "message", "kind"),
    [
        ("rate_limit", "You've hit your 5-hour limit · resets 8:07pm (UTC)", "usage"),
        ("rate_limit", "You've hit your session limit", "usage"),
        ("rate_limit", "API Error: Request rejected (429) · You've hit your limit", "rate"),
        ("billing_error", "Credit balance is too low", "usage"),
    ],
)
def test_claude_code_tells_a_used_up_plan_as_a_rate_limit(error: str, message: str, kind: str) -> None:
    event = {"hook_event_name": "StopFailure", "error": error, "last_assistant_message": message}
    told = claude_code.ADAPTER.read_event(event)

    assert [signal.kind for signal in told if isinstance(signal, LimitedBy)] == [kind]


@pytest.mark.parametrize(
    ("quota", "limits"),
    [
        ({"status": "rejected", "resetsAt": EPOCH, "rateLimitType": "five_hour"}, [USED_UP]),
        ({"status": "rejected"}, []),
        ({"status": "rejected", "resetsAt": "soon"}, []),
        ({"status": "allowed_warning", "resetsAt": EPOCH}, []),
        (None, []),
    ],
)
def test_claude_codes_transcript_tells_when_its_plan_begins_anew(quota: object, limits: list[LimitedBy]) -> None:
    row = {"type": "assistant", "isApiErrorMessage": True, "error": "rate_limit", "quotaLimits": quota}

    assert limits_of(row, claude_code.ADAPTER) == limits
    assert limits_of({**row, "isApiErrorMessage": False}, claude_code.ADAPTER) == []


@pytest.mark.contract("S5")
@pytest.mark.parametrize(
    "note",
    [
        "    Continuing automatically at 8:07pm · Esc to cancel",
        "    Continuing automatically when it resets · Esc to cancel",
        "    Continuing shortly · Esc to cancel",
    ],
)
def test_claude_code_that_waits_for_its_plan_shows_its_prompt_and_no_dialog(note: str) -> None:
    footer = ("  ⚠ Usage limit reached · limit resets 8:07pm", note, "  ⏸ manual mode on · ? for shortcuts")
    screen = Screen(["● Usage limit reached", "", RULE, "❯", RULE, *footer])

    assert claude_code.ADAPTER.read(screen) == [Ready()]
    assert claude_code.ADAPTER.composer(screen) == Composer("")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("✻ API error · retrying in 1s · attempt 2/10", "retrying: API error"),
        ("✻ 500 the scripted reason · retrying in 2s · attempt 3/3", "retrying: 500 the scripted reason"),
        ("✽ Galloping… (3s · ↓ 20 tokens)", None),
    ],
)
def test_claude_code_that_tries_again_says_after_what(line: str, reason: str | None) -> None:
    screen = Screen([line, "", RULE, "❯", RULE, "  ⏸ manual mode on · esc to interrupt"])

    assert claude_code.ADAPTER.read(screen) == [Busy(reason=reason)]


@pytest.mark.parametrize(
    ("more", "limits"),
    [
        ({}, [USED_UP]),
        ({"credits": {"has_credits": False, "unlimited": False}}, [USED_UP]),
        ({"credits": {"has_credits": True}}, []),
        ({"credits": {"unlimited": True}}, []),
        ({"credits": {"unlimited": True}, "rate_limit_reached_type": "spend"}, [USED_UP]),
        ({"primary": {"used_percent": 99.0, "resets_at": EPOCH}}, []),
    ],
)
def test_codex_tells_beside_the_failure_when_its_plan_begins_anew(
    more: Mapping[str, object], limits: list[LimitedBy]
) -> None:
    told = {"primary": {"used_percent": 100.0, "window_minutes": 300, "resets_at": EPOCH}, "credits": None, **more}
    row = {"type": "event_msg", "payload": {"type": "token_count", "info": None, "rate_limits": told}}

    assert limits_of(row, codex_cli.ADAPTER) == limits


@pytest.mark.contract("S5")
def test_codexs_offer_of_another_model_is_declined_for_this_time_only() -> None:
    screen = Screen(
        [
            "■ You’ve hit your usage limit. Upgrade to Pro or try again at 8:03 PM.",
            "",
            "",
            "  Approaching rate limits",
            "  Switch to gpt-6-luna for lower credit usage?",
            "",
            "› 1. Switch to gpt-6-luna                   Fast and affordable model for easier tasks.",
            "  2. Keep current model",
            "  3. Keep current model (never show again)  Hide future rate limit reminders about switching models",
            "",
            "  enter select · esc back",
        ]
    )
    options = ("Switch to gpt-6-luna", "Keep current model", "Keep current model (never show again)")
    advice = "attach and choose the model to go on with"
    kept = DialogAnswer("Keep current model", needs="nothing")

    assert codex_cli.ADAPTER.read(screen) == [Blocked(Dialog("rate limit reminder", options, 0, kept, advice))]
