"""
Which GPUs an image has kernels for.
"""

from __future__ import annotations

from cdk_sagemaker_llm.catalog.engine_releases import EngineRelease
from cdk_sagemaker_llm.findings import Finding, Rule

# Compute capability by the names of instances.json.
_CAPABILITIES = {
    "K80": "3.7",
    "V100": "7.0",
    "T4": "7.5",
    "A100-40GB": "8.0",
    "A100-80GB": "8.0",
    "A10G": "8.6",
    "L4": "8.9",
    "L40S": "8.9",
    "H100": "9.0",
    "H200": "9.0",
    "B200": "10.0",
    "B200(GB200)": "10.0",
    "B300": "10.3",
    "RTX-PRO-4500": "12.0",
    "RTX-PRO-6000-Server": "12.0",
}

NO_KERNELS = Rule(
    "LLM518", "TEI's image has no program for the GPU", "the entry point of TEI 1.9.3"
)
OTHER_ARCHITECTURE = Rule(
    "LLM620",
    "the image is not built for the GPU's architecture",
    "the build files of aws/deep-learning-containers",
)


def gpu_findings(image: EngineRelease, model: str | None) -> list[Finding]:
    """
    Find that an image has no kernels for a GPU: TEI's ends without, others may have
    some that run.

    Args:
        image: What is inside the image.

        model: The GPU's name, as the catalogue has it; ``None`` if it is not known.
    """
    built, capability = image.gpu_architectures, _CAPABILITIES.get(model or "")
    if built is None or capability is None or capability in built:
        return []
    rule = NO_KERNELS if image.engine == "tei" else OTHER_ARCHITECTURE
    return [
        rule.finding(
            f"{image.family} {image.version} is built for compute capability "
            f"{', '.join(built)}, and {model} has {capability}",
            "take another instance type, or another image",
        )
    ]
