"""
An answer to a chat, at once or as a stream, as vLLM, SGLang and llama.cpp write it.

Read in vLLM 0.13.0 and 0.30.0 and in SGLang 0.5.23; llama.cpp's in its server.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

from cdk_sagemaker_llm.catalog.engine_arguments import is_release_between
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines.bodies import (
    DONE,
    SSE,
    dump,
    event,
    log_probs,
    token_count,
)
from cdk_sagemaker_llm.local.engines.containers import JSON, Answer
from cdk_sagemaker_llm.local.engines.story import Speech, Token, chosen_call, say

# Pull requests 27752 and 33402 of vLLM.
_REASONING_SINCE = "0.12.0"
_REASONING_CONTENT_UNTIL = "0.15.1"
# Pull request 44105, which 0.23.0 does not have.
_NO_EMPTY_CALLS_SINCE = "0.24.0"


class Chat:
    """
    One chat, with what its request asks for.

    Args:
        words: What the engine calls the parts of its answer.

        body: The request.

        prompt: Its messages as one text.

        count: How many tokens the answer may have.

        thinks: Whether the engine takes thoughts apart.
    """

    def __init__(
        self,
        words: Words,
        body: Mapping[str, Any],
        *,
        prompt: str,
        count: int,
        thinks: bool = False,
    ) -> None:
        self._words = words
        self._body = body
        self._prompt_tokens = token_count(prompt)
        self._speech = say(
            prompt,
            count,
            stops=stops_of(body),
            thinks=thinks and _may_think(body),
            call=chosen_call(body, words.call_prefix),
        )
        self._number = choice_count(body)

    def answer(self) -> Answer:
        """
        Write it.
        """
        answer_tokens = self._speech.count * self._number
        usage = self._words.usage(self._prompt_tokens, answer_tokens)
        if self._body.get("stream"):
            pieces = [*map(event, self._chunks(usage)), DONE]
            return Answer(SSE, pieces, answer_tokens)
        choices = [
            {
                "index": index,
                "message": self._words.message(self._speech),
                "logprobs": self._log_probs(self._speech.visible_tokens),
                **self._words.ending(self._speech),
            }
            for index in range(self._number)
        ]
        return Answer(JSON, [dump(self._words.whole(choices, usage))], answer_tokens)

    def _chunks(self, usage: dict[str, Any]) -> Iterator[dict[str, Any]]:
        first = {"role": "assistant", "content": self._words.first_content}
        for index in range(self._number):
            yield self._chunk(index, self._words.delta(**first))
        for index in range(self._number):
            for delta, tokens in self._deltas(self._speech):
                yield self._chunk(index, delta, tokens)
            last = self._chunk(index, self._words.delta())
            last["choices"][0].update(self._words.ending(self._speech))
            yield last
        options = self._body.get("stream_options") or {}
        if options.get("include_usage"):
            yield {**self._words.chunk([]), "usage": usage}

    def _deltas(
        self, speech: Speech
    ) -> Iterator[tuple[dict[str, Any], tuple[Token, ...]]]:
        for token in speech.thoughts:
            yield self._words.thought(token.text), (token,)
        for token in speech.tokens:
            yield self._words.delta(content=token.text), (token,)
        if speech.call is not None:
            whole = {**speech.call.as_message(), "index": 0}
            begun = {**whole, "function": {"name": speech.call.name, "arguments": ""}}
            yield self._words.delta(tool_calls=[begun]), ()
            call_delta = {"index": 0, "function": {"arguments": speech.call.arguments}}
            yield self._words.delta(tool_calls=[call_delta]), ()

    def _chunk(
        self, index: int, delta: dict[str, Any], tokens: tuple[Token, ...] = ()
    ) -> dict[str, Any]:
        choice: dict[str, Any] = {
            "index": index,
            "delta": delta,
            "logprobs": self._log_probs(tokens) if tokens else None,
            **self._words.ending(None),
        }
        return self._words.chunk([choice])

    def _log_probs(self, tokens: tuple[Token, ...]) -> Untyped:
        if not self._body.get("logprobs"):
            return None
        return log_probs(tokens, self._body.get("top_logprobs") or 0)


def stops_of(body: Mapping[str, Any]) -> tuple[str, ...]:
    """
    Return the strings that are to end an answer.
    """
    value = body.get("stop") or ()
    stops = (value,) if isinstance(value, str) else value
    return tuple(stop for stop in stops if isinstance(stop, str) and stop)


def choice_count(body: Mapping[str, Any]) -> int:
    """
    Return how many answers a request asks for.
    """
    number = body.get("n")
    return number if isinstance(number, int) and number > 1 else 1


def _may_think(body: Mapping[str, Any]) -> bool:
    template_options = body.get("chat_template_kwargs")
    return (
        not isinstance(template_options, dict)
        or template_options.get("enable_thinking") is not False
    )


class Words(ABC):
    """
    What an engine calls the parts of a chat.

    Args:
        model: What the answer calls the model.

        created: When, in seconds since 1970.
    """

    call_prefix = "call_"
    first_content: str | None = ""

    def __init__(self, model: str, created: int) -> None:
        self._model = model
        self._created = created
        self._id = self._new_id()

    @abstractmethod
    def message(self, speech: Speech) -> dict[str, Any]:
        """
        Return the message of an answer at once.
        """

    @abstractmethod
    def ending(self, speech: Speech | None) -> dict[str, Any]:
        """
        Return why a choice ends; of a part in the middle of a stream, that it does not.
        """

    @abstractmethod
    def usage(self, prompt_tokens: int, answer_tokens: int) -> dict[str, Any]:
        """
        Count tokens.
        """

    def whole(
        self, choices: list[dict[str, Any]], usage: dict[str, Any]
    ) -> dict[str, Any]:
        """
        Return an answer at once.
        """
        return {**self._head("chat.completion"), "choices": choices, "usage": usage}

    def chunk(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        """
        Return one part of a stream.
        """
        return {**self._head("chat.completion.chunk"), "choices": choices}

    def delta(self, **parts: object) -> dict[str, Any]:
        """
        Return what is new in one part of a stream.
        """
        return parts

    def thought(self, text: str) -> dict[str, Any]:
        """
        Return what is new where the model thinks.
        """
        return self.delta(reasoning_content=text)

    def _new_id(self) -> str:
        return f"chatcmpl-{uuid.uuid4().hex}"

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": self._id,
            "object": kind,
            "created": self._created,
            "model": self._model,
        }


class VllmWords(Words):
    """
    Those of vLLM.

    Args:
        model: What the answer calls the model.

        created: When, in seconds since 1970.

        release: vLLM's release.
    """

    call_prefix = "chatcmpl-tool-"

    def __init__(self, model: str, created: int, release: str) -> None:
        super().__init__(model, created)
        self._release = release

    def message(self, speech: Speech) -> dict[str, Any]:
        """
        Return the message of an answer at once.
        """
        calls = [speech.call.as_message()] if speech.call else []
        keeps_empty = not is_release_between(self._release, _NO_EMPTY_CALLS_SINCE)
        return {
            "role": "assistant",
            "content": _content(speech),
            "refusal": None,
            "annotations": None,
            "audio": None,
            "function_call": None,
            **({"tool_calls": calls} if calls or keeps_empty else {}),
            **self._reasoning(speech.thought or None),
        }

    def ending(self, speech: Speech | None) -> dict[str, Any]:
        """
        Return why a choice ends, and the string that ended it.
        """
        if speech is None:
            return {"finish_reason": None}
        return {"finish_reason": speech.reason, "stop_reason": speech.stop}

    def usage(self, prompt_tokens: int, answer_tokens: int) -> dict[str, Any]:
        """
        Count tokens.
        """
        return vllm_usage(prompt_tokens, answer_tokens)

    def whole(
        self, choices: list[dict[str, Any]], usage: dict[str, Any]
    ) -> dict[str, Any]:
        """
        Return an answer at once, with all that is not set.
        """
        return {
            **self._head("chat.completion"),
            "choices": [{**choice, "token_ids": None} for choice in choices],
            "service_tier": None,
            "system_fingerprint": None,
            "usage": usage,
            "prompt_logprobs": None,
            "prompt_token_ids": None,
            "kv_transfer_params": None,
        }

    def thought(self, text: str) -> dict[str, Any]:
        """
        Return what is new where the model thinks.
        """
        return self._reasoning(text)

    def _reasoning(self, thought: str | None) -> dict[str, Any]:
        new = is_release_between(self._release, _REASONING_SINCE)
        old = is_release_between(self._release, "0", _REASONING_CONTENT_UNTIL)
        return {
            **({"reasoning": thought} if new else {}),
            **({"reasoning_content": thought} if old else {}),
        }


class SglangWords(Words):
    """
    Those of SGLang, which leaves little out.
    """

    def message(self, speech: Speech) -> dict[str, Any]:
        """
        Return the message of an answer at once.
        """
        calls = {"tool_calls": [_numbered(speech)]} if speech.call else {}
        return {
            "role": "assistant",
            "content": _content(speech),
            "reasoning_content": speech.thought or None,
            **calls,
        }

    def ending(self, speech: Speech | None) -> dict[str, Any]:
        """
        Return why a choice ends, and the string or the token that ended it.
        """
        if speech is None:
            return {"finish_reason": None, "matched_stop": None}
        matched: str | int | None = speech.end.id if speech.end else speech.stop
        return {"finish_reason": speech.reason, "matched_stop": matched}

    def usage(self, prompt_tokens: int, answer_tokens: int) -> dict[str, Any]:
        """
        Count tokens.
        """
        return {
            "prompt_tokens": prompt_tokens,
            "total_tokens": prompt_tokens + answer_tokens,
            "completion_tokens": answer_tokens,
            "prompt_tokens_details": None,
            "reasoning_tokens": 0,
        }

    def whole(
        self, choices: list[dict[str, Any]], usage: dict[str, Any]
    ) -> dict[str, Any]:
        """
        Return an answer at once.
        """
        version = {"metadata": {"weight_version": "default"}}
        return {**super().whole(choices, usage), **version}

    def chunk(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        """
        Return one part of a stream.
        """
        return {**super().chunk(choices), "usage": None}

    def delta(self, **parts: object) -> dict[str, Any]:
        """
        Return what is new in one part of a stream, and what is not.
        """
        nothing = {"role": None, "content": None, "reasoning_content": None}
        return {**nothing, **parts}

    def _new_id(self) -> str:
        return uuid.uuid4().hex


class LlamaCppWords(Words):
    """
    Those of llama.cpp.

    Args:
        model: What the answer calls the model.

        created: When, in seconds since 1970.

        build: What the answer calls the server's build.
    """

    call_prefix = ""
    first_content = None

    def __init__(self, model: str, created: int, build: str) -> None:
        super().__init__(model, created)
        self._build = build

    def message(self, speech: Speech) -> dict[str, Any]:
        """
        Return the message of an answer at once.
        """
        thought = {"reasoning_content": speech.thought} if speech.thought else {}
        calls = {"tool_calls": [speech.call.as_message()]} if speech.call else {}
        text = "" if speech.call else speech.text
        return {"role": "assistant", "content": text, **thought, **calls}

    def ending(self, speech: Speech | None) -> dict[str, Any]:
        """
        Return why a choice ends.
        """
        return {"finish_reason": speech.reason if speech else None}

    def usage(self, prompt_tokens: int, answer_tokens: int) -> dict[str, Any]:
        """
        Count tokens.
        """
        return {
            "completion_tokens": answer_tokens,
            "prompt_tokens": prompt_tokens,
            "total_tokens": prompt_tokens + answer_tokens,
        }

    def _head(self, kind: str) -> dict[str, Any]:
        return {**super()._head(kind), "system_fingerprint": self._build}


def vllm_usage(prompt_tokens: int, answer_tokens: int) -> dict[str, Any]:
    """
    Count tokens as vLLM does, whatever the request was.
    """
    return {
        "prompt_tokens": prompt_tokens,
        "total_tokens": prompt_tokens + answer_tokens,
        "completion_tokens": answer_tokens,
        "prompt_tokens_details": None,
    }


def _content(speech: Speech) -> str | None:
    if speech.call is not None or (speech.thoughts and not speech.tokens):
        return None
    return speech.text


def _numbered(speech: Speech) -> dict[str, Any]:
    return {**(speech.call.as_message() if speech.call else {}), "index": 0}
