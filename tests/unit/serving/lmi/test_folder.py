"""
A serving artifact written by hand.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from cdk_sagemaker_llm import HuggingFaceModel, ModelArchitecture, ServingFolder
from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.demand import Assumptions, Demand
from cdk_sagemaker_llm.findings import Finding, Severity
from cdk_sagemaker_llm.serving.base import Container
from cdk_sagemaker_llm.serving.lmi.checks.artifacts import (
    artifact_findings,
    layout_findings,
    properties_path,
)
from tests.unit.serving.answers import container_of, findings_of

GOOD = "engine=MPI\noption.model_id=a/b\n"


def folder(path: Path) -> ServingFolder:
    """
    Serve a folder with the reference image.
    """
    return ServingFolder(path, container_family="djl-tensorrtllm", version="0.26.0")


def errors(path: Path) -> list[Finding]:
    """
    Return the errors found in a folder.
    """
    return [f for f in findings_of(folder(path), None) if f.severity is Severity.ERROR]


def test_all_files_travel_but_what_was_left_behind(tmp_path: Path) -> None:
    """
    model.py and requirements.txt go along; hidden files and bytecode do not.
    """
    for name in ("model.py", "requirements.txt", ".DS_Store"):
        (tmp_path / name).write_text("x")
    (tmp_path / "serving.properties").write_text(GOOD)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "model.pyc").write_text("x")

    container = container_of(folder(tmp_path), None, 8)

    assert sorted(container.files) == [
        "model.py",
        "requirements.txt",
        "serving.properties",
    ]
    assert errors(tmp_path) == []


def test_fails_if_the_folder_is_missing(tmp_path: Path) -> None:
    """
    The path is repeated as it was given.
    """
    (found,) = errors(tmp_path / "mixtrall")

    assert found.code == "LLM108"
    assert "mixtrall' is not a folder" in found.message


@pytest.mark.parametrize("name", ["x" * 300, "a\0b"], ids=["long", "NUL"])
def test_fails_if_no_folder_can_have_the_name(tmp_path: Path, name: str) -> None:
    """
    As for one that is missing, where the system refuses to look.
    """
    assert [found.code for found in errors(tmp_path / name)] == ["LLM108"]


def test_fails_if_there_is_no_serving_properties(tmp_path: Path) -> None:
    """
    Such a folder would start an empty server.
    """
    assert [f.code for f in errors(tmp_path)] == ["LLM109"]


def test_warns_if_there_is_no_engine(tmp_path: Path) -> None:
    """
    It starts, but at 0.26 without the token that a gated model needs.
    """
    (tmp_path / "serving.properties").write_text("option.model_id=a/b\n")

    found = {f.code: f for f in findings_of(folder(tmp_path), None)}

    assert errors(tmp_path) == []
    assert found["LLM215"].remedy == "write engine=MPI"


def test_one_folder_may_hold_the_files(tmp_path: Path) -> None:
    """
    The server descends one level where there is nothing else.
    """
    (tmp_path / "mistral").mkdir()
    (tmp_path / "mistral" / "serving.properties").write_text(GOOD + "option.dtyp=x\n")

    assert [f.code for f in errors(tmp_path)] == ["LLM158"]


def test_fails_if_two_folders_hold_models(tmp_path: Path) -> None:
    """
    Two models would answer /invocations, which then is ambiguous.
    """
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "serving.properties").write_text(GOOD)

    assert [f.code for f in errors(tmp_path)] == ["LLM126"]


def test_an_option_without_effect_is_an_error_where_no_code_reads_it(
    tmp_path: Path,
) -> None:
    """
    A model.py of the user's may read any option; without one it is a mistake.
    """
    (tmp_path / "serving.properties").write_text(GOOD + "option.my_switch=1\n")
    alone = [f.code for f in errors(tmp_path)]
    (tmp_path / "model.py").write_text("")

    assert alone == ["LLM158"]
    assert errors(tmp_path) == []


def test_fails_if_the_file_holds_a_token(tmp_path: Path) -> None:
    """
    The message names the property and does not repeat the token.
    """
    token = "hf_" + "a1" * 17
    text = f"{GOOD}option.revision={token}\n"
    (tmp_path / "serving.properties").write_text(text)

    (found,) = errors(tmp_path)

    assert found.code == "LLM107"
    assert "option.revision" in found.message
    assert token not in str(found)


def test_fails_if_the_file_cannot_be_read(tmp_path: Path) -> None:
    """
    Where Java refuses the file, so do we.
    """
    (tmp_path / "serving.properties").write_text(GOOD + "option.revision=\\u1")

    assert [f.code for f in errors(tmp_path)] == ["LLM114"]


def test_fails_if_it_holds_weights(tmp_path: Path) -> None:
    """
    Weights do not travel in an artifact.
    """
    (tmp_path / "serving.properties").write_text(GOOD)
    (tmp_path / "model.safetensors").write_bytes(b"\0" * (65 * 1024 * 1024))

    (found,) = errors(tmp_path)

    assert found.code == "LLM118"
    assert "S3 prefix" in found.remedy


def test_fails_if_a_model_is_named_twice(tmp_path: Path) -> None:
    """
    The folder names its weights.
    """
    (tmp_path / "serving.properties").write_text(GOOD)

    found = findings_of(folder(tmp_path), HuggingFaceModel("a/b"))

    assert "LLM117" in [f.code for f in found]


SMALL = ModelArchitecture.custom(
    parameters=10**9, kv_bytes_per_token=2, num_attention_heads=32
)
FULL = (
    "engine=MPI\n"
    "option.model_id=meta-llama/Llama-2-13b-hf\n"
    "option.model_loading_timeout=900\n"
    "option.quantize=awq\n"
    "option.max_model_len=3000\n"
    "option.tensor_parallel_degree=2\n"
)


def served(
    path: Path,
    *,
    family: str = "djl-tensorrtllm",
    version: str = "0.26.0",
    architecture: ModelArchitecture | str | None = None,
    **files: str,
) -> ServingFolder:
    """
    Write a folder's files, whose dots are underscores here, and serve it.
    """
    for name, text in files.items():
        (path / name.replace("_", ".")).write_text(text)
    return ServingFolder(
        path, container_family=family, version=version, architecture=architecture
    )


def told(serving: ServingFolder, devices: int | None = 8) -> list[str]:
    """
    Return what is said, but of the end of a family.
    """
    found = [str(finding) for finding in findings_of(serving, None, devices)]
    return [line for line in found if not line.startswith("LLM201")]


def test_every_keyword_has_a_test() -> None:
    """
    A new one comes with what it does.
    """
    assert list(inspect.signature(ServingFolder).parameters) == [
        "path",
        "container_family",
        "version",
        "architecture",
        "image",
    ]


def test_the_whole_container(tmp_path: Path) -> None:
    """
    The folder's files as they are; how long it may load is read from them.
    """
    serving = served(tmp_path, serving_properties=FULL, model_py="pass")

    assert container_of(serving, None, 8) == Container(
        image=find_image("djl-tensorrtllm", "0.26.0"),
        files={"model.py": b"pass", "serving.properties": FULL.encode()},
        environment={},
        token_variables=("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"),
        weights_uri=None,
        loading_seconds=900,
        start_up_seconds=None,
    )


def test_left_out_the_images_time_for_loading_holds(tmp_path: Path) -> None:
    """
    1200 seconds in every LMI image.
    """
    serving = served(tmp_path, serving_properties=GOOD)

    assert container_of(serving, None, 8).loading_seconds == 1200


def test_what_it_asks_of_the_memory_with_everything_said(tmp_path: Path) -> None:
    """
    By the file; and TensorRT-LLM's image has TensorRT-LLM alone.
    """
    serving = served(tmp_path, serving_properties=FULL)

    assert serving.prepare(None, 8).demand == Demand(
        architecture=ModelArchitecture.of("meta-llama/Llama-2-13b-hf"),
        assumptions=Assumptions(),
        weight_bits=4,
        context_length=3000,
        batch_tokens=None,
        tensor_parallel_degree=2,
        engine="tensorrt-llm",
    )


def test_what_it_asks_of_the_memory_with_nothing_said(tmp_path: Path) -> None:
    """
    Of an image with several engines, those of vLLM, of no particular release.
    """
    serving = served(
        tmp_path,
        family="djl-lmi",
        version="0.36.0",
        serving_properties="engine=Python\noption.tensor_parallel_degree=max\n",
    )

    assert serving.prepare(None, 8).demand == Demand(
        architecture=None,
        assumptions=Assumptions(max_num_seqs=32),
        weight_bits=None,
        context_length=None,
        batch_tokens=None,
        tensor_parallel_degree=None,
    )


def test_the_model_that_the_file_names_is_checked_by_the_catalogue(
    tmp_path: Path,
) -> None:
    """
    Nothing need be said of it beside the file.
    """
    serving = served(
        tmp_path,
        family="djl-deepspeed",
        version="0.27.0",
        serving_properties="engine=DeepSpeed\noption.rolling_batch=auto\n"
        "option.model_id=mistralai/Mistral-7B-v0.1\n",
    )
    found = serving.prepare(None, 4).findings

    assert [f.code for f in found] == ["LLM201", "LLM175"]


def test_what_changes_the_memory_is_read(tmp_path: Path) -> None:
    """
    The share, graphs, sequences and the cache's format.
    """
    lines = (
        "option.gpu_memory_utilization=0.8\noption.enforce_eager=true\n"
        "option.max_rolling_batch_size=48\noption.kv_cache_dtype=fp8_e5m2\n"
    )
    serving = served(
        tmp_path, family="djl-lmi", version="0.36.0", serving_properties=lines
    )
    demand = serving.prepare(None, 8).demand

    assert demand is not None
    assert demand.assumptions == Assumptions(
        gpu_memory_utilization=0.8,
        cuda_graphs_gib=0.0,
        max_num_seqs=48,
        kv_cache_dtype_bytes=1,
    )


@pytest.mark.parametrize("share", ["much", "nan", "0", "2", ""])
def test_a_share_that_is_none_is_left_to_its_check(tmp_path: Path, share: str) -> None:
    """
    The plan takes the default.
    """
    lines = f"option.gpu_memory_utilization={share}\n"
    serving = served(
        tmp_path, family="djl-lmi", version="0.36.0", serving_properties=lines
    )
    demand = serving.prepare(None, 8).demand

    assert demand is not None
    assert demand.assumptions == Assumptions(max_num_seqs=32)


@pytest.mark.parametrize("name", ["pipeline_parallel_degree", "cpu_offload_gb"])
def test_weights_that_are_spread_further_are_not_planned(
    tmp_path: Path, name: str
) -> None:
    """
    In a pipeline, or on the host.
    """
    lines = f"option.{name}=2\n"
    serving = served(
        tmp_path, family="djl-lmi", version="0.36.0", serving_properties=lines
    )

    assert serving.prepare(None, 8).demand is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (SMALL, SMALL),
        ("google/gemma-2b", ModelArchitecture.of("google/gemma-2b")),
        ("LlamaForCausalLM", ModelArchitecture.of("meta-llama/Llama-2-13b-hf")),
    ],
    ids=["a size", "a catalogued model", "a class alone"],
)
def test_the_architecture_given_wins_over_the_catalogues(
    given: ModelArchitecture | str, expected: ModelArchitecture, tmp_path: Path
) -> None:
    """
    Of a class alone the size is still that of the model that the file names.
    """
    serving = served(tmp_path, serving_properties=FULL, architecture=given)
    demand = serving.prepare(None, 8).demand

    assert demand is not None
    assert demand.architecture == expected


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            SMALL,
            (
                "LLM156 option.tensor_parallel_degree must divide the 32 attention "
                "heads, got 3; use 1, 2, 4, 8, 16"
            ),
        ),
        (
            "meta-llama/Llama-2-13b-hf",
            (
                "LLM156 option.tensor_parallel_degree must divide the 40 attention "
                "heads, got 3; use 1, 2, 4, 8"
            ),
        ),
        (
            "ChatGLMModel",
            (
                "LLM128 ChatGLM needs option.chatglm_model_version in TensorRT-LLM "
                "0.26; write one such as chatglm3_6b"
            ),
        ),
        (None, None),
    ],
    ids=["a size", "a catalogued model", "a class", "nothing"],
)
def test_what_depends_on_the_architecture_is_checked(
    given: ModelArchitecture | str | None, line: str | None, tmp_path: Path
) -> None:
    """
    As far as it is known.
    """
    text = GOOD + "option.tensor_parallel_degree=3\n"
    serving = served(tmp_path, serving_properties=text, architecture=given)

    assert told(serving, 3) == ([line] if line else [])


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        (
            2,
            [
                (
                    "LLM154 option.tensor_parallel_degree=4 needs 4 accelerators, and "
                    "there are 2; write option.tensor_parallel_degree=2 or max"
                )
            ],
        ),
        (4, []),
        (None, []),
    ],
)
def test_devices_are_counted(
    devices: int | None, expected: list[str], tmp_path: Path
) -> None:
    """
    Where they are known.
    """
    text = GOOD + "option.tensor_parallel_degree=4\n"

    assert told(served(tmp_path, serving_properties=text), devices) == expected


def test_the_devices_may_be_decided_by_the_demand(tmp_path: Path) -> None:
    """
    It is asked once what it asks of the memory.
    """
    asked: list[Demand | None] = []

    def devices(demand: Demand | None) -> int:
        asked.append(demand)
        return 1

    text = GOOD + "option.tensor_parallel_degree=2\n"
    prepared = served(tmp_path, serving_properties=text).prepare(None, devices)

    assert [f.code for f in prepared.findings] == ["LLM201", "LLM154"]
    assert prepared.container is None
    assert asked == [prepared.demand]


def test_a_folder_that_is_missing_is_told_of_word_for_word(tmp_path: Path) -> None:
    """
    And nothing else is read.
    """
    path = tmp_path / "gone"
    prepared = served(path).prepare(HuggingFaceModel("a/b"), 8)

    assert [str(f) for f in prepared.findings][1:] == [
        f"LLM108 path {str(path)!r} is not a folder"
    ]
    assert prepared.container is None
    assert prepared.demand is None


def test_a_second_model_is_told_of_word_for_word(tmp_path: Path) -> None:
    """
    With the way to name it.
    """
    serving = served(tmp_path, serving_properties=GOOD)
    prepared = serving.prepare(HuggingFaceModel("a/b"), 8)

    assert [str(f) for f in prepared.findings][1:] == [
        (
            "LLM117 model and a serving folder exclude each other; name the weights as "
            "option.model_id in serving.properties"
        )
    ]
    assert prepared.container is None


@pytest.mark.parametrize(
    ("family", "version", "expected"),
    [
        ("djl-lmi", "0.99.0", "LLM102 image djl-lmi has no version '0.99.0'; use "),
        (
            "huggingface-llm",
            "3.3.6",
            (
                "LLM187 container_family must be that of an LMI image, which reads "
                "serving.properties, got 'huggingface-llm'; use djl-tensorrtllm, "
                "djl-lmi, djl-deepspeed or djl-neuronx; other images are told what to "
                "do by Tgi, TgiNeuron or CustomContainer"
            ),
        ),
        ("djl-deepspeed", "0.24.0", None),
        ("djl-fastertransformer", "0.24.0", None),
    ],
)
def test_a_file_of_an_image_without_tables_is_not_judged(
    family: str, version: str, expected: str | None, tmp_path: Path
) -> None:
    """
    Neither of an unknown image, nor of a family that is not LMI's, nor of old ones.
    """
    serving = served(
        tmp_path, family=family, version=version, serving_properties="engine=Pyton\n"
    )
    found = told(serving)

    assert [line.split("0.38.0")[0] for line in found] == (
        [expected] if expected else []
    )


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"serving.properties": b"", "model.py": b""}, []),
        ({"model/serving.properties": b"", "model/model.py": b""}, []),
        ({}, ["LLM109 'x' holds no serving.properties"]),
        ({"model.py": b""}, ["LLM109 'x' holds no serving.properties"]),
        (
            {"my.serving.properties": b""},
            ["LLM109 'x' holds no serving.properties"],
        ),
        (
            {
                "two/serving.properties": b"",
                "one/serving.properties": b"",
                "one/deep/serving.properties": b"",
            },
            [
                (
                    "LLM126 'x' holds one, two beside other entries: each folder at "
                    "the top would be a model of its own; put one model's files at the "
                    "top, or into one folder"
                )
            ],
        ),
        (
            {"one/serving.properties": b"", "model.py": b""},
            [
                (
                    "LLM126 'x' holds one beside other entries: each folder at the top "
                    "would be a model of its own; put one model's files at the top, or "
                    "into one folder"
                )
            ],
        ),
        (
            {"one/deep/serving.properties": b""},
            [
                (
                    "LLM126 'x' holds one beside other entries: each folder at the top "
                    "would be a model of its own; put one model's files at the top, or "
                    "into one folder"
                )
            ],
        ),
    ],
    ids=[
        "at the top",
        "in one folder",
        "nothing",
        "no properties",
        "another name",
        "several folders",
        "a folder and a file",
        "too deep",
    ],
)
def test_what_is_in_a_folder(files: dict[str, bytes], expected: list[str]) -> None:
    """
    One model's.
    """
    assert [str(found) for found in layout_findings("x", files)] == expected


@pytest.mark.parametrize(
    ("files", "path"),
    [
        (["serving.properties", "a/serving.properties"], "serving.properties"),
        (["a/serving.properties", "a/b/model.py"], "a/serving.properties"),
        (["a/serving.properties", "b"], None),
        (["a/b/serving.properties"], None),
        (["a"], None),
        ([], None),
    ],
)
def test_the_file_is_at_the_top_or_in_the_only_folder(
    files: list[str], path: str | None
) -> None:
    """
    As the server looks for it.
    """
    assert properties_path(files) == path


@pytest.mark.parametrize(
    ("name", "travels"),
    [
        ("code/model.py", True),
        ("code/.hidden/x", False),
        (".git/config", False),
        ("code/__pycache__/x.pyc", False),
        ("__pycache__x/model.py", True),
        ("a.b/c", True),
    ],
)
def test_what_travels(name: str, *, travels: bool, tmp_path: Path) -> None:
    """
    Everything but what is hidden or bytecode, at any depth, by its path with slashes.
    """
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_bytes(b"1")
    serving = served(tmp_path, serving_properties=GOOD)
    files = container_of(serving, None, 8).files

    assert files == {
        **({name: b"1"} if travels else {}),
        "serving.properties": GOOD.encode(),
    }


def test_the_file_is_read_as_latin_1(tmp_path: Path) -> None:
    """
    In which every byte is a character; the warning says so.
    """
    (tmp_path / "serving.properties").write_bytes(GOOD.encode() + b"# \xe9\xff\n")

    assert [line[:6] for line in told(served(tmp_path))] == ["LLM217"]


def test_what_an_artifact_is_checked_for() -> None:
    """
    The file for its container, its backend and its model; and no credentials in it.
    """
    token = "hf" + "_" + "a" * 34
    text = f"engine=Python\noption.tensor_parallel_degree=3\noption.env={token}\n"

    found = artifact_findings(
        {"serving.properties": text.encode()},
        container="djl-lmi",
        version="0.34.0",
        accelerators=2,
        architecture={"architectures": ["X"], "num_attention_heads": 32},
        backend="trtllm",
    )

    assert [f.code for f in found] == ["LLM154", "LLM134", "LLM107"]


def test_an_artifact_that_java_cannot_read_is_told_of_once() -> None:
    """
    Its values are not known.
    """
    found = artifact_findings(
        {"serving.properties": b"a=\\u1"},
        container="djl-lmi",
        version="0.36.0",
        accelerators=None,
    )

    assert [str(f) for f in found] == ["LLM114 malformed \\u escape in '\\\\u1'"]


@pytest.mark.parametrize(
    ("name", "code"), [("model.py", "LLM204"), ("model.pyc", "LLM158")]
)
def test_code_beside_the_file_may_read_any_option(name: str, code: str) -> None:
    """
    Python's, that is.
    """
    found = artifact_findings(
        {"serving.properties": b"engine=Python\noption.my_own=1\n", name: b""},
        container="djl-lmi",
        version="0.36.0",
        accelerators=None,
    )

    assert [f.code for f in found] == [code]


@pytest.mark.parametrize(
    ("requirements", "codes"),
    [
        (None, ["LLM901"]),
        (b"boto3\n# vllm==0.7.0\n", ["LLM901"]),
        (b"vllm==0.7.0\n", []),
        (b"boto3\ngit+https://github.com/huggingface/transformers\n", []),
    ],
)
@pytest.mark.parametrize("top", ["", "mymodel/"])
def test_what_requirements_replace_is_not_held_against_the_image(
    top: str, requirements: bytes | None, codes: list[str]
) -> None:
    """
    LMI installs them before it starts, as notebooks for DeepSeek-R1 on LMI 0.31 do.
    """
    text = b"engine=Python\noption.model_id=deepseek-ai/DeepSeek-R1\n"
    files = {f"{top}serving.properties": text + b"option.rolling_batch=vllm\n"}
    if requirements is not None:
        files[f"{top}requirements.txt"] = requirements

    found = artifact_findings(
        files, container="djl-lmi", version="0.31.0", accelerators=8
    )

    assert [one.code for one in found if one.severity is Severity.ERROR] == codes
