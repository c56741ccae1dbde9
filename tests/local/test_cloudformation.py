"""
How stacks come, change, roll back and go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from tests.local.hosting_requests import REGISTRY, TGI, unique
from tests.local.stacks import Stacks, Template, hosted, hosting_components

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws


@pytest.fixture(name="stacks", scope="module")
def _stacks(near_aws: EmbeddedAws) -> Stacks:
    return Stacks(near_aws)


class TestCreate:
    """
    Creating a stack.
    """

    def test_resources_come_in_the_order_they_depend_on_each_other(
        self, stacks: Stacks
    ) -> None:
        """
        Each with an event when it begins and one when it is there.
        """
        name = unique("stack")

        assert stacks.create(name, hosted()) == "CREATE_COMPLETE"
        done = [e[0] for e in stacks.events(name) if e[1] == "CREATE_COMPLETE"]
        assert done == ["Model", "Config", "Endpoint", "Target", "Policy", name]

    def test_references_are_those_of_cloudformation(
        self, near_aws: EmbeddedAws, stacks: Stacks
    ) -> None:
        """
        Ref of a hosting resource is its ARN, that of a target its three parts.
        """
        name = unique("stack")
        stacks.create(name, hosted())

        outputs = stacks.outputs(name)
        resource_id = f"endpoint/{outputs['Name']}/variant/AllTraffic"
        dimension = "sagemaker:variant:DesiredInstanceCount"
        place = f"arn:aws:sagemaker:us-east-1:{near_aws.account}:model/"
        assert outputs["Model"].startswith(place)
        assert outputs["Target"] == f"{resource_id}|{dimension}|sagemaker"
        assert stacks.scaling.describe_scaling_policies(
            ServiceNamespace="sagemaker", ResourceId=resource_id
        )["ScalingPolicies"]

    def test_values_take_the_type_the_api_wants(self, stacks: Stacks) -> None:
        """
        A number in an environment becomes text, a count in text a number.
        """
        name = unique("stack")
        stacks.create(name, hosted())

        model = stacks.outputs(name)["Model"].split("/")[1]
        shown = stacks.sagemaker.describe_model(ModelName=model)
        assert shown["PrimaryContainer"]["Environment"] == {"NUMBER": "1"}

    def test_a_failure_rolls_back_and_leaves_nothing(self, stacks: Stacks) -> None:
        """
        The event has the service's words.
        """
        name = unique("stack")

        assert stacks.create(name, hosting_components(copies=9)) == "ROLLBACK_COMPLETE"
        failed = [e for e in stacks.events(name) if e[1] == "CREATE_FAILED"]
        assert failed[0][0] == "Component"
        assert "There is not enough hardware resources" in failed[0][2]
        assert "accelerators: needs 1, free 0" in failed[0][2]
        assert stacks.physical_ids(name) == {}

    def test_a_property_that_does_not_exist_fails(self, stacks: Stacks) -> None:
        """
        As CloudFormation's schema does.
        """
        name = unique("stack")
        template = hosting_components(Copies=3)

        assert stacks.create(name, template) == "ROLLBACK_COMPLETE"
        reasons = " ".join(event[2] for event in stacks.events(name))
        assert "extraneous key [Copies] is not permitted" in reasons

    def test_a_wrong_output_fails_the_stack(self, stacks: Stacks) -> None:
        """
        And none of the calls after it.
        """
        name = unique("stack")
        template = hosted()
        template["Outputs"] = {"X": {"Value": {"Fn::GetAtt": ["Model", "Nothing"]}}}

        assert stacks.create(name, template) == "ROLLBACK_COMPLETE"

    def test_resources_that_wait_for_each_other_are_refused(
        self, stacks: Stacks
    ) -> None:
        """
        Before anything is made.
        """
        template = hosted()
        template["Resources"]["Model"]["DependsOn"] = "Endpoint"

        with pytest.raises(ClientError, match="Circular dependency between resources"):
            stacks.create(unique("stack"), template)

    def test_a_type_nobody_stands_for_says_so(self, stacks: Stacks) -> None:
        """
        It is recorded so that references resolve; the CDK's metadata goes silently.
        """
        name = unique("stack")
        template = {
            "Resources": {
                "Unknown": {"Type": "AWS::Nobody::Knows", "Properties": {}},
                "CDKMetadata": {"Type": "AWS::CDK::Metadata", "Properties": {}},
            },
            "Outputs": {"X": {"Value": {"Fn::GetAtt": ["Unknown", "Arn"]}}},
        }

        assert stacks.create(name, template) == "CREATE_COMPLETE"
        remarks = {event[0]: event[2] for event in stacks.events(name)}
        assert "not emulated: recorded, nothing was made" in remarks["Unknown"]
        assert remarks["CDKMetadata"] == ""
        assert stacks.outputs(name)["X"].startswith("arn:aws:not-emulated:")

    def test_conditions_parameters_and_mappings_resolve(self, stacks: Stacks) -> None:
        """
        By moto's own helpers.
        """
        name = unique("stack")
        template = {
            "Parameters": {"Stage": {"Type": "String", "Default": "test"}},
            "Conditions": {"Live": {"Fn::Equals": [{"Ref": "Stage"}, "live"]}},
            "Mappings": {"Sizes": {"test": {"Days": "1"}, "live": {"Days": "9"}}},
            "Resources": {
                "Always": {
                    "Type": "AWS::SSM::Parameter",
                    "Properties": {
                        "Type": "String",
                        "Value": {"Fn::FindInMap": ["Sizes", {"Ref": "Stage"}, "Days"]},
                        "Description": {
                            "Fn::If": ["Live", "live", {"Ref": "AWS::NoValue"}]
                        },
                    },
                },
                "Sometimes": {
                    "Condition": "Live",
                    "Type": "AWS::SSM::Parameter",
                    "Properties": {"Type": "String", "Value": "x"},
                },
            },
            "Outputs": {"Value": {"Value": {"Fn::GetAtt": ["Always", "Value"]}}},
        }
        assert stacks.create(name, template) == "CREATE_COMPLETE"
        assert set(stacks.physical_ids(name)) == {"Always"}
        assert stacks.outputs(name)["Value"] == "1"

        assert stacks.update(name, template, Stage="live") == "UPDATE_COMPLETE"
        assert set(stacks.physical_ids(name)) == {"Always", "Sometimes"}
        assert stacks.outputs(name)["Value"] == "9"

    def test_a_secret_is_read_when_it_is_deployed(
        self, stacks: Stacks, near_aws: EmbeddedAws
    ) -> None:
        """
        And a secret, or a key of it, that is not there fails clearly.
        """
        secret = unique("secret")
        manager = near_aws.client("secretsmanager")
        made = manager.create_secret(Name=secret, SecretString='{"token": "open"}')
        name = unique("stack")
        stacks.create(name, with_token(f"{made['ARN']}:SecretString:token::"))

        model = stacks.outputs(name)["Model"].split("/")[1]
        shown = stacks.sagemaker.describe_model(ModelName=model)
        assert shown["PrimaryContainer"]["Environment"] == {"HF_TOKEN": "open"}
        for path, words in {
            "nobody:SecretString:token::": "can't find the specified secret",
            f"{secret}:SecretString:nothing::": "associated with JSONKey 'nothing'",
        }.items():
            failed = unique("stack")
            assert stacks.create(failed, with_token(path)) == "ROLLBACK_COMPLETE"
            assert words in " ".join(event[2] for event in stacks.events(failed))

    def test_an_alarm_can_be_read_back(
        self, stacks: Stacks, near_aws: EmbeddedAws
    ) -> None:
        """
        moto serves alarms by API alone; nothing ever sets one off.
        """
        name = unique("stack")
        alarm = {
            "Type": "AWS::CloudWatch::Alarm",
            "Properties": {
                "Namespace": "AWS/SageMaker",
                "MetricName": "NoCapacityInvocationFailures",
                "Dimensions": [{"Name": "InferenceComponentName", "Value": "llama"}],
                "Statistic": "Maximum",
                "Period": 30,
                "EvaluationPeriods": 1,
                "Threshold": 1,
                "ComparisonOperator": "GreaterThanOrEqualToThreshold",
                "AlarmActions": ["arn:aws:autoscaling:us-east-1:1:scalingPolicy:x"],
            },
        }
        template = {
            "Resources": {"Wake": alarm},
            "Outputs": {
                "Name": {"Value": {"Ref": "Wake"}},
                "Arn": {"Value": {"Fn::GetAtt": ["Wake", "Arn"]}},
            },
        }

        assert stacks.create(name, template) == "CREATE_COMPLETE"
        outputs = stacks.outputs(name)
        found = near_aws.client("cloudwatch").describe_alarms(
            AlarmNames=[outputs["Name"]]
        )["MetricAlarms"]
        assert found[0]["AlarmArn"] == outputs["Arn"]
        assert found[0]["Threshold"] == 1


class TestUpdate:
    """
    Updating a stack.
    """

    def test_a_replaced_model_reaches_the_endpoint(self, stacks: Stacks) -> None:
        """
        New model, new configuration, the same endpoint; the old ones go last.
        """
        name = unique("stack")
        stacks.create(name, hosted())
        before = stacks.physical_ids(name)

        assert stacks.update(name, hosted(image=f"{TGI}-new")) == "UPDATE_COMPLETE"
        after = stacks.physical_ids(name)
        assert after["Model"] != before["Model"]
        assert after["Config"] != before["Config"]
        assert after["Endpoint"] == before["Endpoint"]
        steps = [event[:2] for event in stacks.events(name)]
        cleanup = steps.index((name, "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"))
        gone = [step[0] for step in steps[cleanup:] if step[1] == "DELETE_COMPLETE"]
        assert gone == ["Config", "Model"]
        with pytest.raises(ClientError, match="Could not find model"):
            stacks.sagemaker.describe_model(ModelName=before["Model"].split("/")[1])

    def test_a_change_in_place_keeps_the_resource(self, stacks: Stacks) -> None:
        """
        A target's capacity, a policy's value; the ARN of the policy stays.
        """
        name = unique("stack")
        stacks.create(name, hosted())
        before = stacks.physical_ids(name)
        changed = hosted(max_capacity=9, target_value=7)

        assert stacks.update(name, changed) == "UPDATE_COMPLETE"
        assert stacks.physical_ids(name) == before
        resource_id = before["Target"].split("|")[0]
        targets = stacks.scaling.describe_scalable_targets(
            ServiceNamespace="sagemaker", ResourceIds=[resource_id]
        )["ScalableTargets"]
        assert [target["MaxCapacity"] for target in targets] == [9]

    def test_a_failure_restores_what_was(self, stacks: Stacks) -> None:
        """
        The endpoint goes back to its configuration, and the new resources go.
        """
        name = unique("stack")
        stacks.create(name, hosted())
        before = stacks.physical_ids(name)
        endpoint = stacks.outputs(name)["Name"]
        config = stacks.sagemaker.describe_endpoint(EndpointName=endpoint)
        broken = hosted(image=f"{TGI}-new", metric="NoSuchMetric")

        assert stacks.update(name, broken) == "UPDATE_ROLLBACK_COMPLETE"
        assert stacks.physical_ids(name) == before
        restored = stacks.sagemaker.describe_endpoint(EndpointName=endpoint)
        assert restored["EndpointConfigName"] == config["EndpointConfigName"]
        failed = [e for e in stacks.events(name) if e[1] == "UPDATE_FAILED"]
        assert "Member must satisfy enum value set" in failed[0][2]
        assert stacks.update(name, hosted(target_value=6)) == "UPDATE_COMPLETE"

    def test_the_type_of_a_scaled_variant_cannot_change(self, stacks: Stacks) -> None:
        """
        The service's refusal comes back as a rollback.
        """
        name = unique("stack")
        stacks.create(name, hosted())
        changed = hosted(instance_type="ml.p5.48xlarge")

        assert stacks.update(name, changed) == "UPDATE_ROLLBACK_COMPLETE"
        reasons = " ".join(event[2] for event in stacks.events(name))
        assert "must be deregistered as scalable target with AutoScaling" in reasons

    def test_a_component_changes_in_place_and_keeps_its_name(
        self, stacks: Stacks
    ) -> None:
        """
        Copies and model, not the name: nothing of it is create-only.
        """
        name = unique("stack")
        stacks.create(name, hosting_components())
        before = stacks.physical_ids(name)
        changed = hosting_components(copies=4, image=f"{REGISTRY}/other:1")

        assert stacks.update(name, changed) == "UPDATE_COMPLETE"
        after = stacks.physical_ids(name)
        assert after["Component"] == before["Component"]
        assert after["Model"] != before["Model"]
        component = stacks.outputs(name)["Component"]
        shown = stacks.sagemaker.describe_inference_component(
            InferenceComponentName=component
        )
        assert shown["RuntimeConfig"]["CurrentCopyCount"] == 4
        assert shown["Specification"]["ModelName"] == after["Model"].split("/")[1]

    def test_a_component_cannot_be_renamed(self, stacks: Stacks) -> None:
        """
        The schema would let it, the operation has no such parameter.
        """
        name, component = unique("stack"), unique("component")
        stacks.create(name, hosting_components(InferenceComponentName=component))
        renamed = hosting_components(InferenceComponentName=f"{component}-2")

        assert stacks.update(name, renamed) == "UPDATE_ROLLBACK_COMPLETE"
        reasons = " ".join(event[2] for event in stacks.events(name))
        assert "InferenceComponentName of an inference component cannot chan" in reasons

    def test_nothing_to_change_is_refused(self, stacks: Stacks) -> None:
        """
        With the words that tools look for.
        """
        name = unique("stack")
        stacks.create(name, hosted())

        with pytest.raises(ClientError, match="No updates are to be performed"):
            stacks.update(name, hosted())


class TestDelete:
    """
    Deleting a stack.
    """

    def test_it_takes_everything_along_in_reverse(self, stacks: Stacks) -> None:
        """
        Scalable target and policy included.
        """
        name = unique("stack")
        stacks.create(name, hosted())
        resource_id = stacks.outputs(name)["Target"].split("|")[0]
        stack_id = stacks.describe(name)["StackId"]

        assert stacks.delete(name) == "DELETE_COMPLETE"
        gone = [e[0] for e in stacks.events(stack_id) if e[1] == "DELETE_COMPLETE"]
        assert gone == ["Policy", "Target", "Endpoint", "Config", "Model", name]
        for left in (
            stacks.scaling.describe_scalable_targets(
                ServiceNamespace="sagemaker", ResourceIds=[resource_id]
            )["ScalableTargets"],
            stacks.scaling.describe_scaling_policies(
                ServiceNamespace="sagemaker", ResourceId=resource_id
            )["ScalingPolicies"],
        ):
            assert left == []

    def test_what_cannot_go_stays_until_it_can(self, stacks: Stacks) -> None:
        """
        An endpoint that somebody put a component on: DELETE_FAILED, then again.
        """
        name = unique("stack")
        template = hosting_components()
        del template["Resources"]["Component"], template["Outputs"]["Component"]
        stacks.create(name, template)
        foreign = unique("component")
        model = stacks.physical_ids(name)["Model"].split("/")[1]
        stacks.sagemaker.create_inference_component(
            InferenceComponentName=foreign,
            EndpointName=stacks.outputs(name)["Name"],
            VariantName="AllTraffic",
            Specification={
                "ModelName": model,
                "ComputeResourceRequirements": {"MinMemoryRequiredInMb": 1024},
            },
        )

        assert stacks.delete(name) == "DELETE_FAILED"
        reasons = " ".join(event[2] for event in stacks.events(name))
        assert "Cannot delete endpoint with inference component associated." in reasons
        stacks.sagemaker.delete_inference_component(InferenceComponentName=foreign)
        assert stacks.delete(name) == "DELETE_COMPLETE"

    def test_a_network_can_be_taken_down(
        self, stacks: Stacks, near_aws: EmbeddedAws
    ) -> None:
        """
        moto leaves route tables and gateways behind, which hold on to the VPC.
        """
        name = unique("stack")
        assert stacks.create(name, NETWORK) == "CREATE_COMPLETE"
        vpc = stacks.physical_ids(name)["Vpc"]

        assert stacks.delete(name) == "DELETE_COMPLETE"
        with pytest.raises(ClientError, match="does not exist"):
            near_aws.client("ec2").describe_vpcs(VpcIds=[vpc])


class TestExports:
    """
    Values that one stack hands to another.
    """

    def test_an_export_is_imported_and_goes_with_its_stack(
        self, stacks: Stacks
    ) -> None:
        """
        Without it the importing stack fails.
        """
        producer, consumer, export = unique("stack"), unique("stack"), unique("export")
        produced = parameter("from the other stack")
        produced["Outputs"] = {
            "Value": {
                "Value": {"Fn::GetAtt": ["Parameter", "Value"]},
                "Export": {"Name": export},
            }
        }
        consumed = parameter({"Fn::ImportValue": export})
        consumed["Outputs"] = {
            "Value": {"Value": {"Fn::GetAtt": ["Parameter", "Value"]}}
        }

        assert stacks.create(producer, produced) == "CREATE_COMPLETE"
        assert stacks.create(consumer, consumed) == "CREATE_COMPLETE"
        assert stacks.outputs(consumer)["Value"] == "from the other stack"
        stacks.delete(consumer)
        stacks.delete(producer)
        assert stacks.create(unique("stack"), consumed) == "ROLLBACK_COMPLETE"


def parameter(value: Any) -> Template:  # noqa: ANN401 - text or an intrinsic function
    """
    Declare a parameter of Systems Manager.
    """
    return {
        "Resources": {
            "Parameter": {
                "Type": "AWS::SSM::Parameter",
                "Properties": {"Type": "String", "Value": value},
            }
        }
    }


NETWORK: Template = {
    "Resources": {
        "Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}},
        "Subnet": {
            "Type": "AWS::EC2::Subnet",
            "Properties": {
                "VpcId": {"Ref": "Vpc"},
                "CidrBlock": "10.0.0.0/24",
                "AvailabilityZone": {"Fn::Select": [0, {"Fn::GetAZs": ""}]},
            },
        },
        "Gateway": {"Type": "AWS::EC2::InternetGateway"},
        "Attachment": {
            "Type": "AWS::EC2::VPCGatewayAttachment",
            "Properties": {
                "VpcId": {"Ref": "Vpc"},
                "InternetGatewayId": {"Ref": "Gateway"},
            },
        },
        "Routes": {
            "Type": "AWS::EC2::RouteTable",
            "Properties": {"VpcId": {"Ref": "Vpc"}},
        },
        "Association": {
            "Type": "AWS::EC2::SubnetRouteTableAssociation",
            "Properties": {
                "RouteTableId": {"Ref": "Routes"},
                "SubnetId": {"Ref": "Subnet"},
            },
        },
        "Address": {"Type": "AWS::EC2::EIP", "Properties": {"Domain": "vpc"}},
        "Nat": {
            "Type": "AWS::EC2::NatGateway",
            "Properties": {
                "SubnetId": {"Ref": "Subnet"},
                "AllocationId": {"Fn::GetAtt": ["Address", "AllocationId"]},
            },
        },
        "ToS3": {
            "Type": "AWS::EC2::VPCEndpoint",
            "Properties": {
                "VpcId": {"Ref": "Vpc"},
                "ServiceName": "com.amazonaws.us-east-1.s3",
                "VpcEndpointType": "Gateway",
                "RouteTableIds": [{"Ref": "Routes"}],
            },
        },
    }
}


def with_token(path: str) -> Template:
    """
    Declare a model with a secret in its environment.
    """
    token = {"HF_TOKEN": f"{{{{resolve:secretsmanager:{path}}}}}"}
    template = hosted(environment=token)
    return {
        "Resources": {"Model": template["Resources"]["Model"]},
        "Outputs": {"Model": template["Outputs"]["Model"]},
    }
