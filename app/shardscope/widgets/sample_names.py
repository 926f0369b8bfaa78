"""Titles of the sample files, with the word *Damaged* or *Unusual* where it applies."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from shardcore.teaching.resource_paths import Role, Sample


def sample_title(sample: Sample) -> str:
    words = {
        Role.DAMAGED: QCoreApplication.translate("Samples", "Damaged"),
        Role.ODD: QCoreApplication.translate("Samples", "Unusual"),
    }
    word = words.get(sample.role)
    return f"{word}: {sample.title[:1].lower()}{sample.title[1:]}" if word else sample.title
