"""
The wire formats of LMI, byte for byte as each generation of it writes them.
"""

from __future__ import annotations

import json
from typing import Any

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines.containers import ServingContainer, Version
from cdk_sagemaker_llm.local.engines.story import Generation, Token

JSON = "application/json"
JSON_LINES = "application/jsonlines"
_FORMATTED_CONTENT = {"json": JSON, "jsonlines": JSON_LINES, "sse": "text/event-stream"}


def answer(
    container: ServingContainer, generation: Generation, *, details: bool, stream: bool
) -> tuple[str, list[bytes]]:
    """
    Return the content type and the pieces of the body, as they are written.
    """
    if container.is_async:
        render = _async_stream if stream else _async_body
        pieces = render(generation, details)
        return JSON_LINES if stream else JSON, pieces
    tgi = container.options.get("tgi_compat", "").lower() == "true"
    formatter = _formatter(container, stream=stream, tgi=tgi)
    writer = RollingBatch(container.version, tgi=tgi)
    pieces = writer.write(formatter, generation, details=details or tgi)
    return _FORMATTED_CONTENT[formatter], pieces


def _formatter(container: ServingContainer, *, stream: bool, tgi: bool) -> str:
    formatter = container.options.get("output_formatter")
    if formatter in _FORMATTED_CONTENT:
        return formatter
    # 0.26 does not look at the request's `stream`: only the option decides there.
    if not stream or container.version < (0, 27):
        return "json"
    return "sse" if tgi else "jsonlines"


class RollingBatch:
    """
    The formatters of LMI's rolling batch, up to 0.34 and by choice later.

    Args:
        version: LMI's version.

        tgi: Whether ``option.tgi_compat`` is set.
    """

    def __init__(self, version: Version, *, tgi: bool = False) -> None:
        self._version = version
        self._tgi = tgi

    def write(
        self, formatter: str, generation: Generation, *, details: bool
    ) -> list[bytes]:
        """
        Return the pieces of a body, one for each token.
        """
        if formatter == "json":
            return self._json(generation, details=details)
        return self._lines(generation, details=details, sse=formatter == "sse")

    def _json(self, generation: Generation, *, details: bool) -> list[bytes]:
        opening, closing = ("[", "]") if self._tgi else ("", "")
        prompt = generation.prompt if generation.full_text else ""
        *before, last = generation.all_tokens
        pieces = [_escaped(token.text) for token in before]
        end = _escaped(last.text) + '"'
        if details:
            tokens = [self._token(token) for token in generation.all_tokens]
            end += (
                f', "details": {_dump({**self._details(generation), "tokens": tokens})}'
            )
        pieces.append(end + "}" + closing)
        pieces[0] = f'{opening}{{"generated_text": "{_escaped(prompt)}{pieces[0]}'
        return [piece.encode() for piece in pieces]

    def _lines(
        self, generation: Generation, *, details: bool, sse: bool
    ) -> list[bytes]:
        lines: list[dict[str, Any]] = [
            {"token": self._token(token)} for token in generation.all_tokens
        ]
        lines[-1]["generated_text"] = generation.text
        if details:
            lines[-1]["details"] = self._details(generation)
        before, after = ("data: ", "\n\n") if sse else ("", "\n")
        return [f"{before}{_dump(line)}{after}".encode() for line in lines]

    def _token(self, token: Token) -> dict[str, Any]:
        log_prob = "logprob" if self._tgi else "log_prob"
        # 0.27 alone writes the id as a list; up to 0.27 whatever is falsy is left out.
        token_id = [token.id] if self._version[:2] == (0, 27) else token.id
        fields = {"id": token_id, "text": token.text, log_prob: token.log_prob}
        if self._version >= (0, 28):
            return fields
        return {key: value for key, value in fields.items() if value}

    def _details(self, generation: Generation) -> dict[str, Any]:
        reason = "eos_token" if generation.end else "length"
        if self._version < (0, 27):
            return {"finish_reason": reason}
        return {
            "finish_reason": reason,
            "generated_tokens": len(generation.all_tokens),
            "inputs": generation.prompt,
        }


def _async_body(generation: Generation, details: bool) -> list[bytes]:  # noqa: FBT001 - one of two renderers
    body: dict[str, Any] = {"generated_text": generation.text}
    if details:
        body["details"] = {
            # The stop string that was hit, not the reason: null for both others.
            "finish_reason": None,
            "generated_tokens": len(generation.tokens),
            "seed": None,
            "prefill": [],
            "tokens": [_async_token(token) for token in generation.tokens],
        }
    return [f"{_dump(body)}\n".encode()]


def _async_stream(generation: Generation, details: bool) -> list[bytes]:  # noqa: FBT001 - one of two renderers
    lines: list[dict[str, Any]] = [
        {
            "index": 0,
            "token": _async_token(token),
            "generated_text": None,
            "details": None,
        }
        for token in generation.tokens or generation.all_tokens
    ]
    lines[-1]["generated_text"] = generation.text
    if details:
        lines[-1]["details"] = {
            "finish_reason": "stop" if generation.end else "length",
            "seed": None,
            # The recorded bodies count one more than the tokens they show.
            "generated_tokens": len(lines) + 1,
            "input_length": max(1, len(generation.prompt.split())),
        }
    pieces = [f"{_dump(line)}\n".encode() for line in lines]
    return [*pieces, b"\n", b"\n"]


def _async_token(token: Token) -> dict[str, Any]:
    return {"id": token.id, "text": token.text, "logprob": token.log_prob}


def _escaped(text: str) -> str:
    return _dump(text)[1:-1]


def _dump(value: Untyped) -> str:
    return json.dumps(value, ensure_ascii=False)
