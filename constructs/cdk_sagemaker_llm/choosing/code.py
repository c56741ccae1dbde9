"""
The construct call that deploys a candidate, and a whole app around it, as text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from textwrap import indent

from cdk_sagemaker_llm.choosing.candidates import Candidate
from cdk_sagemaker_llm.choosing.question import Question
from cdk_sagemaker_llm.choosing.scaling import Scaling, clock
from cdk_sagemaker_llm.choosing.setups import Serving, Setup
from cdk_sagemaker_llm.serving.engines.sglang import Sglang
from cdk_sagemaker_llm.serving.engines.vllm import Vllm
from cdk_sagemaker_llm.serving.parameters import gated_findings

_IN = " " * 8


def construct_call(candidate: Candidate, question: Question, *, id: str = "") -> str:
    """
    Write the calls that define a candidate in a stack, which is ``self`` there.

    Args:
        candidate: What is to be deployed.

        question: What it answers.

        id: What the constructs are called, beside others.
            If omitted, there are no others.
    """
    if candidate.setup.shares:
        host = host_call(candidate.setup, candidate.instances, question, id=f"{id}Host")
        return f"{host}\n{component_call(candidate, question)}"
    return "\n".join(_filling(candidate, question, id or "Endpoint"))


def app_text(candidate: Candidate, question: Question) -> str:
    """
    Write a whole app that deploys a candidate, as the text of its file.

    Args:
        candidate: What is to be deployed.

        question: What it answers.
    """
    call = construct_call(candidate, question)
    title = f"{candidate.setup.model} on {candidate.setup.instance_type}"
    return app_around(
        "\n".join([call, *outputs(candidate)]),
        [(candidate, question)],
        title=title,
        words=candidate.scaling.words,
    )


def app_around(
    calls: str,
    parts: Sequence[tuple[Candidate, Question]],
    *,
    title: str,
    words: str,
) -> str:
    """
    Write a whole app around calls.

    Args:
        calls: What the stack's initialiser does.

        parts: The candidates that they define, with what each answers.

        title: What the app is.

        words: What its stack is, in a few words.
    """
    names = {"HuggingFaceModel"}
    cdk = {"App", "CfnOutput", "Environment", "Stack"}
    for candidate, question in parts:
        setup = candidate.setup
        names |= {
            "InferenceComponentEndpoint" if setup.shares else "LlmEndpoint",
            type(setup.serving).__name__,
        }
        if _is_gated(setup):
            cdk.add("SecretValue")
        if any(_warnings(candidate, question)):
            cdk.add("Annotations")
    region = parts[0][1].region
    return f'''"""
{title}, as sagemaker-llm choose found it.
"""

from aws_cdk import {", ".join(sorted(cdk))}
from constructs import Construct

from cdk_sagemaker_llm import {", ".join(sorted(names))}


class ChosenStack(Stack):
    """
    {words[0].upper()}{words[1:]}.
    """

    def __init__(self, scope: Construct, id: str, *, env: Environment) -> None:
        super().__init__(scope, id, env=env)
{indent(calls, _IN)}


app = App()
ChosenStack(app, "Chosen", env=Environment(region={region!r}))
app.synth()
'''


def outputs(candidate: Candidate, *, id: str = "") -> Iterator[str]:
    """
    Write the outputs of what the calls of a candidate define.
    """
    host = "host" if candidate.setup.shares else "endpoint"
    yield f'CfnOutput(self, "{id}EndpointName", value={host}.endpoint_name)'
    if candidate.setup.shares:
        yield (
            f'CfnOutput(self, "{id}ComponentName", '
            "value=model.inference_component_name)"
        )


def _filling(candidate: Candidate, question: Question, id: str) -> Iterator[str]:
    setup, scaling = candidate.setup, candidate.scaling
    yield "endpoint = LlmEndpoint("
    yield "    self,"
    yield f'    "{id}",'
    yield f"    model={_model(setup, question)},"
    yield f"    serving={_serving(setup, question)},"
    yield f'    instance_type="{setup.instance_type}",'
    if candidate.copies > 1:
        yield f"    instance_count={candidate.copies},"
    yield ")"
    if not scaling.is_fixed:
        yield f"count = endpoint.auto_scale_instance_count({_bounds(scaling)})"
        yield from _scaled(scaling, "per_instance")
    yield from _accepted(candidate, question)


def host_call(
    setup: Setup, instances: tuple[int, int, int], question: Question, *, id: str
) -> str:
    """
    Write the call that defines the instances that copies share.

    Args:
        setup: The first of what runs there.

        instances: How many there are at the start, at least and at most.

        question: What it answers.

        id: What the construct is called.
    """
    start, least, most = instances
    lines = [
        "host = InferenceComponentEndpoint(",
        "    self,",
        f'    "{id}",',
        f'    instance_type="{setup.instance_type}",',
    ]
    if start > 1:
        lines.append(f"    instance_count={start},")
    if least != start:
        lines.append(f"    min_instance_count={least},")
    lines.append(f"    max_instance_count={most},")
    if not isinstance(setup.serving, Vllm):
        lines.append(f"    engine={_serving(setup, question)},")
    return "\n".join([*lines, ")"])


def component_call(
    candidate: Candidate, question: Question, *, id: str = "Model"
) -> str:
    """
    Write the calls that add a model's copies to ``host``.
    """
    return "\n".join(_component(candidate, question, id))


def _component(candidate: Candidate, question: Question, id: str) -> Iterator[str]:
    setup, scaling = candidate.setup, candidate.scaling
    yield "model = host.add_model("
    yield f'    "{id}",'
    yield f"    model={_model(setup, question)},"
    yield f"    serving={_serving(setup, question)},"
    yield f"    copies={candidate.copies},"
    yield ")"
    if not scaling.is_fixed:
        yield f"count = model.auto_scale_copy_count({_bounds(scaling)})"
        yield from _scaled(scaling, "per_copy")
    yield from _accepted(candidate, question)


def _accepted(candidate: Candidate, question: Question) -> Iterator[str]:
    """
    Accept what a synthesis would warn of and the question has decided.
    """
    for code, why in _warnings(candidate, question):
        yield "Annotations.of(self).acknowledge_warning("
        yield f'    "cdk-sagemaker-llm:{code}",'
        yield f'    "{why}",'
        yield ")"


def _warnings(candidate: Candidate, question: Question) -> Iterator[tuple[str, str]]:
    if _is_gated(candidate.setup):
        yield "LLM202", "whoever may call DescribeModel may read the token"
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


def _serving(setup: Setup, question: Question) -> str:
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


def _model(setup: Setup, question: Question) -> str:
    more = ""
    if question.revision is not None and setup.model == question.model:
        more += f", revision={json.dumps(question.revision, ensure_ascii=False)}"
    if _is_gated(setup):
        more += ', token=SecretValue.secrets_manager("hugging-face-token")'
    if question.architecture is not None:
        more += f', architecture="{question.architecture.architecture}"'
    return f'HuggingFaceModel("{setup.model}"{more})'


def _is_gated(setup: Setup) -> bool:
    return bool(gated_findings(setup.model, has_token=False))
