"""
The readers of what others publish: each source's own form comes to configurations.
"""

from __future__ import annotations

import json
import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.findings import Severity
from tools.published import djl_serving, jumpstart, model_tests, notebooks
from tools.published.__main__ import refusals
from tools.published.configuration import Configuration, hash_of
from tools.published.repository import Repository
from tools.published.verdict import verdict_of

PREPARE = """
vllm_model_list = {
    "tiny": {
        "option.model_id": "s3://djl-llm/tiny/",
        "option.quantize": "awq",
        "option.trust_remote_code": True,
        "adapter_ids": ["one"] * 20,
    },
    "no model": {"option.quantize": "awq"},
}
unread_list = {"tiny": {"option.model_id": "gpt2"}}

def build_vllm_model(model):
    if model not in vllm_model_list:
        raise ValueError(model)
    options = vllm_model_list[model]
    options["engine"] = "Python"
    options["option.rolling_batch"] = "vllm"
    write_model_artifacts(options)

supported_handler = {'vllm': build_vllm_model}
"""
MODEL_TESTS = """
s3_prefix: "s3://somewhere"
smoke-test:
  codebuild-fleet:
    # TinyForCausalLM support added upstream in vLLM 0.23.0 (PR #1).
    - name: "tiny"
      s3_model: "tiny-1b.tar.gz"
      fleet: "x86-g6exl-runner"
      extra_args: "--max-model-len 4096 --dtype=bfloat16 --enforce-eager"
  runner-scale-sets: []
sagemaker:
  - name: "tiny-isolated"
    s3_model: "tiny-1b-isolated.tar.gz"
    instance_type: "ml.g6.xlarge"
    required_image_pattern: {os_version: "amzn2023"}
    network_isolation: true
    env:
      SM_VLLM_MODEL: "/opt/ml/model"
      SM_VLLM_MAX_MODEL_LEN: "8192"
"""
IMAGE = """
metadata:
  framework: "vllm_server"
  framework_version: "0.24.0+dlc1"
  os_version: "amzn2023"
  customer_type: "ec2"
"""


def repository_of(folder: Path, files: dict[str, str], branch: str) -> Repository:
    """
    Return a repository with files in its one commit.
    """
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    for command in (
        ["init", "--quiet", f"--initial-branch={branch}"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "Begin"],
    ):
        subprocess.run(["git", "-C", str(folder), *command], check=True)
    return Repository("owner/name", folder)


def test_an_entry_of_a_table_has_what_its_function_adds() -> None:
    """
    What is no literal is left out, and what names no model.
    """
    assert list(djl_serving.entries_of(PREPARE)) == [
        (
            "vllm_model_list",
            "tiny",
            {
                "option.model_id": "s3://djl-llm/tiny/",
                "option.quantize": "awq",
                "option.trust_remote_code": "True",
                "engine": "Python",
                "option.rolling_batch": "vllm",
            },
        )
    ]


@pytest.mark.parametrize(
    ("branch", "container", "machine"),
    [
        ("0.27.0-dlc", "djl-deepspeed", "ml.g5.12xlarge"),
        ("0.33.0-dlc", "djl-lmi", "ml.g6.12xlarge"),
    ],
)
def test_a_branch_is_of_its_release(
    tmp_path: Path, branch: str, container: str, machine: str
) -> None:
    """
    The machine is the one that the workflow starts.
    """
    workflow = "./start_instance.sh action_g6\n" if "g6" in machine else ""
    files = {
        djl_serving.PREPARE: PREPARE,
        ".github/workflows/integration.yml": workflow,
    }
    repository = repository_of(tmp_path, files, branch)

    (found,) = djl_serving.configurations_of(
        repository,
        djl_serving.commits_of(repository),
        {"s3://djl-llm/tiny": "TinyLlama/TinyLlama-1.1B-Chat-v1.0"},
    )

    assert found.place == f"{branch} vllm_model_list tiny"
    assert (found.container, found.instance_type) == (container, machine)
    assert found.model == "TinyLlama/TinyLlama-1.1B-Chat-v1.0"


def test_tests_of_images_are_read_with_their_releases(tmp_path: Path) -> None:
    """
    An image of another system is not theirs, and later releases are.
    """
    files = {
        f"{model_tests.FOLDER}/vllm-model-tests.yml": MODEL_TESTS,
        ".github/config/image/vllm/ec2-amzn2023.yml": IMAGE,
        ".github/config/image/vllm/ec2-ubuntu.yml": IMAGE.replace(
            "amzn2023", "ubuntu22.04"
        ).replace("0.24.0", "0.25.0"),
    }
    repository = repository_of(tmp_path, files, "main")

    first, second = model_tests.configurations_of(
        repository, repository.commits(), {"tiny-1b": "gpt2"}
    )

    assert first.arguments == {
        "max_model_len": 4096,
        "dtype": "bfloat16",
        "enforce_eager": True,
    }
    assert (first.instance_type, first.since) == ("ml.g6e.xlarge", "0.23.0")
    assert first.releases[:3] == ("0.24.0", "0.25.0", "0.25.1")
    assert second.model == "gpt2"
    assert second.arguments == {"max_model_len": 8192}
    assert second.is_isolated
    assert second.releases == first.releases


