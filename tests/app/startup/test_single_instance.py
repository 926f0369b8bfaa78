"""One window for all starts: the message, the socket, and who is listened to."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtNetwork import QLocalServer, QLocalSocket
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from shardcore import Span
from shardscope.startup import single_instance
from shardscope.startup.single_instance import (
    LONGEST,
    MOST,
    MOST_GUESTS,
    Handover,
    SingleWindow,
    claim,
    hand_over,
    message_of,
    read_message,
    socket_name,
    start_lock,
)

posix = pytest.mark.skipif(sys.platform == "win32", reason="a socket is a file on Unix")


@pytest.fixture
def name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "s"
    folder.mkdir()
    made = f"{folder}/t"
    if len(made) > 100:
        pytest.skip("the temporary folder is too deep for a socket")
    return made


@pytest.fixture
def server(name: str, qapp: QApplication) -> Iterator[SingleWindow]:
    made = SingleWindow(name)
    assert made.listens
    yield made
    made.close()


def sent(qtbot: QtBot, name: str, data: bytes) -> bytes | None:
    socket = QLocalSocket()
    answer = bytearray()
    socket.connectToServer(name)
    qtbot.waitUntil(lambda: socket.state() is QLocalSocket.LocalSocketState.ConnectedState)
    socket.write(data)
    socket.flush()

    def over() -> bool:
        answer.extend(socket.readAll().data())
        return socket.state() is QLocalSocket.LocalSocketState.UnconnectedState

    qtbot.waitUntil(over)
    return bytes(answer) or None


# --- the message ---


def test_a_message_carries_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths are whole, whatever the working directory of the running window is; formats and bytes go along."""
    monkeypatch.chdir(tmp_path)
    same = (Handover("s3://bucket/key"), Handover("/x/ü b.shard"), Handover("https://host/a.zip#/x/y", "zip"))
    files = [Handover("a.shard", "swh", Span("", 8, 16)), *same]
    found = read_message(message_of(files).strip())
    assert found == (Handover(str(tmp_path / "a.shard"), "swh", Span("", 8, 16)), *same)
    assert read_message(message_of([]).strip()) == ()


@pytest.mark.parametrize(
    "rest", ["user:secret@host/a", *(f"host/a{rest}=secret" for rest in ("?X-Amz-Signature", "#token"))]
)
def test_no_credential_is_sent_or_taken(rest: str) -> None:
    for uri in (f"https://{rest}", f"https://{rest}#/x"):
        assert message_of([Handover(uri)]) == b""
        with pytest.raises(ValueError, match="credential"):
            read_message(json.dumps({"version": 1, "open": [{"uri": uri}]}).encode())


def test_a_message_is_bounded() -> None:
    """Too many files, or too long names, are not sent and not taken."""
    assert message_of([Handover("/a")] * (MOST + 1)) == b""
    assert message_of([Handover("/" + "a" * 4000)] * 20) == b""
    with pytest.raises(ValueError, match="long"):
        read_message(b" " * (LONGEST + 1))
    with pytest.raises(ValueError, match="list"):
        read_message(json.dumps({"version": 1, "open": [{"uri": "/a"}] * (MOST + 1)}).encode())


@pytest.mark.parametrize(
    "entry",
    [
        *("text", {}, {"uri": 5}, {"uri": ""}, {"uri": "relative"}, {"uri": "/a\x00b"}, {"uri": "/a\nb"}),
        *({"uri": "/" + "a" * 5000}, {"uri": "/a", "format": "nonsense"}, {"uri": "/a", "format": 5}),
        *({"uri": "/a", "select": select} for select in (5, ["", 5], ["", 5, 4], ["", -1, 4], ["", True, 4])),
        *({"uri": "/a", "select": select} for select in (["", 1, 1 << 80], [5, 1, 2])),
    ],
)
def test_what_is_no_file_is_refused(entry: object) -> None:
    with pytest.raises(ValueError):
        read_message(json.dumps({"version": 1, "open": [{"uri": "/fine"}, entry]}).encode())


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff\xfe", b'{"version": 2, "open": []}', b"[" * 50_000])
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        read_message(data)


# --- the socket ---


def test_the_name_has_the_user_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":7")
    first = socket_name()
    monkeypatch.setenv("DISPLAY", ":8")
    assert socket_name() != first
    if sys.platform != "win32":
        assert f"shardscope-{os.getuid()}-" in first


