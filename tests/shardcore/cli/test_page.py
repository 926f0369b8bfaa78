"""The page about the command line says what the formats declare."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shardcore.cli.options import _REMOTE, _format_flags
from shardcore.cli.output import FLAGS
from shardcore.cli.program import loaded, run
from shardcore.errors import Remedy
from shardcore.model.options import OptionPurpose
from shardcore.shards.registry import all_formats

SWH = Path(__file__).parents[3] / "resources" / "samples" / "swh" / "small.shard"
PAGE = (Path(__file__).parents[3] / "docs" / "command-line.md").read_text(encoding="utf-8")


def rows(first: str) -> list[str]:
    return [line for line in PAGE.splitlines() if line.startswith(f"| `{first}` |")]


def test_every_option_is_listed() -> None:
    for purpose, command in ((OptionPurpose.WRITE, "pack"), (OptionPurpose.LOCATE, "locate")):
        for one in all_formats():
            declared = [option.name for option in one.options_for(purpose) if not option.hidden]
            told = rows(f"{command} {one.name}")
            assert len(told) == bool(declared), (command, one.name)
            assert not declared or re.findall(r"`(\w+)`:", told[0]) == declared


def test_the_flags_of_formats_are_declared_by_them() -> None:
    """`convert` has the options of opening and of writing."""
    convert = loaded("convert")
    there = {name for one in convert.params for name in one.opts}
    for one in all_formats():
        for option in one.options:
            if option.flag is not None:
                both = option.purpose is OptionPurpose.OPEN and option.name in _format_flags(OptionPurpose.WRITE)
                assert f"--source-{option.name}" in there or not both
                assert f"--{option.name}" in there, (one.name, option.name)


def test_a_flag_of_another_format_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    assert run(["pack", "swh", str(tmp_path / "out"), str(tmp_path / "a"), "--spec", "{}"]) == 2
    assert "--spec is not supported for swh (supported: neuroglancer)" in capsys.readouterr().err
    assert run(["convert", str(SWH), "des", str(tmp_path / "out"), "--xorbs", str(tmp_path)]) == 2
    assert "--xorbs is not supported for swh (supported: mdb)" in capsys.readouterr().err


def test_every_remedy_names_a_flag() -> None:
    assert set(FLAGS) == set(Remedy)
    known = {
        *_format_flags(OptionPurpose.OPEN),
        *_format_flags(OptionPurpose.WRITE),
        *(name.replace("_", "-") for name in _REMOTE),
        *("limit-bytes", "limit-work", "force", "key", "hard-links", "trust", "manifest", "skip-unreadable", "yes"),
    }
    for words in FLAGS.values():
        assert set(re.findall(r"--([a-z-]+)", words)) <= known
