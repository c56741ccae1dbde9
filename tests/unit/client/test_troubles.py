"""
What engines say went wrong, and what is made of it.
"""

from __future__ import annotations

import json

import pytest

from cdk_sagemaker_llm.client import (
    AnswerTimeoutError,
    ContextTooLongError,
    LlmError,
    ModelError,
    ThrottledError,
    read_body,
)
from cdk_sagemaker_llm.client.errors import error_of
from cdk_sagemaker_llm.client.wire.failures import Failure, read_failure

TOO_LONG = {
    "vllm": (
        (
            "This model's maximum context length is 4096 tokens. However, you "
            "requested 1000 output tokens and your prompt contains at least 3500 input "
            "tokens, for a total of at least 4500 tokens."
        ),
        (4096, 4500),
    ),
    "vllm, older": (
        (
            "This model's maximum context length is 4096 tokens. However, you "
            "requested 5000 tokens (4000 in the messages, 1000 in the completion)."
        ),
        (4096, 5000),
    ),
    "vllm, the prompt": (
        (
            "This model's maximum context length is 4096 tokens. However, your request "
            "has 5000 input tokens. Please reduce the length of the input messages."
        ),
        (4096, 5000),
    ),
    "sglang": (
        (
            "The input (5000 tokens) is longer than the model's context length "
            "(4096 tokens)."
        ),
        (4096, 5000),
    ),
    "sglang, the sum": (
        (
            "Requested token count exceeds the model's maximum context length of 4096 "
            "tokens. You requested a total of 5000 tokens: 4000 tokens from the input."
        ),
        (4096, 5000),
    ),
    "tgi": (
        (
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= "
            "4096. Given: 4000 `inputs` tokens and 1000 `max_new_tokens`"
        ),
        (4096, 5000),
    ),
    "tgi, the prompt": (
        "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
        (4096, 5000),
    ),
    "llama.cpp": (
        "the request exceeds the available context size, try increasing it",
        (None, None),
    ),
    "llama.cpp, newer": (
        (
            "request (5000 tokens) exceeds the available context size (4096 tokens), "
            "try increasing it"
        ),
        (4096, 5000),
    ),
    "vllm, the answer": (
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's "
            "maximum context length is 4096 tokens and your request has 20 input "
            "tokens (5000 > 4096 - 20)."
        ),
        (4096, 5020),
    ),
    "vllm 0.16": (
        (
            "You passed 4000 input tokens and requested 1000 output tokens. However, "
            "the model's context length is only 4096 tokens, resulting in a maximum "
            "input length of 3096 tokens. Please reduce the length of the input prompt."
        ),
        (4096, 5000),
    ),
    "vllm 0.16, characters": (
        (
            "You passed 99999 input characters and requested 1000 output tokens. "
            "However, the model's context length is only 4096 tokens, resulting in a "
            "maximum input length of 3096 tokens (at most 12384 characters)."
        ),
        (4096, None),
    ),
    "vllm 0.18, characters": (
        (
            "This model's maximum context length is 4096 tokens. However, you "
            "requested 100 output tokens and your prompt contains 99999 characters "
            "(more than 15984 characters, which is the upper bound for 3996 input "
            "tokens)."
        ),
        (4096, None),
    ),
    "vllm 0.18, at least characters": (
        (
            "This model's maximum context length is 4096 tokens. However, you "
            "requested 100 output tokens and your prompt contains at least 99999 "
            "characters (more than 15984 characters, which is the upper bound for 3996 "
            "input tokens)."
        ),
        (4096, None),
    ),
    "vllm 0.18, cut off": (
        (
            "This model's maximum context length is 4096 tokens. However, you "
            "requested 100 output tokens and your prompt contains at least 4097 input"
        ),
        (4096, 4097),
    ),
    "vllm, an answer without a prompt": (
        (
            "max_tokens=5000cannot be greater than max_model_len=max_total_tokens=4096."
            " Please request fewer output tokens."
        ),
        (4096, 5000),
    ),
    "vllm, the model, with the length": (
        (
            "The decoder prompt (length 5000) is longer than the maximum model length "
            "of 4096. Make sure that `max_model_len` is no smaller than the number of "
            "text tokens."
        ),
        (4096, 5000),
    ),
    "vllm, the model and a token": (
        (
            "The decoder prompt (length 4096) plus the number of requested output "
            "tokens (at least 1) is longer than the maximum model length of 4096."
        ),
        (4096, 4096),
    ),
    "vllm, images": (
        (
            "The prompt (total length 5000) is too long to fit into the model (context "
            "length 4096). Make sure that `max_model_len` is no smaller than the "
            "number of text tokens plus multimodal tokens."
        ),
        (4096, 5000),
    ),
    "sglang, the scheduler": (
        (
            "Input length (5000 tokens) exceeds the maximum allowed length (4096 "
            "tokens). Use a shorter input or enable --allow-auto-truncate."
        ),
        (4096, 5000),
    ),
    "llama.cpp, in the middle": ("Context size has been exceeded.", (None, None)),
    "llama.cpp, embeddings": (
        (
            "input (5000 tokens) is larger than the max context size (4096 tokens). "
            "skipping"
        ),
        (4096, 5000),
    ),
    "the limit alone": (
        "this model's Maximum Context Length is 4096 tokens",
        (4096, None),
    ),
    "vllm, over several lines": (
        (
            "This model's maximum context length is 4096 tokens.\nHowever, you\n"
            "requested 5000 tokens"
        ),
        (4096, 5000),
    ),
    "vllm, the model": (
        "The decoder prompt is longer than the maximum model length of 4096.",
        (4096, None),
    ),
    "lmi, vllm": (
        "Input prompt (5000 tokens) is too long and exceeds limit of 4096",
        (4096, 5000),
    ),
    "lmi, tensorrt-llm": (
        "Prompt length (5000) exceeds maximum input length (4096). Set log level",
        (4096, 5000),
    ),
}


