"""
What the backends on LMI images have in common.
"""

from __future__ import annotations

import pytest
from aws_cdk import SecretValue

from cdk_sagemaker_llm import (
    DeepSpeed,
    HuggingFaceModel,
    LmiDist,
    LmiVllm,
    ModelArchitecture,
    NeuronX,
    S3Model,
    TensorRtLlm,
)
from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.demand import Demand
from cdk_sagemaker_llm.findings import Finding, Severity
from cdk_sagemaker_llm.models import ModelSource
from cdk_sagemaker_llm.serving.base import Container
from cdk_sagemaker_llm.serving.checks import config_of
from cdk_sagemaker_llm.serving.lmi.base import (
    DEFAULT_LOADING_SECONDS,
    LmiServing,
    address_of,
)
from tests.unit.serving.answers import container_of, findings_of
from tests.unit.serving.lmi.parameters import MODEL, text_of

PLACEHOLDER = "s3://${Token[Bucket.Ref.1]}/weights/"
NUMBER_AT_DEPLOYMENT = int(-1.8881545897087e289)


def sized(billions: int) -> ModelArchitecture:
    """
    Return a model of which its size and 32 heads are known.
    """
    return ModelArchitecture.custom(
        parameters=billions * 10**9, kv_bytes_per_token=2, num_attention_heads=32
    )


def told(serving: LmiServing, model: ModelSource | None = MODEL) -> list[str]:
    """
    Return what is said for 8 devices, but of the end of a family.
    """
    found = [str(finding) for finding in findings_of(serving, model, 8)]
    return [line for line in found if not line.startswith("LLM201")]


def test_the_whole_container() -> None:
    """
    Image, file, variables of the token, and how long loading may take.
    """
    assert container_of(LmiVllm(), MODEL, 1) == Container(
        image=find_image("djl-lmi", "0.36.0"),
        files={
            "serving.properties": (
                b"engine=Python\noption.model_id=org/model\n"
                b"option.model_loading_timeout=1800\n"
            ),
        },
        environment={},
        token_variables=("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"),
        weights_uri=None,
        loading_seconds=1800,
        start_up_seconds=None,
    )


def test_the_tag_of_an_image_is_the_version() -> None:
    """
    What is written, and what the options are held against, whatever was given.
    """
    tag = find_image("djl-lmi", "0.36.0").tag
    options = {"option.async_scheduling": True}
    by_tag = LmiVllm("0.30.0", image=tag, options=options)

    assert told(by_tag) == []
    assert text_of(by_tag) == text_of(LmiVllm("0.36.0", options=options))
    (early, *_) = told(LmiVllm("0.30.0", options=options))
    assert early.startswith(
        "LLM158 option.async_scheduling has no effect in vllm at LMI 0.30"
    )


def test_an_address_known_at_deployment_is_a_variable() -> None:
    """
    LMI turns it into the option; a file is too early.
    """
    container = container_of(LmiVllm(), S3Model(PLACEHOLDER), 1)

    assert container.environment == {"OPTION_MODEL_ID": PLACEHOLDER}
    assert container.files == {
        "serving.properties": b"engine=Python\noption.model_loading_timeout=1800\n"
    }


def test_weights_on_s3_are_fetched_by_the_container() -> None:
    """
    Not by SageMaker.
    """
    container = container_of(LmiVllm(), S3Model("s3://b/p/"), 1)

    assert container.files == {
        "serving.properties": (
            b"engine=Python\noption.model_id=s3://b/p/\n"
            b"option.model_loading_timeout=1800\n"
        )
    }
    assert container.weights_uri is None
    assert container.environment == {}


def test_the_model_may_be_an_option() -> None:
    """
    Where no parameter names it.
    """
    serving = LmiVllm(options={"option.model_id": "a/b"})

    assert told(serving, None) == []
    assert text_of(serving, None) == (
        "engine=Python\noption.model_loading_timeout=1800\noption.model_id=a/b\n"
    )
    assert container_of(serving, None, 1).environment == {}


