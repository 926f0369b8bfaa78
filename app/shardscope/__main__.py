"""The `shardscope` command: opens the window, or takes a screenshot without a display."""

from __future__ import annotations

import argparse
import builtins
import gc
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shardcore import RemoteOptions, UsageError
from shardcore.system import single_blas_thread

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication, QWidget

    from shardcore import Span
    from shardscope.shell.screenshot import ScreenshotRequest
    from shardscope.startup.single_instance import SingleWindow

_FLAGS = ("endpoint_url", "region", "profile", "requester_pays", "addressing")


def add_remote_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("remote addresses")
    group.add_argument("--endpoint-url", metavar="URL", help="URL of an S3-compatible store (default: Amazon S3)")
    group.add_argument("--region", metavar="NAME", help="region of the bucket")
    group.add_argument("--profile", metavar="NAME", help="sign requests with this AWS profile")
    group.add_argument("--no-sign-request", action="store_true", help="do not sign requests (public data)")
    group.add_argument("--requester-pays", action="store_true", help="agree to be billed for requests and transfer")
    group.add_argument("--addressing", choices=("path", "virtual"), help="endpoint/bucket/key or bucket.endpoint/key")


def remote_options_of(options: argparse.ArgumentParser, given: argparse.Namespace) -> RemoteOptions | None:
    """Return the connection options from command-line flags, None without flags; exits if flags contradict others."""
    found: dict[str, Any] = {name: getattr(given, name) for name in _FLAGS if getattr(given, name)}
    if given.no_sign_request:
        found["anonymous"] = True
    try:
        return RemoteOptions(**found) if found else None
    except UsageError as error:
        options.error(str(error))


@contextmanager
def quick_start() -> Iterator[None]:
    """Run the `with` block without garbage collection; exclude objects that exist at its end from later collections.

    PySide replaces `__import__` by a function that reads the source of each imported module; the original is restored.
    """
    gc.disable()
    import PySide6.QtCore  # noqa: F401 - replaces `__import__`

    vars(builtins)["__import__"] = getattr(builtins, "__orig_import__", builtins.__import__)
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


COLLECT_EVERY = 1000
"""Milliseconds between garbage collections."""


def collect_on_this_thread(window: QWidget) -> None:
    """Collect garbage only on the GUI thread, by a timer: deleting a Qt object on another thread ends the process."""
    from PySide6.QtCore import QTimer

    def collect() -> None:
        counts, limits = gc.get_count(), gc.get_threshold()
        for generation in (2, 1, 0):
            if counts[generation] > limits[generation]:
                gc.collect(generation)
                return

    gc.disable()
    timer = QTimer(window)
    timer.timeout.connect(collect)
    timer.start(COLLECT_EVERY)


