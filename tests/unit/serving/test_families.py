"""
One function for the environments of all images that are checked.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.catalog.images import (
    ImageRelease,
    find_image,
    image_versions,
)
from cdk_sagemaker_llm.catalog.lmi import lmi_variables, server_settings
from cdk_sagemaker_llm.codes import rules
from cdk_sagemaker_llm.findings import errors_of
from cdk_sagemaker_llm.serving import check_environment
from cdk_sagemaker_llm.serving.base import Container
from cdk_sagemaker_llm.serving.checks import Dialect, Family
from cdk_sagemaker_llm.serving.families import (
    CHECKED_FAMILIES,
    FAMILIES,
    adapter_host,
    added_findings,
    container_findings,
    dialect_of,
)

MODEL = {"HF_MODEL_ID": "a/b"}
LMI = find_image("djl-lmi", "0.36.0")


def codes(environment: dict[str, str], container: str, version: str) -> list[str]:
    """
    Return the codes of what is found on four devices.
    """
    found = check_environment(
        environment, container=container, version=version, accelerators=4
    )
    return [finding.code for finding in found]


@pytest.mark.parametrize(
    ("container", "version"),
    [
        ("djl-lmi", "0.36.0"),
        ("djl-tensorrtllm", "0.33.0"),
        ("djl-deepspeed", "0.27.0"),
        ("djl-neuronx", "0.29.0"),
        ("huggingface-llm", "3.3.6"),
        ("huggingface-llm-neuronx", "0.3.0"),
    ],
)
def test_a_model_alone_is_right_everywhere(container: str, version: str) -> None:
    """
    In every family that is checked.
    """
    assert container in CHECKED_FAMILIES
    split = {"TENSOR_PARALLEL_DEGREE": "1"} if container == "djl-neuronx" else {}

    assert codes({**MODEL, **split}, container, version) == []


@pytest.mark.parametrize(
    ("container", "version", "environment", "found"),
    [
        ("djl-lmi", "0.36.0", {**MODEL, "TENSOR_PARALLEL_DEGREE": "8"}, ["LLM154"]),
        ("djl-lmi", "9.9.9", MODEL, ["LLM102"]),
        ("djl-deepspeed", "0.23.0", {"OPTION_ENGINE": "?"}, []),
        ("huggingface-llm", "1.4.5", {**MODEL, "NUM_SHARD": "8"}, ["LLM174"]),
        ("huggingface-llm", "1.4.5", {}, ["LLM112"]),
        (
            "huggingface-llm",
            "1.4.5",
            {"HUGGINGFACE_MODEL_ID": "a/b"},
            ["LLM112", "LLM228"],
        ),
        (
            "huggingface-llm-neuronx",
            "0.0.28",
            {**MODEL, "HF_AUTO_CAST_TYPE": "fp32"},
            ["LLM180"],
        ),
        (
            "huggingface-llm-neuronx",
            "0.0.28",
            {**MODEL, "HF_AUTO_CAST_TYPE": "bf16", "MAX_INPUT_LENGTH": "7"},
            [],
        ),
        (
            "huggingface-llm-neuronx",
            "0.0.28",
            {**MODEL, "MAX_INPUT_LENGTH": "7", "MAX_TOTAL_TOKENS": "8"},
            [],
        ),
        (
            "huggingface-llm-neuronx",
            "0.3.0",
            {**MODEL, "MAX_INPUT_TOKENS": "8", "MAX_TOTAL_TOKENS": "8"},
            ["LLM115"],
        ),
        ("huggingface-llm-neuronx", "0.0.28", {}, ["LLM112"]),
    ],
)
def test_each_container_has_its_own_rules(
    container: str, version: str, environment: dict[str, str], found: list[str]
) -> None:
    """
    By the family's name in the catalogue.
    """
    assert codes(environment, container, version) == found


@pytest.mark.parametrize(
    ("container", "version", "environment"),
    [
        ("huggingface-llm", "3.3.6", {"HF_MODEL_ID": "a/b@main"}),
        ("huggingface-llm", "3.3.6", {**MODEL, "HF_MODEL_REVISION": "a b"}),
        ("huggingface-llm-neuronx", "0.3.0", {"HF_MODEL_ID": "a/b@main"}),
        ("djl-lmi", "0.36.0", {"HF_MODEL_ID": "a/b@main"}),
        ("djl-lmi", "0.36.0", {"OPTION_MODEL_ID": "org/my model"}),
        ("djl-lmi", "0.36.0", {**MODEL, "OPTION_REVISION": "a..b"}),
        ("djl-lmi", "0.36.0", {**MODEL, "OPTION_TOKENIZER": "a/b:latest"}),
        ("vllm-server", "2.6", {"HF_MODEL_ID": "a\\b"}),
        ("vllm-server", "2.6", {"SM_VLLM_MODEL": "a/b@main"}),
        ("vllm-server", "2.6", {**MODEL, "SM_VLLM_REVISION": "a b"}),
        ("vllm-server", "2.6", {**MODEL, "SM_VLLM_TOKENIZER": "a/b.git"}),
        ("vllm-server", "2.6", {**MODEL, "SM_VLLM_TOKENIZER_REV": "@main"}),
        ("sglang-server", "1.4", {"SM_SGLANG_MODEL_PATH": "org/"}),
        ("sglang-server", "1.4", {"SM_SGLANG_MODEL_PATH": "a/b:latest"}),
        ("llama-cpp", "1.0.1", {"SM_LLAMA_CPP_HF_REPO": "a/b GGUF"}),
        ("tei", "1.8.2", {"HF_MODEL_ID": "a/b@main"}),
        ("tei", "1.8.2", {**MODEL, "HF_MODEL_REVISION": "a b"}),
    ],
)
def test_fails_if_the_hub_can_have_nothing_of_that_name(
    container: str, version: str, environment: dict[str, str]
) -> None:
    """
    As of a HuggingFaceModel, and by the variable that says it.
    """
    name = [*environment][-1]
    found = check_environment(
        environment, container=container, version=version, accelerators=4
    )

    assert [one.message.split()[0] for one in found if one.code == "LLM791"] == [name]


@pytest.mark.parametrize(
    ("container", "version", "environment"),
    [
        ("huggingface-llm", "3.3.6", {"HF_MODEL_ID": "/opt/ml/model/my model@1"}),
        ("djl-lmi", "0.36.0", {"HF_MODEL_ID": "s3://bucket/a b@c/"}),
        ("djl-lmi", "0.36.0", {"OPTION_MODEL_ID": "./a b"}),
        ("djl-lmi", "0.36.0", {"OPTION_MODEL_ID": "parts/of the/folder"}),
        ("djl-lmi", "0.36.0", {**MODEL, "OPTION_REVISION": "refs/pr/1"}),
        ("djl-lmi", "0.36.0", {"HF_MODEL_ID": "${Token[TOKEN.12]}"}),
        ("vllm-server", "2.6", {"SM_VLLM_MODEL": "org/name-GGUF:Q4_K_M"}),
        ("vllm-server", "2.6", {**MODEL, "SM_VLLM_TOKENIZER": "/opt/ml/model/a@b"}),
        ("vllm-server", "2.6", {**MODEL, "SM_VLLM_REVISION": ""}),
        ("llama-cpp", "1.0.1", {"SM_LLAMA_CPP_HF_REPO": "a/b-GGUF:latest"}),
    ],
)
def test_a_path_an_address_and_what_the_hub_can_have_are_no_wrong_names(
    container: str, version: str, environment: dict[str, str]
) -> None:
    """
    In the image or its folder, or on S3; llama.cpp takes any type behind a colon.
    """
    assert "LLM791" not in codes(environment, container, version)


def test_the_models_class_decides_as_in_a_file() -> None:
    """
    By name or by config.json; heads are divided by the degree.
    """
    environment = {**MODEL, "OPTION_TENSOR_PARALLEL_DEGREE": "4"}
    config = {"architectures": ["LlamaForCausalLM"], "num_attention_heads": 30}
    found = check_environment(
        environment,
        container="djl-lmi",
        version="0.36.0",
        accelerators=4,
        architecture=config,
    )

    assert [finding.code for finding in found] == ["LLM156"]


def test_the_catalogue_knows_the_model_that_is_named() -> None:
    """
    28 heads are not for eight devices; of another model nothing is known.
    """
    known = {"HF_MODEL_ID": "Qwen/Qwen2.5-7B-Instruct", "SM_NUM_GPUS": "8"}
    found = [
        finding.code
        for environment in (known, {**known, **MODEL}, {**known, "SM_NUM_GPUS": "4"})
        for finding in check_environment(
            environment, container="djl-lmi", version="0.36.0", accelerators=8
        )
    ]

    assert found == ["LLM156"]


@pytest.mark.parametrize(
    ("container", "hint"), [("djl-lm", "; did you mean djl-lmi?"), ("?", "got '?'")]
)
def test_fails_if_there_is_no_such_container(container: str, hint: str) -> None:
    """
    The message names those there are, and the nearest.
    """
    with pytest.raises(ValueError, match="container must be djl-tensorrtllm") as raised:
        check_environment({}, container=container, version="1", accelerators=None)

    assert str(raised.value).endswith(hint)


def test_an_image_of_ones_own_is_not_checked() -> None:
    """
    Neither it nor what is added.
    """
    own = "111111111111.dkr.ecr.eu-west-1.amazonaws.com/team:1"
    container = Container(image=ImageRelease.from_uri(own))

    assert container_findings(container, accelerators=1) == []
    assert added_findings({"OPTION_DTYPE": "?"}, container, accelerators=1) == []


def test_a_file_that_cannot_be_read_is_another_checks() -> None:
    """
    What the variables say is checked all the same.
    """
    container = Container(
        image=LMI,
        files={"serving.properties": b"a=\\u12", "model.py": b""},
        environment={"OPTION_TENSOR_PARALLEL_DEGREE": "8"},
    )

    (found,) = container_findings(container, accelerators=4)

    assert found.code == "LLM154"


NAMES = sorted({variable.name for variable in lmi_variables()})
SOME = st.sampled_from((*NAMES, *sorted(server_settings()), "OPTION_ROLLING_BATCH"))
ANY_NAME = SOME | st.text() | st.text().map("OPTION_{}".format)
ANY_VALUE = st.text() | st.integers().map(str) | st.sampled_from(("max", "auto"))


@given(
    st.dictionaries(ANY_NAME, ANY_VALUE),
    st.sampled_from(CHECKED_FAMILIES),
    st.none() | st.integers(1 - 2**64, 2**64 - 1),
)
def test_no_environment_breaks_the_checks(
    environment: dict[str, str], container: str, accelerators: int | None
) -> None:
    """
    Whatever it is, there is a list of findings, at each version.
    """
    for version in image_versions(container):
        found = check_environment(
            environment,
            container=container,
            version=version,
            accelerators=accelerators,
        )

        assert all(one.message and one.code in rules() for one in found)


def test_tgis_shards_divide_the_heads_of_the_model_that_is_told() -> None:
    """
    As the catalogue's do.
    """

    def shards(number: str, architecture: Mapping[str, object] | None) -> list[str]:
        return [
            finding.code
            for finding in check_environment(
                {"HF_MODEL_ID": "org/unknown", "NUM_SHARD": number},
                container="huggingface-llm",
                version="3.3.6",
                accelerators=8,
                architecture=architecture,
            )
        ]

    heads = {"num_attention_heads": 28}
    assert shards("4", heads) == []
    assert shards("8", heads) == ["LLM177"]
    assert shards("8", None) == []


def told_of_eight_devices(**variables: str) -> list[str]:
    """
    Return the codes for a model with 28 heads on eight devices, with no degree written.
    """
    found = check_environment(
        {"OPTION_TGI_COMPAT": "True", **variables},
        container="djl-lmi",
        version="0.28.0",
        accelerators=8,
        architecture=ModelArchitecture.of("Qwen/Qwen2-7B-Instruct"),
    )
    return [finding.code for finding in errors_of(found)]


@pytest.mark.parametrize("variables", [{}, {"HF_MODEL_ID": "/opt/ml/model"}])
def test_a_folder_of_weights_may_say_over_how_many_it_is_split(
    variables: dict[str, str],
) -> None:
    """
    As SageMaker JumpStart serves Qwen2 7B on ml.g5.48xlarge: a serving.properties
    beside the weights wins over all variables, and nobody here sees it.
    """
    assert told_of_eight_devices(**variables) == []


def test_weights_from_the_hub_have_no_file_beside_them() -> None:
    """
    The container then splits them over all devices, which 28 heads do not allow.
    """
    assert told_of_eight_devices(HF_MODEL_ID="Qwen/Qwen2-7B-Instruct") == ["LLM156"]


def test_a_degree_that_is_written_is_checked_in_a_folder_too() -> None:
    """
    A file that says another would be told of where it is seen.
    """
    assert told_of_eight_devices(OPTION_TENSOR_PARALLEL_DEGREE="8") == ["LLM156"]


@pytest.mark.parametrize(
    ("container", "version", "instance_type", "codes"),
    [
        ("vllm-server", "2.6", "ml.c7i.xlarge", ["LLM521"]),
        ("vllm-server", "2.6", "ml.inf2.xlarge", ["LLM127"]),
        ("vllm-server", "2.6", "ml.g5.xlarge", []),
        ("vllm-server", "2.6", "ml.z9.xlarge", ["LLM633"]),
        ("llama-cpp-arm64", "1.0.1", "ml.c7i.xlarge", ["LLM523"]),
        ("llama-cpp-cpu", "1.0.1", "ml.c7g.xlarge", ["LLM523"]),
        ("llama-cpp-arm64", "1.0.1", "ml.c7g.xlarge", []),
        # Told once, whoever finds it.
        ("tei", "1.9.3", "ml.p3.2xlarge", ["LLM518"]),
    ],
)
def test_what_an_engine_runs_on_is_checked(
    container: str, version: str, instance_type: str, codes: list[str]
) -> None:
    """
    Its processors and devices; of the driver nothing is known here.
    """
    environment = {
        "vllm": {"SM_VLLM_MODEL": "a/b"},
        "llama": {"SM_LLAMA_CPP_HF_REPO": "a/b-GGUF"},
        "tei": {"HF_MODEL_ID": "a/b"},
    }[container.partition("-")[0]]
    found = check_environment(
        environment,
        container=container,
        version=version,
        accelerators=None,
        instance_type=instance_type,
    )

    assert [finding.code for finding in found] == codes


@pytest.mark.parametrize(
    ("environment", "codes"),
    [
        ({"HF_TOKEN": "anything"}, ["LLM656"]),
        ({"HUGGING_FACE_HUB_TOKEN": "anything"}, ["LLM656"]),
        ({"HF_TOKEN": ""}, []),
        ({"HF_TOKEN": "{{resolve:secretsmanager:it}}"}, []),
        ({"HF_TOKEN": "${Token[TOKEN.12]}"}, []),
        ({"ANY_NAME": "hf" + "_" + "a" * 34}, ["LLM656"]),
        ({"ANY_NAME": "anything"}, []),
    ],
)
@pytest.mark.parametrize("container", ["vllm-server", "djl-lmi", "huggingface-llm"])
def test_a_credential_in_plain_text_is_told(
    container: str, environment: dict[str, str], codes: list[str]
) -> None:
    """
    The container starts with it: it is a warning, which does not repeat it.
    """
    version = {"vllm-server": "2.6", "djl-lmi": "0.36.0"}.get(container, "3.3.6")
    told = check_environment(
        {"HF_MODEL_ID": "gpt2", **environment},
        container=container,
        version=version,
        accelerators=1,
    )
    shown = [one for one in told if one.code == "LLM656"]

    assert [one.code for one in shown] == codes
    assert all("anything" not in str(one) for one in shown)
    assert all(one.severity == "warning" for one in shown)


@pytest.mark.parametrize(
    ("instance_type", "codes"),
    [
        ("ml.g6.12xlarge", []),
        ("ml.g6.12xlage", ["LLM633"]),
        ("", ["LLM633"]),
        ("${Token[TOKEN.12]}", []),
        (None, []),
    ],
)
@pytest.mark.parametrize("container", ["vllm-server", "djl-lmi", "huggingface-llm"])
def test_an_unknown_instance_type_is_told(
    container: str, instance_type: str | None, codes: list[str]
) -> None:
    """
    What depends on it is not checked.
    """
    version = {"vllm-server": "2.6", "djl-lmi": "0.36.0"}.get(container, "3.3.6")
    told = check_environment(
        {"HF_MODEL_ID": "gpt2"},
        container=container,
        version=version,
        accelerators=None,
        instance_type=instance_type,
    )

    assert [one.code for one in told if one.code == "LLM633"] == codes


def test_a_version_that_moves_is_told() -> None:
    """
    As of a template's image.
    """

    def told(version: str) -> list[str]:
        found = check_environment(
            MODEL, container="vllm-server", version=version, accelerators=1
        )
        return [one.code for one in found]

    assert told("2") == ["LLM627"]
    assert told("2.6") == []


@pytest.mark.parametrize("name", CHECKED_FAMILIES)
def test_every_family_is_described(name: str) -> None:
    """
    The registry answers for each, and the catalogue has its images.
    """
    image = find_image(name, image_versions(name)[-1])
    container = Container(image=image, environment=MODEL)

    assert isinstance(FAMILIES[name](), Family)
    assert dialect_of(container, MODEL).schema in {"lmi", "tgi", "openai", "chat", None}


def test_of_an_image_beside_the_families_nothing_is_known() -> None:
    """
    Neither its adapters nor how it wants requests.
    """
    image = find_image("djl-fastertransformer", "0.24.0")
    container = Container(image=image)

    assert adapter_host(container, {}) is None
    assert dialect_of(container, {}) == Dialect()
