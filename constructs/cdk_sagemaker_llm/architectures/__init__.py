"""
What models are: parameters, attention heads, and the cache that a token takes.
"""

from cdk_sagemaker_llm.architectures.architecture import (
    ModelArchitecture,
    find_architecture,
)

__all__ = ["ModelArchitecture", "find_architecture"]
