"""Bytes in the forms that others take."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from shardcore import Span
from shardcore.model.copy_forms import OpenedWith, curl_command, explain_command, read_lines


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
        (
            "https://example.org/a b.shard",
            Span("", 72, 80),
            "curl --fail --range 72-79 --output bytes.bin 'https://example.org/a b.shard'",
        ),
        ("a.shard", Span("", 0, 8), ""),
        ("https://example.org/a", Span("@0-8", 0, 8), ""),
        ("https://example.org/a", Span("", 8, 8), ""),
    ],
)
def test_a_range_of_the_web(uri: str, span: Span, command: str) -> None:
    assert curl_command(uri, span) == command
