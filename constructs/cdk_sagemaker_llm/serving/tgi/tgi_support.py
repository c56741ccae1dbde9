"""
What a release of TGI loads, on GPUs and on Neuron devices: the model that variables
name, against what is known of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Literal

from cdk_sagemaker_llm.catalog.instances import accelerators_of, instance_type_names
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.checks import Config
from cdk_sagemaker_llm.tokens import is_unresolved

# The launcher's arguments that the rules ask for, by the variables that set them; of
# two the last counts, as in the launcher's entry point.
_ARGUMENTS = {
    "QUANTIZE": "quantize",
    "HF_MODEL_QUANTIZE": "quantize",
    "NUM_SHARD": "num_shard",
    "SM_NUM_GPUS": "num_shard",
    "SHARDED": "sharded",
    "TRUST_REMOTE_CODE": "trust_remote_code",
    "HF_MODEL_TRUST_REMOTE_CODE": "trust_remote_code",
}


def model_support_findings(
    environment: Mapping[str, str],
    *,
    engine: Literal["tgi", "tgi-neuron"],
    release: str,
    kind: Config,
    instance_type: str | None = None,
    words: Mapping[str, str] = MappingProxyType({}),
    unchecked: Collection[str] = (),
) -> list[Finding]:
    """
    Find what a release does with the model that an environment names.

    ``words`` are what the user calls a variable, and ``unchecked`` the variables that
    no check is wanted of.
    """
    named = environment.get("HF_MODEL_ID", "")
    is_on_hub = bool(named) and not is_unresolved(named) and not named.startswith("/")
    if is_unresolved(kind) or (kind is None and not is_on_hub):
        return []
    # Few models are known, and only they need the rules and tables.
    from cdk_sagemaker_llm.serving.support.wiring import wired_findings  # noqa: PLC0415

    known = {
        name: value
        for name, value in environment.items()
        if name not in unchecked and not is_unresolved(value)
    }
    model = count = None
    if instance_type is not None and instance_type in instance_type_names():
        model, count = accelerators_of(instance_type)
    return [
        *wired_findings(
            engine=engine,
            release=release,
            name=named if is_on_hub else None,
            kind=kind,
            accelerator=model,
            accelerators=count,
            arguments={
                argument: known[variable]
                for variable, argument in _ARGUMENTS.items()
                if variable in known
            },
            environment=known,
            network_isolation=False,
            words={
                argument: words.get(variable, variable)
                for variable, argument in _ARGUMENTS.items()
                if variable in environment
            },
        )
    ]
