"""
Text Generation Inference's configuration.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from aws_cdk import SecretValue

from cdk_sagemaker_llm import HuggingFaceModel, ModelArchitecture, S3Model, Tgi
from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.demand import Assumptions, Demand
from cdk_sagemaker_llm.findings import Severity
from cdk_sagemaker_llm.serving.base import Container
from tests.unit.serving.answers import container_of, findings_of

LLAMA = HuggingFaceModel("meta-llama/Llama-2-13b-chat-hf")
# How the CDK encodes a number that only deployment knows.
LATER: Any = -1.8881545897087626e289


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
    The optional setting of reference deployment C, with weights that are of its kind.
    """
    model = HuggingFaceModel(f"TheBloke/Llama-2-13B-chat-{quantize.upper()}")

    container = container_of(Tgi("1.4.5", quantize=quantize), model, 1)

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
        (Tgi("1.4.5", dtype="float16", quantize="awq"), ["LLM170", "LLM927"]),
        (Tgi("1.4.5", options={"MAX_BEST": 3}), ["LLM160"]),
        (Tgi("1.4.5", options={"--env": True}), ["LLM160"]),
        (Tgi("1.4.5", options={"MAX_BEST_OF": "many"}), ["LLM162"]),
        (Tgi("1.4.5", options={"CUDA_GRAPHS": [1, 2]}), ["LLM161"]),
        (Tgi("1.4.5", options={"MODEL_ID": "gpt2"}), ["LLM163"]),
        (Tgi("3.3.6", speculate=2, options={"SPECULATE": 3}), ["LLM163"]),
        (Tgi("1.4.5", speculate=2, unchecked_options={"SPECULATE": 3}), ["LLM163"]),
        (Tgi("3.3.6", options={"API_KEY": f"hf_{'a' * 34}"}), ["LLM107", "LLM535"]),
        (Tgi("3.3.6", unchecked_options={"HF_TOKEN": "secret"}), ["LLM107"]),
    ],
    ids=lambda value: value if isinstance(value, list) else "",
)
def test_fails_if_a_value_is_wrong(serving: Tgi, codes: list[str]) -> None:
    """
    The launcher would exit on it, or go on without.
    """
    assert errors(serving) == codes


@pytest.mark.parametrize(
    ("serving", "model", "expected"),
    [
        (Tgi("3.3.6", num_gpus=8), HuggingFaceModel("Qwen/Qwen2.5-7B"), ["LLM177"]),
        (
            Tgi("3.3.6", num_gpus=8),
            S3Model("s3://b/p/", architecture="Qwen/Qwen2.5-7B"),
            ["LLM177"],
        ),
        (Tgi("3.3.6", num_gpus=4), HuggingFaceModel("Qwen/Qwen2.5-7B"), []),
        (Tgi("3.3.6", num_gpus=8), HuggingFaceModel("someone/unheard-of"), []),
        # The plan checks what it chooses itself.
        (Tgi("3.3.6"), HuggingFaceModel("Qwen/Qwen2.5-7B"), []),
    ],
    ids=["on the Hub", "on S3", "four", "not known", "left out"],
)
def test_the_number_of_gpus_divides_the_heads(
    serving: Tgi, model: HuggingFaceModel | S3Model, expected: list[str]
) -> None:
    """
    In the words of the parameter, of the 28 heads that the model has.
    """
    found = [f for f in findings_of(serving, model, 8) if f.severity is Severity.ERROR]

    assert [f.code for f in found] == expected
    assert all(f.message.startswith("num_gpus must divide the 28") for f in found)


@pytest.mark.parametrize(
    "serving",
    [
        Tgi("2.4.0", messages_api=True),
        Tgi("2.4.0", options={"MESSAGES_API_ENABLED": True}),
    ],
    ids=["a parameter", "an option"],
)
def test_warns_of_what_an_older_version_knew(serving: Tgi) -> None:
    """
    It does nothing, and no harm either.
    """
    assert errors(serving) == []
    assert "LLM222" in [finding.code for finding in findings_of(serving, LLAMA)]


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


