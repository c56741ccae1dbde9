"""
The construct call that deploys a candidate, and a whole app around it, as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import indent

from cdk_sagemaker_llm.choosing.candidates import Candidate
from cdk_sagemaker_llm.choosing.question import Question
from cdk_sagemaker_llm.choosing.scaling import Scaling, clock
from cdk_sagemaker_llm.choosing.setups import Serving, Setup
from cdk_sagemaker_llm.serving.engines.sglang import Sglang
from cdk_sagemaker_llm.serving.engines.vllm import Vllm
from cdk_sagemaker_llm.serving.parameters import gated_findings

_IN = " " * 8


def construct_call(candidate: Candidate, question: Question) -> str:
    """
    Write the calls that define a candidate in a stack, which is ``self`` there.

    Args:
        candidate: What is to be deployed.

        question: What it answers.
    """
    lines = list(_shared(candidate, question) if candidate.setup.shares else ())
    return "\n".join(lines or _filling(candidate, question))


def app_text(candidate: Candidate, question: Question) -> str:
    """
    Write a whole app that deploys a candidate, as the text of its file.

    Args:
        candidate: What is to be deployed.

        question: What it answers.
    """
    setup = candidate.setup
    pattern = "InferenceComponentEndpoint" if setup.shares else "LlmEndpoint"
    names = sorted(["HuggingFaceModel", pattern, type(setup.serving).__name__])
    cdk = ["App", "CfnOutput", "Environment", "Stack"]
    if _is_gated(setup):
        cdk.append("SecretValue")
    if any(_warnings(candidate, question)):
        cdk.append("Annotations")
    host = "host" if setup.shares else "endpoint"
    output = f'CfnOutput(self, "EndpointName", value={host}.endpoint_name)'
    outputs = [output]
    if setup.shares:
        outputs.append(
            'CfnOutput(self, "ComponentName", value=model.inference_component_name)'
        )
    body = indent("\n".join([construct_call(candidate, question), *outputs]), _IN)
    return f'''"""
{setup.model} on {setup.instance_type}, as sagemaker-llm choose found it.
"""

from aws_cdk import {", ".join(sorted(cdk))}
from constructs import Construct

from cdk_sagemaker_llm import {", ".join(names)}


class ChosenStack(Stack):
    """
    {candidate.scaling.words[0].upper()}{candidate.scaling.words[1:]}.
    """

    def __init__(self, scope: Construct, id: str, *, env: Environment) -> None:
        super().__init__(scope, id, env=env)
{body}


app = App()
ChosenStack(app, "Chosen", env=Environment(region={question.region!r}))
app.synth()
'''


def _filling(candidate: Candidate, question: Question) -> Iterator[str]:
    setup, scaling = candidate.setup, candidate.scaling
    yield "endpoint = LlmEndpoint("
    yield "    self,"
    yield '    "Endpoint",'
    yield f"    model={model_text(setup, question)},"
    yield f"    serving={serving_text(setup, question)},"
    yield f'    instance_type="{setup.instance_type}",'
    if candidate.copies > 1:
        yield f"    instance_count={candidate.copies},"
    yield ")"
    if not scaling.is_fixed:
        yield f"count = endpoint.auto_scale_instance_count({_bounds(scaling)})"
        yield from _scaled(scaling, "per_instance")
    yield from accepted(_warnings(candidate, question))


def _shared(candidate: Candidate, question: Question) -> Iterator[str]:
    setup, scaling = candidate.setup, candidate.scaling
    start, least, most = candidate.instances
    yield "host = InferenceComponentEndpoint("
    yield "    self,"
    yield '    "Host",'
    yield f'    instance_type="{setup.instance_type}",'
    if start > 1:
        yield f"    instance_count={start},"
    if least != start:
        yield f"    min_instance_count={least},"
    yield f"    max_instance_count={most},"
    if not isinstance(setup.serving, Vllm):
        yield f"    engine={serving_text(setup, question)},"
    yield ")"
    yield "model = host.add_model("
    yield '    "Model",'
    yield f"    model={model_text(setup, question)},"
    yield f"    serving={serving_text(setup, question)},"
    yield f"    copies={candidate.copies},"
    yield ")"
    if not scaling.is_fixed:
        yield f"count = model.auto_scale_copy_count({_bounds(scaling)})"
        yield from _scaled(scaling, "per_copy")
    yield from accepted(_warnings(candidate, question))


def accepted(warnings: Iterable[tuple[str, str]]) -> Iterator[str]:
    """
    Accept what a synthesis would warn of and the question has decided.
    """
    for code, why in warnings:
        yield "Annotations.of(self).acknowledge_warning("
        yield f'    "cdk-sagemaker-llm:{code}",'
        yield f'    "{why}",'
        yield ")"


def token_warnings(setup: Setup) -> Iterator[tuple[str, str]]:
    """
    Give the warning that a gated model's token brings along, and why it is accepted.
    """
    if _is_gated(setup):
        yield "LLM202", "whoever may call DescribeModel may read the token"


def _warnings(candidate: Candidate, question: Question) -> Iterator[tuple[str, str]]:
    yield from token_warnings(candidate.setup)
    if candidate.scaling.is_fixed:
        return
    if question.revision is None or candidate.setup.model != question.model:
        yield "LLM816", "the newest commit will do until revision= pins one"
    if not candidate.scaling.least:
        yield "LLM402", "clients try again while the first copy starts"


def _scaled(scaling: Scaling, unit: str) -> Iterator[str]:
    hours = scaling.hours
    if scaling.target is not None:
        yield f'count.scale_on_concurrency("Load", {unit}={scaling.target:g})'
    if hours is not None:
        yield "count.office_hours("
        yield '    "Day",'
        yield f'    opens="{clock(hours.opens)}",'
        yield f'    closes="{clock(hours.closes)}",'
        yield f"    min_capacity={hours.copies},"
        yield f"    closed_capacity={scaling.least},"
        yield '    days="*",'
        yield ")"


def _bounds(scaling: Scaling) -> str:
    return f"min_capacity={scaling.least}, max_capacity={scaling.most}"


def serving_text(setup: Setup, question: Question) -> str:
    """
    Write the serving configuration of a setup.
    """
    serving = setup.serving
    drafted = question.speedups.drafted_tokens
    if isinstance(serving, Sglang):
        return f"Sglang(tp_size={setup.degree}, context_length={_context(serving)})"
    more = ""
    if isinstance(serving, Vllm):
        degree = "tensor_parallel_size"
        if drafted:
            config = f'{{"method": "ngram", "num_speculative_tokens": {drafted}}}'
            more = f", speculative_config={config}"
    else:
        degree = "tensor_parallel_degree"
    return (
        f"{type(serving).__name__}({degree}={setup.degree}, "
        f"max_model_len={_context(serving)}{more})"
    )


def _context(serving: Serving) -> object:
    if isinstance(serving, Sglang):
        return serving.context_length
    return serving.max_model_len


def model_text(setup: Setup, question: Question) -> str:
    """
    Write where the weights of a setup come from.
    """
    more = ""
    if question.revision is not None and setup.model == question.model:
        more += f', revision="{question.revision}"'
    if _is_gated(setup):
        more += ', token=SecretValue.secrets_manager("hugging-face-token")'
    if question.architecture is not None:
        more += f', architecture="{question.architecture.architecture}"'
    return f'HuggingFaceModel("{setup.model}"{more})'


def _is_gated(setup: Setup) -> bool:
    return bool(gated_findings(setup.model, has_token=False))
