"""Build hook: man pages for wheels; the extension in C for wheels and editable installs, if there is a compiler."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

SOURCE = "shardcore/codecs/native.c"
LIBRARY = "shardcore/codecs/native.abi3.so"
"""Name by which every later Python finds the library, too."""

PURE = "SHARDSCOPE_PURE"
"""Environment variable for a wheel without the library, which fits every system."""


class Build(BuildHookInterface[Any]):
    """Build hook that puts the man pages below `share/man` of a wheel, and the compiled extension into its package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the pages and compile the extension; for an editable install, only compile it into the source tree."""
        self.folder = Path(mkdtemp(prefix="build-"))
        source = Path(self.root, SOURCE)
        if version == "editable":
            compiled(source, Path(self.root, LIBRARY))
            return
        sys.path[:0] = [self.root, str(Path(self.root) / "app"), str(Path(self.root) / "packaging")]
        from man import write_pages

        for path in write_pages(self.folder):
            build_data["shared_data"][str(path)] = f"share/man/man1/{path.name}"
        library = self.folder / Path(LIBRARY).name
        if not os.environ.get(PURE) and compiled(source, library):
            build_data["force_include"][str(library)] = LIBRARY
            build_data["pure_python"] = False
            # `manylinux` would promise that older systems were tried.
            platform = next(tag.platform for tag in sys_tags() if "linux" not in tag.platform[1:])
            build_data["tag"] = f"cp311-abi3-{platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what the wheel has now."""
        shutil.rmtree(self.folder)


def compiled(source: Path, target: Path) -> bool:
    """Compile with the compiler of this Python; return whether that succeeded. An older library is removed."""
    target.unlink(missing_ok=True)
    linker, position = sysconfig.get_config_var("LDSHARED"), sysconfig.get_config_var("CCSHARED")
    if sys.implementation.name != "cpython" or not linker or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    command = [*shlex.split(linker), *shlex.split(position or ""), "-O3", f"-I{sysconfig.get_path('include')}"]
    try:
        done = subprocess.run([*command, source, "-o", target], capture_output=True, text=True, check=False)
    except OSError as error:
        print(f"{source.name} is not compiled: {error}", file=sys.stderr)
        return False
    if done.returncode:
        print(f"{source.name} is not compiled:\n{done.stderr}", file=sys.stderr)
    return not done.returncode
