"""
What vLLM refuses: prompts and answers that are too long, and adapters.

Read in vLLM 0.13.0 (serving_engine.py) and 0.30.0 (renderers/params.py); adapters,
which SageMaker loads by POST and DELETE ``/adapters``, in
model-hosting-container-standards 0.1.16 and in vLLM's
entrypoints/openai/models/serving.py and lora/peft_helper.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from cdk_sagemaker_llm.catalog.engine_arguments import is_release_between
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines.bodies import (
    RefusedError,
    nested,
    plain,
    token_count,
)
from cdk_sagemaker_llm.local.engines.engine import StartedEngine

# Between the two releases that were read; which one changed it is not known.
RENDERERS_SINCE = "0.17.0"
_SHORTEN = "Please reduce the length of the input"

ADAPTER_CONFIG = "adapter_config.json"
_DEFAULT_RANK = 16


_COMPLETION = "max_completion_tokens"


def renders(engine: StartedEngine) -> bool:
    """
    Whether a release has vLLM's renderers, and with them its errors of their own.
    """
    release = engine.release.engine_version
    return release is None or is_release_between(release, RENDERERS_SINCE)


def faulty(
    message: str, parameter: str, value: Untyped = None, *, engine: StartedEngine
) -> RefusedError:
    """
    Make the refusal of a field, which later releases name once more in the message.
    """
    if not renders(engine):
        return nested(message)
    suffix = "" if value is None else f", value={value}"
    return nested(f"{message} (parameter={parameter}{suffix})", parameter)


def allowed_tokens(
    engine: StartedEngine, body: Mapping[str, Any], prompt: str, default: int
) -> int:
    """
    Return how many tokens an answer may have.

    Args:
        engine: The engine.

        body: The request.

        prompt: Its prompt.

        default: How many, where the request does not say, as far as there is room.

    Raises:
        RefusedError: If they do not fit.
    """
    name = "max_tokens" if body.get("max_completion_tokens") is None else _COMPLETION
    limit = body.get(name)
    if limit is not None and limit < 1:
        message = f"max_tokens must be at least 1, got {limit}."
        raise faulty(message, "max_tokens", limit, engine=engine)
    room, prompt_tokens = engine.context_length, token_count(prompt)
    if room is None:
        return default if limit is None else int(limit)
    if renders(engine):
        _hold_new(engine, room, prompt_tokens, limit or 0, name)
        if prompt_tokens == room:
            message = "max_tokens must be at least 1, got 0."
            raise faulty(message, "max_tokens", 0, engine=engine)
    else:
        _hold_old(room, prompt_tokens, limit)
    return min(default, room - prompt_tokens) if limit is None else int(limit)


def hold_input(engine: StartedEngine, texts: list[str], task: str) -> None:
    """
    Hold that no text is longer than what a model reads at once.

    Raises:
        RefusedError: If one is.
    """
    room = engine.context_length
    longest = max(map(token_count, texts), default=0)
    if room is None or longest <= room:
        return
    if renders(engine):
        _hold_new(engine, room, longest, 0, "max_tokens")
    raise nested(
        f"This model's maximum context length is {room} tokens. However, you "
        f"requested {longest} tokens in the input for {task}. {_SHORTEN}."
    )


def _hold_new(
    engine: StartedEngine, room: int, prompt_tokens: int, limit: int, name: str
) -> None:
    if limit > room:
        message = (
            f"{name}={limit} cannot be greater than max_model_len=max_total_tokens="
            f"{room}. Please request fewer output tokens."
        )
        raise faulty(message, name, limit, engine=engine)
    if prompt_tokens + limit <= room:
        return
    # The tokenizer stops at one token more than there is room for.
    read = room - limit + 1
    message = (
        f"This model's maximum context length is {room} tokens. However, you "
        f"requested {limit} output tokens and your prompt contains at least {read} "
        f"input tokens, for a total of at least {room + 1} tokens. {_SHORTEN} prompt "
        "or the number of requested output tokens."
    )
    raise faulty(message, "input_tokens", read, engine=engine)


def _hold_old(room: int, prompt_tokens: int, limit: int | None) -> None:
    if prompt_tokens >= room:
        raise nested(
            f"This model's maximum context length is {room} tokens. However, your "
            f"request has {prompt_tokens} input tokens. {_SHORTEN} messages."
        )
    if limit is not None and prompt_tokens + limit > room:
        raise nested(
            f"'max_tokens' or 'max_completion_tokens' is too large: {limit}. This "
            f"model's maximum context length is {room} tokens and your request has "
            f"{prompt_tokens} input tokens ({limit} > {room} - {prompt_tokens})."
        )


def load_adapter(engine: StartedEngine, name: str, config: bytes | None) -> None:
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
        hint = " If you want to load the adapter in place, set 'load_inplace' to True."
        raise nested(
            f"The lora adapter '{name}' has already been loaded."
            + (hint if renders(engine) else ""),
            kind="InvalidUserInput",
        )
    if config is None:
        # vLLM takes the path out of what it says.
        raise nested(
            f"Loading lora {name} failed: No adapter found for <path>", status=404
        )
    faults = " ".join(_adapter_faults(engine, _read_config(config)))
    if faults:
        raise nested(faults, status=500)


def _read_config(config: bytes) -> Mapping[str, Any]:
    try:
        found: Untyped = json.loads(config)
    except (ValueError, RecursionError) as fault:
        raise nested(str(fault), status=500) from fault
    return found if isinstance(found, dict) else {}


def _adapter_faults(engine: StartedEngine, config: Mapping[str, Any]) -> Iterator[str]:
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
