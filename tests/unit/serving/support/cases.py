"""
A model at a release, on a GPU, as one line of a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from cdk_sagemaker_llm.serving import check_support
from tests.unit.support_rule_examples import Example

TYPES = {
    "V100": "ml.p3.2xlarge",
    "T4": "ml.g4dn.xlarge",
    "A100": "ml.p4d.24xlarge",
    "A10G": "ml.g5.2xlarge",
    "L4": "ml.g6.2xlarge",
    "L40S": "ml.g6e.xlarge",
    "H100": "ml.p5.48xlarge",
    "H200": "ml.p5en.48xlarge",
    "B200": "ml.p6-b200.48xlarge",
    "RTX": "ml.g7e.2xlarge",
    "CPU": "ml.c6i.2xlarge",
    "Neuron": "ml.inf2.48xlarge",
}
OF_ARGUMENTS = (
    *(
        "LLM162",
        "LLM169",
        "LLM174",
        "LLM504",
        "LLM516",
        "LLM527",
        "LLM539",
        "LLM541",
        "LLM543",
    ),
    *("LLM551", "LLM866"),
)
Row = tuple[str, Example]


def case(
    where: str,
    what: str,
    config: Mapping[str, Any] | None = None,
    /,
    *,
    environment: Any = None,  # noqa: ANN401 - beside arguments of any kind
    is_isolated: Any = False,  # noqa: ANN401 - beside arguments of any kind
    **arguments: Any,  # noqa: ANN401 - the engine's own
) -> Example:
    """
    Return a check that is yet to be asked.

    Args:
        where: The engine, its release and the GPU, such as ``vllm 0.10.2 A10G``.

        what: The model's name, or else the class of one that the catalogue lacks.

        config: Further keys of config.json.

        environment: The container's variables.

        is_isolated: Whether it is cut off from the network.

        **arguments: What is asked of the engine.
    """
    engine, release, gpu = where.split()
    is_model = "/" in what
    known = {} if is_model or not what else {"architectures": [what]}
    return partial(
        check_support,
        what if is_model else "a/b",
        engine=engine,
        release=release,
        instance_type=TYPES[gpu],
        arguments=arguments,
        config={**known, **(config or {})},
        environment=environment,
        network_isolation=is_isolated,
    )


def table(*rows: tuple[Any, ...]) -> tuple[tuple[Any, ...], ...]:
    """
    Return the lines of a table, whose columns are of any kind.
    """
    return rows


def codes_of(example: Example) -> str:
    """
    Return the codes that the rules of support come to, in their order; those of
    arguments, whatever the model, are tested by themselves.
    """
    codes = [one.code for one in example()]
    return " ".join(code for code in codes if code not in OF_ARGUMENTS)
