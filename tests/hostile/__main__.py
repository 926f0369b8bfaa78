"""`python -m tests.hostile [FORMAT…] [-k WORD]`: every command over every hostile file, with its figures."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.hostile.bounds import commands_of, judged
from tests.hostile.files import ALL
from tests.hostile.running import Runner


def main() -> int:
    """Prints one line for each command; returns how many broke a bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("formats", nargs="*")
    parser.add_argument("-k", default="", help="only files with this word in their name")
    parser.add_argument("-c", default="", help="only commands with these words: salvage, trace --cold")
    parser.add_argument("--bad", action="store_true", help="print only what breaks a bound")
    options = parser.parse_args()
    broken = 0
    with Runner() as runner:
        for one in ALL:
            if (options.formats and one.format not in options.formats) or options.k not in one.name:
                continue
            with tempfile.TemporaryDirectory() as folder:
                path = one.make(Path(folder))
                for command in commands_of(one, path, Path(folder)):
                    if not set(options.c.split()) <= set(command.arguments):
                        continue
                    outcome, wrong = judged(runner, command)
                    broken += bool(wrong)
                    if wrong or not options.bad:
                        last = (outcome.err.strip().splitlines() or [""])[-1][:160]
                        mark = f"  !! {wrong}" if wrong else ""
                        print(f"{one} {command}: {outcome}{mark} | {last}", flush=True)
    print(f"{broken} broke a bound")
    return min(broken, 100)


if __name__ == "__main__":
    sys.exit(main())
