"""The description of each operation agrees with its library call and builds its command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING
from inspect import Parameter, signature
from typing import Any

import pytest

import shardcore
from shardcore.cli.program import loaded
from shardcore.operations import description
from shardcore.operations.description import given, settings_of
from shardcore.operations.recover import salvage

CALLS: dict[Any, Callable[..., Any]] = {
    description.Append: shardcore.append,
    description.Convert: shardcore.convert,
    description.Delete: shardcore.delete,
    description.ExtractOptions: shardcore.ExtractOptions,
    description.Pack: shardcore.pack,
    description.Recover: salvage,
    description.ObjectSelection: shardcore.extract,
    description.TombstoneEdit: shardcore.tombstone,
    description.Truncate: shardcore.truncate,
    description.Undo: shardcore.undo,
}

FRONT_END = {"yes", "purge"}
"""Settings of a front end: a library call does not ask, and removing journals is a call of its own."""


@pytest.mark.parametrize("operation", CALLS, ids=lambda one: one.__name__)
def test_library_calls_take_the_settings_with_their_defaults(operation: Any) -> None:
    parameters = signature(CALLS[operation]).parameters
    settings = {name: default for name, _, default in settings_of(operation) if name not in FRONT_END}
    if operation is description.Recover:
        del settings["plan"]  # no folder means that nothing is written
    assert set(settings) <= set(parameters)
    for name, default in settings.items():
        usual = parameters[name].default
        assert usual is Parameter.empty if default is MISSING else usual in (default, Parameter.empty), name


@pytest.mark.parametrize(
    "operation",
    [
        *(one for one in CALLS if one not in (description.ExtractOptions, description.ObjectSelection)),
        description.Extract,
    ],
    ids=lambda one: one.__name__,
)
def test_commands_have_an_option_for_each_setting(operation: Any) -> None:
    there = {one.name: one for one in loaded(operation.__name__.lower().removesuffix("edit")).params}
    for name, one, _ in settings_of(operation):
        assert there[name].param_type_name == ("argument" if one.positional or one.listed else "option")
        assert one.help.removesuffix(".") in there[name].help


def test_settings_are_the_keyword_arguments_of_a_call() -> None:
    asked = description.Pack(format="swh", out="out.shard", force=True)
    assert given(asked) == {
        "manifest": None,
        "skip_unreadable": False,
        "report": None,
        "plan": False,
        "verify": shardcore.Depth.CONTENT,
        "force": True,
    }


def test_selections_take_keys_by_pattern() -> None:
    assert description.ObjectSelection().everything
    some = description.ObjectSelection(match="a*")
    assert not some.everything
    assert [some.takes(key) for key in ("ab", "b", None)] == [True, False, False]
    assert description.ObjectSelection(kind="file").takes(None)
