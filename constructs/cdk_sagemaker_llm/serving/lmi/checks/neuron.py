"""
Checks of what the NeuronX backend loads and compiles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.lmi.checks.sources import FRONT_END, NEURONX
from cdk_sagemaker_llm.serving.lmi.checks.subject import Subject
from cdk_sagemaker_llm.serving.lmi.checks.values import WRONG_CHOICE, WRONG_TYPE

_GROUP_QUERY = (
    "shard-over-heads",
    "shard-over-batch",
    "replicated-heads",
    "all-gather-heads",
)
_S3 = re.compile(r"s3://[^/]+/.+")

NO_CORES = Rule(
    "LLM225", "NeuronX is not told over how many cores, and does not start", FRONT_END
)


def check_cores(subject: Subject) -> Iterator[Finding]:
    """
    Up to 0.29 the handler of NeuronX starts where a degree is written (PyModel).

    A warning, since a variable of the container may say it as well.
    """
    neuron = subject.launch.container == "djl-neuronx" and subject.version.before(
        "0.30"
    )
    told = subject.option("tensor_parallel_degree") or subject.option("entryPoint")
    if neuron and not told:
        yield NO_CORES.finding(
            f"NeuronX {subject.version} starts where option.tensor_parallel_degree is "
            "written: without it the Hugging Face handler runs",
            "write option.tensor_parallel_degree=max",
        )


LOADER_OF_OTHER_SCHEMA = Rule(
    "LLM146", "a NeuronX loader with a schema it cannot load", NEURONX
)
COMPILING_WITH_VLLM = Rule(
    "LLM147", "compiling ahead of time with the vLLM loader", NEURONX
)


def check_neuron_loader(subject: Subject) -> Iterator[Finding]:
    """
    What a NeuronX model loader can partition (0.27+).
    """
    if not subject.runs("neuronx", "vllm") or subject.version.before("0.27"):
        return
    loader, schema = subject.option("model_loader"), subject.option("partition_schema")
    if loader == "tnx" and schema == "optimum":
        yield LOADER_OF_OTHER_SCHEMA.finding(
            "option.model_loader=tnx cannot load schema optimum"
        )
    wrong = (None,) if subject.version.before("0.28") else ()
    if loader == "optimum" and schema not in ("optimum", *wrong):
        yield LOADER_OF_OTHER_SCHEMA.finding(
            f"option.model_loader=optimum cannot load schema {schema or 'unset'}",
            "write option.partition_schema=optimum",
        )
    saves = subject.option("save_mp_checkpoint_path")
    if saves and loader == "vllm" and subject.version.at_least("0.28"):
        yield COMPILING_WITH_VLLM.finding(
            "option.model_loader=vllm cannot compile ahead of time "
            "(option.save_mp_checkpoint_path)",
            "write option.model_loader=tnx",
        )


def check_neuron_values(subject: Subject) -> Iterator[Finding]:
    """
    Values that NeuronX checks in code (TransformerNeuronXProperties).
    """
    if "neuronx" not in subject.launch.backends:
        return
    attention = subject.option("group_query_attention")
    if attention is not None and attention not in _GROUP_QUERY:
        yield WRONG_CHOICE.finding(
            f"option.group_query_attention must be one of {', '.join(_GROUP_QUERY)}, "
            f"got {attention!r}",
        )
    for name in ("compiled_graph_path", "draft_model_compiled_path"):
        path = subject.option(name)
        if path is not None and "://" in path and not _S3.match(path):
            yield WRONG_TYPE.finding(
                f"option.{name} must be a directory or s3://bucket/prefix, "
                f"got {path!r}",
            )
