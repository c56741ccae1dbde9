"""
An account that answers by a table, and one that lacks something of each kind.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from cdk_sagemaker_llm.account.hub import Access, Hub
from cdk_sagemaker_llm.account.needs import (
    Data,
    Fleet,
    HubModel,
    Image,
    Named,
    Needs,
    NewName,
    Parameter,
    Place,
    Secret,
)
from cdk_sagemaker_llm.account.preflight import CALLS, Preflight, preflight
from cdk_sagemaker_llm.account.reader import AccountReader, RefusedError
from cdk_sagemaker_llm.findings import Finding

ACCOUNT = "111111111111"
PLACE = Place("Chat/Endpoint", "Chat", "us-east-1", ("Endpoint",))
FLEET = Fleet(place=PLACE, instance_type="ml.g5.2xlarge", first=2, most=4, updating=8)
PLAN = f"arn:aws:sagemaker:us-east-1:{ACCOUNT}:training-plan/spring"
HUB_SECRET = Secret(PLACE, "hub", is_token=True)
_IMAGE = f"{ACCOUNT}.dkr.ecr.us-east-1.amazonaws.com/chat:1.0"

Answer = Mapping[str, Any] | RefusedError | None


@dataclass(slots=True)
class ScriptedReader(AccountReader):
    """
    One that asks nobody.

    Args:
        answers: What each operation answers, or refuses.
    """

    answers: Mapping[str, Answer] = field(default_factory=dict)

    def ask(
        self, service: str, operation: str, *, region: str = "", **arguments: object
    ) -> Mapping[str, Any] | None:
        """
        Answer from the table; what is not in it is well.
        """
        del region, arguments
        self._call(service, operation)
        found = self.answers.get(operation, _WELL.get(operation))
        if isinstance(found, RefusedError):
            raise found
        return found


@dataclass(slots=True)
class ScriptedHub(Hub):
    """
    A Hub that answers everybody alike.
    """

    is_known: bool = True
    answer: Access = "open"

    def knows(self, token: str) -> bool:
        """
        Tell as it was set.
        """
        del token
        return self.is_known

    def access(self, model: str, token: str = "") -> Access:
        """
        Tell as it was set.
        """
        del model, token
        return self.answer


_WELL: Mapping[str, Answer] = {
    "list_stack_resources": RefusedError("ValidationError", "no such stack"),
    "list_service_quotas": {
        "Quotas": [{"QuotaName": FLEET.quota, "Value": 8.0}],
    },
    "list_aws_default_service_quotas": {"Quotas": []},
    "list_endpoints": {"Endpoints": []},
    "describe_instance_type_offerings": {
        "InstanceTypeOfferings": [{"Location": "us-east-1"}]
    },
    "describe_subnets": {
        "Subnets": [{"AvailableIpAddressCount": 16, "AvailabilityZoneId": "us-east-1"}]
    },
    "describe_security_groups": {"SecurityGroups": [{}]},
    "get_secret_value": {"SecretString": "hf_" + "a" * 30},
    "get_role": {"Role": {}},
}


def missing(code: str = "ResourceNotFoundException") -> RefusedError:
    """
    Refuse because there is no such thing.
    """
    return RefusedError(code, "it is not there")


def asked(
    needs: Needs, answers: Mapping[str, Answer], hub: Hub | str = "not to be asked"
) -> Preflight:
    """
    Ask an account that answers so.
    """
    reader = ScriptedReader(_NoSession(), CALLS, answers=answers)  # type: ignore[arg-type] # it is not used
    return preflight(needs, reader, account=ACCOUNT, hub=hub)


class _NoSession:
    region_name = "us-east-1"


def _found(
    needs: Needs, answers: Mapping[str, Answer], hub: Hub | str = "not to be asked"
) -> Sequence[Finding]:
    return [finding for _, finding in asked(needs, answers, hub).findings]


def _quota(value: float) -> dict[str, Answer]:
    row = {"QuotaName": FLEET.quota, "Value": value}
    return {"list_service_quotas": {"Quotas": [row]}}


def _fleet(**changed: Any) -> Needs:  # noqa: ANN401 - of a fleet
    values = {
        "place": PLACE,
        "instance_type": FLEET.instance_type,
        "first": 2,
        "most": 4,
        "updating": 8,
        **changed,
    }
    return Needs(fleets=[Fleet(**values)])


def _subnets(free: int) -> dict[str, Answer]:
    row = {"AvailableIpAddressCount": free, "AvailabilityZoneId": "us-east-1"}
    return {"describe_subnets": {"Subnets": [row]}}


def _plan(status: str, **more: object) -> dict[str, Answer]:
    return {"describe_training_plan": {"Status": status, **more}}


def _key(state: str = "Enabled", policy: object = None) -> dict[str, Answer]:
    return {
        "describe_key": {
            "KeyMetadata": {
                "KeyState": state,
                "KeyUsage": "ENCRYPT_DECRYPT",
                "KeySpec": "SYMMETRIC_DEFAULT",
                "KeyId": "k-1",
                "AWSAccountId": ACCOUNT,
            }
        },
        "get_key_policy": {"Policy": json.dumps(policy or {"Statement": []})},
    }


_MODEL = Needs(models=[HubModel(PLACE, "org/model", token=HUB_SECRET)])
_TOKEN = Needs(secrets=[HUB_SECRET], models=_MODEL.models)
_KEYS = Needs(keys=[Named(PLACE, "alias/chat")])
_ROLES = Needs(roles=[Named(PLACE, f"arn:aws:iam::{ACCOUNT}:role/chat")])

# For each rule what breaks it.
ACCOUNT_RULES: Mapping[str, Callable[[], Sequence[Finding]]] = {
    "LLM561": partial(_found, _fleet(), _quota(1)),
    "LLM562": partial(
        _found,
        Needs(images=[Image(PLACE, _IMAGE)]),
        {
            "batch_get_image": {
                "images": [],
                "failures": [{"failureCode": "ImageNotFound"}],
            }
        },
    ),
    "LLM563": partial(
        _found,
        Needs(data=[Data(PLACE, "weights", "chat/", "prefix")]),
        {"list_objects_v2": {"KeyCount": 0}},
    ),
    "LLM564": partial(
        _found, Needs(secrets=[HUB_SECRET]), {"get_secret_value": missing()}
    ),
    "LLM565": partial(
        _found,
        Needs(secrets=[Secret(PLACE, "hub", key="token")]),
        {"get_secret_value": {"SecretString": '{"value": "x"}'}},
    ),
    "LLM566": partial(_found, _KEYS, _key("PendingDeletion")),
    "LLM567": partial(_found, _ROLES, {"get_role": missing("NoSuchEntity")}),
    "LLM568": partial(
        _found, _ROLES, {"get_role": {"Role": {"AssumeRolePolicyDocument": {}}}}
    ),
    "LLM569": partial(
        _found,
        Needs(subnets=[Named(PLACE, "subnet-1")]),
        {"describe_subnets": missing("InvalidSubnetID.NotFound")},
    ),
    "LLM570": partial(_found, _fleet(subnets=("subnet-1",)), _subnets(1)),
    "LLM571": partial(
        _found,
        _fleet(reservation=PLAN),
        _plan("Expired", EndTime=datetime(2026, 3, 1, tzinfo=UTC)),
    ),
    "LLM572": partial(
        _found,
        Needs(names=[NewName(PLACE, "endpoint", "chat")]),
        {"describe_endpoint": {"EndpointName": "chat"}},
    ),
    "LLM573": partial(
        _found,
        Needs(models=[HubModel(PLACE, "org/model")]),
        {},
        ScriptedHub(answer="gated"),
    ),
    "LLM574": partial(_found, _TOKEN, {}, ScriptedHub(is_known=False)),
    "LLM575": partial(
        _found,
        Needs(parameters=[Parameter(PLACE, "/cdk-bootstrap/hnb659fds/version", 6)]),
        {"get_parameter": {"Parameter": {"Value": "5"}}},
    ),
    "LLM576": partial(_found, Needs(accounts={PLACE: "222222222222"}), {}),
    "LLM661": partial(_found, _fleet(), _quota(7)),
    "LLM662": partial(
        _found,
        _fleet(instance_type="ml.p6-b200.48xlarge"),
        {"describe_instance_type_offerings": {"InstanceTypeOfferings": []}},
    ),
    "LLM663": partial(
        _found,
        Needs(secrets=[HUB_SECRET]),
        {"get_secret_value": {"SecretString": '{"token": "x"}'}},
    ),
    "LLM664": partial(_found, _KEYS, _key()),
    "LLM665": partial(_found, _fleet(subnets=("subnet-1",)), _subnets(15)),
    "LLM666": partial(
        _found,
        _fleet(reservation=PLAN),
        _plan("Scheduled", StartTime=datetime(2027, 3, 1, tzinfo=UTC)),
    ),
    "LLM667": partial(
        _found, Needs(scaled=[PLACE]), {"get_role": missing("NoSuchEntity")}
    ),
}
