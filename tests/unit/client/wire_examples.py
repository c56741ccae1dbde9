"""
Answers as containers write them: the same one in every format, and odd ones.
"""

from __future__ import annotations

import array
import base64
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.client import FinishReason, Token, ToolCall, Usage

WIRE = Path(__file__).parents[2] / "local" / "wire"

# "The cat sat." and its end: the answer of the recorded bodies.
CAT = (
    Token("The", 1124, -0.5),
    Token(" cat", 278, -1.25),
    Token(" sat", 0, 0.0),
    Token(".", 29889, -0.125),
)
END = Token("", 2, -0.01)
STOP = FinishReason.STOP
FIVE = Usage(None, 5)
CALL = ToolCall("look_up", '{"city": "Köln"}', "call_1")
# Every length of UTF-8, what JSON escapes, and line breaks that are none.
ODD = 'é € 😀 "\\/\n\t\u2028\x85\x0b'


@dataclass(frozen=True, slots=True)
class Example:
    """
    A body and what it says.

    Args:
        name: What wrote it.

        body: The bytes.

        tokens: What a stream of them gives.

        error: The class of the error that ends it, if one does.

        text: The answer, or as much of it as there is.
    """

    name: str
    body: bytes
    tokens: tuple[Token, ...] = ()
    error: str = ""
    text: str = ""


def recorded(version: str) -> Any:  # noqa: ANN401 - JSON
    """
    Read the bodies that a version was recorded to write.
    """
    return json.loads((WIRE / f"lmi_{version}.json").read_text())


def ended(
    *tokens: Token,
    reason: FinishReason | None = STOP,
    usage: Usage | None = None,
    calls: tuple[ToolCall, ...] = (),
) -> tuple[Token, ...]:
    """
    Give the last token what the last token carries.
    """
    *before, last = tokens
    done = replace(last, finish_reason=reason, usage=usage, tool_calls=calls)
    return (*before, done)


def lines(*records: object) -> bytes:
    """
    Write JSON lines.
    """
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def events(
    *records: object, space: bool = True, done: bool = True, ascii_only: bool = False
) -> bytes:
    """
    Write server-sent events.
    """
    start = "data: " if space else "data:"
    written = [
        f"{start}{json.dumps(record, ensure_ascii=ascii_only)}\n\n"
        for record in records
    ]
    return "".join([*written, "data: [DONE]\n\n" if done else ""]).encode()


def chunk(
    delta: dict[str, Any] | None, reason: str | None = None, **choice: object
) -> dict[str, Any]:
    """
    Write a chunk of a chat.
    """
    choices = [{"index": 0, "delta": delta, "finish_reason": reason, **choice}]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": choices,
    }


def logprobs(*tokens: tuple[str, float]) -> dict[str, Any]:
    """
    Write the log probabilities of a chat.
    """
    content = [
        {"token": text, "logprob": value, "bytes": list(text.encode())}
        for text, value in tokens
    ]
    return {"content": content}


def _lmi() -> list[Example]:
    made = []
    for version in ("0.26", "0.28"):
        for name, body in recorded(version).items():
            usage = None if version == "0.26" else FIVE
            made.append(_lmi_example(f"{version} {name}", body["body"], usage))
    for name, body in recorded("async_0.35").items():
        made.append(_async_example(f"0.35 {name}", body["body"]))
    return made


def _lmi_example(name: str, body: str, usage: Usage | None) -> Example:
    whole = "The cat sat."
    if "error" in name:
        before = () if "json_" in name else CAT[:1]
        return Example(name, body.encode(), before, "ModelError", "The")
    if "json_details_false" in name:
        return Example(name, body.encode(), (Token(whole),), text=whole)
    if "details_false" in name and "tgi" not in name:
        return Example(name, body.encode(), (*CAT, END), text=whole)
    tokens = ended(*CAT, END, usage=usage)
    return Example(name, body.encode(), tokens, text=whole)


def _async_example(name: str, body: str) -> Example:
    if "error" in name:
        return Example(name, body.encode(), (), "ModelError")
    if "async_details_false" in name:
        tokens: tuple[Token, ...] = (Token("The cat"),)
    elif "stream_details_false" in name:
        tokens = CAT[:2]
    elif "stream" in name:
        tokens = ended(*CAT[:2], reason=FinishReason.LENGTH, usage=Usage(1, 3))
    else:
        tokens = ended(*CAT[:2], reason=None, usage=Usage(None, 2))
    return Example(name, body.encode(), tokens, text="The cat")


def _lmi_27() -> Example:
    said = [
        {"token": {"id": [1124], "text": "The", "log_prob": -0.5}},
        {"token": {"id": [278], "text": " cat", "log_prob": -1.25}},
        {"token": {"id": [0], "text": " sat"}},
        {"token": {"id": [29889], "text": ".", "log_prob": -0.125}},
        {
            "token": {"id": [2], "log_prob": -0.01},
            "generated_text": "The cat sat.",
            "details": {"finish_reason": "eos_token", "generated_tokens": 5},
        },
    ]
    tokens = ended(*CAT, END, usage=FIVE)
    return Example("0.27 jsonlines", lines(*said), tokens, text="The cat sat.")


