"""
Make every report by real runs: ``python -m tests.browser.making FOLDER``.

It runs where the library is installed; the browser has an environment of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from cdk_sagemaker_llm.local import EmbeddedAws, Latency
from cdk_sagemaker_llm.simulation.fleet import FleetTimes
from tests.browser.reports import REPORTS
from tests.local.hosting_requests import LMI_28, make_config, make_model, serve

ROOT = Path(__file__).parents[2]
COMMAND = Path(sys.executable).parent / "sagemaker-llm"
_SPEED = 60
_AT_ONCE = FleetTimes(provision=1, image_pull=1, model_start=1)
# At that speed: 50 ms to the first token, and 4 ms to each of the others.
_LATENCY = Latency(first_token=3.0, per_token=0.24)
# The most that the service takes.
_LONGEST_NAME = "an-endpoint-with-the-longest-name-that-the-service-takes-".ljust(
    63, "x"
)


def make(folder: Path) -> None:
    """
    Write a page for each report into a folder.
    """
    with EmbeddedAws(speed=_SPEED, times=_AT_ONCE, latency=_LATENCY) as aws:
        names = {
            "app": _synthesised("concurrency_scaling", folder),
            "other": _synthesised("many_models", folder),
            "chat": serve(aws, LMI_28),
            "failing": _failing(aws),
        }
        for name in (names["chat"], names["failing"]):
            waiter = aws.client("sagemaker").get_waiter("endpoint_in_service")
            waiter.wait(EndpointName=name, WaiterConfig={"Delay": 1})
        for name, words in REPORTS.items():
            page = folder / f"{name}.html"
            arguments = [word.format(page=page, **names) for word in words.split()]
            # A third of the requests failing is no reason to fail here.
            subprocess.run(
                [COMMAND, *arguments],
                env=aws.process_environment,
                stdout=subprocess.DEVNULL,
                check=True,
            )


def _failing(aws: EmbeddedAws) -> str:
    variant = {"ModelName": make_model(aws), "InstanceType": "ml.g5.12xlarge"}
    config = make_config(aws, variant=variant)
    aws.client("sagemaker").create_endpoint(
        EndpointName=_LONGEST_NAME, EndpointConfigName=config
    )
    aws.fault("errors", _LONGEST_NAME, rate=0.3)
    return _LONGEST_NAME


def _synthesised(example: str, folder: Path) -> str:
    out = folder / example
    environment = {**os.environ, "CDK_OUTDIR": str(out)}
    program = ROOT / "examples" / example / "app.py"
    subprocess.run([sys.executable, program], env=environment, check=True)
    return str(out)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
