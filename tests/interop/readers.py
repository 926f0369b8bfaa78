"""The reference readers, in a process of their own: some end with a signal over a damaged file.

`python -m tests.interop.readers NAME` takes `{"path", "keys", "spec", "sizes"}` from standard input, a line each, and
answers what each key gives: `["ok", sha256]`, `["lost", ""]` or `["refused", why]`.
"""

from __future__ import annotations

import collections
import collections.abc
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
MARK = "answer "

Answers = dict[str, tuple[str, str]]


class Reader:
    """One reference reader. A context manager.

    Args:
        name: `swh`, `bloscpack` or `tensorstore`.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-W", "ignore", "-m", "tests.interop.readers", self._name]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(command, **pipes, cwd=ROOT, env=environment, text=True, errors="replace")

    def ask(self, path: Path, keys: list[str], **more: Any) -> Answers:
        """What the reader gives for some keys; all of them are `crash` where it ended."""
        self._process.stdin.write(json.dumps({"path": str(path), "keys": keys, **more}) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith(MARK):
                return {key: (what, told) for key, (what, told) in json.loads(line.removeprefix(MARK)).items()}
        self.close()
        self._process = self._start()
        return dict.fromkeys(keys, ("crash", ""))

    def close(self) -> None:
        """Ends the process."""
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.kill()
        self._process.wait(10)

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _ok(data: bytes) -> tuple[str, str]:
    return "ok", hashlib.sha256(data).hexdigest()


def _refused(error: Exception) -> tuple[str, str]:
    return "refused", repr(error)[:200]


def _swh(asked: dict[str, Any]) -> Answers:
    from swh.shard import Shard

    found: Answers = {}
    with Shard(asked["path"]) as shard:
        for key in asked["keys"]:
            try:
                found[key] = _ok(shard[bytes.fromhex(key)])
            except KeyError:
                found[key] = "lost", ""
            except Exception as error:  # noqa: BLE001 - whatever it is, it is no content
                found[key] = _refused(error)
    return found


def _bloscpack(asked: dict[str, Any]) -> Answers:
    setattr(collections, "MutableMapping", collections.abc.MutableMapping)  # noqa: B010 - its release names it so
    from bloscpack.file_io import unpack_bytes_from_file

    data, _ = unpack_bytes_from_file(asked["path"])
    found, at = {}, 0
    for key, size in zip(asked["keys"], asked["sizes"], strict=True):
        found[key] = _ok(data[at : at + size])
        at += size
    return found


def _tensorstore(asked: dict[str, Any]) -> Answers:
    import tensorstore

    base = {"driver": "file", "path": f"{Path(asked['path']).parent}/"}
    spec = {"driver": "neuroglancer_uint64_sharded", "base": base, "metadata": asked["spec"]}
    store = tensorstore.KvStore.open(spec).result()
    found: Answers = {}
    for key in asked["keys"]:
        try:
            read = store.read(int(key).to_bytes(8, "big")).result()
            found[key] = ("lost", "") if read.state == "missing" else _ok(bytes(read.value))
        except Exception as error:  # noqa: BLE001
            found[key] = _refused(error)
    return found


READERS = {"swh": _swh, "bloscpack": _bloscpack, "tensorstore": _tensorstore}


def main() -> None:
    """Answers until there are no more questions."""
    read = READERS[sys.argv[1]]
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            found = read(asked)
        except Exception as error:  # noqa: BLE001 - the file does not open
            found = {key: _refused(error) for key in asked["keys"]}
        sys.stdout.write(MARK + json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
