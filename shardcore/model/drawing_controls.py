"""Values of controls: from texts, checked, and where nothing is said as the file says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shardcore.errors import UsageError
from shardcore.model.drawing import Control, Kind
from shardcore.model.text import short

_SWITCHES = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}


def chosen(controls: Sequence[Control], values: Mapping[str, Any]) -> dict[str, Any]:
    """The value of every control: those given, checked, and for the others what the file says.

    Args:
        controls: What there is.
        values: What somebody chose; names of controls that there are not are refused.

    Raises:
        UsageError: A value, or a name, is none; the message tells which are.
    """
    names = [control.name for control in controls]
    for name in values:
        if name not in names:
            raise UsageError(f"nothing here is called {short(name)}; what can be set: {', '.join(names) or 'nothing'}")
    return {one.name: checked(one, values[one.name]) if one.name in values else one.value for one in controls}


def checked(control: Control, value: Any) -> Any:
    """A value of a control, as it is.

    Raises:
        UsageError: It is none; the message tells which are.
    """
    kind = control.kind
    if kind is Kind.SLIDER:
        fits = isinstance(value, int) and not isinstance(value, bool) and control.low <= value <= control.high
    elif kind is Kind.SWITCH:
        fits = isinstance(value, bool)
    elif kind is Kind.CHOICE:
        fits = value in control.choices
    else:
        fits = isinstance(value, str)
    if not fits:
        raise UsageError(f"{control.name} is {values_of(control)}, not {short(value)}")
    return value


def value_from(control: Control, text: str) -> Any:
    """A value of a control from a text, such as one on a command line.

    Raises:
        UsageError: It is none; the message tells which are.
    """
    if control.kind is Kind.SWITCH and text.lower() in _SWITCHES:
        return _SWITCHES[text.lower()]
    if control.kind is Kind.SLIDER:
        try:
            return checked(control, int(text, 0))
        except ValueError:
            return checked(control, text)
    return checked(control, text)


def values_of(control: Control) -> str:
    """What can be chosen, in words."""
    if control.kind is Kind.SLIDER:
        return f"a whole number from {control.low} to {control.high}"
    if control.kind is Kind.SWITCH:
        return "yes or no"
    return f"one of {', '.join(control.choices)}" if control.kind is Kind.CHOICE else "a text"
