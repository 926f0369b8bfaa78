"""Seeded damage to the sample files of every format: `python -m tests.fuzz --minutes 10 --seed 7 --format swh`.

A case takes a sample, makes one to three edits that know its records, and hands it to a driver: readers, contents and
charts, recovery, writers that are read back, edits that are undone, commands, or the window with the file changing
under its panels. Anything but a `ShardError`, a warning of Python, Qt or the log, more seconds of the processor or more
memory than a case may cost, a stall or a crash is a finding. Each is made smaller and written outside the repository
as JSON; `--replay FILE` runs it again.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import select
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from shardcore.shards.registry import FORMATS
from tests.fuzz.drivers import DRIVERS, WEIGHTS, WindowDriver, copied
from tests.fuzz.mutations import Edit, edited, minimised, mutation, places_of

ROOT = Path(__file__).parents[2]
HOMES = (ROOT / "tests" / "data", ROOT / "resources" / "samples")
ALL = (*FORMATS, "containers")
MOST_BYTES = 100_000
"""Bytes of a sample at most."""
SECONDS = {"window": 60.0, "command": 30.0}
"""Seconds of the processor that a case may take; 10 for the drivers not named."""
MEGABYTES = 200.0
"""Memory that a case may take over what the process had before."""
WALL_SECONDS = 240.0
"""After this time without an answer a process is ended."""
SMALLER_SECONDS = 30.0
"""Time for making a finding smaller."""


@dataclass(frozen=True)
class Case:
    """One mutated sample and its driver.

    Attributes:
        sample: The file that is opened, relative to the repository.
        target: The file that is edited: the sample, or one beside it.
        edits: The edits of it.
        driver: The driver.
        seed: Of the choices of the driver.
    """

    sample: str
    target: str
    edits: tuple[Edit, ...]
    driver: str
    seed: str

    def to_json(self) -> dict[str, Any]:
        """Return the case as JSON."""
        told = asdict(self)
        told["edits"] = [[edit.start, edit.stop, edit.data.hex()] for edit in self.edits]
        return told

    @classmethod
    def of(cls, told: dict[str, Any]) -> Case:
        """Return a case from `to_json`."""
        edits = tuple(Edit(start, stop, bytes.fromhex(data)) for start, stop, data in told["edits"])
        return cls(told["sample"], told["target"], edits, told["driver"], told["seed"])


@cache
def samples_of(name: str) -> tuple[Path, ...]:
    """The files of a format, the hostile ones among them: they are damaged further."""
    found = (path for home in HOMES for path in sorted((home / name).rglob("*")) if path.is_file())
    left_out = {".md", ".py", ".json", ".pyc"}
    return tuple(path for path in found if path.suffix not in left_out and 0 < path.stat().st_size < MOST_BYTES)


_read = cache(Path.read_bytes)
_places = cache(places_of)


def case_of(name: str, seed: int, number: int, drivers: list[str]) -> Case:
    """Return a case; the same for the same arguments."""
    dice = random.Random(f"{name}/{seed}/{number}")
    samples = samples_of(name)
    sample = target = dice.choice(samples)
    beside = [one for one in sample.parent.iterdir() if one.is_file() and 0 < one.stat().st_size < MOST_BYTES]
    if len(beside) > 1 and dice.random() < 0.12:
        target = dice.choice(sorted(beside))
    places = _places(target) if target == sample else ()
    edits = mutation(_read(target), places, _read(dice.choice(samples)), dice)
    driver = dice.choices(drivers, [WEIGHTS[one] for one in drivers])[0]
    relative = [str(path.relative_to(ROOT)) for path in (sample, target)]
    return Case(relative[0], relative[1], edits, driver, f"{seed}/{number}")


class Judge(logging.Handler):
    """Runs cases in this process, and says what is wrong with them."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._records: list[str] = []
        self._window: WindowDriver | None = None
        self._home = tempfile.TemporaryDirectory()
        logging.getLogger().addHandler(self)
        warnings.simplefilter("error")
        self.seconds = self.megabytes = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what the log says."""
        self._records.append(f"{record.name}: {record.getMessage()}")

    def close(self) -> None:
        """Remove the settings of the window."""
        self._home.cleanup()
        super().close()

    def wrong(self, case: Case) -> tuple[str, str]:
        """Return the mark of a finding, by which it is told from others, and the text; empty for none."""
        self._records.clear()
        data = edited(_read(ROOT / case.target), case.edits)
        target = Path(case.target) if case.target != case.sample else None
        _reset_peak()
        before, began = _status("VmRSS"), time.process_time()
        try:
            with copied(ROOT / case.sample, data, target) as path:
                self._run(case, path)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            self._window = None if case.driver == "window" else self._window
            return _mark(error), traceback.format_exc()[-3000:]
        self.seconds = time.process_time() - began
        self.megabytes = (_status("VmHWM") - before) / 1024
        if self._records:
            return self._records[0][:60], "\n".join(self._records)
        if self.seconds > SECONDS.get(case.driver, 10.0):
            return f"{case.driver} time {Path(case.sample).name}", f"{self.seconds:.1f} s of the processor"
        if self.megabytes > MEGABYTES:
            return f"{case.driver} memory {Path(case.sample).name}", f"{self.megabytes:.0f} MB"
        return "", ""

    def _run(self, case: Case, path: Path) -> None:
        dice = random.Random(case.seed)
        if case.driver != "window":
            DRIVERS[case.driver](path, dice)
            return
        self._window = self._window or WindowDriver(Path(self._home.name))
        self._window(path, dice)


def _mark(error: BaseException) -> str:
    """Return the kind of an error and the innermost line of the program that raised it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if str(ROOT) in frame.filename]
    last = next((frame for frame in reversed(frames) if "/tests/" not in frame.filename), frames[-1])
    text = "" if not isinstance(error, AssertionError) else f" {str(error)[:50]}"
    return f"{type(error).__name__} {Path(last.filename).name}:{last.lineno}{text}"


