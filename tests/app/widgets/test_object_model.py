"""The table of objects: pages of rows, any number of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from shardcore import ObjectColumns, ObjectRef, Objects, SourceError
from shardscope.session.session import Session
from shardscope.views.objects.model import PAGE, ObjectModel
from tests.app.conftest import open_in


class ManyObjects(Objects):
    """As many rows as one likes, row number times 100, with a state that depends on the row; keeps no row."""

    def __init__(self, count: int) -> None:
        self.count, self.asked, self.broken = count, list[int](), False

    def __len__(self) -> int:
        return self.count

    def columns(self, rows: NDArray[np.int64], *, sizes: bool = False) -> ObjectColumns:
        if self.broken:
            raise SourceError("the connection is gone")
        self.asked.append(int(rows[0]))
        return ObjectColumns.of(rows, rows * 100, rows * 100 + 50, 50, state=rows % 3)

    def key_texts(self, rows: NDArray[np.int64]) -> list[str | None]:
        return [str(row) for row in rows.tolist()]

    def ref(self, row: int) -> ObjectRef:
        raise IndexError(row)


Many = Callable[[int], tuple[ObjectModel, ManyObjects]]


@pytest.fixture
def many(session: Session, qtbot: QtBot, data: Path) -> Many:
    """Makes a model over many rows, which stand in for those of what is open."""
    open_in(session, qtbot, data / "swh" / "one.shard")

    def make(count: int) -> tuple[ObjectModel, ManyObjects]:
        objects, model = ManyObjects(count), ObjectModel(session)
        session.document.listing = objects
        model.load()
        return model, objects

    return make


def shown(qtbot: QtBot, model: ObjectModel, row: int, column: str) -> str:
    """The text of a cell, when it has come."""
    index = model.index(row, [c.name for c in model.columns].index(column))
    qtbot.waitUntil(lambda: model.row_texts(row).state is not None)
    return str(index.data())


def test_cells(session: Session, qtbot: QtBot, data: Path) -> None:
    model = ObjectModel(session)
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    open_in(session, qtbot, data / "swh" / "small.shard")
    model.load()
    assert model.rowCount() == 13
    assert [column.name for column in model.columns] == ["row", "key", "state", "size", "stored", "start", "codec"]
    assert shown(qtbot, model, 0, "key").startswith("94d9c5e7")
    for row, column, text in ((0, "size", "1,790"), (0, "start", "0x48f"), (9, "state", "unused"), (9, "key", "—")):
        assert shown(qtbot, model, row, column) == text
    assert model.row_of(model.index(4, 0)) == 4
    model.set_rows(np.array([3, 1], np.int64))
    assert model.rowCount() == 2
    session.close()
    model.load()
    assert model.rowCount() == 0


def test_only_what_is_looked_at_is_read(qtbot: QtBot, many: Many) -> None:
    """Of 46 million rows only the pages on the screen are read."""
    model, objects = many(46_000_000)
    assert model.rowCount() == 1 << 24
    model.set_most(50_000_000)
    assert model.rowCount() == 46_000_000
    assert shown(qtbot, model, 0, "key") == "0"
    assert shown(qtbot, model, 45_999_999, "key") == "45999999"
    for row in range(30):
        assert model.key_of(model.index(row, 1)) == str(row)
    assert len(objects.asked) == 2


def test_scrolling_past_asks_for_little(qtbot: QtBot, many: Many) -> None:
    model, _ = many(PAGE * 1000)
    for page in range(1000):
        model.index(page * PAGE, 1).data()
    assert len(model._asked) <= 6
    assert shown(qtbot, model, 999 * PAGE, "key") == str(999 * PAGE)


def test_more_rows_than_qt_can_scroll(qtbot: QtBot, many: Many) -> None:
    """Rows beyond 32 bits of pixels can be reached."""
    model, _ = many(10**11)
    model.set_most(10**8)
    assert model.rowCount() == 10**8
    index = model.show_place(10**11 - 1)
    assert model.row_of(index) == 10**11 - 1
    assert model.block == (10**11 - 10**8, 10**11)
    model.set_block(3)
    assert shown(qtbot, model, 5, "key") == str(3 * 10**8 + 5)


def test_rows_that_cannot_be_read_say_so(qtbot: QtBot, many: Many) -> None:
    model, objects = many(PAGE * 3)
    objects.broken = True
    with qtbot.waitSignal(model.page_failed) as caught:
        model.index(0, 1).data()
    assert "connection" in caught.args[0]
    requests = model.requests
    assert model.index(1, 1).data() == "not readable"
    assert model.requests == requests
    objects.broken = False
    assert shown(qtbot, model, PAGE, "key") == str(PAGE)
