"""
Credentials that stand as plain text where a reference should.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.hub import FORWARDED_TOKEN, TOKEN_VARIABLES
from cdk_sagemaker_llm.serving.rules import PLAIN_CREDENTIAL

# The forms are published by the issuers: Hugging Face user tokens, AWS access key
# ids, GitHub tokens, and the keys of OpenAI's API.
_FORMS = {
    "a Hugging Face token": re.compile(r"\bhf_[A-Za-z0-9]{20,}"),
    "an AWS access key": re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    "a GitHub token": re.compile(r"\b(?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{20,}"),
    "an OpenAI key": re.compile(r"\bsk-[A-Za-z0-9_\-]{20,}"),
}
_REMEDY = "keep it in Secrets Manager and pass HuggingFaceModel(..., token=secret)"


def credential_findings(where: str, values: Mapping[str, str]) -> list[Finding]:
    """
    Find values that look like a credential; the message never repeats them.
    """
    found = []
    for name, value in values.items():
        kind = _kind(name, value)
        if kind:
            found.append(
                PLAIN_CREDENTIAL.finding(
                    f"{name} in {where} looks like {kind}", _REMEDY
                )
            )
    return found


def _kind(name: str, value: str) -> str | None:
    if is_unresolved(value) or value.startswith("{{resolve:"):
        return None
    if name.upper() in (*TOKEN_VARIABLES, FORWARDED_TOKEN) and value:
        return "a Hugging Face token"
    return next((kind for kind, form in _FORMS.items() if form.search(value)), None)
