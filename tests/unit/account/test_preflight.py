"""
What is asked of an account is judged by its limits, on both sides.
"""

from __future__ import annotations

import json

import pytest

from cdk_sagemaker_llm.account.needs import (
    Data,
    Fleet,
    HubModel,
    Image,
    Named,
    Needs,
    NewName,
    Secret,
)
from cdk_sagemaker_llm.account.preflight import calls_for
from cdk_sagemaker_llm.account.reader import RefusedError, policy_of
from cdk_sagemaker_llm.findings import Severity
from tests.unit.account_rule_examples import (
    ACCOUNT,
    ACCOUNT_RULES,
    FLEET,
    HUB_SECRET,
    PLACE,
    Answer,
    ScriptedHub,
    asked,
    missing,
)


def _codes(needs: Needs, answers: dict[str, Answer]) -> list[str]:
    return [finding.code for _, finding in asked(needs, answers).findings]


def _quota(value: float) -> dict[str, Answer]:
    return {
        "list_service_quotas": {"Quotas": [{"QuotaName": FLEET.quota, "Value": value}]}
    }


@pytest.mark.parametrize(
    ("value", "codes"),
    [(1, ["LLM561"]), (2, ["LLM661"]), (7, ["LLM661"]), (8, [])],
)
def test_a_quota_is_held_against_what_starts_and_what_an_update_runs(
    value: float, codes: list[str]
) -> None:
    """
    Two start, four may run, and eight do while an update is rolled out.
    """
    assert _codes(Needs(fleets=[FLEET]), _quota(value)) == codes


def test_the_default_holds_where_the_account_has_no_quota_of_its_own() -> None:
    """
    The service lists the applied ones alone.
    """
    answers: dict[str, Answer] = {
        "list_service_quotas": {"Quotas": []},
        "list_aws_default_service_quotas": {
            "Quotas": [{"QuotaName": FLEET.quota, "Value": 0.0}]
        },
    }

    assert _codes(Needs(fleets=[FLEET]), answers) == ["LLM561"]


def test_other_endpoints_are_counted() -> None:
    """
    They use the same quota; that they will still run is not certain.
    """
    answers = {
        **_quota(8),
        "list_endpoints": {"Endpoints": [{"EndpointName": "other"}]},
        "describe_endpoint": {
            "EndpointConfigName": "c",
            "ProductionVariants": [{"VariantName": "A", "CurrentInstanceCount": 7}],
        },
        "describe_endpoint_config": {
            "ProductionVariants": [
                {"VariantName": "A", "InstanceType": "ml.g5.2xlarge"}
            ]
        },
    }

    [(_, finding)] = asked(Needs(fleets=[FLEET]), answers).findings

    assert finding.code == "LLM661"
    assert finding.message == (
        "the quota 'ml.g5.2xlarge for endpoint usage' of us-east-1 is 8, other "
        "endpoints of the account run 7, and 2 instances must start"
    )


def test_one_type_of_several_may_lack_its_quota() -> None:
    """
    The service may start another.
    """
    choice = Fleet(
        place=PLACE,
        instance_type=FLEET.instance_type,
        first=2,
        most=2,
        updating=4,
        is_choice=True,
    )

    [(_, finding)] = asked(Needs(fleets=[choice]), _quota(0)).findings

    assert finding.severity is Severity.WARNING


def test_what_may_not_be_asked_is_no_finding() -> None:
    """
    ``ask`` answers nothing there, and notes it.
    """
    needs = Needs(
        fleets=[FLEET],
        images=[Image(PLACE, f"{ACCOUNT}.dkr.ecr.us-east-1.amazonaws.com/chat:1.0")],
        data=[Data(PLACE, "weights", "chat", "object")],
        keys=[Named(PLACE, "alias/chat")],
        names=[NewName(PLACE, "endpoint", "chat")],
    )
    nothing: dict[str, Answer] = dict.fromkeys(
        ("batch_get_image", "head_object", "describe_key", "describe_endpoint"), None
    )

    assert asked(needs, {**nothing, **_quota(8)}).findings == []


def test_a_refusal_stops_one_question_alone() -> None:
    """
    It is listed as not asked, and the others go on.
    """
    needs = Needs(fleets=[FLEET], secrets=[HUB_SECRET])

    found = asked(
        needs, {**_quota(1), "get_secret_value": RefusedError("Broken", "no luck")}
    )

    assert [finding.code for _, finding in found.findings] == ["LLM561"]
    assert [(one.what, one.why) for one in found.not_asked] == [
        ("secrets", "Broken: no luck")
    ]


@pytest.mark.parametrize(
    ("value", "codes"),
    [
        ("hf_" + "a" * 30, []),
        ("hf_" + "a" * 30 + "\n", ["LLM663"]),
        ("a" * 30, ["LLM663"]),
        (" ", ["LLM564"]),
    ],
)
def test_a_token_has_the_form_that_the_hub_gives_it(
    value: str, codes: list[str]
) -> None:
    """
    Whatever is found, nothing of the value is told.
    """
    found = asked(
        Needs(secrets=[HUB_SECRET]), {"get_secret_value": {"SecretString": value}}
    )

    assert [finding.code for _, finding in found.findings] == codes
    assert "aaa" not in str(found)


