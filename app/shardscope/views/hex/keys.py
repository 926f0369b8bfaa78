"""Where a key takes the caret. No state."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from PySide6.QtCore import Qt

from shardcore import Section
from shardscope.views.hex.layout import HexLayout

_STEPS = MappingProxyType({Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1})


def caret_after(
    key: int, *, control: bool, caret: int, layout: HexLayout, page: int, sections: Sequence[Section]
) -> int | None:
    """The byte a key goes to; None for keys that do not move the caret.

    Args:
        key: A `Qt.Key`.
        control: Whether the control key is down: Home and End go to the ends of the source, PgUp and PgDown to the
            previous and next section.
        caret: Where the caret is.
        layout: The rows.
        page: Rows of a screen.
        sections: Of the source.
    """
    if layout.size == 0:
        return None
    if control:
        return _far(key, caret, layout, sections)
    chosen = Qt.Key(key)
    if chosen in _STEPS:
        return layout.clamp(caret + _STEPS[chosen])
    rows = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -page, Qt.Key.Key_PageDown: page}.get(chosen)
    if rows is not None:
        return _rows_away(caret, rows, layout)
    row_start = layout.row_start(layout.row_of(caret))
    if chosen is Qt.Key.Key_Home:
        return layout.clamp(row_start)
    if chosen is Qt.Key.Key_End:
        return layout.clamp(row_start + layout.width - 1)
    return None


def _rows_away(caret: int, rows: int, layout: HexLayout) -> int:
    """The same column some rows away; the first or last byte where there is no such row, the caret on its last row."""
    target = caret + rows * layout.width
    if 0 <= target < layout.size:
        return target
    if abs(rows) == 1:
        # A shorter first or last row is still reached; beyond it the caret stays.
        row = layout.row_of(caret) + rows
        return layout.clamp(target) if 0 <= row < layout.rows else caret
    return layout.clamp(target)


def _far(key: int, caret: int, layout: HexLayout, sections: Sequence[Section]) -> int | None:
    starts = [section.start for section in sections if section.size]
    if key == Qt.Key.Key_Home:
        return 0
    if key == Qt.Key.Key_End:
        return layout.size - 1
    if key == Qt.Key.Key_PageDown:
        return min((start for start in starts if start > caret), default=layout.size - 1)
    if key == Qt.Key.Key_PageUp:
        return max((start for start in starts if start < caret), default=0)
    return None