def _reset_peak() -> None:
    """Let the highest memory begin again."""
    Path("/proc/self/clear_refs").write_text("5")


def _status(name: str) -> int:
    """Return a figure of this process in KiB."""
    return int(Path("/proc/self/status").read_text("ascii").partition(f"{name}:")[2].split()[0])


# --- one process for each format ----------------------------------------------------------------------------


def work(name: str, options: argparse.Namespace, out: Path) -> None:
    """Run cases of one format until the time is over; prints a line of JSON before and after each."""
    judge = Judge()
    until = time.monotonic() + 60 * options.minutes
    number, marks = options.first, set[str]()
    while time.monotonic() < until and (not options.count or number < options.count):
        case = case_of(name, options.seed, number, options.drivers.split(","))
        _tell(begin=number, case=case.to_json())
        mark, text = judge.wrong(case)
        if mark and mark not in marks:
            marks.add(mark)
            case = _smaller(case, mark, judge)
            _keep(out, name, case, mark, text)
        _tell(done=number, driver=case.driver, mark=mark, seconds=judge.seconds, megabytes=judge.megabytes)
        number += 1
    judge.close()
    _tell(end=number)


def _smaller(case: Case, mark: str, judge: Judge) -> Case:
    until = time.monotonic() + SMALLER_SECONDS

    def fails(edits: tuple[Edit, ...]) -> bool:
        smaller = Case(case.sample, case.target, edits, case.driver, case.seed)
        return time.monotonic() < until and judge.wrong(smaller)[0] == mark

    return Case(case.sample, case.target, minimised(case.edits, fails), case.driver, case.seed)


def _keep(out: Path, name: str, case: Case, mark: str, text: str) -> None:
    told = {"mark": mark, **case.to_json(), "text": text}
    (out / f"{name}-{case.seed.replace('/', '-')}.json").write_text(json.dumps(told, indent=1))


