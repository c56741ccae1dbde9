"""
Where model data may lie, what is looked up of it, and how often it is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local.aws.artifacts import Artifacts, ModelData
from cdk_sagemaker_llm.local.aws.surroundings import Location
from tests.local.by_hand import HandRunAws, hand_run_aws
from tests.local.hosting_requests import (
    LMI_28,
    artifact,
    make_config,
    make_endpoint,
    make_model,
    prompt,
    serve,
    unique,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cdk_sagemaker_llm.local.aws.untyped import Untyped

HTTPS = (
    "https://{bucket}.s3.us-east-1.amazonaws.com/{key}",
    "https://s3.us-east-1.amazonaws.com/{bucket}/{key}",
    "https://{bucket}.s3.amazonaws.com/{key}",
    "https://s3.amazonaws.com/{bucket}/{key}",
    "https://{bucket}.s3.cn-north-1.amazonaws.com.cn/{key}",
    "https://{bucket}.s3-us-west-2.amazonaws.com/{key}",
)


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws(takes_time=False) as aws:
        yield aws


class TestAddresses:
    """
    ``s3://`` and ``https://`` are the same place.
    """

    @pytest.mark.parametrize("address", [*HTTPS, "s3://{bucket}/{key}"])
    def test_each_form_of_address_names_bucket_and_key(self, address: str) -> None:
        """
        A bucket's name may have dots.
        """
        url = address.format(bucket="my.models", key="a/b.tar.gz")

        assert Location.of(url) == Location("my.models", "a/b.tar.gz")

    @pytest.mark.parametrize(
        "address",
        [
            "https://example.com/bucket/key",
            "https://bucket.s3.us-east-1.amazonaws.com.evil.example/key",
            "http://bucket.s3.amazonaws.com/key",
            "bucket/key",
        ],
    )
    def test_anything_else_is_not_in_s3(self, address: str) -> None:
        """
        It is refused as data that cannot be read.
        """
        assert Location.of(address) is None

    @pytest.mark.parametrize("address", HTTPS[:3])
    def test_a_model_by_https_address_is_looked_up_and_served(
        self, aws: HandRunAws, address: str
    ) -> None:
        """
        Its options are read too; a key that is not there is refused.
        """
        bucket = bucket_with(aws, "m.tar.gz", artifact(tgi_compat="true"))
        data = {"ModelDataUrl": address.format(bucket=bucket, key="m.tar.gz")}
        model = make_model(aws, image=LMI_28, container=data)
        missing = address.format(bucket=bucket, key="other.tar.gz")

        assert invoke(aws, endpoint_of(aws, model)).startswith(b"[")
        with refused(f"Could not access model data at {missing}."):
            make_model(aws, container={"ModelDataUrl": missing})

    def test_the_address_of_many_models_is_not_looked_up(self, aws: HandRunAws) -> None:
        """
        It is where they will be.
        """
        data = {"ModelDataUrl": "s3://models-to-come/", "Mode": "MultiModel"}

        assert make_model(aws, container=data)


class TestModelDataSource:
    """
    Weights by ``ModelDataSource``.
    """

    def test_a_prefix_needs_an_object_under_it(self, aws: HandRunAws) -> None:
        """
        An empty one is what fails first on AWS.
        """
        bucket = bucket_with(aws, "weights/config.json", b"{}")

        make_model(aws, container=source(f"s3://{bucket}/weights/"))
        for wrong in (
            f"s3://{bucket}/empty/",
            f"s3://{bucket}/weights",
            f"s3://{unique('nobody')}/weights/",
        ):
            with refused(f"Could not access model data at {wrong}."):
                make_model(aws, container=source(wrong))

    def test_a_deleted_object_is_not_there(self, aws: HandRunAws) -> None:
        """
        A delete marker under the prefix is no object.
        """
        bucket = bucket_with(aws, "weights/config.json", b"{}")
        s3 = aws.client("s3")
        s3.put_bucket_versioning(
            Bucket=bucket, VersioningConfiguration={"Status": "Enabled"}
        )
        s3.delete_object(Bucket=bucket, Key="weights/config.json")

        with refused("Could not access model data at"):
            make_model(aws, container=source(f"s3://{bucket}/weights/"))

    def test_an_object_has_to_be_there(self, aws: HandRunAws) -> None:
        """
        As the object of a ``ModelDataUrl`` has.
        """
        bucket = bucket_with(aws, "m.tar.gz", b"")

        make_model(aws, container=source(f"s3://{bucket}/m.tar.gz", "S3Object"))
        with refused(f"Could not access model data at s3://{bucket}/n.tar.gz."):
            make_model(aws, container=source(f"s3://{bucket}/n.tar.gz", "S3Object"))

    def test_additional_sources_are_looked_up_too(self, aws: HandRunAws) -> None:
        """
        A draft model for speculative decoding comes by one.
        """
        draft = {"ChannelName": "draft", **source("s3://nobody-here/draft/")}
        draft["S3DataSource"] = draft.pop("ModelDataSource")["S3DataSource"]

        with refused("Could not access model data at s3://nobody-here/draft/."):
            make_model(aws, container={"AdditionalModelDataSources": [draft]})

    @pytest.mark.parametrize(
        "bucket", ["jumpstart-cache-prod-us-east-1", "sagemaker-sample-files"]
    )
    def test_public_buckets_of_aws_are_taken_unseen(
        self, aws: HandRunAws, bucket: str
    ) -> None:
        """
        They are in an account that is not emulated.
        """
        model = make_model(aws, container=source(f"s3://{bucket}/llama/"))

        assert invoke(aws, endpoint_of(aws, model))

    def test_a_properties_file_under_the_prefix_is_read(self, aws: HandRunAws) -> None:
        """
        As the container reads it out of its model directory.
        """
        bucket = bucket_with(aws, "w/serving.properties", b"option.tgi_compat=true\n")
        model = make_model(aws, image=LMI_28, container=source(f"s3://{bucket}/w/"))

        assert invoke(aws, endpoint_of(aws, model)).startswith(b"[")


class TestReading:
    """
    An artifact is read once, however often its endpoint is called.
    """

    def test_the_second_call_does_not_read(self) -> None:
        """
        Another version is read, and then it is the one that counts.
        """
        bucket = CountingBucket(artifact(tgi_compat="true"), "1")
        artifacts, data = Artifacts(bucket), ModelData("s3://bucket/m.tar.gz")

        assert artifacts.options(data) == artifacts.options(data)
        assert artifacts.options(data) == {"tgi_compat": "true"}
        assert bucket.reads == 1
        bucket.contents, bucket.version = artifact(tgi_compat="false"), "2"
        assert artifacts.options(data) == {"tgi_compat": "false"}
        assert bucket.reads == 2

    def test_what_is_remembered_is_bounded(self) -> None:
        """
        The oldest goes; it is read again when it is asked for.
        """
        bucket = CountingBucket(artifact(), "1")
        artifacts = Artifacts(bucket)
        every = [ModelData(f"s3://bucket/{i}.tar.gz") for i in range(257)]
        for data in every:
            artifacts.options(data)

        artifacts.options(every[-1])
        assert bucket.reads == 257
        artifacts.options(every[0])
        assert bucket.reads == 258

    def test_a_changed_artifact_is_noticed(self, aws: HandRunAws) -> None:
        """
        By the next call.
        """
        endpoint = serve(aws, LMI_28)
        before = invoke(aws, endpoint)
        model = aws.client("sagemaker").list_models(MaxResults=1)["Models"][0]
        described = aws.client("sagemaker").describe_model(ModelName=model["ModelName"])
        place = Location.of(described["PrimaryContainer"]["ModelDataUrl"])
        assert place is not None
        aws.client("s3").put_object(
            Bucket=place.bucket, Key=place.key, Body=artifact(tgi_compat="true")
        )

        assert before.startswith(b"{")
        assert invoke(aws, endpoint).startswith(b"[")


class CountingBucket:
    """
    Surroundings with one object everywhere, which count how often it is read.
    """

    def __init__(self, contents: bytes, version: str) -> None:
        self.contents = contents
        self.version = version
        self.reads = 0

    def read_object(self, location: Location) -> bytes | None:  # noqa: ARG002 - the same for all
        """
        Count.
        """
        self.reads += 1
        return self.contents

    def write_object(self, location: Location, contents: bytes) -> None:
        """
        Write nothing.
        """

    def publish(self, topic: str, message: str) -> bool:
        """
        Not asked here.
        """
        raise NotImplementedError

    def publish_for_alarm(
        self, topic: str, message: str, subject: str, alarm: str
    ) -> bool:
        """
        Not asked here.
        """
        raise NotImplementedError

    def object_version(self, location: Location) -> str | None:  # noqa: ARG002 - the same for all
        """
        Return the version.
        """
        return self.version

    def has_objects(self, prefix: Location) -> bool:  # noqa: ARG002 - the same for all
        """
        Tell that it is there.
        """
        return True

    def objects_under(self, prefix: Location) -> tuple[str, ...]:  # noqa: ARG002 - the same for all
        """
        Have none.
        """
        return ()

    def write_log(
        self, group: str, stream: str, lines: Sequence[str], moment: float
    ) -> None:
        """
        Write nothing.
        """

    def notify(
        self, source: str, kind: str, detail: dict[str, Any], resource: str
    ) -> None:
        """
        Tell nobody.
        """

    def scalable_targets(self) -> set[str]:
        """
        Have none.
        """
        return set()

    def deregister(self, resource_id: str) -> None:
        """
        Have none.
        """

    def has_gone_off(self, alarm: str, since: float) -> bool:  # noqa: ARG002 - none has
        """
        Have none.
        """
        return False


def refused(words: str) -> Untyped:
    """
    Expect the service's words.
    """
    return pytest.raises(ClientError, match=re.escape(words))


def source(url: str, kind: str = "S3Prefix") -> dict[str, Untyped]:
    """
    Name weights by ModelDataSource.
    """
    compression = "None" if kind == "S3Prefix" else "Gzip"
    place = {"S3Uri": url, "S3DataType": kind, "CompressionType": compression}
    return {"ModelDataSource": {"S3DataSource": place}}


def bucket_with(aws: HandRunAws, key: str, body: bytes) -> str:
    """
    Make a bucket with an object in it and return its name.
    """
    bucket = unique("bucket")
    s3 = aws.client("s3")
    s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key=key, Body=body)
    return bucket


def endpoint_of(aws: HandRunAws, model: str) -> str:
    """
    Deploy a model and return the endpoint's name.
    """
    variant = {"ModelName": model, "InstanceType": "ml.g5.12xlarge"}
    return make_endpoint(aws, make_config(aws, variant=variant))


def invoke(aws: HandRunAws, endpoint: str) -> bytes:
    """
    Call an endpoint and return the body.
    """
    answered = aws.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint, ContentType="application/json", Body=prompt("Who?")
    )
    body: bytes = answered["Body"].read()
    return body
