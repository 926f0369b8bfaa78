"""Errors and the places they belong to."""

from __future__ import annotations

import pickle

import pytest

from shardcore import errors
from shardcore.errors import Cancelled, KeyAbsent, LimitExceeded, NotAShard, Remedy, ShardError, Truncated, UsageError
from shardcore.model.span import Span


@pytest.mark.parametrize(("start", "stop"), [(-1, 4), (5, 4)])
def test_backward_spans_cannot_be_made(start: int, stop: int) -> None:
    with pytest.raises(ValueError, match="half-open"):
        Span("", start, stop)


def test_an_error_tells_what_helps() -> None:
    error = UsageError("there already", span=Span("", 0, 8), remedy=Remedy.REPLACE)
    assert error.placed == "there already (0x0–0x7 · 8 bytes)"
    assert str(error) == "there already (0x0–0x7 · 8 bytes); pass force=True to replace it"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert LimitExceeded("too long").remedy is Remedy.LIMIT
    assert NotAShard("none", remedy=Remedy.SPEC).remedy is Remedy.SPEC


def test_all_errors_are_shard_errors() -> None:
    """Cancelling is none: it must not be swallowed by a general handler."""
    families = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert Cancelled not in families
    assert len(families) > 10
    assert all(issubclass(kind, ShardError) for kind in families)


@pytest.mark.parametrize(
    "error",
    [
        KeyAbsent("k", span=Span("", 1, 2)),
        NotAShard("no", candidates=("a", "b")),
        Truncated("short", span=Span("@1-2", 0, 1)),
    ],
)
def test_errors_survive_another_process(error: ShardError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert vars(again) == vars(error)
    assert str(again) == str(error)