@pytest.mark.parametrize(
    ("billions", "given", "line", "loading", "start_up"),
    [
        (30, None, "option.model_loading_timeout=1800", 1800, None),
        (31, None, "option.model_loading_timeout=2100", 2100, 2100),
        (31, 900, "option.model_loading_timeout=900", 900, 2100),
        (1, 900, "option.model_loading_timeout=900", 900, None),
    ],
    ids=["small", "large", "large, said", "small, said"],
)
def test_a_large_model_is_given_time(
    billions: int, given: int | None, line: str, loading: int, start_up: int
) -> None:
    """
    60 GB load within the 30 minutes that SageMaker waits; more is told to both.
    """
    model = HuggingFaceModel("a/b", architecture=sized(billions))
    serving = LmiVllm(model_loading_timeout=given)
    container = container_of(serving, model, 8)
    written = text_of(serving, model).splitlines()

    assert [row for row in written if "loading" in row] == [line]
    assert container.loading_seconds == loading
    assert container.start_up_seconds == start_up
    assert DEFAULT_LOADING_SECONDS == 1200


def test_container_and_sagemaker_wait_equally_for_quantized_weights() -> None:
    """
    Whichever gives up first ends both.
    """
    model = HuggingFaceModel("a/b", architecture=sized(40))
    container = container_of(LmiVllm(quantize="awq"), model, 8)

    assert container.loading_seconds == 1800
    assert container.start_up_seconds is None


@pytest.mark.parametrize(
    ("serving", "model", "expected"),
    [
        (
            LmiVllm(),
            None,
            ["LLM112 model is missing: nothing names the weights"],
        ),
        (
            LmiVllm("0.99.0"),
            None,
            [
                (
                    "LLM102 image djl-lmi has no version '0.99.0'; use 0.38.0, 0.36.0 "
                    "or 0.35.0"
                ),
                "LLM112 model is missing: nothing names the weights",
            ],
        ),
        (
            LmiVllm(dtype="fp16", options={"option.dtype": "bf16", "engine": "MPI"}),
            MODEL,
            [
                "LLM113 options repeats engine, which has a parameter of its own",
                "LLM113 options repeats option.dtype, which has a parameter of its own",
            ],
        ),
        (
            LmiVllm(unchecked_options={"option.model_id": "c/d"}),
            MODEL,
            [
                (
                    "LLM113 options repeats option.model_id, which has a parameter of "
                    "its own"
                )
            ],
        ),
        (
            LmiVllm(options={"option.env": "hf" + "_" + "a" * 34}),
            MODEL,
            [
                (
                    "LLM107 option.env in options looks like a Hugging Face token; "
                    "keep it in Secrets Manager and pass HuggingFaceModel(..., "
                    "token=secret)"
                )
            ],
        ),
        (
            LmiVllm(unchecked_options={"my_key": "sk" + "-" + "a" * 34}),
            MODEL,
            [
                (
                    "LLM107 my_key in options looks like an OpenAI key; keep it in "
                    "Secrets Manager and pass HuggingFaceModel(..., token=secret)"
                )
            ],
        ),
        (
            LmiVllm(options={"option.env": "a\\b"}),
            MODEL,
            [
                (
                    "LLM114 option.env must be printable ASCII without backslashes or "
                    r"blanks at its ends, got 'a\\b'"
                )
            ],
        ),
        (
            LmiVllm(max_model_len=NUMBER_AT_DEPLOYMENT),
            MODEL,
            [
                (
                    "LLM114 option.max_model_len is known only at deployment, too late "
                    "for a file; pass it in an environment variable"
                )
            ],
        ),
        (
            LmiVllm(
                speculative_config={
                    "method": "ngram",
                    "num_speculative_tokens": NUMBER_AT_DEPLOYMENT,
                }
            ),
            MODEL,
            [
                (
                    "LLM114 option.speculative_config is known only at deployment, too "
                    "late for a file; pass it in an environment variable"
                )
            ],
        ),
        (
            LmiVllm(),
            HuggingFaceModel("meta-llama/Llama-3.2-1B"),
            [
                (
                    "LLM214 meta-llama/Llama-3.2-1B has been gated on the Hugging Face "
                    "Hub, and no token is set; pass HuggingFaceModel(..., "
                    "token=secret), or stage the weights on S3"
                )
            ],
        ),
        (
            LmiVllm(),
            HuggingFaceModel(
                "meta-llama/Llama-3.2-1B", token=SecretValue.secrets_manager("hub")
            ),
            [],
        ),
        (LmiVllm(), S3Model("s3://meta-llama/x/"), []),
    ],
    ids=[
        "no model",
        "no image",
        "repeated",
        "repeated unchecked",
        "a token",
        "a key unchecked",
        "unreadable",
        "a placeholder",
        "a placeholder inside",
        "gated",
        "gated with a token",
        "on S3",
    ],
)
def test_what_is_said_of_every_backend(
    serving: LmiServing, model: ModelSource | None, expected: list[str]
) -> None:
    """
    Word for word, in order.
    """
    assert told(serving, model) == expected