def _lmi_errors() -> list[Example]:
    appended = b'{\n  "code": 424,\n  "error": ""\n}'
    first = lines({"token": {"id": 1124, "text": "The", "log_prob": -0.5}})
    return [
        Example("0.26 line, error", first + appended, CAT[:1], "ModelError", "The"),
        Example(
            "0.26 json, error",
            b'{"generated_text": "The' + appended,
            (),
            "ModelError",
            "The",
        ),
        Example(
            "0.26 batch, error",
            b'{"generated_text": "The{"type":"X","code":500,"message":"Batch failed"}',
            (),
            "ModelError",
            "The",
        ),
        Example(
            "0.29 whole error",
            json.dumps(
                {
                    "generated_text": None,
                    "error": "out of blocks",
                    "code": 400,
                    "details": {"finish_reason": "error"},
                }
            ).encode(),
            (),
            "ModelError",
        ),
        Example(
            "server's own error, indented",
            json.dumps(
                {"code": 503, "type": "X", "message": "full"}, indent=2
            ).encode(),
            (),
            "ModelError",
        ),
    ]


def _tgi() -> list[Example]:
    listed = [
        {"id": t.token_id, "text": t.text, "logprob": t.log_prob, "special": False}
        for t in CAT
    ]
    end = {"id": 2, "text": "</s>", "logprob": -0.01, "special": True}
    details = {"finish_reason": "eos_token", "generated_tokens": 5, "seed": None}
    whole = {
        "generated_text": "The cat sat.",
        "details": {**details, "prefill": [], "tokens": [*listed, end]},
    }
    streamed: list[dict[str, Any]] = [
        {"index": i, "token": token, "generated_text": None, "details": None}
        for i, token in enumerate([*listed, end], start=1)
    ]
    streamed[-1]["generated_text"] = "The cat sat."
    streamed[-1]["details"] = details | {"input_length": 3}
    special = replace(END, special=True)
    sse = events(*streamed, space=False, done=False)
    failed = events(
        streamed[0],
        {"error": "Request failed during generation", "error_type": "generation"},
        space=False,
        done=False,
    )
    streamed_tokens = ended(*CAT, special, usage=Usage(3, 5))
    return [
        Example(
            "tgi array",
            json.dumps([whole], separators=(",", ":")).encode(),
            ended(*CAT, special, usage=FIVE),
            text="The cat sat.",
        ),
        Example("tgi sse", sse, streamed_tokens, text="The cat sat."),
        Example(
            "tgi sse, kept alive",
            b":\n\n" + sse.replace(b"\n\n", b"\n\n:\n\n", 2).replace(b"\n", b"\r\n"),
            streamed_tokens,
            text="The cat sat.",
        ),
        Example(
            "tgi sse, no last line end",
            sse.rstrip(),
            streamed_tokens,
            text="The cat sat.",
        ),
        Example("tgi sse, error", failed, CAT[:1], "ModelError", "The"),
        Example(
            "dynamic batch",
            b'[{"generated_text": "The cat"}]',
            (Token("The cat"),),
            text="The cat",
        ),
    ]