@posix
def test_only_the_user_writes_to_the_socket(server: SingleWindow, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket of another user is not trusted."""
    assert stat.S_IMODE(Path(name).stat().st_mode) & 0o077 == 0
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert not hand_over(name, message_of([Handover("/a")]))


@pytest.mark.parametrize("length", [7, 1000])
def test_a_message_may_arrive_in_pieces(server: SingleWindow, name: str, qtbot: QtBot, length: int) -> None:
    socket, message = QLocalSocket(), message_of([Handover("/a/b.shard")])
    socket.connectToServer(name)
    with qtbot.waitSignal(server.wanted) as caught:
        for at in range(0, len(message), length):
            socket.write(message[at : at + length])
            qtbot.waitUntil(lambda: socket.flush() or not socket.bytesToWrite())
    assert caught.args == [(Handover("/a/b.shard"),)]
    qtbot.waitUntil(lambda: socket.state() is QLocalSocket.LocalSocketState.UnconnectedState)
    assert socket.readAll().data() == b"ok\n"


@pytest.mark.parametrize("data", [b"nonsense\n", b"x" * (LONGEST + 10), b'{"version": 1, "open": [{"uri": "a"}]}\n'])
def test_nonsense_is_ended_without_an_answer(server: SingleWindow, name: str, qtbot: QtBot, data: bytes) -> None:
    with qtbot.assertNotEmitted(server.wanted):
        assert sent(qtbot, name, data) is None
    with qtbot.waitSignal(server.wanted):
        assert sent(qtbot, name, message_of([])) == b"ok\n"


@pytest.mark.thorough
def test_silence_is_ended(server: SingleWindow, name: str, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever connects and sends nothing is let go after a while, and too many at once are not let in."""
    guests = [QLocalSocket() for _ in range(MOST_GUESTS + 4)]
    for guest in guests:
        guest.connectToServer(name)
    idle = QLocalSocket.LocalSocketState.UnconnectedState
    qtbot.waitUntil(lambda: sum(guest.state() is not idle for guest in guests) <= MOST_GUESTS)
    qtbot.waitUntil(lambda: all(guest.state() is idle for guest in guests))


def test_a_socket_that_a_crash_left_is_replaced(name: str, qtbot: QtBot) -> None:
    left = QLocalServer()
    assert left.listen(name)
    kept = Path(name).with_name("kept")
    if sys.platform != "win32":
        os.link(name, kept)
    left.close()
    if sys.platform != "win32":
        kept.rename(name)
    assert not hand_over(name, message_of([]))
    made = SingleWindow(name)
    assert made.listens
    with qtbot.waitSignal(made.wanted):
        assert sent(qtbot, name, message_of([])) == b"ok\n"
    made.close()
    if sys.platform != "win32":
        assert not Path(name).exists()


@pytest.mark.usefixtures("qapp")
def test_starts_at_once_look_and_listen_one_after_the_other(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[bool] = []

    def looked(*_: object) -> bool:
        looks.append(start_lock(name).tryLock(0))
        return False

    monkeypatch.setattr(single_instance, "hand_over", looked)
    made = claim(name, message_of([]))
    assert made.listens
    assert looks == [False]
    assert start_lock(name).tryLock(0)
    made.close()
    monkeypatch.setattr(single_instance, "hand_over", lambda *_: True)
    assert claim(name, message_of([])) is None
    assert start_lock(name).tryLock(0)
