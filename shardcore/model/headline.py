"""What a node says first: its value as a person reads it, and how that adds up."""

from __future__ import annotations

from shardcore.model.children import Grouped, RecordTable, RowRange
from shardcore.model.member_nodes import PlacedChildren
from shardcore.model.node import Node
from shardcore.model.number_words import plural, product_text
from shardcore.model.record import FieldRole

_GROUPED = (FieldRole.COUNT, FieldRole.OFFSET, FieldRole.NUMBER)
"""Roles whose numbers get a comma before every three digits."""


def headline(node: Node) -> str:
    """The value of a node, as it is shown large: `520 bytes`, `4,465`, `SWHShard`, the flags by name.

    Args:
        node: A field, a record, a section.

    Returns:
        Empty where the node has nothing to say but its bytes.
    """
    number = _plain_number(node)
    if number is not None and node.role is FieldRole.SIZE and number >= 0:
        return plural(number, "byte")
    if number is not None and node.role in _GROUPED:
        return f"{number:,}"
    if table_of(node) is not None:
        return plural(node.span.size, "byte")
    if isinstance(node.value, str) and node.value:
        # Its text may be as JSON writes it.
        return node.value
    return _named(node) or _grouped_range(node.text)


def _named(node: Node) -> str:
    """The names alone, where a text is a number and what it means: `0x03 offsets, metadata`, `1 (lz4)`."""
    if isinstance(node.value, bool) or not isinstance(node.value, int):
        return ""
    if node.value == 0 and node.text.startswith("0x") and _number_of(node.text) == 0:
        return "none set"
    number, _, names = node.text.partition(" ")
    said = names if names and _number_of(number) == node.value else node.text
    bracketed = said.startswith("(") and said.endswith(")")
    said = (said[1:-1] if bracketed else said).replace(" | ", ", ")
    # The name of a codec or a checksum that is not there, which in a program means something else.
    return "none" if said == "None" else said


def _number_of(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None


def _grouped_range(text: str) -> str:
    first, dots, last = text.partition("..")
    return f"{int(first):,}..{int(last):,}" if dots and first.isdecimal() and last.isdecimal() else text


def grouped_value(node: Node) -> str:
    """The value of a node for a narrow place: as `headline`, without a unit."""
    number, target = _plain_number(node), node.target
    # The text may leave out in which member of a data set that is.
    if target is not None and node.text in (str(target), f"{target.start}..{target.stop}"):
        within = f" of {target.source}" if " of " in node.text else ""
        return f"{target.start:,}..{target.stop:,}{within}"
    return f"{number:,}" if number is not None and node.role in (*_GROUPED, FieldRole.SIZE) else node.text


def _plain_number(node: Node) -> int | None:
    """The number that a node holds, where its text says no more than that."""
    value = node.value
    if isinstance(value, bytes) and node.role is FieldRole.SIZE and node.text.isascii() and node.text.isdecimal():
        # A size of three bytes is no type of NumPy: its text is the number.
        return int(node.text)
    if isinstance(value, bool) or not isinstance(value, int) or node.text not in ("", str(value)):
        return None
    return value


def sum_text(node: Node) -> str:
    """How the value of a node adds up, in words: `13 slots × 40`; empty where nothing says so."""
    if node.sum:
        return node.sum
    table = table_of(node)
    if table is None:
        return ""
    record, rows = table
    counted = node.text.startswith(f"{rows:,} ") and node.text.replace(",", "").replace(" ", "").isalnum()
    return f"{node.text} × {record:,}" if counted else product_text(rows, "row", record)


def record_size(node: Node) -> int | None:
    """Bytes of a row, where the children of a node are rows of a table of records; else None."""
    children = node.children
    while isinstance(children, (RowRange, PlacedChildren)):
        children = children.base
    return children.record.size if isinstance(children, RecordTable) else None


def table_of(node: Node) -> tuple[int, int] | None:
    """Bytes of a row and number of rows, where a node is nothing but a table of records; else None."""
    children = node.children
    rows = len(children) if isinstance(children, (RecordTable, RowRange)) else 0
    if isinstance(children, Grouped):
        children = children.base
        rows = len(children)
    if isinstance(children, RowRange):
        children = children.base
    if not isinstance(children, RecordTable) or rows * children.record.size != node.span.size or not rows:
        return None
    return children.record.size, rows
