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
    from cdk_sagemaker_llm.catalog.instances import (
        InstanceType,
        Processor,
        find_instance_type,
    )
    from cdk_sagemaker_llm.client.requests import Schema
    from cdk_sagemaker_llm.demand import Assumptions, Demand, EngineName, Words
    from cdk_sagemaker_llm.findings import Finding, Severity
    from cdk_sagemaker_llm.fit.memory import MemoryTerms
    from cdk_sagemaker_llm.fit.outcomes import Outcome
    from cdk_sagemaker_llm.fit.placement import ResourceRequirements, Units
    from cdk_sagemaker_llm.fit.plans import Plan
    from cdk_sagemaker_llm.fit.releases import Case, Range, Release, Windows
    from cdk_sagemaker_llm.fit.reserves import Reserve, Tier
    from cdk_sagemaker_llm.fit.setting import Setting
    from cdk_sagemaker_llm.hosting.adapter_artifact import LoraAdapter
    from cdk_sagemaker_llm.hosting.adapters import AdapterInferenceComponent
    from cdk_sagemaker_llm.hosting.artifact import ServingArtifact
    from cdk_sagemaker_llm.hosting.asynchronous import AsyncInference, AsyncTopic
    from cdk_sagemaker_llm.hosting.backlog import BacklogScaling
    from cdk_sagemaker_llm.hosting.capacity import (
        CapacityReservation,
        InstancePool,
        PrefixAwareRouting,
        RoutingStrategy,
        ScaleInPolicy,
        ScaleInStrategy,
    )
    from cdk_sagemaker_llm.hosting.component_base import InferenceComponentBase
    from cdk_sagemaker_llm.hosting.connecting import (
        ConnectionParameter,
        ConnectionParameterBase,
    )
    from cdk_sagemaker_llm.hosting.connection import Connection
    from cdk_sagemaker_llm.hosting.data_capture import CaptureMode, DataCapture
    from cdk_sagemaker_llm.hosting.endpoint import Endpoint, EndpointBase
    from cdk_sagemaker_llm.hosting.endpoint_config import EndpointConfig
    from cdk_sagemaker_llm.hosting.endpoint_config_base import EndpointConfigBase
    from cdk_sagemaker_llm.hosting.inference_component import InferenceComponent
    from cdk_sagemaker_llm.hosting.inference_component_endpoint import (
        InferenceComponentEndpoint,
    )
    from cdk_sagemaker_llm.hosting.llm_endpoint import LlmEndpoint
    from cdk_sagemaker_llm.hosting.mirroring.mirrored_image import MirroredImage
    from cdk_sagemaker_llm.hosting.mirroring.sources import ImageSource
    from cdk_sagemaker_llm.hosting.model import Model
    from cdk_sagemaker_llm.hosting.model_base import ModelBase
    from cdk_sagemaker_llm.hosting.monitoring.dashboard import LlmDashboard
    from cdk_sagemaker_llm.hosting.monitoring.options import (
        MetricOptions,
        VariantMetricOptions,
    )
    from cdk_sagemaker_llm.hosting.network import Network
    from cdk_sagemaker_llm.hosting.private.private_access import PrivateAccess
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
        ScalableTargetBase,
        ScalingStep,
        StepScaling,
        TargetTrackingScaling,
    )
    from cdk_sagemaker_llm.hosting.scheduling import (
        AvailabilityZoneBalance,
        PlacementStrategy,
    )
    from cdk_sagemaker_llm.hosting.shadow import ShadowVariant
    from cdk_sagemaker_llm.hosting.sizing import Copies
    from cdk_sagemaker_llm.hosting.staging.staged_model import (
        BuildMetricOptions,
        StagedModel,
    )
    from cdk_sagemaker_llm.hosting.statements import Statement
    from cdk_sagemaker_llm.hosting.variant import (
        ManagedInstanceScaling,
        ProductionVariant,
    )
    from cdk_sagemaker_llm.models import (
        Compilation,
        HuggingFaceModel,
        ModelSource,
        S3Model,
    )
    from cdk_sagemaker_llm.serving.configuration import (
        Accelerators,
        Container,
        Prepared,
        ServingConfiguration,
    )
    from cdk_sagemaker_llm.serving.custom import CustomContainer
    from cdk_sagemaker_llm.serving.engines.base import ImageDistribution
    from cdk_sagemaker_llm.serving.engines.llama_cpp import CacheType, LlamaCpp
    from cdk_sagemaker_llm.serving.engines.sglang import Sglang
    from cdk_sagemaker_llm.serving.engines.text_embeddings import TextEmbeddings
    from cdk_sagemaker_llm.serving.engines.vllm import Vllm
    from cdk_sagemaker_llm.serving.engines.vllm_neuron import VllmNeuron
    from cdk_sagemaker_llm.serving.engines.vllm_omni import VllmOmni
    from cdk_sagemaker_llm.serving.engines.writing import ArgumentValue
    from cdk_sagemaker_llm.serving.lmi.deepspeed import DeepSpeed
    from cdk_sagemaker_llm.serving.lmi.folder import ServingFolder
    from cdk_sagemaker_llm.serving.lmi.lmi_dist import LmiDist
    from cdk_sagemaker_llm.serving.lmi.neuronx import NeuronX
    from cdk_sagemaker_llm.serving.lmi.properties import PropertyValue
    from cdk_sagemaker_llm.serving.lmi.tensorrt_llm import TensorRtLlm
    from cdk_sagemaker_llm.serving.lmi.tuning import RopeScaling, SmoothQuant
    from cdk_sagemaker_llm.serving.lmi.vllm import LmiVllm
    from cdk_sagemaker_llm.serving.tgi.environment import EnvironmentValue
    from cdk_sagemaker_llm.serving.tgi.gpu import Tgi
    from cdk_sagemaker_llm.serving.tgi.neuron import TgiNeuron

