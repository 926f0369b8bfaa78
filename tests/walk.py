"""The calls that a key or an offset makes.

`python -m tests.walk find URI KEY` and `python -m tests.walk select URI [SOURCE:]OFFSET` print them. Each function of
the house is named once for every time in a row that it is called; comprehensions are left out.
"""

from __future__ import annotations

import sys
from itertools import groupby
from types import FrameType
from typing import Any

import shardcore
from shardcore import Span


def calls_of(work: Any) -> list[str]:
    """Runs some work; the functions of the house that it called, in order."""
    calls: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        name = frame.f_code.co_qualname if sys.version_info >= (3, 11) else frame.f_code.co_name
        if event == "call" and module.startswith(("shardcore.", "shardscope.")) and "<" not in name:
            calls.append(f"{module.partition('.')[2]}: {name}")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def main(what: str, uri: str, argument: str) -> None:
    """Prints the calls, those in a row once, and how many there were."""
    with shardcore.open(uri) as shard:
        if what == "find":
            calls = calls_of(lambda: shard.find(argument))
        else:
            from shardscope.session import selection

            source, _, offset = argument.rpartition(":")
            shard.load_index()
            calls = calls_of(lambda: selection.of_span(shard, Span(source, int(offset), int(offset) + 1)))
    for name, same in groupby(calls):
        count = len(list(same))
        print(name if count == 1 else f"{name} ({count} times)")
    print(f"{len(calls)} calls")


if __name__ == "__main__":
    main(*sys.argv[1:4])
