"""
Containers of jobs: what an image's entrypoint makes of a command, and what LMI's script
for NeuronX reads, refuses and writes.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from cdk_sagemaker_llm.local.engines import compiled_engines
from cdk_sagemaker_llm.local.engines.compiled_graphs import (
    _is_compiled,
    cores_of,
    shape_of,
)
from cdk_sagemaker_llm.local.engines.job_containers import Container, Files, lmi_tag
from cdk_sagemaker_llm.local.hosting import jobs
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
USAGE = "usage: partition.py [-h] [--model-dir PROPERTIES_DIR] [--model-id MODEL_ID]"


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
        "entrypoint": (),
        "arguments": arguments,
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

    assert jobs.run_container(asked) == 0
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


@pytest.mark.parametrize(
    ("command", "more"),
    [(SKIPPING, set()), (COMMAND, {"generation_config.json", "vocab.txt"})],
    ids=["skipping", "copying"],
)
def test_what_lies_beside_weights_is_copied_unless_that_is_skipped(
    command: list[str], more: set[str]
) -> None:
    """
    Then it is the tokenizer alone; weights and what is no such file are not.
    """
    asked = container(*command, files=BESIDE)

    assert jobs.run_container(asked) == 0
    names = {n for n in asked.files.names(OUT) if not n.endswith(".neff")}
    assert names == WITH_TOKENIZER | more
    assert text(asked, "tokenizer.model") == "3"
    is_skipped = "neuron" in json.loads(text(asked, "config.json"))
    assert is_skipped == (command is SKIPPING)


@pytest.mark.parametrize(
    ("version", "flag", "knows"),
    [
        ("0.27", "--quantization", False),
        ("0.28", "--quantization", True),
        ("0.28", "--pipeline-parallel-degree", False),
        ("0.29", "--pipeline-parallel-degree", True),
    ],
)
def test_each_version_has_its_own_flags(
    version: str, flag: str, *, knows: bool
) -> None:
    """
    One that is not known ends the script with 2, after its usage.
    """
    asked = container(*SKIPPING, flag, "static_int8", version=version)

    assert jobs.run_container(asked) == (0 if knows else 2)
    if not knows:
        assert asked.log[0] == USAGE
        assert asked.log[-1] == (
            f"partition.py: error: unrecognized arguments: {flag} static_int8"
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

    assert jobs.run_container(asked) == 0
    assert f"{weights}/model.safetensors" in asked.files.names(OUT)


NO_VLLM = (
    "ValueError: vLLM model loader does not support ahead of time compilation via the "
    "partition script."
)


@pytest.mark.parametrize(("version", "code"), [("0.27", 0), ("0.28", 1), ("0.30", 1)])
@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"option.quantize=awq\n", "Exception: Invalid quantization method: awq"),
        (
            b"option.model_loader=vllm\n",
            NO_VLLM,
        ),
    ],
    ids=["quantize", "loader"],
)
def test_what_028_refuses_027_does_not_look_at(
    version: str, code: int, line: bytes, words: str
) -> None:
    """
    Whole numbers pass in each.
    """
    asked = container(*SKIPPING, version=version, properties=b"engine=Python\n" + line)
    whole = b"engine=Python\noption.quantize=static_int8\n"
    fine = container(*SKIPPING, version=version, properties=whole)

    assert jobs.run_container(asked) == code
    if code:
        assert asked.log == ["Traceback (most recent call last):", words]
    assert jobs.run_container(fine) == 0
    assert graph(fine)["shape"]["quantize"] == "static_int8"


SPLIT = (
    "ValueError: Model partitioning does not support split model artifacts. Use normal "
    "model artifacts and rerun."
)


def test_what_is_no_option_is_not_read() -> None:
    """
    Without its prefix.
    """
    line = b"engine=Python\nload_split_model=true\nn_positions=9\n"
    asked = container(*SKIPPING, properties=line)

    assert jobs.run_container(asked) == 0
    assert graph(asked)["shape"]["n_positions"] == ""


@pytest.mark.parametrize("value", ["true", "True", "TRUE"])
def test_split_weights_are_refused(value: str) -> None:
    """
    However that is written.
    """
    line = f"engine=Python\noption.load_split_model={value}\n".encode()
    asked = container(*SKIPPING, properties=line)

    assert jobs.run_container(asked) == 1
    assert asked.log[-1] == SPLIT


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

    assert jobs.run_container(asked) == code
    if code:
        assert f"RuntimeError: tensor_parallel_degree {degree} does" in asked.log[-1]


def test_one_core_is_meant_where_no_degree_is_said() -> None:
    """
    As the script has it.
    """
    asked = container(*COMMAND[:-2], "--skip-copy")

    assert jobs.run_container(asked) == 0
    assert graph(asked)["cores"] == 1


@pytest.mark.parametrize(
    ("arguments", "properties", "words"),
    [
        (SKIPPING, b"", "Please specify engine"),
        (SKIPPING, None, "Please specify engine"),
        (SKIPPING, b"engine=MPI\n", "Invalid engine: MPI"),
        (
            [*SKIPPING, "--engine", "DeepSpeed"],
            b"engine=Python\n",
            "Invalid engine: De",
        ),
        (COMMAND[:5], b"engine=Python\n", "Please specify save_mp_checkpoint_path"),
    ],
)
def test_what_is_not_said_ends_it_well_with_its_usage(
    arguments: list[str], properties: bytes | None, words: str
) -> None:
    """
    It exits with 0, and has written nothing.
    """
    asked = container(*arguments, properties=properties)

    assert jobs.run_container(asked) == 0
    assert asked.log[0].startswith(words)
    assert asked.log[1] == USAGE
    assert asked.files.names(OUT) == []


@pytest.mark.parametrize(
    ("arguments", "properties"),
    [
        (SKIPPING, b"option.entryPoint=model.py\n"),
        (SKIPPING, b"engine=MPI\noption.entryPoint=model.py\n"),
        ([*SKIPPING, "--engine", "Python"], b"engine=MPI\n"),
        (SKIPPING, b"\n  \n# engine=MPI\n  engine = Python  \n"),
        (SKIPPING, b"# \xff\nengine=Python\n"),
    ],
)
def test_an_engine_is_said_in_several_ways(
    arguments: list[str], properties: bytes
) -> None:
    """
    By the file, whose comments and spaces are skipped, or by the command; a program of
    the model's own needs none.
    """
    asked = container(*arguments, properties=properties)

    assert jobs.run_container(asked) == 0
    assert asked.log[-1] == "Partitioning done."


def test_a_line_without_an_equals_sign_ends_it() -> None:
    """
    With Python's own words.
    """
    asked = container(*SKIPPING, properties=b"engine=Python\nengine: Python\n")

    assert jobs.run_container(asked) == 1
    assert asked.log == [
        "Traceback (most recent call last):",
        "ValueError: not enough values to unpack (expected 2, got 1)",
    ]


def test_help_is_printed_and_ends_well(capfd: pytest.CaptureFixture[str]) -> None:
    """
    Into the container's log, and nowhere else.
    """
    asked, wrong = container("partition", "--help"), container("partition", "--fast")

    assert (jobs.run_container(asked), jobs.run_container(wrong)) == (0, 2)
    assert asked.log[0] == USAGE
    assert "  --skip-copy" in asked.log
    assert capfd.readouterr() == ("", "")


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

    assert jobs.run_container(container(*SKIPPING, files=files)) == 0


@pytest.mark.parametrize("kind", ["mistral", "mixtral", "bloom"])
def test_further_kinds_of_models_are_compiled(kind: str) -> None:
    """
    Eight in all.
    """
    config = json.dumps({"model_type": kind}).encode()

    assert (
        jobs.run_container(container(*SKIPPING, files={**PLAIN, "config.json": config}))
        == 0
    )


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

    assert jobs.run_container(asked) == 1
    assert asked.log == ["Traceback (most recent call last):", words]


def test_a_model_of_the_hub_is_not_played() -> None:
    """
    And said to be so.
    """
    command = [each if each != MODEL else "org/name" for each in SKIPPING]
    asked = container(*command)

    assert jobs.run_container(asked) == 1
    assert asked.log == ["not emulated: the download of org/name into a job"]


def test_a_model_may_lie_beside_its_properties() -> None:
    """
    Where none is named; and they in a training job's channel, if no folder is either.
    """
    command = ["partition", "--save-mp-checkpoint-path", OUT, "--skip-copy"]
    asked = container(*command, properties=None, files={})
    for name, body in {**PLAIN, "serving.properties": b"engine=Python\n"}.items():
        asked.files.write(f"/opt/ml/input/data/training/{name}", body)

    assert jobs.run_container(asked) == 0
    assert text(asked, "serving.properties") == "engine=Python\n"


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
            ["perl", compiled_engines.TENSORRT_LLM_SCRIPT],
            {"image": TRT},
            127,
            f"not emulated: the command perl {compiled_engines.TENSORRT_LLM_SCRIPT}",
        ),
        (["python", "x.py"], {}, 127, "not emulated: the command python x.py"),
        (
            SKIPPING,
            {"variables": {"OPTION_DTYPE": "fp16"}},
            1,
            "not emulated: variables of a job, got OPTION_DTYPE",
        ),
        (
            ["partition"],
            {"entrypoint": ("sh",)},
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

    assert jobs.run_container(asked) == code
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


def test_a_shape_is_of_these_options() -> None:
    """
    With what LMI takes where they are left out.
    """
    shape = {
        "n_positions": "512",
        "max_rolling_batch_size": "4",
        "dtype": "bf16",
        "quantize": "static_int8",
        "context_length_estimate": "128,256",
    }

    assert shape_of({**shape, "predict_timeout": "5"}) == shape
    assert shape_of({}) == {
        "n_positions": "",
        "max_rolling_batch_size": "32",
        "dtype": "fp16",
        "quantize": "",
        "context_length_estimate": "",
    }


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

    assert jobs.run_container(asked) == 0
    assert graph(asked)["cores"] == 8
    assert NEURONX.folder == "neuron/"
    assert TENSORRT_LLM.folder == ""
