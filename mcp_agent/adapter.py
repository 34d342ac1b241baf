"""The protocol that every provider's adapter speaks: questions in, values out.

An adapter is pure. It never touches tmux, the clock, the file system or the network: it is handed screens, events and
transcript lines, and answers with values that the session manager acts on. Golden screens and transcripts test it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Literal, Protocol

from mcp_agent.timeouts import ClientCeiling, McpTimeoutSetting, ProviderLimits

SESSION_MARK = "MCP_AGENT_SESSION"
"""The variable that the CLI runs with and all it starts inherits: a CLI that filters must be told to pass it on."""

BRIDGE_FILE_VARIABLE = "API_BRIDGE_SESSION_FILE"
"""Names the session's file to a bridge and an event program that are started without it: they look for this variable in
their own environment, then in that of each process above them.
"""

# --- what is launched ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """A model server other than the provider's own: a gateway, or a scripted one on loopback."""

    base_url: str
    """Scheme, host and port, without a path."""
    api_key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """All that an adapter may know about the session it describes a launch for."""

    session_id: str
    executable: Path
    working_directory: Path
    session_directory: Path
    """Ours, mode 0700, one per session: the place for files that only this launch needs."""
    home: Path
    """The HOME that the CLI runs with."""
    home_is_ours: bool
    """True only for a home made for this run: trust and onboarding may be written there, and nowhere else."""
    bridge_command: Sequence[str]
    """The stdio MCP server `api-bridge`, as argv."""
    event_command: Sequence[str]
    """A program, as argv, that takes one JSON event of the provider on stdin and hands it to the session."""
    mcp_call: timedelta
    """How long the CLI must wait for one silent MCP call."""
    native_session_id: str
    """A fresh UUID for CLIs that let us choose the conversation's id; the id to resume when `resume` is set."""
    resume: bool
    allow_tools: frozenset[str]
    """Bridge tools that need no permission prompt."""
    provider_shell: bool
    """False takes the CLI's built-in shell tools away, where the CLI can do that."""
    trust: bool
    """A person agreed that this working directory may be trusted."""
    permission_mode: str | None = None
    """None is the provider's asking mode; anything else was named by a person."""
    model: str | None = None
    endpoint: ModelEndpoint | None = None
    own_environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What the CLI gets of the adapter's `environment_names`, credentials among it."""


@dataclass(frozen=True, slots=True)
class LaunchFile:
    """A file to write before the launch, readable by its owner only."""

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class SharedFileEdit:
    """One addition to a JSON file that is not ours alone, for a CLI that takes it in no other way.

    The value may name nothing of one session: sessions of one directory share it. It is taken out again when the last
    session that asked for it is closed.
    """

    path: Path
    keys: tuple[str, ...]
    """Where it goes, from the outermost object on."""
    value: object
    """What JSON can hold."""
    is_item: bool = False
    """The keys lead to a list, and the value is one more item of it."""
    yields: bool = False
    """Whatever stands there already may stay. Otherwise another value in this place is somebody else's."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One way to start the CLI. Nothing secret may stand in `argv`; secrets go into `environment` or a file."""

    argv: Sequence[str]
    environment: Mapping[str, str] = field(repr=False)
    files: Sequence[LaunchFile] = ()
    native_session_id: str | None = None
    """None when the CLI chooses its own id and tells it by an event."""
    shared: Sequence[SharedFileEdit] = ()
    before: Sequence[Sequence[str]] = ()
    """Commands that are run first, each to its end, as the CLI itself is run; one that fails stops nothing."""


# --- what is seen ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Screen:
    """The visible part of a pane. `lines` are joined over wraps, right-stripped, with plain spaces for hard ones."""

    lines: Sequence[str]
    title: str = ""
    dim_lines: Sequence[str] = ()
    """The same lines holding only their dim characters: ghost text is dim, a person's draft is not."""

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


class Source(StrEnum):
    """Where a signal came from; the first ones outrank the later ones."""

    PROCESS = "process"
    HOOK = "hook"
    TRANSCRIPT = "transcript"
    SCREEN = "screen"


@dataclass(frozen=True, slots=True)
class DialogAnswer:
    """How one option of a dialog is chosen: by its label, wherever it stands."""

    label: str
    needs: Literal["nothing", "trust", "person"] = "person"
    """`trust`: only with a person's consent to trust the directory. `person`: never chosen by us."""