# By keyword: a version, a value, and the variable that it becomes.
PARAMETERS: list[tuple[str, str, Any, tuple[str, str]]] = [
    ("max_input_length", "1.4.5", 1000, ("MAX_INPUT_LENGTH", "1000")),
    ("max_total_tokens", "1.4.5", 2000, ("MAX_TOTAL_TOKENS", "2000")),
    ("max_batch_total_tokens", "1.4.5", 8000, ("MAX_BATCH_TOTAL_TOKENS", "8000")),
    ("max_batch_prefill_tokens", "1.4.5", 4000, ("MAX_BATCH_PREFILL_TOKENS", "4000")),
    ("quantize", "1.4.5", "awq", ("HF_MODEL_QUANTIZE", "awq")),
    ("num_gpus", "1.4.5", 2, ("SM_NUM_GPUS", "2")),
    ("max_input_tokens", "2.0.0", 1000, ("MAX_INPUT_TOKENS", "1000")),
    ("max_batch_size", "1.4.5", 8, ("MAX_BATCH_SIZE", "8")),
    ("max_concurrent_requests", "1.4.5", 64, ("MAX_CONCURRENT_REQUESTS", "64")),
    ("waiting_served_ratio", "1.4.5", 0.5, ("WAITING_SERVED_RATIO", "0.5")),
    ("dtype", "1.4.5", "bfloat16", ("DTYPE", "bfloat16")),
    ("kv_cache_dtype", "3.3.6", "fp8_e5m2", ("KV_CACHE_DTYPE", "fp8_e5m2")),
    ("rope_scaling", "1.4.5", "dynamic", ("ROPE_SCALING", "dynamic")),
    ("rope_factor", "1.4.5", 2.0, ("ROPE_FACTOR", "2.0")),
    ("cuda_memory_fraction", "1.4.5", 0.9, ("CUDA_MEMORY_FRACTION", "0.9")),
    ("cuda_graphs", "3.3.6", (1, 2), ("CUDA_GRAPHS", "1,2")),
    ("speculate", "1.4.5", 2, ("SPECULATE", "2")),
    ("lora_adapters", "3.3.6", ["a/b", "c/d"], ("LORA_ADAPTERS", "a/b,c/d")),
    ("trust_remote_code", "1.4.5", False, ("HF_MODEL_TRUST_REMOTE_CODE", "false")),
    ("messages_api", "1.4.5", True, ("MESSAGES_API_ENABLED", "true")),
    ("options", "1.4.5", {"MAX_BEST_OF": 3}, ("MAX_BEST_OF", "3")),
    ("unchecked_options", "1.4.5", {"LOG_LEVEL": "debug"}, ("LOG_LEVEL", "debug")),
]


def test_every_parameter_has_a_row() -> None:
    """
    A new one comes with the variable that it becomes.
    """
    assert {row[0] for row in PARAMETERS} | {"version", "image"} == set(
        inspect.signature(Tgi).parameters
    )


@pytest.mark.parametrize(
    ("keyword", "version", "value", "variable"),
    PARAMETERS,
    ids=[row[0] for row in PARAMETERS],
)
def test_a_parameter_becomes_its_variable_alone(
    keyword: str, version: str, value: object, variable: tuple[str, str]
) -> None:
    """
    Beside the model.
    """
    serving = Tgi(version, **{keyword: value})  # type: ignore[arg-type] # any of all

    assert container_of(serving, HuggingFaceModel("a/b"), None).environment == {
        "HF_MODEL_ID": "a/b",
        variable[0]: variable[1],
    }