def test_a_model_of_the_list_is_deployed_on_each_instance_type() -> None:
    """
    What is said of the type goes before what is said of its family.
    """
    spec: dict[str, Any] = {
        "modelId": "tiny",
        "version": "1.0.0",
        "instanceTypes": ["ml.g5.2xlarge", "ml.g5.48xlarge"],
        "environment": {"MAX_INPUT_LENGTH": 1024},
        "instanceAliases": [{"region": "us-east-1", "aliases": {"one": "host/tgi:1"}}],
        "instanceVariants": [
            {"instanceType": "g5", "imageUri": "$one"},
            {"instanceType": "ml.g5.48xlarge", "environment": {"SM_NUM_GPUS": "8"}},
        ],
    }
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    packed = compressor.compress(json.dumps({"a": spec}).encode()) + compressor.flush()
    text = json.dumps({"type": "Buffer", "data": list(packed)})

    (read,) = jumpstart.specs_of(text)

    assert read == spec
    assert list(jumpstart.deployments_of(read)) == [
        ("ml.g5.2xlarge", "host/tgi:1", {"MAX_INPUT_LENGTH": "1024"}),
        (
            "ml.g5.48xlarge",
            "host/tgi:1",
            {"MAX_INPUT_LENGTH": "1024", "SM_NUM_GPUS": "8"},
        ),
    ]


ADDRESS = 'f"763104351884.dkr.ecr.{region}.amazonaws.com/djl-inference:{tag}"'


@pytest.mark.parametrize(
    ("cells", "image", "instance_type", "values"),
    [
        (
            [
                "!pip install sagemaker",
                'tag = "0.33.0-lmi15.0.0-cu128"',
                f"image = {ADDRESS}",
                'common = {"HF_MODEL_ID": "gpt2"}',
                'env = common | {"OPTION_TENSOR_PARALLEL_DEGREE": json.dumps(4)}',
                'env["OPTION_QUANTIZE"] = "awq"',
                'model.deploy(instance_type="ml.g5.2xlarge")',
            ],
            ("djl-lmi", "0.33.0"),
            "ml.g5.2xlarge",
            {"HF_MODEL_ID": "gpt2", "OPTION_TENSOR_PARALLEL_DEGREE": "4"},
        ),
        (
            [
                "%%writefile serving.properties\noption.model_id=gpt2\n",
                'uri = get_huggingface_llm_image_uri("huggingface", version="2.0.0")',
                'variant = {"InstanceType": "ml.g6.12xlarge"}',
            ],
            ("huggingface-llm", "2.0.0"),
            "ml.g6.12xlarge",
            {"option.model_id": "gpt2"},
        ),
    ],
)
def test_a_notebook_is_read_cell_by_cell(
    cells: list[str],
    image: tuple[str, str],
    instance_type: str,
    values: dict[str, str],
) -> None:
    """
    With the names that earlier cells give a value.
    """
    (found,) = notebooks.deployments_in(cells)

    assert found.image == image
    assert found.instance_type == instance_type
    assert found.model == "gpt2"
    assert {**found.properties, **found.environment}.items() >= values.items()


def test_an_engine_that_is_installed_is_the_one_that_serves() -> None:
    """
    Whatever the image has.
    """
    (found,) = notebooks.deployments_in(
        [
            "%%writefile model/serving.properties\noption.model_id=gpt2\n",
            "%%writefile model/requirements.txt\nvllm==0.7.0\n",
        ]
    )

    assert found.brought == "0.7.0"


def test_the_hash_is_of_what_is_published() -> None:
    """
    In whichever order it is read, and whatever the catalogue knows of the model.
    """
    one = Configuration(place="a", name="x", model=None)
    same = Configuration(place="a", name="x", model="gpt2", releases=("0.30.0",))
    other = Configuration(place="b", name="x", model=None)

    assert hash_of([one, other]) == hash_of([other, same])
    assert hash_of([one]) != hash_of([other])


@pytest.mark.parametrize(("since", "lacks"), [("0.10.1", False), ("0.12.0", True)])
def test_what_its_author_says_of_releases_is_held(since: str, *, lacks: bool) -> None:
    """
    The release before the one that brought the model has to refuse it.
    """
    verdict = verdict_of(
        Configuration(
            place="a",
            name="nemotron",
            model="nvidia/NVIDIA-Nemotron-Nano-12B-v2",
            engine="vllm",
            releases=("0.24.0",),
            instance_type="ml.g6e.xlarge",
            arguments={"trust_remote_code": True},
            since=since,
        )
    )

    assert verdict.is_judged
    assert not verdict.of(Severity.ERROR)
    assert bool(verdict.lacking) == lacks


@pytest.mark.parametrize(
    ("place", "faults", "argued"),
    [
        ("0.34.0-dlc lmi_dist_model_list flan-t5-xl", 0, 1),
        ("0.32.0-dlc lmi_dist_model_list flan-t5-xl", 1, 0),
    ],
)
def test_a_refusal_needs_a_reason(place: str, faults: int, argued: int) -> None:
    """
    One that is argued is counted, any other is a fault.
    """
    verdict = verdict_of(
        Configuration(
            place=place,
            name="flan",
            model="google/flan-t5-xl",
            container="djl-lmi",
            version="0.34.0",
            instance_type="ml.g6.12xlarge",
            properties={"engine": "MPI", "option.rolling_batch": "lmi-dist"},
        )
    )

    found, reasons = refusals("deepjavalibrary/djl-serving", [verdict])

    assert (len(found), reasons) == (faults, argued)
    assert all("LLM901" in one for one in found)