NO_QT = "the window is not installed: pip install 'shardscope[gui]'; `shardcore` works without it"
PICTURE = ("size", "scale", "select", "trace", "step", "verify", "show")
"""Options that need `--screenshot`."""
NO_DISPLAY = "there is no display; use `shardcore`, or `shardscope --screenshot OUT.png URI` for a picture"


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="shardscope", usage="%(prog)s [OPTIONS] [URI]...", description="See what is inside shard files."
    )
    made.add_argument(
        "uri",
        nargs="?",
        default="",
        metavar="URI",
        help="path or address of a shard; URI#72 or URI#72-80 selects bytes; several open in tabs",
    )
    made.add_argument("more", nargs="*", metavar="URI", help=argparse.SUPPRESS)
    made.add_argument("--new-window", action="store_true", help="open a new window even if one is running")
    made.add_argument("--format", help="the format (default: detected)")
    made.add_argument("--theme", help="system, light, dark, light-safe, dark-safe or dark-room")
    made.add_argument("--lesson", type=Path, metavar="FILE.md", help="start the lesson in this file")
    made.add_argument("--version", action="store_true", help="print the version and exit")
    desktop = made.add_argument_group("desktop")
    desktop.add_argument(
        "--install-desktop", action="store_true", help="add menu entry, icons and file types, and exit"
    )
    desktop.add_argument("--uninstall-desktop", action="store_true", help="undo --install-desktop and exit")
    add_remote_flags(made)
    picture = made.add_argument_group("screenshots without a display")
    picture.add_argument("--screenshot", type=Path, metavar="OUT.png", help="save a picture of the window and exit")
    picture.add_argument("--size", default="1440x900", metavar="WxH", help="window size (default: 1440x900)")
    picture.add_argument("--scale", type=float, default=1.0, help="pixels per point, 1 to 4 (default: 1)")
    picture.add_argument("--select", metavar="OFFSET", help="select the byte at this offset, decimal or 0x…")
    picture.add_argument("--trace", default="", metavar="KEY", help="look up this key, step by step")
    picture.add_argument("--step", type=int, default=0, metavar="N", help="show step N of --trace (default: the last)")
    picture.add_argument("--verify", metavar="DEPTH", help="verify first: structure, index or content")
    picture.add_argument("--show", default="", metavar="PART", help="show trace, findings, drawing or another panel")
    return made


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code: 0 success, 1 screenshot failed, 2 usage error, no display or no Qt."""
    single_blas_thread()
    options = parser()
    given = options.parse_args(arguments)
    given.remote = remote_options_of(options, given)
    if given.version:
        import shardcore

        print(f"shardscope {shardcore.__version__}")
        return 0
    if any(find_spec(name) is None for name in ("PySide6", "pyqtgraph")):
        return _failed(NO_QT)
    if given.install_desktop or given.uninstall_desktop:
        return _desktop(installs=given.install_desktop)
    if given.screenshot is not None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        if not 1 <= given.scale <= 4:
            options.error("--scale must be 1 to 4")
        os.environ["QT_SCALE_FACTOR"] = str(given.scale)
    elif stray := [name for name in PICTURE if getattr(given, name) != options.get_default(name)]:
        options.error(f"--{stray[0]} requires --screenshot")
    elif not has_display():
        return _failed(NO_DISPLAY)
    try:
        return _screenshot(options, given) if given.screenshot is not None else _window(options, given)
    except ImportError as error:
        # For example on a server without the system libraries of Qt.
        return _failed(f"no window can be shown, use `shardcore`: {error}")


def _failed(text: str, code: int = 2) -> int:
    print(f"shardscope: {text}", file=sys.stderr)
    return code


def _link(uri: str) -> tuple[str, Span | None]:
    if "#" not in uri and not uri.startswith("file:"):
        return uri, None
    from shardscope.startup.single_instance import split_link

    return split_link(uri)


def _desktop(*, installs: bool) -> int:
    from shardcore.errors import ShardError
    from shardcore.system import has_xdg_desktop, user_folder
    from shardscope.startup import desktop_files

    if not has_xdg_desktop():
        return _failed(desktop_files.NOT_HERE)
    folder = user_folder("data").parent
    command = desktop_files.running_command()
    try:
        lines = list(desktop_files.install(command, folder) if installs else desktop_files.uninstall(folder))
    except ShardError as error:
        return _failed(str(error), 1)
    print("\n".join(lines))
    return 0


def has_display() -> bool:
    from shardcore.system import has_xdg_desktop

    names = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    return not has_xdg_desktop() or any(os.environ.get(name) for name in names)


def _window(options: argparse.ArgumentParser, given: argparse.Namespace) -> int:
    with quick_start():
        from shardscope.startup.settings import Settings

        theme, application = _theme(options, given), _application()
        files = [_link(uri) for uri in (given.uri, *given.more)] if given.uri else []
        name = _socket(given)
        single = _claim(name, files, given) if name else None
        if name and single is None:
            return 0
        from shardscope.shell.main_window import MainWindow
        from shardscope.startup.single_instance import Interrupts

        window = MainWindow(Settings(theme=theme))
        if single is not None:
            single.wanted.connect(window.take_over)
        interrupts = Interrupts(window.end)
        restores = window.settings.restores_tabs and not given.new_window
        if files or (restores and window.settings.tabs):
            window.welcome.wait_for_file()
        window.show()
    collect_on_this_thread(window)
    if not given.new_window:
        window.tab_memory.restore(behind=bool(files))
    window.open_files(files, given.format, given.remote)
    if given.lesson is not None:
        window.teaching.try_lesson(given.lesson, own=bool(given.uri))
    code = application.exec()
    if single is not None:
        single.close()
    interrupts.close()
    _end(application, window)
    gc.freeze()  # the last collection would only delay the exit
    return code


def _socket(given: argparse.Namespace) -> str:
    from shardscope.startup.single_instance import is_shown, socket_name

    alone = given.new_window or given.lesson is not None or given.theme
    return socket_name() if is_shown() and not alone else ""


def _claim(name: str, files: list[tuple[str, Span | None]], given: argparse.Namespace) -> SingleWindow | None:
    from shardscope.startup.single_instance import Handover, claim, message_of

    sent = [Handover(uri, given.format, place) for uri, place in files]
    return claim(name, message_of(sent) if given.remote is None else b"")


def _screenshot(options: argparse.ArgumentParser, given: argparse.Namespace) -> int:
    wanted = _wanted(options, given)
    from tempfile import TemporaryDirectory

    from PySide6.QtCore import qInstallMessageHandler

    from shardscope.shell.main_window import MainWindow
    from shardscope.shell.screenshot import ScreenshotError, take
    from shardscope.startup.settings import Settings

    if given.more:
        options.error("--screenshot takes one URI")
    theme = _theme(options, given) or "light"
    qInstallMessageHandler(_without_platform_notes)
    application = _application()
    with TemporaryDirectory(prefix="shardscope-") as folder:
        window = MainWindow(Settings(Path(folder) / "settings.json", theme=theme))
        try:
            take(window, wanted)
        except ScreenshotError as error:
            return _failed(str(error), 1)
        finally:
            window.close()
            _end(application, window)
    return 0


def _theme(options: argparse.ArgumentParser, given: argparse.Namespace) -> str:
    from shardscope.startup.settings import THEMES

    if given.theme and given.theme not in THEMES:
        options.error(f"--theme must be one of {', '.join(THEMES)}")
    return given.theme or ""


def _wanted(options: argparse.ArgumentParser, given: argparse.Namespace) -> ScreenshotRequest:
    from shardcore import Depth
    from shardscope.shell.screenshot import ScreenshotRequest

    size = re.fullmatch(r"(\d{2,5})x(\d{2,5})", given.size)
    if size is None:
        options.error("--size must be WIDTHxHEIGHT")
    depths = [depth.value for depth in Depth]
    if given.verify and given.verify not in depths:
        options.error(f"--verify must be one of {', '.join(depths)}")
    try:
        select = int(given.select, 0) if given.select else None
    except ValueError:
        options.error("--select must be a number")
    uri, place = _link(given.uri)
    return ScreenshotRequest(
        given.screenshot,
        uri,
        given.format,
        (int(size[1]), int(size[2])),
        select,
        given.trace,
        given.step,
        Depth(given.verify) if given.verify else None,
        given.show,
        given.remote,
        place,
        given.lesson,
    )


def _end(application: QApplication, window: QWidget) -> None:
    """Delete the window now, before the application: at interpreter exit, they are deleted in undefined order."""
    from shiboken6 import delete

    application.processEvents()
    delete(window)


def _without_platform_notes(kind: object, context: object, message: str) -> None:
    if not message.startswith("This plugin does not support"):
        print(f"shardscope: {message}", file=sys.stderr)


def _application() -> QApplication:
    from PySide6.QtWidgets import QApplication

    from shardscope.startup.settings import keep_qt_from_settings

    keep_qt_from_settings()
    application = QApplication(sys.argv[:1])
    application.setApplicationName("shardscope")
    application.setDesktopFileName("shardscope")
    return application


if __name__ == "__main__":
    sys.exit(main())
