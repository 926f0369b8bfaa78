"""Numbers, sizes and names as the window writes them."""

from __future__ import annotations

from itertools import product

import pytest
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QApplication

from shardcore.model.text import size_text
from shardscope.session.display_text import grouped, share_text
from shardscope.widgets.elided_label import cut_text


def test_sizes_and_shares_are_short() -> None:
    """A share above zero is never shown as zero."""
    sizes = (0, 1023, 1024, 2**20 - 1, 105 * 10**9, 2**60)
    assert [size_text(size) for size in sizes] == ["0 B", "1,023 B", "1.0 KiB", "1,024 KiB", "97.8 GiB", "1.0 EiB"]
    shares = [share_text(1, 2), share_text(1, 10**6), share_text(0, 5), share_text(0, 0)]
    assert shares == ["50.0 %", "< 0.1 %", "0.0 %", "0.0 %"]


@pytest.mark.parametrize("text", ["13 rows · 3,857,456 bytes", "payload [4,500]", "at 0x1f4e5a6", "46,464 rows"])
def test_numbers_are_not_cut(qapp: QApplication, text: str) -> None:
    """A number is shown entirely or not at all; a long key of digits keeps both ends."""
    metrics = QFontMetricsF(qapp.font())
    numbers = {word.strip("[],") for word in text.split() if word.strip("[],")[0].isdigit()}
    for room in range(8, 400, 3):
        for word in cut_text(metrics, text, room).rstrip("…").split():
            assert not word.strip("[],")[:1].isdigit() or word.strip("[],") in numbers
    for before, letters in product(("", "object "), (8, 10, 14)):
        key = f"{before}864691135123456789"
        room = metrics.horizontalAdvance("0" * (letters + len(before)))
        first, _, last = cut_text(metrics, f"{key} · 4,500 bytes", room).partition("…")
        assert key.startswith(first)
        assert last
        assert key.endswith(last)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("it begins at 1684; the file ends at 1700 (bytes 1684..1700)", "1,684 1,700 1,684..1,700"),
        ("the chunk has 4,294,967,295 bytes; only 1604 are there.", "4,294,967,295 1,604"),
        ("byte 18446744073709551615, after the end", "18,446,744,073,709,551,615"),
        ("computed 45674680, stored 88562344", "45674680 88562344"),
        ("no object has the key 20250101", "20250101"),
        ("of 404237804481: skeleton 1964146105497592528 of 2048 bytes", "404237804481 1964146105497592528 2,048"),
        ("expired since 2026-11-10T22:30:10Z", "2026-11-10T22:30:10Z"),
        ("entry_1234 is 0.12345 of 0x1000", "entry_1234 0.12345 0x1000"),
        ("12345: 34 stored bytes", "12345: 34"),
        ("000000", "000000"),
        ("reserved 00001234", "00001234"),
        ("w0 to w2: 98c87823 82369525 91268cdd.", "82369525"),
    ],
)
def test_numbers_in_sentences_have_commas(text: str, shown: str) -> None:
    told = grouped(text)
    for part in shown.split():
        assert part in told
    assert grouped(told) == told
    assert told.replace(",", "") == text.replace(",", "")
