"""
TEI: each parameter as its variable, the image by the devices, and what is refused.
"""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import App, Aws, Environment, Stack, Token
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk.assertions import Template

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InstanceType,
    LlmEndpoint,
    Network,
    S3Model,
    TextEmbeddings,
    Vllm,
)
from cdk_sagemaker_llm.architectures import find_architecture
from cdk_sagemaker_llm.demand import Assumptions, Demand
from cdk_sagemaker_llm.serving.engines.engine_environment import engine_findings

MODEL = HuggingFaceModel("BAAI/bge-small-en-v1.5")
CPU = InstanceType.of("ml.c6i.2xlarge", accelerators=0, vcpus=8, memory_gib=16)
GPU_IMAGE = "tei:2.0.1-tei1.9.3-gpu-py310-cu129-ubuntu24.04"
CPU_IMAGE = "tei-cpu:2.0.1-tei1.9.3-cpu-py310-ubuntu24.04"


def variables(serving: TextEmbeddings, **given: Any) -> dict[str, str]:  # noqa: ANN401 - what prepare takes
    """
    Return the container's variables; there is nothing to find.
    """
    prepared = serving.prepare(given.get("model", MODEL), given.get("devices", 1))
    assert prepared.findings == ()
    assert prepared.container is not None
    return dict(prepared.container.environment)


def codes(serving: TextEmbeddings, model: Any = MODEL, devices: Any = 1) -> list[str]:  # noqa: ANN401 - as above
    """
    Return the codes of what is found.
    """
    return [one.code for one in serving.prepare(model, devices).findings]


def said(serving: TextEmbeddings) -> list[str]:
    """
    Return what is found, in words.
    """
    return [str(one) for one in serving.prepare(MODEL, 1).findings]


@pytest.mark.parametrize(
    ("devices", "image"),
    [(0, CPU_IMAGE), (1, GPU_IMAGE), (4, GPU_IMAGE), (None, GPU_IMAGE)],
)
def test_the_image_follows_the_devices(devices: int | None, image: str) -> None:
    """
    Without a GPU it is that for CPUs; where nothing is known, that for GPUs.
    """
    container = TextEmbeddings().prepare(MODEL, devices).container
    assert container is not None
    assert container.image.reference == image


def test_the_devices_may_be_decided_late() -> None:
    """
    By a function, which is asked once the demand is known.
    """
    asked: list[tuple[str, str | None]] = []

    def decide(demand: Demand | None) -> int:
        assert demand is not None
        asked.append((demand.engine, demand.engine_version))
        return 0

    container = TextEmbeddings().prepare(MODEL, decide).container

    assert container is not None
    assert container.image.reference == CPU_IMAGE
    assert asked == [("tei", None)]


@pytest.mark.parametrize(
    ("serving", "tokens", "bits"),
    [
        (TextEmbeddings(), None, None),
        (TextEmbeddings(max_batch_tokens=1, dtype="float16"), 1, 16),
        (TextEmbeddings(max_batch_tokens=0, dtype="float32"), None, 32),
    ],
)
def test_what_it_asks_of_the_memory(
    serving: TextEmbeddings, tokens: int | None, bits: int | None
) -> None:
    """
    Of one device, however many there are.
    """
    asked = serving.prepare(MODEL, 4).demand

    assert asked == Demand(
        architecture=find_architecture("BAAI/bge-small-en-v1.5"),
        assumptions=Assumptions(max_num_batched_tokens=tokens),
        weight_bits=bits,
        tensor_parallel_degree=1,
        engine="tei",
        engine_version="1.9.3",
    )


def test_every_parameter() -> None:
    """
    Each is the variable of its name.
    """
    serving = TextEmbeddings(
        "1.9.3",
        max_concurrent_requests=64,
        max_batch_tokens=32768,
        max_batch_requests=16,
        max_client_batch_size=128,
        payload_limit=5_000_000,
        dtype="float16",
        pooling="last-token",
        auto_truncate=False,
        task="sentence-similarity",
        default_prompt="query: ",
        dense_path="2_Dense_1024",
        tokenization_workers=4,
        options={"JSON_OUTPUT": True, "otlp-endpoint": "http://localhost:4317"},
        unchecked_options={"new_option": "x"},
        environment={"HF_HUB_OFFLINE": "1"},
    )

    assert variables(serving) == {
        "HF_HUB_OFFLINE": "1",
        "HF_MODEL_ID": "BAAI/bge-small-en-v1.5",
        "MAX_CONCURRENT_REQUESTS": "64",
        "MAX_BATCH_TOKENS": "32768",
        "MAX_BATCH_REQUESTS": "16",
        "MAX_CLIENT_BATCH_SIZE": "128",
        "PAYLOAD_LIMIT": "5000000",
        "DTYPE": "float16",
        "POOLING": "last-token",
        "AUTO_TRUNCATE": "false",
        "TASK": "sentence-similarity",
        "DEFAULT_PROMPT": "query: ",
        "DENSE_PATH": "2_Dense_1024",
        "TOKENIZATION_WORKERS": "4",
        "JSON_OUTPUT": "true",
        "OTLP_ENDPOINT": "http://localhost:4317",
        "NEW_OPTION": "x",
    }
    named = TextEmbeddings(default_prompt_name="query")
    assert variables(named)["DEFAULT_PROMPT_NAME"] == "query"


