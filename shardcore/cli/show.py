"""Command `show`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shardcore.cli.options import USUAL, Force, Json, Opening, Uri, only, opens
from shardcore.cli.output import print_json
from shardcore.errors import UsageError

if TYPE_CHECKING:
    from shardcore.operations.content.base import Content


@opens
def show(
    uri: Uri,
    key: Annotated[str, typer.Argument(metavar="KEY", help="Key of the object.", show_default=False)],
    json: Json = False,
    member: Annotated[
        str | None,
        typer.Option("--member", metavar="NAME", help="Tensor or archive member; empty: content of a compressed file."),
    ] = None,
    png: Annotated[
        Path | None, typer.Option("--png", metavar="FILE", help="Write a picture, slice or 3D view as PNG.")
    ] = None,
    index: Annotated[
        str | None, typer.Option("--index", metavar="N,…", help="Slice: index of each axis after the second.")
    ] = None,
    level: Annotated[
        int | None, typer.Option("--level", metavar="N", help="Level of detail of a mesh; 0 is the finest.")
    ] = None,
    force: Force = False,
    how: Opening = USUAL,
) -> int:
    """Show the content of an object: text, table, picture, array, tensors, archive, mesh, skeleton, annotations.

    Examples:
        shardcore show contents.des src/tides.py
        shardcore show segmentation/mesh 42 --png mesh.png
    """
    from shardcore.codecs.images import encode_png
    from shardcore.operations.content import content, member_content
    from shardcore.operations.content.geometry import mesh_level
    from shardcore.writing.temporary import write_whole

    only("with --png", png, index=index, force=force)
    if level is not None and member is not None:
        raise UsageError("--level is for meshes, --member for tensors and archives: give one of them")
    with how.open(uri) as shard:
        shard.isolate()
        if level is not None:
            found: Content = mesh_level(shard, key, level)
        elif member is not None:
            found = member_content(shard, key, member)
        else:
            found = content(shard, key, strict=png is not None)
        if png is not None:
            write_whole(png, [encode_png(found.pixels(shard, index))], force=force)
    if json:
        print_json(found.to_json())
    elif png is None:
        sys.stdout.write(found.to_text(colours=sys.stdout.isatty()))
    return 0
