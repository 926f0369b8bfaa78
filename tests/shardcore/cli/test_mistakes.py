"""What people type wrong, and what they are told: one line, what is wrong and what to do, and the exit code."""

from __future__ import annotations

import io
import re
import shutil
import sys
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run

A = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"  # sha256 of "a"
ABSENT = "00" * 31 + "aa"
MDB_KEY = "is not a key of an mdb shard; a key is the hash of a file (64 hex digits), or xorb:<hash> or chunk:<hash>"
BLP_KEY = (
    "a key of a bloscpack file is a chunk number, `@` with the offset of an uncompressed byte, `[i,j]` for an "
    "element, or `all`"
)
Patch, Capture = pytest.MonkeyPatch, pytest.CaptureFixture[str]
NUMBER = "an offset must be a number such as 4096 or 0x1000"
KEY_TYPE = "to locate a neuroglancer key, pass either info or spec"

PYTHON = re.compile(r"Traceback|Errno|<class|<shardcore|object at 0x|\bNone\b|\bTrue\b|Error\b|\bb'|\\\\")
"""What only a programmer of this program understands."""

# Exit code, sentence, command. Words in capitals are the files of `places`; a sentence is part of the line.
MISTAKES: list[tuple[int, str, list[str]]] = [
    # --- the command line itself ---
    (2, "no such command: 'lst', perhaps 'ls'; see shardcore --help", ["lst", "SWH"]),
    (2, "missing argument: URI; see shardcore ls --help", ["ls"]),
    (2, "missing argument: one of list, export; see", ["lesson"]),
    (2, "too many arguments: (x)", ["ls", "SWH", "x"]),
    (2, "no such option: --limt (perhaps --limit, --limit-fetch", ["ls", "SWH", "--limt", "3"]),
    (2, "'--limit': must be a whole number", ["ls", "SWH", "--limit", "many"]),
    (2, "'deep' is not one of 'structure', 'index', 'content'", ["verify", "SWH", "--depth", "deep"]),
    (2, "--digest must be sha256, not 'md5'", ["ls", "SWH", "--digest", "md5"]),
    (2, "unknown format 'SWH' (supported: swh, bloscpack, des", ["info", "SWHFILE", "--format", "SWH"]),
    # --- paths and addresses ---
    (4, "cannot open nowhere.shard: No such file or directory", ["info", "nowhere.shard"]),
    (2, "no path given", ["info", ""]),
    (2, "standard input can be read only once: give - for one file", ["get", "-", "--keys", "-"]),
    (2, "delete changes a file in place, not standard input: give its name", ["delete", "-", "00"]),
    (2, "find opens files by their names, which standard input does not have", ["find", "00", "-"]),
    (3, "standard input: unrecognised format", ["info", "-"]),
    (2, "ftp:// addresses are not supported (supported: s3://, gs://, http://", ["info", "ftp://a/b"]),
    (4, "not a regular file", ["info", "/dev/null"]),
    (3, "TEXT: unrecognised format", ["info", "TEXT"]),
    (3, "empty is empty", ["ls", "EMPTY"]),
    (3, "not a data set of any format; give one of its files", ["ls", "NOTHING"]),
    (
        3,
        "bare: neuroglancer: shards, but no `info`; give --spec, the manifest that convert wrote, or one of the files",
        ["info", "BARE"],
    ),
    (3, "no `info` of a data set in this folder or above it", ["ls", "BARE", "--format", "neuroglancer"]),
    # --- damaged files ---
    (3, "is at 0x1379 and has at least 39 bytes; the file ends at 0x64 (0x50–0x57 · 8 bytes)", ["ls", "CUT"]),
    (3, "the file does not end with a DESI footer", ["verify", "CUTDES"]),
    (3, "needs 32 bytes; 8 are there", ["get", "CUTBLP", "all"]),
    # --- options that contradict the file ---
    (2, "begins with SWHShard (swh), but spec is an option of neuroglancer", ["info", "SWH", "--spec", "{}"]),
    (2, "begins with DES2 (des)", ["ls", "DES", "--spec", "{}"]),
    (2, "is neither a sharding object nor an info", ["ls", "BARE", "--spec", "{}"]),
    (2, "the given specification is not JSON: unexpected end of the text (column 2)", ["ls", "BARE", "--spec", "{"]),
    (2, "the given specification is not a JSON object", ["ls", "BARE", "--spec", "[1]"]),
    (4, "cannot open spec.json: No such file", ["ls", "BARE", "--spec", "spec.json"]),
    (2, "preshift_bits, minishard_bits, shard_bits missing", ["ls", "BARE", "--spec", '{"hash": "identity"}']),
    (2, "TEXT is a file, not a folder", ["info", "MDB", "--xorbs", "TEXT"]),
    # --- keys ---
    (2, "no keys: give them after URI or with --keys; put keys that begin with a dash after --", ["get", "SWH"]),
    (2, "no such option: -1; put keys that begin with a dash after --", ["get", "BLP", "-1"]),
    (1, f"not in this shard: {ABSENT}", ["get", "SWH", ABSENT]),
    (2, f"'12ab' {MDB_KEY}", ["get", "MDB", "12ab"]),
    (2, f"invalid key 'first': {BLP_KEY}", ["get", "BLP", "first"]),
    (1, "there is no chunk 99999; the file has 3 chunks", ["get", "BLP", "99999"]),
    (2, "is the number of a chunk, its hash (64 hex digits), or `all`; not 'zz'", ["get", "XORB", "zz"]),
    (2, "an unsigned 64-bit integer in decimal, not 'abc'", ["get", "TINY", "abc"]),
    (1, "does not list the key 77", ["get", "TINY", "77"]),
    (1, "not in this shard: nobody", ["get", "DES", "nobody"]),
    (1, "not in this data set: nobody (12 candidate files searched)", ["get", "STORE", "nobody"]),
    (2, "; add --deleted to read it", ["get", "SAMPLE", "gone"]),
    (1, "'gone' was deleted", ["extract", "SAMPLE", "MADE", "gone"]),
    (4, "(searched next to the shard); --xorbs DIR names the folder that contains them", ["get", "LONELY", "FILEHASH"]),
    # --- keys in a file ---
    (4, "cannot open NOTHING: Is a directory", ["get", "SWH", "--keys", "NOTHING"]),
    (4, "it is not UTF-8 text", ["get", "SWH", "--keys", "BINARY"]),
    (2, "line 2: '\"null' begins with a double quote, but is not a JSON string", ["get", "SWH", "--keys", "-"]),
    # --- places in a file ---
    (2, "STORE is a folder: add --in empty.des, or another of its 12 files", ["explain", "STORE", "10"]),
    (2, f"{NUMBER}, not '1e3'", ["explain", "SWH", "1e3"]),
    (2, "no byte 0x1869f: the file has 5064 bytes", ["explain", "SWH", "99999"]),
    (2, "no byte 0x3e7: tiny.des has 116 bytes", ["explain", "STORE", "999", "--in", "tiny.des"]),
    (2, "unknown source 'index'", ["explain", "SWH", "5", "--in", "index"]),
    # --- parts, ranges, kinds ---
    (2, "--range 5:2: the start is after the end", ["get", "SWH", A, "--range", "5:2"]),
    (2, "--range must be A:B, two byte offsets, not '5'", ["get", "SWH", A, "--range", "5"]),
    (2, "has no part 'fragments' (available: none", ["get", "SWH", A, "--part", "fragments"]),
    (2, "no objects of kind 'xorb' (available: object)", ["ls", "SWH", "--kind", "xorb"]),
    (2, "no objects of kind 'files' (available: file, xorb, chunk)", ["extract", "MDB", "OUT", "--kind", "files"]),
    (1, "no key matches 'zzz*'; nothing was written", ["extract", "SWH", "OUT", "--match", "zzz*"]),
    (2, "keys cannot be combined with --match or --kind", ["extract", "SWH", "OUT", A, "--match", "a*"]),
    # --- what is written ---
    (2, "THERE exists already; --force replaces it", ["get", "SWH", A, "-o", "THERE"]),
    (2, "NOTHING is a folder; give the name of a file", ["get", "SWH", A, "-o", "NOTHING", "--force"]),
    (4, "no such folder: OUT", ["get", "SWH", A, "-o", "OUT/x"]),
    (4, "cannot create the folder THERE: a file of that name exists", ["extract", "SWH", "THERE"]),
    (1, f"TAKEN/{A} exists already; --force replaces it", ["extract", "SWH", "TAKEN", A]),
    (2, "THERE exists already; --force replaces it", ["pack", "swh", "THERE", "TEXT", "--plan"]),
    (2, "no such folder: OUT", ["pack", "swh", "OUT/x", "TEXT"]),
    (2, "have the same key", ["pack", "swh", "OUT", "TEXT", "TEXT"]),
    (2, "key must be 64 hex digits, not 'ab'", ["pack", "mdb", "OUT", "TEXT", "-O", "key=ab"]),
    (2, "unknown option 'sed' for swh; available: seed, dedupe", ["pack", "swh", "OUT", "TEXT", "-O", "sed=1"]),
    (2, "-O seed is given twice", ["pack", "swh", "OUT", "TEXT", "-O", "seed=1", "-O", "seed=2"]),
    # --- locate ---
    (2, "unknown option 'bits' for des; available: date, n_bits, zones", ["locate", "des", "5", "-O", "bits=8"]),
    (2, "pass -O date=CREATED_AT", ["locate", "des", "5"]),
    (2, "from 4 to 16", ["locate", "des", "5", "-O", "date=2026-01-31", "-O", "n_bits=99"]),
    (2, "swh does not route keys to shards (supported: des, neuroglancer", ["locate", "swh", A]),
    (2, KEY_TYPE, ["locate", "neuroglancer", "5", "-O", "spec={}", "-O", "info={}"]),
    (2, "2 key spaces; choose one by its folder", ["locate", "neuroglancer", "5", "-O", "info=VOLUME"]),
]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    data = Path(__file__).parents[2] / "data"
    own = tmp_path_factory.mktemp("mistakes")
    cuts = {"CUT": ("swh/small.shard", 100), "CUTDES": ("des/tiny.des", 60), "CUTBLP": ("bloscpack/meta_0.blp", 40)}
    for name, (sample, size) in cuts.items():
        (own / name).write_bytes((data / sample).read_bytes()[:size])
    contents = {"TEXT": b"hello\n", "empty": b"", "BINARY": b"\xff", "THERE": b"x", f"TAKEN/{A}": b"x"}
    for name, content in contents.items():
        (own / name).parent.mkdir(exist_ok=True)
        (own / name).write_bytes(content)
    (own / "NOTHING").mkdir()
    (own / "bare").mkdir()
    shutil.copy(data / "neuroglancer/bare_shard/0.shard", own / "bare")
    (own / "LONELY").mkdir()
    shard = next((data / "mdb/cas/shards").iterdir())
    shutil.copy(shard, own / "LONELY" / shard.name)
    with shardcore.open(shard) as opened:
        refs = map(opened.objects.ref, range(len(opened.objects)))
        file_hash = next(ref.key for ref in refs if ref.kind == "file" and ref.size > 0)
    found = {
        "SWH": data / "swh/small.shard",
        "SWHFILE": data / "swh/small.shard",
        "DES": data / "des/tiny.des",
        "STORE": data / "des",
        "SAMPLE": data / "des" / "sidecar",
        "MDB": data / "mdb/derived/plain_no_tables.mdb",
        "CAS": data / "mdb/cas/shards",
        "LONELY": own / "LONELY" / shard.name,
        "BLP": data / "bloscpack/meta_0.blp",
        "XORB": data / "xorb/lz4.xorb",
        "TINY": data / "neuroglancer/tiny_worked_example",
        "VOLUME": data / "neuroglancer/volume",
        "BARE": own / "bare",
        "BAREFILE": own / "bare/0.shard",
        "EMPTY": own / "empty",
        "FILEHASH": file_hash,
    }
    mine = ("CUT", "CUTDES", "CUTBLP", "MADE", "TEXT", "BINARY", "THERE", "TAKEN", "NOTHING", "OUT")
    return {name: str(place) for name, place in (found | {name: own / name for name in mine}).items()}


