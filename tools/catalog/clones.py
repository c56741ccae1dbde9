"""
What engines publish in no package: files of clones of their repositories, at the tags
and branches of their releases.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tools.catalog.model_types import (
    TEI_MODELS,
    TGI_LOCKS,
    TGI_MODELS,
    read_tei,
    read_tgi,
)
from tools.catalog.registries import Registered

# The repositories of each engine, by the names that their clones have.
REPOSITORIES = {
    "tgi": ("text-generation-inference",),
    "tei": ("text-embeddings-inference",),
    "lmi": ("djl-serving", "deep-learning-containers"),
}
_IMAGES = "docs/src/data/djl-inference/"
_RECIPES = ("serving/docker/lmi.Dockerfile", "serving/docker/deepspeed.Dockerfile")
_RELEASED = re.compile(r"\bvLLM ([\d.]+\d(?:\.post\d+)?)")
_INSTALLED = re.compile(r"(?:vllm_version=|/vllm-)([\d.]+\d(?:\.post\d+)?)[-+%\s]")
_DIST = re.compile(r"/lmi_dist-([\d.]+\d)[-.+%]")
# The lists of AWS and the recipe have three releases for it, and its log a fourth.
_DISPUTED = "0.32"


@dataclass(frozen=True, slots=True)
class Clone:
    """
    A clone of a repository, with its branches and tags; a bare one will do.

    Args:
        folder: Where it is.
    """

    folder: Path

    def read(self, revision: str, path: str) -> str:
        """
        Return a file at a tag or branch; empty if there is none.
        """
        return self._ask("show", revision, path) or self._ask(
            "show", f"origin/{revision}", path
        )

    def names(self, folder: str) -> list[str]:
        """
        Return the names of the files in a folder, at the newest commit.
        """
        listed = self._ask("ls-tree --name-only", "HEAD", folder)
        return listed.splitlines()

    def _ask(self, command: str, revision: str, path: str) -> str:
        git = ["git", "-C", str(self.folder), *command.split()]
        done = subprocess.run(
            [*git, f"{revision}:{path}"], capture_output=True, text=True, check=False
        )
        return done.stdout if done.returncode == 0 else ""


def read_clones(engine: str, release: str, folder: Path) -> Registered | None:
    """
    Read a release of an engine from the clones in a folder; ``None`` where they do not
    have it.
    """
    clone, *others = (Clone(folder / one) for one in REPOSITORIES[engine])
    if engine == "lmi":
        return _lmi(clone, others[0], release)
    tag = f"v{release}"
    if engine == "tei":
        backend = clone.read(tag, TEI_MODELS)
        return read_tei(backend) if backend else None
    models = clone.read(tag, TGI_MODELS)
    locks = (clone.read(tag, one) for one in TGI_LOCKS)
    return read_tgi(models, next(filter(None, locks), "")) if models else None


def _lmi(recipes: Clone, images: Clone, release: str) -> Registered | None:
    """
    Read the engines in a release of LMI: in AWS's list of its images, or in the recipe.
    """
    if release == _DISPUTED:
        return None
    # Before 0.36 a number has one release, with whatever number of LMI.
    start = f"{release}." if "-lmi" in release else f"{release}-lmi"
    listed = [one for one in images.names(_IMAGES) if one.startswith(start)]
    said = "".join(images.read("HEAD", f"{_IMAGES}{one}") for one in listed)
    recipe = "".join(recipes.read(f"{release}.0-dlc", one) for one in _RECIPES)
    vllm = _RELEASED.search(said) or _INSTALLED.search(recipe)
    dist = _DIST.search(recipe)
    if vllm is None:
        return None
    values = {"vllm": {release: vllm[1]}}
    if dist is not None:
        values["lmi_dist"] = {release: dist[1]}
    return Registered(values=values)
