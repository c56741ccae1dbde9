"""
Stacks inside of others, and conditions that wait on a clock by hand.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.cloudformation import stack_types
from cdk_sagemaker_llm.local.cloudformation.resource import ResourceError
from tests.local.by_hand import HandRunAws
from tests.local.hosting_requests import unique
from tests.local.stacks import Stacks, Template

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws
    from cdk_sagemaker_llm.local.aws.untyped import Untyped

TOPIC = {"Type": "AWS::SNS::Topic"}


class TestWaiting:
    """
    Wait conditions in time.
    """

    @staticmethod
    def template(**properties: object) -> Template:
        """
        Declare a condition of ten minutes.
        """
        handle = {"Type": "AWS::CloudFormation::WaitConditionHandle"}
        condition = {
            "Type": "AWS::CloudFormation::WaitCondition",
            "Properties": {"Handle": {"Ref": "H"}, "Timeout": 600, **properties},
        }
        outputs = {
            "Data": {"Value": {"Fn::GetAtt": ["C", "Data"]}},
            "Id": {"Value": {"Fn::GetAtt": ["C", "Id"]}},
            "Ref": {"Value": {"Ref": "C"}},
        }
        return {"Resources": {"H": handle, "C": condition}, "Outputs": outputs}

    @staticmethod
    def signal(aws: HandRunAws, url: str, body: object, **changes: Any) -> str:  # noqa: ANN401 - a request's parts
        """
        Send something to an address; return the code of a refusal.
        """
        parts = urlsplit(url)
        query = {key: one[0] for key, one in parse_qs(parts.query).items()}
        query.update(changes.get("query", {}))
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            stack_types.receive_signal(
                changes.get("method", "PUT"),
                parts.path.replace("%3A", ":"),
                query,
                changes.get("content_type", ""),
                text,
            )
        except AwsError as refusal:
            return f"{refusal.status} {refusal.code}: {refusal.message}"
        aws.run(1)
        return ""

    def test_a_condition_is_there_after_its_signals(
        self, aws: HandRunAws, slow: Stacks
    ) -> None:
        """
        Of different ids; the same one counts once.
        """
        name = unique("stack")
        assert slow.create(name, self.template(Count="2")) == "CREATE_IN_PROGRESS"
        url = slow.physical_ids(name)["H"]
        one = {"Status": "SUCCESS", "UniqueId": "1", "Data": "first"}
        assert self.signal(aws, url, one) == ""
        assert self.signal(aws, url, {**one, "Data": "again"}) == ""
        assert slow.status(name) == "CREATE_IN_PROGRESS"
        self.signal(aws, url, {"Status": "SUCCESS", "UniqueId": "2"})

        assert slow.status(name) == "CREATE_COMPLETE"
        found = slow.outputs(name)
        assert found["Data"] == '{"1":"first","2":""}'
        assert found["Id"] == found["Ref"]
        assert found["Id"].endswith("/H")

    def test_a_condition_that_gets_too_few_is_over_in_time(
        self, aws: HandRunAws, slow: Stacks
    ) -> None:
        """
        And not before.
        """
        name = unique("stack")
        slow.create(name, self.template(Count=2))
        url = slow.physical_ids(name)["H"]
        self.signal(aws, url, {"Status": "SUCCESS", "UniqueId": "1"})
        aws.run(598)
        assert slow.status(name) == "CREATE_IN_PROGRESS"
        aws.run(2)

        assert slow.status(name) == "ROLLBACK_COMPLETE"
        words = "WaitCondition timed out. Received 1 conditions when expecting 2"
        assert ("C", "CREATE_FAILED", words) in slow.events(name)

    def test_a_handle_knows_of_its_failure(self) -> None:
        """
        Before anybody fails of it: whoever lets time pass asks as well.
        """
        handles = [stack_types.Handle("id", "/p", "s", 0.0) for _ in range(3)]
        good, bad, odd = handles
        good.take(b'{"Status": "SUCCESS", "UniqueId": "1"}')
        bad.take(b'{"Status": "FAILURE", "UniqueId": "1"}')
        odd.take(b"odd")

        assert [one.has_failed for one in handles] == [False, True, True]
        good.fail()
        for one in (bad, odd):
            with pytest.raises(ResourceError):
                one.fail()

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            (
                {"Status": "FAILURE", "UniqueId": "1", "Reason": "so"},
                "WaitCondition received failed message: 'so' for uniqueId: 1",
            ),
            (
                {"Status": "FAILURE", "UniqueId": "1"},
                "WaitCondition received failed message: '' for uniqueId: 1",
            ),
            (b"{", "Unparsable WaitCondition data"),
            ([], "Unparsable WaitCondition data"),
            ({"Status": "OTHER", "UniqueId": "1"}, "Unparsable WaitCondition data"),
            ({"Status": "SUCCESS", "UniqueId": ""}, "Unparsable WaitCondition data"),
            ({"Status": "SUCCESS", "UniqueId": 1}, "Unparsable WaitCondition data"),
            (
                {"Status": "SUCCESS", "UniqueId": "1", "Data": 1},
                "Unparsable WaitCondition data",
            ),
            (
                {"Status": "FAILURE", "UniqueId": "1", "Reason": []},
                "Unparsable WaitCondition data",
            ),
        ],
    )
    def test_a_signal_may_fail_it(
        self, aws: HandRunAws, slow: Stacks, body: object, words: str
    ) -> None:
        """
        By its own reason, or as nothing that can be read.
        """
        name = unique("stack")
        slow.create(name, self.template())
        self.signal(aws, slow.physical_ids(name)["H"], body)
        aws.run(1)

        assert slow.status(name) == "ROLLBACK_COMPLETE"
        assert ("C", "CREATE_FAILED", words) in slow.events(name)

    def test_an_address_takes_what_it_is_signed_for(
        self, aws: HandRunAws, slow: Stacks
    ) -> None:
        """
        For a day, less a second.
        """
        name = unique("stack")
        slow.create(name, self.template(Timeout=43_200))
        url = slow.physical_ids(name)["H"]
        parts = urlsplit(url)
        assert parts.path.startswith(
            "/cloudformation-waitcondition-us-east-1/arn%3Aaws"
        )
        query = parse_qs(parts.query)
        assert query["X-Amz-Expires"] == ["86399"]
        assert query["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
        assert query["X-Amz-SignedHeaders"] == ["host"]
        assert len(query["X-Amz-Signature"][0]) == 64
        assert query["X-Amz-Date"][0].endswith("Z")
        assert len(query["X-Amz-Date"][0]) == len("20270118T120000Z")
        good = {"Status": "SUCCESS", "UniqueId": "1"}
        refused = (
            "403 SignatureDoesNotMatch: The request signature we calculated does not "
            "match the signature you provided. Check your key and signing method."
        )
        for changes in (
            {"method": "POST"},
            {"content_type": "application/json"},
            {"query": {"X-Amz-Signature": "0"}},
        ):
            assert self.signal(aws, url, good, **changes) == refused
        assert self.signal(aws, url.replace("/H?", "/I?"), good) == refused
        assert self.signal(aws, url, good) == ""
        assert slow.status(name) == "CREATE_COMPLETE"
        aws.run(86_398)
        assert self.signal(aws, url, good) == ""
        assert self.signal(aws, url, good) == "403 AccessDenied: Request has expired"

    @pytest.mark.parametrize(
        ("properties", "words"),
        [
            (
                {"Timeout": 43_201},
                "Value of property Timeout must be at most 43200 seconds, got 43201",
            ),
            (
                {"Timeout": "soon"},
                "Value of property Timeout must be a whole number, got soon",
            ),
            (
                {"Timeout": -1},
                "Value of property Timeout must be a whole number, got -1",
            ),
            (
                {"Count": "1.5"},
                "Value of property Count must be a whole number, got 1.5",
            ),
            (
                {"Handle": "http://localhost/h"},
                (
                    "Value of property Handle must be the Ref of a "
                    "WaitConditionHandle, got http://localhost/h"
                ),
            ),
        ],
    )
    def test_a_condition_that_makes_no_sense_fails_at_once(
        self, slow: Stacks, properties: dict[str, Any], words: str
    ) -> None:
        """
        With the value that is wrong.
        """
        name = unique("stack")

        assert slow.create(name, self.template(**properties)) == "ROLLBACK_COMPLETE"

        assert ("C", "CREATE_FAILED", words) in slow.events(name)

    @pytest.mark.parametrize(("resource", "kind"), [("H", "Handle"), ("C", "")])
    def test_neither_changes(
        self, aws: HandRunAws, slow: Stacks, resource: str, kind: str
    ) -> None:
        """
        There is no operation for it.
        """
        name = unique("stack")
        template = self.template()
        slow.create(name, template)
        url = slow.physical_ids(name)["H"]
        self.signal(aws, url, {"Status": "SUCCESS", "UniqueId": "1"})
        assert slow.status(name) == "CREATE_COMPLETE"
        made = template["Resources"][resource]
        made["Properties"] = {**made.get("Properties", {}), "Count": 3}

        assert slow.update(name, template) == "UPDATE_ROLLBACK_COMPLETE"

        words = (
            f"Update to resource type AWS::CloudFormation::WaitCondition{kind} is not "
            "supported"
        )
        assert (resource, "UPDATE_FAILED", words) in slow.events(name)


class TestNested:
    """
    Stacks inside of others.
    """

    @staticmethod
    def stored(aws: EmbeddedAws, template: Template) -> str:
        """
        Put a template into S3 and return its address.
        """
        s3, key = aws.client("s3"), unique("template")
        s3.create_bucket(Bucket="inner-templates")
        s3.put_object(Bucket="inner-templates", Key=key, Body=json.dumps(template))
        return f"https://inner-templates.s3.us-east-1.amazonaws.com/{key}"

    @staticmethod
    def nested(url: str, **properties: object) -> dict[str, Any]:
        """
        Declare a stack inside.
        """
        return {
            "Type": "AWS::CloudFormation::Stack",
            "Properties": {"TemplateURL": url, **properties},
        }

    def test_what_does_not_go_inside_holds_its_parent(
        self, near_aws: EmbeddedAws, stacks: Stacks
    ) -> None:
        """
        And both go when it does.
        """
        name, held = unique("parent"), unique("bucket")
        bucket = {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": held}}
        url = self.stored(near_aws, {"Resources": {"B": bucket}})
        stacks.create(name, {"Resources": {"Nested": self.nested(url)}})
        made = stacks.physical_ids(name)["Nested"]
        near_aws.client("s3").put_object(Bucket=held, Key="k", Body=b"x")

        assert stacks.delete(name) == "DELETE_FAILED"

        assert stacks.status(made) == "DELETE_FAILED"
        words = (
            f"Embedded stack {made} was not successfully deleted: The following "
            "resource(s) failed to delete: [B]. "
        )
        assert ("Nested", "DELETE_FAILED", words) in stacks.events(name)
        near_aws.client("s3").delete_object(Bucket=held, Key="k")
        assert stacks.delete(name) == "DELETE_COMPLETE"
        assert stacks.status(made) == "DELETE_COMPLETE"

    def test_an_output_that_is_not_there_fails_what_asks_for_it(
        self, near_aws: EmbeddedAws, stacks: Stacks
    ) -> None:
        """
        By its name.
        """
        name = unique("parent")
        url = self.stored(near_aws, {"Resources": {"T": TOPIC}})
        got = {"Fn::GetAtt": ["Nested", "Outputs.Other"]}
        word = {
            "Type": "AWS::SSM::Parameter",
            "Properties": {"Type": "String", "Value": got},
        }

        status = stacks.create(
            name, {"Resources": {"Nested": self.nested(url), "Word": word}}
        )

        assert status == "ROLLBACK_COMPLETE"
        words = "Attribute 'Outputs.Other' does not exist"
        assert ("Word", "CREATE_FAILED", words) in stacks.events(name)

    def test_parameters_and_tags_go_inside(
        self, near_aws: EmbeddedAws, stacks: Stacks, client: Untyped
    ) -> None:
        """
        Lists as one text, truths in small letters; its own tags win.
        """
        name = unique("parent")
        inner: Template = {
            "Parameters": {
                "List": {"Type": "CommaDelimitedList"},
                "Truth": {"Type": "String"},
                "Count": {"Type": "Number"},
            },
            "Resources": {"T": TOPIC},
            "Outputs": {
                "Second": {"Value": {"Fn::Select": [1, {"Ref": "List"}]}},
                "Truth": {"Value": {"Ref": "Truth"}},
                "Count": {"Value": {"Ref": "Count"}},
            },
        }
        nested = self.nested(
            self.stored(near_aws, inner),
            Parameters={"List": ["a", "b"], "Truth": True, "Count": 3},
            Tags=[{"Key": "team", "Value": "inner"}],
        )
        client.create_stack(
            StackName=name,
            TemplateBody=json.dumps({"Resources": {"Nested": nested}}),
            Tags=[
                {"Key": "team", "Value": "outer"},
                {"Key": "cost", "Value": "1"},
            ],
        )
        made = stacks.physical_ids(name)["Nested"]

        assert stacks.outputs(made) == {"Second": "b", "Truth": "true", "Count": "3"}
        shown = stacks.describe(made)
        assert {one["Key"]: one["Value"] for one in shown["Tags"]} == {
            "team": "inner",
            "cost": "1",
        }
        parent_id = stacks.describe(name)["StackId"]
        assert (shown["ParentId"], shown["RootId"]) == (parent_id, parent_id)
        assert f"{name}-Nested-" in made

    def test_change_sets_inside_come_and_go_with_the_parents(
        self, near_aws: EmbeddedAws, stacks: Stacks, client: Untyped
    ) -> None:
        """
        One whose template is not there is passed over until it is executed.
        """
        name = unique("parent")
        first = self.stored(near_aws, {"Resources": {"T": TOPIC}})
        second = self.stored(near_aws, {"Resources": {"T": TOPIC, "U": TOPIC}})
        gone = first.replace("/template-", "/gone-")
        resources = {"One": self.nested(first), "Two": self.nested(first)}
        stacks.create(name, {"Resources": resources})
        made = stacks.physical_ids(name)
        changed = {"One": self.nested(gone), "Two": self.nested(second)}
        change = {"StackName": name, "ChangeSetName": "change"}
        outer = client.create_change_set(
            TemplateBody=json.dumps({"Resources": changed}),
            IncludeNestedStacks=True,
            **change,
        )["Id"]

        shown = client.describe_change_set(**change)
        inner = {
            one["ResourceChange"]["LogicalResourceId"]: one["ResourceChange"].get(
                "ChangeSetId"
            )
            for one in shown["Changes"]
        }
        assert inner["One"] is None
        found = client.describe_change_set(ChangeSetName=inner["Two"])
        assert (found["ParentChangeSetId"], found["StackId"]) == (outer, made["Two"])
        names = [one["ResourceChange"]["LogicalResourceId"] for one in found["Changes"]]
        assert names == ["U"]
        client.delete_change_set(**change)
        for stack in (made["One"], made["Two"], name):
            assert client.list_change_sets(StackName=stack)["Summaries"] == []
