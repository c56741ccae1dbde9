"""
CDK constructs that put large language models behind SageMaker endpoints.

Names are loaded when they are first used (PEP 562): the checks and the client do
not pay for the CDK, which takes a second to load and starts Node.
"""

from typing import TYPE_CHECKING

from cdk_sagemaker_llm._lazily import lazily

if TYPE_CHECKING:
    from cdk_sagemaker_llm.architectures.architecture import ModelArchitecture
    from cdk_sagemaker_llm.architectures.weight_format import WeightFormat
    from cdk_sagemaker_llm.catalog.images import ImageRelease, Registry, find_image
    from cdk_sagemaker_llm.catalog.instances import InstanceType, find_instance_type
    from cdk_sagemaker_llm.demand import Assumptions, Demand, EngineName
    from cdk_sagemaker_llm.findings import Finding, Severity
    from cdk_sagemaker_llm.fit.memory import MemoryTerms, Setting
    from cdk_sagemaker_llm.fit.outcomes import Outcome
    from cdk_sagemaker_llm.fit.placement import ResourceRequirements, Units
    from cdk_sagemaker_llm.fit.plans import Plan
    from cdk_sagemaker_llm.fit.releases import Case, Range, Release
    from cdk_sagemaker_llm.hosting.artifact import ServingArtifact
    from cdk_sagemaker_llm.hosting.component_base import InferenceComponentBase
    from cdk_sagemaker_llm.hosting.endpoint import Endpoint, EndpointBase
    from cdk_sagemaker_llm.hosting.endpoint_config import EndpointConfig
    from cdk_sagemaker_llm.hosting.endpoint_config_base import EndpointConfigBase
    from cdk_sagemaker_llm.hosting.inference_component import InferenceComponent
    from cdk_sagemaker_llm.hosting.inference_component_endpoint import (
        InferenceComponentEndpoint,
    )
    from cdk_sagemaker_llm.hosting.llm_endpoint import LlmEndpoint
    from cdk_sagemaker_llm.hosting.model import Model
    from cdk_sagemaker_llm.hosting.model_base import ModelBase
    from cdk_sagemaker_llm.hosting.network import Network
    from cdk_sagemaker_llm.hosting.rollback import RollbackAlarms
    from cdk_sagemaker_llm.hosting.rollout import (
        AllAtOnce,
        Canary,
        Linear,
        Rolling,
    )
    from cdk_sagemaker_llm.hosting.rollout_base import Rollout
    from cdk_sagemaker_llm.hosting.scaling import (
        ScalableCopyCount,
        ScalableInstanceCount,
        ScalableTarget,
        TargetTrackingScaling,
    )
    from cdk_sagemaker_llm.hosting.sizing import Copies
    from cdk_sagemaker_llm.hosting.statements import Statement
    from cdk_sagemaker_llm.hosting.variant import (
        ManagedInstanceScaling,
        ProductionVariant,
        RoutingStrategy,
    )
    from cdk_sagemaker_llm.models import HuggingFaceModel, ModelSource, S3Model
    from cdk_sagemaker_llm.serving.configuration import (
        Accelerators,
        Container,
        Prepared,
        ServingConfiguration,
    )
    from cdk_sagemaker_llm.serving.custom import CustomContainer
    from cdk_sagemaker_llm.serving.lmi.deepspeed import DeepSpeed
    from cdk_sagemaker_llm.serving.lmi.folder import ServingFolder
    from cdk_sagemaker_llm.serving.lmi.lmi_dist import LmiDist
    from cdk_sagemaker_llm.serving.lmi.neuronx import NeuronX
    from cdk_sagemaker_llm.serving.lmi.properties import PropertyValue
    from cdk_sagemaker_llm.serving.lmi.tensorrt_llm import TensorRtLlm
    from cdk_sagemaker_llm.serving.lmi.tuning import RopeScaling, SmoothQuant
    from cdk_sagemaker_llm.serving.lmi.vllm import Vllm
    from cdk_sagemaker_llm.serving.tgi.environment import EnvironmentValue
    from cdk_sagemaker_llm.serving.tgi.gpu import Tgi
    from cdk_sagemaker_llm.serving.tgi.neuron import TgiNeuron