def test_the_whole_container_at_the_newest_version() -> None:
    """
    Everything that 3.3.6 reads, and all else that there is of a container.
    """
    serving = Tgi(
        "3.3.6",
        max_input_tokens=1000,
        max_total_tokens=2000,
        max_batch_total_tokens=8000,
        max_batch_prefill_tokens=4000,
        quantize="awq",
        num_gpus=2,
        max_batch_size=8,
        max_concurrent_requests=64,
        waiting_served_ratio=0.5,
        kv_cache_dtype="fp8_e5m2",
        rope_scaling="linear",
        rope_factor=2.0,
        cuda_memory_fraction=0.9,
        cuda_graphs=[1, 2],
        speculate=2,
        lora_adapters=["org/one", "org/two"],
        trust_remote_code=False,
        options={"MAX_BEST_OF": 3},
        unchecked_options={"LOG_LEVEL": "debug"},
    )
    model = HuggingFaceModel("org/model", revision="abc123")

    assert container_of(serving, model, 4) == Container(
        image=find_image("huggingface-llm", "3.3.6"),
        files={},
        environment={
            "HF_MODEL_ID": "org/model",
            "HF_MODEL_REVISION": "abc123",
            "HF_MODEL_QUANTIZE": "awq",
            "SM_NUM_GPUS": "2",
            "MAX_INPUT_TOKENS": "1000",
            "MAX_TOTAL_TOKENS": "2000",
            "MAX_BATCH_TOTAL_TOKENS": "8000",
            "MAX_BATCH_PREFILL_TOKENS": "4000",
            "MAX_BATCH_SIZE": "8",
            "MAX_CONCURRENT_REQUESTS": "64",
            "WAITING_SERVED_RATIO": "0.5",
            "KV_CACHE_DTYPE": "fp8_e5m2",
            "ROPE_SCALING": "linear",
            "ROPE_FACTOR": "2.0",
            "CUDA_MEMORY_FRACTION": "0.9",
            "CUDA_GRAPHS": "1,2",
            "SPECULATE": "2",
            "LORA_ADAPTERS": "org/one,org/two",
            "HF_MODEL_TRUST_REMOTE_CODE": "false",
            "MAX_BEST_OF": "3",
            "LOG_LEVEL": "debug",
        },
        token_variables=("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"),
        weights_uri=None,
        loading_seconds=None,
        start_up_seconds=None,
    )


@pytest.mark.parametrize("devices", [None, 1])
def test_the_whole_container_of_nothing_but_a_model(devices: int | None) -> None:
    """
    On S3, which SageMaker itself brings.
    """
    container = container_of(Tgi("1.4.5"), S3Model("s3://b/p/"), devices)

    assert container == Container(
        image=find_image("huggingface-llm", "1.4.5"),
        environment={
            "HF_MODEL_ID": "/opt/ml/model",
            **({"SM_NUM_GPUS": "1"} if devices else {}),
        },
        token_variables=("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"),
        weights_uri="s3://b/p/",
    )


def sized(billions: int) -> HuggingFaceModel:
    """
    Return a model of which its size is known.
    """
    architecture = ModelArchitecture.custom(
        parameters=billions * 10**9, kv_bytes_per_token=2
    )
    return HuggingFaceModel("org/model", architecture=architecture)


@pytest.mark.parametrize(("billions", "seconds"), [(30, None), (31, 2100)])
def test_sagemaker_is_told_to_wait_for_a_large_model(
    billions: int, seconds: int | None
) -> None:
    """
    60 GB load within its 30 minutes.
    """
    container = container_of(Tgi("3.3.6"), sized(billions), 8)

    assert container.start_up_seconds == seconds


def test_what_it_asks_of_the_memory_with_everything_set() -> None:
    """
    Each parameter that changes it, in its place.
    """
    serving = Tgi(
        "3.3.6",
        num_gpus=2,
        quantize="awq",
        max_total_tokens=2000,
        max_batch_total_tokens=8000,
        max_batch_prefill_tokens=4000,
        cuda_memory_fraction=0.8,
        kv_cache_dtype="fp8_e4m3fn",
    )
    model = sized(1)

    assert serving.prepare(model, 2).demand == Demand(
        architecture=model.known_architecture,
        assumptions=Assumptions(
            gpu_memory_utilization=0.8,
            max_num_batched_tokens=4000,
            kv_cache_dtype_bytes=1,
        ),
        weight_bits=4,
        context_length=2000,
        batch_tokens=8000,
        tensor_parallel_degree=2,
        engine="tgi",
        engine_version=serving.version,
    )


@pytest.mark.parametrize(
    ("version", "graphs"),
    [
        ("0.9.3", 0.0),
        ("1.4.5", 0.0),
        ("2.0.0", None),
        ("3.3.6", None),
        ("1.4.9", 0.0),
    ],
)
def test_what_it_asks_of_the_memory_by_default(
    version: str, graphs: float | None
) -> None:
    """
    All of it; CUDA graphs came with 2.0.0. An image that is none changes nothing.
    """
    serving = Tgi(version)

    assert serving.prepare(None, None).demand == Demand(
        architecture=None,
        assumptions=Assumptions(
            cuda_graphs_gib=graphs,
            max_num_batched_tokens=4096,
            kv_cache_dtype_bytes=2,
        ),
        weight_bits=None,
        context_length=None,
        batch_tokens=None,
        tensor_parallel_degree=None,
        engine="tgi",
        engine_version=serving.version,
    )


