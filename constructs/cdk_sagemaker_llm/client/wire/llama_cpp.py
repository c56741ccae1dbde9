"""
llama.cpp's own ``/completion``, to which a route may lead.
"""

from __future__ import annotations

from cdk_sagemaker_llm.client.tokens import Token
from cdk_sagemaker_llm.client.wire.step import (
    Record,
    Step,
    as_count,
    as_number,
    as_text,
    counted,
    finish_reason,
    shared,
)


def read(record: Record) -> Step | None:
    """
    Read an event or a document; ``None`` if it is of another format.
    """
    if not isinstance(record, dict) or "content" not in record or "stop" not in record:
        return None
    text, ends = as_text(record["content"]), bool(record["stop"])
    reason = finish_reason(_why(record)) if ends else None
    usage = None
    if ends:
        usage = counted(record.get("tokens_evaluated"), record.get("tokens_predicted"))
    entries = record.get("completion_probabilities")
    if not isinstance(entries, list) or not entries:
        ids = record.get("tokens")
        number = as_count(ids) if isinstance(ids, list) and len(ids) == 1 else None
        tokens = [Token(text, number, finish_reason=reason)] if text or ends else []
        return Step(tokens, ends=ends, usage=usage)
    found = [one for one in entries if isinstance(one, dict)]
    written = [as_text(one.get("token")) for one in found]
    tokens = [
        Token(share, as_count(one.get("id")), as_number(one.get("logprob")))
        for share, one in zip(shared(written, text), found, strict=True)
    ]
    if ends:
        tokens.append(Token("", finish_reason=reason))
    return Step(tokens, ends=ends, usage=usage)


def _why(record: dict[str, Record]) -> str:
    # Older servers have a flag for each reason.
    for flag, reason in (("stopped_limit", "limit"), ("stopped_word", "word")):
        if record.get(flag):
            return reason
    return as_text(record.get("stop_type")) or "eos"
