"""
The typed backends: what each writes, and in whose words it complains.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm import (
    CustomContainer,
    DeepSpeed,
    HuggingFaceModel,
    LmiDist,
    LmiVllm,
    ModelArchitecture,
    NeuronX,
    RopeScaling,
    S3Model,
    SmoothQuant,
    TensorRtLlm,
)
from cdk_sagemaker_llm.catalog.images import image_versions
from cdk_sagemaker_llm.catalog.lmi import LmiVersion
from cdk_sagemaker_llm.findings import errors_of
from cdk_sagemaker_llm.serving.lmi.base import LmiServing
from tests.unit.serving.answers import container_of, findings_of

# What every backend runs at every version.
MODEL = HuggingFaceModel("org/llama", architecture="LlamaForCausalLM")
URI = "111111111111.dkr.ecr.eu-west-1.amazonaws.com/team/vllm"


def lines(serving: LmiServing) -> list[str]:
    """
    Return the serving.properties without the lines every backend has.
    """
    files = container_of(serving, MODEL, 8).files
    text = files["serving.properties"].decode().splitlines()
    common = ("option.model_id=", "option.model_loading_timeout=1800")
    return [line for line in text if not line.startswith(common)]


def codes(serving: LmiServing) -> list[str]:
    """
    Return the codes of the errors found for 8 devices.
    """
    return [f.code for f in errors_of(findings_of(serving, MODEL, 8))]


@pytest.mark.parametrize(
    ("serving", "image", "expected"),
    [
        (LmiVllm(), "0.36.0-lmi27.0.0-cu130", ["engine=Python"]),
        (
            LmiVllm("0.31.0"),
            "0.31.0-lmi13.0.0-cu124",
            ["engine=Python", "option.rolling_batch=vllm"],
        ),
        (
            LmiVllm("0.27.0", enforce_eager=True),
            "0.27.0-deepspeed0.12.6-cu121",
            [
                "engine=Python",
                "option.rolling_batch=vllm",
                "option.enforce_eager=true",
            ],
        ),
        (
            LmiVllm(rope_scaling=RopeScaling("linear", 2)),
            "0.36.0-lmi27.0.0-cu130",
            [
                "engine=Python",
                (
                    'option.hf_overrides={"rope_scaling":'
                    '{"factor":2.0,"rope_type":"linear"}}'
                ),
            ],
        ),
        (
            LmiVllm("0.32.0", rope_scaling=RopeScaling("dynamic", 2)),
            "0.32.0-lmi14.0.0-cu126",
            [
                "engine=Python",
                "option.rolling_batch=vllm",
                'option.rope_scaling={"factor":2.0,"rope_type":"dynamic"}',
            ],
        ),
        (
            LmiVllm(speculative_config={"model": "a/b", "num_speculative_tokens": 5}),
            "0.36.0-lmi27.0.0-cu130",
            [
                "engine=Python",
                'option.speculative_config={"model":"a/b","num_speculative_tokens":5}',
            ],
        ),
        (
            LmiDist("0.27.0", tensor_parallel_degree=4),
            "0.27.0-deepspeed0.12.6-cu121",
            [
                "engine=MPI",
                "option.tensor_parallel_degree=4",
                "option.rolling_batch=lmi-dist",
            ],
        ),
        (
            LmiDist("0.28.0", speculative_draft_model="a/b", speculative_length=4),
            "0.28.0-lmi10.0.0-cu124",
            [
                "engine=MPI",
                "option.rolling_batch=lmi-dist",
                "option.speculative_draft_model=a/b",
                "option.speculative_length=4",
            ],
        ),
        (
            LmiDist("0.26.0", quantize="gptq"),
            "0.26.0-deepspeed0.12.6-cu121",
            ["engine=MPI", "option.rolling_batch=lmi-dist", "option.quantize=gptq"],
        ),
        (
            TensorRtLlm("0.26.0", rope_scaling=RopeScaling("dynamic", 2)),
            "0.26.0-tensorrtllm0.7.1-cu122",
            [
                "engine=MPI",
                "option.rolling_batch=auto",
                "option.rotary_scaling_type=dynamic",
                "option.rotary_scaling_factor=2.0",
            ],
        ),
        (
            TensorRtLlm(
                "0.27.0",
                smoothquant=SmoothQuant(alpha=0.7, per_token=True, per_channel=True),
            ),
            "0.27.0-tensorrtllm0.8.0-cu122",
            [
                "engine=MPI",
                "option.rolling_batch=auto",
                "option.quantize=smoothquant",
                "option.smoothquant_alpha=0.7",
                "option.smoothquant_per_token=true",
                "option.smoothquant_per_channel=true",
            ],
        ),
        (
            TensorRtLlm("0.28.0", quantize="awq", output_formatter="jsonlines"),
            "0.28.0-tensorrtllm0.9.0-cu122",
            [
                "engine=MPI",
                "option.rolling_batch=auto",
                "option.quantize=awq",
                "option.output_formatter=jsonlines",
            ],
        ),
        (
            DeepSpeed("0.26.0", smoothquant=SmoothQuant(alpha=0.5)),
            "0.26.0-deepspeed0.12.6-cu121",
            [
                "engine=DeepSpeed",
                "option.rolling_batch=deepspeed",
                "option.quantize=smoothquant",
                "option.smoothquant_alpha=0.5",
            ],
        ),
        (
            NeuronX(
                "0.26.0",
                tensor_parallel_degree=8,
                n_positions=4096,
                context_length_estimate=[512, 1024],
                group_query_attention="shard-over-heads",
            ),
            "0.26.0-neuronx-sdk2.16.0",
            [
                "engine=Python",
                "option.tensor_parallel_degree=8",
                "option.rolling_batch=auto",
                "option.n_positions=4096",
                "option.context_length_estimate=512,1024",
                "option.group_query_attention=shard-over-heads",
            ],
        ),
        (
            NeuronX("0.26.0", batch_size=4),
            "0.26.0-neuronx-sdk2.16.0",
            ["engine=Python", "option.rolling_batch=disable", "option.batch_size=4"],
        ),
    ],
    ids=lambda value: f"{type(value).__name__} {getattr(value, 'version', '')}",
)
def test_each_backend_writes_its_file_for_its_image(
    serving: LmiServing, image: str, expected: list[str]
) -> None:
    """
    The engine first, then what chooses the backend, then the options given.
    """
    assert codes(serving) == []
    assert lines(serving) == expected
    assert container_of(serving, MODEL, 8).image.tag == image


@pytest.mark.parametrize(
    "serving",
    [
        NeuronX(version, tensor_parallel_degree=2)
        if backend is NeuronX
        else backend(version)
        for backend, family in (
            (TensorRtLlm, "djl-tensorrtllm"),
            (LmiVllm, "djl-lmi"),
            (LmiDist, "djl-lmi"),
            (DeepSpeed, "djl-deepspeed"),
            (NeuronX, "djl-neuronx"),
        )
        for version in image_versions(family)
        if LmiVersion.parse(version).rows
        if backend is not LmiDist or LmiVersion.parse(version).before("0.33")
    ],
    ids=lambda value: f"{type(value).__name__} {getattr(value, 'version', '')}",
)
def test_each_backend_is_clean_at_every_version_that_has_it(
    serving: LmiServing,
) -> None:
    """
    What the class writes by itself is what that version wants.
    """
    found = findings_of(serving, MODEL, 8)

    # 0.38 is checked by the tables of 0.36.
    doubts = {"LLM223"} if serving.version == "0.38.0" else {"LLM201"}
    assert {f.code for f in found} <= doubts


@pytest.mark.parametrize(
    ("serving", "code", "message"),
    [
        (
            LmiVllm("0.26.0", enforce_eager=True),
            "LLM158",
            "enforce_eager has no effect in vllm at LMI 0.26",
        ),
        (
            LmiVllm("0.36.0", options={"option.max_modl_len": 1}),
            "LLM158",
            "option.max_modl_len is no option of vllm",
        ),
        (
            LmiDist("0.28.0", enable_lora=True, speculative_draft_model="a/b"),
            "LLM139",
            "enable_lora and speculative_draft_model exclude each other",
        ),
        (
            NeuronX("0.26.0", rolling_batch="auto", batch_size=4),
            "LLM143",
            "exclude each other",
        ),
        (
            TensorRtLlm("0.26.0", tensor_parallel_degree=16),
            "LLM154",
            "tensor_parallel_degree=16 needs 16 accelerators, and there are 8",
        ),
        (TensorRtLlm("0.26.0", precompiled=True), "LLM159", "loaded from S3"),
        (
            DeepSpeed("0.26.0", dtype="bf16", smoothquant=SmoothQuant()),
            "LLM142",
            "does not work with dtype=bf16",
        ),
        (DeepSpeed("0.28.0"), "LLM102", "djl-deepspeed has no version '0.28.0'"),
        (
            LmiVllm(unchecked_options={"engine": "MPI"}),
            "LLM113",
            "options repeats engine",
        ),
    ],
    ids=lambda value: f"{type(value).__name__} {getattr(value, 'version', '')}",
)
def test_fails_in_the_callers_words(
    serving: LmiServing, code: str, message: str
) -> None:
    """
    A parameter is called by its name, an option by its key.
    """
    (found,) = errors_of(findings_of(serving, MODEL, 8))

    assert found.code == code
    assert message in found.message
    assert not found.message.startswith("option.enforce_eager")


def test_fails_after_the_last_release_with_lmi_dist() -> None:
    """
    From 0.33 on the image runs vLLM under that name, and not with MPI.
    """
    found = errors_of(findings_of(LmiDist("0.33.0"), MODEL, 8))

    assert [f.code for f in found] == ["LLM131", "LLM134"]
    assert "runs vllm in djl-lmi 0.33, not lmi-dist" in found[1].message


@pytest.mark.parametrize(
    ("serving", "model_id", "expected"),
    [
        (DeepSpeed("0.27.0"), "mistralai/Mistral-7B-v0.1", ["LLM175"]),
        (DeepSpeed("0.27.0"), "meta-llama/Llama-2-7b-hf", []),
        (DeepSpeed("0.27.0"), "someone/unheard-of", []),
        (NeuronX("0.26.0"), "mistralai/Mixtral-8x7B-v0.1", ["LLM175"]),
        (NeuronX("0.27.0"), "mistralai/Mixtral-8x7B-v0.1", []),
        (
            TensorRtLlm("0.30.0", rolling_batch="disable"),
            "mistralai/Mistral-7B-v0.1",
            ["LLM175"],
        ),
        (LmiVllm(tensor_parallel_degree=8), "Qwen/Qwen2.5-7B-Instruct", ["LLM156"]),
        (LmiVllm(tensor_parallel_degree="max"), "Qwen/Qwen2.5-7B-Instruct", ["LLM156"]),
        (LmiVllm(tensor_parallel_degree=4), "Qwen/Qwen2.5-7B-Instruct", []),
        (LmiVllm(tensor_parallel_degree=16), "mistralai/Mistral-7B-v0.1", ["LLM154"]),
        (
            LmiDist("0.30.0", tensor_parallel_degree=8),
            "Qwen/Qwen2.5-7B-Instruct",
            ["LLM156"],
        ),
        (
            TensorRtLlm("0.30.0", tensor_parallel_degree=8),
            "Qwen/Qwen2.5-7B-Instruct",
            ["LLM156"],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_the_catalogue_knows_of_the_model_is_checked(
    serving: LmiServing, model_id: str, expected: list[str]
) -> None:
    """
    By its id, without anything being said of it; each copy has 8 devices.
    """
    found = errors_of(findings_of(serving, HuggingFaceModel(model_id), 8))

    assert [f.code for f in found] == expected


def test_what_is_said_of_a_model_counts_before_the_catalogue() -> None:
    """
    It may have been changed under its name.
    """
    model = HuggingFaceModel(
        "mistralai/Mistral-7B-v0.1", architecture="LlamaForCausalLM"
    )

    assert errors_of(findings_of(DeepSpeed("0.27.0"), model, 8)) == []


def test_unchecked_options_are_the_way_past() -> None:
    """
    What the catalogue does not know yet is written as it is.
    """
    serving = LmiVllm(unchecked_options={"option.brand_new": "on"})

    assert codes(serving) == []
    assert "option.brand_new=on" in lines(serving)


@pytest.mark.parametrize(
    ("version", "architecture", "warned"),
    [
        ("0.25.0", "MistralForCausalLM", True),
        ("0.26.0", "MistralForCausalLM", False),
        ("0.26.0", "GemmaForCausalLM", True),
        ("0.28.0", "GemmaForCausalLM", False),
        ("0.32.0", "DbrxForCausalLM", True),
        ("0.33.0", "DbrxForCausalLM", False),
    ],
)
def test_warns_if_the_image_does_not_compile_the_model(
    version: str, architecture: str, *, warned: bool
) -> None:
    """
    Such a model needs an engine that was compiled ahead of time.
    """
    model = HuggingFaceModel("org/model", architecture=architecture)
    found = findings_of(TensorRtLlm(version), model)

    assert ("LLM219" in {f.code for f in found}) == warned


def test_an_engine_compiled_ahead_of_time_is_loaded_from_s3() -> None:
    """
    Its prefix is the model; nothing is compiled, so that any architecture goes.
    """
    serving = TensorRtLlm("0.26.0", precompiled=True)
    model = S3Model("s3://bucket/engines/", architecture="GemmaForCausalLM")
    found = findings_of(serving, model, 8)
    text = container_of(serving, model, 8).files["serving.properties"]

    assert {f.code for f in found} == {"LLM201"}
    assert b"option.model_id=s3://bucket/engines/\n" in text


def test_attention_heads_are_divided() -> None:
    """
    The number of them is enough to know.
    """
    known = ModelArchitecture.custom(
        parameters=13 * 10**9, kv_bytes_per_token=2**19, num_attention_heads=40
    )
    model = HuggingFaceModel("org/model", architecture=known)
    (found,) = errors_of(findings_of(LmiVllm(tensor_parallel_degree=16), model, 16))

    assert found.code == "LLM156"
    assert "tensor_parallel_degree must divide the 40 attention heads" in found.message


@pytest.mark.parametrize("factor", [1.0, 0.5, float("nan")])
def test_fails_if_rope_is_not_stretched(factor: float) -> None:
    """
    Both engines want a factor above one.
    """
    with pytest.raises(ValueError, match="factor must be above 1"):
        RopeScaling("linear", factor)


@pytest.mark.parametrize("alpha", [-0.1, 1.1])
def test_fails_if_alpha_is_outside_its_range(alpha: float) -> None:
    """
    It is a share.
    """
    with pytest.raises(ValueError, match="alpha must be from 0 to 1"):
        SmoothQuant(alpha=alpha)


@pytest.mark.parametrize(
    ("suffix", "expected"),
    [
        (":1.0", f"{URI}:1.0"),
        ("", f"{URI}:latest"),
        ("@sha256:" + "a" * 64, f"{URI}@sha256:" + "a" * 64),
    ],
)
def test_a_container_of_ones_own_runs_by_its_uri(suffix: str, expected: str) -> None:
    """
    Tag or digest, in whatever region the registry is.
    """
    serving = CustomContainer.from_uri(URI + suffix, environment={"X": "1"})
    container = container_of(serving, MODEL, 1)

    assert container.image.uri("us-east-1") == expected
    assert container.environment == {"HF_MODEL_ID": MODEL.model_id, "X": "1"}
    assert findings_of(serving, MODEL) == []


def test_weights_on_s3_are_put_into_a_container_of_ones_own() -> None:
    """
    SageMaker itself downloads the prefix.
    """
    container = container_of(
        CustomContainer.from_uri(URI), S3Model("s3://bucket/p/"), 1
    )

    assert container.weights_uri == "s3://bucket/p/"
    assert container.environment == {}


@pytest.mark.parametrize("uri", ["vllm/vllm-openai:latest", "ghcr.io/a/b:1", ""])
def test_fails_if_an_image_is_not_in_ecr(uri: str) -> None:
    """
    SageMaker pulls from nowhere else without further ado.
    """
    with pytest.raises(ValueError, match=r"uri must be an image in Amazon ECR"):
        CustomContainer.from_uri(uri)


@pytest.mark.parametrize(
    ("model_id", "warned"),
    [("meta-llama/Llama-2-13b-chat-hf", True), ("Qwen/Qwen2.5-7B", False)],
)
def test_warns_if_a_gated_model_has_no_token(model_id: str, *, warned: bool) -> None:
    """
    The download fails after minutes, on instances that are paid for.
    """
    found = findings_of(LmiVllm(), HuggingFaceModel(model_id))

    assert ("LLM214" in {f.code for f in found}) == warned
