"""Steps of a trace, filled from the facts of a lookup.

A lookup yields facts: small frozen records of what it met. A format states in a table which steps a fact has. `find`
never loads the table, so looking up a key builds no sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from importlib import import_module
from string import Formatter
from typing import Any

from shardcore.model.number_text import plural
from shardcore.model.span import Span

Get = str | Callable[[Any], Any]
"""Path from a fact to a value (`placed.slot`, `positions[0]`), or a function of the fact."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a step: its meaning, its unit (`byte` for an offset), and the bytes where it is stored."""

    name: str
    get: Get
    text: str
    unit: str = ""
    at: Get = ""
    relative: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One step that describes a result of a lookup (a fact).

    In `title` and `text`, `{name}` is one of `words`, a value, or a path from the fact; `{slots:slot}` is a number with
    its noun.

    Attributes:
        spans: The bytes that the step reads: a span, or several.
        inputs: Bytes of earlier steps that it computes with.
        only: Facts for which the step is shown; default: all.
    """

    title: str
    text: str
    why: str
    values: tuple[Value, ...] = ()
    spans: Get = ""
    inputs: Get = ""
    words: Mapping[str, Get] = field(default_factory=dict)
    only: Callable[[Any], bool] | None = None


Rows = Mapping[type, tuple[Row, ...]]
"""Steps of a format, `STEPS` of its `trace_steps`, by type of lookup result (fact)."""


def rows_of(fact: Any, format: str) -> Iterator[Row]:
    rows: Rows = import_module(f"shardcore.formats.{format}.trace_steps").STEPS
    return (row for row in rows.get(type(fact), ()) if row.only is None or row.only(fact))


def get(fact: Any, path: Get) -> Any:
    if callable(path):
        return path(fact)
    return reduce(_part, path.replace("[", ".[").split("."), fact) if path else ()


def _part(owner: Any, name: str) -> Any:
    return owner[int(name[1:-1])] if name.startswith("[") else getattr(owner, name)


def spans_of(found: Span | Iterable[Span]) -> Sequence[Span]:
    return (found,) if isinstance(found, Span) else tuple(found)


class Sentence(Formatter):
    """Fills the sentences of one row from one fact."""

    def __init__(self, row: Row, fact: Any) -> None:
        self._fact = fact
        self._words = {value.name: value.get for value in row.values} | dict(row.words)

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        return get(self._fact, self._words.get(field_name, field_name)), field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        noun = isinstance(value, int) and len(format_spec) > 1 and format_spec.replace(" ", "").isalpha()
        return plural(value, format_spec) if noun else format(value, format_spec)
