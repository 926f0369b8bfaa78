"""The command `uploads`: multipart uploads that programs left in a bucket."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from shardcore.cli.options import USUAL, Json, Opening, reaches
from shardcore.cli.output import print_json, print_line, warn
from shardcore.cli.targets import uploading, writable
from shardcore.errors import NoSuchObject
from shardcore.model.number_words import plural, size_text
from shardcore.model.parallel import in_order


@reaches
def uploads(
    address: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="s3://BUCKET, or s3://BUCKET/PREFIX.", show_default=False)
    ],
    abort: Annotated[bool, typer.Option("--abort", help="Remove them, including those of running programs.")] = False,
    json: Json = False,
    how: Opening = USUAL,
) -> int:
    """List the unfinished multipart uploads of a bucket: start time, bytes stored, address. Stored parts are billed.

    Examples:
        shardcore uploads s3://bucket/prefix
        shardcore uploads s3://bucket/prefix --abort
    """
    from shardcore.sources.remote.upload import UnfinishedUpload

    where = writable(address)
    with uploading(how) as upload:

        def each(one: UnfinishedUpload) -> int | None:
            try:
                size = upload.stored_bytes(one)
                if abort:
                    upload.abort(one)
            except NoSuchObject:
                # It ended meanwhile.
                return None
            return size

        count = total = 0
        found = list(upload.unfinished(where))
        with closing(in_order(each, found, max(upload.jobs, 2), stop=upload.stop)) as sizes:
            for one, size in zip(found, sizes, strict=True):
                if size is None:
                    continue
                count, total = count + 1, total + size
                if json:
                    line = {"address": one.address.shown, "upload": one.upload_id, "started": one.started}
                    print_json(line | {"size": size, "aborted": abort})
                else:
                    print_line(f"{one.started}  {size:>12}  {one.address.shown}")
    if not json:
        done = "aborted" if abort else "unfinished"
        warn(f"{plural(count, 'upload')} {done}, {size_text(total)}" if count else "no unfinished uploads")
    return 0
