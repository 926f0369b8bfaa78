"""What is done with a mutated file. A driver raises nothing but what is a finding: `ShardError`s are right answers."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
import json
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import shardcore
from shardcore import DataSet, Depth, GeometryContent, Severity, Shard, ShardError
from shardcore.operations.edit import append, delete, tombstone, truncate, undo
from shardcore.operations.recover import salvage
from shardcore.operations.search import parse_hex, search_contents
from shardcore.progress import no_progress
from shardcore.shards.registry import FORMATS, format_of
from shardcore.teaching.charts import load_chart, object_sizes, spread_chart
from shardcore.testing import exercise
from tests.hostile.bounds import FINE_CODES, commands_of
from tests.hostile.making import Hostile
from tests.interop.readers import Reader

MOST_OBJECTS = 12
LIMIT = 1 << 24
EXPECTED = frozenset({"swh.content-hash"})
"""Findings of written shards that are no surprise: keys that are given need not be the sha256 of their content."""


def read(path: Path, dice: random.Random) -> None:
    """Open, look, list, find, trace, explain, verify."""
    exercise(lambda **options: shardcore.open(path, **options), thorough=dice.random() < 0.3)


def show(path: Path, dice: random.Random) -> None:
    """Decode contents, draw, chart, search, and compare with itself."""
    with suppress(ShardError), shardcore.open(path, partial=True) as shard:
        with suppress(ShardError):
            shard.load_index()
        for number in range(min(_count(shard), MOST_OBJECTS)):
            with suppress(ShardError):
                found = shardcore.content(shard, shard.objects.ref(number), limit=LIMIT)
                if isinstance(found, GeometryContent):
                    found.scene()
        for action in _charts(shard):
            with suppress(ShardError):
                action()
        for sketch in shard.sketches():
            with suppress(ShardError):
                sketch.draw({})
        with suppress(ShardError):
            shardcore.diff(shard, shard)
        with suppress(ShardError):
            list(search_contents(shard, [parse_hex(dice.choice(("00", "00 00", "7b")))], no_progress))


def _charts(shard: Shard) -> Iterator[Callable[[], Any]]:
    yield lambda: shard.byte_shares
    yield lambda: object_sizes(shard.objects).chart()
    with suppress(ShardError):
        for load in shard.loads:
            yield lambda load=load: (load_chart(made := load.make(no_progress)), spread_chart(made))


def _count(shard: Shard) -> int:
    try:
        return len(shard.objects)
    except ShardError:
        return 0


def recover(path: Path, dice: random.Random) -> None:
    """Take out what is whole; what is called whole has the digest that is stated."""
    with tempfile.TemporaryDirectory() as folder, suppress(ShardError):
        done = salvage(path, folder, raw=dice.random() < 0.5, limit=LIMIT)
        for one in done.items:
            if one.path:
                data = (Path(folder) / one.path).read_bytes()
                assert hashlib.sha256(data).hexdigest() == one.sha256, f"salvage wrote other bytes: {one.path}"


def convert(path: Path, dice: random.Random) -> None:
    """Write the objects into a new shard: it verifies, and we and the reference read the same contents from it."""
    target = dice.choice([name for name in FORMATS if format_of(name).writes is not None])
    with tempfile.TemporaryDirectory() as folder, suppress(ShardError), shardcore.open(path) as shard:
        out = Path(folder) / ("out" if target in ("neuroglancer", "mdb") else "out.shard")
        with suppress(ShardError):
            # A shard that was written must be read: errors below are findings.
            packed = shardcore.convert(shard, target, f"{out}/" if "." not in out.name else out, limit=LIMIT)
            _read_back(shard, packed, out, Path(folder))


def _read_back(shard: Shard, packed: shardcore.Packed, out: Path, folder: Path) -> None:
    try:
        with shardcore.open(out, **packed.opening) as back:
            report = back.verify(Depth.CONTENT)
            wrong = [one for one in report.findings if one.severity is Severity.ERROR and one.code not in EXPECTED]
            assert not wrong, f"a written {back.format} does not verify: {wrong[0]}"
            ours = _digests(back, folder / "back")
            lost = _digests(shard, folder / "source") - ours
            assert not lost, f"{len(lost)} contents of {shard.format} are not in the written {back.format}"
            _ask_reference(back, out)
    except ShardError as error:
        raise AssertionError(f"a written shard cannot be read: {error!r}") from error


def _digests(shard: Shard, folder: Path) -> set[str]:
    """Return the digests of all contents, as they are extracted."""
    done = shardcore.extract(shard, folder)
    return {hashlib.sha256(Path(one.path).read_bytes()).hexdigest() for one in done.files if not one.error}


def _ask_reference(shard: Shard, out: Path) -> None:
    """Check that the reference reader, where it is installed, returns what ours does."""
    reader = {"swh": "swh", "bloscpack": "bloscpack", "neuroglancer": "tensorstore"}.get(shard.format, "")
    module = {"swh": "swh.shard", "bloscpack": "bloscpack", "tensorstore": "tensorstore"}.get(reader, "")
    if not reader or not _installed(module):
        return
    keys = [key for key in shard.objects.keys[:MOST_OBJECTS] if key is not None and key != "all"]
    ours = {key: hashlib.sha256(shard[key]).hexdigest() for key in keys}
    more: dict[str, Any] = {"sizes": [len(shard[key]) for key in keys]}
    path = out
    if isinstance(shard, DataSet):
        if not keys or not (out / "info").exists() or not all(key.isdecimal() for key in keys):
            return
        info = json.loads((out / "info").read_text())
        spec = info.get("sharding") or (info.get("scales") or [{}])[0].get("sharding")
        if spec is None:
            return
        path, more = out / "info", {"spec": spec}
    elif shard.format == "bloscpack" and len(keys) != _count(shard):
        return
    theirs = _reader(reader).ask(path, keys, **more)
    wrong = [key for key in keys if theirs[key] != ("ok", ours[key])]
    assert not wrong, f"{reader} does not read {wrong[0]} of our {shard.format}: {theirs[wrong[0]]}"


@cache
def _installed(module: str) -> bool:
    with suppress(ModuleNotFoundError):
        return importlib.util.find_spec(module) is not None
    return False


@cache
def _reader(name: str) -> Reader:
    return Reader(name)


def change(path: Path, dice: random.Random) -> None:
    """Edit in place and undo: a refused edit leaves the file as it was, and an undone one gives its bytes back."""
    before = path.read_bytes()
    key = ""
    with suppress(ShardError), shardcore.open(path) as shard:
        keys = [key for key in shard.objects.keys[:MOST_OBJECTS] if key is not None]
        key = dice.choice(keys) if keys else ""
    inputs = path.with_name("fuzz-input")
    inputs.write_bytes(dice.randbytes(dice.choice((0, 1, 5000))))
    edits = (partial(delete, path, [key]), partial(truncate, path), partial(append, path, [inputs]))
    edit = dice.choice((*edits, partial(tombstone, path, [key])))
    try:
        edit()
    except ShardError:
        assert path.read_bytes() == before, f"a refused {edit} changed the file"  # type: ignore[str-bytes-safe]
        return
    exercise(lambda **options: shardcore.open(path, **options), thorough=False)
    if path.read_bytes() != before:
        undo(path)
    assert path.read_bytes() == before, "undo did not give the bytes back"


def command(path: Path, dice: random.Random) -> None:
    """Run commands; they end with a code of the documentation, and nothing that they print acts."""
    from shardcore.cli.program import run

    with tempfile.TemporaryDirectory() as folder:
        name = next((name for name in FORMATS if f"/{name}/" in str(path)), "des")
        one = Hostile(name, "fuzz", lambda _: path, ("0", "[0,0]", "00" * 32), "")
        for found in dice.sample(commands_of(one, path, Path(folder)), 3):
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = run(list(found.arguments))
            assert code in FINE_CODES, f"{found}: exit code {code}: {err.getvalue()[-300:]}"
            told = out.getvalue() + err.getvalue()
            raw = next((c for c in told if not (c.isprintable() or c == "\n")), None)
            assert raw is None, f"{found} printed {raw!r}"


class WindowDriver:
    """A window that stays for all cases; files change under its panels.

    Args:
        folder: For its settings.
    """

    def __init__(self, folder: Path) -> None:
        from tests.window_user import WindowUser

        self.user = WindowUser(folder)

    def __call__(self, path: Path, dice: random.Random) -> None:
        """Open the file, act, put another in its place, act and close."""
        user = self.user
        user.dice = dice
        user.wrong.clear()
        data = path.read_bytes()
        done: list[str] = []
        try:
            user.open(path)
            done += [user.act() for _ in range(3)]
            self._swap(path, data, dice)
            done += [user.act() for _ in range(3)]
        finally:
            user.close_all()
        assert not user.wrong, f"{' '.join(done)}: {user.wrong[0]}"

    @staticmethod
    def _swap(path: Path, data: bytes, dice: random.Random) -> None:
        """Put other bytes in the place of the file: shorter ones, others, none, or no file at all."""
        kind = dice.randrange(5)
        if kind == 0:
            os.truncate(path, dice.randrange(len(data) + 1))
        elif kind == 1:
            beside = path.with_name("fuzz-beside")
            beside.write_bytes(data[::-1])
            beside.replace(path)
        elif kind == 2:
            path.unlink()
        elif kind == 3:
            path.write_bytes(dice.randbytes(len(data)))
        else:
            path.write_bytes(data + data)


@contextmanager
def copied(sample: Path, data: bytes, beside: Path | None = None) -> Iterator[Path]:
    """A copy of a sample with these bytes, and of what lies beside it; the bytes may be those of a file beside it."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        home = Path(folder) / sample.parent.parent.name / sample.parent.name
        if sum(one.stat().st_size for one in sample.parent.rglob("*") if one.is_file()) < 1 << 20:
            shutil.copytree(sample.parent, home, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            home.mkdir(parents=True)
        (home / (beside or sample).name).write_bytes(data)
        yield home / sample.name


DRIVERS: dict[str, Callable[[Path, random.Random], None]]
DRIVERS = {one.__name__: one for one in (read, show, recover, convert, change, command)}
WEIGHTS = {"read": 30, "show": 20, "recover": 10, "convert": 12, "change": 8, "command": 8, "window": 12}
