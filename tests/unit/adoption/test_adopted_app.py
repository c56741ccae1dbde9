"""
A deployment as Python's text, before the CDK has seen it.
"""

from __future__ import annotations

import ast
from typing import Any

from cdk_sagemaker_llm.adoption.app import AdoptedApp, Setting
from cdk_sagemaker_llm.adoption.deployment import Deployment, Open, Request
from cdk_sagemaker_llm.adoption.resources import AdoptedResource, resources_of
from tests.secrecy import TOKEN

IMAGE = (
    "763104351884.dkr.ecr.us-east-1.amazonaws.com/djl-inference:0.33.0-lmi15.0.0-cu128"
)
ROLE = Open("role_arn", "sagemaker.get_execution_role() is known when it runs")
SCALED = {
    "ServiceNamespace": "sagemaker",
    "ResourceId": "endpoint/chat/variant/AllTraffic",
    "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
}


def _model(**more: Any) -> Request:  # noqa: ANN401 - whatever a request says
    container = {"Image": IMAGE, "Environment": {"HF_MODEL_ID": "gpt2"}}
    parameters = {
        "ModelName": "chat-model",
        "ExecutionRoleArn": ROLE,
        "PrimaryContainer": {**container, **more.pop("container", {})},
    }
    return Request(operation="CreateModel", parameters=parameters, **more)


def _stack(*requests: Request) -> str:
    files = AdoptedApp(Deployment(requests=requests)).files()
    text = files["adopted_stack.py"].decode()
    ast.parse(text)
    ast.parse(files["app.py"].decode())
    return text


def test_what_the_text_does_not_hold_is_an_argument() -> None:
    """
    Of the stack, which the app's context gives, with the reason.
    """
    app = AdoptedApp(Deployment(requests=[_model()]))
    files = {path: content.decode() for path, content in app.files().items()}

    assert "        *,\n        role_arn: str,\n" in files["adopted_stack.py"]
    assert '"Role", role_arn, mutable=False' in files["adopted_stack.py"]
    assert 'role_arn=app.node.get_context("role_arn")' in files["app.py"]
    assert "# role_arn: sagemaker.get_execution_role() is known when" in files["app.py"]


def test_what_does_not_exist_yet_is_neither_kept_nor_imported() -> None:
    """
    A script's deployment is made by the app.
    """
    made = AdoptedApp(Deployment(requests=[_model()])).files()
    exists = AdoptedApp(Deployment(requests=[_model(arn="arn:aws:x")])).files()

    assert b"RemovalPolicy.RETAIN" not in made["adopted_stack.py"]
    assert b"DefaultStackSynthesizer" not in made["app.py"]
    assert b"RemovalPolicy.RETAIN" in exists["adopted_stack.py"]
    assert b"generate_bootstrap_version_rule=False" in exists["app.py"]


def test_files_of_a_tarball_lie_beside_the_app() -> None:
    """
    As the script wrote them, and the model takes them from there.
    """
    content = b"option.rolling_batch=vllm\n"
    request = _model(files={"serving.properties": content})
    files = AdoptedApp(Deployment(requests=[request])).files()
    text = files["adopted_stack.py"].decode()

    assert files["assets/model/serving.properties"] == content
    assert "_HERE = Path(__file__).parent" in text
    assert '(_HERE / "assets/model/serving.properties").read_bytes()' in text


def test_where_it_was_read_stands_above_the_lines() -> None:
    """
    A line of a script, or a cell of a notebook.
    """
    assert "        # cell 3, line 4:\n        Model(" in _stack(
        _model(where="cell 3, line 4")
    )


def test_a_secret_is_read_where_it_was_written() -> None:
    """
    By a name that tells whose it is; its value is nowhere.
    """
    environment = {"HF_MODEL_ID": "gpt2", "HF_TOKEN": TOKEN}
    text = _stack(_model(container={"Environment": environment}))

    assert 'secrets_manager("adopted/chat-model/HF_TOKEN")' in text
    assert TOKEN not in text


