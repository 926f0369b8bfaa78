"""`python -m tests.calls [FILE] [--list]`: function calls when the window opens a file, is clicked, and sorts objects.

Counts calls of Python functions of this project on the GUI thread, from the action until no job is running; painting
is included. `--list` also prints the calls per module.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from tests.window_user import WindowUser

ROOT = Path(__file__).parents[1]
OURS = tuple(str(ROOT / name) for name in ("shardcore", "app/shardscope"))
SAMPLE = ROOT / "resources/samples/swh/small.shard"
CLICKS = ((3, 1), (5, 3), (9, 5))
"""Approximate columns and rows of the bytes that are clicked."""


class CallCount:
    """Number of calls of this project's functions during an action, per module and function."""

    def __init__(self, action: Callable[[], object]) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        began = time.perf_counter()
        sys.setprofile(self._called)
        try:
            action()
        finally:
            sys.setprofile(None)
        self.seconds = time.perf_counter() - began

    def _called(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(OURS):
            self.calls[code.co_filename.removeprefix(f"{ROOT}/"), code.co_qualname] += 1

    @property
    def modules(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for (file, _), number in self.calls.items():
            found[file] += number
        return found


def measure(user: WindowUser, path: Path) -> dict[str, CallCount]:
    """Count the calls of opening a file for the second time, of clicks on its bytes, and of sorting its objects."""

    def rested(action: Callable[[], object]) -> CallCount:
        return CallCount(lambda: (action(), user.rest()))

    user.open(path)
    user.close_all()
    found = {"open": rested(lambda: user.open(path))}
    view, table = user.window.hex.view, user.window.objects.table
    for column, row in CLICKS:
        point = QPoint(200 + 20 * column, 60 + 20 * row)
        click = partial(QTest.mouseClick, view.viewport(), Qt.MouseButton.LeftButton, pos=point)
        found[f"click in row {row}"] = rested(click)
    found["sort"] = rested(lambda: table.horizontalHeader().sectionClicked.emit(2))
    return found


def main(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        user = WindowUser(Path(folder))
        for name, count in measure(user, path).items():
            total, modules = sum(count.calls.values()), count.modules
            sys.stdout.write(f"{name:<16}{total:>8,} calls in {len(modules):>3} modules\n")
            if "--list" in sys.argv:
                sys.stdout.writelines(f"{number:>24,}  {file}\n" for file, number in modules.most_common())
        user.end()


if __name__ == "__main__":
    main(Path(next((one for one in sys.argv[1:] if not one.startswith("-")), SAMPLE)))
