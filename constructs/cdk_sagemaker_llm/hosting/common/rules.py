"""
Rules of the API that constructs are held to, and the templates of any other app.

Each check of a construct stands beside what it checks; templates are checked where apps
are read, without the CDK, so that what both find is defined here.
"""

from __future__ import annotations

from cdk_sagemaker_llm.findings import Rule
from cdk_sagemaker_llm.serving.parameters import API

VARIANT_NAMES = Rule("LLM123", "variants have no, or the same, names", API)
ROLE_OR_MODEL = Rule(
    "LLM124",
    "an execution role and a model exclude each other",
    "SageMaker developer guide",
)
LOCAL_STORAGE = Rule(
    "LLM121",
    "a volume's size or key is set where storage is local NVMe",
    "SageMaker Python SDK",
)
MANAGED_WITH_MODEL = Rule(
    "LLM122",
    "managed instance scaling is set on a variant with a model",
    "SageMaker developer guide",
)
TYPE_OR_POOLS = Rule(
    "LLM311", "a variant has both an instance type and pools of types, or neither", API
)
WRONG_POOLS = Rule(
    "LLM312",
    "instance pools are too few, too many, or of the same type",
    "SageMaker developer guide, realtime-endpoints-heterogeneous",
)
ONE_SHADOW = Rule(
    "LLM345", "shadow variants are not one beside one production variant", API
)
SHADOW_WITHOUT_MODEL = Rule(
    "LLM346", "a shadow variant has no model, or inference components beside it", API
)
NO_ROOM_FOR_COPIES = Rule(
    "LLM104", "copies do not fit the most instances the endpoint may have", API
)
NO_DEVICES = Rule("LLM197", "a container that runs on accelerators reserves none", API)
NAME_TWICE = Rule(
    "LLM183", "an endpoint's or component's name is used twice in a stack", API
)
SCALED_TWICE = Rule(
    "LLM301",
    "a number is scaled twice, or two policies or actions of it have the same name, or "
    "two policies the same predefined metric",
    "API reference, RegisterScalableTarget and PutScalingPolicy",
)
NO_BACKLOG = Rule(
    "LLM349",
    "an endpoint that answers at once is called or scaled as an asynchronous one",
    "SageMaker developer guide, async-inference-monitor",
)
IMPOSSIBLE_NETWORK = Rule(
    "LLM199", "a network has no, or too many, subnets or security groups", API
)
WRONG_STEPS = Rule(
    "LLM303",
    "steps of scaling overlap, leave a gap, or have no open end",
    "Application Auto Scaling user guide, step-scaling-policy-overview",
)
WRONG_SCHEDULE = Rule(
    "LLM304",
    "a schedule, its time zone or its time span cannot be read, or never holds",
    "API reference, PutScheduledAction",
)

# DeploymentConfig (botocore 1.44.5).
WAIT_SECONDS = (0, 3600)
ROLLOUT_SECONDS = (600, 28800)
# What part of a fleet may move at a time, in per cent (API reference, CapacitySize).
CANARY_PERCENT, LINEAR_PERCENT, ROLLING_PERCENT = (1, 50), (10, 50), (5, 50)
SMALL_FLEET = Rule(
    "LLM336", "a fleet has too few instances or copies for a rollout", API
)
WAITS_TOO_LONG = Rule(
    "LLM337", "a rollout waits longer than the whole of it may take", API
)
EXCLUDED = Rule(
    "LLM338",
    "a rollout is of a kind that the hosts exclude",
    "SageMaker developer guide, deployment-guardrails-exclusions",
)
UNWATCHED = Rule(
    "LLM426",
    "a rollout watches alarms for no time",
    "SageMaker developer guide, deployment-guardrails-configuration",
)
