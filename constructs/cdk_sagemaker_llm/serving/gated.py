"""
Models that the Hugging Face Hub gives only to those who accepted a licence.
"""

from __future__ import annotations

from cdk_sagemaker_llm.findings import Finding, warning

# Organisations and families whose repositories ask for an accepted licence. The Hub
# alone knows which are gated today: this is a hint.
_GATED = (
    "meta-llama/",
    "google/gemma",
    "google/codegemma",
    "google/paligemma",
    "CohereForAI/",
    "tiiuae/falcon-180B",
)


def gated_findings(model_id: str, *, has_token: bool) -> list[Finding]:
    """
    LLM214: a model that is known to be gated comes with a token.
    """
    if has_token or not model_id.startswith(_GATED):
        return []
    return [
        warning(
            "LLM214",
            f"{model_id} is gated on the Hugging Face Hub, and no token is set",
            "pass HuggingFaceModel(..., token=secret), or stage the weights on S3",
        )
    ]
