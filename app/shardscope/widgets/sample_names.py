"""Display names and groups of the samples."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QCoreApplication

from shardcore.teaching.resource_paths import Role, Sample

CARDS = (Role.MAIN, Role.FEATURED)


def further_samples(main: Sample, samples: Iterable[Sample]) -> list[Sample]:
    return [one for one in samples if one.format == main.format and one.role not in CARDS]


def sample_title(sample: Sample) -> str:
    words = {
        Role.DAMAGED: QCoreApplication.translate("Samples", "Damaged"),
        Role.ODD: QCoreApplication.translate("Samples", "Unusual"),
    }
    word = words.get(sample.role)
    return f"{word}: {sample.title[:1].lower()}{sample.title[1:]}" if word else sample.title
