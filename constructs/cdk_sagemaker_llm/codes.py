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
_FRONT_END = "djl-serving, wlm: LmiUtils and LmiConfigRecommender"
_MODELS = "djl-serving, djl_python/properties_manager"
_HANDLERS = "djl-serving, the handlers of djl_python"

# Those of modules that do not define theirs yet.
_LEFTOVER = {
    "LLM101": "an instance type does not exist or cannot host endpoints; botocore",
    "LLM102": "an image family or version does not exist; SageMaker Python SDK",
    "LLM103": "the stack's region does not list the image; SageMaker Python SDK",
    "LLM104": f"copies do not fit the most instances the endpoint may have; {_API}",
    "LLM105": f"a count or bound is outside what the service takes; {_API}",
    "LLM106": f"a name has characters or a length that the service refuses; {_API}",
    "LLM107": "a credential stands in plain text; the issuers' published forms",
    "LLM108": "the serving folder does not exist",
    "LLM109": "the serving folder holds no serving.properties",
    "LLM111": f"a number is outside the range that is accepted; {_API}",
    "LLM112": "nothing names the model's weights",
    "LLM113": "an option or variable repeats what a parameter sets",
    "LLM114": "a value cannot be written or read, or is known only at deployment; "
    "java.util.Properties",
    "LLM117": "a model and a serving folder are both given",
    "LLM118": "the serving folder holds more than configuration and code",
    "LLM119": "an isolated network lets the container download no weights",
    "LLM120": f"the environment is larger than the service takes; {_API}",
    "LLM121": "a volume's size or key is set where storage is local NVMe; "
    "SageMaker Python SDK",
    "LLM122": f"managed instance scaling is set on a variant with a model; {_GUIDE}",
    "LLM123": f"variants have no, or the same, names; {_API}",
    "LLM124": f"an execution role and a model exclude each other; {_GUIDE}",
    "LLM125": f"a component's role or network is not its endpoint's; {_GUIDE}",
    "LLM126": "several folders at the top would be several models; djl-serving, "
    "ModelStore",
    "LLM127": "a GPU image on Neuron chips, or the other way round",
    "LLM128": "TensorRT-LLM 0.26 is not told which ChatGLM it compiles; LMI "
    "documentation",
    "LLM130": f"the engine does not exist in that image; {_FRONT_END}",
    "LLM131": f"the engine cannot start the backend; {_MODELS}",
    "LLM132": f"the rolling batch does not exist at that version; {_MODELS}",
    "LLM133": f"the rolling batch's backend is not in the image; {_HANDLERS}",
    "LLM134": f"the file runs another backend than the one named; {_HANDLERS}",
    "LLM135": f"a value is not of the option's type; {_MODELS}",
    "LLM136": f"a value is none of the option's choices; {_MODELS}",
    "LLM137": f"a number is outside the option's range; {_MODELS}",
    "LLM138": "dtype with quantize in LMI-Dist 0.26; LmiDistRbProperties",
    "LLM139": "LoRA with speculative decoding in LMI-Dist; LmiDistRbProperties",
    "LLM140": f"model_id with its old alias s3url; {_FRONT_END}",
    "LLM141": "RoPE scaling with only one of type and factor; LMI documentation, "
    "TensorRT-LLM",
    "LLM142": "SmoothQuant with bf16 in DeepSpeed; DeepSpeedProperties",
    "LLM143": "dynamic and rolling batches on Neuron; TransformerNeuronXProperties",
    "LLM144": "streaming with dynamic batches; Properties",
    "LLM145": "loading in 4 or 8 bits without a device map; HuggingFaceProperties",
    "LLM146": "a NeuronX loader with a schema it cannot load; "
    "TransformerNeuronXProperties",
    "LLM147": "compiling ahead of time with the vLLM loader; "
    "TransformerNeuronXProperties",
    "LLM148": "a DeepSpeed checkpoint without dtype; DeepSpeedProperties",
    "LLM149": "pipeline parallelism with vLLM; VllmRbProperties",
    "LLM150": "speculative decoding without the second block manager; VllmRbProperties",
    "LLM151": "the fast model loader with speculative decoding; LmiDistRbProperties",
    "LLM152": "tool calls or reasoning without a parser; VllmRbProperties",
    "LLM153": "LMI's and vLLM's name of one setting with two values; VllmRbProperties",
    "LLM154": f"one copy needs more devices than it has; {_FRONT_END}",
    "LLM155": f"the asynchronous service with a rolling batch; {_FRONT_END}",
    "LLM156": "tensor parallelism does not divide the attention heads; the engines",
    "LLM157": "a line that the TensorRT-LLM partition script cannot read; "
    "partition/trt_llm_partition.py",
    "LLM158": f"an option has no effect, and nothing else could read it; {_MODELS}",
    "LLM159": "a precompiled engine is not on S3; LMI documentation, TensorRT-LLM",
    "LLM190": "the model's weights do not load on the accelerators; the plan's "
    "arithmetic",
    "LLM191": "the model's heads cannot be split over a copy's accelerators; vLLM",
    "LLM192": "resources are left out, and nothing is known of the model",
    "LLM201": "the image family gets no more releases; AWS Deep Learning Containers",
    "LLM202": "a token can be read by whoever may call DescribeModel",
    "LLM203": "scaling can ask for more copies than fit",
    "LLM204": f"an option does not exist and is ignored; {_MODELS}",
    "LLM205": f"an option has no effect with that backend or version; {_MODELS}",
    "LLM206": f"the automatic choice falls back to the slow scheduler; {_HANDLERS}",
    "LLM207": f"the architecture decides the backend, and is not known; {_HANDLERS}",
    "LLM208": "an option is deprecated; LMI documentation",
    "LLM209": f"the container replaces or ignores a value; {_MODELS}",
    "LLM210": f"a key has a prefix too many or too few; {_FRONT_END}",
    "LLM211": f"devices stay idle; {_FRONT_END}",
    "LLM212": "a value is outside what is documented; LMI documentation",
    "LLM213": "the container's and SageMaker's time-outs contradict each other",
    "LLM214": "a gated model without a token; a list of known families",
    "LLM215": f"no engine is written, and a gated model will not load; {_FRONT_END}",
    "LLM216": "vLLM's name of a setting that LMI sets itself; VllmRbProperties",
    "LLM217": "characters that Java reads otherwise; java.util.Properties",
    "LLM218": "a property is written twice; java.util.Properties",
    "LLM219": "TensorRT-LLM does not compile the model when it starts; LMI "
    "documentation",
    "LLM220": "an argument that newer releases of vLLM seem to have dropped; not "
    "verified",
    "LLM221": f"the host's driver may be too old for the image's CUDA; {_GUIDE}",
    "LLM290": "the KV cache holds less than one whole sequence; the plan's arithmetic",
    "LLM291": "the KV cache holds less than the batch that is promised; the plan's "
    "arithmetic",
    "LLM180": "the Neuron image of TGI is given a type it does not compile to; the "
    "environment variables of optimum-neuron",
    "LLM270": "a variable that early Neuron images of TGI are documented with, and "
    "later ones derive from others; the deployment guides of Hugging Face",
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
