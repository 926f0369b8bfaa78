"""Details of a node for the inspector, as rows of names and values. No Qt."""

from __future__ import annotations

from dataclasses import dataclass

from shardcore import FieldRole, Node, Span
from shardcore.model.node import ExternalBytes
from shardcore.model.record import Value
from shardcore.model.text import bits_text, without_marks
from shardcore.sources.base import Source
from shardscope.session.display_text import grouped, headline, span_words

RAW = 48
"""Maximum number of raw bytes shown."""

LONGEST = 400
"""Maximum number of characters shown; all are copied."""

MOST_LARGE = 200
"""Maximum number of characters shown in large type."""

MOST_LETTERS = 1 << 16
"""Maximum number of characters copied."""

PENDING = "…"
"""Text shown until the bytes are loaded."""


@dataclass(frozen=True, slots=True)
class FormatPageLink:
    """Link to the row of the selected field in the format reference."""


@dataclass(frozen=True, slots=True)
class DetailRow:
    """Row of the details; `copied` is copied instead of `text` if set, `tone` names a colour of `theme.Palette`."""

    name: str
    text: str
    copied: str = ""
    mono: bool = False
    tone: str = "text"
    target: Span | None = None
    strong: bool = False
    elsewhere: ExternalBytes | None = None
    page: bool = False

    @property
    def link(self) -> Span | ExternalBytes | FormatPageLink | None:
        if self.page:
            return FormatPageLink()
        return self.target if self.target is not None else self.elsewhere


def node_rows(node: Node, raw: bytes | None) -> list[DetailRow]:
    """Return the details of a node; `raw` are its first `RAW` bytes, or None until they are loaded."""
    rows = [DetailRow("role", node.role.name.lower(), page=True)] if node.role is not FieldRole.GROUP else []
    if node.type:
        rows.append(DetailRow("type", node.type, strong=True))
    rows.append(place_row("bytes", node.span, link=False))
    if node.bits is not None:
        rows.append(DetailRow("bits", bits_text(*node.bits)))
    if node.span.size:
        rows.append(_raw_row(node.span.size, raw))
    large, shown = headline(node), value_texts(node.value, node.span.size)
    if shown != [large]:
        rows += [DetailRow(name, text, mono=True) for name, text in zip(("value", "hex"), shown, strict=False)]
    if len(large) > MOST_LARGE:
        # The large text is cut.
        rows.append(cut_row("text", large))
    if node.target is not None:
        rows.append(place_row("points to", node.target, link=True))
    if node.elsewhere is not None:
        rows.append(DetailRow("stored in", f"→ {node.elsewhere.text}", elsewhere=node.elsewhere))
    if node.decoded:
        rows.append(DetailRow("decoded", "→ decoded bytes", target=Span(node.decoded, 0, 1)))
    if node.differs is not None:
        rows.append(DetailRow("specification", f"{without_marks(node.differs.page)}.", page=True))
        rows.append(DetailRow("in practice", f"{without_marks(node.differs.practice)}.", strong=True))
    if node.error:
        rows.append(DetailRow("error", grouped(node.error), tone="error"))
    return rows


def value_texts(value: Value, size: int) -> list[str]:
    if value is None or isinstance(value, bytes):
        return []
    if isinstance(value, bool):
        # The headline already shows whether a bit is set.
        return []
    if isinstance(value, int):
        return [str(value), f"{value & ((1 << 8 * size) - 1) if value < 0 else value:#x}"]
    return [str(value)]


def first_bytes(source: Source, start: int, count: int) -> bytes:
    stop = min(start + count, source.size)
    return source.read(start, stop) if start < stop else b""


def place_row(name: str, span: Span, *, link: bool) -> DetailRow:
    text = span_words(span)
    return DetailRow(name, f"→ {text}" if link else text, f"{span.start}..{span.stop}", target=span if link else None)


def _raw_row(size: int, raw: bytes | None) -> DetailRow:
    if raw is None:
        return DetailRow("raw", PENDING, mono=True, tone="muted")
    shown = raw[:RAW].hex(" ")
    more = size - min(len(raw), RAW)
    return DetailRow("raw", f"{shown} … and {more:,} more" if more > 0 else shown, raw.hex(" "), mono=True)


def cut_row(name: str, text: str, *, mono: bool = False) -> DetailRow:
    return DetailRow(name, text if len(text) <= LONGEST else text[:LONGEST] + "…", text, mono=mono)
