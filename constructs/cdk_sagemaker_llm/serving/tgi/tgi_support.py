"""
What a release of TGI loads, on GPUs and on Neuron devices: the model that variables
name, against what is known of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Literal

from cdk_sagemaker_llm.catalog.instances import accelerators_of, instance_type_names
from cdk_sagemaker_llm.findings import Finding, errors_of
from cdk_sagemaker_llm.models import hub_name
from cdk_sagemaker_llm.serving.checks import Config, checks_of
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.serving.tgi import tgi_variables, variable_combinations
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
    name = hub_name(environment.get("HF_MODEL_ID"))
    if is_unresolved(kind) or (kind is None and name is None):
        return []
    # Few models are known, and only they need the rules and tables.
    from cdk_sagemaker_llm.serving.support.wiring import wired_findings  # noqa: PLC0415

    variables = {
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
            name=name,
            kind=kind,
            accelerator=model,
            accelerators=count,
            arguments={
                argument: variables[variable]
                for variable, argument in _ARGUMENTS.items()
                if variable in variables
            },
            environment=variables,
            network_isolation=False,
            words={
                argument: words.get(variable, variable)
                for variable, argument in _ARGUMENTS.items()
                if variable in environment
            },
        )
    ]


def asked_findings(subject: Subject, found: Iterable[Finding]) -> Iterator[Finding]:
    """
    Find what the launcher refuses of arguments, whatever the model, and whatever
    ``found`` does not tell of; those that have no variable are left out.
    """
    from cdk_sagemaker_llm.serving.support.number_formats import LACKS_METHOD  # noqa: PLC0415 - as above

    messages = [one.message for one in found if one.code == LACKS_METHOD.code]
    texts = {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in subject.arguments.items()
        if isinstance(value, str | int | float)
        and value != ""
        and not any(f"{name}={value}" in message for message in messages)
    }
    tgi_subject = tgi_variables.TgiSubject(
        {name.upper(): text for name, text in texts.items()},
        subject.release,
        # A shard on a processor takes none.
        subject.accelerators or None,
        words={name.upper(): name for name in texts},
    )
    yield from errors_of(tgi_variables.value_findings(tgi_subject))
    for check in checks_of(variable_combinations):
        yield from errors_of(check(tgi_subject))
