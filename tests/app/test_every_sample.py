"""Samples of every format and kind, through the real window: it opens, is walked through, and nothing goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from shardcore import DataSet, Depth, Node, Shard, Span
from shardcore.model.node import Children
from shardcore.teaching import resource_paths
from shardcore.testing import rounds, sampled
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings
from shardscope.views.hex.tabs import stored_span
from shardscope.views.structure.tree import StructureTree

DATA = Path(__file__).parent.parent / "data"
PATTERNS = {
    "mdb": ("cas/*/*.mdb", "derived/*.mdb", "damaged/*.mdb"),
    "xorb": ("*.xorb",),
    "des": ("*.des", "big", "sidecar", "big/*.des", "sidecar/*.des", "hostile/*.des"),
    "neuroglancer": ("*/*.shard", "*/*.index", "*/*.data", "*/*/*.shard", "[!hv]*", "volume/*_*"),
    "bloscpack": ("*.blp", "made/*.blp", "hostile/*", "bcolz/*", "bcolz/prices/close"),
    "swh": ("*.shard", "../swh"),
}
NONE = {"bare_shard", "__pycache__"}
"""Folders that are no data sets."""

QUICK = 1
"""Samples of each pattern in a quick run."""

FULL_IN_ALL, QUICK_IN_ALL = 60, 8
"""Samples of all patterns together, in a full and in a quick run."""

REST = 20


def samples() -> list[str]:
    found = []
    for folder, patterns in PATTERNS.items():
        for pattern in patterns:
            paths = [path for path in sorted((DATA / folder).glob(pattern)) if path.name not in NONE]
            names = [str(path.relative_to(DATA)) for path in paths if path.suffix not in (".md", ".json", ".py")]
            found += sampled(names, QUICK)
    bundled = [str(one.path.relative_to(DATA.parent.parent)) for one in resource_paths.samples()]
    found += sampled([f"../../{name}" for name in bundled], QUICK)
    return sampled(list(dict.fromkeys(found)), rounds(FULL_IN_ALL, QUICK_IN_ALL), full=False)


@pytest.fixture(scope="module", autouse=True)
def _no_descriptor_left(closing: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    with closing():
        yield


@pytest.fixture(scope="module")
def one(qapp: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MainWindow]:
    made = MainWindow(Settings(tmp_path_factory.mktemp("settings") / "settings.json"))
    made.resize(1000, 640)
    made.show()
    yield made
    made.close()
    assert made.jobs.open_jobs == ()


@pytest.fixture
def window(one: MainWindow) -> Iterator[MainWindow]:
    wrong: list[str] = []
    heard = one.jobs.trouble.connect(lambda job: wrong.append(f"job {job.key}: {job.error!r}"))
    yield one
    one.jobs.trouble.disconnect(heard)
    assert wrong == []


def places(shard: Shard) -> list[Span]:
    names = [(m.name, m.size) for m in shard.members[:2]] if isinstance(shard, DataSet) else []
    if shard.source is not None:
        names = [("", shard.source.size)]
    return [Span(name, at, at + 1) for name, size in names for at in (0, size // 2, size - 1) if 0 <= at < size]


def nodes(root: Node, levels: int) -> list[Node]:
    """The first nodes of the first levels."""
    found = [root]
    if levels:
        kids = root.children
        first = [kids[n] for n in range(min(len(kids), 8))] if isinstance(kids, Children) else kids[:8]
        for kid in first:
            found += nodes(kid, levels - 1)
    return found[:60]


@pytest.mark.parametrize("sample", samples())
def test_every_sample_in_the_window(window: MainWindow, qtbot: QtBot, sample: str) -> None:
    with qtbot.waitSignal(window.session.opened):
        window.session.open(str(DATA / sample))
    settle(window, REST)
    shard = window.session.shard
    if shard.source is not None:
        assert window.hex.view.state.layout.size == shard.source.size
    for place in places(shard):
        window.session.select_span(place)
        qtbot.waitUntil(lambda: window.session.selection.complete)
        qtbot.waitUntil(lambda place=place: window.hex.view.state.selection.span == place)  # type: ignore[misc]
        assert window.session.selection.path or window.session.selection.error or shard.damage
    if len(shard.objects):
        window.session.select_row(0)
        qtbot.waitUntil(lambda: window.session.selection.complete)
        assert window.session.selection.ref is not None or window.session.selection.error
    window.panels.panel(StructureTree).expandToDepth(1)
    settle(window, REST)
    show_decoded(window, qtbot, shard)
    window.session.verification.start(Depth.STRUCTURE)
    qtbot.waitUntil(lambda: window.session.verification.report is not None)
    settle(window, REST)
    assert not window.grab().isNull()
    assert window.session.shard is shard


def show_decoded(window: MainWindow, qtbot: QtBot, shard: Shard) -> None:
    span = window.session.selection.span
    path = window.session.selection.path
    named = [node.decoded for node in (*nodes(shard.tree, 4), *path) if node.decoded]
    if not named or span is None:
        return
    said: list[str] = []
    heard = window.session.troubled.connect(lambda text, _: said.append(text))
    window.session.select_span(Span(named[0], 0, 0))
    qtbot.waitUntil(lambda: window.hex.view.state.name == named[0] or bool(said))
    window.session.troubled.disconnect(heard)
    if window.hex.view.state.name == named[0]:
        assert stored_span(named[0]) is not None
        assert window.hex.tabs.count() >= 2
        assert window.hex.tabs.known(named[0]) is not None
    else:
        assert "cannot" in said[0]
    settle(window, REST)
