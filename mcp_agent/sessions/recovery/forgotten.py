"""What a stopped session was started with and is kept no longer, so that whoever resumes it must give it again."""

from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.signals import SessionState


def forgotten(session: LiveSession) -> list[str]:
    """In words. Nothing while a session is not stopped, since all is kept until then."""
    options = session.record.options
    if session.state is not SessionState.STOPPED or options is None:
        return []
    named = [f"the value of {', '.join(sorted(options.named_variables))}"] if options.named_variables else []
    key = ["the key of its model endpoint"] if options.endpoint else []
    own = [f"what its CLI read of {', '.join(session.adapter.environment_names)}"]
    return [*named, *key] or (own if session.record.needs_secrets else [])


def resume_advice(session: LiveSession) -> str:
    """The command that goes on with its conversation, and why it does not go on by itself."""
    options, words = session.record.options, [f"mcp-agent session resume {session.id}"]
    missing = forgotten(session)
    if missing and options is not None:
        words += [f"--env {name}" for name in sorted(options.named_variables)]
        words += ["--model-key-variable NAME"] if options.endpoint else []
    advice = f"`{' '.join(words)}` goes on with its conversation"
    return f"not kept after its end: {' and '.join(missing)}; {advice}, run where that is set" if missing else advice