@dataclass(frozen=True, slots=True)
class Dialog:
    """A dialog that holds the CLI up, recognised by its structure in the visible region."""

    name: str
    options: Sequence[str] = ()
    """The labels, in screen order."""
    selected: int = 0
    answer: DialogAnswer | None = None
    """None when only a person may answer."""
    advice: str = "attach to the session and answer it"


@dataclass(frozen=True, slots=True)
class Ready:
    """The CLI shows its composer and does nothing; what the composer holds is another question."""

    source: Source = Source.SCREEN


@dataclass(frozen=True, slots=True)
class Busy:
    """The CLI says that it works. `reason` says why that takes longer than usual, such as a model that is down."""

    source: Source = Source.SCREEN
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """The CLI asks its user something in the middle of a turn."""

    reason: Literal["permission", "question"]
    source: Source = Source.SCREEN


@dataclass(frozen=True, slots=True)
class Blocked:
    """A dialog stands where the prompt should be."""

    dialog: Dialog
    source: Source = Source.SCREEN


@dataclass(frozen=True, slots=True)
class LimitedBy:
    """The provider refuses work for now."""

    kind: Literal["rate", "usage"]
    resets_at: datetime | None = None
    source: Source = Source.SCREEN


@dataclass(frozen=True, slots=True)
class SessionIdentified:
    """The CLI told the id of its own conversation."""

    native_session_id: str
    transcript: Path | None = None
    source: Source = Source.HOOK


@dataclass(frozen=True, slots=True)
class PromptAccepted:
    """The CLI took this text as a prompt: `queued` while another turn still runs."""

    text: str
    queued: bool = False
    source: Source = Source.HOOK
    native_turn_id: str | None = None
    """The CLI's own id of the turn that takes it, where it tells one."""


@dataclass(frozen=True, slots=True)
class PromptQueued:
    """The CLI shows that it holds a prompt, or the beginning of it, for the turn that runs, and its composer is empty.

    `PromptAccepted` follows when the turn takes it in.
    """

    text: str
    source: Source = Source.SCREEN


@dataclass(frozen=True, slots=True)
class Answered:
    """The running turn's latest answer, for a CLI whose word for the end of a turn does not repeat it."""

    text: str
    source: Source = Source.HOOK


class TurnOutcome(StrEnum):
    COMPLETED = "completed"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class FailureCause(StrEnum):
    """What a failed turn's reader can do about it."""

    LOGIN = "login"
    LIMITED = "limited"
    """A rate or usage limit, or the provider's model is down: later it may work."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Usage:
    """What was spent; None where the provider does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class UsageReported:
    """One answer of the model cost this much. Told again for the same `message_id`, it counts once."""

    message_id: str
    usage: Usage
    source: Source = Source.TRANSCRIPT


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The one completion of a turn. `error` and `cause` say why a failed one failed.

    `usage` is what the whole turn cost, for a provider that says so at its end.
    """

    outcome: TurnOutcome
    final_text: str = ""
    error: str | None = None
    cause: FailureCause = FailureCause.OTHER
    source: Source = Source.HOOK
    usage: Usage | None = None
    native_turn_id: str | None = None


@dataclass(frozen=True, slots=True)
class TranscriptAt:
    """Where the transcript is, for one whose word for the end of a turn tells neither the turn's id nor its answer."""

    native_turn_id: str | None = None
    """The CLI's own id of the turn that is told of from here on; None: as before."""
    answer: str | None = None
    """That turn's latest answer; None: as before."""
    source: Source = Source.TRANSCRIPT


Signal = (
    Ready
    | Busy
    | Waiting
    | Blocked
    | LimitedBy
    | SessionIdentified
    | PromptAccepted
    | PromptQueued
    | Answered
    | UsageReported
    | TurnEnded
    | TranscriptAt
)


@dataclass(frozen=True, slots=True)
class Composer:
    """The input area. `draft` is what a submit key would send; ghost text and placeholders are no draft."""

    draft: str
    is_chip: bool = False
    """The CLI shows a stand-in such as `[Pasted text #1 +60 lines]` for what was pasted."""


# --- what is done ----------------------------------------------------------------------------------------------------


class LiveInput(StrEnum):
    """What becomes of a prompt that is sent while a turn runs."""

    SAME_TURN = "same_turn"
    NEXT_TURN = "next_turn"


