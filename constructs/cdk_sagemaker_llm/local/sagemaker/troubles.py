"""
What keeps a container from serving, in the service's words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cdk_sagemaker_llm.local import faults
from cdk_sagemaker_llm.local.sagemaker.fleet import health_timeout, plain_name
from cdk_sagemaker_llm.local.sagemaker.needs import specification_for
from cdk_sagemaker_llm.simulation.fleet import Copy, Trouble, seconds

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local.sagemaker.world import World


class Troubles:
    """
    Looks up what befalls the containers of one world.
    """

    def __init__(self, world: World) -> None:
        self._world = world

    def of(
        self, endpoint: str, variant: dict[str, Any], copy: Copy | None
    ) -> Trouble | None:
        """
        Return what keeps a copy from serving; ``None`` if nothing does.

        Args:
            endpoint: The endpoint's name.

            variant: The variant as it was configured.

            copy: The copy of a component, or ``None`` for the variant's own model.
        """
        subject, names, settings, image = self._subject(endpoint, variant, copy)
        times, found = self._world.times, self._world.faults
        kind = str(variant.get("InstanceType", ""))
        pull = seconds(times.image_pull, kind)
        timeout = health_timeout(settings) if self._world.clock.speed else 0.0
        if found.find(faults.NO_IMAGE, names):
            return Trouble(
                pull,
                f'Failed to pull the image "{image}" of the container for {subject}. '
                "Please ensure that the image exists and that the execution role "
                "grants ecr:BatchGetImage and ecr:GetDownloadUrlForLayer on it.",
            )
        if found.find(faults.CANNOT_START, names):
            return Trouble(
                pull,
                "CannotStartContainerError. Please ensure the model container for "
                f"{subject} starts correctly when invoked with 'docker run <image> "
                "serve'",
            )
        slow = timeout and seconds(times.model_start, kind) > timeout
        if slow or found.find(faults.NEVER_HEALTHY, names):
            return Trouble(
                pull + timeout,
                f"The primary container for production {subject} did not pass the ping "
                "health check. Please check CloudWatch logs for this endpoint."
                if copy is None
                else f"The container for {subject} did not pass the ping health check. "
                "Please check CloudWatch logs for this inference component.",
            )
        return None

    def _subject(
        self, endpoint: str, variant: dict[str, Any], copy: Copy | None
    ) -> tuple[str, set[str], dict[str, Any], str]:
        world = self._world
        name = str(variant["VariantName"])
        model = str(variant.get("ModelName", ""))
        if copy is None:
            names = {endpoint, name, model}
            return f"variant {name}", names, variant, world.image_of(model)
        component = world.components.find(plain_name(copy.name))
        request = component.request if component else {}
        specification = specification_for(request, copy.instance.instance_type)
        container = specification.get("Container", {})
        model = str(specification.get("ModelName", ""))
        settings = specification.get("StartupParameters", {})
        image = str(container.get("Image") or world.image_of(model))
        named = plain_name(copy.name)
        return f"inference component {named}", {endpoint, named, model}, settings, image
