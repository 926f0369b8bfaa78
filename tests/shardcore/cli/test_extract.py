"""ls, get, extract."""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import NotAShard
from shardcore.model.objects import State
from shardcore.shards import opening
from tests.shardcore.toy import LineShard, line_set

Capture = pytest.CaptureFixture[str]

SAMPLES = Path(__file__).parents[3] / "resources" / "samples"
A = hashlib.sha256(b"a").hexdigest()
ROW = ["key", "kind", "state", "size", "stored_size", "start", "stop", "codec", "shard"]


@pytest.fixture
def small(data: Path) -> str:
    return str(data / "swh/small.shard")


@pytest.fixture
def expected(data: Path) -> list[str]:
    with shardcore.open(data / "swh/small.shard") as shard:
        return [key for key in shard.objects.keys if key is not None]


def lines(capsys: Capture) -> list[Any]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    shards: dict[str, Any] = {}
    real = opening.open
    monkeypatch.setattr(shardcore, "open", lambda uri, **o: shards[uri]() if uri in shards else real(uri, **o))
    return shards


def test_ls_has_a_line_for_each_object(small: str, expected: list[str], capsys: Capture) -> None:
    assert run(["ls", small, "--json"]) == 0
    rows = lines(capsys)
    assert [list(row) for row in rows] == [ROW] * 12
    assert [row["key"] for row in rows] == expected
    one = next(row for row in rows if row["key"] == A)
    assert (one["size"], one["stored_size"], one["stop"] - one["start"], one["state"]) == (1, 1, 1, "live")
    assert run(["ls", small]) == 0
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert printed == [["live", "object", str(row["size"]), row["key"]] for row in rows]


def test_ls_lists_what_can_be_had(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """Each key that `ls` lists can be extracted; tombstoned rows need `--all` or `--deleted`."""
    store = str(data / "des" / "sidecar")
    live, dead = ["live"], ["tombstoned"]
    # What a tombstone covers is listed with `--all`, too, but not served.
    for option, states, code in [("", live * 2, 0), ("--all", live * 2 + dead, 1), ("--deleted", None, 0)]:
        assert run(["ls", store, "--json", *filter(None, [option])]) == 0
        rows = lines(capsys)
        assert states is None or sorted(row["state"] for row in rows) == states
        keys = "".join(json.dumps(row["key"]) + "\n" for row in rows).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(keys)))
        more = [option] if option == "--deleted" else []
        assert run(["extract", store, str(tmp_path / f"out{option}"), "--keys", "-", *more]) == code
        capsys.readouterr()
    assert run(["ls", store, "--json", "--all", "--digest", "sha256"]) == 0
    assert [row["state"] for row in lines(capsys) if "sha256" not in row] == ["tombstoned"]


