"""
Text Generation Inference's configuration.
"""

from __future__ import annotations

import pytest
from aws_cdk import SecretValue

from cdk_sagemaker_llm import HuggingFaceModel, S3Model, Tgi
from cdk_sagemaker_llm.findings import Severity
from tests.unit.serving.answers import container_of, findings_of

LLAMA = HuggingFaceModel("meta-llama/Llama-2-13b-chat-hf")


def test_the_reference_environment_is_written() -> None:
    """
    Reference deployment C, value for value.
    """
    serving = Tgi(
        "1.4.5",
        max_input_length=2048,
        max_total_tokens=4096,
        max_batch_total_tokens=16384,
    )

    container = container_of(serving, LLAMA, 1)

    assert container.environment == {
        "HF_MODEL_ID": "meta-llama/Llama-2-13b-chat-hf",
        "SM_NUM_GPUS": "1",
        "MAX_INPUT_LENGTH": "2048",
        "MAX_TOTAL_TOKENS": "4096",
        "MAX_BATCH_TOTAL_TOKENS": "16384",
    }
    assert container.files == {}
    assert errors(serving) == []
    assert container.token_variables == ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


@pytest.mark.parametrize("quantize", ["gptq", "awq"])
def test_quantization_is_passed_on(quantize: str) -> None:
    """
    The optional setting of reference deployment C.
    """
    container = container_of(Tgi("1.4.5", quantize=quantize), LLAMA, 1)

    assert container.environment["HF_MODEL_QUANTIZE"] == quantize


def test_the_gpus_of_a_copy_are_used_unless_said_otherwise() -> None:
    """
    ``num_gpus`` wins over what the copy reserves.
    """
    ours = container_of(Tgi("1.4.5"), LLAMA, 4).environment
    theirs = container_of(Tgi("1.4.5", num_gpus=2), LLAMA, 4).environment

    assert ours["SM_NUM_GPUS"] == "4"
    assert theirs["SM_NUM_GPUS"] == "2"


def test_a_revision_is_passed_on() -> None:
    """
    The same weights at every start.
    """
    model = HuggingFaceModel("a/b", revision="main")
    container = container_of(Tgi("1.4.5"), model, 1)

    assert container.environment["HF_MODEL_REVISION"] == "main"


def test_weights_on_s3_are_put_in_place_by_sagemaker() -> None:
    """
    TGI reads a local path, never an S3 address.
    """
    container = container_of(Tgi("1.4.5"), S3Model("s3://b/weights/"), 1)

    assert container.environment["HF_MODEL_ID"] == "/opt/ml/model"
    assert container.weights_uri == "s3://b/weights/"


@pytest.mark.parametrize(
    ("serving", "codes"),
    [
        (Tgi("1.4.6"), ["LLM102"]),
        (Tgi("1.4.5", max_input_length=0), ["LLM111"]),
        (Tgi("1.4.5", max_concurrent_requests=-1), ["LLM111"]),
        (Tgi("1.4.5", max_input_length=8, max_total_tokens=8), ["LLM115"]),
        (Tgi("3.3.6", max_total_tokens=8, max_batch_total_tokens=7), ["LLM116"]),
        (Tgi("1.4.5", max_input_length=5000, max_total_tokens=9000), ["LLM164"]),
        (Tgi("1.4.5", quantize="gtpq"), ["LLM162"]),
        (Tgi("1.4.5", kv_cache_dtype="fp8_e5m2"), ["LLM161"]),
        (Tgi("1.4.5", max_input_tokens=8), ["LLM161"]),
        (Tgi("2.0.0", max_input_tokens=8, max_input_length=8), ["LLM171"]),
        (Tgi("2.4.0", messages_api=True), ["LLM161"]),
        (Tgi("1.4.5", dtype="float16", quantize="awq"), ["LLM170"]),
        (Tgi("1.4.5", options={"MAX_BEST": 3}), ["LLM160"]),
        (Tgi("1.4.5", options={"--env": True}), ["LLM160"]),
        (Tgi("1.4.5", options={"MAX_BEST_OF": "many"}), ["LLM162"]),
        (Tgi("1.4.5", options={"CUDA_GRAPHS": [1, 2]}), ["LLM161"]),
        (Tgi("1.4.5", options={"MODEL_ID": "gpt2"}), ["LLM163"]),
        (Tgi("3.3.6", speculate=2, options={"SPECULATE": 3}), ["LLM163"]),
        (Tgi("1.4.5", speculate=2, unchecked_options={"SPECULATE": 3}), ["LLM163"]),
        (Tgi("3.3.6", options={"API_KEY": f"hf_{'a' * 34}"}), ["LLM107"]),
        (Tgi("3.3.6", unchecked_options={"HF_TOKEN": "secret"}), ["LLM107"]),
    ],
    ids=lambda value: value if isinstance(value, list) else "",
)
def test_fails_if_a_value_is_wrong(serving: Tgi, codes: list[str]) -> None:
    """
    The launcher would exit on it, or go on without.
    """
    assert errors(serving) == codes


