"""
Two models that fill one instance, as the example has them.
"""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

from cdk_sagemaker_llm.local import EmbeddedAws
from tests.deployments import Deployer, example
from tests.local.conftest import REGION
from tests.secrecy import TOKEN


def test_four_copies_of_two_models_share_one_instance(tmp_path: Path) -> None:
    """
    All eight have a place, and each model answers by its component.
    """
    with EmbeddedAws(region=REGION) as aws:
        aws.client("secretsmanager").create_secret(
            Name="hugging-face-token", SecretString=TOKEN
        )
        app = example("two_models_one_instance", tmp_path)
        outputs = Deployer(aws).deploy(app).checked().outputs["TwoModels"]
        with urllib.request.urlopen(f"{aws.url}/_embedded/hosting") as answer:  # noqa: S310 - our own server
            (endpoint,) = json.load(answer)["Endpoints"]
        (variant,) = endpoint["Variants"]
        answers = [
            aws.client("sagemaker-runtime").invoke_endpoint(
                EndpointName=outputs["EndpointName"],
                InferenceComponentName=outputs[name],
                ContentType="application/json",
                Body=b'{"inputs": "Who is Roger Federer?"}',
            )
            for name in ("Llama13B", "Mistral7B")
        ]

    assert [one["ResponseMetadata"]["HTTPStatusCode"] for one in answers] == [200, 200]
    (instance,) = variant["Instances"]
    assert instance["Copies"] == {
        outputs["Llama13B"]: 4,
        outputs["Mistral7B"]: 4,
    }
