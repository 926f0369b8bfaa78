"""Command `show`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shardcore.cli.options import USUAL, Force, Json, Opening, Uri, only, opens
from shardcore.cli.output import print_json
from shardcore.errors import UsageError
from shardcore.model.text import plural

if TYPE_CHECKING:
    from shardcore.operations.content.content_types import Content
    from shardcore.shards.shard import Shard


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
    from shardcore.cli.content_output import content_json, print_content
    from shardcore.operations.content.detect_kind import content, member_content
    from shardcore.operations.content.geometry import mesh_level

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
            _write_png(shard, found, png, index, force=force)
    if json:
        print_json(content_json(found))
    elif png is None:
        print_content(found)
    return 0


def _write_png(shard: Shard, found: Content, target: Path, index: str | None, *, force: bool) -> None:
    from shardcore.codecs.images import encode_png
    from shardcore.operations.content.content_types import ArrayContent, PictureContent
    from shardcore.operations.content.geometry import GeometryContent
    from shardcore.operations.content.pictures import pixels_of
    from shardcore.writing.temporary import write_whole

    if isinstance(found, GeometryContent):
        from shardcore.operations.content.renderer import picture_of_geometry

        write_whole(target, [encode_png(picture_of_geometry(found))], force=force)
        return
    if not isinstance(found, (ArrayContent, PictureContent)):
        raise UsageError(f"--png needs an array, a picture, a mesh, a skeleton or annotations; this is {found.title}")
    if not found.complete:
        raise UsageError(f"--png needs the whole content; only {plural(len(found.data), 'byte')} were read")
    write_whole(target, [encode_png(pixels_of(shard, found, index))], force=force)
