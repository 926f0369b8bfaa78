"""Opening in another way than by recognising."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

import shardcore
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.shell.notices import Notices
from shardscope.shell.open_with import OpenAs, OpenAsDialog, guess_text
from shardscope.widgets.option_fields import FlagField, FolderField, JsonField, json_problem

FORMATS = shardcore.shards.registry.all_formats()


@pytest.fixture
def bare(data: Path) -> Path:
    return data / "neuroglancer" / "bare_shard" / "0.shard"


@pytest.fixture
def ways(qtbot: QtBot, session: Session) -> tuple[OpenAs, Notices, QWidget]:
    window = QWidget()
    qtbot.addWidget(window)
    bar = Notices(window)
    made = OpenAs(session, bar, window)
    session.opened.connect(made.show_guess)
    return made, bar, window


def dialog_of(qtbot: QtBot, window: QWidget) -> OpenAsDialog:
    qtbot.waitUntil(lambda: window.findChild(OpenAsDialog) is not None)
    found = window.findChild(OpenAsDialog)
    assert isinstance(found, OpenAsDialog)
    return found


def spec_of(dialog: OpenAsDialog) -> JsonField:
    field = dialog.fields["spec"]
    assert isinstance(field, JsonField)
    return field


def deleted_of(dialog: OpenAsDialog) -> FlagField:
    field = dialog.fields["deleted"]
    assert isinstance(field, FlagField)
    return field


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", ""),
        (" \n", ""),
        ('{"a": 1}', ""),
        ('{"a": 1', "The specification is not JSON: unexpected end of the text (column 8)"),
        ('{\n "a" 1}', "The specification is not JSON: expected a colon after a name (line 2, column 6)"),
        ("[1]", "A specification must be"),
        ("7", "A specification must be"),
        ("[" * 100_000, "The specification: nested deeper than 200 levels"),
        ('{"minishard_bits": %s}' % ("9" * 5000), "The specification: a number has 5000 digits"),
    ],
)
def test_json_is_judged_with_its_place(text: str, problem: str) -> None:
    found = json_problem(text)
    assert found.startswith(problem)
    assert bool(found) == bool(problem)


def test_fields_make_a_request(qtbot: QtBot) -> None:
    """What is filled in is what is opened."""
    dialog = OpenAsDialog(OpenRequest(""), FORMATS)
    qtbot.addWidget(dialog)
    assert not dialog.apply.isEnabled()
    dialog.path.setText(" some.shard ")
    assert dialog.apply.isEnabled()
    assert dialog.request == OpenRequest("some.shard")
    dialog.format.setCurrentIndex(dialog.format.findData("mdb"))
    folder = dialog.fields["xorbs"]
    assert isinstance(folder, FolderField)
    folder.line.setText("xorbs")
    with qtbot.waitSignal(dialog.chosen) as caught:
        dialog.apply.click()
    assert caught.args == [OpenRequest("some.shard", "mdb", {"xorbs": "xorbs"})]


def test_a_format_shows_its_own_options(qtbot: QtBot) -> None:
    dialog = OpenAsDialog(OpenRequest("a.shard"), FORMATS)
    qtbot.addWidget(dialog)
    dialog.show()
    assert all(field.toolTip() == field.option.help for field in dialog.fields.values())
    spec_of(dialog).editor.setPlainText("{")
    for name, options in ((None, set()), ("neuroglancer", {"spec"}), ("des", {"deleted", "date", "n_bits"})):
        dialog.format.setCurrentIndex(dialog.format.findData(name))
        assert {option for option, field in dialog.fields.items() if field.isVisible()} == options
        assert dialog.apply.isEnabled() == (name != "neuroglancer")


def test_what_is_open_is_shown_with_its_evidence(qtbot: QtBot, bare: Path) -> None:
    with shardcore.open(bare) as shard:
        dialog = OpenAsDialog(OpenRequest(str(bare)), FORMATS, shard)
        qtbot.addWidget(dialog)
        assert json.loads(spec_of(dialog).editor.toPlainText()) == json.loads(shard.parameters)
        for sentence in shard.evidence:
            assert sentence in spec_of(dialog).evidence.text()
        assert dialog.path.isReadOnly()
        assert dialog.request == OpenRequest(str(bare))
        spec_of(dialog).editor.setPlainText("")
        assert dialog.request.options == {}
        assert guess_text(shard).startswith("Specification inferred from the bytes: preshift_bits 0")


def test_a_guess_is_told_and_can_be_changed(
    qtbot: QtBot, session: Session, ways: tuple[OpenAs, Notices, QWidget], bare: Path
) -> None:
    _, bar, window = ways
    with qtbot.waitSignal(session.opened):
        session.open(str(bare))
    assert bar.text.startswith("Specification inferred")
    bar.button.click()
    dialog = dialog_of(qtbot, window)
    spec = json.loads(spec_of(dialog).editor.toPlainText())
    spec_of(dialog).editor.setPlainText(json.dumps(spec))
    with qtbot.waitSignal(session.opened):
        QTest.mouseClick(dialog.apply, Qt.MouseButton.LeftButton)
    assert session.shard is not None
    assert session.shard.evidence == ()
    assert json.loads(session.request.options["spec"]) == spec
    assert bar.text == ""


def test_a_stated_specification_is_not_told(
    qtbot: QtBot, session: Session, ways: tuple[OpenAs, Notices, QWidget], data: Path
) -> None:
    made, bar, _ = ways
    assert made.change() is None
    with qtbot.waitSignal(session.opened):
        session.open(str(data / "neuroglancer" / "identity_raw"))
    assert bar.text == ""


def test_open_with_asks_for_everything(
    qtbot: QtBot, session: Session, ways: tuple[OpenAs, Notices, QWidget], data: Path
) -> None:
    made, _, window = ways
    made.ask()
    dialog = dialog_of(qtbot, window)
    names = {dialog.format.itemData(n) for n in range(dialog.format.count())}
    assert names == {None, *shardcore.shards.registry.FORMATS}
    dialog.path.setText(str(data / "des" / "sidecar" / "20261103_51_0000.des"))
    dialog.format.setCurrentIndex(dialog.format.findData("des"))
    deleted_of(dialog).box.setChecked(True)
    with qtbot.waitSignal(session.opened):
        dialog.apply.click()
    assert session.request.deleted
