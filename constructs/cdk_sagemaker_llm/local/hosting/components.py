"""
Inference components: copies of a model on the instances of an endpoint, and their
update, in which new copies come and old ones go.
"""

from __future__ import annotations

from typing import Any, Literal

from cdk_sagemaker_llm.local.aws.errors import validation
from cdk_sagemaker_llm.local.hosting.component_adapters import (
    base_name,
    base_of,
    load_failure,
    refuse_adapter,
    refuse_copies,
    refuse_deleting_base,
    unload,
)
from cdk_sagemaker_llm.local.hosting.definitions import copies_by_type, variants_of
from cdk_sagemaker_llm.local.hosting.deployments import (
    refuse_wrong_guardrails,
    rollback_alarm,
)
from cdk_sagemaker_llm.local.hosting.fleet import holds
from cdk_sagemaker_llm.local.hosting.placement import (
    host,
    needs_of,
    refuse_contents,
    refuse_overflow,
    refuse_overflow_of_all,
    request_after,
)
from cdk_sagemaker_llm.local.hosting.records import page, tags_of
from cdk_sagemaker_llm.local.hosting.states import (
    enter,
    look,
    refuse_busy_component,
    refuse_moving_endpoint,
    refuse_unready_endpoint,
)
from cdk_sagemaker_llm.local.hosting.world import (
    Component,
    ComponentUpdate,
    Endpoint,
    Operation,
    World,
    key_of,
)
from cdk_sagemaker_llm.simulation.api_values import specification_on
from cdk_sagemaker_llm.simulation.fleet import Fleet
from cdk_sagemaker_llm.simulation.rollout import (
    Rollout,
    Stage,
    rollback_batch,
    rolling,
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
            "CreateInferenceComponent": self._create,
            "DescribeInferenceComponent": self._describe,
            "ListInferenceComponents": self._list_all,
            "UpdateInferenceComponent": self._update,
            "UpdateInferenceComponentRuntimeConfig": self._update_copies,
            "DeleteInferenceComponent": self._delete,
        }

    def _create(self, request: dict[str, Any]) -> dict[str, Any]:
        components = self._world.components
        name = request["InferenceComponentName"]
        components.refuse_existing(name)
        endpoint = self._world.endpoints.get(request["EndpointName"])
        if not endpoint.takes_components:
            raise validation(NOT_FOR_COMPONENTS)
        refuse_unready_endpoint(endpoint)
        refuse_moving_endpoint(endpoint)
        base = components.find(base_name(request) or "")
        # An adapter goes where its base is.
        beside = base.variant_name if base else next(iter(endpoint.fleets))
        variant = request.get("VariantName") or beside
        if variant not in endpoint.fleets:
            raise validation(
                f'Could not find variant "{variant}" of endpoint "{endpoint.arn}".'
            )
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
        fleet = endpoint.fleets[variant]
        refuse_overflow(fleet, request, component.copies)
        components.add(component)
        host(self._world, fleet, component.key, request, component.copies)
        failure = load_failure(self._world, name, request)
        if failure is not None:
            enter(component, "Failed", failure)
        look(self._world, endpoint)
        return {"InferenceComponentArn": component.arn}

    def _describe(self, request: dict[str, Any]) -> dict[str, Any]:
        component = self._world.components.get(request["InferenceComponentName"])
        one, several = (
            component.request.get(key) for key in ("Specification", "Specifications")
        )
        specified = {
            **({"Specification": self._description_of(one)} if one else {}),
            **(
                {"Specifications": [self._description_of(s) for s in several]}
                if several
                else {}
            ),
        }
        endpoint = self._world.endpoints.get(component.endpoint_name)
        fleet = endpoint.fleets[component.variant_name]
        placements: list[dict[str, Any]] = []
        if len(fleet.instance_types) > 1:
            keys = [key for key in keys_of(component) if key in fleet.names]
            placements = copies_by_type(
                copy for key in keys for copy in fleet.copies(key)
            )
        base = base_of(self._world, component)
        desired = base.copies if base.update is None else base.update.copies
        guardrails = component.deployment_config
        return {
            **self._summary(component),
            **specified,
            "RuntimeConfig": {
                "DesiredCopyCount": desired,
                "CurrentCopyCount": serving_copies(self._world, component),
                **({"PlacementStatus": placements} if placements else {}),
            },
            **({"FailureReason": component.failure} if component.failure else {}),
            **({"LastDeploymentConfig": guardrails} if guardrails else {}),
        }

    def _list_all(self, request: dict[str, Any]) -> dict[str, Any]:
        found, token = page(self._world.components, request, self._summary)
        return {"InferenceComponents": found, **token}

    def _update(self, request: dict[str, Any]) -> dict[str, Any]:
        component = self._world.components.get(request["InferenceComponentName"])
        endpoint = self._world.endpoints.get(component.endpoint_name)
        merged = request_after(component.request, request)
        if "DeploymentConfig" not in request:
            # It is of one update, not of the component.
            merged.pop("DeploymentConfig", None)
        refuse_busy_component(component, "update")
        refuse_moving_endpoint(endpoint)
        self._refuse_specification(endpoint, merged)
        failure = load_failure(self._world, component.name, merged)
        if failure is not None:
            raise validation(failure)
        copies = request.get("RuntimeConfig", {}).get("CopyCount", component.copies)
        guardrails = merged.get("DeploymentConfig", {})
        refuse_wrong_guardrails(guardrails, [copies], "copies")
        fleet = endpoint.fleets[component.variant_name]
        self._refuse_version(endpoint, component, merged, copies)
        component.deployment_config = guardrails or component.deployment_config
        _replace(self._world, component, fleet, merged, copies)
        return {"InferenceComponentArn": component.arn}

    def _update_copies(self, request: dict[str, Any]) -> dict[str, Any]:
        component = self._world.components.get(request["InferenceComponentName"])
        copies = request["DesiredRuntimeConfig"]["CopyCount"]
        refuse_copies(component)
        scale_copies(self._world, component, copies, "asked for")
        return {"InferenceComponentArn": component.arn}

    def _delete(self, request: dict[str, Any]) -> dict[str, Any]:
        component = self._world.components.get(request["InferenceComponentName"])
        refuse_busy_component(component, "delete")
        refuse_deleting_base(self._world, component)
        endpoint = self._world.endpoints.get(component.endpoint_name)
        refuse_moving_endpoint(endpoint)
        fleet = endpoint.fleets[component.variant_name]
        unload(self._world, component)
        enter(component, "Deleting")
        if component.key in fleet.names:
            fleet.remove(component.key)
        look(self._world, endpoint)
        return {}

    def _refuse_version(
        self,
        endpoint: Endpoint,
        component: Component,
        request: dict[str, Any],
        copies: int,
    ) -> None:
        name = component.variant_name
        fleet = endpoint.fleets[name]
        variant = next(
            v for v in variants_of(endpoint.config) if v["VariantName"] == name
        )
        sizes = [
            (c.name, c.request, c.copies)
            for c in self._world.components_on(endpoint)
            if c.variant_name == name and c is not component
        ]
        refuse_overflow_of_all(
            variant,
            [*sizes, (component.name, request, copies)],
            fleet.wanted_instances,
        )

    def _refuse_specification(
        self, endpoint: Endpoint, request: dict[str, Any]
    ) -> None:
        if ("Specification" in request) == ("Specifications" in request):
            raise validation("Specify either Specification or Specifications.")
        kinds = {k for fleet in endpoint.fleets.values() for k in fleet.instance_types}
        for kind in sorted(kinds):
            specification = specification_on(request, kind)
            refuse_contents(specification)
            if "BaseInferenceComponentName" in specification:
                refuse_adapter(self._world, endpoint, specification)
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
        ours, theirs = _surroundings(model.request), _surroundings(endpoint.config)
        wrong = [what for what in ours if ours[what] != theirs[what]]
        if wrong:
            raise validation(
                f'Model "{model.arn}" and endpoint "{endpoint.arn}" must have the '
                f"same {' and '.join(wrong)} to deploy an inference component."
            )

    def _description_of(self, specification: dict[str, Any]) -> dict[str, Any]:
        container = specification.get("Container")
        # An adapter's container has no image: its base's runs.
        if not container or "Image" not in container:
            return specification
        image = container["Image"]
        deployed = {"SpecifiedImage": image, "ResolvedImage": image}
        settings = {k: v for k, v in container.items() if k != "Image"}
        return {**specification, "Container": {**settings, "DeployedImage": deployed}}

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