def test_a_value_in_json_is_read_by_its_key() -> None:
    """
    As CloudFormation reads it.
    """
    secret = Secret(PLACE, "hub", "token", is_token=True)
    value = json.dumps({"token": "hf_" + "a" * 30})

    answers: dict[str, Answer] = {"get_secret_value": {"SecretString": value}}

    assert _codes(Needs(secrets=[secret]), answers) == []


@pytest.mark.parametrize(
    ("principal", "codes"),
    [
        ({"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, []),
        ({"AWS": [f"arn:aws:iam::{ACCOUNT}:role/chat"]}, []),
        ({"AWS": "arn:aws:iam::222222222222:root"}, ["LLM664"]),
    ],
)
def test_a_keys_policy_leaves_it_to_iam_or_names_a_role(
    principal: dict[str, object], codes: list[str]
) -> None:
    """
    Otherwise no policy of a role helps.
    """
    policy = {
        "Statement": [{"Effect": "Allow", "Principal": principal, "Action": "kms:*"}]
    }
    key = {
        "KeyState": "Enabled",
        "KeySpec": "SYMMETRIC_DEFAULT",
        "KeyId": "k-1",
    }
    needs = Needs(
        keys=[Named(PLACE, "alias/chat")],
        roles=[Named(PLACE, f"arn:aws:iam::{ACCOUNT}:role/chat")],
    )
    trust = {
        "Statement": {
            "Effect": "Allow",
            "Principal": {"Service": "sagemaker.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }
    }

    assert (
        _codes(
            needs,
            {
                "describe_key": {"KeyMetadata": key},
                "get_key_policy": {"Policy": json.dumps(policy)},
                "get_role": {"Role": {"AssumeRolePolicyDocument": trust}},
            },
        )
        == codes
    )


def test_a_name_of_the_apps_own_stack_is_free() -> None:
    """
    CloudFormation updates what it has made.
    """
    answers: dict[str, Answer] = {
        "describe_endpoint": {"EndpointName": "chat"},
        "list_stack_resources": {
            "StackResourceSummaries": [
                {
                    "LogicalResourceId": "Endpoint",
                    "PhysicalResourceId": "arn:aws:sagemaker:r:a:endpoint/chat",
                }
            ]
        },
    }
    needs = Needs(names=[NewName(PLACE, "endpoint", "chat")])

    assert _codes(needs, answers) == []


def test_a_gated_model_says_where_its_terms_are() -> None:
    """
    And a model is asked for once, whoever serves it.
    """
    needs = Needs(models=[HubModel(PLACE, "org/model")] * 2)

    [(_, finding)] = asked(needs, {}, ScriptedHub(answer="gated")).findings

    assert str(finding) == (
        "LLM573 org/model is gated, and not handed out without a token; accept its "
        "terms on https://huggingface.co/org/model, and give the model a token"
    )


def test_a_policy_is_no_wider_than_the_app() -> None:
    """
    Secrets, objects and buckets are named; what nobody needs is not asked for.
    """
    needs = Needs(
        data=[
            Data(PLACE, "weights", "chat/model.tar.gz", "object"),
            Data(PLACE, "outputs", "", "bucket"),
        ]
    )

    policy = policy_of(calls_for(needs))

    by_resource = {
        tuple(one["Resource"]): one["Action"]
        for one in policy["Statement"]
        if one["Resource"] != ["*"]
    }
    assert by_resource == {
        ("arn:aws:s3:::weights/chat/model.tar.gz",): ["s3:GetObject"],
        ("arn:aws:s3:::outputs", "arn:aws:s3:::weights"): ["s3:ListBucket"],
    }


def test_each_finding_says_the_way_out() -> None:
    """
    Whatever is wrong.
    """
    for code, example in ACCOUNT_RULES.items():
        found = [finding for finding in example() if finding.code == code]
        assert found, code
        assert all(finding.remedy for finding in found), code


def test_an_image_elsewhere_is_not_asked() -> None:
    """
    Other registries than ECR's are not SageMaker's.
    """
    found = asked(Needs(images=[Image(PLACE, "docker.io/vllm/vllm:1")]), {})

    assert found.findings == []
    assert [one.why for one in found.not_asked] == [
        "docker.io/vllm/vllm:1 is in no registry of ECR"
    ]


def test_an_unknown_kind_of_absence_is_not_taken_for_one() -> None:
    """
    A refusal is no proof that something is not there.
    """
    needs = Needs(roles=[Named(PLACE, f"arn:aws:iam::{ACCOUNT}:role/chat")])

    assert _codes(needs, {"get_role": RefusedError("ServiceFailure", "later")}) == []
    assert _codes(needs, {"get_role": missing("NoSuchEntity")}) == ["LLM567"]