class Capability(StrEnum):
    """What not every CLI can do. Whatever an adapter does not say to be lacking is asked of it."""

    DIRECTORY_TRUST = "directory trust"
    """It asks before it works in a directory that nobody trusted."""
    PERMISSION_PROMPTS = "permission prompts"
    """It asks before it runs a tool that nobody allowed."""
    RESUME = "resume"
    USAGE = "usage"
    TABS = "tabs in prompts"
    INVISIBLE_CHARACTERS = "invisible characters in prompts"
    MODEL_ENDPOINT = "model endpoint"
    """It can be told to ask another model server than its vendor's."""


@dataclass(frozen=True, slots=True)
class NpmPackage:
    """The published package of a CLI, in the version that the adapter was tested with."""

    name: str
    version: str
    program: str
    """A glob, relative to where npm installed: the program of this machine's platform, or a script for Node."""


class Adapter(Protocol):
    """One provider CLI. Every member is an answer; none of them acts."""

    @property
    def id(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def executable(self) -> str:
        """The program's name on PATH."""
        ...

    @property
    def install_hint(self) -> str:
        """A command line that installs the CLI."""
        ...

    @property
    def package(self) -> NpmPackage | None:
        """What `mcp-agent providers install` installs; None when the provider publishes no package on npm."""
        ...

    @property
    def tested_versions(self) -> Sequence[str]:
        """The versions, as `parse_version` gives them, that this adapter was tested with; empty when any will do."""
        ...

    @property
    def unverified(self) -> str | None:
        """What was built from documents alone, and never seen with the real program; None when nothing was."""
        ...

    @property
    def limits(self) -> ProviderLimits:
        """Idle retention and the prompt-readiness bounds, before any override."""
        ...

    @property
    def client_ceiling(self) -> ClientCeiling | None:
        """The CLI's own bound on an MCP call that no setting of ours moves; None when it has none."""
        ...

    @property
    def live_input(self) -> LiveInput: ...

    @property
    def lacks(self) -> Mapping[Capability, str]:
        """What this CLI cannot do, each with the reason as people read it."""
        ...

    @property
    def user_files(self) -> Mapping[str, str]:
        """A person's own configuration of this CLI, which no session may change: each file with an example text.

        A path begins with `~/` for the CLI's HOME or with `./` for the working directory.
        """
        ...

    @property
    def permission_modes(self) -> Sequence[str]:
        """The permission modes that a person may name, in the provider's own words."""
        ...

    @property
    def environment_names(self) -> Sequence[str]:
        """Variables of the caller, credentials among them, that this CLI may see besides the common allow-list."""
        ...

    @property
    def credential_names(self) -> Sequence[str]:
        """Variables of which one must be set to talk to the provider's real model without a stored login."""
        ...

    def parse_version(self, output: str) -> str | None:
        """The version in what `--version` printed; None when there is none."""
        ...

    def mcp_timeout(self, limit: timedelta) -> McpTimeoutSetting | None:
        """How this CLI is told to bound one silent MCP call; None when nothing is set."""
        ...

    def launch(self, request: LaunchRequest) -> Launch: ...

    def read(self, screen: Screen) -> Sequence[Signal]:
        """What the screen says, most certain first; nothing when it says nothing."""
        ...

    def composer(self, screen: Screen) -> Composer | None:
        """The input area; None when none is visible."""
        ...

    def read_event(self, event: Mapping[str, object]) -> Sequence[Signal]:
        """What one JSON event of the provider means; nothing for an unknown one."""
        ...

    def read_transcript(self, lines: Sequence[str]) -> Sequence[Signal]:
        """What complete new lines of the provider's transcript mean."""
        ...

    def transcript_glob(self, native_session_id: str) -> str | None:
        """Where the transcript is, relative to the CLI's HOME; None when only an event tells."""
        ...

    def is_command(self, text: str) -> bool:
        """Whether this text, when a person types it, is a command of the CLI and no prompt."""
        ...

    def guard(self, text: str) -> str:
        """The text as it must be placed so that it stays a prompt and becomes no command or mode."""
        ...

    @property
    def submit_keys(self) -> Sequence[str]:
        """tmux key names that submit the composer."""
        ...

    @property
    def interrupt_keys(self) -> Sequence[str]:
        """tmux key names that stop the running turn and leave the CLI usable."""
        ...

    @property
    def clear_keys(self) -> Sequence[str]:
        """tmux key names that empty the composer when pressed repeatedly."""
        ...

    @property
    def next_option_keys(self) -> Sequence[str]:
        """tmux key names that move a dialog's selection to the next option."""
        ...

    @property
    def confirm_keys(self) -> Sequence[str]:
        """tmux key names that take a dialog's selected option."""
        ...
