"""
How each engine says that it takes no request.
"""

from __future__ import annotations

import json

from cdk_sagemaker_llm.local.runtime.engines.started import StartedEngine

_STATUS = {
    400: "BadRequestError",
    404: "NotFoundError",
    422: "UnprocessableEntityError",
}


class RefusedError(Exception):
    """
    A request that an engine refuses.
    """

    def __init__(self, status: int, body: str) -> None:
        super().__init__(body)
        self.status = status
        self.body = body


def refused(
    engine: StartedEngine, message: str, parameter: str | None = None, status: int = 400
) -> RefusedError:
    """
    Make an engine's refusal of a request, in its own form.
    """
    kind = _STATUS.get(status, "BadRequestError")
    name = engine.release.engine
    if name == "sglang":
        flat = {
            "object": "error",
            "message": message,
            "type": kind,
            "param": parameter,
            "code": status,
        }
        return RefusedError(status, json.dumps(flat))
    if name == "llama.cpp":
        error = {"code": status, "message": message, "type": "invalid_request_error"}
        return RefusedError(status, json.dumps({"error": error}))
    if name == "tei":
        said = {"error": message, "error_type": _tei_type(status)}
        return RefusedError(status, json.dumps(said))
    error = {"message": message, "type": kind, "param": parameter, "code": status}
    return RefusedError(status, json.dumps({"error": error}))


def too_long(engine: StartedEngine, room: int, told: int, asked: int) -> RefusedError:
    """
    Make the refusal of a prompt that is too long, with the engine's numbers.
    """
    if engine.release.engine == "sglang":
        if told > room:
            return refused(
                engine,
                f"The input ({told} tokens) is longer than the model's context length "
                f"({room} tokens).",
            )
        return refused(
            engine,
            f"Requested token count exceeds the model's maximum context length of "
            f"{room} tokens. You requested a total of {told + asked} tokens: {told} "
            f"tokens from the input messages and {asked} tokens for the completion.",
        )
    return refused(
        engine,
        f"This model's maximum context length is {room} tokens. However, you "
        f"requested {asked} output tokens and your prompt contains {told} input "
        f"tokens, for a total of {told + asked} tokens. Please reduce the length of "
        "the input prompt or the number of requested output tokens.",
        "input_tokens",
    )


def _tei_type(status: int) -> str:
    return {400: "empty", 413: "validation", 422: "tokenizer", 429: "overloaded"}.get(
        status, "backend"
    )
