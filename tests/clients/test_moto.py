"""
moto's own tests of hosting, scaling and CloudWatch, from its source distribution: where
AWS agrees with them, the embedded AWS does.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from cdk_sagemaker_llm.local import EmbeddedAws
from tests.clients.conftest import ENVIRONMENTS, PROGRAMS
from tests.local.conftest import REGION

_LIMIT = 600
_ENDPOINTS = "test_sagemaker/test_sagemaker_endpoint.py::test_"
_METRICS = "test_cloudwatch/test_cloudwatch.py::test_"
# What AWS sees otherwise than moto, or depends on the second it runs in.
OTHERWISE = (
    # The API's model names the whole path, and sizes by the service's own word.
    f"{_ENDPOINTS}create_endpoint_invalid_instance_type",
    f"{_ENDPOINTS}create_endpoint_invalid_memory_size",
    # More than the fifty tags that the API's model allows.
    f"{_ENDPOINTS}list_tags_endpoint",
    # Words of refusals, of which no source is known.
    f"{_ENDPOINTS}update_endpoint_weights_and_capacities_should_throw_clienterror_no_v",
    f"{_ENDPOINTS}update_endpoint_weights_and_capacities_should_throw_clienterror_nonu",
    # The API's model sorts by Name, not by name; the newest comes first.
    f"{_ENDPOINTS}list_endpoint",
    # A token is moto's own number.
    (
        "test_applicationautoscaling/test_applicationautoscaling.py"
        "::test_describe_scalable_targets_next_token_success"
    ),
    # An alarm without a threshold.
    (
        "test_cloudwatch/test_cloudwatch_tags.py"
        "::test_tag_resource_on_resource_without_tags"
    ),
    # Its span begins in the middle of a minute.
    f"{_METRICS}get_metric_data_partially_within_timeframe",
)
SUITES = {
    "test_sagemaker/test_sagemaker_endpoint.py": 11,
    "test_sagemaker/test_sagemaker_models.py": 10,
    "test_applicationautoscaling": 23,
    "test_cloudwatch": 79,
}


@pytest.fixture(name="emptied", scope="module")
def _emptied() -> Iterator[EmbeddedAws]:
    """
    A server of its own: moto's tests begin by deleting what there is.
    """
    with EmbeddedAws(region=REGION) as aws:
        yield aws


@pytest.mark.parametrize(("suite", "count"), SUITES.items(), ids=SUITES)
def test_motos_own_tests(emptied: EmbeddedAws, suite: str, count: int) -> None:
    """
    In moto's way to test a server, and with input that AWS would take.
    """
    home = ENVIRONMENTS / "moto"
    keys = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "NO_PROXY", "no_proxy")
    variables = {name: emptied.environment[name] for name in keys}
    done = subprocess.run(
        [
            *(home / "bin" / "python", "-m", "pytest", "-q", "-p", "realistic_input"),
            *("-o", "addopts=", "-W", "ignore", "--tb=short", f"tests/{suite}"),
            *(f"--deselect=tests/{name}" for name in OTHERWISE),
        ],
        cwd=home / "source",
        env={
            **variables,
            "PATH": str(home / "bin"),
            "PYTHONPATH": str(PROGRAMS),
            "TEST_SERVER_MODE": "true",
            "TEST_SERVER_MODE_ENDPOINT": emptied.url,
            "MOTO_CALL_RESET_API": "false",
        },
        capture_output=True,
        text=True,
        timeout=_LIMIT,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"\n{count} passed" in done.stdout
