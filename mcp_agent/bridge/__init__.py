"""The programs that a provider CLI starts: standard library only, they import nothing of ours."""

from pathlib import Path

BRIDGE_PROGRAM = Path(__file__).with_name("mcpbridge.py")
EVENT_PROGRAM = Path(__file__).with_name("event_hook.py")