def _filled(text: str, places: dict[str, str]) -> str:
    """A word of a command, with the file that it stands for; `--format SWH` means the text."""
    return re.sub(r"^(info=)?([A-Z]+)(?=/|$)", lambda m: (m[1] or "") + places.get(m[2], m[2]), text)


@pytest.mark.parametrize(
    ("code", "sentence", "command"), MISTAKES, ids=[" ".join(command)[:60] for _, _, command in MISTAKES]
)
def test_a_mistake_is_told_in_one_plain_line(
    code: int, sentence: str, command: list[str], places: dict[str, str], monkeypatch: Patch, capfd: Capture
) -> None:
    """One line, the right exit code, nothing of Python, and nothing written."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f'"{A}"\n"null\n'.encode())))
    pairs = zip(["", *command], command, strict=False)
    words = [word if before == "--format" else _filled(word, places) for before, word in pairs]
    assert run(words) == code
    both = capfd.readouterr()
    assert both.err.startswith("shardcore: ")
    assert both.err.count("\n") == 1, both.err
    wanted = re.sub(r"\b(STORE|SAMPLE|TEXT|THERE|NOTHING|OUT|TAKEN)\b", lambda m: places[m[0]], sentence)
    shown = both.err if wanted in both.err else both.err.replace(str(Path(places["TEXT"]).parent) + "/", "")
    assert wanted in both.err or sentence in shown
    assert not PYTHON.search(both.err)
    assert both.out == ""
    assert not Path(places["OUT"]).exists()
    assert Path(places["THERE"]).read_bytes() == b"x"
