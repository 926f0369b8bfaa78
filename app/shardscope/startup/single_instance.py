"""Input from outside the window: links into files, files passed by a second start, and signals of the system.

A second start of the program passes its files to the running window, and ends.

Only the same user can connect to the socket. A message is one line of JSON with paths, addresses and formats.
Credentials are never sent: a start with credentials opens a window of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QDir, QLockFile, QObject, QSocketNotifier, QTimer, Signal
from PySide6.QtGui import QGuiApplication

from shardcore import Span, UsageError
from shardcore.dataclasses import dataclass
from shardcore.model.inside_path import split_inside
from shardcore.shards.registry import CONTAINERS, FORMATS
from shardcore.sources.location import local_path
from shardcore.sources.remote.address import is_address, parse_address, shown_address
from shardcore.system import WINDOWS, ending_signals, is_own, user_mark
from shardscope.startup.settings import settings_file

if TYPE_CHECKING:
    from PySide6.QtNetwork import QLocalSocket

_COMMAND = "shardscope "
_NUMBER = r"(?:0[xX][0-9a-fA-F]+|\d+)"
_LINK = re.compile(rf"(?P<file>.+)#(?:(?P<source>[^#]+):)?(?P<start>{_NUMBER})(?:-(?P<stop>{_NUMBER}))?", re.DOTALL)

LONGEST = 64 * 1024
"""Maximum length in bytes of a message to the running window."""

MOST = 200

LONGEST_PATH = 4096
"""Maximum length of a path or address in characters."""

MOST_GUESTS = 8
"""Maximum number of simultaneous connections."""

PATIENCE_MILLISECONDS = 2_000
"""Timeout in milliseconds for connecting, and for a connection that sends no message."""

ANSWER_MILLISECONDS = 10_000
"""Timeout in milliseconds for the response; long, since a window that is opening a file is busy."""

_VERSION = 1
_OK = b"ok\n"
_HIDDEN = ("offscreen", "minimal", "vnc")


@dataclass(frozen=True, slots=True)
class Handover:
    """File to open in the running window; `uri` is an absolute path or an address."""

    uri: str
    format: str | None = None
    select: Span | None = None


# --- links: `FILE#offset` and `FILE#start-stop` ---


def pasted_link(text: str) -> tuple[str, Span | None]:
    """Split a pasted link, or the link in a pasted `shardscope` command line; see `split_link`. Call it in a job."""
    if text.startswith(_COMMAND) and not _is_there(text):
        with suppress(ValueError):
            words = shlex.split(text)
            text = words[1] if len(words) == 2 else text
    return split_link(text)


def may_be_link(text: str) -> bool:
    """Return whether a text may contain more than a path or address; does not access the disk."""
    return "#" in text or text.startswith(_COMMAND)


def split_link(text: str) -> tuple[str, Span | None]:
    """Return a path or address, and the bytes to select in it or None.

    - `a.shard#72` selects the byte at 72, `a.shard#72-80` eight bytes
    - `a.shard#@100-200:5` selects byte 5 of the content that bytes 100 to 200 decode to
    - `a.des#/2090#72` selects byte 72 of the object 2090

    If a file with such a name exists, the text is not split. `file://` URLs are accepted. Accesses the disk.
    """
    if text.startswith("file://"):
        url, mark, place = text.partition("#")
        text = f"{local_path(url)}{mark}{place}"
    found = _LINK.fullmatch(text)
    if found is None or _is_there(text):
        return text, None
    if not is_address(text) and not _is_there(_file_of(found["file"])):
        return text, None
    start = int(found["start"], 0) if found["start"][:2].lower() == "0x" else int(found["start"])
    last = found["stop"]
    stop = start + 1 if last is None else int(last, 0) if last[:2].lower() == "0x" else int(last)
    return found["file"], Span(found["source"] or "", start, max(stop, start))


def _file_of(text: str) -> str:
    try:
        return split_inside(text)[0]
    except UsageError:
        return text


def _is_there(text: str) -> bool:
    if is_address(text):
        return False
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False


# --- the message ---


def socket_name() -> str:
    place = [os.environ.get(name, "") for name in ("DISPLAY", "WAYLAND_DISPLAY")]
    digest = hashlib.sha256("\n".join([*place, str(settings_file())]).encode(errors="surrogateescape")).hexdigest()[:12]
    name = f"shardscope-{user_mark()}-{digest}"
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    if not WINDOWS and folder and Path(folder).is_dir() and len(folder) < 60:
        return f"{folder}/{name}"
    return name


def is_shown() -> bool:
    return QGuiApplication.platformName() not in _HIDDEN


def may_be_sent(uri: str) -> bool:
    """Return whether a path, address or link has no login, query or other possible credential."""
    try:
        file = split_inside(uri)[0]
    except UsageError:
        return False
    return not is_address(file) or shown_address(file) == file


def message_of(files: Sequence[Handover]) -> bytes:
    """Return the message that opens files; empty if it cannot be sent (credentials, too many, too long)."""
    if len(files) > MOST or not all(may_be_sent(one.uri) for one in files):
        return b""
    entries: list[dict[str, Any]] = []
    for one in files:
        uri = one.uri if is_address(one.uri) else str(Path(one.uri).absolute())
        select = [one.select.source, one.select.start, one.select.stop] if one.select is not None else None
        entries.append({"uri": uri, "format": one.format, "select": select})
    text = json.dumps({"version": _VERSION, "open": entries}).encode() + b"\n"
    return text if len(text) <= LONGEST else b""


def read_message(data: bytes) -> tuple[Handover, ...]:
    """Return the files of a message; raises `ValueError` if it is invalid."""
    if len(data) > LONGEST:
        raise ValueError(f"the message is too long: {len(data):,} bytes, at most {LONGEST:,} are allowed")
    try:
        found = json.loads(data.decode())
    except RecursionError as error:
        raise ValueError("the message is nested too deeply") from error
    if not isinstance(found, Mapping) or found.get("version") != _VERSION:
        raise ValueError(f"the message is not a JSON object with version {_VERSION}")
    entries = found.get("open")
    if not isinstance(entries, list) or len(entries) > MOST:
        raise ValueError(f"`open` is not a list of at most {MOST} files")
    return tuple(_read_entry(entry) for entry in entries)


def _read_entry(entry: object) -> Handover:
    if not isinstance(entry, Mapping):
        raise ValueError("an entry of `open` is not a JSON object")
    uri, format = entry.get("uri"), entry.get("format")
    if not isinstance(uri, str) or not 0 < len(uri) <= LONGEST_PATH or not uri.isprintable():
        raise ValueError(f"`uri` is not text of 1 to {LONGEST_PATH} printable characters")
    if is_address(uri):
        try:
            parse_address(split_inside(uri)[0])
        except UsageError as error:
            raise ValueError("the address is invalid") from error
        if not may_be_sent(uri):
            raise ValueError("the address contains a credential")
    elif not Path(uri).is_absolute():
        raise ValueError("the path is not absolute")
    if format is not None and format not in (*FORMATS, *CONTAINERS):
        raise ValueError(f"unknown format: {format}")
    return Handover(uri, format, _read_span(entry.get("select")))


def _read_span(found: object) -> Span | None:
    if found is None:
        return None
    if not isinstance(found, list) or len(found) != 3:
        raise ValueError("the selection is not [source, start, stop]")
    source, start, stop = found
    numbers = all(type(one) is int and 0 <= one < 1 << 63 for one in (start, stop))
    if not isinstance(source, str) or len(source) > LONGEST_PATH or not numbers or start > stop:
        raise ValueError("the selection requires 0 <= start <= stop < 2^63 and a source name as short as a path")
    return Span(source, start, stop)


# --- the second start ---


def hand_over(name: str, message: bytes) -> bool:
    """Send a message; return whether a running window accepted it. Blocks up to `ANSWER_MILLISECONDS`."""
    if not message or not _is_own(name):
        return False
    from PySide6.QtNetwork import QLocalSocket

    guest = QLocalSocket()
    guest.connectToServer(name)
    if not guest.waitForConnected(PATIENCE_MILLISECONDS):
        return False
    guest.write(message)
    answer = b""
    while len(answer) < len(_OK) and guest.waitForReadyRead(ANSWER_MILLISECONDS):
        answer += bytes(guest.readAll().data())
    guest.disconnectFromServer()
    return answer == _OK


def _is_own(name: str) -> bool:
    """Return whether this user owns the socket: another user could create one with this name."""
    if WINDOWS:
        return True
    path = Path(name) if name.startswith("/") else Path(QDir.tempPath()) / name
    try:
        return is_own(path.lstat())
    except OSError:
        return False


# --- the running window ---


class SingleWindow(QObject):
    wanted = Signal(object)
    """Carries the files as a tuple of `Handover`; empty to raise the window only."""

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        from PySide6.QtNetwork import QLocalServer

        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.setMaxPendingConnections(MOST_GUESTS)
        self._server.newConnection.connect(self._connected)
        self._guests: dict[QLocalSocket, bytes] = {}
        # No window answered on it (see `claim`), so an existing socket is left from a crash.
        QLocalServer.removeServer(name)
        self.listens = self._server.listen(name)

    def close(self) -> None:
        for guest in list(self._guests):
            guest.abort()
        self._server.close()

    def _connected(self) -> None:
        while self._server.hasPendingConnections():
            guest = self._server.nextPendingConnection()
            if len(self._guests) >= MOST_GUESTS:
                guest.abort()
                guest.deleteLater()
                continue
            self._guests[guest] = b""
            guest.setReadBufferSize(LONGEST + 1)
            guest.readyRead.connect(partial(self._take, guest))
            guest.disconnected.connect(partial(self._left, guest))
            QTimer.singleShot(PATIENCE_MILLISECONDS, guest, guest.abort)
            self._take(guest)

    def _take(self, guest: QLocalSocket) -> None:
        if guest not in self._guests:
            return
        data = self._guests[guest] = self._guests[guest] + bytes(guest.readAll().data())
        line, end, rest = data.partition(b"\n")
        if not end and len(data) <= LONGEST:
            return
        try:
            files = read_message(line) if end and not rest else None
        except ValueError:
            files = None
        if files is None:
            guest.abort()
            return
        guest.write(_OK)
        guest.flush()
        guest.disconnectFromServer()
        self.wanted.emit(files)

    def _left(self, guest: QLocalSocket) -> None:
        if self._guests.pop(guest, None) is not None:
            guest.deleteLater()


def start_lock(name: str) -> QLockFile:
    """Return the lock that a new instance holds until it has handed over its files or accepts connections."""
    path = settings_file().with_name(f"{Path(name).name}.lock")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
    return QLockFile(str(path))


def claim(name: str, message: bytes) -> SingleWindow | None:
    """Pass the message to the running window and return None; if there is none, listen and return a `SingleWindow`."""
    turn = start_lock(name)
    turn.tryLock(2 * ANSWER_MILLISECONDS)
    try:
        return None if hand_over(name, message) else SingleWindow(name)
    finally:
        turn.unlock()


# --- signals of the system ---


class Interrupts(QObject):
    """Calls `end` on Ctrl+C and `kill`. A socket wakes Qt up, since Python handles no signal while Qt waits."""

    def __init__(self, end: Callable[[], object]) -> None:
        super().__init__()
        self._end_window = end
        self._reader, self._writer = socket.socketpair()
        for side in (self._reader, self._writer):
            side.setblocking(False)
        self._notifier = QSocketNotifier(self._reader.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._read)
        # The wake-up socket already reports the signal.
        nothing = lambda number, frame: None  # noqa: E731
        self._before = {number: signal.signal(number, nothing) for number in (signal.SIGINT, *ending_signals())}
        self._old_wakeup = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)

    def _read(self) -> None:
        self._reader.recv(64)
        self._end_window()

    def close(self) -> None:
        signal.set_wakeup_fd(self._old_wakeup)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._notifier.setEnabled(False)
        self._reader.close()
        self._writer.close()
