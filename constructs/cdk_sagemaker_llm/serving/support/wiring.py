"""
The rules of support for a definition, whose other checks know the engine's arguments:
what these say already is left to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.support.check import support_findings
from cdk_sagemaker_llm.serving.support.checkpoint import checkpoint_for
from cdk_sagemaker_llm.serving.support.number_formats import LACKS_METHOD
from cdk_sagemaker_llm.serving.support.splits import UNEVEN_HEADS_OF_MODEL
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.serving.support.tei_models import TEI_LACKS_GPU
from cdk_sagemaker_llm.serving.support.vllm_adapters import ADAPTER_RANK
from cdk_sagemaker_llm.serving.support.vllm_arguments import UNKNOWN_MODE
from cdk_sagemaker_llm.serving.support.vllm_parsers import NO_PARSER, UNKNOWN_PARSER

_SAID_ELSEWHERE = frozenset(
    {
        UNEVEN_HEADS_OF_MODEL.code,
        NO_PARSER.code,
        ADAPTER_RANK.code,
        UNKNOWN_MODE.code,
        UNKNOWN_PARSER.code,
    }
)
# TEI's images say which GPUs they are built for, and TGI's options their choices.
_SAID_OF = {
    "tei": frozenset({TEI_LACKS_GPU.code}),
    "tgi": frozenset({LACKS_METHOD.code}),
}


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
        said.add(LACKS_METHOD.code)
    for finding in support_findings(subject):
        if finding.code not in said:
            yield finding
