"""
A backend to begin with.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm import HuggingFaceModel, ModelArchitecture
from cdk_sagemaker_llm.findings import errors_of
from cdk_sagemaker_llm.fit import recommend
from cdk_sagemaker_llm.fit.recommending import Traffic
from tests.unit.serving.answers import findings_of

MISTRAL = "mistralai/Mistral-7B-v0.1"


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
    names = {"backend", "version", "tensor_parallel_degree", "max_rolling_batch_size"}

    assert type(found.serving).__name__ == backend
    assert names <= set(found.reasons)
    assert all(found.reasons.values())
    assert found.explain().startswith(backend)
    assert errors_of(findings_of(found.serving, HuggingFaceModel(model))) == []


def test_sizes_come_from_the_plan() -> None:
    """
    The smallest degree that fits, and the batch that its cache holds.
    """
    found = recommend("meta-llama/Llama-2-70b-hf", "ml.p4d.24xlarge")

    assert found.plan is not None
    assert found.serving.tensor_parallel_degree == 4
    assert found.serving.max_rolling_batch_size == found.plan.largest_batch


@pytest.mark.parametrize(
    ("model", "instance_type", "traffic", "message"),
    [
        ("meta-llama/Llama-2-70b-hf", "ml.g5.xlarge", "uneven", "does not fit"),
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
