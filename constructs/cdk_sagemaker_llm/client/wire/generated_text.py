"""
The formats of TGI and llama.cpp themselves: ``token`` and ``generated_text``, which LMI
writes too, in each of its generations, and ``/completion``, to which a route may lead.
"""

from __future__ import annotations

from cdk_sagemaker_llm.client.answers import FinishReason, Token
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
    Read a line, an event or a document; ``None`` if it is of another format.
    """
    if isinstance(record, list):
        if not record or not all(
            isinstance(one, dict) and "generated_text" in one for one in record
        ):
            return None
        return _joined([_document(one, index) for index, one in enumerate(record)])
    token = record.get("token")
    if isinstance(token, dict):
        return _line(record, token)
    text = record.get("generated_text")
    if text is None and not isinstance(record.get("details"), dict):
        return None
    return _document(record, 0)


def quick(record: dict[str, Record]) -> Token | None:
    """
    Read a line in the middle of a stream; ``None`` if it is anything more.
    """
    token = record.get("token")
    if token.__class__ is not dict:
        return None
    if len(record) > 1 and (
        record.get("details") is not None
        or record.get("generated_text") is not None
        or "error" in record
    ):
        return None
    return _token(token)


def read_llama_cpp(record: Record) -> Step | None:
    """
    Read llama.cpp's event or document; ``None`` if it is of another format.
    """
    if not isinstance(record, dict) or "content" not in record or "stop" not in record:
        return None
    text, ends = as_text(record["content"]), bool(record["stop"])
    reason = usage = None
    if ends:
        # Older servers have a flag for each reason.
        flags = (("stopped_limit", "limit"), ("stopped_word", "word"))
        word = next((reason for flag, reason in flags if record.get(flag)), None)
        reason = finish_reason(word or as_text(record.get("stop_type")) or "eos")
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


def _line(record: dict[str, Record], token: dict[str, Record]) -> Step:
    details = record.get("details")
    if not isinstance(details, dict):
        ends = record.get("generated_text") is not None
        return Step([_token(token)], ends=ends)
    reason, usage = _reason(details), _usage(details)
    return Step([_token(token, reason)], ends=True, usage=usage)


def _document(record: dict[str, Record], index: int) -> Step:
    text = as_text(record.get("generated_text"))
    details = record.get("details")
    details = details if isinstance(details, dict) else {}
    listed = details.get("tokens")
    reason, usage = _reason(details), _usage(details)
    if not listed or not all(isinstance(token, dict) for token in listed):
        piece = Token(text, finish_reason=reason, index=index)
        return Step([piece], ends=True, texts={index: text}, pieces=True, usage=usage)
    *before, last = listed
    tokens = [_token(token, index=index) for token in before]
    tokens.append(_token(last, reason, index))
    whole = Step(tokens, ends=True, texts={index: text}, usage=usage)
    others = details.get("best_of_sequences")
    if not isinstance(others, list) or index:
        return whole
    steps = [whole]
    for number, one in enumerate(others, start=1):
        # Beside the best one: its fields stand where the details of a document do.
        fields = one if isinstance(one, dict) else {}
        beside = {"generated_text": fields.get("generated_text"), "details": fields}
        steps.append(_document(beside, number))
    return _joined(steps)


def _joined(steps: list[Step]) -> Step:
    return Step(
        [token for step in steps for token in step.tokens],
        ends=True,
        texts={index: text for step in steps for index, text in step.texts.items()},
        pieces=all(step.pieces for step in steps),
        usage=steps[0].usage,
    )


def _token(
    token: dict[str, Record], reason: FinishReason | None = None, index: int = 0
) -> Token:
    # Up to 0.27 LMI leaves out whatever is falsy: no id is 0, and so on. What is not
    # known is null. Classes are compared as most tokens are what they should be.
    get = token.get
    special = bool(get("special") or get("special_token"))
    text, number = get("text"), get("id", 0)
    log_prob = get("log_prob", 0.0) if "log_prob" in token else get("logprob", 0.0)
    return Token(
        "" if special else text if text.__class__ is str else as_text(text),
        number if number.__class__ is int else as_count(number),
        log_prob if log_prob.__class__ is float else as_number(log_prob),
        special,
        "",
        reason,
        (),
        None,
        index,
    )


def _reason(details: dict[str, Record]) -> FinishReason | None:
    # LMI's asynchronous service writes the stop string that was hit in its place.
    is_async = "seed" in details
    otherwise = FinishReason.STOP_SEQUENCE if is_async else FinishReason.OTHER
    return finish_reason(details.get("finish_reason"), otherwise)


def _usage(details: dict[str, Record]) -> Record:
    return counted(details.get("input_length"), details.get("generated_tokens"))
