"""The workflows of the repository: three systems, each supported Python, the targets of the Makefile."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent


def workflow(name: str) -> dict[str, Any]:
    """A workflow."""
    found: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text("utf-8"))
    return found


def test_the_matrix_has_each_supported_python() -> None:
    """Three systems, and the versions that the package names, the lowest first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = [found[1] for one in project["classifiers"] if (found := re.search(r":: (3\.\d+)$", one))]
    matrix = workflow("check.yml")["jobs"]["check"]["strategy"]["matrix"]
    assert [one.partition("-")[0] for one in matrix["system"]] == ["ubuntu", "macos", "windows"]
    assert [one for one in matrix["python"] if one in named] == named
    assert f">={matrix['python'][0]}" == project["requires-python"]


def test_workflows_run_targets_of_the_makefile() -> None:
    """Each `make` of a workflow names targets that exist; nothing names a package registry."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        steps = [step for job in workflow(path.name)["jobs"].values() for step in job["steps"]]
        for line in "\n".join(step.get("run", "") for step in steps).splitlines():
            for command in re.findall(r"(?:^|&& |; )make ([^&;|]*)", line.strip()):
                words = [word for word in command.split() if "=" not in word and not word.startswith("-")]
                assert set(words) <= targets, (path.name, line)
