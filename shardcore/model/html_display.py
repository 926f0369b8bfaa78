"""Base class of results that notebooks show as HTML."""

from __future__ import annotations


class Displayed:
    __slots__ = ()

    def _repr_html_(self) -> str:
        from shardcore.notebook import html

        return html(self)
