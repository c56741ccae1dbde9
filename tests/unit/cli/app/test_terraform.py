"""
Terraform plans, as ``terraform show -json`` prints them: the same rules, by addresses.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.cli.app.findings import Report, hosted_reports
from cdk_sagemaker_llm.cli.app.terraform import resources_of
from tests.running import run

IMAGE = (
    "763104351884.dkr.ecr.us-east-1.amazonaws.com/djl-inference:0.36.0-lmi28.0.0-cu130"
)
AMI = "al2023-ami-sagemaker-inference-gpu-4-1"
MODEL = "aws_sagemaker_model.chat"
CONFIG = "aws_sagemaker_endpoint_configuration.chat"
ENDPOINT = "aws_sagemaker_endpoint.chat"


def planned(address: str, **values: object) -> dict[str, Any]:
    """
    Write a resource of a plan's values.
    """
    type_, name = address.split("[", maxsplit=1)[0].split(".")[-2:]
    return {
        "address": address,
        "mode": "managed",
        "type": type_,
        "name": name,
        "provider_name": "registry.terraform.io/hashicorp/aws",
        "values": values,
    }


def plan(
    *resources: dict[str, Any],
    unknown: dict[str, Any] | None = None,
    expressions: dict[str, Any] | None = None,
    **root: object,
) -> dict[str, Any]:
    """
    Write a plan.

    Args:
        resources: What it makes.

        unknown: What is known after apply, by the addresses.

        expressions: What the configuration says, likewise.

        root: What else its root module has.
    """
    changes = [
        {"address": address, "change": {"after_unknown": values}}
        for address, values in (unknown or {}).items()
    ]
    written = [
        {
            "address": address,
            "type": address.split(".")[-2],
            "name": address.split(".")[-1],
            "expressions": values,
        }
        for address, values in (expressions or {}).items()
    ]
    return {
        "format_version": "1.2",
        "terraform_version": "1.13.4",
        "planned_values": {"root_module": {"resources": list(resources), **root}},
        "resource_changes": changes,
        "configuration": {"root_module": {"resources": written}},
    }


def model(**environment: str) -> dict[str, Any]:
    """
    Write a model, as the provider has it: a block is a list of one.
    """
    container: dict[str, object] = {
        "image": IMAGE,
        "environment": {"HF_MODEL_ID": "a/b", **environment},
        "model_data_url": None,
        "mode": "SingleModel",
        "model_data_source": [],
    }
    return planned(MODEL, name="chat", primary_container=[container], container=[])


def config(**variant: object) -> dict[str, Any]:
    """
    Write a configuration of one variant.
    """
    shape = {
        "variant_name": "AllTraffic",
        "model_name": "chat",
        "instance_type": "ml.g5.12xlarge",
        "initial_instance_count": 1,
        "inference_ami_version": AMI,
        "serverless_config": [],
        "managed_instance_scaling": [],
        "volume_size_in_gb": None,
        **variant,
    }
    return planned(
        CONFIG,
        name="chat",
        execution_role_arn=None,
        kms_key_arn=None,
        production_variants=[shape],
        shadow_production_variants=[],
    )


def endpoint() -> dict[str, Any]:
    """
    Write an endpoint; all three are called alike, as they often are.
    """
    return planned(
        ENDPOINT, name="chat", endpoint_config_name="chat", deployment_config=[]
    )


def checked(folder: Path, content: dict[str, Any]) -> list[Report]:
    """
    Check a plan.
    """
    file = folder / "plan.json"
    file.write_text(json.dumps(content, indent=1))
    return hosted_reports(file)


def found(reports: list[Report]) -> dict[str, list[str]]:
    """
    Return the codes of what was found, by the addresses.
    """
    return {
        report.place.name: [one.code for one in report.findings]
        for report in reports
        if report.place is not None and report.findings
    }


def test_a_plan_that_is_right_has_no_finding(tmp_path: Path) -> None:
    """
    Its model is checked for the instances that it runs on.
    """
    wide = model(OPTION_TENSOR_PARALLEL_DEGREE="8")
    right = checked(tmp_path, plan(model(), config(), endpoint()))
    wrong = checked(tmp_path, plan(wide, config(), endpoint()))

    assert found(right) == {}
    assert [report.is_checked for report in right] == [True]
    assert found(wrong) == {MODEL: ["LLM154"]}
    assert wrong[0].subject == f"plan/{MODEL}"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"instance_type": "ml.g5.huge"}, "LLM101"),
        ({"initial_instance_count": 0}, "LLM105"),
        ({"variant_name": "all_traffic"}, "LLM106"),
        ({"container_startup_health_check_timeout_in_seconds": 30}, "LLM111"),
        ({"volume_size_in_gb": 100}, "LLM121"),
        (
            {
                "managed_instance_scaling": [
                    {"status": "ENABLED", "max_instance_count": 2}
                ]
            },
            "LLM122",
        ),
        ({"model_name": None}, "LLM124"),
        ({"inference_ami_version": "gpu-9"}, "LLM184"),
        ({"instance_type": None}, "LLM311"),
    ],
)
def test_the_providers_words_are_held_to_the_same_rules(
    tmp_path: Path, change: dict[str, object], code: str
) -> None:
    """
    At the resource's address, and the line of the file that it begins at.
    """
    reports = checked(tmp_path, plan(model(), config(**change), endpoint()))
    codes = found(reports)[CONFIG]
    (report,) = [one for one in reports if one.place and one.place.name == CONFIG]

    assert codes == [code]
    assert report.place is not None
    lines = (tmp_path / "plan.json").read_text().splitlines()
    assert f'"address": "{CONFIG}"' in lines[report.place.line() - 1]


def test_what_is_known_after_apply_stays_open(tmp_path: Path) -> None:
    """
    A null elsewhere is what nobody set.
    """
    shape = config(model_name=None, instance_type=None, initial_instance_count=None)
    unknown = {
        CONFIG: {
            "name": True,
            "production_variants": [
                {"model_name": True, "instance_type": True, "core_dump_config": []}
            ],
        },
        MODEL: {"primary_container": [{"environment": {"OPTION_DTYPE": True}}]},
    }
    reports = checked(tmp_path, plan(model(), shape, endpoint(), unknown=unknown))

    assert found(reports) == {}
    assert reports[0].left_out == ("OPTION_DTYPE: known at deployment only",)


def test_references_are_the_configurations(tmp_path: Path) -> None:
    """
    Where names are random, and known after apply alone.
    """
    wide = model(OPTION_TENSOR_PARALLEL_DEGREE="8")
    del wide["values"]["name"]
    shape = config(model_name=None)
    variant = {"model_name": {"references": [f"{MODEL}.name", MODEL]}}
    content = plan(
        wide,
        shape,
        unknown={
            MODEL: {"name": True},
            CONFIG: {"production_variants": [{"model_name": True}]},
        },
        expressions={CONFIG: {"production_variants": [variant]}},
    )

    assert found(checked(tmp_path, content)) == {MODEL: ["LLM154"]}
    made = resources_of(content)[CONFIG]["Properties"]
    assert made["ProductionVariants"][0]["ModelName"] == {"Fn::GetAtt": [MODEL, "Name"]}


def test_modules_and_counts_are_read(tmp_path: Path) -> None:
    """
    Each resource by its whole address; what is called alike elsewhere is another.
    """
    address = f'module.chat["a/b"].{MODEL}[0]'
    wide = {**model(OPTION_TENSOR_PARALLEL_DEGREE="8"), "address": address}
    del wide["values"]["name"]
    shape = {**config(model_name=None), "address": f'module.chat["a/b"].{CONFIG}'}
    variant = {"model_name": {"references": [f"{MODEL}[0].name", f"{MODEL}[0]", MODEL]}}
    content = plan(
        unknown={
            shape["address"]: {"production_variants": [{"model_name": True}]},
        },
        child_modules=[{"address": 'module.chat["a/b"]', "resources": [wide, shape]}],
    )
    inner = plan(expressions={CONFIG: {"production_variants": [variant]}})
    content["configuration"]["root_module"]["module_calls"] = {
        "chat": {"module": inner["configuration"]["root_module"]}
    }

    assert found(checked(tmp_path, content)) == {address: ["LLM154"]}


def test_scaling_is_read(tmp_path: Path) -> None:
    """
    Its target, and the queue that an alarm follows; a map of dimensions is a list.
    """
    target = planned(
        "aws_appautoscaling_target.chat",
        service_namespace="sagemaker",
        scalable_dimension="sagemaker:variant:DesiredInstanceCount",
        resource_id="endpoint/chat/variant/Al1Traffic",
        min_capacity=4,
        max_capacity=2,
    )
    alarm = planned(
        "aws_cloudwatch_metric_alarm.queue",
        alarm_name="queue",
        namespace="AWS/SageMaker",
        metric_name="ApproximateBacklogSize",
        dimensions={"EndpointName": "chat"},
        metric_query=[],
    )
    metric = {
        "namespace": "AWS/SageMaker",
        "metric_name": "ApproximateBacklogSizePerInstance",
        "dimensions": [{"name": "EndpointName", "value": "chat"}],
        "metrics": [],
    }
    tracking = {"target_value": 5, "customized_metric_specification": [metric]}
    policy = planned(
        "aws_appautoscaling_policy.chat",
        name="chat",
        policy_type="TargetTrackingScaling",
        resource_id="endpoint/chat/variant/AllTraffic",
        target_tracking_scaling_policy_configuration=[tracking],
    )
    content = plan(model(), config(), endpoint(), target, alarm, policy)

    assert found(checked(tmp_path, content)) == {
        "aws_appautoscaling_target.chat": ["LLM105", "LLM123"],
        "aws_cloudwatch_metric_alarm.queue": ["LLM349"],
        "aws_appautoscaling_policy.chat": ["LLM349"],
    }


def test_components_are_those_of_awscc(tmp_path: Path) -> None:
    """
    Which has CloudFormation's own words, and objects instead of lists.
    """
    shape = config(model_name=None)
    shape["values"]["execution_role_arn"] = "arn:aws:iam::111111111111:role/it"
    component = planned(
        "awscc_sagemaker_inference_component.chat",
        inference_component_name="chat",
        endpoint_name="chat",
        variant_name="AllTraffic",
        specification={
            "model_name": "chat",
            "compute_resource_requirements": {
                "min_memory_required_in_mb": 64,
                "number_of_accelerator_devices_required": 4,
            },
        },
        runtime_config={"copy_count": 1},
    )
    wide = model(OPTION_TENSOR_PARALLEL_DEGREE="8")
    content = plan(wide, shape, endpoint(), component)

    assert found(checked(tmp_path, content)) == {
        MODEL: ["LLM154"],
        "awscc_sagemaker_inference_component.chat": ["LLM111"],
    }


def test_an_environment_of_awscc_is_json(tmp_path: Path) -> None:
    """
    One that cannot be read is left open.
    """
    container = {"image": IMAGE, "environment": json.dumps({"OPTION_DTYPE": "fp4"})}
    made = planned("awscc_sagemaker_model.chat", primary_container=container)
    wrong = found(checked(tmp_path, plan(made)))
    container["environment"] = "{"
    (odd,) = checked(tmp_path, plan(made))

    assert "LLM136" in wrong["awscc_sagemaker_model.chat"]
    assert odd.left_out == ("its environment: it is known at deployment only",)


def test_the_command_reads_plans_and_states(tmp_path: Path) -> None:
    """
    A plan that Terraform alone can read is told how to be shown.
    """
    wrong = model(OPTION_DTYPE="fp4")
    content = plan(wrong)
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(content))
    as_plan = run("check", file)
    content["values"] = content.pop("planned_values")
    file.write_text(json.dumps(content))
    as_state = run("check", file)
    binary = tmp_path / "plan"
    binary.write_bytes(b"PK\x03\x04 tfplan\0")
    told = run("check", binary)

    assert as_plan.returncode == as_state.returncode == 1
    assert as_plan.stdout == as_state.stdout
    assert as_plan.stdout.startswith(f"plan/{MODEL}: error LLM136 OPTION_DTYPE")
    assert told.returncode == 2
    assert told.stderr.endswith(
        "a Terraform plan is read in JSON: terraform show -json PLAN > plan.json\n"
    )


@pytest.mark.parametrize(
    "odd",
    [
        {"planned_values": None},
        {"planned_values": {"root_module": []}},
        {"planned_values": {"root_module": {"resources": [1, {}]}}},
        {"resource_changes": [1], "planned_values": {}},
        {"configuration": {"root_module": {"module_calls": 1}}, "values": {}},
    ],
)
def test_a_plan_of_another_shape_makes_nothing(odd: dict[str, Any]) -> None:
    """
    What is not there cannot be checked.
    """
    assert resources_of({"terraform_version": "1.13.4", **odd}) == {}


def test_data_and_other_resources_are_left_out() -> None:
    """
    A data source is made by nobody.
    """
    data = {**model(), "mode": "data"}
    other = planned("aws_s3_bucket.weights", bucket="weights")

    assert resources_of(plan(data, other)) == {}
