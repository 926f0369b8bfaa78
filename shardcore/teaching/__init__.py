"""Drawings, charts, lessons, the comparison of formats, and the impact of changed bytes on a shard."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from shardcore.model.drawing import Control, ControlKind, Item, Sketch, Tone, chosen
from shardcore.model.span import Span

if TYPE_CHECKING:
    from shardcore.shards.shard import Shard
    from shardcore.shards.trace import Trace

Fact = TypeVar("Fact")
Scene = TypeVar("Scene")


class SceneSketch(Generic[Scene]):
    """Base of the drawings of a format. `scene` reads the data to draw from the file, at the first drawing."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    @property
    def controls(self) -> tuple[Control, ...]:
        return ()

    def chosen(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return chosen(self.controls, values)


def slider(name: str, label: str, value: int, high: int, doc: str, *, low: int = 0, follows: str = "") -> Control:
    return Control(name, label, ControlKind.SLIDER, value, low, high, doc=doc, follows=follows)


def switch(name: str, label: str, value: bool, doc: str) -> Control:
    return Control(name, label, ControlKind.SWITCH, value, doc=doc)


def choice(name: str, label: str, value: str, choices: tuple[str, ...], doc: str) -> Control:
    return Control(name, label, ControlKind.CHOICE, value, choices=choices, doc=doc)


def text_line(name: str, label: str, value: str, doc: str, follows: str) -> Control:
    return Control(name, label, ControlKind.TEXT, value, doc=doc, follows=follows)


def last_fact(trace: Trace | None, kind: type[Fact]) -> Fact | None:
    """Return the last result of class `kind` in the steps of a lookup; None if there is none, or no lookup."""
    steps = trace.steps if trace is not None else ()
    return next((fact for _, fact in (step.fact for step in reversed(steps)) if isinstance(fact, kind)), None)


def item_of(text: str, span: Span, tone: Tone, doc: str, name: str = "", *, here: bool = False) -> Item:
    """Return an item of a ruler in bytes that is drawn over the bytes `span`."""
    return Item(text, (span,), span.start, span.size, tone, doc, name, here)


def drawings_of_nodes(shard: Shard) -> tuple[Sketch, ...]:
    drawn: tuple[Sketch, ...] = import_module(f"{__name__}.record_drawing").drawings_of_nodes(shard)
    return drawn


@cache
def part_of(name: str) -> ModuleType | None:
    """Return the module with the drawings of a format, `shardcore.teaching.<name>`; None for a format without one.

    It has `sketches(shard, trace)` (drawings), `shares(file)` (bytes per purpose) and `step_figures(fact, title)`: the
    figures of a lookup step, or a complete drawing. It may have `loads(file)` (distributions) and, for folders,
    `folder_sketches(data_set, trace)`, which returns None if the drawings of the shard of the lookup are to be shown.
    """
    return import_module(f"{__name__}.{name}") if find_spec(f"{__name__}.{name}") is not None else None
