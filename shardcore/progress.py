"""How long operations tell how far they are."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called as `progress(done, total)`, often; may raise `Cancelled`."""


def no_progress(done: int, total: int) -> None:
    """The `progress` of those who do not want to know."""
