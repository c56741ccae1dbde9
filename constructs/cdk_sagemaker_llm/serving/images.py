"""
Checks every backend shares: the image exists, and its family is still released.
"""

from __future__ import annotations

from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.rules import UNKNOWN_IMAGE

# What is known of the end of a family, from the AWS Deep Learning Containers
# release data (2026-08) and the projects' own announcements.
_ENDED = {
    "djl-tensorrtllm": "no TensorRT-LLM image was released after LMI 0.33.0",
    "djl-deepspeed": "no DeepSpeed image was released after LMI 0.27.0",
    "djl-neuronx": "no NeuronX image was released after LMI 0.30.0",
    "djl-fastertransformer": "no FasterTransformer image was released after 0.24.0",
    "huggingface-llm": "Text Generation Inference was archived in 2026-03",
    "huggingface-llm-neuronx": "Text Generation Inference was archived in 2026-03",
}

ENDED_FAMILY = Rule(
    "LLM201", "the image family gets no more releases", "AWS Deep Learning Containers"
)


def image_findings(family: str, version: str) -> list[Finding]:
    """
    Find an image that does not exist, or a family that gets no more releases.
    """
    try:
        find_image(family, version)
    except ValueError as fault:
        return [UNKNOWN_IMAGE.finding(str(fault))]
    if family in _ENDED:
        return [
            ENDED_FAMILY.finding(
                f"{family} {version} gets no fixes any more: {_ENDED[family]}",
                "use vLLM on a current LMI image for new work",
            )
        ]
    return []