def test_the_model_is_named_for_the_entry_point() -> None:
    """
    On the Hub with its revision, on S3 by the folder.
    """
    pinned = HuggingFaceModel("a/b", revision="0123abc")
    staged = S3Model("s3://bucket/model/")

    assert variables(TextEmbeddings(), model=pinned) == {
        "HF_MODEL_ID": "a/b",
        "HF_MODEL_REVISION": "0123abc",
    }
    assert variables(TextEmbeddings(), model=staged) == {"HF_MODEL_ID": "/opt/ml/model"}
    container = TextEmbeddings().prepare(staged, 1).container
    assert container is not None
    assert container.weights_uri == "s3://bucket/model/"
    assert codes(TextEmbeddings(), model=None) == ["LLM112"]


@pytest.mark.parametrize(
    ("version", "variable"),
    [("1.6.0", "HF_API_TOKEN"), ("1.7.0", "HF_TOKEN"), ("1.9.3", "HF_TOKEN")],
)
def test_one_variable_holds_the_token(
    stack: Stack, version: str, variable: str
) -> None:
    """
    Older releases read another one, and newer ones refuse both together.
    """
    secret = secretsmanager.Secret.from_secret_name_v2(stack, "Token", "token")
    gated = HuggingFaceModel("google/gemma-small", token=secret)
    prepared = TextEmbeddings(version).prepare(gated, 1)

    assert prepared.findings == ()
    assert prepared.container is not None
    assert prepared.container.token_variables == (variable,)
    assert (
        codes(TextEmbeddings(version), HuggingFaceModel("google/gemma-small"))[0]
        == "LLM214"
    )


def test_a_gated_model_with_a_token_is_no_doubt(stack: Stack) -> None:
    """
    Of engines that take arguments it is the same.
    """
    secret = secretsmanager.Secret.from_secret_name_v2(stack, "Token", "token")
    gated = HuggingFaceModel("meta-llama/Llama-3.1-8B-Instruct", token=secret)
    assert Vllm().prepare(gated, 1).findings == ()


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"dtype": "bfloat16"}, ["LLM527"]),
        ({"options": {"dtype": ""}}, ["LLM527"]),
        ({"dtype": "Float16"}, ["LLM527"]),
        ({"pooling": "max"}, ["LLM527"]),
        ({"pooling": "last_token"}, ["LLM527"]),
        ({"max_batch_requests": -1}, ["LLM527"]),
        ({"environment": {"MAX_BATCH_REQUESTS": str(2**64)}}, ["LLM527"]),
        ({"max_batch_requests": 2**64 - 1}, []),
        ({"options": {"PROMETHEUS_PORT": 65536}}, ["LLM527"]),
        ({"options": {"PROMETHEUS_PORT": 65535}}, []),
        ({"options": {"json_output": "yes"}}, ["LLM527"]),
        ({"options": {"json_output": 1}}, ["LLM527"]),
        ({"default_prompt": "a", "default_prompt_name": "b"}, ["LLM527"]),
        ({"max_batch_tokens": 0}, ["LLM529"]),
        ({"max_batch_tokens": 1}, []),
        ({"max_concurrent_requests": 0}, ["LLM529"]),
        ({"payload_limit": 0}, ["LLM529"]),
        ({"options": {"api_key": "guess"}}, ["LLM529"]),
        ({"options": {"dtype": "float16"}, "dtype": "float16"}, ["LLM113"]),
        ({"options": {"HF_MODEL_ID": "c/d"}}, ["LLM113"]),
        ({"options": {"cors_allow_origin": ["a", "b"]}}, ["LLM114"]),
        ({"options": {"max_batch_token": 5}}, ["LLM626", "LLM228"]),
        ({"options": {"ünïcode": "ß"}}, ["LLM626"]),
        ({"environment": {"MAX_BATCH_TOKENS": " 5"}}, ["LLM527"]),
        ({"environment": {"AUTO_TRUNCATE": "1"}}, ["LLM527"]),
        ({"environment": {"AUTO_TRUNCATE": ""}}, ["LLM527"]),
        ({"environment": {"TASK": "embed"}}, ["LLM626"]),
        ({"unchecked_options": {"dtype": "fp8"}}, []),
        ({"version": "1.8.3"}, ["LLM102"]),
        ({"version": "1.6.0", "options": {"dense_path": "x"}}, ["LLM553"]),
        ({"version": "1.7.0", "dense_path": "x"}, ["LLM553"]),
        ({"version": "1.8.0", "dense_path": "x"}, []),
        ({"version": "1.2.3", "default_prompt": "x"}, ["LLM553"]),
        ({"version": "1.2.3", "pooling": "last-token"}, ["LLM527"]),
        ({"version": "1.4.0", "pooling": "last-token"}, []),
        ({"version": "1.4.0", "task": "sentence-similarity"}, ["LLM553"]),
        ({"version": "1.6.0", "task": "sentence-similarity"}, []),
        ({"version": "1.4.0", "environment": {"TASK": "embed"}}, ["LLM626", "LLM626"]),
        ({"version": "1.8.2", "options": {"served_model_name": "x"}}, ["LLM553"]),
    ],
)
def test_what_is_found(given: dict[str, Any], found: list[str]) -> None:
    """
    Both sides of each limit.
    """
    assert codes(TextEmbeddings(**given)) == found