def test_an_error_stands_in_the_way_of_a_container() -> None:
    """
    What it asks of the memory is known all the same.
    """
    prepared = LmiVllm(tensor_parallel_degree=16, max_model_len=3000).prepare(MODEL, 8)

    assert prepared.container is None
    assert [f.code for f in prepared.findings] == ["LLM154"]
    assert prepared.demand is not None
    assert prepared.demand.context_length == 3000


def test_a_model_that_is_gated_is_not_told_of_beside_an_error() -> None:
    """
    First things first.
    """
    model = HuggingFaceModel("meta-llama/Llama-3.2-1B")

    assert [line[:6] for line in told(LmiVllm("0.99.0"), model)] == ["LLM102"]


def test_the_devices_may_be_decided_by_the_demand() -> None:
    """
    It is asked once what it asks of the memory.
    """
    asked: list[Demand | None] = []

    def devices(demand: Demand | None) -> int:
        asked.append(demand)
        return 4

    serving = LmiVllm(tensor_parallel_degree=8)
    prepared = serving.prepare(MODEL, devices)

    assert [str(f) for f in prepared.findings] == [
        (
            "LLM154 tensor_parallel_degree=8 needs 8 accelerators, and there are 4; "
            "write tensor_parallel_degree=4 or max"
        )
    ]
    assert asked == [prepared.demand]


def test_devices_that_are_not_known_are_not_counted() -> None:
    """
    Whatever the degree.
    """
    assert findings_of(LmiVllm(tensor_parallel_degree=64), MODEL, None) == []


@pytest.mark.parametrize(
    ("serving", "expected"),
    [
        (
            LmiVllm("0.26.0", enforce_eager=True),
            [
                (
                    "LLM158 enforce_eager has no effect in vllm at LMI 0.26: it was "
                    "known from LMI 0.27 to 0.31; leave it out, or write "
                    "option.enable_streaming"
                ),
                (
                    "LLM226 vLLM in djl-deepspeed 0.26 does not start without "
                    "tensor_parallel_degree; write tensor_parallel_degree=max"
                ),
            ],
        ),
        (
            LmiVllm("0.30.0", dtype="float16", options={"option.quantize": "gptx"}),
            [
                (
                    "LLM136 option.quantize must be one of awq, deepspeedfp, fp8, "
                    "fbgemm_fp8, gptq, gptq_marlin, gptq_marlin_24, awq_marlin, "
                    "marlin, squeezellm, got 'gptx'; did you mean gptq?"
                ),
                "LLM136 dtype must be one of auto, fp32, fp16, bf16, got 'float16'",
            ],
        ),
        (
            LmiDist("0.26.0", dtype="fp16", quantize="gptq"),
            [
                (
                    "LLM138 dtype and quantize exclude each other in LMI-Dist 0.26; "
                    "leave dtype out"
                )
            ],
        ),
        (
            LmiDist(
                "0.28.0",
                enable_lora=True,
                options={"option.speculative_draft_model": "x"},
            ),
            [
                (
                    "LLM139 enable_lora and option.speculative_draft_model exclude "
                    "each other; leave one of them out"
                )
            ],
        ),
        (
            DeepSpeed("0.26.0", checkpoint="c.json"),
            ["LLM148 checkpoint needs dtype; write dtype=fp16"],
        ),
        (
            TensorRtLlm("0.27.0", rolling_batch="vllm"),
            [
                (
                    "LLM133 option.rolling_batch=vllm is not in djl-tensorrtllm 0.27: "
                    "it has TensorRT-LLM only; write option.rolling_batch=auto"
                )
            ],
        ),
    ],
    ids=["parameter", "both", "two", "two kinds", "remedy", "no option of its own"],
)
def test_a_parameter_is_called_by_its_name_and_an_option_by_its_key(
    serving: LmiServing, expected: list[str]
) -> None:
    """
    In messages and in remedies.
    """
    assert told(serving) == expected


def test_renaming_keeps_the_rest_of_a_finding() -> None:
    """
    Its severity and its code.
    """
    found = findings_of(LmiVllm("0.30.0", max_rolling_batch_prefill_tokens=8), MODEL, 1)

    assert found == [
        Finding(
            Severity.WARNING,
            "LLM208",
            "max_rolling_batch_prefill_tokens is deprecated since LMI 0.25.0",
            "",
        )
    ]


