"""A card as a page: laid out for the screen, a picture, or a dialog of paper."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QCoreApplication, QRectF, QSizeF
from PySide6.QtGui import QPainter, QTextDocument

from shardcore import SectionRole
from shardcore.model.details import Card
from shardcore.model.number_words import plural
from shardcore.model.text import without_marks
from shardscope.session.words import cut_middle, grouped
from shardscope.widgets import theme
from shardscope.widgets.fonts import LARGE, MONO, NORMAL, SMALL, TITLE, register
from shardscope.widgets.strip_paint import paint_swatch

WIDTH = 560
"""Of a card, in pixels at 100 %."""

MARGIN = 18
"""Around what is on it."""

EDGE = 8
"""Of the stripe in the colour of its section."""

LONGEST_FILE = 32
"""Letters of the name of a file, above the name of the field."""

_ROUND = 8

translate = QCoreApplication.translate


def card_document(card: Card, colours: theme.Palette, source_size: int | None = None) -> QTextDocument:
    """Return the text of a card.

    Args:
        card: The card.
        colours: The theme.
        source_size: Bytes of the file, or None.
    """
    register()
    document = QTextDocument()
    document.setDocumentMargin(0)
    document.setDefaultStyleSheet(_style(colours))
    document.setHtml(_html(card, source_size))
    document.setTextWidth(WIDTH - 2 * MARGIN - EDGE)
    return document


def card_size(document: QTextDocument) -> QSizeF:
    """Return how large a card is with this text."""
    return QSizeF(WIDTH, document.size().height() + 2 * MARGIN)


def paint_card(
    painter: QPainter, document: QTextDocument, colours: theme.Palette, role: SectionRole | None = None
) -> None:
    """Paint a card at the origin.

    Args:
        painter: Where to.
        document: Its text.
        colours: The theme.
        role: The section that the bytes lie in; its colour and letter are at the left edge.
    """
    size = card_size(document)
    body = QRectF(0.5, 0.5, size.width() - 1, size.height() - 1)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(colours.border)
    painter.setBrush(colours.base)
    painter.drawRoundedRect(body, _ROUND, _ROUND)
    stripe = QRectF(0.5, _ROUND, EDGE, size.height() - 2 * _ROUND)
    painter.fillRect(stripe, colours.section(role) if role is not None else colours.accent)
    if role is not None:
        paint_swatch(painter, colours, role, QRectF(size.width() - MARGIN - 24, MARGIN, 24, 24))
    painter.translate(MARGIN + EDGE, MARGIN)
    document.drawContents(painter)
    painter.restore()


def _style(colours: theme.Palette) -> str:
    text, muted, accent = colours.text.name(), colours.muted.name(), colours.accent.name()
    return f"""
    body {{ font-size: {NORMAL}px; color: {text}; }}
    p {{ margin: 0px; }}
    .path {{ font-size: {SMALL}px; color: {muted}; }}
    .name {{ font-size: {LARGE}px; font-weight: 600; }}
    .value {{ font-size: {TITLE}px; font-weight: 600; }}
    .long {{ font-family: '{MONO}'; font-size: {NORMAL}px; font-weight: 600; }}
    .muted {{ color: {muted}; }}
    .head {{ color: {muted}; font-size: {SMALL}px; font-weight: 600; }}
    .mono {{ font-family: '{MONO}'; font-size: {SMALL}px; }}
    .link {{ font-family: '{MONO}'; font-size: {SMALL}px; color: {accent}; }}
    .code {{ background-color: {colours.window.name()}; }}
    .note {{ background-color: {colours.raised.name()}; }}
    """


def _html(card: Card, source_size: int | None) -> str:
    file = escape(cut_middle(card.file, LONGEST_FILE))
    file += f" · {plural(source_size, 'byte')}" if source_size is not None else ""
    # The number of an entry states nothing without what it is an entry of.
    alone = card.name.startswith("[") and len(card.path) > 2
    name = f"{card.path[-2]} {card.name}" if alone else card.name
    above = " › ".join(escape(name) for name in card.path[1 : -2 if alone else -1])
    parts = [
        f'<p class="path">{file}{" › " + above if above else ""}</p>',
        f'<p class="name" style="margin-top: 4px;">{escape(name)}</p>',
    ]
    if card.value:
        kind = "value" if len(card.value) <= 40 else "long"
        adds = f' <span class="muted">= {escape(card.adds)}</span>' if card.adds else ""
        parts.append(f'<p class="{kind}" style="margin-top: 6px;">{escape(card.value)}{adds}</p>')
    if card.meaning:
        parts.append(f'<p style="margin-top: 6px;">{escape(grouped(without_marks(card.meaning)))}</p>')
    parts.append(_facts(card))
    if card.differs is not None:
        says = translate("Card", "The page says")
        does = translate("Card", "In practice")
        parts.append(
            _box(
                "note",
                f"<b>≠ {says}:</b> {escape(without_marks(card.differs.page))}.<br>"
                f"<b>{does}:</b> {escape(without_marks(card.differs.practice))}.",
            )
        )
    parts.append(f'<p class="head" style="margin-top: 12px;">{translate("Card", "Find it again")}</p>')
    lines = [f"$ {line}" for line in (card.command, card.get, card.link) if line]
    parts.append(_box("code", "<br>".join(_code(line) for line in lines)))
    parts.append(_box("code", "<br>".join(_code(line) for line in card.python.rstrip().splitlines())))
    return f"<body>{''.join(parts)}</body>"


def _facts(card: Card) -> str:
    rows = (
        (translate("Card", "bytes"), escape(card.place), ""),
        (translate("Card", "type"), escape(card.type), ""),
        (translate("Card", "raw"), escape(card.raw), "mono"),
        (translate("Card", "stated in"), escape(card.specification), ""),
        (translate("Card", "object"), escape(card.key), "mono"),
    )
    cells = "".join(
        f'<tr><td class="muted" width="80" style="padding: 2px 8px 2px 0px;">{name}</td>'
        f'<td class="{kind}" style="padding: 2px 0px;">{text}</td></tr>'
        for name, text, kind in rows
        if text
    )
    return f'<table cellspacing="0" cellpadding="0" style="margin-top: 10px;" width="100%">{cells}</table>'


def _box(kind: str, inner: str) -> str:
    return (
        f'<table class="{kind}" cellspacing="0" cellpadding="8" width="100%" style="margin-top: 8px;">'
        f"<tr><td>{inner}</td></tr></table>"
    )


def _code(line: str) -> str:
    """Return a line in which blanks count; it may break anywhere, for paths are long."""
    body = line.lstrip(" ")
    return f'<span class="mono">{"&nbsp;" * (len(line) - len(body))}{escape(body)}</span>'
