"""Width of texts, cutting them, and breaking them into lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from shardcore.teaching.drawing.picture import Face

Measure = Callable[[str, int, Face], float]
"""Function that returns the width of a text in pixels, given the text, its size in pixels, and its face."""

SMALL = 11
NORMAL = 13
LARGE = 16

# Advance widths of the letters from space to ~, in thousandths of the size: those of DejaVu Sans, which is wider than
# usual faces, so that texts that fit also fit on other machines.
_SANS = (
    *(318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636),
    *(636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656),
    *(557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613),
    *(635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818),
    *(592, 592, 525, 636, 337, 636, 838),
)
_BOLDER = 1.12
_MONO = 0.602
_FIGURES = re.compile(r"[0-9A-Fa-fx+\-−.,:… ]*")
_LEAST_LETTERS = 2


def measured(text: str, size: int, face: Face) -> float:
    """Return the width in pixels, computed for DejaVu Sans, which is wider than other usual faces."""
    if face is Face.MONO:
        return sum(_MONO if letter.isascii() else _wide(letter) for letter in text) * size
    width = sum(_SANS[ord(letter) - 32] if " " <= letter <= "~" else 1000 * _wide(letter) for letter in text)
    return width * size * (_BOLDER if face is Face.BOLD else 1.0) / 1000


def _wide(letter: str) -> float:
    return 0.7 if ord(letter) < 0x2E80 and letter not in "…—→←½" else 1.0


def cut(text: str, room: float, size: int, face: Face, measure: Measure) -> str:
    """Shorten a text to `room` pixels, ending with `…`; empty if fewer than two letters fit. O(log n) measurements."""
    if not text or measure(text, size, face) <= room:
        return text
    low, high = 0, len(text) - 1
    while low < high:
        half = (low + high + 1) // 2
        if measure(text[:half].rstrip() + "…", size, face) <= room:
            low = half
        else:
            high = half - 1
    return text[:low].rstrip() + "…" if low >= _LEAST_LETTERS else ""


def lines_of(text: str, room: float, size: int, face: Face, measure: Measure) -> list[str]:
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and measure(longer, size, face) <= room:
            lines[-1] = longer
        else:
            lines.append(cut(word, room, size, face, measure) or "…")
    return lines


def face_of(text: str) -> Face:
    return Face.MONO if _FIGURES.fullmatch(text) and any(letter.isdigit() for letter in text) else Face.SANS


def common_face(texts: Iterable[str]) -> Face:
    found = [text for text in texts if text]
    digits = any(letter.isdigit() for text in found for letter in text)
    return Face.MONO if digits and all(_FIGURES.fullmatch(text) for text in found) else Face.SANS


def is_number(text: str) -> bool:
    return bool(re.fullmatch(r"[-−+]?[0-9][0-9,.]*", text))
