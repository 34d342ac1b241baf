"""How one limit is chosen: the environment beats the file, the file beats the default, and nothing unusable wins."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from mcp_agent.durations import format_duration, parse_duration


class Source(StrEnum):
    """Where a value came from."""

    DEFAULT = "default"
    ENVIRONMENT = "environment"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Setting:
    """One limit that a person may choose, and the range that it stays in."""

    key: str
    """Its name in the configuration file's `[timeouts]`."""
    default: timedelta | None
    """None: every provider has its own."""
    floor: timedelta
    ceiling: timedelta | None = None
    variable: str | None = None
    """Its environment variable, where it has one."""
    zero_is_off: bool = False
    whole_seconds: bool = False
    """Fractions of a second round up."""

    @property
    def name(self) -> str:
        """What a person sets: the variable, or the key in the file."""
        return self.variable or f"[timeouts] {self.key}"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A limit and where it came from. None: each provider's own; zero: off, where the setting allows that."""

    limit: timedelta | None
    source: Source = Source.DEFAULT


@dataclass(slots=True)
class Chooser:
    """Chooses settings one by one, and keeps one warning for each that could not be taken as it stands."""

    environ: Mapping[str, str]
    warnings: list[str] = field(default_factory=list)

    def choose(self, setting: Setting, file: timedelta | None = None) -> Chosen:
        """The value of this setting; an unusable environment value gives the default, not the file's value.

        Where every provider has its own default, the file's value stands in.
        """
        if setting.variable is not None and setting.variable in self.environ:
            found = self._from_environment(setting, setting.variable)
            if found is not None:
                return Chosen(found, Source.ENVIRONMENT)
            if setting.default is not None:
                return Chosen(setting.default)
        if file is not None:
            return self.from_file(setting, file)
        return Chosen(setting.default)

    def from_file(self, setting: Setting, value: timedelta, *, section: str = "timeouts") -> Chosen:
        """What the file's section says, held in the setting's range."""
        where = f"[{section}] {setting.key} = {format_duration(value)}"
        return Chosen(self._bound(setting, value, where=where), Source.FILE)

    def _bound(self, setting: Setting, value: timedelta, *, where: str) -> timedelta:
        """The value, held between the setting's floor and ceiling; a zero that means off is left alone."""
        if setting.zero_is_off and not value:
            return value
        if value < setting.floor:
            return self._held(setting.floor, f"{where} is under the least limit")
        if setting.ceiling is not None and value > setting.ceiling:
            return self._held(setting.ceiling, f"{where} is over the greatest limit")
        return _whole_seconds(value) if setting.whole_seconds else value

    def _held(self, limit: timedelta, problem: str) -> timedelta:
        self.warnings.append(f"{problem}; using {format_duration(limit)}")
        return limit

    def _from_environment(self, setting: Setting, variable: str) -> timedelta | None:
        text = self.environ[variable]
        try:
            value = _usable(setting, text)
        except ValueError as problem:
            self.warnings.append(f"{variable}: {problem}; using {_fallback(setting)}")
            return None
        return self._bound(setting, value, where=f"{variable}={text}")


def _usable(setting: Setting, text: str) -> timedelta:
    value = parse_duration(text)
    if value < timedelta(0):
        raise ValueError(f"{text!r} is negative")
    if not value and not setting.zero_is_off:
        raise ValueError(f"{text!r} would switch the limit off")
    return value


def _fallback(setting: Setting) -> str:
    if setting.default is None:
        return "the configuration file's value, or each provider's own"
    return format_duration(setting.default)


def _whole_seconds(value: timedelta) -> timedelta:
    return -(-value // timedelta(seconds=1)) * timedelta(seconds=1)
