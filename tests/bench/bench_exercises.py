"""Exercises: 200 seeds of each format, solved by their lookups through the judge; how long one takes."""

from __future__ import annotations

import time
from collections.abc import Iterator

from shardcore.teaching.exercises.exercise import ExerciseName, exercise_formats
from tests.bench.figures import Figure
from tests.shardcore.teaching.exercises.solved import solve

SEEDS = 200
LIMIT = 1.0
"""Seconds for one exercise: packed, looked up, judged."""


def run() -> Iterator[Figure]:
    """A figure for each format; a question that its lookup does not solve stops it."""
    for format in exercise_formats():
        began, questions = time.perf_counter(), 0
        for seed in range(SEEDS):
            count, wrong = solve(ExerciseName(format, seed))
            questions += count
            if wrong:
                raise AssertionError("\n".join(wrong))
        seconds = (time.perf_counter() - began) / SEEDS
        yield Figure(f"exercises, {format}: {SEEDS} seeds, {questions:,} questions, each exercise", seconds, LIMIT)
