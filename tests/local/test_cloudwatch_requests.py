"""
What CloudWatch refuses of any request: it is held to the API's model.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import cbor2
import pytest
from botocore.exceptions import ClientError

from tests.local.hosting_requests import unchecked, unique
from tests.local.test_malformed import AMZ_JSON, FORM, post, send

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

SERVICE = "GraniteServiceVersion20100801"
SPAN = {"StartTime": 1_700_000_000, "EndTime": 1_700_003_600}
METRIC = {"Namespace": "N", "MetricName": "M"}
STATISTICS = {**METRIC, **SPAN, "Period": 60, "Statistics": ["Sum"]}
DATUM = {"MetricName": "M", "Value": 1.0}
STAT = {"Metric": METRIC, "Period": 60, "Stat": "Sum"}
TAG = {"Key": "a", "Value": "b"}
ARN = "arn:aws:cloudwatch:us-east-1:123456789012:alarm:a"


def data(**stat: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever a fault is
    """
    Ask for one metric's data.
    """
    query = {"Id": "a", "MetricStat": {**STAT, **stat}}
    return {**SPAN, "MetricDataQueries": [query]}


@pytest.mark.parametrize(
    ("operation", "request_", "place"),
    [
        ("DeleteAlarms", {}, "alarmNames"),
        ("DeleteAlarms", {"AlarmNames": ["a"] * 101}, "alarmNames"),
        ("DeleteAlarms", {"AlarmNames": [""]}, "alarmNames.1.member"),
        ("DescribeAlarms", {"MaxRecords": 0}, "maxRecords"),
        ("DescribeAlarms", {"MaxRecords": 101}, "maxRecords"),
        ("DescribeAlarms", {"StateValue": "FINE"}, "stateValue"),
        ("DescribeAlarms", {"AlarmTypes": ["Odd"]}, "alarmTypes.1.member"),
        ("DescribeAlarmHistory", {"MaxRecords": 101}, "maxRecords"),
        ("DescribeAlarmsForMetric", {"MetricName": "M"}, "namespace"),
        ("DisableAlarmActions", {}, "alarmNames"),
        ("EnableAlarmActions", {}, "alarmNames"),
        ("GetDashboard", {}, "dashboardName"),
        ("GetMetricData", {"MetricDataQueries": []}, "startTime"),
        ("GetMetricData", data(Period=0), "metricDataQueries.1.member.metricStat"),
        ("GetMetricData", data(Stat=None), "metricDataQueries.1.member.metricStat"),
        ("GetMetricStatistics", {**STATISTICS, "Namespace": ":"}, "namespace"),
        ("GetMetricStatistics", {**STATISTICS, "Period": 0}, "period"),
        (
            "GetMetricStatistics",
            {**STATISTICS, "Statistics": ["Median"]},
            "statistics.1.member",
        ),
        ("ListMetrics", {"Dimensions": [{}]}, "dimensions.1.member.name"),
        ("ListMetrics", {"RecentlyActive": "PT9H"}, "recentlyActive"),
        ("ListTagsForResource", {}, "resourceARN"),
        ("PutCompositeAlarm", {"AlarmName": "a"}, "alarmRule"),
        ("PutDashboard", {"DashboardName": "d"}, "dashboardBody"),
        ("PutMetricData", {"MetricData": [DATUM]}, "namespace"),
        (
            "PutMetricData",
            {"Namespace": "N", "MetricData": [{**DATUM, "Unit": "Apples"}]},
            "metricData.1.member.unit",
        ),
        (
            "PutMetricData",
            {"Namespace": "N", "MetricData": [{**DATUM, "StorageResolution": 0}]},
            "metricData.1.member.storageResolution",
        ),
        ("PutMetricData", {"Namespace": "N", "MetricData": [None]}, "metricData.1"),
        ("SetAlarmState", {"AlarmName": "a", "StateValue": "OK"}, "stateReason"),
        (
            "SetAlarmState",
            {"AlarmName": "a", "StateValue": "FINE", "StateReason": "r"},
            "stateValue",
        ),
        ("TagResource", {"ResourceARN": ARN}, "tags"),
        ("TagResource", {"ResourceARN": "", "Tags": [TAG]}, "resourceARN"),
        ("UntagResource", {"ResourceARN": ARN}, "tagKeys"),
    ],
)
def test_what_the_model_does_not_allow(
    embedded_aws: EmbeddedAws, operation: str, request_: dict[str, Any], place: str
) -> None:
    """
    A ValidationException that names the member.
    """
    body = json.dumps(request_).encode()
    target = f"{SERVICE}.{operation}"
    status, told = post(embedded_aws, body, target=target, service="monitoring")

    assert status == 400, told
    assert told["__type"].endswith("ValidationException")
    assert f"at '{place}" in told["message"]


def test_a_metric_without_a_name(embedded_aws: EmbeddedAws) -> None:
    """
    The model allows it, and moto fails on it.
    """
    client = unchecked(embedded_aws, "cloudwatch")

    for metric, missing in (({}, "Namespace"), ({"Namespace": "N"}, "MetricName")):
        with pytest.raises(ClientError, match=rf"member\.1\.MetricStat.*{missing} is"):
            client.get_metric_data(**data(Metric=metric))


@pytest.mark.parametrize(
    "body",
    [{"MaxRecords": "many"}, {"AlarmNames": 7}, {"AlarmNames": {}}],
    ids=str,
)
def test_what_cannot_be_read(embedded_aws: EmbeddedAws, body: dict[str, Any]) -> None:
    """
    Of either protocol: a SerializationException.
    """
    in_json, told = post(
        embedded_aws,
        json.dumps(body).encode(),
        target=f"{SERVICE}.DescribeAlarms",
        service="monitoring",
    )
    in_cbor, answer = send(
        embedded_aws,
        cbor2.dumps(body),
        "application/cbor",
        service="monitoring",
        path=f"/service/{SERVICE}/operation/DescribeAlarms",
        protocol="rpc-v2-cbor",
    )

    assert (in_json, told["__type"]) == (400, "SerializationException")
    assert (in_cbor, cbor2.loads(answer)["__type"]) == (400, "SerializationException")


def test_the_query_protocol(embedded_aws: EmbeddedAws) -> None:
    """
    It has another code for the same.
    """
    body = b"Action=DescribeAlarms&Version=2010-08-01&MaxRecords=0"
    status, answer = send(embedded_aws, body, FORM, service="monitoring")

    assert status == 400
    assert b"<Code>ValidationError</Code>" in answer
    assert b"&#39;maxRecords&#39;" in answer or b"'maxRecords'" in answer


def test_a_member_that_is_null_is_left_out(embedded_aws: EmbeddedAws) -> None:
    """
    Of every service, in every depth.
    """
    name = unique("alarm")
    alarm = {
        "AlarmName": name,
        **METRIC,
        "Period": 60,
        "Statistic": "Sum",
        "EvaluationPeriods": 1,
        "Threshold": 1,
        "Unit": None,
        "Dimensions": None,
        "ComparisonOperator": "GreaterThanThreshold",
    }
    nulls = {"SortBy": None, "MaxResults": None, "NameContains": None}
    asked = [
        ("monitoring", f"{SERVICE}.PutMetricAlarm", alarm),
        ("sagemaker", "SageMaker.ListModels", nulls),
        ("ssm", "AmazonSSM.DescribeParameters", {"MaxResults": None, "Filters": None}),
        ("secretsmanager", "secretsmanager.ListSecrets", {"MaxResults": None}),
    ]

    for service, target, body in asked:
        text = json.dumps(body).encode()
        status, answer = send(
            embedded_aws, text, AMZ_JSON, service=service, target=target
        )
        assert status == 200, answer
