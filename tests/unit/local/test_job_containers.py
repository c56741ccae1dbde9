"""
Containers of jobs: what an image's entrypoint makes of a command, and what LMI's script
for NeuronX reads, refuses and writes.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from cdk_sagemaker_llm.local.engines.compiled import _is_compiled, cores_of, run
from cdk_sagemaker_llm.local.engines.job_containers import Container, Files, lmi_tag
from cdk_sagemaker_llm.local.regions import MotoSurroundings
from cdk_sagemaker_llm.serving.lmi.ahead_of_time import NEURONX, TENSORRT_LLM

REGISTRY = "763104351884.dkr.ecr.us-east-1.amazonaws.com"
TAGS = {
    "0.27": "0.27.0-neuronx-sdk2.18.1",
    "0.28": "0.28.0-neuronx-sdk2.18.2",
    "0.29": "0.29.0-neuronx-sdk2.19.1",
    "0.30": "0.30.0-neuronx-sdk2.20.1",
}
TRT = f"{REGISTRY}/djl-inference:0.28.0-tensorrtllm0.9.0-cu122"
SCRIPT = "/opt/djl/partition/trt_llm_partition.py"
MODEL, PROPERTIES, OUT = "/in/model", "/in/properties", "/out/neuron"
PLAIN = {
    "config.json": b'{"model_type": "llama", "hidden_size": 8}',
    "tokenizer_config.json": b'{"a": 1}',
    "model.safetensors": b"weights",
}
COMMAND = [
    "partition",
    *("--model-dir", PROPERTIES, "--model-id", MODEL),
    *("--save-mp-checkpoint-path", OUT, "--tensor-parallel-degree", "8"),
]
SKIPPING = [*COMMAND, "--skip-copy"]


def container(
    *arguments: str,
    version: str = "0.29",
    properties: bytes | None = b"engine=Python\n",
    files: dict[str, bytes] = PLAIN,
    **more: Any,  # noqa: ANN401 - of a container
) -> Container:
    """
    Write a container with a model and properties.
    """
    around = MotoSurroundings("123456789012", "us-east-1", "aws")
    found = Files(around)
    for name, body in files.items():
        found.write(f"{MODEL}/{name}", body)
    if properties is not None:
        found.write(f"{PROPERTIES}/serving.properties", properties)
    given = {
        "image": f"{REGISTRY}/djl-inference:{TAGS.get(version, version)}",
        "command": arguments,
        "variables": {},
        "instance_type": "ml.trn1.32xlarge",
        "files": found,
        **more,
    }
    return Container(**given)


def text(asked: Container, name: str) -> str:
    """
    Return a file of the output.
    """
    return (asked.files.read(f"{OUT}/{name}") or b"").decode()


def graph(asked: Container) -> dict[str, Any]:
    """
    Return what the graph was compiled for.
    """
    (name,) = (n for n in asked.files.names(OUT) if n.endswith(".neff"))
    return dict(json.loads(text(asked, name)))


def test_the_script_writes_what_the_loader_finds() -> None:
    """
    And nothing else; the properties without the addresses.
    """
    asked = container(
        *SKIPPING, properties=b"engine=Python\noption.n_positions=512\n", version="0.29"
    )

    assert run(asked) == 0
    assert asked.log == [
        "Compiling for 8 cores of Trainium",
        "Partitioning done.",
    ]
    shape = {
        "n_positions": "512",
        "max_rolling_batch_size": "32",
        "dtype": "fp16",
        "quantize": "",
        "context_length_estimate": "",
    }
    assert graph(asked) == {
        "image": TAGS["0.29"],
        "device": "Trainium",
        "cores": 8,
        "shape": shape,
    }
    assert json.loads(text(asked, "config.json")) == {
        "model_type": "llama",
        "hidden_size": 8,
        "neuron": {"num_cores": 8, **shape},
    }
    assert text(asked, "serving.properties") == (
        "engine=Python\noption.n_positions=512\noption.tensor_parallel_degree=8\n"
    )
    assert text(asked, "compiled/VERSION") == TAGS["0.29"]
    assert text(asked, "tokenizer_config.json") == '{"a": 1}'


BESIDE = {
    **PLAIN,
    "special_tokens_map.json": b"1",
    "tokenizer.json": b"2",
    "tokenizer.model": b"3",
    "generation_config.json": b"4",
    "vocab.txt": b"5",
    "notes.md": b"6",
}
WITH_TOKENIZER = {
    "compiled/VERSION",
    "checkpoint/model.safetensors",
    "config.json",
    "serving.properties",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
}


def test_the_tokenizer_alone_is_copied_from_beside_the_weights() -> None:
    """
    The config.json is the model's, with what it was compiled for.
    """
    asked = container(*SKIPPING, files=BESIDE)

    assert run(asked) == 0
    names = {n for n in asked.files.names(OUT) if not n.endswith(".neff")}
    assert names == WITH_TOKENIZER
    assert text(asked, "tokenizer.model") == "3"
    assert "neuron" in json.loads(text(asked, "config.json"))


def test_another_flag_ends_the_script_with_2() -> None:
    """
    As Python's parser does.
    """
    asked = container(*SKIPPING, "--quantization", "static_int8")

    assert run(asked) == 2
    assert asked.log[-1] == (
        "partition.py: error: unrecognized arguments: --quantization static_int8"
    )


@pytest.mark.parametrize(
    ("version", "weights"),
    [("0.27", "checkpoint"), ("0.29", "checkpoint"), ("0.30", "compiled")],
)
def test_weights_are_split_beside_the_graphs_from_030_on(
    version: str, weights: str
) -> None:
    """
    Before that in a folder of their own.
    """
    asked = container(*SKIPPING, version=version)

    assert run(asked) == 0
    assert f"{weights}/model.safetensors" in asked.files.names(OUT)


@pytest.mark.parametrize(
    ("instance_type", "degree", "code"),
    [
        ("ml.trn1.32xlarge", "32", 0),
        ("ml.trn1.32xlarge", "33", 1),
        ("ml.trn1.32xlarge", "1", 0),
        ("ml.trn1.32xlarge", "0", 1),
        ("ml.trn1.32xlarge", "max", 1),
        ("ml.trn1.32xlarge", "-1", 1),
        ("ml.inf2.48xlarge", "24", 0),
        ("ml.inf2.48xlarge", "25", 1),
        ("ml.g5.48xlarge", "1", 1),
    ],
)
def test_a_degree_fits_the_cores(instance_type: str, degree: str, code: int) -> None:
    """
    Two a chip, and none on what is no chip of Neuron's.
    """
    command = [*COMMAND[:-2], f"--tensor-parallel-degree={degree}", "--skip-copy"]
    asked = container(*command, instance_type=instance_type)

    assert run(asked) == code
    if code:
        assert f"RuntimeError: tensor_parallel_degree {degree} does" in asked.log[-1]


def test_one_core_is_meant_where_no_degree_is_said() -> None:
    """
    As the script has it.
    """
    asked = container(*COMMAND[:-2], "--skip-copy")

    assert run(asked) == 0
    assert graph(asked)["cores"] == 1


@pytest.mark.parametrize(
    ("arguments", "properties"),
    [
        (SKIPPING, b""),
        (SKIPPING, None),
        (SKIPPING, b"engine=MPI\n"),
        (COMMAND[:5], b"engine=Python\n"),
        (COMMAND, b"engine=Python\n"),
    ],
    ids=["no engine", "no properties", "another engine", "no place", "copying"],
)
def test_what_is_not_said_ends_it_well(
    arguments: list[str], properties: bytes | None
) -> None:
    """
    It exits with 0, and has written nothing.
    """
    asked = container(*arguments, properties=properties)

    assert run(asked) == 0
    assert asked.log[0].startswith("Please specify engine")
    assert asked.files.names(OUT) == []


@pytest.mark.parametrize("kind", ["opt", "gpt2", "gptj", "gpt_neox", "llama"])
@pytest.mark.parametrize("weights", ["model.safetensors", "pytorch_model.bin"])
def test_kinds_of_models_are_compiled(kind: str, weights: str) -> None:
    """
    From either form of their weights.
    """
    files = {
        "config.json": json.dumps({"model_type": kind}).encode(),
        "tokenizer_config.json": b"{}",
        weights: b"x",
    }

    assert run(container(*SKIPPING, files=files)) == 0


@pytest.mark.parametrize("kind", ["mistral", "mixtral", "bloom"])
def test_further_kinds_of_models_are_compiled(kind: str) -> None:
    """
    Eight in all.
    """
    config = json.dumps({"model_type": kind}).encode()

    assert run(container(*SKIPPING, files={**PLAIN, "config.json": config})) == 0


UNSUPPORTED = (
    "KeyError: \"Unsupported model: 'falcon'. Supported architectures: ['opt', 'gpt2', "
    "'gptj', 'gpt_neox', 'llama', 'mistral', 'mixtral', 'bloom']\""
)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (
            {**PLAIN, "config.json": b'{"model_type": "falcon"}'},
            UNSUPPORTED,
        ),
        (
            {"tokenizer_config.json": b"{}", "model.safetensors": b"x"},
            "OSError: /in/model does not appear to have a file named config.json",
        ),
        (
            {"config.json": PLAIN["config.json"], "model.safetensors": b"x"},
            "OSError: Can't load tokenizer for '/in/model'",
        ),
        (
            {k: v for k, v in PLAIN.items() if k != "model.safetensors"},
            "OSError: no file named model.safetensors found in /in/model",
        ),
    ],
)
def test_what_a_model_lacks_ends_it(files: dict[str, bytes], words: str) -> None:
    """
    Each in the loader's words.
    """
    asked = container(*SKIPPING, files=files)

    assert run(asked) == 1
    assert asked.log == ["Traceback (most recent call last):", words]


def test_a_model_of_the_hub_is_not_played() -> None:
    """
    And said to be so.
    """
    command = [each if each != MODEL else "org/name" for each in SKIPPING]
    asked = container(*command)

    assert run(asked) == 1
    assert asked.log == ["not emulated: the download of org/name into a job"]


def test_a_model_may_lie_beside_its_properties() -> None:
    """
    Where none is named; and they in a training job's channel, if no folder is either.
    """
    command = ["partition", "--save-mp-checkpoint-path", OUT, "--skip-copy"]
    asked = container(*command, properties=None, files={})
    for name, body in {**PLAIN, "serving.properties": b"engine=Python\n"}.items():
        asked.files.write(f"/opt/ml/input/data/training/{name}", body)

    assert run(asked) == 0
    assert text(asked, "serving.properties") == (
        "engine=Python\noption.tensor_parallel_degree=1\n"
    )


NEITHER = (
    "; of the images of jobs those of LMI with TensorRT-LLM and NeuronX are played, "
    "and of these the compiling"
)


@pytest.mark.parametrize(
    ("words", "more", "code", "said"),
    [
        (["ls"], {"image": "x/y:1"}, 1, f"not emulated: x/y:1{NEITHER}"),
        (["serve"], {}, 127, "not emulated: the command serve"),
        (["ls", "/opt"], {}, 127, "not emulated: the command ls /opt"),
        (
            ["perl", "x.pl"],
            {},
            127,
            "not emulated: the command perl x.pl",
        ),
        (
            ["perl", SCRIPT],
            {"image": TRT},
            127,
            f"not emulated: the command perl {SCRIPT}",
        ),
        (["python", "x.py"], {}, 127, "not emulated: the command python x.py"),
        (
            SKIPPING,
            {"variables": {"OPTION_DTYPE": "fp16"}},
            1,
            "not emulated: variables of a job, got OPTION_DTYPE",
        ),
        (
            ["sh", "partition"],
            {},
            127,
            "not emulated: the command sh partition",
        ),
    ],
)
def test_what_is_not_played_is_said(
    words: list[str], more: dict[str, Any], code: int, said: str
) -> None:
    """
    With the code that the container would end with.
    """
    asked = container(*words, **more)

    assert run(asked) == code
    assert asked.log == [said]


@pytest.mark.parametrize(
    ("image", "backend", "tag"),
    [
        (f"{REGISTRY}/djl-inference:{TAGS['0.29']}", "neuronx", TAGS["0.29"]),
        (f"{REGISTRY}/djl-inference:{TAGS['0.29']}", "tensorrtllm", None),
        (TRT, "tensorrtllm", "0.28.0-tensorrtllm0.9.0-cu122"),
        (f"{REGISTRY}/djl-inference:0.29.0-lmi11.0.0-cu124", "neuronx", None),
        (f"{REGISTRY}/my-djl-inference:{TAGS['0.29']}", "neuronx", None),
        (f"{REGISTRY}/djl-inference:{TAGS['0.29']}/more", "neuronx", None),
        ("", "neuronx", None),
    ],
)
def test_an_image_of_lmi_is_known_by_its_tag(
    image: str, backend: str, tag: str | None
) -> None:
    """
    With the backend that it has.
    """
    assert lmi_tag(image, backend) == tag


@pytest.mark.parametrize(
    ("image", "version"),
    [
        (TRT, (0, 28, 0)),
        (f"{REGISTRY}/djl-inference:{TAGS['0.30']}", (0, 30, 0)),
        ("x/y:1", (0, 0, 0)),
    ],
)
def test_the_version_is_lmis(image: str, version: tuple[int, ...]) -> None:
    """
    Which scripts are told apart by; none of another image.
    """
    assert container(image=image).version == version


@pytest.mark.parametrize(
    ("device", "chips", "cores"),
    [
        ("Trainium", 16, 32),
        ("Inferentia2", 12, 24),
        ("A10G", 4, 0),
        ("none", 0, 0),
    ],
)
def test_a_chip_has_two_cores(device: str, chips: int, cores: int) -> None:
    """
    Of Neuron's.
    """
    assert cores_of(device, chips) == cores


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (None, False),
        (b"", False),
        (b"{", False),
        (b"\xff", False),
        (b"{}", False),
        (b'["neuron"]', False),
        (b'"neuron"', False),
        (b'{"neuron": {"num_cores": 8}}', True),
    ],
)
def test_a_model_says_that_it_was_compiled(
    config: bytes | None, *, expected: bool
) -> None:
    """
    In its config.json, if it can be read.
    """
    assert _is_compiled(config) is expected


@pytest.mark.parametrize("version", ["0.27", "0.28", "0.29", "0.30"])
def test_the_command_that_is_written_is_one_that_the_script_reads(version: str) -> None:
    """
    Of each version, with the folders of a job in its place.
    """
    words = [
        each.replace("{input}", "/in").replace("{output}", "/out")
        for each in NEURONX.command(f"{version}.0", 8)
    ]
    asked = container(*words, version=version)

    assert run(asked) == 0
    assert graph(asked)["cores"] == 8
    assert NEURONX.folder == "neuron/"
    assert TENSORRT_LLM.folder == ""
