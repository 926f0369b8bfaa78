"""The values of a drawing's controls: checked in one place, with what is not set as the file has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shardcore.drawing.model import Control, Kind
from shardcore.errors import UsageError
from shardcore.text import short


def chosen(controls: Sequence[Control], values: Mapping[str, Any]) -> dict[str, Any]:
    """The value of every control.

    Args:
        controls: What can be set.
        values: What is set, by name.

    Raises:
        UsageError: There is no such control, or it cannot have the value; the message says which it can have.
    """
    names = [control.name for control in controls]
    if (odd := next((name for name in values if name not in names), None)) is not None:
        has = f"it has {', '.join(names)}" if names else "it has none"
        raise UsageError(f"this drawing has no control {short(odd)}; {has}")
    return {control.name: _checked(control, values.get(control.name, control.value)) for control in controls}


def _checked(control: Control, value: Any) -> Any:
    """A value, if the control can have it.

    Raises:
        UsageError: It cannot.
    """
    name = control.name
    if control.kind is Kind.SLIDER:
        number = isinstance(value, int) and not isinstance(value, bool)
        if not number or not control.low <= value <= control.high:
            raise UsageError(f"{name} is a whole number from {control.low} to {control.high} here, not {short(value)}")
    elif control.kind is Kind.SWITCH:
        if not isinstance(value, bool):
            raise UsageError(f"{name} is either on or off, not {short(value)}")
    elif control.kind is Kind.CHOICE:
        if value not in control.choices:
            raise UsageError(f"{name} is {' or '.join(control.choices)}, not {short(value)}")
    elif not isinstance(value, str):
        raise UsageError(f"{name} is a text, not {short(value)}")
    return value