def test_a_policy_and_its_alarm_are_written_together() -> None:
    """
    Also where the policy has no ARN yet; two alarms of one are each for themselves.
    """
    endpoint = Request(
        operation="CreateEndpoint",
        parameters={"EndpointName": "chat", "EndpointConfigName": "chat-config"},
    )
    target = Request(
        operation="RegisterScalableTarget",
        parameters={**SCALED, "MinCapacity": 1, "MaxCapacity": 2},
    )
    policy = Request(
        operation="PutScalingPolicy",
        parameters={
            **SCALED,
            "PolicyName": "busy",
            "PolicyType": "StepScaling",
            "StepScalingPolicyConfiguration": {
                "AdjustmentType": "ChangeInCapacity",
                "StepAdjustments": [
                    {"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}
                ],
            },
        },
    )

    def alarm(name: str) -> Request:
        parameters = {
            "AlarmName": name,
            "MetricName": "Invocations",
            "Namespace": "AWS/SageMaker",
            "Statistic": "Sum",
            "Period": 60,
            "EvaluationPeriods": 1,
            "Threshold": 100,
            "ComparisonOperator": "GreaterThanOrEqualToThreshold",
            "AlarmActions": ["policy/endpoint/chat/variant/AllTraffic/busy"],
        }
        return Request(operation="PutMetricAlarm", parameters=parameters)

    one = _stack(endpoint, target, policy, alarm("first"))
    two = _stack(endpoint, target, policy, alarm("first"), alarm("second"))

    assert 'scaling.scale_by_steps(\n            "busy",' in one
    assert "ScalingStep(change=1, lower=100)" in one
    assert "cloudwatch.Alarm(" not in one
    assert two.count("cloudwatch.Alarm(") == 2
    assert ".scale_by_steps(" not in two


def test_what_is_set_past_the_arguments_stands_beside_the_construct() -> None:
    """
    What goes in one loop, what comes in a line each.
    """
    app = AdoptedApp(Deployment(requests=[_model()]))
    app.settings["Model"] = [
        Setting("model.cfn_model", "PrimaryContainer.Mode", None),
        Setting("model.cfn_model", "Tags", None),
        Setting("model.cfn_model", "Containers", []),
    ]

    text = app.files()["adopted_stack.py"].decode()

    assert 'for path in ["PrimaryContainer.Mode", "Tags"]:' in text
    assert "            model.cfn_model.add_property_deletion_override(path)" in text
    assert 'model.cfn_model.add_property_override("Containers", [])' in text


def test_scheduled_actions_are_of_their_target() -> None:
    """
    As CloudFormation has them; others' are not.
    """
    other = {**SCALED, "ResourceId": "endpoint/other/variant/AllTraffic"}
    action = {"ScheduledActionName": "night", "Schedule": "cron(0 20 * * ? *)"}
    found = resources_of(
        Deployment(
            requests=[
                Request(
                    operation="RegisterScalableTarget",
                    parameters={**SCALED, "MinCapacity": 1, "MaxCapacity": 2},
                ),
                Request(operation="PutScheduledAction", parameters=SCALED | action),
                Request(operation="PutScheduledAction", parameters=other | action),
            ]
        )
    )

    (target,) = found
    assert target.properties["ScheduledActions"] == [action]
    assert target.physical_id == "|".join(
        SCALED[name] for name in ("ResourceId", "ScalableDimension", "ServiceNamespace")
    )


def test_an_endpoint_is_found_by_its_arn() -> None:
    """
    As the registry's schema has it.
    """
    resource = AdoptedResource(
        type="AWS::SageMaker::Endpoint",
        name="chat",
        properties={},
        request=Request(operation="CreateEndpoint", parameters={}, arn="arn:aws:chat"),
    )

    assert resource.identifier == {"EndpointArn": "arn:aws:chat"}
    assert resource.physical_id == "arn:aws:chat"
