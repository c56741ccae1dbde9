"""
Every rule of the library by its code; each stands beside the check that finds it.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType, ModuleType

import cdk_sagemaker_llm
from cdk_sagemaker_llm.findings import Rule

# They need what only the extras install, and find nothing of their own.
_WITH_EXTRAS = ("cli", "local")

_API = "SageMaker API, botocore 1.44.5"
_GUIDE = "SageMaker developer guide"
_SDK = "SageMaker Python SDK"
_LMI = "LMI documentation"
_PLAN = "the plan's arithmetic"

# Those of modules that do not define theirs yet.
_LEFTOVER = {
    "LLM101": "an instance type does not exist or cannot host endpoints; botocore",
    "LLM103": f"the stack's region does not list the image; {_SDK}",
    "LLM104": f"copies do not fit the most instances the endpoint may have; {_API}",
    "LLM105": f"a count or bound is outside what the service takes; {_API}",
    "LLM106": f"a name has characters or a length that the service refuses; {_API}",
    "LLM108": "the serving folder does not exist",
    "LLM109": "the serving folder holds no serving.properties",
    "LLM117": "a model and a serving folder are both given",
    "LLM118": "the serving folder holds more than configuration and code",
    "LLM119": "an isolated network lets the container download no weights",
    "LLM120": f"the environment is larger than the service takes; {_API}",
    "LLM121": f"a volume's size or key is set where storage is local NVMe; {_SDK}",
    "LLM122": f"managed instance scaling is set on a variant with a model; {_GUIDE}",
    "LLM123": f"variants have no, or the same, names; {_API}",
    "LLM124": f"an execution role and a model exclude each other; {_GUIDE}",
    "LLM125": f"a component's role or network is not its endpoint's; {_GUIDE}",
    "LLM126": "several folders at the top would be several models; "
    "djl-serving, ModelStore",
    "LLM127": "a GPU image on Neuron chips, or the other way round",
    "LLM159": f"a precompiled engine is not on S3; {_LMI}, TensorRT-LLM",
    "LLM180": "the Neuron image of TGI is given a type it does not compile to; "
    "the environment variables of optimum-neuron",
    "LLM190": f"the model's weights do not load on the accelerators; {_PLAN}",
    "LLM191": "the model's heads cannot be split over a copy's accelerators; vLLM",
    "LLM192": "resources are left out, and nothing is known of the model",
    "LLM202": "a token can be read by whoever may call DescribeModel",
    "LLM203": "scaling can ask for more copies than fit",
    "LLM213": "the container's and SageMaker's time-outs contradict each other",
    "LLM219": f"TensorRT-LLM does not compile the model when it starts; {_LMI}",
    "LLM221": f"the host's driver may be too old for the image's CUDA; {_GUIDE}",
    "LLM270": "a variable that early Neuron images of TGI are documented with, and "
    "later ones derive from others; the deployment guides of Hugging Face",
    "LLM290": f"the KV cache holds less than one whole sequence; {_PLAN}",
    "LLM291": f"the KV cache holds less than the batch that is promised; {_PLAN}",
}


@functools.cache
def rules() -> Mapping[str, Rule]:
    """
    Return every rule by its code, in the order of the codes.

    All modules are loaded for it, the CDK with them.

    Raises:
        ValueError: If two rules have one code.
    """
    defined = [rule for module in _modules() for rule in rules_in(module)]
    leftover = [Rule(code, *text.split("; ", 1)) for code, text in _LEFTOVER.items()]
    every = {**by_code(leftover), **by_code(defined)}
    return MappingProxyType(dict(sorted(every.items())))


def rules_in(module: ModuleType) -> list[Rule]:
    """
    Return the rules that a module defines, or imports.
    """
    return [value for value in vars(module).values() if isinstance(value, Rule)]


def by_code(rules: Iterable[Rule]) -> dict[str, Rule]:
    """
    Key rules by their codes; one that several modules use is one.

    Raises:
        ValueError: If two rules have one code.
    """
    found: dict[str, Rule] = {}
    for rule in rules:
        other = found.setdefault(rule.code, rule)
        if other is not rule:
            raise ValueError(
                f"{rule.code} must be the code of one rule, got {other.finds!r} and "
                f"{rule.finds!r}"
            )
    return found


def _modules() -> Iterator[ModuleType]:
    package = cdk_sagemaker_llm
    for part in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if part.name.rpartition(".")[2] in _WITH_EXTRAS:
            continue
        module = importlib.import_module(part.name)
        yield module
        path = getattr(module, "__path__", ())
        for inner in pkgutil.walk_packages(path, f"{part.name}."):
            yield importlib.import_module(inner.name)
