"""The program itself: exit codes, pipes, signals, help."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import shardcore
from shardcore import errors
from shardcore.cli.output import progress_bar
from shardcore.cli.program import exit_code, run
from shardcore.errors import ShardError
from shardcore.model.text import visible

COMMANDS = ["info", "tree", "explain", "trace", "verify", "locate", "ls", "get", "extract", "recover", "pack"]


def program(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **{k: str(v) for k, v in options.items()}}
    command = [sys.executable, "-m", "shardcore", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture
def small(data: Path) -> Path:
    return data / "swh/small.shard"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["info", "SMALL"], 0),
        (["trace", "SMALL", "00" * 32], 1),
        (["ls", "SMALL", "--nope"], 2),
        (["info", "README"], 3),
        (["info", "no such file"], 4),
    ],
)
def test_exit_codes(small: Path, arguments: list[str], code: int) -> None:
    names = {"SMALL": str(small), "README": str(small.parent / "README.md")}
    done = program(*(names.get(argument, argument) for argument in arguments))
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == (1 if code > 1 else 0)
    assert not done.stderr or done.stderr.startswith("shardcore: ")


def test_each_error_has_its_code() -> None:
    """Usage is 2, absence 1, sources 4, damage 3."""
    usage = (
        "UsageError",
        "TargetExists",
        "InvalidIndex",
        "NotAnArray",
        "PackageMissing",
        "StoreUntrusted",
        "LayerUnchosen",
        "SpaceUnchosen",
    )
    codes = dict.fromkeys(usage, 2) | {"KeyAbsent": 1}
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ShardError)]
    assert {kind.__name__: exit_code(kind("x")) for kind in kinds} == {
        kind.__name__: codes.get(kind.__name__, 4 if issubclass(kind, errors.SourceError) else 3) for kind in kinds
    }


def test_help_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    alone = capsys.readouterr().out
    assert run(["--help"]) == 0
    assert capsys.readouterr().out == alone
    for command in COMMANDS:
        assert f" {command} " in alone
        assert run([command, "--help"]) == 0
        text = capsys.readouterr().out
        assert f"shardcore {command}" in text
        assert not re.search(r"<(str|path|int range|list\[str\])>|\{", text), "a type of Python, or a brace"
        for same in ([command, "-h"], ["help", command]):
            assert run(same) == 0
            assert capsys.readouterr().out == text


def test_options_for_remote_files_are_on_one_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["help", "remote"]) == 0
    flags = re.findall(r"--[a-z-]+", capsys.readouterr().out)
    assert {"--endpoint-url", "--requester-pays", "--limit-fetch", "--request-log"} <= set(flags)
    assert run(["verify", "--help"]) == 0
    text = capsys.readouterr().out
    assert "Remote options: see `shardcore help remote`" in text
    assert not [flag for flag in flags if flag in text]


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        ("recover SMALL --plan", "salvage", "recover"),
        ("explain SMALL 64 --references", "--leads", "--references"),
        ("info SMALL --request-log LOG", "--tape", "--request-log"),
        ("draw SMALL --name slot-placement", "parking", "slot-placement"),
    ],
)
def test_older_names_work(
    small: Path, line: str, old: str, new: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    texts = []
    for one in (line, line.replace(new, old)):
        assert run(one.replace("SMALL", str(small)).replace("LOG", str(tmp_path / "log")).split()) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] != ""
    for command in ([], line.split()[:1]):
        run([*command, "--help"])
        assert old not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("get SMALL 0 --force", "--force is only used with --output FILE"),
        ("extract SMALL out --shared", "--shared is only used with --cluster ADDRESS"),
        ("verify SMALL --state file", "--state is only used with --cluster"),
        ("chart SMALL budget --of x", "--of is only used with sizes and load"),
        ("chart SMALL sizes --spread", "--spread is only used with load"),
        ("show SMALL 0 --index 1", "--index is only used with --png"),
        ("lesson export x y --json", "--json is only used with lesson list"),
        ("undo SMALL --purge --trust", "--trust is only used without --purge"),
    ],
)
def test_an_option_without_effect_is_refused(
    small: Path, line: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(line.replace("SMALL", str(small)).split()) == 2
    assert capsys.readouterr().err == f"shardcore: {option}\n"


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/bin/sh").exists(), reason="no shell here")
@pytest.mark.parametrize(
    ("after", "code"), [("| head -c 1 >/dev/null", 0), (">&-", 4), (">&- <&-", 4), ("2>&-", 0), (">/dev/full", 4)]
)
@pytest.mark.parametrize("command", ["ls --json SHARD", "get SHARD KEY", "get SHARD KEY -o /dev/stdout", "get --help"])
def test_outputs_that_go_away(data: Path, after: str, code: int, command: str) -> None:
    """A closed reader is no failure; a full disk and a closed output are."""
    if "full" in after and not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    shard = data / "swh/medium.shard"
    with shardcore.open(shard) as opened:
        command = command.replace("SHARD", f'"{shard}"').replace("KEY", opened.objects.keys[0])
    script = f'"{sys.executable}" -m shardcore {command}; echo "code $?" >&3'
    script = f"{{ {script}; }} {after}" if "|" in after else script.replace(";", f" {after};", 1)
    done = subprocess.run(["/bin/sh", "-c", f"exec 3>&2; {script}"], capture_output=True, check=False)
    assert f"code {code}".encode() in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.skipif(not hasattr(os, "pipe") or sys.platform == "win32", reason="pipes break otherwise there")
def test_help_whose_reader_is_gone() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "shardcore", "--help"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break otherwise there")
def test_findings_count_even_when_nobody_reads_them(tmp_path: Path) -> None:
    """`verify … | head -1` exits with 1 for a damaged shard."""
    with shardcore.create(tmp_path / "many", format="swh") as writer:
        for number in range(300):
            writer.add(f"{number:064x}", b"%d" % number)
    content = bytearray((tmp_path / "many").read_bytes())
    with shardcore.open(bytes(content)) as shard:
        start = shard.fields["header.index_position"]
    assert isinstance(start, int)
    for slot in range(200):
        content[start + 40 * slot + 32 : start + 40 * slot + 40] = b"\x7f" * 8
    (tmp_path / "many").write_bytes(content)
    reader, output = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "shardcore", "verify", str(tmp_path / "many")]
    done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, check=False)
    os.close(output)
    assert (done.returncode, done.stderr) == (1, "")


def test_interrupting_leaves_nothing(tmp_path: Path) -> None:
    """Ctrl-C ends with exit code 130, without traceback or partial file."""
    # Programs started in the background of a script do not hear Ctrl-C, nor do theirs: here it is heard again.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    heard += "from shardcore.cli import main; main()"
    command = [sys.executable, "-c", heard, "get", str(tmp_path / "s"), "--keys", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        # More than a pipe holds is written only when the program reads its keys from it.
        process.stdin.write(b"\n" * (1 << 20))
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        # A signal between two reads is seen after the next one.
        process.stdin.close()
        assert process.wait(30) == 130
        assert b"Traceback" not in process.stderr.read()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_side_files_that_you_name_never_block(small: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(small)
    for name, why in (("pipe", "not a regular file"), ("link", "refused to follow the link")):
        for command in (
            ("get", small, "--keys", tmp_path / name),
            ("pack", "swh", tmp_path / "new", "--manifest", tmp_path / name),
            ("locate", "des", "5", "-O", "date=2026-01-31", "-O", f"zones={tmp_path / name}"),
        ):
            done = program(*command)
            assert (done.returncode, why in done.stderr) == (4, True), (command, done.stderr)


@pytest.mark.thorough
def test_terminals_without_unicode(small: Path, tmp_path: Path) -> None:
    odd = tmp_path / "\u4e16\u00fc.shard"
    odd.write_bytes(small.read_bytes())
    done = program("info", odd, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u4e16\\xfc.shard: swh 1" in done.stdout
    raw = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.shard")
    Path(raw).write_bytes(small.read_bytes())
    for form in ([], ["--json"]):
        done = program("info", raw, *form, LC_ALL="C", PYTHONCOERCECLOCALE="0", PYTHONUTF8="0")
        assert (done.returncode, done.stderr) == (0, "")
        assert "\\udcff\\udcfe.shard" in done.stdout
    assert program("info", raw + "x").returncode == 4


def test_text_never_moves_the_cursor() -> None:
    assert visible("a\x1b[2Jb\r\n\ud800") == "a\\x1b[2Jb\\r\\n\\ud800"


class Terminal(io.StringIO):
    """Text that says it is shown to a person."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("after", [0.0, 60.0])
def test_progress_is_for_terminals_and_long_work(monkeypatch: pytest.MonkeyPatch, after: float) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("shardcore.cli.output.PROGRESS_AFTER", after)
    for stream, drawn in [(io.StringIO(), False), (Terminal(), not after), (None, False)]:
        monkeypatch.setattr(sys, "stderr", stream)
        with progress_bar("working") as progress:
            progress(1, 2)
            while drawn and "50%" not in stream.getvalue():
                progress(1, 2)
        assert stream is None or ("working" in stream.getvalue()) is drawn
