"""
Reading what engines publish in no package, out of clones of their repositories.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.unit.tools.catalog.written import written
from tools.catalog.clones import read_clones

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MODELS = "server/text_generation_server/models/__init__.py"
IMAGES = "docs/src/data/djl-inference"


def _committed(folder: Path, files: Mapping[str, str], name: str, kind: str) -> None:
    """
    Commit files to a repository in a folder, under a tag or branch.
    """
    written(folder, files)
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (
        ["init", "--quiet"],
        ["add", "."],
        ["commit", "--quiet", "--message", "a"],
        [kind, name],
    ):
        subprocess.run([*git, *command], check=True, capture_output=True)


def test_reads_a_release_at_its_tag(tmp_path: Path) -> None:
    """
    A release that the clone does not have is not read.
    """
    files = {
        MODELS: 'def get_model():\n    if model_type == "t5":\n        return T5()\n',
        "server/requirements_cuda.txt": "transformers==4.51.3\n",
    }
    _committed(tmp_path / "text-generation-inference", files, "v3.3.7", "tag")

    found = read_clones("tgi", "3.3.7", tmp_path)

    assert found is not None
    assert found.types == {"t5": {"in"}}
    assert found.inside == "4.51.3"
    assert read_clones("tgi", "3.3.8", tmp_path) is None


@pytest.fixture(scope="module")
def _lmi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clones")
    recipe = """
ARG vllm_wheel="https://example.org/vllm/cu124/vllm-0.6.3.post1%2Bcu124-cp311.whl"
ARG flash_attn_2_wheel="https://example.org/v2.6.1/vllm_flash_attn-2.6.1-cp310.whl"
ARG lmi_dist_wheel="https://example.org/lmi_dist/lmi_dist-13.0.0%2Bnightly-py3.whl"
"""
    _committed(
        folder / "djl-serving",
        {"serving/docker/lmi.Dockerfile": recipe},
        "0.31.0-dlc",
        "branch",
    )
    _committed(
        folder / "deep-learning-containers",
        {
            f"{IMAGES}/0.32-lmi14.0.0-gpu.yml": 'engine: "LMI 14.0.0, vLLM 0.6.3"',
            f"{IMAGES}/0.36-lmi2.0.0-gpu.yml": 'engine: "LMI 2.0.0, vLLM 0.1.0"',
            f"{IMAGES}/0.36-lmi25.0.0-gpu.yml": 'engine: "LMI 25.0.0, vLLM 0.20.1"',
        },
        "main2",
        "branch",
    )
    return folder


@pytest.mark.parametrize(
    ("release", "values"),
    [
        (
            "0.31",
            {"vllm": {"0.31": "0.6.3.post1"}, "lmi_dist": {"0.31": "13.0.0"}},
        ),
        ("0.36-lmi25", {"vllm": {"0.36-lmi25": "0.20.1"}}),
    ],
)
def test_reads_the_engines_inside_lmi(
    _lmi: Path,  # noqa: PT019 - its value is what is read
    release: str,
    values: dict[str, dict[str, str]],
) -> None:
    """
    From the list of images, and from the recipe where none is listed.
    """
    found = read_clones("lmi", release, _lmi)

    assert found is not None
    assert found.values == values


@pytest.mark.parametrize("release", ["0.32", "0.38"])
def test_says_nothing_of_a_release_that_no_source_decides(
    _lmi: Path,  # noqa: PT019 - its value is what is read
    release: str,
) -> None:
    """
    The list and the recipe of one differ from its start-up log; another is in neither.
    """
    assert read_clones("lmi", release, _lmi) is None
