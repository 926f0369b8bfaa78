"""Opening addresses: what is understood, as whom, and what is remembered; stores named by a file are asked about."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from urllib.parse import quote

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from shardcore import RemoteOptions
from shardscope.session.connections import Connections, LoginKind, from_json, login_kind_of, to_json
from shardscope.session.open_request import OpenRequest
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings
from shardscope.tasks.connect import AddressDialog, probe
from tests.app.shell.conftest import asked, press
from tests.app.shell.test_names import unnamed
from tests.remote.faults import FaultProxy, Refuse
from tests.remote.s3 import Place
from tests.remote.servers import RangeServer
from tests.remote.test_trust import write_zones

SIGNATURE = "X-Amz-Signature=0123456789abcdef0123456789abcdef"

LINK = "https://neuroglancer-demo.appspot.com/#!" + quote(
    '{"layers": [{"name": "raw", "type": "image", "source": "precomputed://gs://bucket/em"},'
    ' {"name": "cells", "source": "precomputed://https://host/seg"}]}'
)


@pytest.fixture
def stored(s3: Place, data: Path) -> Place:
    s3.put({"some/small.shard": (data / "swh" / "small.shard").read_bytes(), "some/notes.txt": b"hello"})
    return s3


def reached(place: Place, **more: object) -> RemoteOptions:
    return RemoteOptions(endpoint_url=place.endpoint, region="us-east-1", addressing="path", **more)


def signed(place: Place) -> RemoteOptions:
    return reached(place, access_key=place.key, secret_key=place.secret)


def test_ways_are_remembered_without_secrets() -> None:
    way = RemoteOptions(endpoint_url="http://127.0.0.1:9000", profile="lab", requester_pays=True, addressing="path")
    assert from_json(to_json(way)) == way
    assert from_json(to_json(RemoteOptions(anonymous=True))) == RemoteOptions(anonymous=True)
    assert from_json(to_json(RemoteOptions(anonymous=False))) == RemoteOptions(anonymous=False)
    # Where nobody chose, what was signed with the usual credentials is not asked for anonymously the next time.
    assert from_json(to_json(RemoteOptions(region="eu-west-1"))) == RemoteOptions(region="eu-west-1")
    keys = RemoteOptions(access_key="AKIAEXAMPLE", secret_key="hidden", session_token="alsohidden")
    assert login_kind_of(keys) is LoginKind.KEYS
    made = Connections({})
    made.remember("s3://b/k", keys)
    assert made.connection_for("s3://b/other") is keys
    assert made.connection_for("s3://c/k") is None
    assert "hidden" not in str(made.kept)
    assert "AKIA" not in str(made.kept)
    later = Connections(made.kept)
    assert later.needs_keys("s3://b/k")
    assert later.connection_for("s3://b/k") == RemoteOptions(anonymous=True)
    assert from_json("no json") is None
    assert from_json('{"who": 3}') is None


def test_a_bucket_stays_at_its_store() -> None:
    lab = "https://minio.example.org:9000"
    made = Connections({})
    made.remember("s3://private/k", RemoteOptions(endpoint_url=lab, access_key="a", secret_key="b"))
    later = Connections(made.kept)
    assert later.needs_keys("arn:aws:s3:::private/k")
    for uri in ("s3://private/other", "s3a://private/other", "arn:aws:s3:::private/other"):
        way = later.connection_for(uri)
        assert (way.endpoint_url, way.anonymous) == (lab, True)
    assert later.connection_for("https://private.s3.amazonaws.com/k") is None
    assert later.connection_for("https://s3.console.aws.amazon.com/s3/object/private?region=eu-west-1&prefix=k") is None
    assert later.is_ambiguous("s3://next/k")
    assert not later.is_ambiguous("s3://private/k")
    assert not later.is_ambiguous("https://next.s3.amazonaws.com/k")
    assert not Connections({}).is_ambiguous("s3://next/k")


def test_an_endpoint_is_offered_for_the_next_bucket(window: MainWindow) -> None:
    lab = "https://minio.example.org:9000"
    way = RemoteOptions(endpoint_url=lab, region="lab-1", addressing="path", access_key="a", secret_key="b")
    window.connecting.connections.remember("s3://private/k", way)
    window.open("s3://next/k")
    (sheet,) = window.findChildren(AddressDialog)
    assert window.session.documents.request_log is None
    assert (sheet.endpoint_url, sheet.region.text(), sheet.path_style.isChecked()) == (lab, "lab-1", True)
    assert sheet.understood.text() == f"✔ k in next (S3), at {lab}"
    assert [sheet.endpoint.itemText(row) for row in range(2)] == ["Default (Amazon, Google)", lab]
    # The page of a console names its store, and its region.
    sheet.address.setText("https://s3.console.aws.amazon.com/s3/object/theirs?region=eu-west-1&prefix=k")
    assert (sheet.endpoint_url, sheet.region.text()) == ("", "eu-west-1")
    sheet.address.setText("s3://next/k")
    assert sheet.endpoint_url == lab
    # Google's buckets are at Google; and who chooses a store keeps it.
    sheet.address.setText("gs://next/k")
    assert sheet.endpoint_url == ""
    sheet.endpoint.activated.emit(0)
    sheet.address.setText("s3://another/k")
    assert sheet.endpoint_url == ""
    sheet.reject()


def test_keys_are_asked_once_per_session_and_go_to_their_store_only(window: MainWindow) -> None:
    lab = "https://minio.example.org:9000"
    way = RemoteOptions(endpoint_url=lab, access_key="AKIALAB", secret_key="hidden", session_token="temporary")
    window.connecting.connections.remember("s3://private/k", way)
    assert not window.connecting.has_to_ask("s3://private/other")
    assert window.session.documents.reach("s3://private/other") == way
    assert window.session.documents.reach("s3://public/k") is None
    assert not [one for one in ("AKIALAB", "hidden", "temporary") if one in str(window.connecting.connections.kept)]
    # What fails is corrected without typing the keys again, and another bucket of the store takes them.
    for uri in ("s3://private/misspelt", "s3://next/k"):
        sheet = window.connecting.ask(OpenRequest(uri))
        assert sheet.request.remote == way
        QTest.keyClicks(sheet.endpoint.lineEdit(), "1")
        assert (sheet.who.who, sheet.who.secret_key.text(), sheet.who.token.text()) == (LoginKind.KEYS, "", "")
        assert not sheet.open_button.isEnabled()
        sheet.reject()
    # Keys are held from *Open* on, also where the file is only compared.
    sheet = window.connecting.ask(OpenRequest("s3://private/k"), chosen=lambda _: None)
    for field, text in ((sheet.who.access_key, "OTHER"), (sheet.who.secret_key, "changed")):
        field.selectAll()
        QTest.keyClicks(field, text)
    sheet.open_button.click()
    assert window.session.documents.reach("s3://private/other").secret_key == "changed"
    window.actions_["forget_keys"].trigger()
    window.open("s3://private/k")
    (sheet,) = [one for one in window.findChildren(AddressDialog) if one.isVisible()]
    assert (sheet.who.who, sheet.who.access_key.text(), sheet.endpoint_url) == (LoginKind.KEYS, "", lab)
    sheet.reject()


def test_a_link_of_neuroglancer_offers_its_layers(window: MainWindow) -> None:
    window.open(LINK)
    (sheet,) = window.findChildren(AddressDialog)
    assert [sheet.layer.itemText(row) for row in range(sheet.layer.count())] == [
        "raw (image): gs://bucket/em/",
        "cells: https://host/seg/",
    ]
    assert sheet.layer.isVisibleTo(sheet)
    assert sheet.understood.text() == "✔ the folder em in bucket (Google Cloud Storage)"
    sheet.layer.setCurrentIndex(1)
    assert sheet.request.uri == "https://host/seg/"
    assert unnamed(sheet) == []
    sheet.address.setText("https://host/other")
    assert not sheet.layer.isVisibleTo(sheet)
    assert sheet.request.uri == "https://host/other"
    sheet.address.setText("https://neuroglancer-demo.appspot.com/#!{}")
    assert "no layer" in sheet.understood.text()
    sheet.reject()


@pytest.mark.thorough
def test_the_probe_says_what_was_allowed(stored: Place, server: RangeServer) -> None:
    found = {one.what: one for one in probe("s3://shards/some/small.shard", signed(stored))}
    assert list(found) == ["Read", "Ranges", "List"]
    assert all(one.works for one in found.values())
    assert "small.shard" in found["List"].text
    with FaultProxy(stored.host, [Refuse("AccessDenied")]) as shut:
        options = RemoteOptions(endpoint_url=shut.url, addressing="path", anonymous=True)
        (refused,) = probe("s3://shards/some/small.shard", options)
    assert refused.works is False
    assert "may not be read" in refused.text
    assert "Choose a profile" in refused.text
    address = server.put("/a.shard", b"x" * 100)
    plain = {one.what: one for one in probe(address, None)}
    assert plain["Ranges"].works
    assert plain["List"].works is None
    server.behave(ranges=False)
    whole = {one.what: one for one in probe(address, None)}
    assert whole["Ranges"].works is False


@pytest.mark.thorough
def test_the_sheet_by_keyboard(qtbot: QtBot, window: MainWindow, stored: Place) -> None:
    """Paste, choose keys, type them, test, open: all without a mouse; everything has a name; secrets are dots."""
    window.actions_["open_address"].trigger()
    (sheet,) = window.findChildren(AddressDialog)
    assert not sheet.open_button.isEnabled()
    assert sheet.focusWidget() is sheet.address
    QTest.keyClicks(sheet.address, "ftp://x/y")
    assert sheet.understood.text().startswith("✖")
    sheet.address.clear()
    QTest.keyClicks(sheet.address, "s3://shards/some/small.shard")
    assert sheet.understood.text() == "✔ some/small.shard in shards (S3)"
    assert sheet.open_button.isEnabled()
    assert sheet.allowed.text == "Not tested"
    size = sheet.size()
    QTest.keyClick(sheet, Qt.Key.Key_K, Qt.KeyboardModifier.AltModifier)
    sheet.who.choose(LoginKind.KEYS)
    assert sheet.size() == size
    assert not sheet.open_button.isEnabled()
    QTest.keyClicks(sheet.who.access_key, stored.key)
    QTest.keyClicks(sheet.who.secret_key, stored.secret)
    assert sheet.who.secret_key.echoMode() is QLineEdit.EchoMode.Password
    sheet.endpoint.setEditText(stored.endpoint)
    sheet.path_style.setChecked(True)
    assert unnamed(sheet) == []
    assert sheet.open_button.isDefault()
    QTest.mouseClick(sheet.test, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "List" in sheet.allowed.text)
    assert sheet.open_button.isDefault()
    assert "✔ Read" in sheet.allowed.text
    assert "✔ Ranges" in sheet.allowed.text
    with qtbot.waitSignal(window.session.opened):
        QTest.keyClick(sheet.focusWidget(), Qt.Key.Key_Return)
    assert window.windowTitle().startswith("small.shard")
    assert window.session.documents.request_log.requests


@pytest.mark.thorough
def test_no_secret_is_kept(
    qtbot: QtBot, window: MainWindow, settings: Settings, tmp_path: Path, stored: Place, server: RangeServer, data: Path
) -> None:
    """Settings, recent files, titles, messages, places and the tape have neither keys nor signatures."""
    way = reached(stored, access_key=stored.key, secret_key=stored.secret, session_token="temporary-token")
    with qtbot.waitSignal(window.session.opened):
        window.session.open(OpenRequest("s3://shards/some/small.shard", remote=way))
    window.session.close()
    address = f"{server.put('/small.shard', data / 'swh' / 'small.shard')}?{SIGNATURE}"
    with qtbot.waitSignal(window.session.opened):
        window.open(address)
    tape = window.session.documents.request_log
    with qtbot.waitSignal(window.session.documents.failed):
        window.open(f"{server.url}/nothing?{SIGNATURE}")
    seen = [
        (tmp_path / "settings.json").read_text(),
        *settings.recent,
        window.windowTitle(),
        window.notices.text,
        window.line.note.text(),
        window.session.uri,
        repr(window.session.request),
        tape.lines(),
        *(action.text() for action in window.opening.recent.actions()),
        *(place.where for place in window.places.model.places),
    ]
    for secret in (stored.key, stored.secret, "temporary-token", SIGNATURE[-32:]):
        assert not [text for text in seen if secret in text]
    assert "s3://shards/some/small.shard" in settings.recent
    # Another start has no keys: it asks, and has everything else.
    window.connecting.connections = Connections(settings.connections)
    window.open("s3://shards/some/small.shard")
    (sheet,) = window.findChildren(AddressDialog)
    assert sheet.who.who is LoginKind.KEYS
    sheet.reject()


@pytest.mark.thorough
def test_a_refused_place_has_one_way_out(qtbot: QtBot, window: MainWindow, stored: Place) -> None:
    with FaultProxy(stored.host, [Refuse("AccessDenied")]) as shut:
        options = RemoteOptions(endpoint_url=shut.url, addressing="path", anonymous=True)
        request = OpenRequest("s3://shards/some/small.shard", remote=options)
        with qtbot.waitSignal(window.session.documents.failed):
            window.session.open(request)
        assert window.notices.button.text() == "Choose a profile…"
        window.notices.button.click()
        (sheet,) = window.findChildren(AddressDialog)
        assert sheet.who.who is LoginKind.PROFILE
        assert sheet.endpoint_url == shut.url
        sheet.reject()
        keys = RemoteOptions(endpoint_url=shut.url, addressing="path", access_key="a", secret_key="b")
        with qtbot.waitSignal(window.session.documents.failed):
            window.session.open(request.with_remote(keys))
        assert window.notices.button.text() == "Try anonymous"
        shut.faults = ()
    with qtbot.waitSignal(window.session.documents.failed):
        window.session.open(OpenRequest("s3://shards/none.shard", remote=signed(stored)))
    assert window.notices.button.text() == "Change the address…"
    assert "shardcore" not in window.notices.text
    assert "RemoteOptions" not in window.notices.text


def test_the_window_asks_before_a_folder_beside_the_info(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, data: Path
) -> None:
    root = shutil.copytree(data / "cases/10-key-with-dotdot/dotdot", tmp_path / "set")
    info = json.loads((root / "x/info").read_text())
    info["scales"].append(info["scales"][0] | {"key": "../s1"})
    (root / "x/info").write_text(json.dumps(info))
    with qtbot.waitSignal(window.session.opened):
        window.open(str(root / "x"))
    model = window.places.model
    window.places.chosen.emit(model.place(model.index(0, 0)).where)
    box = asked(qtbot, window, "untrusted")
    assert box.text() == f"Open {root / 's0'}, {root / 's1'}?"
    with qtbot.waitSignal(window.session.opened):
        press(box, "Open")
    assert window.session.shard.objects.keys[:] == ["0"]


@pytest.mark.parametrize("agrees", [True, False])
def test_the_answer_decides_what_is_told(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, data: Path, agrees: bool
) -> None:
    root = shutil.copytree(data / "cases/10-key-with-dotdot/dotdot", tmp_path / "set")
    window.open_paths([str(data / "swh" / "small.shard"), str(root / "x")])
    box = asked(qtbot, window, "untrusted")
    qtbot.waitUntil(lambda: window.session.shard is not None)
    assert window.notices.all == []
    press(box, "Open" if agrees else "Cancel")
    if agrees:
        qtbot.waitUntil(lambda: window.session.uri == str(root / "x"))
    assert [one.text.count("Cannot open ") for one in window.notices.all] == [1] * (not agrees)


@pytest.mark.thorough
def test_the_window_asks_before_it_connects(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "<b>lab</b>")
    with RangeServer() as server:
        write_zones(tmp_path, f"http://{server.host}")
        window.open(str(tmp_path))
        box = asked(qtbot, window, "untrusted")
        assert box.text() == f"Connect to http://{server.host} as profile <b>lab</b>?"
        assert box.textFormat() is Qt.TextFormat.PlainText
        assert box.defaultButton() is box.escapeButton()
        box.reject()
        settle(window, 20)
        assert window.session.shard is None
        assert not list(server.log)
        monkeypatch.delenv("AWS_PROFILE")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        window.open(str(tmp_path))
        box = asked(qtbot, window, "untrusted")
        with qtbot.waitSignal(window.session.opened, timeout=60_000):
            press(box, "Connect")
        assert list(server.log)
        assert window.session.request.remote.trusted == {f"http://{server.host}"}
