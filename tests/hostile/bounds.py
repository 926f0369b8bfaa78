"""The bounds of `docs/bounds.md`, and the commands they hold for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.hostile.making import Hostile
from tests.hostile.running import Outcome, Runner

MEGABYTES = 200.0
ENDED_SECONDS = 600.0
"""After this time of the processor a command is ended: it would never end by itself."""
_NODES = ("record", "number", "binary")
DRAWINGS = {
    "bloscpack": ("rulers", "block", "lz4", "bitshuffle", *_NODES),
    "des": ("address", *_NODES),
    "mdb": ("ribbons", "cuts", "entrance", *_NODES),
    "neuroglancer": ("bits", "files", "cell", *_NODES),
    "swh": ("parking", "displacement", *_NODES),
    "xorb": ("records", "lanes", *_NODES),
}
"""What is drawn of each format; where a file has it not, the command says so."""
_CONVERTED = (("converted",), ("planned", "--plan"))
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
    target, most = _TARGETS[one.format], ("--limit-bytes", "1000000")
    looks = ("info", "info --json --count", "tree", "tree --depth 4 --json", "explain 0x20", "explain 0x20 --leads")
    looks += ("ls", "ls --limit 5 --json", "verify", "verify --depth index --json", "salvage --plan --raw")
    looks += ("chart budget", "chart sizes", "chart load", *(f"draw --name {name}" for name in DRAWINGS[one.format]))
    found = [(words[0], uri, *words[1:]) for words in map(str.split, looks)]
    found += [("extract", uri, str(folder / "taken"), *most), ("salvage", uri, "--plan", *most)]
    found += [("convert", uri, target, str(folder / name), "--force", *more) for name, *more in _CONVERTED]
    for key in one.keys:
        found += [("trace", uri, "--", key), ("trace", uri, "--cold", "--draw", "--", key)]
        found += [("draw", uri, "--name", name, "--", key) for name in DRAWINGS[one.format]]
        found.append(("get", uri, "-o", str(folder / "got"), "--force", *most, "--", key))
    return [Command(words) for words in found]


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
