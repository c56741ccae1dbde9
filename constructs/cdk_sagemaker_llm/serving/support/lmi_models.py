"""
What LMI's own backends load: LMI-Dist, which is made of vLLM, TensorRT-LLM and
DeepSpeed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.model_classes import class_row, has_ability
from cdk_sagemaker_llm.catalog.releases import first_of, is_between
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.serving.support.vllm_classes import UNKNOWN_CLASS

_GUIDES = "LMI documentation, the users' guides of the backends, 0.27 to 0.33"
# What LMI-Dist is made of, from its release 9 on; the newest two of one vLLM.
_INSIDE = {
    "9": "0.3.3",
    "10": "0.4.2",
    "11": "0.5.3.post1",
    "12": "0.6.2",
    "13": "0.6.3.post1",
    "14": "0.6.3.post1",
}
# What may stand behind the family's name: Gemma 3 is another family than Gemma.
_SAME = re.compile(r"(?:1_5|2)?(?:For|LMHead|Model)")
_T5 = "T5ForConditionalGeneration"
# LMI's minor version by the TensorRT-LLM inside.
_LMI_OF = {
    "0.5": "0.25",
    "0.7": "0.26",
    "0.8": "0.27",
    "0.9": "0.28",
    "0.11": "0.29",
    "0.12": "0.30",
}

UNDOCUMENTED = Rule(
    "LLM864", "LMI does not document that the backend takes the model", _GUIDES
)


def lmi_dist_findings(subject: Subject) -> Iterator[Finding]:
    """
    LMI-Dist has the classes of the vLLM that it is made of, and T5.
    """
    name, inside = subject.checkpoint.class_name, _INSIDE.get(_major(subject.release))
    if subject.engine != "lmi-dist" or name in {None, _T5} or inside is None:
        return
    classes = subject.checkpoint.classes
    if any(has_ability("vllm", one, inside) is not False for one in classes):
        return
    row = class_row("vllm", name or "")
    since = f", which came with vLLM {first_of(row['in'])}" if row else ""
    yield UNKNOWN_CLASS.finding(
        f"{subject.title} is made of vLLM {inside} and does not load {name}{since}",
        "take a newer LMI version, which serves with vLLM",
    )


def tensorrt_llm_findings(subject: Subject) -> Iterator[Finding]:
    """
    LMI documents that TensorRT-LLM compiles the class.
    """
    name, release = subject.checkpoint.class_name, subject.release
    if subject.engine != "tensorrt-llm" or name is None:
        return
    lmi = _LMI_OF.get(".".join(release.split(".")[:2]))
    since = load("lmi_models.json")["tensorrt_llm_since"]
    known = [
        begin
        for version, begins in since.items()
        if lmi is None or is_between(lmi, version)
        for begin in begins
    ]
    rests = (name.removeprefix(one) for one in known if name.startswith(one))
    if not any(_SAME.match(rest) for rest in rests):
        yield UNDOCUMENTED.finding(
            f"LMI does not document that {subject.title} takes {name}",
            "serve it with LmiVllm",
        )


def deepspeed_findings(subject: Subject) -> Iterator[Finding]:
    """
    LMI documents that DeepSpeed takes the model's type.
    """
    kind = subject.checkpoint.model_type
    if subject.engine != "deepspeed" or kind is None:
        return
    known = load("lmi_models.json")["deepspeed"]
    if kind not in {*known["started"], *known["batched_too"]}:
        yield UNDOCUMENTED.finding(
            f"{subject.title} has no kernels of its own for models of type {kind}",
            "use vLLM or LMI-Dist",
        )


def _major(release: str) -> str:
    return release.partition(".")[0]
