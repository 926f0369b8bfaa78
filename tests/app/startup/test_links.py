"""Links into files, as the command line takes them and cards give them."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from shardcore import Span
from shardcore.model.details import link_command
from shardscope.startup.single_instance import pasted_link, split_link


@pytest.mark.parametrize(
    ("link", "place"),
    [
        ("#72", Span("", 72, 73)),
        ("#72-80", Span("", 72, 80)),
        ("#0x10-0x18", Span("", 16, 24)),
        ("#@100-200:5", Span("@100-200", 5, 6)),
        ("#xorb:6d9a:5-9", Span("xorb:6d9a", 5, 9)),
        *((link, None) for link in ("", "#", "#top", "#-5")),
    ],
)
def test_a_link_is_a_file_and_a_place(tmp_path: Path, link: str, place: Span | None) -> None:
    path = tmp_path / "a.shard"
    path.touch()
    assert split_link(f"{path}{link}") == ((str(path), place) if place else (f"{path}{link}", None))


def test_files_whose_name_holds_the_sign_still_open(tmp_path: Path) -> None:
    path = tmp_path / "a#5"
    assert split_link(str(path)) == (str(path), None)
    path.touch()
    assert split_link(str(path)) == (str(path), None)
    assert split_link(f"{path}#7-9") == (str(path), Span("", 7, 9))
    assert split_link("s3://bucket/a.shard#7") == ("s3://bucket/a.shard", Span("", 7, 8))
    assert split_link("s3://bucket/a#b.shard") == ("s3://bucket/a#b.shard", None)


@pytest.mark.parametrize("span", [Span("", 3, 4), Span("", 3, 9), Span("", 3, 3), Span("@5-9", 0, 2)])
def test_links_of_cards_lead_back(tmp_path: Path, span: Span) -> None:
    path = tmp_path / "a b#'c.shard"
    path.touch()
    program, link = shlex.split(link_command(str(path), span))
    assert program == "shardscope"
    there = (str(path), Span(span.source, span.start, max(span.stop, span.start + 1)))
    assert split_link(link) == there
    assert pasted_link(link_command(str(path), span)) == there, "the whole line, as it was copied"
    assert pasted_link("shardscope 'unclosed") == ("shardscope 'unclosed", None)
