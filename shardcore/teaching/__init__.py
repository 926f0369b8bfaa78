"""Drawings, charts, lessons, the comparison of formats, and the effect of changed bytes."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType


@cache
def part_of(name: str) -> ModuleType | None:
    """Return what teaches a format, `shardcore.teaching.<name>`; None for a format without such a part.

    It has `sketches(shard, trace)`, `step_drawing(fact, title)`, `step_figures(fact, title)`, `shares(file)`, and may
    have `loads(file)` and, for folders, `folder_sketches(data_set, trace)`: None for those of the shard of the lookup.
    """
    return import_module(f"{__name__}.{name}") if find_spec(f"{__name__}.{name}") is not None else None
