"""
The Hugging Face Hub: which models are gated, and which variables hold its token.
"""

from __future__ import annotations

from cdk_sagemaker_llm.findings import Finding, Rule

# The Hub's client reads the first; the router of TGI up to 2.0.2 the second alone, and
# hands the third on to it (the launcher's source).
HUB_TOKEN, ROUTER_TOKEN, FORWARDED_TOKEN = (
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "HF_API_TOKEN",
)
# Those that a container is given, so that each part finds the one that it reads.
TOKEN_VARIABLES = (HUB_TOKEN, ROUTER_TOKEN)
# Organisations and families whose repositories ask for an accepted licence. The Hub
# alone knows which are gated today: this is a hint.
_GATED = (
    "meta-llama/",
    "mistralai/",
    "google/gemma",
    "google/codegemma",
    "google/paligemma",
    "CohereForAI/",
    "tiiuae/falcon-180B",
)

GATED_WITHOUT_TOKEN = Rule(
    "LLM214", "a gated model without a token", "a list of known families"
)


def gated_findings(model_id: str, *, has_token: bool) -> list[Finding]:
    """
    A model that is known to be gated comes with a token.
    """
    if has_token or not model_id.startswith(_GATED):
        return []
    return [
        GATED_WITHOUT_TOKEN.finding(
            f"{model_id} has been gated on the Hugging Face Hub, and no token is set",
            "pass HuggingFaceModel(..., token=secret), or stage the weights on S3",
        )
    ]
