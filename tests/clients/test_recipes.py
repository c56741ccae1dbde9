"""
The guides for other libraries: their stacks are deployed, and their programs run.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws
    from tests.clients.conftest import Deployed, Pasted

# An import of these libraries takes up to half a minute on a loaded machine.
pytestmark = pytest.mark.timeout(600)


@dataclass
class Recorder:
    """
    What stands where SageMaker's route for OpenAI's clients is, and what it was sent.
    """

    url: str
    requests: list[dict[str, Any]] = field(default_factory=list)


@pytest.fixture(name="recorder")
def _recorder() -> Iterator[Recorder]:
    """
    A server that answers each chat with one word.
    """
    message = {"role": "assistant", "content": "Hello"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    completion = {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "",
        "choices": [choice],
    }
    answer = json.dumps(completion).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            key = self.headers["Authorization"]
            request = {"path": self.path, "key": key, "body": json.loads(body)}
            recorder.requests.append(request)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    recorder = Recorder(f"http://127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield recorder
    server.shutdown()
    server.server_close()


def test_langchain(deployed: Deployed, pasted: Pasted) -> None:
    """
    A whole answer with its counts and its reason, and a stream.
    """
    deployed("langchain")

    answer, counts, streamed = pasted("langchain", "langchain").splitlines()
    assert len(answer.split()) > 5
    assert "'output_tokens': 32" in counts
    assert counts.endswith(" length")
    assert len(streamed.split()) > 5


def test_litellm(deployed: Deployed, pasted: Pasted) -> None:
    """
    An inference component, asked at once and streamed.
    """
    deployed("litellm")

    printed = pasted("litellm", "litellm", LITELLM_LOCAL_MODEL_COST_MAP="True")
    answer, streamed = printed.splitlines()[-2:]
    assert len(answer.split()) > 5
    assert len(streamed.split()) > 5


def test_openais_sdk_with_a_token(
    aws: EmbeddedAws, deployed: Deployed, pasted: Pasted, recorder: Recorder
) -> None:
    """
    It sends a chat to the endpoint's own route, with a token of the caller's.

    A server of the test's own stands there, since the embedded AWS has no such route.
    """
    deployed("openai-sdk")
    ssm = aws.client("ssm")
    stored = ssm.get_parameter(Name="/llm/openai")["Parameter"]["Value"]
    connection = json.loads(stored)
    host = f"https://runtime.sagemaker.{aws.region}.amazonaws.com"
    path = connection["openai_base_url"].removeprefix(host)
    value = json.dumps({**connection, "openai_base_url": recorder.url + path})
    ssm.put_parameter(Name="/llm/openai", Value=value, Type="String", Overwrite=True)

    printed = pasted("sagemaker_v3", "openai-sdk", 0)
    (request,) = recorder.requests
    token = request["key"].removeprefix("Bearer sagemaker-api-key-")
    assert printed == "Hello\n"
    assert path == f"/endpoints/{connection['endpoint_name']}/openai/v1"
    assert request["path"] == f"{path}/chat/completions"
    assert request["body"]["messages"] == [{"role": "user", "content": "Who are you?"}]
    assert b"Action=CallWithBearerToken" in base64.b64decode(token)


def test_openais_sdk_by_invocations(deployed: Deployed, pasted: Pasted) -> None:
    """
    A chat at once and streamed, without a token.
    """
    deployed("openai-sdk")

    answer, streamed = pasted("litellm", "openai-sdk", 1).splitlines()
    assert len(answer.split()) > 5
    assert len(streamed.split()) > 5
