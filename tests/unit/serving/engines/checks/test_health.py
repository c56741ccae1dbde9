"""
What a container starts with and never answers SageMaker by, and what is like it and
does.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cdk_sagemaker_llm.findings import Finding, Severity
from cdk_sagemaker_llm.serving import check_environment
from cdk_sagemaker_llm.serving.engines.engine_environment import engine_findings

VLLM, SGLANG = ("vllm-server", "2.6"), ("sglang-server", "1.4")
NEVER, OFFLINE = "LLM535", "LLM640"
HUB = {"HF_MODEL_ID": "org/model"}


def found(
    image: tuple[str, str], environment: Mapping[str, str], code: str
) -> list[Finding]:
    """
    Return what is found of one rule in an environment that names a model of the Hub.
    """
    name = "SM_SGLANG_MODEL_PATH" if image == SGLANG else "HF_MODEL_ID"
    family, version = image
    findings = engine_findings(
        {name: "org/model", **environment},
        family=family,
        version=version,
        accelerators=1,
        model_data=(),
    )
    return [one for one in findings if one.code == code]


@pytest.mark.parametrize(
    ("image", "environment"),
    [
        (SGLANG, {"SM_SGLANG_API_KEY": "a"}),
        (SGLANG, {"SM_SGLANG_DISAGGREGATION_MODE": "prefill"}),
        (SGLANG, {"SM_SGLANG_DISAGGREGATION_MODE": "decode"}),
        (SGLANG, {"SM_SGLANG_IS_EMBEDDING": "true"}),
        (SGLANG, {"SM_SGLANG_NNODES": "2"}),
        (SGLANG, {"SM_SGLANG_SSL_CERTFILE": "/opt/ml/model/cert.pem"}),
        (VLLM, {"SM_VLLM_SSL_KEYFILE": "/opt/ml/model/key.pem"}),
        (VLLM, {"SM_VLLM_UDS": "/opt/ml/vllm.sock"}),
        (VLLM, {"SM_VLLM_NNODES": "2"}),
    ],
    ids=str,
)
def test_what_is_never_healthy_is_an_error(
    image: tuple[str, str], environment: Mapping[str, str]
) -> None:
    """
    It names the variable, and the way out.
    """
    (finding,) = found(image, environment, NEVER)

    assert finding.severity is Severity.ERROR
    assert finding.message.startswith(next(iter(environment)))
    assert finding.remedy


@pytest.mark.parametrize(
    ("image", "environment"),
    [
        (SGLANG, {"SM_SGLANG_DISAGGREGATION_MODE": "null"}),
        (SGLANG, {"SM_SGLANG_IS_EMBEDDING": "false"}),
        (SGLANG, {"SM_SGLANG_NNODES": "1"}),
        # Its middleware guards /v1 alone.
        (VLLM, {"SM_VLLM_API_KEY": "a"}),
        (VLLM, {"SM_VLLM_NNODES": "1"}),
    ],
    ids=str,
)
def test_what_answers_is_none(
    image: tuple[str, str], environment: Mapping[str, str]
) -> None:
    """
    The same variables with what they have by themselves are fine.
    """
    assert found(image, environment, NEVER) == []


@pytest.mark.parametrize(
    ("version", "environment", "codes"),
    [
        ("2.3.1", {"API_KEY": "a"}, [NEVER]),
        ("2.2.0", {"API_KEY": "a"}, []),
        ("3.3.6", {"HOSTNAME": "127.0.0.1"}, [NEVER]),
        ("3.3.6", {"HOSTNAME": "::1"}, [NEVER]),
        ("3.3.6", {"HOSTNAME": "0.0.0.0"}, []),  # noqa: S104 - what a container listens on
        # The router takes what is no address for 0.0.0.0.
        ("3.3.6", {"HOSTNAME": "ip-10-0-0-1.ec2.internal"}, []),
        ("3.3.6", {"NGROK": "true"}, [NEVER]),
        ("3.3.6", {"NGROK": "false"}, []),
        ("3.3.6", {"HF_HUB_OFFLINE": "1"}, [OFFLINE]),
        *(("3.3.6", {"HF_HUB_OFFLINE": on}, [OFFLINE]) for on in ("on", "Yes", "true")),
        ("3.3.6", {"HF_HUB_OFFLINE": "0"}, []),
        ("3.3.6", {"LORA_ADAPTERS": "org/a,b=/opt/ml/model/b@main"}, []),
        ("3.3.6", {"LORA_ADAPTERS": "a=b=c"}, ["LLM162"]),
        ("3.3.6", {"LORA_ADAPTERS": "a,"}, ["LLM162"]),
        ("2.2.0", {"LORA_ADAPTERS": "a,"}, []),
        ("3.3.6", {"ATTENTION": "paged"}, []),
        ("3.3.6", {"ATTENTION": "flash"}, ["LLM162"]),
        ("3.3.6", {"OPTION_TENSOR_PARALLEL_DEGREE": "2"}, ["LLM228"]),
    ],
    ids=str,
)
def test_tgi_is_held_to_the_same(
    version: str, environment: Mapping[str, str], codes: list[str]
) -> None:
    """
    Each version as its launcher, router and server were read.
    """
    findings = check_environment(
        {**HUB, **environment},
        container="huggingface-llm",
        version=version,
        accelerators=None,
    )

    watched = {NEVER, OFFLINE, "LLM162", "LLM228"}
    assert [one.code for one in findings if one.code in watched] == codes


@pytest.mark.parametrize(
    ("environment", "codes"),
    [
        ({"HF_HUB_OFFLINE": "1"}, [OFFLINE]),
        ({"TRANSFORMERS_OFFLINE": "yes"}, [OFFLINE]),
        ({"HF_HUB_OFFLINE": "0"}, []),
        ({"HF_HUB_OFFLINE": "1", "HF_HOME": "/opt/ml/model/hub"}, []),
        ({"HF_HUB_OFFLINE": "1", "HF_MODEL_ID": "/opt/ml/model"}, []),
        ({"HF_HUB_OFFLINE": "1", "HF_MODEL_ID": "s3://bucket/weights/"}, []),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    ("container", "version"), [VLLM, ("djl-lmi", "0.36.0")], ids=str
)
def test_a_model_of_the_hub_is_not_fetched_offline(
    container: str, version: str, environment: Mapping[str, str], codes: list[str]
) -> None:
    """
    A doubt, for an image of one's own may have it in its cache.
    """
    findings = check_environment(
        {**HUB, **environment}, container=container, version=version, accelerators=1
    )

    assert [one.code for one in findings if one.code == OFFLINE] == codes


@pytest.mark.parametrize(
    ("name", "value", "codes"),
    [
        ("option_max_model_len", "4096", ["LLM228"]),
        ("OPTION_MAX_MODEL_LEN", "4096", []),
        ("ENABLE_CUDA_GRAPHS", "True", ["LLM642"]),
        ("ENABLE_CUDA_GRAPHS", "true", []),
        ("ENABLE_CUDA_GRAPHS", "false", []),
    ],
)
def test_variables_of_lmi_are_read_as_they_are_spelt(
    name: str, value: str, codes: list[str]
) -> None:
    """
    The prefix is looked for in capitals, and the switch for the word true.
    """
    findings = check_environment(
        {**HUB, name: value}, container="djl-lmi", version="0.30.0", accelerators=1
    )

    watched = {"LLM228", "LLM642"}
    assert [one.code for one in findings if one.code in watched] == codes


@pytest.mark.parametrize("tail", ["MODE", "PASS_CONFIG.ENABLE_NOOP"])
def test_a_dotted_name_is_no_variable_of_a_model(tail: str) -> None:
    """
    The engines take such arguments, and CreateModel refuses the variable's name.
    """
    (finding,) = check_environment(
        {**HUB, f"SM_VLLM_COMPILATION_CONFIG.{tail}": "3"},
        container="vllm-server",
        version="2.6",
        accelerators=1,
    )[:1]

    assert str(finding) == (
        "LLM106 a name in environment must be letters, digits and underscores, with no "
        f"digit first, got 'SM_VLLM_COMPILATION_CONFIG.{tail}'; write "
        "SM_VLLM_COMPILATION_CONFIG as JSON"
    )
