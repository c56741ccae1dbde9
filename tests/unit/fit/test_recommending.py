"""
A backend to begin with.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    ModelArchitecture,
    NeuronX,
    TensorRtLlm,
    Vllm,
)
from cdk_sagemaker_llm.catalog.images import image_versions
from cdk_sagemaker_llm.findings import errors_of
from cdk_sagemaker_llm.fit import recommend
from cdk_sagemaker_llm.fit.recommending import Traffic
from tests.unit.serving.answers import findings_of

MISTRAL = "mistralai/Mistral-7B-v0.1"
LARGE = (
    "LlamaForCausalLM does not fit ml.g5.xlarge in 16 bits, by weights; "
    "sagemaker-llm plan ranks the types that it fits"
)


@pytest.mark.parametrize(
    ("model", "instance_type", "traffic", "backend"),
    [
        (MISTRAL, "ml.g5.12xlarge", "uneven", "Vllm"),
        (MISTRAL, "ml.g5.12xlarge", "even", "TensorRtLlm"),
        ("deepseek-ai/DeepSeek-V2-Lite", "ml.p4d.24xlarge", "even", "Vllm"),
        (MISTRAL, "ml.inf2.48xlarge", "uneven", "NeuronX"),
    ],
)
def test_model_hardware_and_traffic_decide(
    model: str, instance_type: str, traffic: Traffic, backend: str
) -> None:
    """
    Every choice has its reason, and the configuration has no errors.
    """
    found = recommend(model, instance_type, traffic=traffic)
    sizes = (
        {"tensor_parallel_size", "max_num_seqs"}
        if backend == "Vllm"
        else {"tensor_parallel_degree", "max_rolling_batch_size"}
    )
    names = {"backend", "version", *sizes}

    assert type(found.serving).__name__ == backend
    assert names <= set(found.reasons)
    assert all(found.reasons.values())
    assert found.explain().startswith(backend)
    assert errors_of(findings_of(found.serving, HuggingFaceModel(model))) == []


def test_sizes_come_from_the_plan() -> None:
    """
    The smallest degree that fits, and the batch that its cache holds.
    """
    found = recommend("meta-llama/Llama-2-70b-hf", "ml.p4de.24xlarge")

    assert found.plan is not None
    assert isinstance(found.serving, Vllm)
    assert found.serving.tensor_parallel_size == 2
    assert found.serving.max_num_seqs == found.plan.largest_batch
    assert found.plan.engine_version == "0.30.0"


@pytest.mark.parametrize(
    ("instance_type", "traffic", "version", "family"),
    [
        ("ml.g5.12xlarge", "even", "0.33.0", "djl-tensorrtllm"),
        ("ml.inf2.48xlarge", "uneven", "0.30.0", "djl-neuronx"),
    ],
)
def test_the_version_is_the_newest_of_the_catalogue(
    instance_type: str, traffic: Traffic, version: str, family: str
) -> None:
    """
    Of the backend's image family.
    """
    found = recommend(MISTRAL, instance_type, traffic=traffic)

    assert found.serving.version == version == image_versions(family)[-1]


def test_even_traffic_gets_lengths_to_compile_for() -> None:
    """
    Three quarters of 4096 tokens for the prompt; nine sequences fit an A10G.
    """
    found = recommend(MISTRAL, "ml.g5.12xlarge", traffic="even")

    assert isinstance(found.serving, TensorRtLlm)
    assert found.serving.tensor_parallel_degree == 1
    assert found.serving.max_input_len == 3072
    assert found.serving.max_rolling_batch_size == 10
    assert found.explain() == (
        "TensorRtLlm\n"
        "backend: TensorRT-LLM compiles for fixed lengths, as even traffic has\n"
        "version: the last LMI image with TensorRT-LLM; it gets no more fixes\n"
        "max_input_len: three quarters of the context, the rest for the answer\n"
        "tensor_parallel_degree: 1 is the smallest that fits\n"
        "max_rolling_batch_size: 10 whole sequences of 4096 tokens fit the KV cache"
    )


def test_uneven_traffic_gets_the_context_that_is_asked_for() -> None:
    """
    Half of the sequences at twice their length.
    """
    found = recommend(MISTRAL, "ml.g5.12xlarge", context_length=8192)

    assert isinstance(found.serving, Vllm)
    assert found.serving.max_model_len == 8192
    assert found.serving.max_num_seqs == 5
    assert found.reasons == {
        "backend": "vLLM mixes requests of any length, which uneven traffic needs",
        "version": "the newest of AWS's images of vLLM that does not move",
        "tensor_parallel_size": "1 is the smallest that fits",
        "max_num_seqs": "5 whole sequences of 8192 tokens fit the KV cache",
    }


def test_what_is_not_compiled_at_start_up_is_served_by_vllm() -> None:
    """
    Although its traffic is even; the reason says so.
    """
    found = recommend("deepseek-ai/DeepSeek-V2-Lite", "ml.p4d.24xlarge", traffic="even")

    assert found.reasons["backend"] == (
        "TensorRT-LLM on LMI does not compile DeepseekV2ForCausalLM at start-up"
    )


@pytest.mark.parametrize(
    ("instance_type", "context", "degree", "tokens", "cores"),
    [
        # 12 chips of 2 cores; of 32 heads 16 is the largest divisor within 24.
        ("ml.inf2.48xlarge", None, 16, 4096, 24),
        ("ml.inf2.xlarge", 1024, 2, 1024, 2),
        ("ml.inf2.24xlarge", 99_999, 8, 32_768, 12),
    ],
)
def test_neuron_gets_what_is_compiled(
    instance_type: str, context: int | None, degree: int, tokens: int, cores: int
) -> None:
    """
    The largest degree of its cores, and as many positions as the model has at most.
    """
    found = recommend(MISTRAL, instance_type, context_length=context)

    assert isinstance(found.serving, NeuronX)
    assert found.plan is None
    assert found.serving.tensor_parallel_degree == degree
    assert found.serving.n_positions == tokens
    assert found.serving.max_rolling_batch_size == 4
    assert found.reasons == {
        "backend": f"{instance_type} has Inferentia2",
        "version": "the newest NeuronX image that the SageMaker SDK lists",
        "tensor_parallel_degree": "the largest that the heads allow of "
        f"{cores} NeuronCores",
        "n_positions": "the sequence length that is compiled",
        "max_rolling_batch_size": "a small batch, which compiles in minutes",
    }


@pytest.mark.parametrize(
    ("model", "instance_type", "traffic", "message"),
    [
        ("meta-llama/Llama-2-70b-hf", "ml.g5.xlarge", "uneven", LARGE),
        ("tiiuae/falcon-7b", "ml.inf2.48xlarge", "uneven", "NeuronX on LMI does not"),
        (MISTRAL, "ml.g5.xlarge", "bursty", "traffic must be 'uneven' or 'even'"),
    ],
)
def test_fails_if_there_is_nothing_to_recommend(
    model: str, instance_type: str, traffic: Traffic, message: str
) -> None:
    """
    No backend is better than a wrong one.
    """
    with pytest.raises(ValueError, match=message):
        recommend(ModelArchitecture.of(model), instance_type, traffic=traffic)


@pytest.mark.parametrize(
    "family",
    ["Llama", "Mistral", "Mixtral", "GPTNeoX", "GPTJ", "Bloom", "GPT2", "OPT"],
)
def test_neuron_runs_what_its_images_were_tested_with(family: str) -> None:
    """
    Each of the families in LMI's tests of NeuronX.
    """
    model = ModelArchitecture.custom(
        parameters=10**9, kv_bytes_per_token=2**16, architecture=f"{family}ForCausalLM"
    )

    assert type(recommend(model, "ml.inf2.48xlarge").serving).__name__ == "NeuronX"


def test_a_gpu_on_which_the_engine_does_not_load_it() -> None:
    """
    The memory would do, and the kernels are not there.
    """
    with pytest.raises(ValueError, match="vLLM") as refusal:
        recommend("openai/gpt-oss-20b", "ml.g4dn.12xlarge")

    assert str(refusal.value) == (
        "vLLM 0.30.0 needs a compute capability of 8.0 for the quantization method "
        "gpt_oss_mxfp4, got T4 (compute capability 7.5); sagemaker-llm support lists "
        "what loads it"
    )
