"""
What ``load-test`` and ``benchmark`` share: their requests, their progress, their end.
"""

from __future__ import annotations

import json
import re
import statistics
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

import typer
from rich.console import Console

from cdk_sagemaker_llm.cli.commands._options import (
    Component,
    EndpointUrl,
    Profile,
    Region,
    Variant,
    seconds,
)
from cdk_sagemaker_llm.load.measured import Record
from cdk_sagemaker_llm.load.objective import STREAMED, Objective
from cdk_sagemaker_llm.load.prompts import Prompts, read_prompts, read_tools
from cdk_sagemaker_llm.load.running import LoadError, MissingPackageError, Progress
from cdk_sagemaker_llm.load.settings import LoadSettings, SettingsError
from cdk_sagemaker_llm.text import counted

RunTime: TypeAlias = Annotated[
    str,
    typer.Option(
        "--duration",
        help="For how long it is measured, once all users have begun: 90s, 15m.",
    ),
]
PromptWords: TypeAlias = Annotated[
    str,
    typer.Option(
        help="Without --prompts: how many words to put together, each about a token: "
        "1000, 100-500, or normal:1000,200 (mean and deviation)."
    ),
]
LatencyObjective: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="The longest an answer may take, 5s. If omitted, none is asked for."
    ),
]
FirstTokenObjective: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--ttft-objective",
        help="The longest its first token may take, 800ms or 1.5s. If omitted, none is "
        "asked for.",
    ),
]
OutputTokenObjective: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--tpot-objective",
        help="The longest each further token may take, as a mean of its answer, 50ms. "
        "If omitted, none is asked for.",
    ),
]
Parameter: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Anything else in the container's own words, the value as JSON: "
        "ignore_eos=true has vLLM write as many tokens as are asked for.",
    ),
]
Chat: TypeAlias = Annotated[
    bool, typer.Option("--chat", help="Send the prompts as chats.")
]
HtmlFile: TypeAlias = Annotated[
    Path | None, typer.Option("--html", help="Write a report with charts here.")
]
PngFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--png", help="Draw it here; the ending chooses the format."),
]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print the figures as JSON.")
]
# Settings, and parts of an objective, whose options have other names than their own.
_FLAGS = {
    "arrival_rate": "--rate",
    # An argument, and no option.
    "endpoint": "endpoint",
    "first_token": "--ttft-objective",
    "is_chat": "--chat",
    "is_streamed": "--stream",
    "latency": "--latency-objective",
    "output_token": "--tpot-objective",
    "parameters": "--parameter",
    "run_time": "--duration",
    "workers": "--expect-workers",
}
_MISUSE = 2
_MILLISECONDS = re.compile(r"(\d+(?:\.\d+)?)\s*ms")
_T = TypeVar("_T")
# What is written where, by the option that asks for it.
Files: TypeAlias = Mapping[str, tuple[Path | None, Callable[[Path], object]]]
_WINDOW = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadOptions:
    """
    The options of the requests, which both commands share, as they were written.
    """

    component: Component = None
    variant: Variant = None
    spawn_rate: Annotated[
        float | None,
        typer.Option(help="How many users begin a second. If omitted, all within 5 s."),
    ] = None
    drain: Annotated[
        str,
        typer.Option(
            help="For how long answers that are under way at the end are waited for."
        ),
    ] = "60s"
    processes: Annotated[
        int | None,
        typer.Option(
            help="How many processes share the work. If omitted, one for each 100 "
            "users, but no more than there are cores."
        ),
    ] = None
    prompts: Annotated[
        Path | None,
        typer.Option(
            help="A file of prompts, a line each, or .jsonl with a string or "
            '{"prompt": ...} on each line; one is chosen at random each time. '
            "If omitted, words are put together."
        ),
    ] = None
    tokenizer: Annotated[
        Path | None,
        typer.Option(
            help="The model's tokenizer.json, or a folder with it: --prompt-words then "
            "counts its tokens, exactly. If omitted, a word is about a token."
        ),
    ] = None
    prefix_words: Annotated[
        int | None,
        typer.Option(
            help="How many words prompts have in common, before their own; with --chat "
            "as the system's message. If omitted, none."
        ),
    ] = None
    prefixes: Annotated[
        int,
        typer.Option(
            help="How many such beginnings there are, one at random each time."
        ),
    ] = 1
    turns: Annotated[
        str,
        typer.Option(
            help="With --chat: how many turns a conversation has, 3 or 2-6; each sends "
            "all before it."
        ),
    ] = "1"
    tools: Annotated[
        Path | None,
        typer.Option(
            help="With --chat: a JSON file with a list of tools in OpenAI's form that "
            "the model may call. If omitted, it has none."
        ),
    ] = None
    max_new_tokens: Annotated[
        int, typer.Option(help="How many tokens an answer has at most.")
    ] = 50
    parameter: Parameter = None
    chat: Chat = False
    stream: Annotated[
        bool, typer.Option(help="Have answers come token by token, or whole.")
    ] = True
    schema: Annotated[
        str | None,
        typer.Option(
            help="How the container wants a prompt: lmi, tgi, openai or chat. If "
            "omitted, what it says to a first request counts."
        ),
    ] = None
    timeout: Annotated[
        str, typer.Option(help="After how long a request has failed.")
    ] = "120s"
    seed: Annotated[int, typer.Option(help="Where chance starts from.")] = 0
    region: Region = None
    profile: Profile = None
    endpoint_url: EndpointUrl = None

    def settings(self, endpoint: str, **own: Any) -> LoadSettings:  # noqa: ANN401 - LoadSettings' own
        found = LoadSettings(
            endpoint=endpoint,
            component=self.component,
            variant=self.variant,
            spawn_rate=self.spawn_rate,
            drain=seconds("--drain", self.drain),
            processes=self.processes,
            prompts=read_prompts(self.prompts) if self.prompts else (),
            tokenizer=None if self.tokenizer is None else str(self.tokenizer),
            prefix_words=self.prefix_words,
            prefixes=self.prefixes,
            turns=self.turns,
            tools=read_tools(self.tools) if self.tools else (),
            max_new_tokens=self.max_new_tokens,
            parameters=parameters_of(self.parameter or ()),
            is_chat=self.chat,
            is_streamed=self.stream,
            schema=self.schema,
            timeout=seconds("--timeout", self.timeout),
            seed=self.seed,
            region=self.region,
            endpoint_url=self.endpoint_url,
            profile=self.profile,
            **own,
        )
        if found.tokenizer is None:
            return found
        from cdk_sagemaker_llm.load.tokens import writer_of  # noqa: PLC0415 - an extra

        try:
            write = writer_of(found)
            Prompts(found, write=write).draw()
        except ValueError as fault:
            raise ValueError(f"--tokenizer {found.tokenizer}: {fault}") from fault
        return found


