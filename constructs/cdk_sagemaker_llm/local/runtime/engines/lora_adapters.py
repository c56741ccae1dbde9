"""
LoRA adapters that SageMaker loads into an engine while it runs: POST and DELETE
``/adapters``.

Read in model-hosting-container-standards 0.1.16 and in vLLM 0.13.0 and 0.30.0
(entrypoints/openai/models/serving.py, lora/peft_helper.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.runtime.engines.bodies import nested, plain
from cdk_sagemaker_llm.local.runtime.engines.started import StartedEngine
from cdk_sagemaker_llm.local.runtime.engines.vllm_limits import renders

CONFIG = "adapter_config.json"
_DEFAULT_RANK = 16


def load(engine: StartedEngine, name: str, config: bytes | None) -> None:
    """
    Load an adapter.

    Args:
        engine: The engine.

        name: What it is to be called.

        config: Its ``adapter_config.json``; ``None`` if it has none.

    Raises:
        RefusedError: If the engine does not take it.
    """
    if not engine.takes_adapters:
        # Nothing is at that path.
        raise plain(404)
    if name in engine.adapters:
        told = " If you want to load the adapter in place, set 'load_inplace' to True."
        raise nested(
            f"The lora adapter '{name}' has already been loaded."
            + (told if renders(engine) else ""),
            kind="InvalidUserInput",
        )
    if config is None:
        # vLLM takes the path out of what it says.
        raise nested(
            f"Loading lora {name} failed: No adapter found for <path>", status=404
        )
    faults = " ".join(_faults(engine, _read(config)))
    if faults:
        raise nested(faults, status=500)


def _read(config: bytes) -> Mapping[str, Any]:
    try:
        found: Untyped = json.loads(config)
    except (ValueError, RecursionError) as fault:
        raise nested(str(fault), status=500) from fault
    return found if isinstance(found, dict) else {}


def _faults(engine: StartedEngine, config: Mapping[str, Any]) -> Iterator[str]:
    if config.get("modules_to_save"):
        yield "vLLM only supports modules_to_save being None."
    if config.get("use_dora"):
        yield "vLLM does not yet support DoRA."
    rank, largest = config.get("r"), engine.settings.get("max_lora_rank")
    largest = _DEFAULT_RANK if largest is None else largest
    if isinstance(rank, int) and rank > int(largest):
        yield f"LoRA rank {rank} is greater than max_lora_rank {largest}."
    if config.get("bias", "none") != "none":
        yield "Adapter bias is not supported."
