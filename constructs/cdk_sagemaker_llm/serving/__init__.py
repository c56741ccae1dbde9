"""
How a model is served: backends as typed configurations, and folders of your own.

What belongs here knows what runs in a container: a wing for each kind of image, and
above them what the wings share.
"""

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.configuration import Container, ServingConfiguration
from cdk_sagemaker_llm.serving.custom import CustomContainer
from cdk_sagemaker_llm.serving.lmi.checks import check_properties
from cdk_sagemaker_llm.serving.lmi.deepspeed import DeepSpeed
from cdk_sagemaker_llm.serving.lmi.folder import ServingFolder
from cdk_sagemaker_llm.serving.lmi.lmi_dist import LmiDist
from cdk_sagemaker_llm.serving.lmi.neuronx import NeuronX
from cdk_sagemaker_llm.serving.lmi.tensorrt_llm import TensorRtLlm
from cdk_sagemaker_llm.serving.lmi.tuning import RopeScaling, SmoothQuant
from cdk_sagemaker_llm.serving.lmi.vllm import Vllm
from cdk_sagemaker_llm.serving.tgi.checks import check_environment
from cdk_sagemaker_llm.serving.tgi.gpu import Tgi
from cdk_sagemaker_llm.serving.tgi.neuron import TgiNeuron

__all__ = [
    "Container",
    "CustomContainer",
    "DeepSpeed",
    "Finding",
    "LmiDist",
    "NeuronX",
    "RopeScaling",
    "ServingConfiguration",
    "ServingFolder",
    "SmoothQuant",
    "TensorRtLlm",
    "Tgi",
    "TgiNeuron",
    "Vllm",
    "check_environment",
    "check_properties",
]