@pytest.mark.parametrize("engine", TOO_LONG)
def test_a_context_that_is_too_long(engine: str) -> None:
    """
    With the numbers that the engine names, and the way out.
    """
    words, numbers = TOO_LONG[engine]
    error = error_of(Failure(words, 400))

    assert isinstance(error, ContextTooLongError)
    assert (error.limit, error.requested) == numbers
    assert (error.status, error.model_message) == (400, words)
    assert "shorten the prompt" in str(error)


def test_llama_cpp_names_the_numbers_in_fields() -> None:
    """
    Beside its words.
    """
    told = {
        "code": 400,
        "message": "too long",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 5000,
        "n_ctx": 4096,
    }
    with pytest.raises(ContextTooLongError) as caught:
        read_body(json.dumps({"error": told}).encode())

    assert (caught.value.limit, caught.value.requested) == (4096, 5000)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('{"error":{"message":"m","type":"T","code":500}}', Failure("m", 500, "T")),
        ('{"error":{"code":503,"message":"m","type":"T"}}', Failure("m", 503, "T")),
        (
            '{"object":"error","message":"m","type":"T","param":null,"code":400}',
            Failure("m", 400, "T"),
        ),
        ('{"object":"error","message":"m","type":"T"}', Failure("m", None, "T")),
        ('{"error":"m","error_type":"validation"}', Failure("m", None, "validation")),
        ('{"error":{"message":"m","http_status_code":422}}', Failure("m", 422)),
        ('{"code":424,"error":"m"}', Failure("m", 424)),
        ('{"code":424,"error":""}', Failure("", 424)),
        ('{"code":507,"type":"T","message":"m"}', Failure("m", 507, "T")),
        ('{"code":424,"message":"m","error":"why"}', Failure("m", 424)),
        ('{"detail":"m"}', Failure("m")),
        ('{"detail":[{"msg":"m"}]}', Failure('[{"msg": "m"}]')),
        ('{"message":"m"}', Failure("m")),
        ('{"Message":"m"}', Failure("m")),
        ("plain words\n", Failure("plain words")),
        ("", Failure("")),
        ("[1, 2]", Failure("[1, 2]")),
    ],
)
def test_error_objects(body: str, expected: Failure) -> None:
    """
    Every engine's own form, and words that are no JSON.
    """
    assert read_failure(body) == expected


@pytest.mark.parametrize(
    ("failure", "kind", "words"),
    [
        (Failure("m", 429), ThrottledError, "status 429: m; send fewer"),
        (Failure("m", 500), ModelError, "status 500: m; read the container's log"),
        (Failure("m", 503), ModelError, "its queue is full or its engine is down"),
        (Failure("m", 422), ModelError, "correct the request as the container says"),
        (Failure("CUDA out of memory. Tried", 400), ModelError, "memory is full: send"),
        (Failure("x", 507, "OutOfMemoryError"), ModelError, "memory is full: send"),
        (Failure("m", 424), ModelError, "status 424: m; read the container's log"),
        (Failure("m", 413), ModelError, "send less at once: shorten the prompt"),
        (Failure("", None, "T"), ModelError, "the container failed: T"),
        (Failure(""), ModelError, "failed and said nothing"),
        (
            Failure("Either prompt or prompt_embeds must be provided", 400),
            ModelError,
            "schema='openai'",
        ),
        (
            Failure("timed out while waiting for a response from container primary"),
            AnswerTimeoutError,
            "stream the answer",
        ),
    ],
)
def test_remedies(failure: Failure, kind: type[LlmError], words: str) -> None:
    """
    Each error says what to do.
    """
    error = error_of(failure)

    assert type(error) is kind
    assert words in str(error)


def test_long_words_are_shortened_in_the_message_alone() -> None:
    """
    A program may want all of them.
    """
    error = error_of(Failure("m" * 10_000, 500))

    assert isinstance(error, ModelError)
    assert len(str(error)) < 700
    assert len(error.model_message) == 10_000


@pytest.mark.parametrize(("length", "dots"), [(500, ""), (501, "...")])
def test_what_is_left_out_is_marked(length: int, dots: str) -> None:
    """
    On both sides of the bound.
    """
    message = error_of(Failure("m" * length, 500)).message

    assert message == f"the container failed with status 500: {'m' * 500}{dots}"


@pytest.mark.parametrize(
    ("field", "remedy"),
    [
        (
            "inputs",
            "it is asked with texts alone: use embed() for a model that makes vectors",
        ),
        ("query", "it ranks texts: use rerank()"),
        ("texts", "correct the request as the container says"),
    ],
)
def test_what_tei_misses_says_what_it_is_for(field: str, remedy: str) -> None:
    """
    A chat is none of it.
    """
    told = "Failed to deserialize the JSON body into the target type: missing field "
    found = error_of(Failure(f"{told}`{field}`", 422))

    assert isinstance(found, ModelError)
    assert found.remedy == remedy
