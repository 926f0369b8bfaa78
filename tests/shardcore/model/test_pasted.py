"""Lines for a shell, Markdown and Python of hostile names: nothing acts when they are pasted."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import shardcore
from shardcore import Span
from shardcore.cli.options import all_keys
from shardcore.model.details import (
    OpenedWith,
    card_of,
    curl_command,
    explain_command,
    explain_line,
    get_command,
    link_command,
    markdown,
    read_lines,
)
from shardcore.model.text import key_text, shell_line
from tests.shardcore.formats.des.made import Stored, shard

HOSTILE = (
    *("\x1b[201~\ntouch pwned\n", "\x9b201~;touch pwned;", "a\nb", "a\rtouch pwned\r", "tab\there", "-rf", "--help"),
    *("bidi\u202etouch\u2066", "zero\u200bwidth", "'; touch pwned; '", '"; touch pwned; "', "$(touch pwned)"),
    *("`touch pwned`", "$HOME *~?[a-z]{1,2}", "!! !touch", "back\\slash\\n%s%%", "\\u0041\x7f", "'!\x1b'!"),
    *("```\n# heading", "<img src=x onerror=1> [a](b) |x| $y$", "\u00e9\u4e2d\U0001f600", "\u00a0 space ", "#comment"),
)
SHELLS = tuple(name for name in ("sh", "bash", "dash", "zsh") if shutil.which(name))


def is_quiet(text: str) -> bool:
    return all(letter.isprintable() for letter in text.replace("\n", ""))


def run(line: str, folder: Path, shell: str = "sh") -> subprocess.CompletedProcess[bytes]:
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    tool = tools / "shardcore"
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shardcore "$@"\n')
    tool.chmod(0o755)
    environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [shell, "-c", line], cwd=folder, env=environment, capture_output=True, check=False, timeout=60
    )


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_reads_back_every_word(tmp_path: Path, shell: str) -> None:
    words = [*HOSTILE, "\udcff\x1b surrogate"]
    lines = [(word, shell_line(["printf", "%s", word])) for word in words]
    assert [word for word, line in lines if not line] == [word for word in words if word.endswith("\n")]
    for word, line in lines:
        assert is_quiet(line), line
        assert "\n" not in line
        if line:
            assert run(line, tmp_path, shell).stdout == word.encode("utf-8", "surrogateescape"), line
    assert not (tmp_path / "pwned").exists()


def test_no_line_where_none_gives_the_word() -> None:
    for word in ("a\0b", "\x1b\n", "\ud800"):
        assert shell_line(["shardcore", "info", word]) == ""
        assert get_command(word, "\x1b") == ""


@pytest.mark.thorough
def test_the_line_of_a_card_gets_the_object(tmp_path: Path) -> None:
    stored = [Stored(key.encode(), f"content {number}".encode(), "none") for number, key in enumerate(HOSTILE)]
    path = tmp_path / "it's \x1b[201~ here.des"
    path.write_bytes(shard(stored))
    with shardcore.open(str(path)) as opened:
        nodes = opened.explain(0)
        cards = [card_of(nodes, b"", path.name, key=key) for key in HOSTILE]
    for number, card in enumerate(cards):
        assert is_quiet(card.get), card.get
        assert "\n" not in card.get
        done = run(card.get, tmp_path)
        assert (done.stdout, done.stderr) == (f"content {number}".encode(), b""), card.get
    explained = run(cards[0].command, tmp_path)
    assert explained.returncode == 0, explained.stderr
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("key", HOSTILE)
def test_nothing_that_is_copied_acts(key: str, tmp_path: Path) -> None:
    """No form of a name, option or key holds control characters or Markdown markup."""
    with shardcore.open(str(Path(__file__).parents[2] / "data" / "swh" / "small.shard")) as opened:
        nodes = opened.explain(0)
    how = OpenedWith("swh", {"spec": key})
    span = Span(f"{key}x", 3, 9)
    card = card_of(nodes, b"`|<", f"{key}/file", how, key=key)
    text = markdown(card)
    forms = [
        text,
        card.python,
        explain_command(key, span, how),
        explain_line(key, span, how),
        read_lines(key, span, how),
        curl_command(f"https://host/{key}", Span("", 0, 9)),
        link_command(key, span, how),
        card.link,
        card.place,
        card.key,
        key_text(key),
    ]
    for form in forms:
        assert is_quiet(form), form
    fenced = re.split(r"^```.*$", text, flags=re.MULTILINE)
    assert len(fenced) == 5, "two blocks of code, and what is around them"
    for outside in fenced[::2]:
        plain = re.sub(r"`[^`\n]*`|\\.", "", outside)
        assert not re.search(r"[`<\[|$]", re.sub(r"^\|.*?\||\|$|^\|---\|---\|$| \| ", "", plain, flags=re.MULTILINE))
    keys = tmp_path / "keys"
    keys.write_text(json.dumps(key) if key.isprintable() else key_text(key))
    assert all_keys(None, str(keys)) == [key]


def test_a_name_that_begins_with_a_dash_is_no_option() -> None:
    assert explain_command("-x.shard", Span("", 0, 1)) == "shardcore explain ./-x.shard 0x0"
    assert get_command("-x.shard", "-k") == "shardcore get ./-x.shard -- -k"
    assert link_command("-x.shard", Span("", 0, 1)) == "shardscope './-x.shard#0'"


def test_commands_are_quoted() -> None:
    command = explain_command("a file; rm -rf x.shard", Span("@4-9", 2, 3), OpenedWith("swh"))
    words = ["shardcore", "explain", "a file; rm -rf x.shard", "0x2", "--in", "@4-9", "--format", "swh"]
    assert shlex.split(command) == words


def test_lines_of_python_run(data: Path) -> None:
    path = data / "swh" / "small.shard"
    found: dict[str, bytes] = {}
    exec(read_lines(str(path), Span("", 32, 40), OpenedWith("swh")), found)  # noqa: S102 - what is copied must run
    assert found["data"] == path.read_bytes()[32:40]


@pytest.mark.parametrize(
    ("uri", "span", "command"),
    [
        ("https://h/a b.shard", Span("", 72, 80), "curl --fail --range 72-79 --output bytes.bin 'https://h/a b.shard'"),
        ("a.shard", Span("", 0, 8), ""),
        ("https://example.org/a", Span("@0-8", 0, 8), ""),
        ("https://example.org/a", Span("", 8, 8), ""),
    ],
)
def test_a_range_of_the_web(uri: str, span: Span, command: str) -> None:
    assert curl_command(uri, span) == command
