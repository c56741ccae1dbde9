"""
A pattern's call asks each answer once: a check that runs twice is paid for twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Stack

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    InstanceCapacity,
    InstancePool,
    LlmEndpoint,
    ResourceRequirements,
    ServingFolder,
)
from cdk_sagemaker_llm.fit import checking, packing
from cdk_sagemaker_llm.hosting.variants import instance_types
from cdk_sagemaker_llm.serving.engines import base as engines
from cdk_sagemaker_llm.serving.engines.base import EngineServing
from cdk_sagemaker_llm.serving.engines.telling import Telling
from cdk_sagemaker_llm.serving.lmi import artifact, folder
from cdk_sagemaker_llm.serving.lmi.checks import artifacts

MISTRAL = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")


@pytest.fixture(name="calls")
def _calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """
    Count the calls of what takes time, each of which still answers.
    """
    counts: Counter[str] = Counter()

    def counted(name: str, owner: Any, attribute: str) -> None:  # noqa: ANN401 - any class or module
        answer: Callable[..., Any] = getattr(owner, attribute)

        def ask(*args: Any, **keywords: Any) -> Any:  # noqa: ANN401 - any call
            counts[name] += 1
            return answer(*args, **keywords)

        monkeypatch.setattr(owner, attribute, ask)

    counted("prepare", EngineServing, "prepare")
    counted("check", engines, "engine_findings")
    counted("render", Telling, "tell")
    counted("prepare", ServingFolder, "prepare")
    counted("folder", folder, "folder_files")
    counted("walk", artifact, "size_findings")
    counted("check", artifacts, "text_findings")
    counted("plan", checking, "plan")
    counted("pack", packing, "pack")
    counted("look up", instance_types, "find_instance_type")
    return counts


@pytest.mark.parametrize(
    "resources", [None, ResourceRequirements(accelerators=1)], ids=["left out", "given"]
)
def test_adding_a_model_asks_each_answer_once(
    stack: Stack, calls: Counter[str], resources: ResourceRequirements | None
) -> None:
    """
    The hardware was looked up when the endpoint was defined.
    """
    host = InferenceComponentEndpoint(stack, "Host", instance_type="ml.p4d.24xlarge")
    defined = calls.copy()
    calls.clear()

    host.add_model("Mistral", model=MISTRAL, resources=resources)

    assert defined == {"look up": 1}
    assert calls == {"prepare": 1, "render": 1, "check": 1, "plan": 1, "pack": 1}


def test_pools_ask_each_answer_once_for_each_type(
    stack: Stack, calls: Counter[str]
) -> None:
    """
    Two types are twice the work of one, and not more.
    """
    pools = [
        InstancePool("ml.g6e.12xlarge", priority=1),
        InstancePool("ml.g5.2xlarge", priority=2),
    ]
    LlmEndpoint(stack, "Llm", model=MISTRAL, capacity=InstanceCapacity(pools=pools))
    defined = calls.copy()
    calls.clear()
    host = InferenceComponentEndpoint(
        stack, "Host", capacity=InstanceCapacity(pools=pools), max_instance_count=2
    )
    host.add_model("Mistral", model=MISTRAL)

    each = {"look up": 2, "prepare": 2, "render": 2, "check": 2, "plan": 2}
    assert defined == each
    assert calls == {**each, "pack": 2}


def test_an_endpoint_of_one_model_asks_each_answer_once(
    stack: Stack, calls: Counter[str]
) -> None:
    """
    There is nothing to pack: the model fills its instances.
    """
    LlmEndpoint(stack, "Llm", model=MISTRAL, instance_type="ml.g5.12xlarge")

    assert calls == {"prepare": 1, "render": 1, "check": 1, "plan": 1, "look up": 1}


def test_an_endpoint_of_a_folder_reads_it_once(
    stack: Stack, calls: Counter[str], tmp_path: Path
) -> None:
    """
    What is written in it is not rendered again.
    """
    (tmp_path / "serving.properties").write_text(
        "engine=MPI\noption.model_id=HuggingFaceH4/zephyr-7b-beta\n"
        "option.tensor_parallel_degree=4\n"
    )
    serving = ServingFolder(
        tmp_path, container_family="djl-tensorrtllm", version="0.26.0"
    )
    LlmEndpoint(stack, "Llm", serving=serving, instance_type="ml.g5.12xlarge")

    assert calls == {
        "prepare": 1,
        "folder": 1,
        "walk": 1,
        "check": 1,
        "plan": 1,
        "look up": 1,
    }
