"""The bounds of `docs/bounds.md`, and the commands they hold for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from shardcore.model.budget import pace
from tests.hostile.making import Hostile
from tests.hostile.running import Outcome, Runner

FIRST_SECONDS = 4.0
LAST_SECONDS = 10.0
MEGABYTES = 200.0
ENDED_SECONDS = 40.0
"""After this time of the processor a command is ended."""
TRIES = 3
"""How often a command that took too long is measured: what counts is the quickest."""
DRAWINGS = {
    "bloscpack": ("rulers", "block"),
    "des": ("address",),
    "mdb": ("ribbons", "cuts", "entrance"),
    "neuroglancer": ("bits", "files"),
    "swh": ("parking", "displacement"),
    "xorb": ("records", "lanes"),
}
"""What is drawn of each format; where a file has it not, the command says so."""
_CONVERTED = ("--force",)
_TARGETS = {"bloscpack": "swh", "des": "swh", "mdb": "des", "neuroglancer": "des", "swh": "des", "xorb": "swh"}
"""What each format is converted into."""
FINE_CODES = frozenset(range(5))
"""Exit codes that a command may have; anything else is a traceback or a signal."""


@dataclass(frozen=True)
class Command:
    """A command over one file.

    Attributes:
        arguments: The command line.
        expands: Whether its work is in the size of what it takes out, not of the file: it may take longer.
        at_end: Whether it tells nothing before it is done: it has no first rows.
        endless: Whether only its first rows have a bound: all of them take as long as there are files.
    """

    arguments: tuple[str, ...]
    expands: bool = False
    at_end: bool = False
    endless: bool = False

    def __str__(self) -> str:
        return " ".join(word for word in self.arguments if "/" not in word)[:60]


def commands_of(one: Hostile, path: Path, folder: Path) -> list[Command]:
    """Every command over one hostile file.

    Args:
        one: The file.
        path: Where it was built.
        folder: A folder for what is taken out.
    """
    uri = str(path)
    if one.many:
        found = [Command((name, uri), endless=name == "ls") for name in ("info", "tree", "ls")]
        return [*found, Command(("info", uri, "--count"), expands=True)]
    found = [
        Command(("info", uri)),
        Command(("info", uri, "--json", "--count")),
        Command(("tree", uri)),
        Command(("tree", uri, "--depth", "4", "--json")),
        Command(("explain", uri, "0x20")),
        Command(("explain", uri, "0x20", "--leads")),
        Command(("ls", uri)),
        Command(("ls", uri, "--limit", "5", "--json")),
        Command(("verify", uri), at_end=True),
        Command(("verify", uri, "--depth", "index", "--json"), at_end=True),
        Command(("extract", uri, str(folder / "taken"), "--limit-bytes", "1000000"), expands=True),
        Command(("salvage", uri, "--plan", "--limit-bytes", "1000000"), at_end=True),
        Command(("salvage", uri, "--plan", "--raw"), at_end=True),
        Command(("compare", uri), expands=True),
        Command(("convert", uri, _TARGETS[one.format], str(folder / "converted"), *_CONVERTED), expands=True),
        Command(("convert", uri, _TARGETS[one.format], str(folder / "planned"), *_CONVERTED, "--plan"), expands=True),
        *(Command(("chart", uri, what), at_end=True) for what in ("budget", "sizes", "entropy", "load")),
        *(Command(("draw", uri, "--name", name), at_end=True) for name in DRAWINGS[one.format]),
    ]
    for key in one.keys:
        found.append(Command(("trace", uri, "--", key)))
        found.append(Command(("trace", uri, "--cold", "--draw", "--", key)))
        taken = ("-o", str(folder / "got"), "--force")
        found += [Command(("draw", uri, "--name", name, "--", key), at_end=True) for name in DRAWINGS[one.format]]
        found.append(Command(("get", uri, *taken, "--limit-bytes", "1000000", "--", key), expands=True))
    return found


def judged(runner: Runner, command: Command) -> tuple[Outcome, str]:
    """What a command did, and which bound it broke; empty for none.

    What took too long is measured again, at the pace that the machine has meanwhile: a busy one breaks no bound.
    """
    outcome = runner.run(list(command.arguments), ENDED_SECONDS)
    wrong = fault(command, outcome)
    for _ in range(TRIES - 1):
        if not wrong or fault(command, replace(outcome, first=0.0, total=0.0, ended=False)):
            break
        before = pace()
        again = runner.run(list(command.arguments), ENDED_SECONDS)
        slower = (before + pace()) / 2
        outcome = replace(again, first=again.first / slower, total=again.total / slower)
        wrong = fault(command, outcome)
    return outcome, wrong


def fault(command: Command, outcome: Outcome) -> str:
    """Which bound a command broke; empty for none."""
    if outcome.code not in FINE_CODES and not outcome.ended:
        return f"exit code {outcome.code}"
    if "Traceback" in outcome.err:
        return "a traceback"
    if outcome.megabytes > MEGABYTES:
        return f"{outcome.megabytes:.0f} MB over idle"
    if outcome.first > FIRST_SECONDS and not (command.expands or command.at_end):
        return f"{outcome.first:.1f} s to its first output"
    if outcome.ended and not (command.expands or command.endless):
        return f"no end after {outcome.total:.1f} s"
    if not (command.expands or command.endless) and outcome.total > LAST_SECONDS:
        return f"{outcome.total:.1f} s"
    if any(not (c.isprintable() or c == "\n") for c in outcome.out + outcome.err):
        return "raw text"
    return ""