@pytest.mark.parametrize(("limit", "skip"), [(None, 5), (3, 0), (3, 5), (0, 0), (99, 11), (5, 12)])
def test_ls_in_pieces(small: str, expected: list[str], limit: int | None, skip: int, capsys: Capture) -> None:
    options = ["--skip", str(skip)] + (["--limit", str(limit)] if limit is not None else [])
    assert run(["ls", small, "--json", *options]) == 0
    rows = lines(capsys)
    assert [row["key"] for row in rows] == expected[skip:][:limit]
    with shardcore.open(small) as shard:
        assert [row["size"] for row in rows] == [shard.find(row["key"]).size for row in rows]
    assert run(["ls", small, *options]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(rows)


def test_ls_tells_digests(small: str, capsys: Capture) -> None:
    assert run(["ls", small, "--json", "--digest", "sha256"]) == 0
    assert all(row["sha256"] == row["key"] for row in lines(capsys))
    assert run(["ls", small, "--digest", "sha256"]) == 0
    assert f"{A}  " in capsys.readouterr().out
    assert run(["ls", small, "--digest", "md5"]) == 2
    assert run(["ls", small, "--kind", "object", "--limit", "1"]) == 0
    assert run(["ls", small, "--kind", "xorb"]) == 2


def test_ls_tells_errors_and_undecodable_keys(opened: dict[str, Any], capsys: Capture) -> None:
    opened["x"] = lambda: LineShard(b"one=hello\nbad=a!\n\xff\xfe=raw\nline\tbreak=x\n")
    assert run(["ls", "x", "--json", "--digest", "sha256"]) == 1
    good, bad, raw, odd = lines(capsys)
    assert good["sha256"] == hashlib.sha256(b"hello").hexdigest()
    assert "damaged" in bad["error"]
    assert (raw["key"], raw["key_hex"]) == (None, "fffe")
    assert odd["key"] == "line\tbreak"
    assert run(["ls", "x"]) == 0
    assert "line\\tbreak" in capsys.readouterr().out


def test_ls_over_a_data_set(opened: dict[str, Any], capsys: Capture) -> None:
    opened["good"] = lambda: line_set(a=b"one=1\n", b=b"two=22\n")
    opened["bad"] = lambda: line_set(a=NotAShard("no shard"), b=b"two=22\n")
    assert run(["ls", "good", "--json"]) == 0
    assert [(row["key"], row["shard"]) for row in lines(capsys)] == [("one", "a"), ("two", "b")]
    assert run(["ls", "bad", "--json"]) == 1
    both = capsys.readouterr()
    assert json.loads(both.out)["key"] == "two"
    assert both.err == "shardcore: a: no shard\n"
    assert run(["get", "bad", "two"]) == 0
    assert capsys.readouterr().out == "22"


def test_get_writes_contents(small: str, expected: list[str], capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with shardcore.open(small) as shard:
        contents = [shard.read(shard.find(key)) for key in expected]
    assert run(["get", small, A]) == 0
    assert capfdbinary.readouterr().out == b"a"
    assert run(["get", small, *expected]) == 0
    assert capfdbinary.readouterr().out == b"".join(contents)
    assert run(["get", small, expected[0], "--range", "3:0x10"]) == 0
    assert capfdbinary.readouterr().out == contents[0][3:16]
    assert run(["get", small, expected[0], "--range", ":5"]) == 0
    assert capfdbinary.readouterr().out == contents[0][:5]


def test_get_keeps_to_the_limit(opened: dict[str, Any], tmp_path: Path, capsys: Capture) -> None:
    opened["x"] = lambda: LineShard(b"long=0123456789\n")
    for more in ([], ["-o", str(tmp_path / "x")], ["--range", "0:9"]):
        assert run(["get", "x", "long", "--limit-bytes", "8", *more]) == 3
        assert "--limit-bytes raises the limit" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    for limit in ("0", "10"):
        assert run(["get", "x", "long", "--limit-bytes", limit, "-o", str(tmp_path / f"x{limit}")]) == 0


def test_get_into_what_is_no_file(small: str, tmp_path: Path) -> None:
    """`-o` writes into pipes and devices, also behind a link, and replaces none of them."""
    pipe, link, device = tmp_path / "pipe", tmp_path / "link", tmp_path / "device"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    device.symlink_to("/dev/null")
    for path in (pipe, link):
        for more in ([A], [A, "--force"], [A, A, "--range", "0:1"]):
            with ThreadPoolExecutor(1) as reader:
                came = reader.submit(pipe.read_bytes)
                assert run(["get", small, *more, "-o", str(path)]) == 0
            assert came.result() == b"a" * more.count(A)
    assert run(["get", small, A, "-o", str(device), "--force"]) == 0
    full = tmp_path / "full"
    full.symlink_to("/dev/full")
    assert run(["get", small, A, "-o", str(full)]) == 4
    assert pipe.is_fifo()
    assert [path.readlink() for path in (link, device, full)] == [pipe, Path("/dev/null"), Path("/dev/full")]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["device", "full", "link", "pipe"]


def test_get_over_a_link(small: str, tmp_path: Path) -> None:
    """`--force` replaces the link, not its target."""
    target, link, loose = tmp_path / "target", tmp_path / "link", tmp_path / "loose"
    target.write_bytes(b"precious")
    link.symlink_to(target)
    loose.symlink_to(tmp_path / "nothing")
    for path in (link, loose):
        assert run(["get", small, A, "-o", str(path)]) == 2
        assert path.is_symlink()
        assert run(["get", small, A, "-o", str(path), "--force"]) == 0
        assert not path.is_symlink()
        assert path.read_bytes() == b"a"
    assert target.read_bytes() == b"precious"
    assert not (tmp_path / "nothing").exists()


def test_no_command_renames_over_a_device(small: str, tmp_path: Path, capsys: Capture) -> None:
    device = tmp_path / "device"
    device.symlink_to("/dev/null")
    assert run(["pack", "swh", str(device), small, "--force"]) == 2
    assert run(["convert", small, str(device), "--to", "bloscpack", "--force"]) != 0
    assert "is a pipe, a socket or a device" in capsys.readouterr().err
    assert device.readlink() == Path("/dev/null")


def test_get_into_a_file(small: str, expected: list[str], tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out"
    assert run(["get", small, A, "-o", str(out)]) == 0
    assert out.read_bytes() == b"a"
    assert run(["get", small, expected[0], "-o", str(out)]) == 2
    assert out.read_bytes() == b"a"
    assert run(["get", small, A, A, A, "-o", str(out), "--force"]) == 0
    assert out.read_bytes() == b"aaa"
    assert run(["get", small, A, A, "-o", str(out)]) == 2
    assert run(["get", small, A, "-o", str(tmp_path / "no/out")]) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_keys_from_a_file(
    opened: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    """One key per line, as it is or as a JSON string."""
    odd = "tab\t and \x00"
    opened["x"] = lambda: LineShard(f"{odd}=odd\nplain=p\n".encode())
    keys = tmp_path / "keys"
    keys.write_bytes(b"\xef\xbb\xbf" + f'{json.dumps(odd)}\n\n  \n"plain"\r\nplain\r\nplain'.encode())
    assert run(["get", "x", "--keys", str(keys)]) == 0
    assert capfd.readouterr().out == "oddppp"
    for given in (b'"plain"\n', b"plain\r\n"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="ascii"))
        assert run(["get", "x", "--keys", "-"]) == 0
        assert capfd.readouterr().out == "p"
    wrong = [b"plain \n", b" plain\n", b"5\n", b"null\n", '"a\u2028b"\n'.encode(), b'a"b\n']
    for content, code in [*((one, 1) for one in wrong), (b'"plain\n', 2), (b'"a" "b"\n', 2), (b"\xff\n", 4)]:
        keys.write_bytes(content)
        assert run(["get", "x", "--keys", str(keys)]) == code
    assert run(["get", "x", "--keys", str(tmp_path / "missing")]) == 4
    assert run(["get", "x", "--keys", "a\0b"]) == 4


def test_plain_lines_are_keys_as_they_are(opened: dict[str, Any], tmp_path: Path, capfd: Capture) -> None:
    texts = [" blank ", "5", "null", "[1]", "file:x", 'a"b', "{}", "a\x1cb", "-odd"]
    opened["x"] = lambda: LineShard("".join(f"{text}=<{n}>\n" for n, text in enumerate(texts)).encode())
    keys = tmp_path / "keys"
    keys.write_text("\n".join(texts), encoding="utf-8")
    assert run(["get", "x", "--keys", str(keys)]) == 0
    assert capfd.readouterr().out == "".join(f"<{number}>" for number in range(len(texts)))


def test_extract_everything(small: str, expected: list[str], tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out"
    assert run(["extract", small, str(out), "--json"]) == 0
    rows = lines(capsys)
    assert [list(row) for row in rows] == [["key", "path", "size", "sha256"]] * 12
    assert sorted(row["key"] for row in rows) == sorted(expected)
    for row in rows:
        content = Path(row["path"]).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (row["size"], row["sha256"])
        assert row["sha256"] == row["key"]
    before = {path: path.stat().st_mtime_ns for path in out.iterdir()}
    assert run(["extract", small, str(out), "--json"]) == 1
    assert all("exists" in row["error"] for row in lines(capsys))
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert run(["extract", small, str(out), "--force"]) == 0


def test_extract_some(small: str, expected: list[str], tmp_path: Path, capsys: Capture) -> None:
    assert run(["extract", small, str(tmp_path / "a"), A]) == 0
    assert (tmp_path / "a" / A).read_bytes() == b"a"
    capsys.readouterr()
    assert run(["extract", small, str(tmp_path / "b"), "--match", f"{A[:4]}*", "--json"]) == 0
    assert [row["key"] for row in lines(capsys)] == [A]
    assert run(["extract", small, str(tmp_path / "c"), A, "00" * 32]) == 1
    assert not (tmp_path / "c").exists()
    assert run(["extract", small, str(tmp_path / "d"), "--limit-bytes", "1"]) == 1
    assert run(["extract", small, small]) == 4


def test_whole_contents(data: Path, tmp_path: Path, capsys: Capture) -> None:
    source = str(data / "bloscpack/meta_0.blp")
    with shardcore.open(source) as shard:
        whole = shard.read(shard.find("all"))
        assert len(shard.objects) > 1 or len(whole) > 0
    assert run(["extract", source, str(tmp_path / "o"), "--json"]) == 0
    (row,) = lines(capsys)
    assert (row["key"], row["sha256"]) == ("all", hashlib.sha256(whole).hexdigest())


@pytest.mark.parametrize(
    ("more", "code", "names"),
    [
        ([], 1, {"a_b~c14cddc0", "one"}),
        (["--flat"], 1, {"a_b~c14cddc0", "one"}),
        (["--folders"], 1, {"a/b", "one"}),
        (["--conflict", "skip"], 0, {"a_b~c14cddc0", "one"}),
        (["--conflict", "rename"], 0, {"a_b~c14cddc0", "one", "one (2)"}),
        (["--conflict", "replace"], 0, {"a_b~c14cddc0", "one"}),
        (["--force"], 0, {"a_b~c14cddc0", "one"}),
        (["--force", "--conflict", "replace"], 0, {"a_b~c14cddc0", "one"}),
        (["--conflict", "skip", "--guess-extension"], 0, {"a_b~c14cddc0.txt", "one", "one.txt"}),
    ],
)
def test_how_to_extract(
    opened: dict[str, Any], tmp_path: Path, capsys: Capture, more: list[str], code: int, names: set[str]
) -> None:
    opened["x"] = lambda: LineShard(b"one=hello\na/b=x\n")
    out = tmp_path / "out"
    out.mkdir()
    # A file of the same size counts as the object.
    mine = b"mine!" if more == ["--conflict", "skip"] else b"mine"
    (out / "one").write_bytes(mine)
    assert run(["extract", "x", str(out), "--json", *more]) == code
    rows = lines(capsys)
    assert all(list(row)[:4] == ["key", "path", "size", "sha256"] for row in rows)
    found = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert found - {"manifest.json"} == names
    replaced = "--force" in more or "replace" in more
    assert (out / "one").read_bytes() == (b"hello" if replaced else mine)
    skipped = [row["skipped"] for row in rows if "skipped" in row]
    assert skipped == ([str(out / "one")] if more == ["--conflict", "skip"] else [])


def test_ls_has_the_same_columns_in_every_row(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    for sample in ("swh/odd.shard", "des/archive", "mdb/cache", "neuroglancer/volume", "bloscpack/array.blp"):
        assert run(["ls", str(SAMPLES / sample), "--all"]) == 0
        rows = [line.split() for line in capsys.readouterr().out.splitlines()]
        assert {len(row) for row in rows} == {4}, sample
        assert {row[0] for row in rows} <= {state.name.lower() for state in State}
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert run(["ls", str(SAMPLES / "bloscpack" / "array.blp"), "--human"]) == 0
    header, first, *_ = capsys.readouterr().out.splitlines()
    assert header.split() == ["state", "kind", "size", "key"]
    assert "10.0 KiB" in first


def test_unused_and_deleted_slots_are_called_what_is_known(small: str, capsys: Capture) -> None:
    odd = str(SAMPLES / "swh" / "odd.shard")
    for more in ([], ["--limit", "13"]):
        assert run(["ls", odd, "--all", "--json", *more]) == 0
        states = [row["state"] for row in lines(capsys)]
        assert (states.count("unused"), states.count("deleted")) == (3, 0)


@pytest.mark.parametrize(("size", "code"), [("1", 3), ("1K", 0), ("2M", 0), ("1X", 2), ("-1", 2)])
def test_sizes_have_units_in_every_option(size: str, code: int, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["get", str(SAMPLES / "xorb" / "chunks.xorb"), "4", "-o", "-", f"--limit-bytes={size}"]) == code
    assert (b"64K or 1M" in capfdbinary.readouterr().err) == (size == "1X")


def test_a_message_never_repeats_itself(small: str, tmp_path: Path, capsys: Capture) -> None:
    assert run(["extract", small, str(tmp_path)]) == 0
    capsys.readouterr()
    assert run(["extract", small, str(tmp_path)]) == 1
    first, rest = capsys.readouterr().err.splitlines()
    key = Path(first.split()[1]).name
    assert first.count(key) == 1
    assert rest == "shardcore: 11 more objects not written for the same reason: --force replaces it"


def test_a_shard_comes_from_standard_input(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A pipe is copied, to a file if it is large, and opened like a file; a terminal is refused."""
    sample = data / "swh/small.shard"
    monkeypatch.setattr("shardcore.cli.options._IN_MEMORY", 100)

    def piped(*arguments: object) -> tuple[int, bytes]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(sample.read_bytes())))
        code = run([str(one) for one in arguments])
        return code, capfdbinary.readouterr().out

    with shardcore.open(sample) as shard:
        key = next(iter(shard))
        assert piped("get", "-", key) == (0, shard.read(key))
    for command in (["verify", "-"], ["extract", "-", tmp_path / "files"], ["recover", "-", tmp_path / "saved"]):
        assert piped(*command)[0] == 0
    assert piped("convert", "-", "des", tmp_path / "copy.des")[0] == piped("diff", "-", tmp_path / "copy.des")[0] == 0
    monkeypatch.setattr(sys, "stdin", type("Terminal", (io.StringIO,), {"isatty": lambda _: True})())
    assert run(["ls", "-"]) == 2
    assert b"standard input is a terminal" in capfdbinary.readouterr().err
