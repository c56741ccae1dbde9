"""
Bodies in CBOR, against botocore's own writer and reader.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import cbor2
import pytest
from botocore.parsers import RpcV2CBORParser
from botocore.serialize import RpcV2CBORSerializer
from botocore.session import get_session
from werkzeug.datastructures import Headers
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request

from cdk_sagemaker_llm.local.aws import protocols
from cdk_sagemaker_llm.local.aws.errors import AwsError

MODEL = get_session().get_service_model("codebuild")


def request(path: str, **headers: str) -> Request:
    """
    Make a request.
    """
    told = Headers(headers.items())
    return Request(EnvironBuilder(path, method="POST", headers=told).get_environ())


def test_what_botocore_writes_is_read() -> None:
    """
    Texts, numbers, truths, lists and maps.
    """
    asked = {
        "projectName": "é" * 300,
        "timeoutInMinutesOverride": 2160,
        "privilegedModeOverride": True,
        "environmentVariablesOverride": [{"name": "A", "value": ""}],
    }
    operation = MODEL.operation_model("StartBuild")

    sent = RpcV2CBORSerializer().serialize_to_request(asked, operation)

    assert protocols.read_cbor(sent["body"]) == asked
    asks = request(sent["url_path"], **sent["headers"])
    assert (protocols.cbor_service(asks), protocols.cbor_operation(asks)) == (
        "CodeBuild_20161006",
        "StartBuild",
    )


def test_what_is_written_botocore_reads() -> None:
    """
    As the answer of an operation, with its moments.
    """
    moment = datetime(2026, 11, 22, 12, 0, 0, 500_000, tzinfo=UTC)
    build: dict[str, Any] = {
        "id": "p:" + "x" * 70_000,
        "buildNumber": 300,
        "startTime": moment,
        "buildComplete": False,
        "phases": [{"durationInSeconds": n} for n in (0, 23, 24, 255, 256, 70_000)],
        "exportedEnvironmentVariables": [],
    }
    written = protocols.cbor_answer({"build": build})
    shape = MODEL.operation_model("StartBuild").output_shape
    assert shape is not None

    read = RpcV2CBORParser().parse(
        {
            "body": written.get_data(),
            "headers": dict(written.headers),
            "status_code": 200,
        },
        shape,
    )

    assert read["build"] == build
    assert written.headers["smithy-protocol"] == "rpc-v2-cbor"


@pytest.mark.parametrize("body", [b"\xff", b"\x9f", b"\x01", b"{}"])
def test_what_is_no_map_is_refused(body: bytes) -> None:
    """
    With the code that the services have for it.
    """
    with pytest.raises(AwsError) as refused:
        protocols.read_cbor(body)

    assert (refused.value.code, refused.value.status) == ("SerializationException", 400)
    words = "Unexpected field type" if body == b"\x01" else "not valid CBOR: "
    assert refused.value.message.startswith(words)


def test_nothing_stands_for_no_members() -> None:
    """
    As in JSON.
    """
    assert protocols.read_cbor(b"") == {}


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/service/CodeBuild_20161006/operation/StartBuild", {}),
        ("/service/CodeBuild_20161006", {"smithy-protocol": "rpc-v2-cbor"}),
    ],
)
def test_other_requests_have_no_operation(path: str, headers: dict[str, str]) -> None:
    """
    Neither a bucket's path, nor the protocol's name at another one.
    """
    asks = request(path, **headers)

    assert (protocols.cbor_service(asks), protocols.cbor_operation(asks)) == ("", "")


def test_members_that_are_null_are_left_out() -> None:
    """
    At any depth; an item of a list stays.
    """
    body = cbor2.dumps({"a": None, "b": {"c": None, "d": [None, {"e": None}]}})

    assert protocols.read_cbor(body) == {"b": {"d": [None, {}]}}


def test_an_answer_has_its_status() -> None:
    """
    And its type.
    """
    made = [protocols.cbor_answer({}), protocols.cbor_answer({"a": 1}, 404)]

    assert [one.status_code for one in made] == [200, 404]
    assert {one.content_type for one in made} == {"application/cbor"}
    assert cbor2.loads(made[1].get_data()) == {"a": 1}