__all__ = [
    "Accelerators",
    "AdapterInferenceComponent",
    "AllAtOnce",
    "ArgumentValue",
    "Assumptions",
    "AsyncInference",
    "AsyncTopic",
    "AvailabilityZoneBalance",
    "BacklogScaling",
    "BuildMetricOptions",
    "CacheType",
    "Canary",
    "CapacityReservation",
    "CaptureMode",
    "Case",
    "Compilation",
    "Connection",
    "ConnectionParameter",
    "ConnectionParameterBase",
    "Container",
    "Copies",
    "CustomContainer",
    "DataCapture",
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
    "ImageDistribution",
    "ImageRelease",
    "ImageSource",
    "InferenceComponent",
    "InferenceComponentBase",
    "InferenceComponentEndpoint",
    "InstancePool",
    "InstanceType",
    "Linear",
    "LlamaCpp",
    "LlmDashboard",
    "LlmEndpoint",
    "LmiDist",
    "LmiVllm",
    "LoraAdapter",
    "ManagedInstanceScaling",
    "MemoryTerms",
    "MetricOptions",
    "MirroredImage",
    "Model",
    "ModelArchitecture",
    "ModelBase",
    "ModelSource",
    "Network",
    "NeuronX",
    "Outcome",
    "PlacementStrategy",
    "Plan",
    "PrefixAwareRouting",
    "Prepared",
    "PrivateAccess",
    "Processor",
    "ProductionVariant",
    "PropertyValue",
    "Range",
    "Registry",
    "Release",
    "Reserve",
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
    "ScalableTargetBase",
    "ScaleInPolicy",
    "ScaleInStrategy",
    "ScalingStep",
    "Schema",
    "ServingArtifact",
    "ServingConfiguration",
    "ServingFolder",
    "Setting",
    "Severity",
    "Sglang",
    "ShadowVariant",
    "SmoothQuant",
    "StagedModel",
    "Statement",
    "StepScaling",
    "TargetTrackingScaling",
    "TensorRtLlm",
    "TextEmbeddings",
    "Tgi",
    "TgiNeuron",
    "Tier",
    "Units",
    "VariantMetricOptions",
    "Vllm",
    "VllmNeuron",
    "VllmOmni",
    "WeightFormat",
    "Windows",
    "Words",
    "find_image",
    "find_instance_type",
]

