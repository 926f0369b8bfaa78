"""What desktops are told about us: the desktop file and the MIME types."""

from __future__ import annotations

import configparser
from pathlib import Path
from xml.etree import ElementTree

import pytest

PACKAGING = Path(__file__).parent.parent / "packaging"
NAMESPACE = "{http://www.freedesktop.org/standards/shared-mime-info}"


def mime_types() -> dict[str, ElementTree.Element]:
    """The MIME types that packaging/shardscope-mime.xml declares."""
    root = ElementTree.parse(PACKAGING / "shardscope-mime.xml").getroot()
    return {element.attrib["type"]: element for element in root.iter(f"{NAMESPACE}mime-type")}


def test_the_desktop_file_opens_every_declared_type() -> None:
    """The desktop file lists exactly the declared MIME types and starts the command with the chosen file."""
    desktop = configparser.ConfigParser(interpolation=None)
    desktop.read(PACKAGING / "shardscope.desktop")
    entry = desktop["Desktop Entry"]
    assert set(entry["MimeType"].rstrip(";").split(";")) == set(mime_types())
    assert entry["Exec"] == "shardscope %u"


@pytest.mark.parametrize(
    ("mime_type", "pattern"),
    [
        ("application/x-swh-shard", "swh/**/one.shard"),
        ("application/x-xet-shard", "mdb/cas/shards/*.mdb"),
        ("application/x-bloscpack", "bloscpack/*.blp"),
        ("application/x-des-shard", "des/*.des"),
    ],
)
def test_magic_fits_the_samples(data: Path, mime_type: str, pattern: str) -> None:
    """The declared magic is what files of the reference implementation begin with."""
    matches = list(mime_types()[mime_type].iter(f"{NAMESPACE}match"))
    assert len(matches) == 1
    magic = matches[0].attrib["value"].replace("\\0", "\0").encode()
    offset = int(matches[0].attrib["offset"])
    samples = list(data.glob(pattern))
    assert samples
    for path in samples:
        assert path.read_bytes()[offset:].startswith(magic), path