def scale_copies(world: World, component: Component, copies: int, why: str) -> None:
    """
    Set how many copies a component has, if it is in a state for it and they fit.
    """
    refuse_busy_component(component, "update")
    endpoint = world.endpoints.get(component.endpoint_name)
    refuse_moving_endpoint(endpoint)
    fleet = endpoint.fleets[component.variant_name]
    is_hosted = component.key in fleet.names
    more = copies - (component.copies if is_hosted else 0)
    refuse_overflow(fleet, component.request, more)
    component.copies = copies
    enter(component, "Updating")
    if is_hosted:
        fleet.set_copies(component.key, copies, why)
    else:
        host(world, fleet, component.key, component.request, copies)
    look(world, endpoint)


def serving_copies(world: World, component: Component) -> int:
    """
    Return how many copies take requests; for an adapter, those of its base.
    """
    component = base_of(world, component)
    endpoint = world.endpoints.get(component.endpoint_name)
    fleet = endpoint.fleets[component.variant_name]
    keys = keys_of(component)
    return sum(fleet.serving(key) for key in keys if key in fleet.names)


def keys_of(component: Component) -> set[str]:
    """
    Return what a component's copies are called in its fleet: two names while it is
    updated.
    """
    if component.update is None:
        return {component.key}
    return {component.key, key_of(component.name, component.update.version)}


def _surroundings(request: dict[str, Any]) -> dict[str, object]:
    vpc = request.get("VpcConfig", {})
    return {
        "execution role": request.get("ExecutionRoleArn"),
        "VPC configuration": (
            sorted(vpc.get("Subnets", ())),
            sorted(vpc.get("SecurityGroupIds", ())),
        ),
        "network isolation": bool(request.get("EnableNetworkIsolation", False)),
    }


