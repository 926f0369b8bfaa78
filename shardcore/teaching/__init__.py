"""Drawings, charts, lessons, the comparison of formats, and the effect of changed bytes."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

from shardcore.model.drawing import Item, Sketch, Tone
from shardcore.model.span import Span

if TYPE_CHECKING:
    from shardcore.shards.shard import Shard


def item_of(text: str, span: Span, tone: Tone, doc: str, name: str = "", *, here: bool = False) -> Item:
    """Return an item of a ruler in bytes, drawn at its bytes."""
    return Item(text, (span,), span.start, span.size, tone, doc, name, here)


def drawings_of_nodes(shard: Shard) -> tuple[Sketch, ...]:
    drawn: tuple[Sketch, ...] = import_module(f"{__name__}.record_drawing").drawings_of_nodes(shard)
    return drawn


@cache
def part_of(name: str) -> ModuleType | None:
    """Return what teaches a format, `shardcore.teaching.<name>`; None for a format without such a part.

    It has `sketches(shard, trace)`, `step_figures(fact, title)`, `shares(file)`; it may have
    `step_drawing(fact, title)`, `loads(file)` and, for folders, `folder_sketches(data_set, trace)`: None for those of
    the shard of the lookup.
    """
    return import_module(f"{__name__}.{name}") if find_spec(f"{__name__}.{name}") is not None else None
