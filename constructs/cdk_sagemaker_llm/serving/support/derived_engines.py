"""
What engines load that are made of vLLM, LMI-Dist and vLLM-Omni, and those of which only
LMI's documentation says it: TensorRT-LLM and DeepSpeed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.model_classes import class_row, has_ability
from cdk_sagemaker_llm.catalog.releases import first_of, images_by_release, is_between
from cdk_sagemaker_llm.catalog.transformers import knows_model_type
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support import (
    lengths,
    number_formats,
    vllm_arguments,
)
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.serving.support.vllm_classes import (
    OLD_TRANSFORMERS,
    UNKNOWN_CLASS,
)

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
# TensorRT-LLM compiles what only writes by one map of classes; of others it compiles
# the halves.
_WRITES = ("ForCausalLM", "LMHeadModel")
# Before, no image has a transformers package that knows Llama 3.1's positions.
_ROPE_TYPES = "0.11.0"
_OLDEST_READ = "4.28.0"
# What LMI-Dist has beyond the vLLM that it is made of, by its guide in LMI 0.27.
_OF_ITS_OWN = ("T5ForConditionalGeneration", "DbrxForCausalLM")

UNDOCUMENTED = Rule(
    "LLM864", "LMI does not document that the backend takes the model", _GUIDES
)


NOT_RAW = Rule(
    "LLM916",
    "weights that are quantized already are to be quantized",
    "djl issue 3343, and the guide of LMI's TensorRT-LLM",
)
# What its toolkit makes of weights in 16 bits.
_QUANTIZES = ("awq", "fp8", "smoothquant")


def vllm_inside(release: str) -> str | None:
    """
    Return the vLLM that a release of LMI-Dist is made of; ``None`` of those before,
    which were made of TGI.
    """
    return _INSIDE.get(release.partition(".")[0])


def lmi_dist_findings(subject: Subject) -> Iterator[Finding]:
    """
    LMI-Dist has the classes of the vLLM that it is made of, T5 and DBRX.
    """
    name, inside = subject.checkpoint.class_name, vllm_inside(subject.release)
    if subject.engine != "lmi-dist" or name in {None, *_OF_ITS_OWN} or inside is None:
        return
    classes = subject.checkpoint.classes
    if any(has_ability("vllm", one, inside) is not False for one in classes):
        same = subject._replace(engine="vllm", release=inside)
        yield from lengths.length_findings(same)
        yield from number_formats.dtype_findings(same)
        yield from vllm_arguments.tokenizer_findings(same)
        yield from vllm_arguments.code_findings(same)
        return
    row = class_row("vllm", name or "")
    since = f", which came with vLLM {first_of(row['in'])}" if row else ""
    yield UNKNOWN_CLASS.finding(
        f"{subject.title} is made of vLLM {inside} and does not load {name}{since}",
        "take a newer LMI version, which serves with vLLM",
    )


def omni_findings(subject: Subject) -> Iterator[Finding]:
    """
    vLLM-Omni takes a model that the vLLM of its own number has in that one's lengths
    and formats; of other classes, such as those that make pictures, nothing is known.
    """
    name = subject.checkpoint.class_name
    if subject.engine != "vllm-omni" or name is None:
        return
    if has_ability("vllm", name, subject.release):
        inside = subject._replace(engine="vllm")
        yield from lengths.length_findings(inside)
        yield from number_formats.dtype_findings(inside)


def tensorrt_llm_findings(subject: Subject) -> Iterator[Finding]:
    """
    LMI documents that TensorRT-LLM compiles the class.
    """
    name, release = subject.checkpoint.class_name, subject.release
    if subject.engine != "tensorrt-llm" or name is None:
        return
    image = dict(images_by_release(subject.engine)).get(release, "")
    lmi = image.rpartition(" ")[2]
    since = load("lmi_models.json")["tensorrt_llm_since"]
    stems = [
        begin
        for version, begins in since.items()
        if not lmi or is_between(lmi, version)
        for begin in begins
    ]
    lacking = tuple(_old_transformers(subject))
    if lacking:
        yield from lacking
        return
    choice, own = subject.text("quantize"), subject.checkpoint.method
    if choice in _QUANTIZES and own:
        yield NOT_RAW.finding(
            f"{subject.title} quantizes weights in 16 bits, and those of "
            f"{subject.checkpoint.name} are in {own}, got "
            f"{subject.word('quantize')}={choice}",
            "name the model that these were made from",
        )
    maps = load("lmi_models.json")["tensorrt_llm_classes"]
    compiled = {
        one for first, names in maps.items() if subject.is_at(first) for one in names
    }
    if name.endswith(_WRITES) and name not in compiled:
        yield UNKNOWN_CLASS.finding(
            f"{subject.title} does not compile {name}",
            "serve it with LmiVllm",
        )
        return
    scaling = subject.checkpoint.text.get("rope_scaling")
    kind = scaling.get("rope_type") if isinstance(scaling, Mapping) else None
    if kind == "llama3" and not subject.is_at(_ROPE_TYPES):
        yield vllm_arguments.NEWER_TOKENIZER.finding(
            f"rope_scaling of {subject.checkpoint.name} is of the type llama3, which "
            f"the transformers package in {subject.title} does not know",
            "take a newer LMI version",
        )
    rests = (name.removeprefix(one) for one in stems if name.startswith(one))
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
    kinds = load("lmi_models.json")["deepspeed"]
    lacking = tuple(_old_transformers(subject))
    if lacking:
        yield from lacking
    elif kind not in {*kinds["started"], *kinds["batched_too"]}:
        yield UNDOCUMENTED.finding(
            f"{subject.title} has no kernels of its own for models of type {kind}",
            "use vLLM or LMI-Dist",
        )


def _old_transformers(subject: Subject) -> Iterator[Finding]:
    """
    Find a model type that the package in the image does not know, and that the model
    brings no code for.
    """
    kind, code = subject.checkpoint.model_type, subject.checkpoint.config
    versions = load("lmi_models.json")["transformers"][subject.engine]
    version = versions.get(subject.release)
    has_code = "auto_map" in code or "code" in subject.checkpoint.facts
    # Falcon's repositories brought code, by another type's name, until transformers
    # had it, and are deployed as they were then.
    has_code |= kind == "falcon"
    if kind is None or version is None or has_code:
        return
    if subject.flag("trust_remote_code"):
        return
    read = version if is_between(version, _OLDEST_READ) else _OLDEST_READ
    if knows_model_type(kind, read) is False:
        yield OLD_TRANSFORMERS.finding(
            f"transformers {version} in the images with {subject.title} does not know "
            f"the model type {kind}",
            "serve it with LmiVllm",
        )
