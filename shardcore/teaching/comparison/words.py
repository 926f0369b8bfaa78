"""A comparison in words: the same in the window, in pictures and on the command line."""

from __future__ import annotations

from shardcore.model.number_words import plural, size_text
from shardcore.teaching.comparison.costs import ACTIONS
from shardcore.teaching.comparison.row import ActionCost, FormatRow, How

ABOUT = "≈ "
"""Stands before what was not counted."""

UNKNOWN = "…"
"""Stands for what is not known yet."""

HEADINGS = (
    *("format", "size", "overhead", "structure", "one cold lookup"),
    *("add one", "delete one", "verify all"),
    "what it cannot",
)
"""The columns that people see."""


def cells(row: FormatRow) -> tuple[str, ...]:
    """Return what stands in the columns, after the name of the format."""
    if row.error:
        return (*("—" for _ in HEADINGS[1:-1]), row.error)
    if not row.pieces:
        return (*(UNKNOWN for _ in HEADINGS[1:-1]), row.cannot)
    return (
        f"{size_text(row.size)}{files_text(row)}",
        overhead_text(row),
        size_text(row.structure),
        lookup_text(row),
        *(cost_text(row.costs.get(action)) for action in ACTIONS),
        row.cannot,
    )


def files_text(row: FormatRow) -> str:
    """In how many files, where it is not one."""
    return f" in {plural(row.files, 'file')}" if row.files > 1 else ""


def overhead_text(row: FormatRow) -> str:
    """The overhead, in bytes and as a share."""
    sign = "+" if row.overhead > 0 else ""
    return f"{sign}{size_text(row.overhead)}, {sign}{row.share * 100:.1f} %".replace("-", "−")


def lookup_text(row: FormatRow) -> str:
    """Return what one cold lookup costs."""
    if row.lookup is None:
        return UNKNOWN
    one = row.lookup
    return f"{plural(one.requests, 'request')}, {size_text(one.bytes)}, {plural(one.rounds, 'round trip')}"


def cost_text(cost: ActionCost | None) -> str:
    """Return what an action costs, in few words."""
    if cost is None:
        return UNKNOWN
    about = "" if cost.exact else ABOUT
    written = f"{about}{size_text(cost.written)}"
    return {
        How.IN_PLACE: f"{written} in place",
        How.BESIDE: f"{written} beside it",
        How.REWRITE: f"rewrites {written}",
        How.REMOVE: "removes its file",
        How.READ: f"reads {about}{size_text(cost.read or 0)}",
        How.NEVER: "not possible",
    }[cost.how]
