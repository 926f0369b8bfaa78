"""Base class of results that notebooks show as HTML."""

from __future__ import annotations

from importlib import import_module


class Displayed:
    __slots__ = ()

    def _repr_html_(self) -> str:
        # By name: the notebook module is in a higher layer.
        return str(import_module("shardcore.notebook").html(self))
