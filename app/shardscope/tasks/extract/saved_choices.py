"""Choices of the extraction dialog, as saved in the settings. No Qt here."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path

from shardcore.operations.extraction import AS_USUAL, Conflict, ExtractOptions
from shardscope.session.open_request import OpenRequest

ASK = "ask"
"""Policy of the dialog for existing files: ask. The other policies are those of `Conflict`."""

POLICIES = (ASK, Conflict.SKIP, Conflict.RENAME, Conflict.REPLACE)


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices of the extraction dialog; `skip_unused` omits unused slots from the manifest."""

    folders: bool = True
    conflict: str = ASK
    guess_extension: bool = False
    skip_unused: bool = True
    manifest: bool = True

    @staticmethod
    def of(kept: dict[str, str]) -> Choices:
        """Return saved choices; invalid values become the default."""
        usual = Choices()
        values: dict[str, bool | str] = {}
        for one in fields(Choices):
            value, before = kept.get(one.name), getattr(usual, one.name)
            if one.name == "conflict":
                values[one.name] = value if value in POLICIES else before
            else:
                values[one.name] = before if value not in ("yes", "no") else value == "yes"
        return Choices(**values)  # type: ignore[arg-type]

    def kept(self) -> dict[str, str]:
        return {
            name: value if isinstance(value, str) else "yes" if value else "no" for name, value in asdict(self).items()
        }

    def options(self, *, deleted: bool = False, parts: str = AS_USUAL) -> ExtractOptions:
        """Return the options for the library. `ASK` becomes an error on conflict: the dialog has checked before."""
        return ExtractOptions(
            folders=self.folders,
            conflict=Conflict.ERROR if self.conflict == ASK else Conflict(self.conflict),
            guess_extension=self.guess_extension,
            skip_unused=self.skip_unused,
            deleted=deleted,
            parts=parts,
            manifest=self.manifest,
        )


def first_folder(request: OpenRequest) -> str:
    return str(request.folder / f"{Path(request.name).stem or 'objects'}-objects")