def test_an_option_without_effect_is_an_error() -> None:
    """
    Nothing else could read it, for there is no code beside the file.
    """
    (found,) = findings_of(LmiVllm(options={"option.my_own": 1}), MODEL, 1)

    assert (found.code, found.severity) == ("LLM158", Severity.ERROR)


def test_an_unchecked_option_is_not_looked_at() -> None:
    """
    It is written, and that is all; a checked one follows it in the file's order.
    """
    serving = LmiVllm(
        unchecked_options={"option.zzz": "x", "option.dtype": "fp4"},
        options={"option.task": "generate"},
    )

    assert told(serving) == []
    assert text_of(serving).splitlines()[3:] == [
        "option.dtype=fp4",
        "option.task=generate",
        "option.zzz=x",
    ]


def test_a_class_that_runs_another_backend_says_so() -> None:
    """
    What an option made of it.
    """
    serving = LmiVllm("0.34.0", options={"batch_size": 4})

    assert told(serving) == [
        (
            "LLM134 the file runs huggingface in djl-lmi 0.34, not vllm; write "
            "engine=Python and option.rolling_batch=vllm"
        )
    ]


@pytest.mark.parametrize(
    ("architecture", "config"),
    [
        (None, {"architectures": [None], "num_attention_heads": None}),
        (
            "LlamaForCausalLM",
            {"architectures": ["LlamaForCausalLM"], "num_attention_heads": None},
        ),
        (sized(1), {"architectures": [None], "num_attention_heads": 32}),
        (
            ModelArchitecture.of("meta-llama/Llama-2-13b-hf"),
            {"architectures": ["LlamaForCausalLM"], "num_attention_heads": 40},
        ),
    ],
    ids=["nothing", "a class", "a size", "both"],
)
def test_what_is_known_of_a_config_json(
    architecture: ModelArchitecture | str | None, config: dict[str, object]
) -> None:
    """
    Its class and its heads.
    """
    assert config_of(architecture) == config


def test_what_the_container_is_told_to_load() -> None:
    """
    A repository's name or an address.
    """
    assert address_of(HuggingFaceModel("a/b")) == "a/b"
    assert address_of(S3Model("s3://b/p/")) == "s3://b/p/"
    assert address_of(None) is None


@pytest.mark.parametrize(
    ("serving", "line"),
    [
        (
            LmiVllm(
                speculative_config={"num_speculative_tokens": 1, "method": "ngram"}
            ),
            'option.speculative_config={"method":"ngram","num_speculative_tokens":1}',
        ),
        (
            NeuronX("0.29.0", context_length_estimate=[1, 2]),
            "option.context_length_estimate=1,2",
        ),
        (
            NeuronX("0.29.0", context_length_estimate=(3, 4)),
            "option.context_length_estimate=3,4",
        ),
        (LmiVllm(load_format="auto"), "option.load_format=auto"),
        (LmiVllm(gpu_memory_utilization=0.5), "option.gpu_memory_utilization=0.5"),
        (LmiVllm(enforce_eager=True), "option.enforce_eager=true"),
    ],
    ids=lambda given: given if isinstance(given, str) else type(given).__name__,
)
def test_a_value_is_written_by_its_kind(serving: LmiServing, line: str) -> None:
    """
    An object as JSON with sorted keys, a list joined by commas, the rest as it is.
    """
    assert text_of(serving).splitlines()[-1] == line


def test_fails_if_a_value_cannot_be_an_option() -> None:
    """
    A mistake of the caller's, with the value got.
    """
    with pytest.raises(ValueError, match=r"^dtype must be text, got the class object$"):
        LmiVllm(dtype=object)  # type: ignore[arg-type] # the mistake


def test_the_base_is_no_backend() -> None:
    """
    It names no engine, and asks nothing of the memory.
    """
    with pytest.raises(NotImplementedError):
        LmiServing("0.36.0").prepare(MODEL, 1)


@pytest.mark.parametrize(
    ("serving", "seconds"),
    [(LmiVllm(), 2700), (LmiVllm(model_loading_timeout=900), 900)],
    ids=["left out", "said"],
)
def test_a_container_waits_as_long_as_sagemaker(serving: LmiVllm, seconds: int) -> None:
    """
    Unless the configuration says how long itself.
    """
    container = serving.prepare(MODEL, 1, start_up_seconds=2700).container

    assert container is not None
    assert container.loading_seconds == seconds
    written = container.files["serving.properties"].decode()
    assert f"option.model_loading_timeout={seconds}\n" in written