def test_messages_call_things_what_the_user_does() -> None:
    """
    By the parameter, and with the nearest name of a wrong one.
    """
    (refused,) = said(TextEmbeddings(dtype="fp16"))
    assert "dtype must be float16 or float32, got 'fp16': TEI 1.9.3 does not" in refused
    unknown = said(TextEmbeddings(options={"max_batch_token": 5}))[0]
    assert unknown.endswith("did you mean max_batch_tokens?")
    (later,) = said(TextEmbeddings("1.7.0", dense_path="x"))
    assert "dense_path is no argument of TEI 1.7.0: it came with TEI 1.8.0" in later


@pytest.mark.parametrize(
    "given",
    [
        {"max_batch_tokens": "16384"},
        {"max_batch_tokens": 1.5},
        {"max_batch_tokens": float("nan")},
        {"auto_truncate": "true"},
        {"task": "embed"},
        {"dtype": 16},
        {"options": ["x"]},
        {"version": 1.9},
        {"environment": {"DTYPE": 1}},
    ],
)
def test_wrong_kinds(given: dict[str, Any]) -> None:
    """
    Each is refused where it is written.
    """
    with pytest.raises((TypeError, ValueError), match=next(iter(given))):
        TextEmbeddings(**given)


def test_what_only_deployment_knows() -> None:
    """
    Numbers are refused, and texts pass unchecked.
    """
    number: Any = Token.as_number({"Ref": "Tokens"})
    text = Aws.REGION

    assert codes(TextEmbeddings(max_batch_tokens=number)) == ["LLM114"]
    assert codes(TextEmbeddings(options={"payload_limit": number})) == ["LLM114"]
    assert variables(TextEmbeddings(dtype=text))["DTYPE"] == text


@pytest.mark.parametrize(
    ("version", "devices", "kind", "found"),
    [
        ("1.9.3", 1, "gpt_oss", ["LLM983"]),
        ("1.8.2", 1, "gemma3_text", []),
        ("1.8.0", 1, "gemma3_text", ["LLM983"]),
        ("1.9.3", 1, "qwen2", []),
        ("1.9.3", 0, "qwen2", ["LLM858"]),
        ("1.9.3", 0, "qwen3", []),
        ("1.9.3", 0, "bert", []),
    ],
)
def test_types_of_models(
    version: str, devices: int, kind: str, found: list[str]
) -> None:
    """
    Those that the release loads, and some on GPUs alone.
    """
    family = "tei" if devices else "tei-cpu"
    told = engine_findings(
        {"HF_MODEL_ID": "a/b"},
        family=family,
        version=version,
        accelerators=devices,
        architecture={"model_type": kind},
    )
    assert [one.code for one in told] == found


def test_texts_that_are_longer_than_a_batch() -> None:
    """
    From 1.9 on they are shortened, or else TEI does not start.
    """
    long = HuggingFaceModel("Qwen/Qwen3-Embedding-0.6B")

    def found(version: str = "1.9.3", **given: Any) -> list[str]:  # noqa: ANN401 - parameters
        return codes(TextEmbeddings(version, **given), long)

    assert found() == []
    assert found(auto_truncate=True) == []
    assert found(auto_truncate=False) == ["LLM635"]
    assert found(auto_truncate=False, max_batch_tokens=32767) == ["LLM635"]
    assert found(auto_truncate=False, max_batch_tokens=32768) == []
    assert found("1.8.2", auto_truncate=False) == []
    short = TextEmbeddings(auto_truncate=False)
    assert codes(short, HuggingFaceModel("BAAI/bge-m3")) == []


