"""
What models are: parameters, attention heads, and the cache that a token takes.

What belongs here counts from a config.json alone, and knows no engine.
"""

from cdk_sagemaker_llm.architectures.architecture import (
    ModelArchitecture,
    find_architecture,
)

__all__ = ["ModelArchitecture", "find_architecture"]
