"""
Checks of what an engine starts with and is never healthy by, or refuses each request
for: SageMaker calls ``/ping`` and ``/invocations`` by HTTP on port 8080, in one
container, with no credential.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.engines.checks.engine_models import named_model
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import EngineSubject
from cdk_sagemaker_llm.serving.parameters import (
    NEVER_ANSWERS,
    offline_hub_findings,
)

_TLS = ("ssl-certfile", "ssl-keyfile")
_SPLIT = ("prefill", "decode")


def key_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    SGLang lets no request in without the key, but those of its own health routes.
    """
    if subject.table == "sglang" and subject.has_argument("api-key"):
        yield _finding(
            subject,
            "api-key",
            "has SGLang answer /ping and /invocations with 401, for SageMaker sends no "
            "key",
            "leave it out: IAM says who may invoke the endpoint",
        )


def transport_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    The server speaks plain HTTP on a port.
    """
    if subject.table is None:
        return
    for name in _TLS:
        if subject.has_argument(name):
            yield _finding(
                subject,
                name,
                "has the server speak TLS, and SageMaker calls it by HTTP",
                "leave it out: SageMaker ends TLS in front of the container",
            )
            break
    if subject.has_argument("uds"):
        yield _finding(
            subject,
            "uds",
            "has the server listen on a socket file, and SageMaker calls port 8080",
            "leave it out",
        )


def node_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    A container is one node, and answers whole requests.
    """
    nodes = subject.number("nnodes")
    if subject.table is not None and nodes is not None and nodes > 1:
        yield _finding(
            subject,
            "nnodes",
            "has the engine wait for other nodes, and a container on SageMaker is "
            "alone",
            "leave it out, and choose an instance type that the model fits on",
            str(nodes),
        )
    mode = subject.value("disaggregation-mode")
    if subject.table == "sglang" and mode in _SPLIT:
        yield _finding(
            subject,
            "disaggregation-mode",
            "makes half an engine, which refuses every request that no router sends",
            "leave it out",
            str(mode),
        )


def embedding_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    SGLang's ``/invocations`` is its route of chats.
    """
    if subject.table == "sglang" and subject.value("is-embedding") is True:
        yield _finding(
            subject,
            "is-embedding",
            "has SGLang embed, and its /invocations takes chats alone: each is "
            "answered with 400",
            "use TextEmbeddings, or vLLM with runner=pooling",
        )


def offline_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    What is offline has its model in the container.
    """
    named = None if subject.model_data else named_model(subject)
    # What network isolation keeps away is said elsewhere, and TEI reads no such switch.
    is_asked = subject.table is not None and not subject.is_isolated
    if named is not None and is_asked:
        variable, model = named
        yield from offline_hub_findings(
            subject.environment, subject.word(variable), model
        )


def _finding(
    subject: EngineSubject, name: str, what: str, remedy: str, value: str = ""
) -> Finding:
    word = subject.word_of(name)
    return NEVER_ANSWERS.finding(
        f"{word}={value} {what}" if value else f"{word} {what}", remedy
    )
