"""Options that a format declares for opening, writing and lookups."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from enum import Enum
from typing import Any

from shardcore.dataclasses import dataclass
from shardcore.errors import UsageError
from shardcore.model.text import iso_text, short

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class OptionType(Enum):
    TEXT = "text"
    INTEGER = "integer"
    """A whole number ≥ 0; a text is decimal or begins with `0x`."""
    SIZE = "size"
    """A number of bytes; a text may end with K, M or G (powers of 1024)."""
    TIME = "time"
    """A time: text in ISO 8601, a `datetime`, or Unix seconds."""
    FLAG = "flag"
    CHOICE = "choice"
    JSON = "json"
    """JSON text, the path of a JSON file, or a mapping."""
    FOLDER = "folder"
    """The path or address of a folder, or a `Folder`."""


class OptionPurpose(Enum):
    OPEN = "open"
    WRITE = "write"
    LOCATE = "locate"
    REKEY = "rekey"
    EDIT = "edit"
    """Option of an edit; declared by the kind of edit, not by the format."""
    FACT = "fact"
    """Metadata of one object, given when the object is written, or in its line of a manifest."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a format.

    Attributes:
        name: Name in `-O name=value` and in keyword arguments.
        help: One sentence.
        choices: Valid values, for `OptionType.CHOICE`.
        names_format: For opening: whether the option implies this format.
        hidden: Whether the option is only for programs and not listed for users.
        content: For writing: whether the option itself contains what is written, so that no other input is needed.
            Then any value other than text is passed to the format unchecked.
        path: Whether its text is a path.
        proposed: Value that a form shows at first instead of the default; `now` is the present time.
        flag: Placeholder for the value of the flag `--name`; empty: a flag without value; None: no flag, only `-O`.
    """

    name: str
    type: OptionType
    help: str
    purpose: OptionPurpose = OptionPurpose.OPEN
    default: Any = None
    choices: tuple[str, ...] = ()
    names_format: bool = False
    hidden: bool = False
    content: bool = False
    path: bool = False
    flag: str | None = None
    proposed: Any = None

    def opens(self, given: Any) -> bool:
        if self.type is OptionType.JSON:
            return not (isinstance(given, str) and given.lstrip()[:1] in ("{", "["))
        return self.path or self.type is OptionType.FOLDER

    def value_of(self, given: Any) -> Any:
        """Parse a text, or check a value of another type, and return the value; UsageError if it is invalid."""
        free = self.type in (OptionType.JSON, OptionType.FOLDER) or (self.content and not isinstance(given, str))
        if given is None or free:
            return given
        reader = {
            OptionType.INTEGER: _integer,
            OptionType.SIZE: _size,
            OptionType.FLAG: _flag,
            OptionType.TEXT: _text,
            OptionType.TIME: _time,
            OptionType.CHOICE: self._chosen,
        }[self.type]
        try:
            return reader(given)
        except ValueError as error:
            raise UsageError(f"{self.name} must be {error}, not {short(str(given))}") from error

    def _chosen(self, given: Any) -> str:
        if given not in self.choices:
            raise ValueError(f"one of {', '.join(self.choices)}")
        return str(given)


def written(name: str, type: OptionType, help: str, *more: Any, **named: Any) -> Option:
    return Option(name, type, help, OptionPurpose.WRITE, *more, **named)


def read_options(
    declared: Iterable[Option], given: Mapping[str, Any], purpose: OptionPurpose, who: str
) -> dict[str, Any]:
    """Return the options in `given`, parsed and checked. `who` is the format or command that an error names."""
    known = {option.name: option for option in declared if option.purpose is purpose}
    for name in given:
        if name not in known:
            there = ", ".join(one.name for one in known.values() if not one.hidden)
            raise UsageError(f"unknown option {short(name)} for {who}; available: {there or 'none'}")
    return {name: known[name].value_of(value) for name, value in given.items()}


def _integer(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, (int, str)):
        raise ValueError("a whole number")
    try:
        # Python accepts `4_4_40`.
        number = int(given.replace("_", "x"), 0) if isinstance(given, str) else given
    except ValueError:
        raise ValueError("a whole number") from None
    if number < 0:
        raise ValueError("0 or more")
    return number


def _size(given: Any) -> int:
    if not isinstance(given, str):
        return _integer(given)
    unit = given[-1:].upper() if given[-1:].isalpha() else ""
    if unit not in _UNITS:
        raise ValueError("a number of bytes, such as 4096, 64K or 1M")
    return _integer(given[: len(given) - len(unit)]) * _UNITS[unit]


def _flag(given: Any) -> bool:
    if isinstance(given, bool):
        return given
    text = str(given).lower()
    if text not in ("yes", "no", "true", "false", "1", "0"):
        raise ValueError("yes or no")
    return text in ("yes", "true", "1")


def _time(given: Any) -> str:
    """Return a time in ISO 8601. A float or a text of 10 digits is Unix seconds; other text is returned unchecked."""
    if isinstance(given, date):
        return given.isoformat().replace("+00:00", "Z")
    if not isinstance(given, float):
        text = _text(given)
        if not re.fullmatch("[0-9]{10}", text):
            return text
    try:
        return iso_text(datetime.fromtimestamp(float(given), UTC))
    except (ValueError, OverflowError, OSError):
        raise ValueError("a time in ISO 8601, or Unix seconds") from None


def _text(given: Any) -> str:
    if not isinstance(given, (str, int)) or isinstance(given, bool):
        raise ValueError("text")
    return str(given)
