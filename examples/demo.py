"""
Deploy the three reference models to an embedded AWS, call them, and tear down.

``make demo`` runs this. It needs no account and costs nothing: AWS is emulated, and
what answers is a stand-in for the models, in their containers' own formats.
"""

from __future__ import annotations

import json
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
STACKS = ("MistralTrtLlm", "Mixtral", "Llama13BX8")
TOKEN_SECRET = "hugging-face-token"  # noqa: S105 - its name
REQUEST = {
    "inputs": "Who is Roger Federer?",
    "parameters": {"max_new_tokens": 24},
}

Outputs = Mapping[str, Mapping[str, str]]


class Demo:
    """
    The steps, each with its heading and the time it took.
    """

    def __init__(self, aws: EmbeddedAws, folder: Path) -> None:
        self._aws = aws
        self._folder = folder
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
        with self._step("call", "One plain request, one streaming request"):
            self._call(outputs["MistralTrtLlm"]["EndpointName"])
            self._stream(outputs["Llama13BX8"])
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
        component = outputs["InferenceComponentName"]
        answer = self._aws.client(
            "sagemaker-runtime"
        ).invoke_endpoint_with_response_stream(
            EndpointName=outputs["EndpointName"],
            InferenceComponentName=component,
            ContentType="application/json",
            Body=json.dumps({**REQUEST, "stream": True}),
        )
        print(f"  {component} streams its tokens:\n   ", end="")
        parts, tokens = 0, 0
        buffer = b""
        for event in answer["Body"]:
            parts += 1
            # A part is not a line: it may end inside one, or hold several.
            *lines, buffer = (buffer + event["PayloadPart"]["Bytes"]).split(b"\n")
            for line in filter(None, lines):
                token = json.loads(line.removeprefix(b"data:"))["token"]
                tokens += 1
                print(token["text"], end="", flush=True)
        print(f"\n    ({tokens} tokens in {parts} parts)")

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
    began = time.perf_counter()
    print("Starting an EMULATION of AWS on this machine: no account, no cost, no GPU.")
    try:
        with EmbeddedAws() as aws, tempfile.TemporaryDirectory() as folder:
            demo = Demo(aws, Path(folder))
            demo.run()
    except EmbeddedAwsError as fault:
        sys.exit(f"demo: {fault}")
    took = ", ".join(f"{name} {s:.0f} s" for name, s in demo.seconds.items())
    print(f"\n=== Summary ({time.perf_counter() - began:.0f} s: {took})")
    print(
        "  3 stacks deployed with the CDK CLI, called, and destroyed; nothing is left."
    )
    print("  Emulated: AWS itself and the models' words. Real: the CDK CLI, the")
    print("  templates, the model tarballs, the calls and their formats.")
    print("  Next: 'make deploy' does the same in your AWS account, at real cost.")


if __name__ == "__main__":
    main()
