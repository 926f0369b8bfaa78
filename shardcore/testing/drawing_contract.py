"""Contract tests for the drawings of a format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, ClassVar

import pytest

import shardcore
from shardcore.errors import UsageError
from shardcore.model.drawing import Drawing, Sketch
from shardcore.shards.shard import Shard
from shardcore.shards.trace import Trace
from shardcore.testing.checks import live_keys
from shardcore.testing.drawing_checks import WIDTHS, check_drawing, values_at_ends, wrong_values
from shardcore.testing.sampling import sampled
from shardcore.testing.sources import CountingSource


class DrawingContract:
    """Contract tests for the drawings of a format; derive from it, and define the samples.

    Attributes:
        samples: Files or folders of the format.
        quick_samples: Number of samples in a quick run.
        names: Names of the drawings of every successful lookup.
        absent: Well-formed keys that no sample contains.
        most_keys: Maximum number of keys per sample that are looked up.
    """

    samples: ClassVar[Sequence[Path]] = ()
    quick_samples: ClassVar[int] = 4
    names: ClassVar[Sequence[str]] = ()
    absent: ClassVar[Sequence[str]] = ()
    most_keys: ClassVar[int] = 2

    def opened(self, where: Any, **options: Any) -> Shard:
        """Open a sample; override it for samples that need options or other files."""
        return shardcore.open(where, **options)

    def keys(self, shard: Shard) -> list[str]:
        """Return the keys to look up, both existing and absent ones."""
        return [*live_keys(shard)[: self.most_keys], *self.absent]

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Parametrize tests with a `sample` argument; a quick run uses some samples."""
        if "sample" in metafunc.fixturenames:
            taken = sampled(self.samples, self.quick_samples)
            metafunc.parametrize("sample", taken, ids=lambda path: "-".join(path.parts[-2:]))

    def with_drawings(self, sample: Path) -> Iterator[tuple[Shard, Trace | None, tuple[Sketch, ...]]]:
        """Yield a sample with its drawings: those of the file, and those of some lookups."""
        with self.opened(sample) as shard:
            shard.load_index()
            yield shard, None, shard.sketches()
            for key in self.keys(shard):
                trace = shard.trace(key)
                yield shard, trace, shard.sketches(trace)

    def test_every_rectangle_is_in_the_tree(self, sample: Path) -> None:
        """Each item of each drawing begins and ends where nodes do, or is a part of one node."""
        for shard, trace, sketches in self.with_drawings(sample):
            steps = trace.steps if trace is not None else ()
            drawn = [step.drawing for step in steps if step.drawing is not None]
            assert len(drawn) == len(steps), "a step without a drawing"
            for number, drawing in enumerate(drawn):
                check_drawing(shard, drawing, WIDTHS[number % 2 :: 2])
            for sketch in sketches:
                check_drawing(shard, sketch.draw({}))

    def test_controls_can_be_set(self, sample: Path) -> None:
        """Drawing works for the default and both extremes of every control, and is deterministic."""
        widths = cycle(WIDTHS)
        for shard, _, sketches in self.with_drawings(sample):
            for sketch in sketches:
                usual: Drawing = sketch.draw({})
                assert usual == sketch.draw({one.name: one.value for one in sketch.controls})
                for control in sketch.controls:
                    for value in values_at_ends(control):
                        check_drawing(shard, sketch.draw({control.name: value}), [next(widths)])

    def test_wrong_values_are_refused(self, sample: Path) -> None:
        """An invalid value of a control raises a `UsageError` that lists the valid ones."""
        for _, _, sketches in self.with_drawings(sample):
            for sketch in sketches:
                wrong = [(control.name, value) for control in sketch.controls for value in wrong_values(control)]
                for name, value in wrong:
                    with pytest.raises(UsageError):
                        sketch.draw({name: value})

    def test_sketches_are_named(self, sample: Path) -> None:
        """Names of drawings are short, stable and unique; each successful lookup has the drawings of the format."""
        for _, trace, sketches in self.with_drawings(sample):
            names = [sketch.name for sketch in sketches]
            assert len(set(names)) == len(names)
            assert all(name.isidentifier() and sketch.title for name, sketch in zip(names, sketches, strict=True))
            if trace is not None and trace.outcome == "found":
                assert set(self.names) <= set(names)

    def test_listing_drawings_reads_nothing(self, sample: Path) -> None:
        """Listing the drawings reads no byte."""
        if sample.is_dir():
            pytest.skip("a folder has no bytes that could be counted")
        source = CountingSource(sample.read_bytes(), sample.name, folder=shardcore.LocalFolder(sample.parent))
        with self.opened(source) as shard:
            traces = [None, *(shard.trace(key) for key in self.absent)]
            for trace in traces:
                source.ranges.clear()
                shard.sketches(trace)
                assert source.ranges == []