def _replace(
    world: World,
    component: Component,
    fleet: Fleet,
    request: dict[str, Any],
    copies: int,
) -> None:
    """
    Begin to replace a component's copies; where nothing takes time it has happened.
    """
    guardrails = request.get("DeploymentConfig", {})
    policy = guardrails.get("RollingUpdatePolicy")
    stages = rolling(policy, copies) if policy else (Stage(copies, 1.0, 0.0),)
    update = ComponentUpdate(
        request=request, copies=copies, version=component.version + 1
    )
    enter(component, "Updating")
    component.update = update
    update.rollout = Rollout(
        world.clock.after,
        stages,
        _VersionsOfCopies(world, component, update, fleet),
        limit=(policy or {}).get("MaximumExecutionTimeoutInSeconds"),
        alarm=rollback_alarm(world, guardrails),
    )
    update.rollout.start()


class _VersionsOfCopies:
    """
    The copies that serve and those that replace them.
    """

    def __init__(
        self,
        world: World,
        component: Component,
        update: ComponentUpdate,
        fleet: Fleet,
    ) -> None:
        self._component = component
        self._update = update
        self._fleet = fleet
        self._old = component.key
        self._new = key_of(component.name, update.version)
        self._size = fleet.desired(self._old) if self._old in fleet.names else 0
        self._why: str | None = None
        policy = update.request.get("DeploymentConfig", {}).get("RollingUpdatePolicy")
        self._batch = rollback_batch(policy, self._size)
        host(world, fleet, self._new, update.request, 0)

    def grow(self, size: int) -> None:
        """
        Start the next batch: beside the old copies, or in their place without room.
        """
        fleet = self._fleet
        if self._new not in fleet.names:
            return
        needs = needs_of(self._update.request, fleet.instance_types)
        more = size - fleet.desired(self._new)
        if more > 0 and fleet.shortfall(needs, more) is not None:
            self._shrink(max(0, self._size - size))
        fleet.set_copies(self._new, size, "new version")

    def is_grown(self) -> bool:
        fleet, name = self._fleet, self._new
        return name not in fleet.names or (
            fleet.is_settled(name) and fleet.serving(name) == fleet.desired(name)
        )

    def refusal(self) -> str | None:
        """
        Say why the new copies will not serve; while something moves, room may come.
        """
        fleet = self._fleet
        if self._new not in fleet.names or not fleet.is_settled():
            return None
        return fleet.refusal(self._new)

    def shift(self, stage: Stage) -> None:
        self._shrink(max(0, self._size - stage.size))

    def retreat(self, why: str) -> None:
        """
        Bring the old copies up, beside the new ones where there is room.
        """
        self._why = why
        if self._old in self._fleet.names:
            self._bring_back()

    def restore(self) -> bool:
        """
        Bring the next batch up when the last one serves, which has taken the place of
        as many new copies.
        """
        fleet, old = self._fleet, self._old
        if old not in fleet.names:
            return False
        there = fleet.desired(old)
        if there >= self._size or fleet.serving(old) < there:
            return False
        self._leave_new(self._size - there)
        self._bring_back()
        return True

    def _bring_back(self) -> None:
        fleet, old = self._fleet, self._old
        size = min(self._size, fleet.desired(old) + self._batch)
        needs = needs_of(self._component.request, fleet.instance_types)
        if fleet.shortfall(needs, size - fleet.desired(old)) is not None:
            self._leave_new(self._size - size)
        fleet.set_copies(old, size, "rolled back")

    def _leave_new(self, copies: int) -> None:
        fleet, new = self._fleet, self._new
        if not copies:
            self.drop()
        elif new in fleet.names and fleet.desired(new) > copies:
            fleet.set_copies(new, copies, "rolled back")

    def is_restored(self) -> bool:
        fleet, old = self._fleet, self._old
        serving = fleet.serving(old) if old in fleet.names else 0
        return serving == self._size

    def drop(self) -> None:
        if self._new in self._fleet.names:
            self._fleet.remove(self._new)

    def is_dropped(self) -> bool:
        return not holds(self._fleet, self._new)

    def is_stuck(self) -> bool:
        fleet, old = self._fleet, self._old
        gone = old in fleet.names and fleet.refusal(old) is not None
        return gone and fleet.is_settled()

    def finish(self) -> None:
        component, update = self._component, self._update
        component.request, component.copies = update.request, update.copies
        component.version = update.version
        if self._old in self._fleet.names:
            self._fleet.remove(self._old)

    def is_finished(self) -> bool:
        return not holds(self._fleet, self._old)

    def close(self, outcome: Literal["done", "back", "stuck"]) -> None:
        self._component.update = None
        enter(
            self._component, "Failed" if outcome == "stuck" else "InService", self._why
        )

    def _shrink(self, copies: int) -> None:
        if self._old in self._fleet.names:
            self._fleet.set_copies(self._old, copies, "replaced")
