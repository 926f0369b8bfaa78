"""Arrays and geometry of objects: what a format declares about contents beyond their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shardcore.errors import Unsupported

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shardcore.codecs.decoder_process import TaskRunner
    from shardcore.model.array_layout import ArrayLayout
    from shardcore.model.geometry import Geometry
    from shardcore.model.objects import ObjectRef


class Arrays:
    """Arrays and geometry of a shard; this base class has none. A shard that has some inherits it beside `Shard`."""

    def array_layout(self, ref: ObjectRef) -> ArrayLayout | None:
        """Return the layout of an object that the format declares as an array; None for other objects.

        Raises:
            FormatError: The declared layout is invalid.
        """
        return None

    def decode_array(
        self, ref: ObjectRef, layout: ArrayLayout, data: bytes, decoder: TaskRunner
    ) -> tuple[ArrayLayout, bytes]:
        """Decode an encoded array; return its layout and elements.

        Args:
            ref: The object.
            layout: Its layout, with its encoding.
            data: Its content.
            decoder: Runs decoders: `Shard.decoder`.

        Raises:
            Unsupported: The encoding is not supported.
            FormatError: The content is invalid.
            LimitExceeded: The array is too large.
        """
        raise Unsupported(f"array encoding {layout.encoding!r} is not supported")

    def first_rows(self, count: int) -> dict[str, NDArray[Any]] | None:
        """Return the first values of each column of a table, by column name; None if the shard is not a table.

        Raises:
            FormatError: A column is corrupt.
            SourceError: The bytes cannot be read.
        """
        return None

    def mesh_of(self, segment: int) -> tuple[str, str] | None:
        """Return the address of the meshes of a segmentation, and the key of a segment in them; None if there are none.

        The meshes may lack that key.

        Raises:
            SourceError: The description of the meshes cannot be read.
        """
        return None

    def geometry(self, ref: ObjectRef, data: bytes) -> Geometry | None:
        """Return the geometry of an object that the format declares as a mesh, skeleton or annotations; else None.

        Args:
            ref: The object.
            data: Its whole content.

        Raises:
            FormatError: The content does not match the declaration.
        """
        return None
