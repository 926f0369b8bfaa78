"""Results of the library that notebooks show."""

from __future__ import annotations

from importlib import import_module


class Displayed:
    __slots__ = ()

    def _repr_html_(self) -> str:
        # By name: what draws stands above.
        return str(import_module("shardcore.notebook").html(self))
