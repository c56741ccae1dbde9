"""
Policy documents, written so that they can be pasted and compared, and the table of
reasons: nothing is in it twice, and nothing of others is taken for ours.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from cdk_sagemaker_llm.permissions import (
    Verdict,
    judge,
    lacking,
    pasted,
    policy_document,
    reason_for,
    reasons,
    statements_of,
    trust_document,
    trusts_sagemaker,
)

KNOWN = {"AWS::Region": "eu-west-1", "AWS::Partition": "aws-cn"}


def statement(actions: object, resources: object, **more: object) -> dict[str, Any]:
    """
    Return a statement that allows actions on resources.
    """
    return {"Effect": "Allow", "Action": actions, "Resource": resources, **more}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        (5, 5),
        (None, None),
        ({"Ref": "AWS::Region"}, "eu-west-1"),
        ({"Ref": "Bucket"}, "${Bucket}"),
        ({"Fn::GetAtt": ["Key", "Arn"]}, "${Key.Arn}"),
        ({"Fn::Sub": "arn:${AWS::Partition}:s3:::a"}, "arn:aws-cn:s3:::a"),
        (
            {"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":", {"Ref": "A"}]]},
            "arn:aws-cn:${A}",
        ),
        ({"Fn::ImportValue": "Other:Name"}, "${Other:Name}"),
        (
            {"Fn::GetStackOutput": {"StackName": "Other", "OutputName": "Name"}},
            "${Other.Name}",
        ),
        ({"Fn::FindInMap": ["Table", "a", "b"]}, "${Table}"),
        ({"Fn::Select": [1, ["a"]]}, '${{"Fn::Select": [1, ["a"]]}}'),
        ([{"Ref": "A"}, {"k": {"Ref": "B"}}], ["${A}", {"k": "${B}"}]),
        ({"Ref": "A", "More": "b"}, {"Ref": "A", "More": "b"}),
    ],
    ids=str,
)
def test_what_cloudformation_computes_is_pasted_as_text(
    value: object, text: object
) -> None:
    """
    With what is known put in, and a name for the rest.
    """
    assert pasted(value, KNOWN) == text


@pytest.mark.parametrize(
    ("action", "resource"),
    [
        ("s3:GetObject", "arn:aws:s3:::a/*"),
        ("S3:getobject", "arn:aws:s3:::a/*"),
        ("s3:Get*", "arn:aws:s3:::*"),
        ("s3:GetObjec?", "arn:aws:s3:::?/*"),
        ("*", "*"),
        (
            ["s3:PutObject", "s3:*"],
            ["arn:aws:s3:::b", "arn:${AWS::Partition}:s3:::a/*"],
        ),
    ],
)
def test_what_a_wildcard_covers_is_not_lacking(
    action: object, resource: object
) -> None:
    """
    Of actions whatever their case; of resources in any partition.
    """
    wanted = [statement("s3:GetObject", "arn:${AWS::Partition}:s3:::a/*")]

    assert lacking(wanted, [statement(action, resource)]) == []


@pytest.mark.parametrize(
    "allowed",
    [
        [],
        [statement("s3:GetObjectAcl", "*")],
        [statement("s3:Get", "*")],
        [statement("s3:GetObject", "arn:aws:s3:::a/b/*")],
        [statement("s3:GetObject", "arn:aws:s3:::A/*")],
        [statement("s3:GetObject", "*", Condition={"Bool": {"a": "true"}})],
        [{**statement("s3:GetObject", "*"), "Effect": "Deny"}],
        [{"Effect": "Allow", "NotAction": "s3:Put*", "Resource": "*"}],
        [{"Effect": "Allow", "Action": "*", "NotResource": "arn:aws:s3:::b"}],
        [{"Effect": "Allow", "Action": "*"}],
    ],
    ids=str,
)
def test_what_nothing_covers_is_lacking(allowed: list[dict[str, Any]]) -> None:
    """
    What cannot be judged allows nothing.
    """
    wanted = statement("s3:GetObject", "arn:aws:s3:::a/*", Sid="Read")

    assert lacking([wanted], allowed) == [
        {**wanted, "Action": ["s3:GetObject"], "Resource": ["arn:aws:s3:::a/*"]}
    ]


def test_only_what_is_missing_is_lacking() -> None:
    """
    Of several actions on several resources.
    """
    wanted = statement(["a:One", "a:Two"], ["arn:one", "arn:two"])
    having = [
        statement("a:One", "*"),
        statement("a:Two", "arn:two"),
    ]

    assert lacking([wanted], having) == [statement(["a:Two"], ["arn:one"])]


ACTION, RESOURCE = "sagemaker:InvokeEndpoint", "arn:aws:sagemaker:r:1:endpoint/a"
OWNER = {"aws:principalaccount": "1"}
OF_ACCOUNT = {"StringEquals": {"aws:PrincipalAccount": "1"}}
OF_ANOTHER = {"StringEquals": {"aws:PrincipalAccount": "2"}}
UNKNOWN = {"StringEquals": {"aws:SourceVpce": "v"}}


@pytest.mark.parametrize(
    ("statements", "verdict"),
    [
        ([], Verdict.UNSAID),
        ([statement(ACTION, RESOURCE)], Verdict.ALLOWED),
        ([statement("SageMaker:invoke*", "*endpoint/?")], Verdict.ALLOWED),
        ([statement(ACTION, f"{RESOURCE}b")], Verdict.UNSAID),
        ([statement(ACTION, RESOURCE.upper())], Verdict.UNSAID),
        ([statement("sagemaker:InvokeEndpointAsync", "*")], Verdict.UNSAID),
        ([statement(ACTION, "*", Condition=OF_ACCOUNT)], Verdict.ALLOWED),
        ([statement(ACTION, "*", Condition=OF_ANOTHER)], Verdict.UNSAID),
        ([statement(ACTION, "*", Condition=UNKNOWN)], Verdict.UNSAID),
        ([{"Effect": "Allow", "NotAction": "s3:*", "Resource": "*"}], Verdict.ALLOWED),
        (
            [{"Effect": "Allow", "NotAction": "sagemaker:*", "Resource": "*"}],
            Verdict.UNSAID,
        ),
        (
            [{"Effect": "Allow", "Action": "*", "NotResource": RESOURCE}],
            Verdict.UNSAID,
        ),
        (
            [statement("*", "*"), {**statement(ACTION, "*"), "Effect": "Deny"}],
            Verdict.DENIED,
        ),
        (
            [
                statement("*", "*"),
                {**statement(ACTION, "*", Condition=OF_ANOTHER), "Effect": "Deny"},
            ],
            Verdict.ALLOWED,
        ),
    ],
    ids=str,
)
def test_the_policies_of_a_principal_are_judged(
    statements: list[dict[str, Any]], verdict: Verdict
) -> None:
    """
    What is denied anywhere is denied; a condition that is not known does not hold.
    """
    documents = [policy_document([each]) for each in statements]

    assert judge(documents, ACTION, RESOURCE, OWNER) is verdict


def test_the_same_condition_allows() -> None:
    """
    As where a user has pasted what the warning said.
    """
    wanted = statement("s3:ListBucket", "a", Condition={"StringLike": {"b": ["c"]}})

    assert lacking([wanted], [wanted]) == []
    other = {**wanted, "Condition": {"StringLike": {"b": ["d"]}}}
    assert lacking([wanted], [other]) != []


def test_the_trust_that_is_told_is_trust() -> None:
    """
    For the account that it is told for.
    """
    document = trust_document("111111111111")

    assert trusts_sagemaker(document)
    assert document["Statement"][0]["Condition"] == {
        "StringEquals": {"aws:SourceAccount": "111111111111"}
    }


@pytest.mark.parametrize(
    "principal",
    [
        {"Service": "lambda.amazonaws.com"},
        {"AWS": "sagemaker.amazonaws.com"},
        "*",
        None,
    ],
    ids=str,
)
def test_others_are_no_trust(principal: object) -> None:
    """
    SageMaker has to be named as a service.
    """
    one = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": principal}

    assert not trusts_sagemaker({"Statement": one})


@pytest.mark.parametrize(
    "changed",
    [{"Effect": "Deny"}, {"Action": "sts:TagSession"}, {"Action": None}],
    ids=str,
)
def test_another_statement_is_no_trust(changed: dict[str, object]) -> None:
    """
    It must allow, and the right thing.
    """
    one = {
        "Effect": "Allow",
        "Action": "sts:AssumeRole",
        "Principal": {"Service": ["sagemaker.amazonaws.com"]},
    }

    assert trusts_sagemaker({"Statement": [one]})
    assert not trusts_sagemaker({"Statement": [{**one, **changed}]})


@pytest.mark.parametrize("document", [None, [], "a", {"Statement": 5}, {}], ids=str)
def test_what_is_no_document_has_no_statements(document: object) -> None:
    """
    A template may hold anything.
    """
    assert list(statements_of(document)) == []


@pytest.mark.parametrize("partition", ["aws", "aws-cn", "aws-us-gov"])
def test_a_partition_is_any(partition: str) -> None:
    """
    Of what is wanted and of what is allowed.
    """
    plain = statement("s3:GetObject", f"arn:{partition}:s3:::a")
    open_ = statement("s3:GetObject", "arn:${AWS::Partition}:s3:::a")

    assert lacking([plain], [open_]) == []
    assert lacking([open_], [plain]) == []


def test_what_has_no_condition_allows_what_has_one() -> None:
    """
    But not the other way round, nor with another condition.
    """
    plain = statement("s3:GetObject", "*")
    one = {**plain, "Condition": {"StringEquals": {"a": "b"}}}
    other = {**plain, "Condition": {"StringEquals": {"a": "c"}}}

    assert lacking([one], [plain]) == []
    assert lacking([one], [one]) == []
    assert lacking([plain], [one]) == [
        {**plain, "Action": ["s3:GetObject"], "Resource": ["*"]}
    ]
    assert lacking([one], [other]) == [
        {**one, "Action": ["s3:GetObject"], "Resource": ["*"]}
    ]


def test_each_action_of_a_statement_has_one_reason() -> None:
    """
    The second one would never be shown.
    """
    counted = Counter((one.sid, action) for one in reasons() for action in one.actions)

    assert [key for key, number in counted.items() if number > 1] == []


def test_each_reason_is_a_sentence_with_a_source() -> None:
    """
    A reader acts on it.
    """
    for one in reasons():
        assert one.actions
        assert all(":" in action and "*" not in action for action in one.actions)
        assert min(len(one.why), len(one.without), len(one.source)) > 10
        assert not one.why.endswith(".")


@pytest.mark.parametrize(
    "sid", ["ReadWeights", "ReadWeights2", "ReadWeights12"], ids=str
)
def test_a_statement_is_known_by_its_name_without_its_number(sid: str) -> None:
    """
    The second of one name has a number.
    """
    found = reason_for(sid, "s3:GetObject")

    assert found is not None
    assert found.why == "reads the model's weights, under their prefix alone"


def test_a_key_by_its_alias_is_used_for_the_same() -> None:
    """
    The statement's name says that the condition names it.
    """
    assert reason_for("DecryptWeightsByAlias2", "kms:Decrypt") == reason_for(
        "DecryptWeights", "kms:Decrypt"
    )


PULLED = "pulls the container's image, of this repository alone"
PUSHED = "copies an image into this repository, and sees what is there already"


@pytest.mark.parametrize(
    ("sid", "action", "why"),
    [
        ("PullImage", "ecr:BatchCheckLayerAvailability", PULLED),
        ("PullImage", "ecr:BatchGetImage", PULLED),
        ("PullImage", "ecr:GetDownloadUrlForLayer", PULLED),
        ("PushImage", "ecr:BatchCheckLayerAvailability", PUSHED),
        ("PushImage", "ecr:BatchGetImage", PUSHED),
        ("PushImage", "ecr:CompleteLayerUpload", PUSHED),
        ("PushImage", "ecr:InitiateLayerUpload", PUSHED),
        ("PushImage", "ecr:PutImage", PUSHED),
        ("PushImage", "ecr:UploadLayerPart", PUSHED),
    ],
)
def test_one_action_has_the_reason_of_its_statement(
    sid: str, action: str, why: str
) -> None:
    """
    An image is read where it is pulled, and where one is pushed.
    """
    found = reason_for(sid, action)

    assert found is not None
    assert found.why == why


@pytest.mark.parametrize(
    ("sid", "action"),
    [
        ("ReadWeights", "s3:PutObject"),
        ("ReadWeightsToo", "s3:GetObject"),
        ("", "s3:GetBucketLocation"),
        ("", "ecr:GetAuthorizationToken"),
        ("ByAlias", "s3:GetObject"),
    ],
)
def test_what_others_allow_has_no_reason(sid: str, action: str) -> None:
    """
    The same name does not make it ours, nor does the same action.
    """
    assert reason_for(sid, action) is None


@pytest.mark.parametrize(
    ("action", "beside"),
    [
        ("s3:GetObject", "sagemaker:InvokeEndpointAsync"),
        ("kms:Decrypt", "sagemaker:InvokeEndpointAsync"),
        ("ssm:GetParameter", "sagemaker:InvokeEndpoint"),
        (
            "application-autoscaling:RegisterScalableTarget",
            "sagemaker:UpdateInferenceComponentRuntimeConfig",
        ),
    ],
)
def test_what_anybody_may_grant_is_ours_beside_our_own(
    action: str, beside: str
) -> None:
    """
    A principal that asks no model reads no parameter for us.
    """
    assert reason_for("", action) is None
    assert reason_for("", action, {"sagemaker:DescribeEndpoint"}) is None
    assert reason_for("", action, {beside}) is not None
