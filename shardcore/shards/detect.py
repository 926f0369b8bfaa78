"""Format detection of files and folders. Each format gives a verdict, and the most certain one wins."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from fnmatch import translate
from typing import TYPE_CHECKING

from shardcore.errors import (
    FormatError,
    LimitExceeded,
    NoSuchObject,
    NotAShard,
    Remedy,
    ShardError,
    SourceError,
    says_absent,
    source_lost,
)
from shardcore.model.options import OptionPurpose
from shardcore.shards.format import Certainty, Format, Verdict
from shardcore.shards.open_context import Draft

if TYPE_CHECKING:
    from shardcore.sources.base import Folder
    from shardcore.sources.prefetched_source import PrefetchedSource

Formats = Callable[[], Iterator[Format]]
"""Function that yields the formats in detection order, and imports each just before."""

LONGEST_BEGINNING = 64
"""Maximum number of bytes compared with `Format.begins`."""

MARK_LIMIT = 1 << 24
"""Maximum bytes read of a marker file; a larger one counts as present."""


def is_other_file(verdict: Verdict, draft: Draft, error: ShardError) -> bool:
    """Return whether a file that failed to open is probably no shard: it has only a part of the magic number."""
    return verdict.certainty is Certainty.PARTLY and not draft.sections and isinstance(error, FormatError)


def partial_match(found: Format, verdict: Verdict, name: str) -> NotAShard:
    candidate = f"{found.name}: {verdict.why}"
    return NotAShard(f"{name}: unrecognised format; {candidate}", candidates=(candidate,))


def judge(
    probe: PrefetchedSource, formats: Formats, containers: Callable[[], Iterable[Format]] = tuple
) -> tuple[Format, Verdict]:
    """Return the format of a file: detected by content, else by files beside it, else by inference.

    `containers` are formats of files with parts that are not shards; they are tried before inference.

    Raises:
        NotAShard: No format is certain enough; the error contains the candidates.
    """
    head = probe.head(LONGEST_BEGINNING)

    def asked(one: Format) -> Verdict | None:
        return one.detect(probe) if not one.begins or head.startswith(one.begins) else None

    verdicts = _ask(formats, asked)
    others: list[tuple[Format, Verdict]] = []
    best = max((verdict.certainty for _, verdict in verdicts), default=Certainty.PARTLY)
    if best is Certainty.PARTLY:
        from shardcore.shards.non_shard_files import other_file

        if what := other_file(probe):
            raise NotAShard(f"{probe.name} is {what}", is_other=True)
        others = _ask(containers, asked)
    # Data of a split-form shard may begin with a gzip stream; a file named .gz is not a shard.
    if not verdicts and not any(probe.name.lower().endswith(one.suffixes) for one, _ in others):
        verdicts = _ask(formats, lambda f: f.infer(probe) if f.infer else None)
    if all(verdict.certainty is Certainty.PARTLY for _, verdict in verdicts):
        verdicts += others
    return _surest(verdicts, probe.name)


def judge_folder(folder: Folder, formats: Formats) -> tuple[Format, Verdict]:
    """Return the format of a folder; formats whose file names match are tried first.

    Raises:
        NotAShard: No format is certain enough.
        SourceError: The folder cannot be listed.
    """
    if not folder.lists_cheaply:
        # Testing for a marker file costs one request, a listing one per thousand names.
        if sure := _named_on_first_page(folder, formats):
            return sure
        verdicts = _ask(formats, lambda f: f.detect_folder(folder) if f.folder_mark and f.detect_folder else None)
        if verdicts and verdicts[0][1].certainty >= Certainty.BESIDE:
            return verdicts[0]
    try:
        likely = _likely(folder, formats)
    except SourceError as error:
        if source_lost(error) or not folder.lists_cheaply:
            raise
        likely = set()  # a folder that cannot be listed may still be recognised by a file that can be opened

    def asked(one: Format, first: bool) -> Verdict | None:
        return one.detect_folder(folder) if one.detect_folder and (one.name in likely) is first else None

    verdicts = _ask(formats, lambda one: asked(one, True))
    # If listing costs requests, formats without a matching name do not list further.
    enough = Certainty.BESIDE if folder.lists_cheaply else Certainty.INFERRED
    if all(verdict.certainty < enough for _, verdict in verdicts):
        verdicts += _ask(formats, lambda one: asked(one, False))
    if not verdicts:
        from shardcore.shards.non_shard_files import other_folder

        if what := other_folder(folder):
            raise NotAShard(f"{folder.uri} is {what}", is_other=True)
        raise NotAShard(f"{folder.uri}: not a data set of any format; give one of its files")
    found, verdict = _surest(verdicts, folder.uri)
    if verdict.certainty is Certainty.PARTLY:
        # A folder without a description of its files cannot be shown at all.
        remedy = Remedy.SPEC if any(one.names_format for one in found.options_for(OptionPurpose.OPEN)) else None
        raise NotAShard(f"{folder.uri}: {found.name}: {verdict.why}", remedy=remedy)
    return found, verdict


def _named_on_first_page(folder: Folder, formats: Formats) -> tuple[Format, Verdict] | None:
    """Return the format if the first names in the folder match only formats without a marker file; else None.

    Marker files would be searched in all parent folders, with one request each.
    """
    if not folder.listable or any(_is_there(folder, one.folder_mark) for one in formats() if one.folder_mark):
        return None
    try:
        names = [entry.name for entry in next(folder.pages(), [])]
    except SourceError as error:
        if source_lost(error):
            raise
        return None
    patterns = _patterns(formats)
    likely = [one for one in formats() if one.name in patterns and any(map(patterns[one.name].match, names))]
    if any(one.folder_mark for one in likely):
        return None
    verdicts = _ask(lambda: likely, lambda one: one.detect_folder(folder) if one.detect_folder else None)
    sure = [found for found in verdicts if found[1].certainty >= Certainty.BESIDE]
    return sure[0] if len(sure) == 1 else None


def _is_there(folder: Folder, mark: str) -> bool:
    """Return whether a folder has a marker file; reads the file as the format will, so that one request is enough."""
    try:
        folder.read(mark, MARK_LIMIT)
    except SourceError as error:
        if not says_absent(error):
            raise
        return False
    except LimitExceeded:
        return True
    return True


def check_found(folder: Folder, names: Collection[object]) -> None:
    """Raise NoSuchObject if a listing is empty, since a prefix of a bucket without keys does not exist."""
    if not names and not folder.lists_cheaply:
        raise NoSuchObject(f"nothing found at {folder.uri}")


def _patterns(formats: Formats) -> dict[str, re.Pattern[str]]:
    return {one.name: re.compile("|".join(map(translate, one.folder_names))) for one in formats() if one.folder_names}


def _likely(folder: Folder, formats: Formats) -> set[str]:
    """Return the names of the formats whose file names match; in a large folder, only the first page is examined."""
    patterns = _patterns(formats)
    for number, page in enumerate(folder.pages()):
        names = [entry.name for entry in page]
        if not number:
            check_found(folder, names)
        if likely := {format for format, pattern in patterns.items() if any(map(pattern.match, names))}:
            return likely
    return set()


def _ask(
    formats: Callable[[], Iterable[Format]], question: Callable[[Format], Verdict | None]
) -> list[tuple[Format, Verdict]]:
    """Collect the verdicts of the formats; stop at the first one by magic number."""
    answers: list[tuple[Format, Verdict]] = []
    # Formats are imported lazily: most files are recognised by the first few.
    for one in formats():
        verdict = question(one)
        if verdict is not None:
            answers.append((one, verdict))
            if verdict.certainty is Certainty.MAGIC:
                break
    return answers


def _surest(verdicts: list[tuple[Format, Verdict]], name: str) -> tuple[Format, Verdict]:
    if not verdicts:
        raise NotAShard(f"{name}: unrecognised format")
    best = max(verdicts, key=lambda fv: fv[1].certainty)
    rivals = [f"{f.name}: {v.why}" for f, v in verdicts if v.certainty is best[1].certainty]
    if len(rivals) > 1 and best[1].certainty is Certainty.PARTLY:
        raise NotAShard(f"{name}: only partial matches: {'; '.join(rivals)}", candidates=tuple(rivals))
    return best
