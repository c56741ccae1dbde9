"""
An app whose versions are deployed one after the other: endpoints and components that
are updated in each of the ways there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_cdk import App, Duration, Environment, Stack

from cdk_sagemaker_llm import (
    Canary,
    HuggingFaceModel,
    InferenceComponentEndpoint,
    Linear,
    LlmEndpoint,
    ResourceRequirements,
    RollbackAlarms,
    Rolling,
    Tgi,
)

if TYPE_CHECKING:
    from pathlib import Path

    from constructs import Construct

OLD, NEW = "2.0.3", "2.3.1"
_ENVIRONMENT = Environment(account="123456789012", region="us-east-1")
_GPT2 = HuggingFaceModel("gpt2")
_ONE = ResourceRequirements(accelerators=1)
_MINUTE = Duration.minutes(1)


@dataclass(frozen=True, kw_only=True)
class Version:
    """
    What changes from one deployment to the next.

    Args:
        tgi: The version of the image.

        tokens: An option of the container: how long a sequence may be.

        instances: How many instances each endpoint starts with.

        most: How many instances scaling may start.

        hosts: Up to how many instances the host of components has.

        copies: How many copies start of the component that nothing scales.

        is_retained: Whether the scaled component's number of copies is left alone.
    """

    tgi: str = OLD
    tokens: int = 512
    instances: int = 2
    most: int = 5
    hosts: int = 4
    copies: int = 1
    is_retained: bool = False

    @property
    def serving(self) -> Tgi:
        """
        What the containers run.
        """
        return Tgi(self.tgi, max_total_tokens=self.tokens)


FIRST = Version()


def synth(outdir: Path, version: Version) -> Path:
    """
    Write the cloud assembly.
    """
    app = App(outdir=str(outdir), analytics_reporting=False)
    _Instances(app, "Instances", version)
    _Copies(app, "Copies", version)
    _Guarded(app, "Guarded", version)
    app.synth()
    return outdir


class _Instances(Stack):
    """
    Two endpoints of one model each, of which one is scaled.
    """

    def __init__(self, scope: Construct, id: str, version: Version) -> None:
        super().__init__(scope, id, env=_ENVIRONMENT)
        LlmEndpoint(
            self,
            "Plain",
            model=_GPT2,
            serving=version.serving,
            instance_type="ml.g5.xlarge",
            instance_count=version.instances,
            endpoint_name="plain",
            rollout=Linear(percent=50, wait_interval=_MINUTE),
        )
        scaled = LlmEndpoint(
            self,
            "Scaled",
            model=_GPT2,
            serving=version.serving,
            instance_type="ml.g5.xlarge",
            instance_count=version.instances,
            endpoint_name="scaled",
            rollout=Rolling(instances=1, wait_interval=_MINUTE),
        )
        scaled.auto_scale_instance_count(min_capacity=2, max_capacity=version.most)


class _Copies(Stack):
    """
    Three components on one host: one of eight copies, one that is scaled, one that is
    not.
    """

    def __init__(self, scope: Construct, id: str, version: Version) -> None:
        super().__init__(scope, id, env=_ENVIRONMENT)
        host = InferenceComponentEndpoint(
            self,
            "Host",
            instance_type="ml.p4d.24xlarge",
            instance_count=3,
            max_instance_count=version.hosts,
            endpoint_name="shared",
            engine=version.serving,
        )
        host.add_model(
            "Eight",
            model=_GPT2,
            serving=Tgi(version.tgi),
            resources=_ONE,
            copies=8,
            inference_component_name="eight",
            rollout=Rolling(
                percent=25, wait_interval=_MINUTE, rollback_on=RollbackAlarms()
            ),
        )
        scaled = host.add_model(
            "Scaled",
            model=_GPT2,
            serving=Tgi(OLD, max_total_tokens=version.tokens),
            resources=_ONE,
            copies=2,
            inference_component_name="scaled",
            rollout=Rolling(copies=1, wait_interval=_MINUTE),
            retain_copy_count=version.is_retained,
        )
        scaled.auto_scale_copy_count(min_capacity=2, max_capacity=version.most)
        host.add_model(
            "More",
            model=_GPT2,
            serving=Tgi(OLD),
            resources=_ONE,
            copies=version.copies,
            inference_component_name="more",
        )


class _Guarded(Stack):
    """
    An endpoint that is updated by a canary, and back on errors.
    """

    def __init__(self, scope: Construct, id: str, version: Version) -> None:
        super().__init__(scope, id, env=_ENVIRONMENT)
        LlmEndpoint(
            self,
            "Guarded",
            model=_GPT2,
            serving=version.serving,
            instance_type="ml.g5.xlarge",
            instance_count=version.instances,
            endpoint_name="guarded",
            rollout=Canary(
                percent=50,
                wait_interval=Duration.minutes(30),
                rollback_on=RollbackAlarms(invocation_5xx_error_rate=0.01),
            ),
        )