def _chats() -> list[Example]:
    usage = {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}
    plain = [
        chunk({"role": "assistant", "content": ""}, logprobs=None),
        chunk({"content": "The"}, logprobs=logprobs(("The", -0.5))),
        chunk(
            {"content": " cat sat"}, logprobs=logprobs((" cat", -1.25), (" sat", 0.0))
        ),
        chunk({"content": "."}, logprobs=logprobs((".", -0.125))),
        chunk({}, "stop", stop_reason=None),
        {**chunk(None), "choices": [], "usage": usage},
    ]
    said = [replace(token, token_id=None) for token in CAT]
    tokens = ended(*said, Token(""), usage=Usage(3, 5))
    thoughts = [
        chunk({"role": "assistant", "content": "", "reasoning_content": None}),
        chunk({"reasoning_content": "Hm"}),
        chunk({"reasoning": ", well"}),
        chunk({"content": ODD}),
        chunk({"content": ""}, "stop", stop_reason="\n"),
    ]
    first = {"name": "look_up", "arguments": ""}
    called = [
        chunk({"role": "assistant", "content": None}),
        chunk({"tool_calls": [{"index": 0, "id": "call_1", "function": first}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"city": '}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": '"Köln"}'}}]}),
        chunk({}, "tool_calls"),
    ]
    return [
        Example("vllm chat", events(*plain), tokens, text="The cat sat."),
        Example("lmi chat, lines", lines(*plain), tokens, text="The cat sat."),
        Example(
            "reasoning",
            events(*thoughts),
            (
                Token("", reasoning="Hm"),
                Token("", reasoning=", well"),
                *ended(Token(ODD), Token(""), reason=FinishReason.STOP_SEQUENCE),
            ),
            text=ODD,
        ),
        Example(
            "escaped",
            events(chunk({"content": ODD}), chunk({}, "stop"), ascii_only=True),
            ended(Token(ODD), Token("")),
            text=ODD,
        ),
        Example(
            "tools",
            events(*called),
            ended(Token(""), reason=FinishReason.TOOL_CALLS, calls=(CALL,)),
        ),
        Example(
            "vllm chat, error",
            events(
                plain[1],
                {"error": {"message": "boom", "type": "X", "code": 500}},
            ),
            (said[0],),
            "ModelError",
            "The",
        ),
        Example(
            "sglang, error",
            b'{"object":"error","message":"bad","type":"BadRequestError","code":400}',
            (),
            "ModelError",
        ),
        Example(
            "old llama.cpp, error",
            b'error: {"code":500,"message":"slot","type":"server_error"}\n\n',
            (),
            "ModelError",
        ),
        Example(
            "cut",
            events(*plain[:3], done=False),
            tuple(said[:3]),
            "ConnectionCutError",
            "The cat sat",
        ),
        *_documents(usage),
    ]


def _documents(usage: dict[str, int]) -> list[Example]:
    message = {"role": "assistant", "content": "The cat sat.", "tool_calls": []}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    head = {"id": "1", "object": "chat.completion", "usage": usage}
    listed = logprobs(("The", -0.5), (" cat", -1.25), (" sat", 0.0), (".", -0.125))
    said = [replace(token, token_id=None) for token in CAT]
    function = {"name": CALL.name, "arguments": CALL.arguments}
    calls = {
        "role": "assistant",
        "content": None,
        "reasoning_content": "Hm",
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }
    called = {"index": 0, "message": calls, "finish_reason": "tool_calls"}
    legacy = {
        "tokens": [token.text for token in CAT],
        "token_logprobs": [token.log_prob for token in CAT],
        "text_offset": [0, 3, 7, 11],
    }
    completed = {"index": 0, "text": "The cat sat.", "finish_reason": "length"}
    pieces = [{"choices": [{"index": 0, "text": token.text}]} for token in CAT]
    last = {"choices": [{"index": 0, "text": "", "finish_reason": "length"}]}
    counted = Usage(3, 5)
    return [
        Example(
            "chat document",
            json.dumps({**head, "choices": [choice]}).encode(),
            ended(Token("The cat sat."), usage=counted),
            text="The cat sat.",
        ),
        Example(
            "chat document, log probabilities",
            json.dumps(
                {**head, "choices": [{**choice, "logprobs": listed}]}, indent=1
            ).encode(),
            ended(*said, usage=counted),
            text="The cat sat.",
        ),
        Example(
            "tools document",
            json.dumps({"choices": [called]}).encode(),
            ended(
                Token("", reasoning="Hm"), reason=FinishReason.TOOL_CALLS, calls=(CALL,)
            ),
        ),
        Example(
            "completion",
            json.dumps({"choices": [{**completed, "logprobs": legacy}]}).encode(),
            ended(*said, reason=FinishReason.LENGTH),
            text="The cat sat.",
        ),
        Example(
            "completion stream",
            events(*pieces, last),
            ended(
                *(Token(token.text) for token in CAT),
                Token(""),
                reason=FinishReason.LENGTH,
            ),
            text="The cat sat.",
        ),
        Example(
            "llama.cpp stream",
            events(
                {"content": "The", "stop": False, "tokens": [1124]},
                {"content": " cat", "stop": False, "tokens": [278]},
                {
                    "content": "",
                    "stop": True,
                    "stop_type": "limit",
                    "tokens_predicted": 2,
                    "tokens_evaluated": 4,
                },
                done=False,
            ),
            ended(
                Token("The", 1124),
                Token(" cat", 278),
                Token(""),
                reason=FinishReason.LENGTH,
                usage=Usage(4, 2),
            ),
            text="The cat",
        ),
    ]


VECTORS = ((0.5, -1.0, 0.25), (2.0, 0.0, -0.125))
_BASE64 = [base64.b64encode(array.array("f", v).tobytes()).decode() for v in VECTORS]
EMBEDDINGS = {
    "tei": json.dumps(VECTORS).encode(),
    "vllm": json.dumps(
        {
            "object": "list",
            "data": [
                {"index": i, "object": "embedding", "embedding": list(VECTORS[i])}
                for i in (1, 0)
            ],
            "usage": {"prompt_tokens": 6, "total_tokens": 6},
        }
    ).encode(),
    "vllm base64": json.dumps(
        {
            "data": [{"index": i, "embedding": text} for i, text in enumerate(_BASE64)],
            "usage": {"prompt_tokens": 6},
        }
    ).encode(),
}

EXAMPLES = [*_lmi(), _lmi_27(), *_lmi_errors(), *_tgi(), *_chats()]
