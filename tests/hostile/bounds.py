"""The bounds of `docs/bounds.md`, and the commands they hold for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.hostile.making import Hostile
from tests.hostile.running import Outcome, Runner

MEGABYTES = 200.0
ENDED_SECONDS = 600.0
"""After this time of the processor a command is ended: it would never end by itself."""
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
        endless: Whether it takes as long as there are files.
    """

    arguments: tuple[str, ...]
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
        return [*found, Command(("info", uri, "--count"))]
    found = [
        Command(("info", uri)),
        Command(("info", uri, "--json", "--count")),
        Command(("tree", uri)),
        Command(("tree", uri, "--depth", "4", "--json")),
        Command(("explain", uri, "0x20")),
        Command(("explain", uri, "0x20", "--leads")),
        Command(("ls", uri)),
        Command(("ls", uri, "--limit", "5", "--json")),
        Command(("verify", uri)),
        Command(("verify", uri, "--depth", "index", "--json")),
        Command(("extract", uri, str(folder / "taken"), "--limit-bytes", "1000000")),
        Command(("salvage", uri, "--plan", "--limit-bytes", "1000000")),
        Command(("salvage", uri, "--plan", "--raw")),
        Command(("convert", uri, _TARGETS[one.format], str(folder / "converted"), *_CONVERTED)),
        Command(("convert", uri, _TARGETS[one.format], str(folder / "planned"), *_CONVERTED, "--plan")),
        *(Command(("chart", uri, what)) for what in ("budget", "sizes", "load")),
        *(Command(("draw", uri, "--name", name)) for name in DRAWINGS[one.format]),
    ]
    for key in one.keys:
        found.append(Command(("trace", uri, "--", key)))
        found.append(Command(("trace", uri, "--cold", "--draw", "--", key)))
        taken = ("-o", str(folder / "got"), "--force")
        found += [Command(("draw", uri, "--name", name, "--", key)) for name in DRAWINGS[one.format]]
        found.append(Command(("get", uri, *taken, "--limit-bytes", "1000000", "--", key)))
    return found


def judged(runner: Runner, command: Command) -> tuple[Outcome, str]:
    """What a command did, and which bound it broke; empty for none."""
    outcome = runner.run(list(command.arguments), ENDED_SECONDS)
    return outcome, fault(command, outcome)


def fault(command: Command, outcome: Outcome) -> str:
    """Which bound a command broke; empty for none."""
    if outcome.code not in FINE_CODES and not outcome.ended:
        return f"exit code {outcome.code}"
    if "Traceback" in outcome.err:
        return "a traceback"
    if outcome.megabytes > MEGABYTES:
        return f"{outcome.megabytes:.0f} MB over idle"
    if outcome.ended and not command.endless:
        return f"no end after {outcome.total:.1f} s"
    if any(not (c.isprintable() or c == "\n") for c in outcome.out + outcome.err):
        return "raw text"
    return ""
