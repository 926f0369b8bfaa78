"""Forms made from descriptions: what is described is shown, and comes back as the operation takes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from shardcore import Depth
from shardcore.operations.description import Convert, ExtractOptions, Pack, setting, settings_of
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.tasks.extract import WITHOUT, ExtractTask
from shardscope.tasks.form import FieldForm
from tests.app.conftest import open_in


@dataclass(frozen=True, kw_only=True)
class Made:
    """An operation with a setting of each kind."""

    out: str = setting("", "The target.", "OUT", positional=True)
    strict: bool = setting(False, "Refuse files without a checksum.")
    depth: Depth = setting(Depth.CONTENT, "Check only the index.", "", "--no-check", on=Depth.INDEX)
    most: int | None = setting(None, "Most bytes of one file.", "N", unit="bytes")
    order: str = setting("key", "Order of the rows.", "ORDER", values=("key", "size"), label="Sort by")


@pytest.fixture
def form(qtbot: QtBot) -> Iterator[FieldForm]:
    page = QWidget()
    qtbot.addWidget(page)
    made = FieldForm(page)
    made.add_settings(Made)
    yield made
    page.close()


def test_a_described_setting_is_a_field(form: FieldForm) -> None:
    assert list(form.fields) == ["strict", "depth", "most", "order"]
    strict, order = form.fields["strict"], form.fields["order"]
    assert strict.box.text() == "&Refuse files without a checksum"  # type: ignore[attr-defined]
    assert form.labelForField(order).text() == "&Sort by"  # type: ignore[attr-defined]
    assert order.toolTip() == "Order of the rows."
    assert form.settings == {}


def test_values_are_those_of_the_operation(form: FieldForm) -> None:
    form.restore({"strict": "yes", "depth": "yes", "most": "64K", "order": "size", "gone": "1"})
    assert form.settings == {"strict": True, "depth": Depth.INDEX, "most": 1 << 16, "order": "size"}
    assert Made(**form.settings).most == 1 << 16
    kept = form.kept()
    form.restore({"strict": "no", "depth": "no", "order": "key", "most": "much"})
    assert form.settings == {"most": 1 << 16}
    form.restore(kept)
    assert form.settings["order"] == "size"


def test_an_error_is_shown_below_its_field(form: FieldForm) -> None:
    most = form.fields["most"]
    most.line.setText("much")  # type: ignore[attr-defined]
    assert form.problem == "✖ most must be a number of bytes, such as 4096, 64K or 1M, not 'much'"
    assert not most.wrong.isHidden()
    most.line.setText("1M")  # type: ignore[attr-defined]
    assert form.problem == ""
    assert form.reject("most", "too small")
    assert form.problem == "✖ too small"
    most.line.setText("2M")  # type: ignore[attr-defined]
    assert form.problem == ""


def test_no_setting_of_an_extraction_is_forgotten(
    qtbot: QtBot, session: Session, settings: Settings, data: object
) -> None:
    """A setting added to the description is in the dialog; those left out are named there."""
    window = QWidget()
    qtbot.addWidget(window)
    open_in(session, qtbot, data / "swh" / "small.shard")  # type: ignore[operator]
    sheet = ExtractTask(session, settings, window).ask(None)
    assert sheet is not None
    described = {name for name, _, _ in settings_of(ExtractOptions)}
    assert described - set(WITHOUT) <= set(sheet.form.fields)
    sheet.reject()


def test_labels_of_switches_end_without_a_period() -> None:
    for operation in (ExtractOptions, Pack, Convert):
        for name, one, _ in settings_of(operation):
            assert not one.label.endswith("."), name
