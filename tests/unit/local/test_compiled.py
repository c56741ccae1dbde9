"""
What is compiled in a job and loaded by an endpoint, and the files of a job's container.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from moto.s3.models import s3_backends

from cdk_sagemaker_llm.local.aws.artifacts import Artifacts
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines.compiled import Engine, Graph, load_refusal, run
from cdk_sagemaker_llm.local.engines.job_containers import (
    Container,
    Files,
    MissingBucketError,
    MissingInputError,
)
from cdk_sagemaker_llm.local.regions import MotoSurroundings
from tests.local.hosting_requests import unique
from tests.unit.local.test_job_containers import REGISTRY, SCRIPT, TAGS

ACCOUNT = "123456789012"
TRT = {
    "0.28": "0.28.0-tensorrtllm0.9.0-cu122",
    "0.29": "0.29.0-tensorrtllm0.11.0-cu124",
    "0.32": "0.32.0-tensorrtllm0.12.0-cu125",
    "0.33": "0.33.0-tensorrtllm0.21.0-cu128",
}
AROUND = MotoSurroundings(ACCOUNT, "us-east-1", "aws")


def bucket_of(objects: Mapping[str, bytes]) -> str:
    """
    Make a bucket with objects, and return its name.
    """
    name, backend = unique("bucket"), s3_backends[ACCOUNT]["aws"]
    made: Untyped = backend
    made.create_bucket(name, "us-east-1")
    for key, body in objects.items():
        made.put_object(name, key, body)
    return name


def mounted(objects: Mapping[str, bytes], key: str) -> Files:
    """
    Lay what is under a key of a new bucket into ``/in``.
    """
    files = Files(AROUND)
    files.mount(f"s3://{bucket_of(objects)}/{key}", "/in")
    return files


MANY = {
    "a/one": b"1",
    "a/b/two": b"2",
    "a/c/": b"",
    "ab": b"3",
    "a/": b"",
    "d": b"4",
    "d/e": b"5",
}


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("a/", {"one": b"1", "b/two": b"2"}),
        ("a", {"one": b"1", "b/two": b"2", "b": b"3"}),
        ("d", {"d": b"4"}),
        ("a/b/two", {"two": b"2"}),
        ("d/", {"e": b"5"}),
        (
            "",
            {"a/one": b"1", "a/b/two": b"2", "ab": b"3", "d": b"4", "d/e": b"5"},
        ),
    ],
)
def test_an_input_is_an_object_or_what_begins_so(
    key: str, found: dict[str, bytes]
) -> None:
    """
    What ends in a slash is a folder, and no file.
    """
    files = mounted(MANY, key)

    assert files.names("/in") == sorted(found)
    assert files.names("/in/") == sorted(found)
    assert {name: files.read(f"/in/{name}") for name in found} == found


@pytest.mark.parametrize("url", ["s3://{}/a/c/", "s3://{}/x", "file:///a", "s3://no/a"])
def test_an_input_of_nothing_is_missing(url: str) -> None:
    """
    By its address.
    """
    place = url.format(bucket_of(MANY))

    with pytest.raises(MissingInputError) as raised:
        Files(AROUND).mount(place, "/in")

    assert str(raised.value) == place


def test_what_is_written_lies_over_what_was_brought() -> None:
    """
    However its path is written; what is not there is nothing.
    """
    files = mounted(MANY, "a/")

    files.write("/in//one", b"new")
    files.write("/in/x", b"")

    assert files.read("/in/./one") == b"new"
    assert files.read("/in/x") == b""
    assert files.read("/in/b/two/") == b"2"
    assert files.read("/in/gone") is None
    assert files.names("/in") == ["b/two", "one", "x"]
    assert files.names("/in/b") == ["two"]
    assert files.names("/i") == []
    assert files.names("/") == ["in/b/two", "in/one", "in/x"]


@pytest.mark.parametrize("ending", ["", "/"])
def test_a_folder_is_copied_to_s3(ending: str) -> None:
    """
    The files that are empty as well.
    """
    name, files = bucket_of({}), mounted(MANY, "a/")
    files.write("/in/x", b"")
    files.write("/out/y", b"y")

    files.upload("/in", f"s3://{name}/to{ending}")

    kept = Files(AROUND)
    kept.mount(f"s3://{name}", "/")
    found = {each: kept.read(f"/{each}") for each in kept.names("/")}
    assert found == {"to/one": b"1", "to/b/two": b"2", "to/x": b""}


@pytest.mark.parametrize("place", ["s3://no-such-bucket-of-tests/to", "file:///to"])
def test_a_folder_is_copied_to_a_bucket_that_is_there(place: str) -> None:
    """
    By the place that the first file would have had; no file needs none.
    """
    files = mounted(MANY, "a/")

    with pytest.raises(MissingBucketError) as raised:
        files.upload("/in", place)

    assert str(raised.value) == f"{place}/b/two"
    files.upload("/empty", place)


MODEL = {
    "config.json": b'{"model_type": "llama"}',
    "generation_config.json": b"{}",
    "tokenizer_config.json": b'{"a": 1}',
    "tokenizer.model": b"t",
    "model.safetensors": b"weights",
    "notes.md": b"n",
}
BESIDE = [
    *("config.json", "generation_config.json", "tokenizer.model"),
    "tokenizer_config.json",
]


def compiling(
    version: str,
    *more: str,
    degree: str = "2",
    files: Mapping[str, bytes] = MODEL,
    **settings: Any,  # noqa: ANN401 - of a container
) -> Container:
    """
    Write a container that compiles engines.
    """
    found = Files(AROUND)
    for name, body in files.items():
        found.write(f"/in/model/{name}", body)
    text = b"engine=MPI\noption.dtype=fp16\n"
    found.write("/in/properties/serving.properties", text)
    arguments = {
        "properties_dir": "/in/properties",
        "trt_llm_model_repo": "/out",
        "tensor_parallel_degree": degree,
        "model_path": "/in/model",
    }
    words = [word for flag, one in arguments.items() for word in (f"--{flag}", one)]
    given = {
        "image": f"{REGISTRY}/djl-inference:{TRT[version]}",
        "command": ["python", SCRIPT, *words, *more],
        "variables": {},
        "instance_type": "ml.g5.12xlarge",
        "files": found,
        **settings,
    }
    return Container(**given)


PIPELINE = ("--pipeline_parallel_degree", "2")
OPTIONS = {"engine": "MPI", "dtype": "fp16"}


@pytest.mark.parametrize(
    ("version", "more", "ranks", "model", "folder"),
    [
        ("0.28", (), 2, "tensorrt_llm/", "tensorrt_llm/1/"),
        ("0.29", PIPELINE, 4, "tensorrt_llm/", "tensorrt_llm/1/"),
        ("0.32", PIPELINE, 4, "tensorrt_llm/", "tensorrt_llm/1/"),
        ("0.33", PIPELINE, 4, "", ""),
    ],
)
def test_engines_are_laid_out_as_their_release_loads_them(
    version: str, more: tuple[str, ...], ranks: int, model: str, folder: str
) -> None:
    """
    One a rank, with what the model has beside its weights.
    """
    asked = compiling(version, *more)

    assert run(asked) == 0
    assert asked.log == [
        f"Building {ranks} engines for A10G",
        "Model Compiled successfully: /out",
    ]
    # Where both are in one folder, the engine's own configuration is the one.
    ending = ["config.pbtxt"] if model else ["serving.properties"]
    assert asked.files.names("/out") == sorted(
        {
            *(f"{model}{name}" for name in (*BESIDE, *ending)),
            f"{folder}config.json",
            *(f"{folder}rank{rank}.engine" for rank in range(ranks)),
        }
    )
    config = json.loads(asked.files.read(f"/out/{folder}config.json") or b"")
    assert config == {
        "pretrained_config": {
            "mapping": {"tp_size": 2, "pp_size": ranks // 2, "world_size": ranks}
        },
        "build_config": OPTIONS,
    }
    for rank in range(ranks):
        engine = asked.files.read(f"/out/{folder}rank{rank}.engine")
        assert Engine.read(engine) == Engine(
            image=TRT[version],
            device="A10G",
            tensor_parallel_degree=2,
            pipeline_parallel_degree=ranks // 2,
            rank=rank,
            options=OPTIONS,
        )
    last = asked.files.read(f"/out/{model}{ending[0]}")
    assert last == (
        b'name: "tensorrt_llm"\nbackend: "tensorrtllm"\n'
        if model
        else b"engine=MPI\noption.dtype=fp16\n"
    )
    assert asked.files.read(f"/out/{model}tokenizer.model") == b"t"


@pytest.mark.parametrize(
    ("version", "degree", "more", "code", "said"),
    [
        ("0.28", "4", (), 0, "Model Compiled successfully: /out"),
        ("0.28", "5", (), 1, "RuntimeError: 5 x 1 ranks do not fit 4 GPUs"),
        ("0.28", "0", (), 1, "RuntimeError: 0 x 1 ranks do not fit 4 GPUs"),
        ("0.29", "2", PIPELINE, 0, "Model Compiled successfully: /out"),
        ("0.29", "3", PIPELINE, 1, "RuntimeError: 3 x 2 ranks do not fit 4 GPUs"),
        (
            "0.29",
            "1",
            (PIPELINE[0], "0"),
            1,
            "RuntimeError: 1 x 0 ranks do not fit 4 GPUs",
        ),
        (
            "0.29",
            "1",
            (),
            2,
            (
                "trt_llm_partition.py: error: the following arguments are required: "
                "--pipeline_parallel_degree"
            ),
        ),
        (
            "0.28",
            "1",
            PIPELINE,
            2,
            (
                "trt_llm_partition.py: error: unrecognized arguments: "
                "--pipeline_parallel_degree 2"
            ),
        ),
        (
            "0.28",
            "many",
            (),
            2,
            (
                "trt_llm_partition.py: error: argument --tensor_parallel_degree: "
                "invalid "
                "int value: 'many'"
            ),
        ),
    ],
)
def test_ranks_fit_the_gpus(
    version: str, degree: str, more: tuple[str, ...], code: int, said: str
) -> None:
    """
    A pipeline is known from 0.29 on.
    """
    asked = compiling(version, *more, degree=degree)

    assert run(asked) == code
    assert asked.log[-1] == said


def test_every_argument_of_the_script_is_needed() -> None:
    """
    As Python's parser says.
    """
    asked = compiling("0.29", command=["python", SCRIPT])

    assert run(asked) == 2
    assert asked.log == [
        (
            "trt_llm_partition.py: error: the following arguments are required: "
            "--properties_dir, --trt_llm_model_repo, --tensor_parallel_degree, "
            "--pipeline_parallel_degree, --model_path"
        )
    ]


def test_an_instance_that_nobody_knows_has_no_gpus() -> None:
    """
    So that nothing fits.
    """
    asked = compiling("0.28", degree="1", instance_type="ml.none.xlarge")

    assert run(asked) == 1
    assert asked.log == [
        "Traceback (most recent call last):",
        "RuntimeError: 1 x 1 ranks do not fit 0 GPUs",
    ]


def engine(rank: int = 0, **more: Any) -> Engine:  # noqa: ANN401 - of an engine
    """
    Declare an engine.
    """
    given = {
        "image": TRT["0.28"],
        "device": "A10G",
        "tensor_parallel_degree": 2,
        "pipeline_parallel_degree": 1,
        "options": {},
        **more,
    }
    return Engine(rank=rank, **given)


def refusal(
    objects: Mapping[str, bytes],
    tag: str = TRT["0.28"],
    kind: str = "ml.g5.12xlarge",
    *,
    reserved: int | None = None,
    by: str = "source",
    **variables: str,
) -> tuple[str, ...]:
    """
    Say why a container cannot load what lies under a prefix.
    """
    uri = f"s3://{bucket_of({f'm/{key}': body for key, body in objects.items()})}/m/"
    container: dict[str, Untyped] = {
        "Image": f"{REGISTRY}/djl-inference:{tag}",
        "Environment": variables,
    }
    if by == "source":
        source = {"S3Uri": uri, "S3DataType": "S3Prefix"}
        container["ModelDataSource"] = {"S3DataSource": source}
    elif by:
        container["Environment"] = {**variables, by: uri.rstrip("/")}
    return load_refusal(Artifacts(AROUND), container, kind, reserved)


PAIR = {f"1/rank{rank}.engine": engine(rank).written() for rank in range(2)}
ANOTHER_VERSION = (
    "[TensorRT-LLM][ERROR] The engine plan file is not compatible with this version "
    f"of TensorRT: compiled by {TRT['0.28']}, loaded by {TRT['0.29']}"
)
ANOTHER_DEVICE = (
    "[TensorRT-LLM][ERROR] The engine plan file is generated on an incompatible "
    "device, "
    "expecting A10G got L4, please rebuild."
)
RANKS = "[TensorRT-LLM][ERROR] Assertion failed: mpiSize == tp * pp: "


def wrong_degree(degree: int) -> str:
    """
    Return the words for another degree than two.
    """
    return f"{RANKS}tensor_parallel_degree is {degree}, the engines were compiled for 2"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"OPTION_TENSOR_PARALLEL_DEGREE": "2"}, ()),
        ({"TENSOR_PARALLEL_DEGREE": "2"}, ()),
        ({"OPTION_TENSOR_PARALLEL_DEGREE": "2", "TENSOR_PARALLEL_DEGREE": "4"}, ()),
        ({"reserved": 2}, ()),
        ({"reserved": 2, "TENSOR_PARALLEL_DEGREE": "max"}, ()),
        ({}, (wrong_degree(4),)),
        ({"reserved": 0}, (wrong_degree(0),)),
        ({"TENSOR_PARALLEL_DEGREE": "4"}, (wrong_degree(4),)),
        ({"tag": TRT["0.29"], "reserved": 2}, (ANOTHER_VERSION,)),
        ({"kind": "ml.g6.12xlarge", "reserved": 2}, (ANOTHER_DEVICE,)),
        (
            {"kind": "ml.g6.12xlarge", "tag": TRT["0.29"]},
            (ANOTHER_VERSION, ANOTHER_DEVICE, wrong_degree(4)),
        ),
        ({"by": "OPTION_MODEL_ID", "reserved": 2}, ()),
        ({"by": "HF_MODEL_ID", "reserved": 2}, ()),
        ({"by": "HF_MODEL_ID"}, (wrong_degree(4),)),
        ({"by": ""}, ()),
        ({"tag": "0.29.0-lmi11.0.0-cu124"}, ()),
    ],
)
def test_engines_load_where_they_were_compiled_for(
    settings: dict[str, Untyped], expected: tuple[str, ...]
) -> None:
    """
    By their release, their device and their ranks: all that is wrong is told.
    """
    assert refusal(PAIR, **settings) == expected


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ({}, ()),
        ({"1/rank0.engine": b"a real one"}, ()),
        (PAIR | {"rank9.engine": b"a real one", "notes.txt": b"x"}, ()),
        (PAIR | {"serving.properties": b"option.tensor_parallel_degree=2"}, ()),
        (
            {"1/rank0.engine": engine().written()},
            (
                (
                    "[TensorRT-LLM][ERROR] Error opening engine file: 1 of 2 ranks are "
                    "there"
                ),
            ),
        ),
        (
            {
                name: engine(pipeline_parallel_degree=2).written()
                for name in ("a.engine", "b.engine", "c.engine")
            },
            (
                (
                    "[TensorRT-LLM][ERROR] Error opening engine file: 3 of 4 ranks are "
                    "there"
                ),
            ),
        ),
    ],
)
def test_every_rank_of_engines_is_there(
    objects: dict[str, bytes], expected: tuple[str, ...]
) -> None:
    """
    Of those that were compiled here.
    """
    assert refusal(objects, reserved=2) == expected


def test_what_the_properties_say_wins_over_a_variable() -> None:
    """
    As in the container.
    """
    properties = {"serving.properties": b"option.tensor_parallel_degree=2"}

    found = refusal(PAIR | properties, OPTION_TENSOR_PARALLEL_DEGREE="4")

    assert found == ()


SHAPE = {
    "n_positions": "",
    "max_rolling_batch_size": "32",
    "dtype": "fp16",
    "quantize": "",
    "context_length_estimate": "",
}
COMPILED = {"config.json": b'{"neuron": {}}'}


def graph(cores: int, **shape: str) -> dict[str, bytes]:
    """
    Return a graph in its place.
    """
    found = Graph(
        image=TAGS["0.29"],
        device="Inferentia2",
        cores=cores,
        shape={**SHAPE, **shape},
    )
    return {found.path: found.written()}


NO_GRAPH = (
    (
        "FileNotFoundError: Could not find a matching NEFF for your HLO in this "
        "directory. Ensure that the model you are trying to load is the same type and "
        'has the same parameters as the one you saved or call "save" on this model to '
        "reserialize it."
    ),
)


@pytest.mark.parametrize(
    ("objects", "variables", "expected"),
    [
        (COMPILED | graph(24), {}, ()),
        (COMPILED | graph(24), {"OPTION_TENSOR_PARALLEL_DEGREE": "max"}, ()),
        (COMPILED | graph(2), {"OPTION_TENSOR_PARALLEL_DEGREE": "2"}, ()),
        (COMPILED | graph(2), {}, NO_GRAPH),
        (COMPILED, {}, NO_GRAPH),
        ({}, {}, ()),
        (graph(2), {}, ()),
        (COMPILED | graph(24), {"OPTION_DTYPE": "bf16"}, NO_GRAPH),
        (COMPILED | graph(24, dtype="bf16"), {"OPTION_DTYPE": "bf16"}, ()),
        (
            COMPILED
            | graph(24, n_positions="512")
            | {"serving.properties": b"option.n_positions=512"},
            {},
            (),
        ),
    ],
)
def test_a_graph_is_found_by_what_it_was_compiled_for(
    objects: dict[str, bytes],
    variables: dict[str, Untyped],
    expected: tuple[str, ...],
) -> None:
    """
    Of a model that says that it was compiled.
    """
    kind = "ml.inf2.48xlarge"

    assert refusal(objects, TAGS["0.29"], kind, **variables) == expected


def test_an_engine_is_read_as_it_was_written() -> None:
    """
    What is none is nothing.
    """
    assert Engine.read(engine(1).written()) == engine(1)
    assert Engine.read(None) is None
    assert Engine.read(b"{}") is None
    path = Graph(image="i", device="d", cores=2, shape={"a": "b"}).path
    assert path == "compiled/4394c5d23dae06053ffe.neff"
