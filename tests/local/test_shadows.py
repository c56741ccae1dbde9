"""
Shadow variants: who gets copies, what is counted of them, and what nobody sees.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError

from tests.local.by_hand import HandRunAws, hand_run_aws
from tests.local.hosting_requests import (
    TGI_3,
    make_endpoint,
    make_model,
    prompt,
    unique,
)


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws() as aws:
        yield aws


def variant(
    aws: HandRunAws, name: str, weight: float, model: str = ""
) -> dict[str, object]:
    """
    Return a variant as it is configured.
    """
    return {
        "VariantName": name,
        "ModelName": model or make_model(aws),
        "InstanceType": "ml.g5.xlarge",
        "InitialInstanceCount": 1,
        "InitialVariantWeight": weight,
    }


def shadowed(aws: HandRunAws, blue: float, green: float, model: str = "") -> str:
    """
    Make an endpoint with a shadow, of these weights.
    """
    name = unique("config")
    aws.client("sagemaker").create_endpoint_config(
        EndpointConfigName=name,
        ProductionVariants=[variant(aws, "Blue", blue)],
        ShadowProductionVariants=[variant(aws, "Green", green, model)],
    )
    endpoint = make_endpoint(aws, name)
    aws.run(10)
    return endpoint


def invoke(aws: HandRunAws, endpoint: str, times: int) -> set[str]:
    """
    Send requests; return which variants answered.
    """
    runtime = aws.client("sagemaker-runtime")
    return {
        runtime.invoke_endpoint(
            EndpointName=endpoint,
            ContentType="application/json",
            Body=prompt("Once", max_new_tokens=4),
        )["InvokedProductionVariant"]
        for _ in range(times)
    }


def counted(
    aws: HandRunAws, endpoint: str, name: str, metric: str = "Invocations"
) -> float:
    """
    Return the sum of a variant's metric.
    """
    aws.run(60)
    dimensions = {"EndpointName": endpoint, "VariantName": name}
    found = aws.client("cloudwatch").get_metric_statistics(
        Namespace="AWS/SageMaker",
        MetricName=metric,
        Dimensions=[{"Name": k, "Value": v} for k, v in dimensions.items()],
        StartTime=aws.wall() - 3600,
        EndTime=aws.wall() + 60,
        Period=60,
        Statistics=["Sum"],
    )["Datapoints"]
    return float(sum(each["Sum"] for each in found))


@pytest.mark.parametrize(
    ("weights", "copies"),
    [((1.0, 0.5), 5), ((1.0, 1.0), 10), ((2.0, 0.2), 1), ((1.0, 0.0), 0)],
)
def test_it_gets_its_share(
    aws: HandRunAws, weights: tuple[float, float], copies: int
) -> None:
    """
    Of ten requests, by its weight beside the other's; the other answers all.
    """
    endpoint = shadowed(aws, *weights)

    assert invoke(aws, endpoint, 10) == {"Blue"}
    assert counted(aws, endpoint, "Blue") == 10
    assert counted(aws, endpoint, "Green") == copies


def test_its_failures_are_its_own(aws: HandRunAws) -> None:
    """
    A shadow whose container refuses is counted, and no client hears of it.
    """
    own = "111111111111.dkr.ecr.us-east-1.amazonaws.com/own:1"
    endpoint = shadowed(aws, 1.0, 1.0, make_model(aws, image=own))

    assert invoke(aws, endpoint, 2) == {"Blue"}
    assert counted(aws, endpoint, "Green", "InvocationModelErrors") == 2
    assert counted(aws, endpoint, "Blue", "InvocationModelErrors") == 0


def test_it_cannot_be_asked_for(aws: HandRunAws) -> None:
    """
    A client that names it is refused.
    """
    endpoint = shadowed(aws, 1.0, 1.0, make_model(aws, image=TGI_3))
    with pytest.raises(ClientError, match="Variant Green"):
        aws.client("sagemaker-runtime").invoke_endpoint(
            EndpointName=endpoint,
            TargetVariant="Green",
            Body=prompt("Once"),
        )


def test_one_without_instances_gets_nothing(aws: HandRunAws) -> None:
    """
    The other goes on.
    """
    endpoint = shadowed(aws, 1.0, 1.0)
    wanted = {"VariantName": "Green", "DesiredInstanceCount": 0}
    aws.client("sagemaker").update_endpoint_weights_and_capacities(
        EndpointName=endpoint, DesiredWeightsAndCapacities=[wanted]
    )
    aws.run(10)

    assert invoke(aws, endpoint, 2) == {"Blue"}
    assert counted(aws, endpoint, "Green") == 0
