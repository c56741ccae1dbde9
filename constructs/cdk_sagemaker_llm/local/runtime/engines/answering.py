"""
Which engine answers a request, and in what form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cdk_sagemaker_llm.local.runtime.answers import Answer
from cdk_sagemaker_llm.local.runtime.engines import llama_cpp, sglang, tei, vllm
from cdk_sagemaker_llm.local.runtime.engines.asked import Asked
from cdk_sagemaker_llm.local.runtime.engines.started import StartedEngine

_ENGINES: Mapping[str, Callable[[StartedEngine, Asked], Answer]] = {
    "vllm": vllm.answer,
    "vllm-neuron": vllm.answer,
    "vllm-omni": vllm.answer,
    "sglang": sglang.answer,
    "llama.cpp": llama_cpp.answer,
    "tei": tei.answer,
}


def answer(engine: StartedEngine, asked: Asked) -> Answer:
    """
    Answer a request as an engine does.

    Args:
        engine: The engine.

        asked: The request.

    Raises:
        RefusedError: If the engine refuses it.
    """
    return _ENGINES[engine.release.engine](engine, asked)