__all__ = [
    "Accelerators",
    "AllAtOnce",
    "Assumptions",
    "Canary",
    "Case",
    "Container",
    "Copies",
    "CustomContainer",
    "DeepSpeed",
    "Demand",
    "Endpoint",
    "EndpointBase",
    "EndpointConfig",
    "EndpointConfigBase",
    "EngineName",
    "EnvironmentValue",
    "Finding",
    "HuggingFaceModel",
    "ImageRelease",
    "InferenceComponent",
    "InferenceComponentBase",
    "InferenceComponentEndpoint",
    "InstanceType",
    "Linear",
    "LlmEndpoint",
    "LmiDist",
    "ManagedInstanceScaling",
    "MemoryTerms",
    "Model",
    "ModelArchitecture",
    "ModelBase",
    "ModelSource",
    "Network",
    "NeuronX",
    "Outcome",
    "Plan",
    "Prepared",
    "ProductionVariant",
    "PropertyValue",
    "Range",
    "Registry",
    "Release",
    "ResourceRequirements",
    "RollbackAlarms",
    "Rolling",
    "Rollout",
    "RopeScaling",
    "RoutingStrategy",
    "S3Model",
    "ScalableCopyCount",
    "ScalableInstanceCount",
    "ScalableTarget",
    "ServingArtifact",
    "ServingConfiguration",
    "ServingFolder",
    "Setting",
    "Severity",
    "SmoothQuant",
    "Statement",
    "TargetTrackingScaling",
    "TensorRtLlm",
    "Tgi",
    "TgiNeuron",
    "Units",
    "Vllm",
    "WeightFormat",
    "find_image",
    "find_instance_type",
]

_HOMES = {
    "Accelerators": "serving.configuration",
    "AllAtOnce": "hosting.rollout",
    "Assumptions": "demand",
    "Canary": "hosting.rollout",
    "Case": "fit.releases",
    "Container": "serving.configuration",
    "Copies": "hosting.sizing",
    "CustomContainer": "serving.custom",
    "DeepSpeed": "serving.lmi.deepspeed",
    "Demand": "demand",
    "Endpoint": "hosting.endpoint",
    "EndpointBase": "hosting.endpoint",
    "EndpointConfig": "hosting.endpoint_config",
    "EndpointConfigBase": "hosting.endpoint_config_base",
    "EngineName": "demand",
    "EnvironmentValue": "serving.tgi.environment",
    "Finding": "findings",
    "HuggingFaceModel": "models",
    "ImageRelease": "catalog.images",
    "InferenceComponent": "hosting.inference_component",
    "InferenceComponentBase": "hosting.component_base",
    "InferenceComponentEndpoint": "hosting.inference_component_endpoint",
    "InstanceType": "catalog.instances",
    "Linear": "hosting.rollout",
    "LlmEndpoint": "hosting.llm_endpoint",
    "LmiDist": "serving.lmi.lmi_dist",
    "ManagedInstanceScaling": "hosting.variant",
    "MemoryTerms": "fit.memory",
    "Model": "hosting.model",
    "ModelArchitecture": "architectures.architecture",
    "ModelBase": "hosting.model_base",
    "ModelSource": "models",
    "Network": "hosting.network",
    "NeuronX": "serving.lmi.neuronx",
    "Outcome": "fit.outcomes",
    "Plan": "fit.plans",
    "Prepared": "serving.configuration",
    "ProductionVariant": "hosting.variant",
    "PropertyValue": "serving.lmi.properties",
    "Range": "fit.releases",
    "Registry": "catalog.images",
    "Release": "fit.releases",
    "ResourceRequirements": "fit.placement",
    "RollbackAlarms": "hosting.rollback",
    "Rolling": "hosting.rollout",
    "Rollout": "hosting.rollout_base",
    "RopeScaling": "serving.lmi.tuning",
    "RoutingStrategy": "hosting.variant",
    "S3Model": "models",
    "ScalableCopyCount": "hosting.scaling",
    "ScalableInstanceCount": "hosting.scaling",
    "ScalableTarget": "hosting.scaling",
    "ServingArtifact": "hosting.artifact",
    "ServingConfiguration": "serving.configuration",
    "ServingFolder": "serving.lmi.folder",
    "Setting": "fit.memory",
    "Severity": "findings",
    "SmoothQuant": "serving.lmi.tuning",
    "Statement": "hosting.statements",
    "TargetTrackingScaling": "hosting.scaling",
    "TensorRtLlm": "serving.lmi.tensorrt_llm",
    "Tgi": "serving.tgi.gpu",
    "TgiNeuron": "serving.tgi.neuron",
    "Units": "fit.placement",
    "Vllm": "serving.lmi.vllm",
    "WeightFormat": "architectures.weight_format",
    "find_image": "catalog.images",
    "find_instance_type": "catalog.instances",
}

__getattr__, __dir__ = lazily(__name__, _HOMES)
