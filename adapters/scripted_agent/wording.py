"""The fixed words and marks of the screen: what the program draws is what the adapter reads."""

TITLE = "Scripted agent"
RULE = "─"

PROMPT = "> "
"""Before the first row of a draft, and of a prompt in the conversation."""
NEW_LINE = "| "
"""Before each further line of a draft."""
WRAPPED = "  "
"""Before the rest of a line that is wider than the screen."""

DIM, NOT_DIM = "\x1b[2m", "\x1b[22m"
"""Around words that are only suggested."""

STARTING = "starting"
READY = "ready"
READY_WITHOUT_TOOLS = "ready · no tools: the bridge did not start"
LEAVING = "ready · press ctrl-c again to exit"
WORKING = "working · esc to interrupt"
SPINNER = "✻✶✳✢"
SPINNING = "{glyph} Working… ({seconds}s · ↑ {tokens:.1f}k tokens)"
COMMANDS = "commands: /clear  /compact"
CHOOSING = "enter to choose · up and down to move"
QUEUED = "queued: "

SELECTED = "❯ "
NOT_SELECTED = "  "

TRUST_QUESTION = "Do you trust this directory?"
TRUST_NO = "No, exit"
TRUST_YES = "Yes, I trust it"

PERMISSION_QUESTION = "Allow tool {tool}?"
PERMISSION_YES = "Allow"
PERMISSION_NO = "Refuse"
