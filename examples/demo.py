"""
Deploy the three reference models to an embedded AWS, call and load them, tear down.

``make demo`` runs this. It needs no account and costs nothing: AWS is emulated, and
what answers is a stand-in for the models, in their containers' own formats. It leaves
one file behind, the load test's report.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from cdk_sagemaker_llm.local import EmbeddedAws, EmbeddedAwsError

ROOT = Path(__file__).parent.parent
CDK = ROOT / "node_modules" / ".bin" / "cdk"
COMMAND = Path(sys.executable).parent / "sagemaker-llm"
REPORT = Path("build") / "demo" / "load-test.html"
STACKS = ("MistralTrtLlm", "Mixtral", "Llama13BX8")
TOKEN_SECRET = "hugging-face-token"  # noqa: S105 - its name
QUESTION = "Who is Roger Federer?"
REQUEST = {"inputs": QUESTION, "parameters": {"max_new_tokens": 24}}
# Requests that arrive at random, few enough for a machine that does all of it itself.
LOAD = ("--rate", "20", "--duration", "3s", "--max-new-tokens", "24")

Outputs = Mapping[str, Mapping[str, str]]


class Demo:
    """
    The steps, each with its heading and the time it took.
    """

    def __init__(self, aws: EmbeddedAws, folder: Path, report: Path) -> None:
        self._aws = aws
        self._folder = folder
        self._report = report
        self._outputs = folder / "outputs.json"
        self._assembly = folder / "cdk.out"
        self.seconds: dict[str, float] = {}

    def run(self) -> None:
        """
        Go from nothing to three endpoints and back.
        """
        with self._step("bootstrap", "cdk bootstrap"):
            self._store_token()
            # In a folder without cdk.json, whose app is not needed for it.
            self._cdk(
                "bootstrap",
                f"aws://{self._account()}/{self._aws.region}",
                cwd=self._folder,
            )
        with self._step("deploy", f"cdk deploy {' '.join(STACKS)}"):
            self._cdk(
                *("deploy", "--all", "--require-approval", "never"),
                *("--outputs-file", str(self._outputs)),
                *("--output", str(self._assembly)),
            )
        outputs: Outputs = json.loads(self._outputs.read_text())
        with self._step("look", "What now exists"):
            self._show_endpoints()
            self._show_scaling()
        mistral = outputs["MistralTrtLlm"]["EndpointName"]
        with self._step("call", "One plain request, as boto3 sends it"):
            self._call(mistral)
        with self._step("stream", "A streamed answer, with its confidence"):
            self._stream(outputs["Llama13BX8"])
        with self._step("load", "A short load test"):
            self._load(mistral)
        with self._step("destroy", f"cdk destroy {' '.join(STACKS)}"):
            self._cdk("destroy", "--all", "--force", "--app", str(self._assembly))
            self._check_nothing_is_left()

    @contextmanager
    def _step(self, name: str, heading: str) -> Iterator[None]:
        print(f"\n=== {heading}", flush=True)
        began = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - began

    def _account(self) -> str:
        account: str = self._aws.client("sts").get_caller_identity()["Account"]
        return account

    def _cdk(self, *arguments: str, cwd: Path = ROOT) -> None:
        done = subprocess.run(
            [CDK, *arguments, "--no-notices", "--ci"],
            cwd=cwd,
            env=self._aws.process_environment,
            check=False,
        )
        if not self._aws.is_running:
            raise self._aws.failure(f"ended during 'cdk {arguments[0]}'")
        if done.returncode:
            sys.exit(f"demo: 'cdk {arguments[0]}' failed; its reason stands above")

    def _command(self, *arguments: str) -> None:
        print(f"  $ sagemaker-llm {shlex.join(arguments)}", flush=True)
        done = subprocess.run(
            [COMMAND, *arguments],
            cwd=ROOT,
            env=self._aws.process_environment,
            # One order of lines, also where they go into a file.
            stderr=subprocess.STDOUT,
            check=False,
        )
        if done.returncode:
            sys.exit(
                f"demo: 'sagemaker-llm {arguments[0]}' failed; its reason is above"
            )

    def _store_token(self) -> None:
        # Llama 2 is gated: its stack refers to a secret, which has to exist.
        self._aws.client("secretsmanager").create_secret(
            Name=TOKEN_SECRET, SecretString="no-token-is-needed-here"
        )

    def _show_endpoints(self) -> None:
        address = f"{self._aws.url}/_embedded/hosting"
        with urllib.request.urlopen(address) as answer:  # noqa: S310 - our own server
            endpoints = json.load(answer)["Endpoints"]
        for endpoint in endpoints:
            (variant,) = endpoint["Variants"]
            print(
                f"  endpoint {endpoint['EndpointName']}: {variant['InstanceCount']} x "
                f"{variant['InstanceType']}, {variant['VariantName']}"
            )
            for instance in variant["Instances"]:
                for name, count in instance["Copies"].items():
                    print(f"    instance {instance['Instance']}: {count} x {name}")

    def _show_scaling(self) -> None:
        scaling = self._aws.client("application-autoscaling")
        targets = scaling.describe_scalable_targets(ServiceNamespace="sagemaker")
        for target in targets["ScalableTargets"]:
            print(
                f"  scalable target {target['ResourceId']}: "
                f"{target['MinCapacity']} to {target['MaxCapacity']}"
            )
        policies = scaling.describe_scaling_policies(ServiceNamespace="sagemaker")
        for policy in policies["ScalingPolicies"]:
            tracking = policy["TargetTrackingScalingPolicyConfiguration"]
            metric = tracking["PredefinedMetricSpecification"]["PredefinedMetricType"]
            print(
                f"  policy {policy['PolicyName']}: {metric} near "
                f"{tracking['TargetValue']:g}, cooldowns "
                f"{tracking['ScaleInCooldown']} s in, "
                f"{tracking['ScaleOutCooldown']} s out"
            )

    def _call(self, endpoint: str) -> None:
        answer = self._aws.client("sagemaker-runtime").invoke_endpoint(
            EndpointName=endpoint,
            ContentType="application/json",
            Body=json.dumps(REQUEST),
        )
        print(f"  {endpoint} answers (the container's format, a stand-in's words):")
        print(f"    {answer['Body'].read().decode()}")

    def _stream(self, outputs: Mapping[str, str]) -> None:
        self._command(
            *("stream", outputs["EndpointName"], QUESTION),
            *("--component", outputs["InferenceComponentName"]),
            *("--max-new-tokens", "24", "--details"),
        )
        print("  The confidence is exp of the tokens' mean log probability.")

    def _load(self, endpoint: str) -> None:
        self._report.parent.mkdir(parents=True, exist_ok=True)
        self._command("load-test", endpoint, *LOAD, "--html", str(self._report))
        print(f"  The report with its charts: {self._report}")

    def _check_nothing_is_left(self) -> None:
        sagemaker = self._aws.client("sagemaker")
        scaling = self._aws.client("application-autoscaling")
        left = [
            *sagemaker.list_endpoints()["Endpoints"],
            *sagemaker.list_models()["Models"],
            *sagemaker.list_inference_components()["InferenceComponents"],
            *scaling.describe_scalable_targets(ServiceNamespace="sagemaker")[
                "ScalableTargets"
            ],
        ]
        if left:
            sys.exit(f"demo: something is left after cdk destroy: {left}")


def main() -> None:
    """
    Run the demonstration and sum it up.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--report",
        type=Path,
        default=ROOT / REPORT,
        help=f"where the load test's report goes; if left out, {REPORT}",
    )
    report: Path = parser.parse_args().report.absolute()
    began = time.perf_counter()
    print("Starting an EMULATION of AWS on this machine: no account, no cost, no GPU.")
    try:
        with EmbeddedAws() as aws, tempfile.TemporaryDirectory() as folder:
            demo = Demo(aws, Path(folder), report)
            demo.run()
    except EmbeddedAwsError as fault:
        sys.exit(f"demo: {fault}")
    took = ", ".join(f"{name} {s:.0f} s" for name, s in demo.seconds.items())
    print(f"\n=== Summary ({time.perf_counter() - began:.0f} s: {took})")
    print("  3 stacks deployed with the CDK CLI, called, loaded, and destroyed;")
    print("  nothing is left but the load test's report:")
    print(f"  {report}")
    print("  Emulated: AWS itself and the models' words. Real: the CDK CLI, the")
    print("  templates, the model tarballs, the calls, their formats, and the load.")
    print("  Next: 'make deploy' does the same in your AWS account, at real cost.")


if __name__ == "__main__":
    main()
