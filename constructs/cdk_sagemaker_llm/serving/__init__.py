"""
How a model is served: backends as typed configurations, and folders of your own.
"""

from cdk_sagemaker_llm.serving.configuration import Container, ServingConfiguration
from cdk_sagemaker_llm.serving.folder import ServingFolder
from cdk_sagemaker_llm.serving.tensorrt_llm import TensorRtLlm
from cdk_sagemaker_llm.serving.tgi import Tgi

__all__ = [
    "Container",
    "ServingConfiguration",
    "ServingFolder",
    "TensorRtLlm",
    "Tgi",
]
