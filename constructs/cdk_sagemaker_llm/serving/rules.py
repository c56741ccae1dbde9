"""
Rules that more than one engine, or the constructs as well, find broken.

A rule of one engine alone stands beside its check.
"""

from __future__ import annotations

from cdk_sagemaker_llm.findings import Rule

API = "SageMaker API, botocore 1.44.5"

UNKNOWN_IMAGE = Rule(
    "LLM102", "an image family or version does not exist", "SageMaker Python SDK"
)
PLAIN_CREDENTIAL = Rule(
    "LLM107", "a credential stands in plain text", "the issuers' published forms"
)
OUTSIDE_RANGE = Rule("LLM111", "a number is outside the range that is accepted", API)
WRONG_KIND = Rule("LLM182", "an argument is not of the kind that it is declared to be")
NO_WEIGHTS = Rule("LLM112", "nothing names the model's weights")
REPEATED = Rule("LLM113", "an option or variable repeats what a parameter sets")
UNREADABLE = Rule(
    "LLM114",
    "a value cannot be written or read, or is known only at deployment",
    "java.util.Properties",
)
