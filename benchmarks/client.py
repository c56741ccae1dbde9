"""
What the client costs: beside bare botocore, and to import.

A stream is read through the client, and by iterating botocore's own event stream with
``json.loads`` of every line, in turns from the same socket server. Imports are paired
in turns too, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import boto3
from botocore.config import Config

from cdk_sagemaker_llm.client import LlmClient
from cdk_sagemaker_llm.local.aws import protocols

TOKENS = 2000
FORMS: dict[str, Callable[[int], bytes]] = {
    "LMI 0.28, JSON lines": lambda n: (
        json.dumps({"token": {"id": n, "text": f" word{n}", "log_prob": -0.5}}) + "\n"
    ).encode(),
    "TGI, SSE": lambda n: (
        "data:"
        + json.dumps(
            {
                "index": n,
                "token": {"id": n, "text": " word", "logprob": -0.5, "special": False},
                "generated_text": None,
                "details": None,
            },
            separators=(",", ":"),
        )
        + "\n\n"
    ).encode(),
    "vLLM chat, SSE": lambda n: (
        "data: "
        + json.dumps(
            {
                "id": "chatcmpl-0123456789",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "model",
                "choices": [
                    {
                        "index": 0,
                        "delta": {"content": f" word{n}"},
                        "logprobs": None,
                        "finish_reason": None,
                    }
                ],
            }
        )
        + "\n\n"
    ).encode(),
}
_LAST = {
    "LMI 0.28, JSON lines": b'{"token": {"id": 2, "text": "", "log_prob": -0.5}, '
    b'"generated_text": "", "details": {"finish_reason": "eos_token"}}\n',
    "TGI, SSE": b'data:{"token":{"id":2,"text":"</s>","logprob":-0.5,"special":true},'
    b'"generated_text":"","details":{"finish_reason":"eos_token"}}\n\n',
    "vLLM chat, SSE": b'data: {"choices": [{"index": 0, "delta": {}, '
    b'"finish_reason": "stop"}]}\n\ndata: [DONE]\n\n',
}


@contextmanager
def server(parts: list[bytes]) -> Iterator[str]:
    """
    Answer every request with the same stream; give the address.
    """
    frames = b"".join(map(protocols.payload_part, parts))
    head = (
        "HTTP/1.1 200 OK\r\n"
        f"Content-Type: {protocols.EVENT_STREAM}\r\n"
        f"Content-Length: {len(frames)}\r\n\r\n"
    ).encode()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=[connection], daemon=True).start()

    def answer(connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(65536):
                if data.endswith(b"}"):
                    connection.sendall(head + frames)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def cut(form: str, lines: int) -> list[bytes]:
    """
    Write a stream with so many lines in an event.
    """
    written = [FORMS[form](number) for number in range(TOKENS)]
    groups = [written[i : i + lines] for i in range(0, TOKENS, lines)]
    return [*(b"".join(group) for group in groups), _LAST[form]]


def through_client(client: LlmClient) -> int:
    """
    Read the stream as tokens; return how many.
    """
    return sum(1 for _ in client.stream("Who?"))


def through_botocore(runtime: object) -> int:
    """
    Read the stream as the objects of its lines; return how many.
    """
    response = runtime.invoke_endpoint_with_response_stream(  # type: ignore[attr-defined]  # boto3's clients have no class
        EndpointName="chat", Body=b"{}", ContentType="application/json"
    )
    count, rest = 0, b""
    for event in response["Body"]:
        *lines, rest = (rest + event["PayloadPart"]["Bytes"]).split(b"\n")
        for line in lines:
            data = line.removeprefix(b"data:").strip()
            if data and data != b"[DONE]":
                json.loads(data)
                count += 1
    return count


def timed(function: Callable[[], object]) -> float:
    """
    Return how many seconds a call takes.
    """
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def imported(statement: str) -> float:
    """
    Return how many seconds an import takes in a fresh interpreter.
    """
    code = (
        "import time; began = time.perf_counter()\n"
        f"{statement}\nprint(time.perf_counter() - began)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def row(
    name: str, ours: Callable[[], float], theirs: Callable[[], float], rounds: int
) -> None:
    """
    Measure both sides in turns, after one that does not count, and print the medians.
    """
    pairs = [(ours(), theirs()) for _ in range(rounds + 1)][1:]
    ratios = [here / there for here, there in pairs]
    here, there = (1000 * statistics.median(side) for side in zip(*pairs, strict=True))
    print(
        f"| {name} | {here:.1f} | {there:.1f} | {statistics.median(ratios):.2f} "
        f"({min(ratios):.2f} to {max(ratios):.2f}) |",
        flush=True,
    )


def main() -> None:
    """
    Print the tables as Markdown.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="counted rounds a line")
    rounds = parser.parse_args().rounds
    session = boto3.Session("test", "test", region_name="us-east-1")
    direct = Config(proxies={"http": ""})
    print(f"A stream of {TOKENS} tokens, milliseconds, medians of {rounds} pairs.\n")
    print("| format | the client | botocore and json.loads | ratio |")
    print("| --- | --- | --- | --- |")
    for form in FORMS:
        for lines in (1, 4):
            with server(cut(form, lines)) as url:
                client = LlmClient(
                    "chat", session=session, endpoint_url=url, config=direct
                )
                runtime = session.client(
                    "sagemaker-runtime", endpoint_url=url, config=direct
                )
                row(
                    f"{form}, {lines} an event",
                    lambda c=client: timed(lambda: through_client(c)),  # type: ignore[misc]  # bound now
                    lambda r=runtime: timed(lambda: through_botocore(r)),  # type: ignore[misc]  # as above
                    rounds,
                )
    print("\n| import | here | import boto3 | ratio |")
    print("| --- | --- | --- | --- |")
    for name in ("LlmClient", "read_stream"):
        row(
            name,
            lambda n=name: imported(f"from cdk_sagemaker_llm.client import {n}"),  # type: ignore[misc]  # as above
            lambda: imported("import boto3"),
            rounds,
        )


if __name__ == "__main__":
    main()