_HOMES = {
    "Accelerators": "serving.configuration",
    "AdapterInferenceComponent": "hosting.adapters",
    "AllAtOnce": "hosting.rollout",
    "ArgumentValue": "serving.engines.writing",
    "Assumptions": "demand",
    "AsyncInference": "hosting.asynchronous",
    "AsyncTopic": "hosting.asynchronous",
    "AvailabilityZoneBalance": "hosting.scheduling",
    "BacklogScaling": "hosting.backlog",
    "BuildMetricOptions": "hosting.staging.staged_model",
    "CacheType": "serving.engines.llama_cpp",
    "Canary": "hosting.rollout",
    "CapacityReservation": "hosting.capacity",
    "CaptureMode": "hosting.data_capture",
    "Case": "fit.releases",
    "Compilation": "models",
    "Connection": "hosting.connection",
    "ConnectionParameter": "hosting.connecting",
    "ConnectionParameterBase": "hosting.connecting",
    "Container": "serving.configuration",
    "Copies": "hosting.sizing",
    "CustomContainer": "serving.custom",
    "DataCapture": "hosting.data_capture",
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
    "ImageDistribution": "serving.engines.base",
    "ImageRelease": "catalog.images",
    "ImageSource": "hosting.mirroring.sources",
    "InferenceComponent": "hosting.inference_component",
    "InferenceComponentBase": "hosting.component_base",
    "InferenceComponentEndpoint": "hosting.inference_component_endpoint",
    "InstancePool": "hosting.capacity",
    "InstanceType": "catalog.instances",
    "Linear": "hosting.rollout",
    "LlamaCpp": "serving.engines.llama_cpp",
    "LlmDashboard": "hosting.monitoring.dashboard",
    "LlmEndpoint": "hosting.llm_endpoint",
    "LmiDist": "serving.lmi.lmi_dist",
    "LmiVllm": "serving.lmi.vllm",
    "LoraAdapter": "hosting.adapter_artifact",
    "ManagedInstanceScaling": "hosting.variant",
    "MemoryTerms": "fit.memory",
    "MetricOptions": "hosting.monitoring.options",
    "MirroredImage": "hosting.mirroring.mirrored_image",
    "Model": "hosting.model",
    "ModelArchitecture": "architectures.architecture",
    "ModelBase": "hosting.model_base",
    "ModelSource": "models",
    "Network": "hosting.network",
    "NeuronX": "serving.lmi.neuronx",
    "Outcome": "fit.outcomes",
    "PlacementStrategy": "hosting.scheduling",
    "Plan": "fit.plans",
    "PrefixAwareRouting": "hosting.capacity",
    "Prepared": "serving.configuration",
    "PrivateAccess": "hosting.private.private_access",
    "Processor": "catalog.instances",
    "ProductionVariant": "hosting.variant",
    "PropertyValue": "serving.lmi.properties",
    "Range": "fit.releases",
    "Registry": "catalog.images",
    "Release": "fit.releases",
    "Reserve": "fit.reserves",
    "ResourceRequirements": "fit.placement",
    "RollbackAlarms": "hosting.rollback",
    "Rolling": "hosting.rollout",
    "Rollout": "hosting.rollout_base",
    "RopeScaling": "serving.lmi.tuning",
    "RoutingStrategy": "hosting.capacity",
    "S3Model": "models",
    "ScalableCopyCount": "hosting.scaling",
    "ScalableInstanceCount": "hosting.scaling",
    "ScalableTarget": "hosting.scaling",
    "ScalableTargetBase": "hosting.scaling",
    "ScaleInPolicy": "hosting.capacity",
    "ScaleInStrategy": "hosting.capacity",
    "ScalingStep": "hosting.scaling",
    "Schema": "client.requests",
    "ServingArtifact": "hosting.artifact",
    "ServingConfiguration": "serving.configuration",
    "ServingFolder": "serving.lmi.folder",
    "Setting": "fit.setting",
    "Severity": "findings",
    "Sglang": "serving.engines.sglang",
    "ShadowVariant": "hosting.shadow",
    "SmoothQuant": "serving.lmi.tuning",
    "StagedModel": "hosting.staging.staged_model",
    "Statement": "hosting.statements",
    "StepScaling": "hosting.scaling",
    "TargetTrackingScaling": "hosting.scaling",
    "TensorRtLlm": "serving.lmi.tensorrt_llm",
    "TextEmbeddings": "serving.engines.text_embeddings",
    "Tgi": "serving.tgi.gpu",
    "TgiNeuron": "serving.tgi.neuron",
    "Tier": "fit.reserves",
    "Units": "fit.placement",
    "VariantMetricOptions": "hosting.monitoring.options",
    "Vllm": "serving.engines.vllm",
    "VllmNeuron": "serving.engines.vllm_neuron",
    "VllmOmni": "serving.engines.vllm_omni",
    "WeightFormat": "architectures.weight_format",
    "Windows": "fit.releases",
    "Words": "demand",
    "find_image": "catalog.images",
    "find_instance_type": "catalog.instances",
}

__getattr__, __dir__ = lazily(__name__, _HOMES)