def objective_of(
    latency: str | None,
    first_token: str | None,
    output_token: str | None,
    percentile: str | None = None,
) -> Objective:
    """
    Read how fast it has to be.
    """
    objective = Objective(
        latency=_seconds_of("--latency-objective", latency),
        first_token=_seconds_of("--ttft-objective", first_token),
        output_token=_seconds_of("--tpot-objective", output_token),
        percentile=percentile or "p95",
    )
    if percentile is not None and not objective.bounds:
        raise ValueError(
            "--percentile is said of --latency-objective, --ttft-objective or "
            "--tpot-objective; give one of them"
        )
    return objective


def _seconds_of(flag: str, text: str | None) -> float | None:
    if text is None:
        return None
    if found := _MILLISECONDS.fullmatch(text.strip()):
        return float(found[1]) / 1000
    return seconds(flag, text)


def check_streamed(objective: Objective, settings: LoadSettings) -> None:
    """
    Refuse an objective that only streams tell whether it is kept.
    """
    for name in STREAMED:
        if name in objective.bounds and not settings.is_streamed:
            raise ValueError(f"{flag_of(name)} needs streams; leave one out")


def flag_of(setting: str) -> str:
    return _FLAGS.get(setting, f"--{setting.replace('_', '-')}")


def parameters_of(texts: Sequence[str]) -> Mapping[str, Any]:
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise ValueError(f"--parameter must be such as top_k=5, got {text!r}")
        try:
            found[name] = json.loads(value)
        except ValueError:
            # A word needs no quotes.
            found[name] = value
    return found


@contextmanager
def refusing_misuse(command: str) -> Iterator[None]:
    try:
        yield
    except SettingsError as error:
        complain(command, "\n".join(fault.text(flag_of) for fault in error.faults))
        raise typer.Exit(_MISUSE) from error
    except (ValueError, OSError) as fault:
        complain(command, str(fault))
        raise typer.Exit(_MISUSE) from fault


def run_live(command: str, run: Callable[[Callable[[Progress], object]], _T]) -> _T:
    from cdk_sagemaker_llm.cli.output.answers import in_our_words  # noqa: PLC0415 - rich

    try:
        console = Console(stderr=True)
        recent: deque[Record] = deque()
        with console.status("starting the load generator") as status:

            def show(progress: Progress) -> None:
                recent.extend(progress.recent)
                status.update(line_of(progress, recent))

            return run(show)
    except LoadError as error:
        complain(command, in_our_words(str(error)))
        raise typer.Exit(status_of(error)) from error


def status_of(error: LoadError) -> int:
    """
    Return the exit status of a load that was none.
    """
    return _MISUSE if isinstance(error, MissingPackageError) else 1


def write_files(command: str, files: Files) -> bool:
    """
    Write the files that were asked for; return whether all of them could be.

    What cannot be written is told, and costs nothing of what was measured.
    """
    faults = []
    for flag, (path, write) in files.items():
        try:
            if path is not None:
                write(path)
        except OSError as fault:
            faults.append(f"{flag} {path} cannot be written: {fault.strerror or fault}")
    complain(command, "\n".join(faults))
    return not faults


def complain(command: str, message: str) -> None:
    for line in message.splitlines():
        typer.echo(f"sagemaker-llm {command}: {line}", err=True)


def line_of(progress: Progress, recent: deque[Record]) -> str:
    """
    Say how a run goes, by the requests of the last ten seconds.
    """
    newest = max((one.end for one in recent), default=0.0)
    while recent and recent[0].end < newest - _WINDOW:
        recent.popleft()
    seconds = min(max(progress.seconds, 1.0), _WINDOW)
    good = [one for one in recent if one.is_success]
    parts = [f"{progress.phase}, {progress.seconds:.0f} s"]
    if progress.users:
        parts.append(counted(progress.users, "user"))
    parts += [
        counted(progress.requests, "request"),
        f"{len(good) / seconds:.1f} requests/s",
        f"{sum(one.tokens for one in good) / seconds:.0f} tokens/s",
    ]
    if good:
        latency = statistics.median(one.latency for one in good)
        parts.append(f"median latency {latency:.2f} s")
    if failed := sum(1 for one in recent if one.failure and one.is_finished):
        parts.append(f"{failed} failed lately")
    return " · ".join(parts)
