"""
The rules of support for a definition, whose other checks know the engine's arguments:
what these say already is left to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.support.check import support_findings
from cdk_sagemaker_llm.serving.support.checkpoint import checkpoint_for
from cdk_sagemaker_llm.serving.support.support_subject import Subject

# By their codes: the rules of other engines than the definition's are not loaded.
# Uneven heads, a tokenizer's mode, ranks of adapters, and parsers.
_SAID_ELSEWHERE = frozenset({"LLM945", "LLM957", "LLM959", "LLM961", "LLM963"})
_LACKS_METHOD = "LLM915"
# TEI's images say which GPUs they are built for, and TGI's options their choices.
_SAID_OF = {"tei": frozenset({"LLM985"}), "tgi": frozenset({_LACKS_METHOD})}


def wired_findings(
    *,
    engine: str,
    release: str,
    name: str | None,
    kind: object,
    accelerator: str | None,
    accelerators: int | None,
    arguments: Mapping[str, object],
    environment: Mapping[str, str],
    network_isolation: bool,
    words: Mapping[str, str],
) -> Iterator[Finding]:
    """
    Find what an engine's release does with a definition's model; nothing of a model
    that is not known.
    """
    checkpoint = checkpoint_for(name, kind, arguments)
    if checkpoint is None:
        return
    subject = Subject(
        engine=engine,
        release=release,
        checkpoint=checkpoint,
        accelerator=accelerator,
        accelerators=accelerators,
        arguments=arguments,
        environment=environment,
        network_isolation=network_isolation,
        words=words,
    )
    said = {*_SAID_ELSEWHERE, *_SAID_OF.get(engine, ())}
    if subject.has("quantization"):
        # A name that the release does not have is none of the argument's choices.
        said.add(_LACKS_METHOD)
    for finding in support_findings(subject):
        if finding.code not in said:
            yield finding
