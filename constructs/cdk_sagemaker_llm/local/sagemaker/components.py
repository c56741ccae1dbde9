"""
Inference components: copies of a model, placed on the instances of an endpoint.
"""

from __future__ import annotations

from typing import Any

from cdk_sagemaker_llm.local.errors import validation
from cdk_sagemaker_llm.local.sagemaker.fleet import Fleet
from cdk_sagemaker_llm.local.sagemaker.listing import page
from cdk_sagemaker_llm.local.sagemaker.needs import requirements_of, specification_for
from cdk_sagemaker_llm.local.sagemaker.specifications import refuse_contents
from cdk_sagemaker_llm.local.sagemaker.store import tags_of
from cdk_sagemaker_llm.local.sagemaker.world import (
    Component,
    Endpoint,
    Operation,
    World,
)

NOT_FOR_COMPONENTS = (
    "Inference Components are not supported in this Endpoint. Please make sure this "
    "endpoint can deploy inference components."
)


class Components:
    """
    The operations on inference components.
    """

    def __init__(self, world: World) -> None:
        self._world = world

    def operations(self) -> dict[str, Operation]:
        """
        Return the operations by their API names.
        """
        return {
            "CreateInferenceComponent": self.create,
            "DescribeInferenceComponent": self.describe,
            "ListInferenceComponents": self.list_all,
            "UpdateInferenceComponent": self.update,
            "UpdateInferenceComponentRuntimeConfig": self.update_copies,
            "DeleteInferenceComponent": self.delete,
        }

    def create(self, request: dict[str, Any]) -> dict[str, Any]:
        """
        Place the copies of a new component.
        """
        components = self._world.components
        name = request["InferenceComponentName"]
        components.refuse_existing(name)
        endpoint = self._world.endpoints.get(request["EndpointName"])
        if not endpoint.takes_components:
            raise validation(NOT_FOR_COMPONENTS)
        variant = self._variant(endpoint, request.get("VariantName"))
        component = Component(
            name=name,
            arn=components.arn(name),
            request=request,
            tags=tags_of(request),
            endpoint_name=endpoint.name,
            variant_name=variant,
            copies=request.get("RuntimeConfig", {}).get("CopyCount", 1),
        )
        self._refuse_specification(endpoint, request)
        self._place(component, endpoint.fleets[variant])
        components.add(component)
        return {"InferenceComponentArn": component.arn}

    def describe(self, request: dict[str, Any]) -> dict[str, Any]:
        """
        Return a component with how many of its copies run.
        """
        component = self._world.components.get(request["InferenceComponentName"])
        one, several = (
            component.request.get(key) for key in ("Specification", "Specifications")
        )
        specified = {
            **({"Specification": self._shown(one)} if one else {}),
            **(
                {"Specifications": [self._shown(s) for s in several]} if several else {}
            ),
        }
        return {
            **self._summary(component),
            **specified,
            "RuntimeConfig": {
                "DesiredCopyCount": component.copies,
                "CurrentCopyCount": component.copies,
            },
        }

    def list_all(self, request: dict[str, Any]) -> dict[str, Any]:
        """
        List components, of one endpoint or variant if asked.
        """
        found, token = page(self._world.components, request, self._summary)
        return {"InferenceComponents": found, **token}

    def update(self, request: dict[str, Any]) -> dict[str, Any]:
        """
        Replace a component's specification, its number of copies, or both.
        """
        component = self._world.components.get(request["InferenceComponentName"])
        endpoint = self._world.endpoints.get(component.endpoint_name)
        merged = {**component.request, **request}
        self._refuse_specification(endpoint, merged)
        copies = request.get("RuntimeConfig", {}).get("CopyCount", component.copies)
        self._replace(component, merged, copies)
        return {"InferenceComponentArn": component.arn}

    def update_copies(self, request: dict[str, Any]) -> dict[str, Any]:
        """
        Change how many copies run, as Application Auto Scaling does.
        """
        component = self._world.components.get(request["InferenceComponentName"])
        copies = request["DesiredRuntimeConfig"]["CopyCount"]
        fleet = self._fleet(component)
        if copies < component.copies:
            fleet.remove(component.name, component.copies - copies)
            component.copies = copies
        else:
            self._grow(component, fleet, copies)
        component.touch()
        return {"InferenceComponentArn": component.arn}

    def delete(self, request: dict[str, Any]) -> dict[str, Any]:
        """
        Remove a component and free what its copies held.
        """
        component = self._world.components.get(request["InferenceComponentName"])
        self._fleet(component).remove(component.name)
        self._world.components.remove(component.name)
        return {}

    def _variant(self, endpoint: Endpoint, wanted: str | None) -> str:
        name = wanted or next(iter(endpoint.fleets))
        if name not in endpoint.fleets:
            raise validation(
                f'Could not find variant "{name}" of endpoint "{endpoint.arn}".'
            )
        return name

    def _fleet(self, component: Component) -> Fleet:
        endpoint = self._world.endpoints.get(component.endpoint_name)
        return endpoint.fleets[component.variant_name]

    def _place(self, component: Component, fleet: Fleet) -> None:
        needs = requirements_of(component.request, fleet.instance_type)
        if needs is not None:
            fleet.place(component.name, needs, component.copies)

    def _grow(self, component: Component, fleet: Fleet, copies: int) -> None:
        needs = requirements_of(component.request, fleet.instance_type)
        if needs is not None:
            fleet.place(component.name, needs, copies - component.copies)
        component.copies = copies

    def _replace(
        self, component: Component, request: dict[str, Any], copies: int
    ) -> None:
        fleet = self._fleet(component)
        before = (component.request, component.copies, list(fleet.copies))
        instances = fleet.instances
        fleet.remove(component.name)
        component.request, component.copies = request, copies
        try:
            self._place(component, fleet)
        except Exception:
            component.request, component.copies, fleet.copies = before
            fleet.instances = instances
            raise
        component.touch()

    def _refuse_specification(
        self, endpoint: Endpoint, request: dict[str, Any]
    ) -> None:
        if ("Specification" in request) == ("Specifications" in request):
            raise validation("Specify either Specification or Specifications.")
        for fleet in endpoint.fleets.values():
            specification = specification_for(request, fleet.instance_type)
            refuse_contents(specification)
            if "BaseInferenceComponentName" in specification:
                self._world.components.get(specification["BaseInferenceComponentName"])
            elif "ComputeResourceRequirements" not in specification:
                raise validation(
                    "ComputeResourceRequirements is required for an inference "
                    "component that is not an adapter."
                )
            if "ModelName" in specification:
                self._refuse_model(endpoint, specification["ModelName"])

    def _refuse_model(self, endpoint: Endpoint, name: str) -> None:
        # docs: realtime-endpoints-deploy-models, "Model and endpoint compatibility".
        model = self._world.models.get(name)
        pairs = {
            "execution role": (_role(model.request), _role(endpoint.config)),
            "VPC configuration": (_vpc(model.request), _vpc(endpoint.config)),
            "network isolation": (_isolated(model.request), _isolated(endpoint.config)),
        }
        wrong = [what for what, (one, other) in pairs.items() if one != other]
        if wrong:
            raise validation(
                f'Model "{model.arn}" and endpoint "{endpoint.arn}" must have the '
                f"same {' and '.join(wrong)} to deploy an inference component."
            )

    def _shown(self, specification: dict[str, Any]) -> dict[str, Any]:
        container = specification.get("Container")
        if not container:
            return specification
        image = container.get("Image", "")
        deployed = {"SpecifiedImage": image, "ResolvedImage": image}
        kept = {k: v for k, v in container.items() if k != "Image"}
        return {**specification, "Container": {**kept, "DeployedImage": deployed}}

    def _summary(self, component: Component) -> dict[str, Any]:
        return {
            "InferenceComponentName": component.name,
            "InferenceComponentArn": component.arn,
            "EndpointName": component.endpoint_name,
            "EndpointArn": self._world.endpoints.arn(component.endpoint_name),
            "VariantName": component.variant_name,
            "CreationTime": component.created,
            "LastModifiedTime": component.modified,
            "InferenceComponentStatus": component.status,
        }


def _role(request: dict[str, Any]) -> str | None:
    return request.get("ExecutionRoleArn")


def _vpc(request: dict[str, Any]) -> tuple[list[str], list[str]]:
    vpc = request.get("VpcConfig", {})
    return sorted(vpc.get("Subnets", ())), sorted(vpc.get("SecurityGroupIds", ()))


def _isolated(request: dict[str, Any]) -> bool:
    return bool(request.get("EnableNetworkIsolation", False))