def test_the_devices_may_be_decided_by_the_demand() -> None:
    """
    It is asked once what it asks of the memory.
    """
    asked: list[Demand | None] = []

    def devices(demand: Demand | None) -> int:
        asked.append(demand)
        return 4

    prepared = Tgi("1.4.5").prepare(HuggingFaceModel("a/b"), devices)

    assert prepared.container is not None
    assert prepared.container.environment["SM_NUM_GPUS"] == "4"
    assert asked == [prepared.demand]


NUMBER_AT_DEPLOYMENT = int(-1.8881545897087e289)


@pytest.mark.parametrize(
    ("serving", "expected"),
    [
        (
            Tgi("1.4.6"),
            [
                (
                    "LLM102 image huggingface-llm has no version '1.4.6'; use 1.4.5, "
                    "2.0.0 or 1.4.2"
                )
            ],
        ),
        *(
            (
                Tgi(version, **{keyword: 0}),  # type: ignore[arg-type] # one of all
                [f"LLM111 {keyword} must be at least 1, got 0"],
            )
            for keyword, version in (
                ("max_input_length", "1.4.5"),
                ("max_input_tokens", "2.0.0"),
                ("max_total_tokens", "1.4.5"),
                ("max_batch_total_tokens", "1.4.5"),
                ("max_batch_prefill_tokens", "1.4.5"),
                ("max_batch_size", "1.4.5"),
                ("max_concurrent_requests", "1.4.5"),
                ("num_gpus", "1.4.5"),
            )
        ),
        (
            Tgi("1.4.5", max_total_tokens=NUMBER_AT_DEPLOYMENT),
            [
                (
                    "LLM114 max_total_tokens is known only at deployment, and is "
                    "checked at synth; pass a number"
                )
            ],
        ),
        (
            Tgi("2.0.0", max_input_length=9, max_total_tokens=8),
            ["LLM115 max_input_length must be below max_total_tokens, got 9 and 8"],
        ),
        (
            Tgi("2.0.0", max_input_tokens=7, max_input_length=7, max_total_tokens=8),
            [
                (
                    "LLM171 max_input_length and max_input_tokens are one setting, got "
                    "both; keep max_input_tokens"
                )
            ],
        ),
        (
            Tgi("1.4.5", max_input_tokens=8),
            [
                (
                    "LLM161 max_input_tokens has no effect in TGI 1.4.5: it came with "
                    "2.0.0; use MAX_INPUT_LENGTH"
                )
            ],
        ),
        (
            Tgi("1.4.5", options={"MAX_BEST": 1, "--env": 2, "zzz": 3}),
            [
                (
                    "LLM160 MAX_BEST is no option of TGI's launcher; write "
                    "MAX_BEST_OF, or pass it in unchecked_options if something else "
                    "reads it"
                ),
                (
                    "LLM160 --env has no variable, and the image passes no arguments; "
                    "leave it out"
                ),
                (
                    "LLM160 zzz is no option of TGI's launcher; pass it in "
                    "unchecked_options if something else reads it"
                ),
            ],
        ),
        (
            Tgi(
                "1.4.5",
                quantize="awq",
                options={"QUANTIZE": "awq", "MAX_BEST_OF": 2},
                unchecked_options={"MODEL_ID": "a/b", "MAX_BEST_OF": 2},
            ),
            [
                (
                    "LLM163 QUANTIZE is set twice: a parameter or another option sets "
                    "it already; keep one of them"
                ),
                (
                    "LLM163 MODEL_ID is set twice: a parameter or another option sets "
                    "it already; keep one of them"
                ),
                (
                    "LLM163 MAX_BEST_OF is set twice: a parameter or another option "
                    "sets it already; keep one of them"
                ),
            ],
        ),
        (
            Tgi("3.3.6", unchecked_options={"HF_TOKEN": "x"}),
            [
                (
                    "LLM107 HF_TOKEN in unchecked_options looks like a Hugging Face "
                    "token; keep it in Secrets Manager and pass HuggingFaceModel(..., "
                    "token=secret)"
                )
            ],
        ),
        (
            Tgi("3.3.6", options={"API_KEY": "hf" + "_" + "a" * 34}),
            [
                (
                    "LLM107 API_KEY in options looks like a Hugging Face token; keep "
                    "it in Secrets Manager and pass HuggingFaceModel(..., token=secret)"
                ),
                (
                    "LLM535 API_KEY has TGI answer /invocations with 401, for "
                    "SageMaker sends no key; leave it out: IAM says who may invoke "
                    "the endpoint"
                ),
            ],
        ),
        (
            Tgi("3.3.6", options={"MAX_BEST_OF": "many"}),
            ["LLM162 MAX_BEST_OF must be a whole number of at least 0, got 'many'"],
        ),
        (
            Tgi("1.4.5", num_gpus=3),
            ["LLM174 num_gpus must be at most the 2 accelerators of each copy, got 3"],
        ),
        (
            Tgi("2.0.0", max_input_length=9000),
            [
                (
                    "LLM115 max_input_length must be below max_total_tokens, got 9000 "
                    "and the default 4096"
                )
            ],
        ),
    ],
    ids=lambda value: "" if isinstance(value, Tgi) else value[0][:40],
)
def test_what_is_said_in_the_callers_words(serving: Tgi, expected: list[str]) -> None:
    """
    Word for word: a parameter by its name, the rest by the variable.
    """
    found = [str(f) for f in findings_of(serving, HuggingFaceModel("a/b"), 2)]

    assert [line for line in found if not line.startswith("LLM201")] == expected


