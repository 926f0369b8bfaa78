"""What notebooks show of results."""

from __future__ import annotations

import ast
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.model.objects import ObjectRef, State
from shardcore.operations.content.base import BytesContent
from shardcore.operations.content.text import TableContent, TextContent
from tests.remote.servers import RangeServer, StoreServer

ROOT = Path(__file__).parents[2]
SAMPLES = Path("resources/samples")
TOUR = ROOT / "docs" / "notebook.ipynb"
MOST = 1 << 20
"""Characters of what is shown of one result."""

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[2J\u202e&'


class Checked(HTMLParser):
    """Elements and attributes of a page; elements are closed in order."""

    VOID = frozenset({"img"})
    KNOWN = re.compile(
        "div|table|t[rdh]|b|code|span|pre|details|summary|ol|li|img|svg|title|desc|defs|pattern|path|rect|g|text"
        "|circle|polygon"
    )

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert self.KNOWN.fullmatch(tag), tag
        for name, value in attrs:
            assert not name.startswith(("on", "href")), name
            assert name != "src" or str(value).startswith("data:image/")
            assert name == "xmlns" or "http" not in str(value), value
        if tag not in self.VOID and not self.rawdata[self.rawdata.rfind("<") :].endswith("/>"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(result: Any) -> str:
    found = result._repr_html_()
    assert len(found) < MOST
    return Checked(found).text


def cells() -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(TOUR.read_text())["cells"] if cell["cell_type"] == "code"]


@pytest.mark.interop("pandas", "pyarrow")
def test_the_tour_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT / "docs")
    names: dict[str, Any] = {}
    kinds = set()
    for cell in cells():
        module = ast.parse(cell)
        last = module.body.pop() if isinstance(module.body[-1], ast.Expr) else None
        exec(compile(module, "cell", "exec"), names)  # noqa: S102 - our own notebook
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307
            if type(value).__module__.startswith("shardcore"):
                assert shown(value)
            kinds.add(type(value).__name__)
    assert kinds >= {
        *("DataFrame", "ObjectRef", "Trace", "Step", "Node", "Report", "PictureContent", "TableContent"),
        *("ArrayContent", "MeshContent", "ShardDiff"),
    }
    assert "small.shard / index / slot" in capsys.readouterr().out


def test_all_samples_are_shown() -> None:
    for name in (
        *("swh/small.shard", "des/archive", "mdb/cache", "xorb/chunks.xorb", "bloscpack/array.blp"),
        "neuroglancer/volume",
    ):
        with shardcore.open(SAMPLES / name) as shard:
            assert shard.format in shown(shard)
            if not shard.objects.counted:
                assert "not read yet" in shown(shard.objects)
                shard.load_index()
            key = next(iter(shard))
            assert key in shown(shard.objects)
            assert key in shown(shard.objects[:3])
            assert key in shown(shard.find(key))
            assert shard.tree.name in shown(shard.tree)
            assert key in shown(shard.trace(key))
            assert "No errors" in shown(shard.verify("index"))
            assert all(shown(sketch.draw({})) for sketch in shard.sketches()[:1])


def test_cells_break_between_words_only() -> None:
    table = TableContent("", 9, b"", text="", rows=(("a-b c d",), ("word " * 20,)))._repr_html_()
    assert 'word-break:normal;white-space:pre">a-b c d<' in table
    assert 'white-space:pre-wrap;min-width:20em">word word' in table


def test_text_out_of_files_does_not_act() -> None:
    """No element, attribute or control character comes from a file."""
    node = shardcore.Node(HOSTILE, shardcore.Span(HOSTILE, 0, 1), HOSTILE, HOSTILE, doc=HOSTILE, error=HOSTILE)
    finding = shardcore.Finding(shardcore.Severity.ERROR, "x.y", None, HOSTILE * 999, HOSTILE)
    results = [
        node,
        shardcore.Node("outer", shardcore.Span("", 0, 1), children=(node,) * 1000),
        ObjectRef(HOSTILE, 0, (), shard=HOSTILE, error=HOSTILE, state=State.DAMAGED, extras={HOSTILE: [HOSTILE]}),
        shardcore.Step(HOSTILE, HOSTILE, (), {HOSTILE: HOSTILE}, why=HOSTILE),
        shardcore.Trace(HOSTILE, "absent", (shardcore.Step(HOSTILE, HOSTILE * 99, (), {}),) * 99, error=HOSTILE),
        shardcore.Report(shardcore.Depth.INDEX, 1, (finding,) * 999),
        TextContent(HOSTILE, 9, b"", HOSTILE, HOSTILE * 9999),
        TableContent(HOSTILE, 9, b"", text="", rows=((HOSTILE,) * 999,) * 999),
        BytesContent(HOSTILE, 9, HOSTILE.encode() * 99),
    ]
    for result in results:
        text = shown(result)
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "alert(1)" in text


def test_nothing_is_fetched_to_be_shown(tmp_path: Path) -> None:
    with shardcore.create(tmp_path / "x.shard", format="swh") as writer:
        for number in range(9):
            writer.add(None, bytes([number]) * 100_000)
    with RangeServer({"/x.shard": tmp_path / "x.shard"}) as server, shardcore.open(f"{server.url}/x.shard") as shard:
        results = (shard, shard.objects, shard.objects[5:9], shard.tree)
        before = len(server.log)
        assert all(map(shown, results))
        assert len(server.log) == before, str(server.log)
    with StoreServer() as store:
        store.put_folder("/b/archive", SAMPLES / "des" / "archive")
        remote = shardcore.RemoteOptions(endpoint_url=store.url, addressing="path", anonymous=True)
        with shardcore.open("s3://b/archive", remote=remote) as shards:
            results = (shards, shards.objects, shards.tree)
            before = len(store.log)
            assert all(map(shown, results))
            assert len(store.log) == before, str(store.log)
