"""
The classes that arguments may be of: what each takes, and what to write instead.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from cdk_sagemaker_llm.arguments import kind_of
from cdk_sagemaker_llm.arguments.classes import ALIASES, CLASSES

NUMBER_TOKEN = -1.8881545897087626e289
TEXT_TOKEN = "${Token[TOKEN.1]}"  # noqa: S105 - a placeholder of the CDK
# What nobody reads as a class, but by its name.
OPEN = {"Architecture", "Rows", "ServiceTimes", "Traffic", "Users"}
# The attribute or method that makes a value one of an interface.
READ = {
    "Construct": "node",
    "IAlarmRef": "alarm_ref",
    "cloudwatch.IAlarmAction": "bind",
    "events.IRuleTarget": "bind",
    "cloudwatch.IMetric": "to_metric_config",
    "codebuild.IBuildImage": "image_id",
    "ec2.IConnectable": "connections",
    "ec2.ISecurityGroup": "security_group_id",
    "ec2.IVpc": "vpc_id",
    "ecr.IRepository": "repository_arn",
    "ecr_assets.DockerImageAsset": "image_uri",
    "iam.IGrantable": "grant_principal",
    "iam.IRole": "role_arn",
    "kms.IKey": "key_arn",
    "s3.IBucket": "grant_read",
    "secretsmanager.ISecret": "secret_value",
    "sns.ITopic": "topic_arn",
}
# Kinds of several classes.
SEVERAL = {
    "ModelSource": ("HuggingFaceModel", "S3Model"),
    "Policy": ("TargetTracking", "StepScaling"),
    "Rollout": ("AllAtOnce", "Canary", "Linear", "Rolling"),
}
# Kinds that ask a value itself.
ASKED = {"Accelerators", "Available", "Path", "ServingConfiguration"}


def told(name: str, value: object) -> list[str]:
    """
    Return what is told of a value under a name.
    """
    return [str(fault) for fault in kind_of(name).faults("it", value)]


def made(name: str) -> type:
    """
    Return a class of a name, with nothing in it.
    """
    return type(name.rpartition(".")[2], (), {})


def test_each_kind_says_what_it_is_and_what_to_write(
    snapshot: SnapshotAssertion,
) -> None:
    """
    Instead of a text, a number, a class where an instance is asked for, and nothing.
    """
    found = {
        name: {
            "text": told(name, "spread"),
            "number": told(name, 3),
            "class": told(name, made(name)),
            "nothing": told(name, None),
        }
        for name in sorted({*CLASSES, *ALIASES})
    }

    assert found == snapshot


@pytest.mark.parametrize("name", sorted({*CLASSES} - OPEN - {*SEVERAL} - ASKED))
def test_a_class_goes_by_its_name_or_by_what_is_read_of_it(name: str) -> None:
    """
    Of a subclass too, and of what jsii hands out for an interface.
    """
    attribute = READ.get(name, "")
    members = {attribute: None} if attribute else {}
    class_ = type("Other" if attribute else name.rpartition(".")[2], (), members)
    subclass = type("Subclass", (class_,), {})
    handed_out = type("Proxy", (), {"_delegates": [class_()]})

    assert told(name, class_()) == []
    assert told(name, subclass()) == []
    assert told(name, handed_out()) == []
    assert len(told(name, object())) == 1


@pytest.mark.parametrize("name", sorted(SEVERAL))
def test_some_names_stand_for_several_classes(name: str) -> None:
    """
    Each of them, and no other.
    """
    for class_ in SEVERAL[name]:
        assert told(name, made(class_)()) == []
    assert len(told(name, made("Stranger")())) == 1


@pytest.mark.parametrize("name", sorted(OPEN))
def test_some_names_take_whatever_is_given(name: str) -> None:
    """
    Those who read them say what they may be, in better words.
    """
    assert told(name, object()) == []


@pytest.mark.parametrize(
    ("name", "value", "is_right"),
    [
        ("Accelerators", None, True),
        ("Accelerators", 0, True),
        ("Accelerators", len, True),
        ("Accelerators", "2", False),
        ("Available", len, True),
        ("Available", 1, False),
        ("Path", Path(), True),
        ("Path", ".", False),
        ("ServingConfiguration", type("Own", (), {"prepare": None})(), True),
        ("ServingConfiguration", type("Own", (), {"prepared": None})(), False),
    ],
)
def test_functions_numbers_and_paths_are_asked_themselves(
    name: str, value: object, *, is_right: bool
) -> None:
    """
    They have no name of their own.
    """
    assert (told(name, value) == []) is is_right


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("Duration", 5, "write Duration.seconds(5)"),
        ("Duration", 2.5, "write Duration.seconds(2.5)"),
        ("Duration", 2**64, "write Duration.seconds(...)"),
        ("Duration", True, "write Duration.seconds(...)"),
        ("Duration", NUMBER_TOKEN, "write Duration.seconds(...)"),
        ("Size", 5, "write Size.gibibytes(5)"),
        ("ModelSource", "s3://bucket/key", "write S3Model('s3://bucket/key')"),
        ("ModelSource", "a/b", "write HuggingFaceModel('a/b')"),
        ("ModelSource", "gpt2", "write HuggingFaceModel('organisation/name')"),
        ("ModelSource", TEXT_TOKEN, ""),
        ("ModelSource", 3, ""),
        ("ModelSource", made("S3Model"), "write S3Model(...)"),
        (
            "ModelSource",
            made("StagedModel")(),
            "write its attribute model, such as staged.model",
        ),
        ("RemovalPolicy", "destroy", "write RemovalPolicy.DESTROY"),
        ("RemovalPolicy", "no name", "write RemovalPolicy.RETAIN"),
        ("RemovalPolicy", 3, "write RemovalPolicy.RETAIN"),
        (
            "ServingConfiguration",
            made("StagedModel")(),
            "write its attribute serving, such as staged.serving",
        ),
        ("Rollout", made("Canary"), "write Canary(...)"),
        ("Rollout", "Canary", ""),
        ("Network", made("Network"), "write Network(...)"),
        ("Network", made("Other"), "write Network(vpc=...)"),
    ],
)
def test_the_way_out_is_of_what_was_got(name: str, value: object, remedy: str) -> None:
    """
    A number with its unit, an address with its class; a placeholder is not repeated.
    """
    (fault,) = kind_of(name).faults("it", value)

    assert fault.remedy == remedy


def test_the_type_of_the_cdk_is_told_from_ours() -> None:
    """
    EC2's class has the same name.
    """
    members = {"is_burstable": None, "to_string": lambda _: "g5.xlarge"}
    theirs = type("InstanceType", (), members)

    assert told("InstanceType", made("InstanceType")()) == []
    (fault,) = kind_of("InstanceType").faults("it", theirs())
    assert (
        fault.message == "it must be an InstanceType, got a value of type InstanceType"
    )
    assert fault.remedy == "write 'ml.g5.xlarge'"
