"""Detection of the format of a file or folder by the most certain verdict; recognition of common other files."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Collection, Iterable, Iterator
from fnmatch import translate

from shardcore.errors import (
    FormatError,
    LimitExceeded,
    NoSuchObject,
    NotAShard,
    Remedy,
    ShardError,
    SourceError,
    raise_if_lost,
    raise_unless_absent,
    source_lost,
)
from shardcore.model.options import OptionPurpose
from shardcore.model.text import visible
from shardcore.shards.format import Certainty, Format, Verdict
from shardcore.shards.open_context import Draft
from shardcore.sources.base import WHOLE_HEAD, Folder
from shardcore.sources.prefetched_source import PrefetchedSource

_END = 4096
"""Number of bytes examined at the end of a file; they are cached, since detection has read them."""

_MOST_AXES = 32
"""Maximum number of parent folders of a chunk in which metadata of a zarr array is searched."""

_XML = rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?"
_AGAIN = "check the address and the permissions, and fetch the file again"

_BEGINNINGS = (
    (
        rb"version https?://[^\n]*/spec/v1\n.{0,200}?size (?P<size>\d{1,19})\n",
        "a Git LFS pointer ({size} bytes): git lfs pull fetches the file",
    ),
    (rb"/annex/objects/", "a git-annex pointer: git annex get fetches the file"),
    (_XML + rb"(?i:<(!doctype )?html)", "a web page (HTML), such as a login page or a list: fetch the file itself"),
    (
        _XML + rb"<Error[^>]*>.{0,200}?<Code>(?P<code>[^<]{1,80})</Code>",
        "an error document of an object store ({code}): " + _AGAIN,
    ),
    (_XML + rb"<ListBucketResult", "a listing of a bucket: fetch one of its files"),
    (
        rb'\s*\{\s*(?="(?:errors?|code|message)"\s*:)[^\0]{0,400}?"(?:error|message)"\s*:\s*"(?P<why>[^"]{1,80})',
        "an error document of a server ({why}): " + _AGAIN,
    ),
    (
        rb'\s*\{[^\0]*?("@type"\s*:\s*"neuroglancer_(?!uint64_sharded)|"scales"\s*:)',
        "the info of a Neuroglancer data set: open its folder",
    ),
    (rb'\s*\{[^\0]{0,400}?"shard_file"\s*:\s*"(?P<file>[^"/\\]{1,255})"', "a DES sidecar: open {file}"),
    (rb'\s*\{[^\0]*?"zarr_format"\s*:', "the metadata of zarr: open its folder with zarr"),
    (rb"MerkleDB Shard\0", "a MerkleDB shard of XetHub, before Hugging Face: read it with git-xet of XetHub"),
    (rb"\x9e\xa8b2frame\0.{0,200}?\xa4b2nd", "a Blosc2 array (b2nd): open it with blosc2.open"),
    (rb"\x9e\xa8b2frame\0", "a Blosc2 frame, not Bloscpack: open it with blosc2.open"),
    (rb".{257}ustar", "a tar archive, such as a WebDataset shard: tar -xf extracts it"),
    (rb"PAR1", "a Parquet file: read it with pyarrow or DuckDB"),
    (rb"ARROW1\0\0", "an Arrow file: read it with pyarrow"),
    (rb"\x89HDF\r\n\x1a\n", "an HDF5 file: read it with h5py"),
    (rb"PACK\0\0\0[\x02\x03]", "a Git pack: git unpack-objects extracts it"),
    (rb"\xfftOc\0\0\0\x02", "the index of a Git pack: git verify-pack -v lists it"),
    (rb"\xfd7zXZ\0", "a file compressed with xz: xz -d decompresses it"),
    (rb"BZh[1-9]1AY&SY", "a file compressed with bzip2: bzip2 -d decompresses it"),
    (rb"\x04\x22\x4d\x18", "a file compressed with lz4: lz4 -d decompresses it"),
)
"""Patterns of the first bytes of files that are not shards, with descriptions; in braces are groups of the pattern."""


def other_file(probe: PrefetchedSource, *, by_beginning: bool = False) -> str:
    """Return kind and advice for a common file that is no shard, or empty; `by_beginning`: only by its first bytes."""
    head = probe.head(probe.head_size)
    for pattern, text in _BEGINNINGS:
        if found := re.match(pattern, head, re.DOTALL):
            return text.format_map({name: _shown(value) for name, value in found.groupdict().items()})
    if by_beginning:
        return ""
    return _mds(probe, head) or _blosc(probe, head) or _zarr_chunk(probe) or _zeros(probe, head)


def other_folder(folder: Folder) -> str:
    try:
        with folder.open("zarr.json") as source:
            text = source.read_first(source.head_size)
    except SourceError as error:
        raise_unless_absent(error)
        return ""
    if (node := re.search(rb'"node_type"\s*:\s*"(array|group)"', text)) is None:
        return ""
    name, shards = node[1].decode(), " with shards" if b'"sharding_indexed"' in text else ""
    return f"a zarr v3 {name}{shards}: open the {name} with zarr"


def _shown(value: bytes) -> str:
    return f"{int(value):,}" if value.isdigit() else visible(value.decode("utf-8", "replace"))


def _mds(probe: PrefetchedSource, head: bytes) -> str:
    numbers = struct.unpack_from(f"<{len(head) // 4}I", head)
    if len(numbers) < 2 or not 0 < numbers[0] < probe.size // 4:
        return ""
    after, offsets = 4 * (numbers[0] + 2), numbers[1 : numbers[0] + 2]
    if not after < offsets[0] <= after + WHOLE_HEAD or list(offsets) != sorted(offsets) or offsets[-1] > probe.size:
        return ""
    if after < len(head) and not re.search(rb'"format": ?"mds"', head[after : offsets[0]]):
        return ""
    return "a MosaicML shard (MDS): read it with the package mosaicml-streaming"


def _blosc(probe: PrefetchedSource, head: bytes) -> str:
    if len(head) < 16 or head[0] not in range(1, 7):
        return ""
    _, block, stored = struct.unpack_from("<III", head, 4)
    name = "Blosc2" if head[0] > 2 else "Blosc"
    fits = block and stored == probe.size
    return f"a {name} chunk on its own, not Bloscpack: blosc2.decompress reads it" if fits else ""


def _zarr_chunk(probe: PrefetchedSource) -> str:
    """Return a description if path and array metadata in a parent folder are those of a zarr chunk, else empty."""
    folder = probe.folder
    if not re.fullmatch(r"(c\.)?\d+(\.\d+)*", probe.name):
        return ""
    for _ in range(_MOST_AXES):
        if folder is None or not folder.name.isdecimal():
            break
        folder = folder.parent()
    if folder is not None and folder.name == "c":
        folder = folder.parent()
    array = other_folder(folder) if folder is not None else ""
    return array and f"a chunk of {array}"


def _zeros(probe: PrefetchedSource, head: bytes) -> str:
    if (head + probe.read_last(_END)).strip(b"\0"):
        return ""
    whole = "nothing but zeros" if head else "empty"
    what = whole if len(head) == probe.size else f"zeros in its first {len(head):,} and last {_END:,} bytes"
    return f"{what}: probably an unfinished download or copy; fetch it again"


Formats = Callable[[], Iterator[Format]]
"""Function that yields the formats in detection order; each is imported just before it is yielded."""

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

    `containers` are file types that are not shards, but have objects, such as zip; they are tried before inference.

    Raises:
        NotAShard: No format matches with enough certainty; `candidates` of the error are partial matches.
    """
    head = probe.head(LONGEST_BEGINNING)

    def asked(one: Format) -> Verdict | None:
        return one.detect(probe) if not one.begins or head.startswith(one.begins) else None

    verdicts = _ask(formats, asked)
    others: list[tuple[Format, Verdict]] = []
    best = max((verdict.certainty for _, verdict in verdicts), default=Certainty.PARTLY)
    if best is Certainty.PARTLY:
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
        NotAShard: No format matches with enough certainty.
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
    """Return the format of a remote folder if the names on its first page match one without a marker file; else None.

    This avoids searching marker files in all parent folders, with one request each.
    """
    if not folder.listable or any(_is_there(folder, one.folder_mark) for one in formats() if one.folder_mark):
        return None
    try:
        names = [entry.name for entry in next(folder.pages(), [])]
    except SourceError as error:
        raise_if_lost(error)
        return None
    patterns = _patterns(formats)
    likely = [one for one in formats() if one.name in patterns and any(map(patterns[one.name].match, names))]
    if any(one.folder_mark for one in likely):
        return None
    verdicts = _ask(lambda: likely, lambda one: one.detect_folder(folder) if one.detect_folder else None)
    sure = [found for found in verdicts if found[1].certainty >= Certainty.BESIDE]
    return sure[0] if len(sure) == 1 else None


def _is_there(folder: Folder, mark: str) -> bool:
    """Return whether a folder has a marker file. It is read like the format reads it, so that one request is enough."""
    try:
        folder.read(mark, MARK_LIMIT)
    except SourceError as error:
        raise_unless_absent(error)
        return False
    except LimitExceeded:
        return True
    return True


def check_found(folder: Folder, names: Collection[object]) -> None:
    """Raise NoSuchObject if the listing of a remote folder is empty: a bucket has no folder without keys."""
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
    """Collect the verdicts of the formats in their order; stop at the first with a full magic number."""
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
        raise NotAShard(f"{name}: only these formats match, in part: {'; '.join(rivals)}", candidates=tuple(rivals))
    return best