def _tell(**told: Any) -> None:
    print(json.dumps(told), flush=True)


def watch(name: str, options: argparse.Namespace, out: Path) -> int:
    """Run the process of a format, anew after each crash; prints a line, and returns the number of findings."""
    until = time.monotonic() + 60 * options.minutes
    cases, marks = Counter[str](), Counter[str]()
    first, worst = options.first, {"seconds": 0.0, "megabytes": 0.0}
    while time.monotonic() < until:
        ended = True
        last: dict[str, Any] = {}
        for told in _lines(name, options, (until - time.monotonic()) / 60, first):
            if "begin" in told:
                last, first = told, told["begin"] + 1
            elif "done" in told:
                cases[told["driver"]] += 1
                marks[told["mark"]] += bool(told["mark"])
                worst = {figure: max(most, told[figure]) for figure, most in worst.items()}
            else:
                ended = "end" not in told
        if not ended:
            break
        mark = f"{last.get('case', {}).get('driver', 'start')}: crash or stall"
        marks[mark] += 1
        if not last:
            break
        _keep(out, name, Case.of(last["case"]), mark, "the process ended, or gave no answer")
    found = [f"{mark} ({count} times)" for mark, count in marks.items() if mark and count]
    each = ", ".join(f"{count} {driver}" for driver, count in sorted(cases.items()))
    figures = f"worst {worst['seconds']:.1f} s, {worst['megabytes']:.0f} MB"
    line = f"{name}: {sum(cases.values()):,} cases ({each}), seed {options.seed}; {len(found)} findings; {figures}"
    print(line, *found, sep="\n  ", flush=True)
    return len(found)


def _lines(name: str, options: argparse.Namespace, minutes: float, first: int) -> Iterator[dict[str, Any]]:
    """The lines of one process; it is ended when it gives none for too long."""
    command = [sys.executable, "-m", "tests.fuzz", "--inside", name, "--minutes", str(minutes), "--out", options.out]
    command += ["--seed", str(options.seed), "--first", str(first), "--drivers", options.drivers]
    command += ["--count", str(options.count)]
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'app'}"}
    environment |= {f"XDG_{kind}_HOME": tempfile.gettempdir() for kind in ("DATA", "CONFIG", "CACHE", "STATE")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, env=environment) as process:
        while select.select([process.stdout], [], [], WALL_SECONDS)[0]:
            line = process.stdout.readline()
            if not line:
                break
            try:
                yield json.loads(line)
            except ValueError:
                sys.stderr.write(line.decode("utf-8", "replace"))
        process.kill()


def replay(path: Path) -> int:
    """Run a stored finding again; prints what is wrong."""
    judge = Judge()
    mark, text = judge.wrong(Case.of(json.loads(path.read_text())))
    judge.close()
    print(text or "nothing is wrong")
    return int(bool(mark))


def main() -> int:
    """Fuzz the formats named, or all, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--format", dest="formats", action="append", choices=ALL, help="may come several times")
    parser.add_argument("--minutes", type=float, default=10.0, help="for all formats together (default 10)")
    parser.add_argument("--count", type=int, default=0, help="most cases of each format")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--drivers", default=",".join(WEIGHTS), help="some of the drivers (default all)")
    parser.add_argument("--out", default=str(Path(tempfile.gettempdir()) / "shardscope-fuzz"), help="for findings")
    parser.add_argument("--replay", type=Path, metavar="FILE")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    options = parser.parse_args()
    out = Path(options.out)
    if options.replay is not None:
        return replay(options.replay)
    if options.inside:
        work(options.inside, options, out)
        return 0
    out.mkdir(parents=True, exist_ok=True)
    formats = options.formats or list(ALL)
    options.minutes /= len(formats)
    found = sum(watch(name, options, out) for name in formats)
    print(f"{found} findings" + (f", in {out}" if found else ""))
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
