"""
SageMaker hosting, and jobs, as one service: operations by name, tags, and a report.
"""

from __future__ import annotations

from typing import Any

from cdk_sagemaker_llm.local.aws import shapes
from cdk_sagemaker_llm.local.aws.errors import validation
from cdk_sagemaker_llm.local.aws.surroundings import InRegions
from cdk_sagemaker_llm.local.hosting import allowances, jobs
from cdk_sagemaker_llm.local.hosting.components import Components
from cdk_sagemaker_llm.local.hosting.definitions import Definitions
from cdk_sagemaker_llm.local.hosting.endpoints import Endpoints
from cdk_sagemaker_llm.local.hosting.fleet import report
from cdk_sagemaker_llm.local.hosting.queueing import work_everywhere
from cdk_sagemaker_llm.local.hosting.records import Record, tags_of
from cdk_sagemaker_llm.local.hosting.world import Operation, World


class SageMaker:
    """
    The part of SageMaker's API in one region that hosting and its jobs need.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self._operations: dict[str, Operation] = {
            **Definitions(world).operations(),
            **Endpoints(world).operations(),
            **Components(world).operations(),
            **jobs.operations(world),
            **allowances.operations(world),
            "AddTags": self._add_tags,
            "ListTags": self._list_tags,
            "DeleteTags": self._delete_tags,
        }

    def answers(self, operation: str, request: dict[str, Any]) -> bool:
        """
        Tell whether an operation is one of hosting's.
        """
        if operation in shapes.TAG_OPERATIONS:
            return not self._is_other_kind(str(request.get("ResourceArn") or ""))
        return operation in self._operations

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """
        Check a request against the API's model and carry it out, unless the service
        refuses it.
        """
        shapes.check("sagemaker", operation, request)
        answer = self._operations[operation](request)
        if self.world.clock.speed is None:
            # There is no time that would notice new instances.
            work_everywhere(self.world)
        return answer

    def report(self) -> dict[str, Any]:
        """
        Describe every endpoint's instances and the copies placed on them.
        """
        return {
            "Endpoints": [
                {
                    "EndpointName": endpoint.name,
                    "EndpointConfigName": endpoint.config_name,
                    "Variants": [
                        {
                            "VariantName": name,
                            "InstanceType": fleet.instance_type,
                            "InstanceCount": len(fleet.instances),
                            "CopiesPlaced": sum(
                                sum(one["Copies"].values()) for one in report(fleet)
                            ),
                            "Instances": report(fleet),
                        }
                        for name, fleet in endpoint.fleets.items()
                    ],
                }
                for endpoint in self.world.endpoints
            ]
        }

    def _is_other_kind(self, arn: str) -> bool:
        # What else SageMaker has in this account and region: a training job, say.
        mine = self.world.models.arn_prefix.removesuffix("model/")
        prefixes = tuple(shelf.arn_prefix for shelf in self.world.shelves())
        return arn.startswith(mine) and not arn.startswith(prefixes)

    def _record_at(self, arn: str) -> Record:
        for shelf in self.world.shelves():
            if arn.startswith(shelf.arn_prefix):
                record: Record = shelf.get(arn.removeprefix(shelf.arn_prefix))
                return record
        raise validation(f'Could not find resource "{arn}".')

    def _add_tags(self, request: dict[str, Any]) -> dict[str, Any]:
        record = self._record_at(request["ResourceArn"])
        record.tags.update(tags_of(request))
        return {"Tags": _as_list(record.tags)}

    def _list_tags(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"Tags": _as_list(self._record_at(request["ResourceArn"]).tags)}

    def _delete_tags(self, request: dict[str, Any]) -> dict[str, Any]:
        record = self._record_at(request["ResourceArn"])
        for key in request["TagKeys"]:
            record.tags.pop(key, None)
        return {}


SAGEMAKER = InRegions[SageMaker]()
"""The SageMaker of every account and region."""


def _as_list(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]
