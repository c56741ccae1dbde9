"""
What the service would refuse of an app's models, by what its templates say alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.cli.app.requests import literal
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.common.rules import (
    LARGE_ENVIRONMENT,
    LONGEST_VALUE,
    MOST_BYTES,
    MOST_VARIABLES,
)
from cdk_sagemaker_llm.simulation.api_values import Shape, is_open, map_of, maps_of


def request_findings(shape: Shape) -> Iterator[Finding]:
    """
    Check what a model is made with, beside what its containers run.

    Args:
        shape: The properties of the model.
    """
    for container in [map_of(shape, "PrimaryContainer"), *maps_of(shape, "Containers")]:
        yield from _environment(container)


def _environment(container: Shape) -> Iterator[Finding]:
    """
    Check how large the environment is, of what is known at synth.
    """
    environment = container.get("Environment")
    if is_open(environment) or not isinstance(environment, dict):
        return
    if len(environment) > MOST_VARIABLES:
        yield LARGE_ENVIRONMENT.finding(
            f"Environment must have at most {MOST_VARIABLES} variables, got "
            f"{len(environment)}"
        )
    known = {name: literal(value) for name, value in environment.items()}
    size = sum(
        len(text.encode(errors="surrogatepass"))
        for pair in known.items()
        for text in pair
        if text is not None
    )
    if size > MOST_BYTES:
        yield LARGE_ENVIRONMENT.finding(
            f"Environment must have at most {MOST_BYTES} bytes of names and values "
            f"together, got {size}"
        )
    for name, value in known.items():
        if value is not None and len(value) > LONGEST_VALUE:
            yield LARGE_ENVIRONMENT.finding(
                f"{name} must be at most {LONGEST_VALUE} characters long"
            )