def test_fails_if_more_gpus_are_asked_for_than_a_copy_has() -> None:
    """
    In the words of the parameter.
    """
    found = findings_of(Tgi("1.4.5", num_gpus=4), LLAMA, 2)

    assert "num_gpus must be at most the 2 accelerators of each copy, got 4" in [
        f.message for f in found
    ]


def test_fails_without_a_model() -> None:
    """
    The image exits without HF_MODEL_ID.
    """
    assert "LLM112" in [f.code for f in findings_of(Tgi("1.4.5"), None)]


def test_the_nearest_option_is_named() -> None:
    """
    With the way past for what something else reads.
    """
    found = findings_of(Tgi("1.4.5", options={"max_best_off": 3}), LLAMA)
    remedy = next(f.remedy for f in found if f.code == "LLM160")

    assert "MAX_BEST_OF" in remedy
    assert "unchecked_options" in remedy


def test_every_parameter_becomes_its_variable() -> None:
    """
    As TGI 2.3.1 reads them, the last version that knows all but one.
    """
    serving = Tgi(
        "2.3.1",
        max_input_length=1000,
        max_total_tokens=2000,
        max_batch_total_tokens=8000,
        max_batch_prefill_tokens=4000,
        max_batch_size=8,
        max_concurrent_requests=64,
        waiting_served_ratio=0.5,
        quantize="eetq",
        rope_scaling="dynamic",
        rope_factor=2.0,
        cuda_memory_fraction=0.9,
        cuda_graphs=[1, 2, 4],
        speculate=2,
        lora_adapters=["org/one", "org/two"],
        trust_remote_code=True,
        messages_api=True,
        options={"JSON_OUTPUT": True, "MAX_BEST_OF": 3},
        unchecked_options={"LOG_LEVEL": "debug"},
    )

    assert errors(serving) == []
    assert container_of(serving, LLAMA, 2).environment == {
        "HF_MODEL_ID": "meta-llama/Llama-2-13b-chat-hf",
        "HF_MODEL_QUANTIZE": "eetq",
        "HF_MODEL_TRUST_REMOTE_CODE": "true",
        "SM_NUM_GPUS": "2",
        "MAX_INPUT_TOKENS": "1000",
        "MAX_TOTAL_TOKENS": "2000",
        "MAX_BATCH_TOTAL_TOKENS": "8000",
        "MAX_BATCH_PREFILL_TOKENS": "4000",
        "MAX_BATCH_SIZE": "8",
        "MAX_CONCURRENT_REQUESTS": "64",
        "WAITING_SERVED_RATIO": "0.5",
        "ROPE_SCALING": "dynamic",
        "ROPE_FACTOR": "2.0",
        "CUDA_MEMORY_FRACTION": "0.9",
        "CUDA_GRAPHS": "1,2,4",
        "SPECULATE": "2",
        "LORA_ADAPTERS": "org/one,org/two",
        "MESSAGES_API_ENABLED": "true",
        "JSON_OUTPUT": "true",
        "MAX_BEST_OF": "3",
        "LOG_LEVEL": "debug",
    }


def test_no_cuda_graphs_are_asked_for_by_an_empty_list() -> None:
    """
    The launcher has a zero for that.
    """
    serving = Tgi("3.3.6", cuda_graphs=[])

    assert container_of(serving, LLAMA, 1).environment["CUDA_GRAPHS"] == "0"


@pytest.mark.parametrize(
    ("version", "variable"),
    [("1.4.5", "MAX_INPUT_LENGTH"), ("2.0.0", "MAX_INPUT_TOKENS")],
)
def test_the_longest_prompt_is_written_under_its_versions_name(
    version: str, variable: str
) -> None:
    """
    One parameter serves all versions.
    """
    serving = Tgi(version, max_input_length=100, max_total_tokens=200)

    assert errors(serving) == []
    assert container_of(serving, LLAMA, 1).environment[variable] == "100"


def test_an_unchecked_option_is_passed_on_as_it_is() -> None:
    """
    Even one that this version does not know, or cannot read.
    """
    serving = Tgi("1.4.5", unchecked_options={"CUDA_GRAPHS": "?", "MAX_BEST_OF": "x"})

    assert errors(serving) == []
    environment = container_of(serving, LLAMA, 1).environment
    assert environment["CUDA_GRAPHS"] == "?"


def test_a_gated_model_needs_a_token() -> None:
    """
    A warning: only the Hub knows who may download what.
    """
    without = findings_of(Tgi("1.4.5"), LLAMA)
    public = findings_of(Tgi("1.4.5"), HuggingFaceModel("a/b"))
    token = SecretValue.secrets_manager("hub-token")
    with_token = HuggingFaceModel(LLAMA.model_id, token=token)

    assert "LLM214" in [f.code for f in without]
    assert "LLM214" not in [f.code for f in public]
    assert "LLM214" not in [f.code for f in findings_of(Tgi("1.4.5"), with_token)]


def errors(serving: Tgi) -> list[str]:
    """
    Return the codes of the errors, for one model on two GPUs.
    """
    found = findings_of(serving, LLAMA, 2)
    return [f.code for f in found if f.severity is Severity.ERROR]