def test_an_error_stands_in_the_way_of_a_container() -> None:
    """
    What it asks of the memory is known all the same.
    """
    for serving in (Tgi("1.4.6", max_total_tokens=9), Tgi("1.4.5", max_total_tokens=9)):
        prepared = serving.prepare(HuggingFaceModel("a/b"), 1)

        assert prepared.container is None
        assert prepared.demand is not None
        assert prepared.demand.context_length == 9


def test_a_token_by_reference_counts_under_both_its_names() -> None:
    """
    For versions whose router reads one of them alone, too.
    """
    token = SecretValue.secrets_manager("hub-token")
    model = HuggingFaceModel(LLAMA.model_id, token=token)
    prepared = Tgi("2.0.2").prepare(model, 1)

    assert [f.code for f in prepared.findings] == ["LLM201"]
    assert prepared.container is not None
    assert prepared.container.environment == {
        "HF_MODEL_ID": LLAMA.model_id,
        "SM_NUM_GPUS": "1",
    }


def errors(serving: Tgi) -> list[str]:
    """
    Return the codes of the errors, for one model on two GPUs.
    """
    found = findings_of(serving, LLAMA, 2)
    return [f.code for f in found if f.severity is Severity.ERROR]


def test_devices_that_only_deployment_knows_are_left_to_the_launcher() -> None:
    """
    It takes all that it sees, and no number is made up.
    """
    serving = Tgi("3.3.6")

    assert "SM_NUM_GPUS" not in container_of(serving, LLAMA, LATER).environment


@pytest.mark.parametrize(
    ("serving", "name"),
    [
        (Tgi("3.3.6", rope_factor=LATER), "rope_factor"),
        (Tgi("3.3.6", cuda_memory_fraction=LATER), "cuda_memory_fraction"),
        (Tgi("3.3.6", speculate=LATER), "speculate"),
        (Tgi("3.3.6", cuda_graphs=[1, LATER]), "cuda_graphs"),
        (Tgi("3.3.6", options={"MAX_BEST_OF": LATER}), "MAX_BEST_OF"),
        (Tgi("3.3.6", unchecked_options={"ANY": LATER}), "ANY"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_fails_for_a_number_of_the_deployment(serving: Tgi, name: str) -> None:
    """
    Its placeholder would be written as the digits it is made of.
    """
    (found,) = [f for f in findings_of(serving, LLAMA, 2) if f.code == "LLM114"]

    assert errors(serving) == ["LLM114"]
    assert str(found) == (
        f"LLM114 {name} is known only at deployment, and is checked at synth; pass a "
        "number, or the text of Token.as_string(...) in unchecked_options"
    )