def _image(stack: Stack, **given: Any) -> Any:  # noqa: ANN401 - what the pattern takes
    LlmEndpoint(stack, "Endpoint", model=MODEL, serving=TextEmbeddings(), **given)
    template = Template.from_stack(stack)
    (model,) = template.find_resources("AWS::SageMaker::Model").values()
    return model["Properties"]["PrimaryContainer"]["Image"], template


def _in(region: str | None) -> Stack:
    where = Environment(account="111111111111", region=region) if region else None
    return Stack(App(), "Stack", env=where)


@pytest.mark.parametrize(
    ("region", "hardware", "image"),
    [
        (
            "us-east-1",
            "ml.g5.xlarge",
            f"683313688378.dkr.ecr.us-east-1.amazonaws.com/{GPU_IMAGE}",
        ),
        (
            "eu-west-1",
            CPU,
            f"141502667606.dkr.ecr.eu-west-1.amazonaws.com/{CPU_IMAGE}",
        ),
        (
            "cn-north-1",
            "ml.g5.xlarge",
            f"450853457545.dkr.ecr.cn-north-1.amazonaws.com.cn/{GPU_IMAGE}",
        ),
    ],
)
def test_the_registry_is_of_teis_own_account(
    region: str, hardware: str | InstanceType, image: str
) -> None:
    """
    Another one in each region than the other engines'.
    """
    assert _image(_in(region), instance_type=hardware)[0] == image


def test_a_stack_without_a_region_has_a_table_of_them() -> None:
    """
    Of the regions that have TEI, and its accounts.
    """
    _, template = _image(_in(None), instance_type="ml.g5.xlarge")
    (table,) = template.to_json()["Mappings"].values()

    assert table["us-east-1"] == {"account": "683313688378"}
    assert table["eu-west-1"] == {"account": "141502667606"}
    assert len(table) == 35
    assert "mx-central-1" not in table


def test_a_region_without_tei() -> None:
    """
    It is refused, with a way out.
    """
    with pytest.raises(
        ValueError,
        match="image tei 1.9.3 is not listed in mx-central-1; no version of tei is "
        "listed there: use another container",
    ):
        _image(_in("mx-central-1"), instance_type="ml.g5.xlarge")


@pytest.mark.parametrize(
    ("hardware", "capability"),
    [("ml.p3.2xlarge", "V100 has 7.0"), ("ml.p6-b300.48xlarge", "B300 has 10.3")],
)
def test_gpus_without_a_program(hardware: str, capability: str) -> None:
    """
    The container would end at once.
    """
    with pytest.raises(ValueError, match=f"LLM518 .*, and {capability}"):
        _image(_in("us-east-1"), instance_type=hardware)


def test_isolation_and_the_hub(stack: Stack) -> None:
    """
    Without network the weights come from S3.
    """

    def define(model: HuggingFaceModel | S3Model, name: str) -> None:
        LlmEndpoint(
            stack,
            name,
            model=model,
            serving=TextEmbeddings(),
            instance_type="ml.g5.xlarge",
            network=Network(isolated=True),
        )

    with pytest.raises(ValueError, match="LLM119 an isolated network"):
        define(MODEL, "Hub")
    define(S3Model("s3://bucket/model/"), "Staged")

    Template.from_stack(stack).has_resource_properties(
        "AWS::SageMaker::Model", {"EnableNetworkIsolation": True}
    )


@pytest.mark.parametrize("family", ["tei", "tei-cpu"])
def test_isolated_containers_reach_no_hub(family: str) -> None:
    """
    What is found of a template, with weights from the Hub and from S3.
    """

    def found(model: str) -> list[str]:
        told = engine_findings(
            {"HF_MODEL_ID": model},
            family=family,
            version="1.9.3",
            accelerators=1,
            network_isolation=True,
        )
        return [one.code for one in told]

    assert found("a/b") == ["LLM514"]
    assert found("/opt/ml/model") == []


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("HF_TOKEN", "set HF_API_TOKEN"), ("DENSE_PATH", "take a newer version")],
)
def test_a_variable_that_came_later_has_a_way_out(name: str, remedy: str) -> None:
    """
    A token has an older name.
    """
    told = {"HF_MODEL_ID": "BAAI/bge-small-en-v1.5", name: "x"}
    found = engine_findings(told, family="tei", version="1.2.3", accelerators=1)

    assert [(one.code, one.remedy) for one in found] == [("LLM626", remedy)]
