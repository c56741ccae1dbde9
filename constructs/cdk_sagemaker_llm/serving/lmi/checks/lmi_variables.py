"""
Checks of the variables themselves: is each read, does it take effect, is there a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cdk_sagemaker_llm.catalog.lmi import (
    LmiVariable,
    LmiVersion,
    lmi_variables,
    server_numbers,
    server_settings,
)
from cdk_sagemaker_llm.catalog.tgi import tgi_option_names
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.lmi.checks.options import is_option_name
from cdk_sagemaker_llm.serving.lmi.properties import java_int_fault
from cdk_sagemaker_llm.serving.lmi.translation import (
    LOAD_MODELS,
    MODEL,
    PREFIX,
    Lost,
    Translation,
    is_in_a_file,
    source_of,
)
from cdk_sagemaker_llm.serving.parameters import (
    MISSPELT,
    TOKEN_VARIABLES,
    almost,
    credential_findings,
    offline_hub_findings,
    usual_mistake,
)
from cdk_sagemaker_llm.tokens import is_unresolved

_SOURCE = "djl-serving: ModelInfo, PyEnv, ConfigManager and the images' entry point"
_STORE = "djl-serving, ModelStore"
_SERVER = "SERVING_"
_OF_SAGEMAKER = "SAGEMAKER_"
# EngineArgs has a field of that name, and LMI names the model itself.
_MODEL_OF_VLLM = "OPTION_MODEL"
_OF_TGI = {
    "MODEL_ID": MODEL,
    "REVISION": f"{PREFIX}REVISION",
    "NUM_SHARD": f"{PREFIX}TENSOR_PARALLEL_DEGREE",
    "QUANTIZE": f"{PREFIX}QUANTIZE",
    "MAX_TOTAL_TOKENS": f"{PREFIX}MAX_MODEL_LEN",
    "TRUST_REMOTE_CODE": f"{PREFIX}TRUST_REMOTE_CODE",
}
_VARIABLE_NAMES = server_settings() | {
    *(variable.name for variable in lmi_variables()),
    *TOKEN_VARIABLES,
}


class LmiEnvironment(NamedTuple):
    """
    A container's variables, and what is known to be beside them.

    Args:
        file: What the serving.properties beside them says; ``None`` without one.

        translated: What the container makes of all that.

        has_model_data: Whether SageMaker puts something into ``/opt/ml/model``;
            ``None`` if that is not known.
    """

    variables: Mapping[str, str]
    file: Mapping[str, str] | None
    container: str
    version: LmiVersion
    translated: Translation
    has_model_data: bool | None

    @property
    def image(self) -> str:
        """
        The image, as messages name it.
        """
        return f"{self.container} {self.version}"

    def hub_model(self) -> str | None:
        """
        Return what HF_MODEL_ID has the container write into a file of its own.
        """
        model = self.variables.get(MODEL)
        return model if is_in_a_file(model, self.version) else None


NUMBER_OF_THE_SERVER = Rule(
    "LLM178", "a setting of the LMI server is no number, and it does not start", _SOURCE
)


def number_findings(subject: LmiEnvironment) -> Iterator[Finding]:
    """
    The server reads its numbers with Integer.parseInt, and ends where it cannot.
    """
    for name in server_numbers():
        value = subject.variables.get(name)
        fault = None if value is None or is_unresolved(value) else java_int_fault(value)
        if fault:
            yield NUMBER_OF_THE_SERVER.finding(f"{name} must be {fault}, got {value!r}")


NO_MODEL = Rule("LLM179", "an LMI container has no model to load", _STORE)


def model_findings(subject: LmiEnvironment) -> Iterator[Finding]:
    """
    Without a tarball, HF_MODEL_ID alone makes the container load a model.
    """
    named = MODEL in subject.variables or LOAD_MODELS in subject.variables
    if named or subject.file is not None or subject.has_model_data is not False:
        return
    address = f"{PREFIX}MODEL_ID"
    reason = f": {address} alone is none" if address in subject.variables else ""
    yield NO_MODEL.finding(
        f"nothing names a model: there is neither {MODEL} nor model data{reason}",
        f"set {MODEL}",
    )


TWO_NAMED_MODELS = Rule(
    "LLM181",
    "HF_MODEL_ID names a model beside the one of the serving.properties",
    _STORE,
)
TWO_MODELS = Rule(
    "LLM230",
    "an LMI container loads two models: HF_MODEL_ID's and its folder's",
    _STORE,
)


def second_model_findings(subject: LmiEnvironment) -> Iterator[Finding]:
    """
    What HF_MODEL_ID names is loaded beside what is in ``/opt/ml/model``.
    """
    model = subject.variables.get(MODEL)
    if subject.file is None or not model or LOAD_MODELS in subject.variables:
        return
    if model.startswith("/") or is_unresolved(model):
        return
    if "option.model_id" in subject.file:
        yield TWO_NAMED_MODELS.finding(
            f"{MODEL} and option.model_id in serving.properties are two models, and "
            "both are loaded: a request then reaches neither",
            f"leave {MODEL} out",
        )
    else:
        yield TWO_MODELS.finding(
            f"{MODEL} is a model of its own beside what is in the model data, and "
            "both are loaded",
            "write option.model_id into serving.properties instead",
        )


NOT_READ = Rule("LLM227", "a variable that this version of LMI does not read", _SOURCE)


def version_findings(subject: LmiEnvironment) -> Iterator[Finding]:
    """
    This version of the image reads each variable.
    """
    for name in subject.variables:
        variables = [one for one in lmi_variables() if one.name == name]
        if variables and not any(_is_read(subject, one) for one in variables):
            variable = variables[0]
            if variable.is_past(subject.version):
                reason = f"it was last read in LMI {variable.last}"
            elif subject.version.before(variable.first):
                reason = f"it came with LMI {variable.first}"
            else:
                reason = "the images for GPUs read it"
            yield NOT_READ.finding(
                f"{variable.name} has no effect in {subject.image}: {reason}",
                f"write {variable.instead}" if variable.instead else "leave it out",
            )
    if _MODEL_OF_VLLM in subject.variables:
        yield NOT_READ.finding(
            f"{_MODEL_OF_VLLM} names no model in {subject.image}", f"write {MODEL}"
        )


def hub_setting_findings(subject: LmiEnvironment) -> Iterator[Finding]:
    """
    What belongs to HF_MODEL_ID is not read without it.
    """
    if subject.hub_model() is not None and subject.file is None:
        return
    for variable in lmi_variables("hub"):
        if variable.name in subject.variables and _is_read(subject, variable):
            other = variable.key.replace("option.", PREFIX).upper()
            yield NOT_READ.finding(
                f"{variable.name} has no effect: it belongs to a {MODEL} on the Hub",
                f"write {other}",
            )


def spelling_findings(subject: LmiEnvironment) -> Iterator[Finding]:
    """
    A variable that is almost, or in another engine, a known one is ignored.
    """
    for name in subject.variables:
        meant = _meant(name, subject)
        if meant:
            yield MISSPELT.finding(
                f"{name} is no variable of {subject.image}: it is ignored",
                f"did you mean {meant}?",
            )


def offline_findings(subject: LmiEnvironment) -> Iterator[Finding]:
    """
    What is offline has its model in the container.
    """
    model = subject.variables.get(MODEL)
    if model:
        yield from offline_hub_findings(subject.variables, MODEL, model)


GRAPHS_SWITCHED_OFF = Rule(
    "LLM642",
    "a switch is read as off, since it is not written in small letters",
    _SOURCE,
)


def graph_findings(subject: LmiEnvironment) -> Iterator[Finding]:
    """
    Anything but true switches CUDA graphs off (the images' entry point).
    """
    name = "ENABLE_CUDA_GRAPHS"
    value = subject.variables.get(name, "")
    is_meant = value.lower() in {"true", "1", "yes", "on"}
    is_read = any(
        one.name == name and _is_read(subject, one) for one in lmi_variables()
    )
    if is_read and is_meant and value != "true":
        yield GRAPHS_SWITCHED_OFF.finding(
            f"{name}={value} switches CUDA graphs off, as anything but true does",
            f"write {name}=true",
        )


OVERRULED = Rule(
    "LLM229", "a variable repeats or contradicts what wins over it", _SOURCE
)


def overruling_findings(subject: LmiEnvironment) -> Iterator[Finding]:
    """
    Two places set one property: the file wins over variables.
    """
    for lost in subject.translated.lost:
        if lost.winner != LOAD_MODELS or lost.value != lost.winning:
            yield OVERRULED.finding(*_overruled(lost))


def _is_read(subject: LmiEnvironment, variable: LmiVariable) -> bool:
    return variable.is_read(subject.container, subject.version)


def _meant(name: str, subject: LmiEnvironment) -> str | None:
    if name in _VARIABLE_NAMES or name.startswith((PREFIX, "ARGS_")):
        return None
    # The prefix itself is looked for in capitals.
    is_small = name.upper().startswith(PREFIX)
    usual = PREFIX + name[len(PREFIX) :].upper() if is_small else usual_mistake(name)
    if usual:
        return usual
    if name.startswith(_SERVER):
        return almost(name, server_settings())
    is_of_the_hub = name.startswith("HF_")
    if "_" in name and not is_of_the_hub and is_option_name(f"option.{name.lower()}"):
        return f"{PREFIX}{name.upper()}"
    if name in tgi_option_names():
        return _OF_TGI.get(name)
    # SageMaker's own names are many, and alike.
    names = sorted(
        variable.name
        for variable in lmi_variables()
        if _is_read(subject, variable) and not variable.name.startswith(_OF_SAGEMAKER)
    )
    return almost(name, names)


def _overruled(lost: Lost) -> tuple[str, str]:
    winner = source_of(lost.winner, lost.key) if lost.winner else "serving.properties"
    if not lost.variable:
        value = _value_text(lost.key, lost.value)
        return (
            f"{winner} wins over {lost.key}{value} in serving.properties",
            "leave one of them out",
        )
    if lost.value == lost.winning:
        return (
            f"{lost.variable} repeats what {winner} says",
            f"leave {lost.variable} out",
        )
    wins = _value_text(lost.key, lost.winning)
    place = f"{lost.key}{wins} in {winner}" if not lost.winner else f"{winner}{wins}"
    got = f"{lost.variable}{_value_text(lost.key, lost.value)}"
    return (
        f"{got} has no effect: {place} wins over it",
        f"leave {lost.variable} out, or set it there",
    )


def _value_text(key: str, value: str | None) -> str:
    """
    Write a value as it is shown: no placeholder, and no credential.
    """
    if value is None or is_unresolved(value):
        return ""
    name = key.removeprefix("option.")
    return "" if credential_findings("", {name: value}) else f"={value}"
