"""
What vLLM-Omni answers on its own routes: speech, sounds, images and videos.

Which routes there are, and which bodies become forms, is in AWS's middleware
(scripts/docker/vllm/omni_sagemaker_serve.py of aws/deep-learning-containers).
"""

from __future__ import annotations

import base64
import io
import time
import uuid
import wave
import zlib
from typing import Any

from cdk_sagemaker_llm.catalog.engine_arguments import is_release_between
from cdk_sagemaker_llm.local.runtime.answers import Answer
from cdk_sagemaker_llm.local.runtime.engines import vllm
from cdk_sagemaker_llm.local.runtime.engines.asked import JSON, Asked
from cdk_sagemaker_llm.local.runtime.engines.refusals import RefusedError, raised
from cdk_sagemaker_llm.local.runtime.engines.shapes import dump
from cdk_sagemaker_llm.local.runtime.engines.started import StartedEngine

_SPEECH = "/v1/audio/speech"
_SOUND = "/v1/audio/generate"
_IMAGES = "/v1/images/generations"
_VIDEOS, _VIDEO = "/v1/videos", "/v1/videos/sync"
# JSON becomes a form up to 1.1 and from 1.4 on.
_NO_FORMS = ("1.2", "1.3")
# What a form is called where its name is not its type.
_AUDIO = {"mp3": "mpeg"}
_RATE = 24_000
# A box that says what follows, of which there is nothing.
_MP4 = b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isommp41"


def answer(engine: StartedEngine, asked: Asked) -> Answer:
    """
    Answer a request as vLLM-Omni does.

    Raises:
        RefusedError: If it refuses it.
    """
    path = vllm.route_of(engine, asked)
    if path in {_SPEECH, _SOUND}:
        return _sound(vllm.read_request(asked))
    if path == _IMAGES:
        return _images(vllm.read_request(asked))
    if path in {_VIDEOS, _VIDEO}:
        return _video(engine, asked, str(path))
    return vllm.answer(engine, asked)


def _sound(body: dict[str, Any]) -> Answer:
    text = body.get("input")
    if not isinstance(text, str):
        raise _missing("input")
    form = body.get("response_format") or "wav"
    if form != "wav":
        # Others have no sound here: what they begin with is enough to tell them.
        kind = _AUDIO.get(form, form)
        return Answer(f"audio/{kind}", [zlib.crc32(text.encode()).to_bytes(4, "big")])
    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(_RATE)
        file.writeframes(bytes(2 * _RATE // 10) * max(1, len(text.split())))
    return Answer("audio/wav", [written.getvalue()])


def _images(body: dict[str, Any]) -> Answer:
    prompt = body.get("prompt")
    if not isinstance(prompt, str):
        raise _missing("prompt")
    picture = base64.b64encode(_png(zlib.crc32(prompt.encode()))).decode()
    count = body.get("n") if isinstance(body.get("n"), int) else 1
    data = [{"b64_json": picture, "url": None, "revised_prompt": None}] * (count or 1)
    return Answer(JSON, [dump({"created": int(time.time()), "data": data})])


def _video(engine: StartedEngine, asked: Asked, path: str) -> Answer:
    version = engine.release.version
    if asked.is_json:
        if is_release_between(version, *_NO_FORMS):
            # What reads forms finds nothing in it.
            raise _missing("prompt")
        if not isinstance(vllm.read_request(asked).get("prompt"), str):
            raise _missing("prompt")
    if path == _VIDEO:
        return Answer("video/mp4", [_MP4])
    job = {
        "id": f"video_gen_{uuid.uuid4().hex}",
        "object": "video",
        "status": "queued",
        "created_at": int(time.time()),
    }
    return Answer(JSON, [dump(job)])


def _missing(field: str) -> RefusedError:
    where = f"'loc': ('body', '{field}'), 'msg': 'Field required'"
    return raised(f"1 validation error:\n  {{'type': 'missing', {where}}}")


def _png(seed: int) -> bytes:
    """
    Draw one dot.
    """
    color = seed.to_bytes(4, "big")[:3]
    size = (1).to_bytes(4, "big")
    parts = (
        (b"IHDR", size + size + b"\x08\x02\x00\x00\x00"),
        (b"IDAT", zlib.compress(b"\x00" + color)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        len(data).to_bytes(4, "big")
        + kind
        + data
        + zlib.crc32(kind + data).to_bytes(4, "big")
        for kind, data in parts
    )
