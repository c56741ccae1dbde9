"""
What models are: parameters, attention heads, and the cache that a token takes.

What belongs here counts from a config.json alone, and knows no engine.
"""

from cdk_sagemaker_llm.architectures.architecture import (
    ModelArchitecture,
    find_architecture,
)
from cdk_sagemaker_llm.architectures.weight_format import WeightFormat

__all__ = ["ModelArchitecture", "WeightFormat", "find_architecture"]
