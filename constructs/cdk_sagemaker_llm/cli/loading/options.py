"""
The options of ``sagemaker-llm load-test`` and ``benchmark``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Endpoint: TypeAlias = Annotated[str, typer.Argument(help="The endpoint's name.")]
EndpointOrJoin: TypeAlias = Annotated[
    str | None, typer.Argument(help="The endpoint's name; left out with --join.")
]
Component: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="The inference component's name. If left out, the endpoint has none."
    ),
]
Variant: TypeAlias = Annotated[
    str | None, typer.Option(help="The variant to ask. If left out, any.")
]
Users: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="How many users ask, each again when its answer has come (closed loop). "
        "If left out, 10."
    ),
]
ArrivalRate: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="Instead of --users: how many requests arrive a second, at random, "
        "whether or not those before have been answered (open loop). If left out, "
        "users ask."
    ),
]
SpawnRate: TypeAlias = Annotated[
    float | None,
    typer.Option(help="How many users begin a second. If left out, all within 5 s."),
]
RunTime: TypeAlias = Annotated[
    str,
    typer.Option(
        help="For how long it is measured, once all users have begun: 90s, 15m."
    ),
]
ThinkTime: TypeAlias = Annotated[
    str, typer.Option(help="How long a user waits between an answer and a request.")
]
Drain: TypeAlias = Annotated[
    str,
    typer.Option(
        help="For how long answers that are under way at the end are waited for."
    ),
]
Processes: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="How many processes share the work. If left out, one for each 100 users, "
        "but no more than there are cores."
    ),
]
ExpectWorkers: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="How many processes of other machines, each started with --join, do the "
        "work. If left out, processes of this machine do."
    ),
]
Bind: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="HOST[:PORT]",
        help="With --expect-workers, the address of this machine where they join; the "
        "port is 5557 if left out. What goes over it is not encrypted, and whoever "
        "reaches it can join.",
    ),
]
JoinWithin: TypeAlias = Annotated[
    str, typer.Option(help="For how long workers, or with --join the leader, may take.")
]
Join: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="HOST[:PORT]",
        help="Instead of an endpoint: work for the load test that another machine "
        "leads there with --expect-workers, which says all else but --processes. If "
        "left out, this machine loads or leads.",
    ),
]
Prompts: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="A file of prompts, a line each, or .jsonl with a string or "
        '{"prompt": ...} on each line; one is chosen at random each time. '
        "If left out, words are put together."
    ),
]
PromptWords: TypeAlias = Annotated[
    str,
    typer.Option(
        help="Without --prompts: how many words to put together, each about a token: "
        "1000, 100-500, or normal:1000,200 (mean and deviation)."
    ),
]
Tokenizer: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="The model's tokenizer.json, or a folder with it: --prompt-words then "
        "counts its tokens, exactly. Left out, a word is about a token."
    ),
]
MaxNewTokens: TypeAlias = Annotated[
    int, typer.Option(help="How many tokens an answer has at most.")
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
Stream: TypeAlias = Annotated[
    bool, typer.Option(help="Have answers come token by token, or whole.")
]
Schema: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="How the container wants a prompt: lmi, tgi, openai or chat. If left out, "
        "what it says to a first request counts."
    ),
]
Timeout: TypeAlias = Annotated[
    str, typer.Option(help="After how long a request has failed.")
]
Seed: TypeAlias = Annotated[int, typer.Option(help="Where chance starts from.")]
Region: TypeAlias = Annotated[
    str | None, typer.Option(help="The region. If left out, boto3 knows it.")
]
EndpointUrl: TypeAlias = Annotated[
    str | None,
    typer.Option(help="The runtime's address. If left out, boto3 knows it."),
]
CsvFile: TypeAlias = Annotated[
    Path | None, typer.Option("--csv", help="Write a row for each request here.")
]
HtmlFile: TypeAlias = Annotated[
    Path | None, typer.Option("--html", help="Write a report with charts here.")
]
PngFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--png", help="Draw it here; the ending chooses the format."),
]
JsonFile: TypeAlias = Annotated[
    Path | None, typer.Option("--json-file", help="Write the figures as JSON here.")
]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print the figures as JSON.")
]
LatencyObjective: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="The longest an answer may take, 5s: says how many of the users tried "
        "are within it. Left out, none is asked for."
    ),
]
FirstTokenObjective: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--ttft-objective",
        help="The longest its first token may take, 800ms or 1.5s; likewise. Left "
        "out, none is asked for.",
    ),
]
Percentile: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Of how many requests the objectives are asked: p50, p90, p95, p99, or "
        "longest for all. If left out, p95."
    ),
]
Copies: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="How many copies serve, or instances where there are no components. If "
        "left out, SageMaker is asked.",
        min=1,
    ),
]
Growth: TypeAlias = Annotated[
    str,
    typer.Option(
        help="How much the load may grow a minute, which the suggested scaling target "
        "leaves room for."
    ),
]
ScaleOutTime: TypeAlias = Annotated[
    str, typer.Option(help="How long scaling takes until another copy serves.")
]
SaveFile: TypeAlias = Annotated[
    Path | None, typer.Option("--save", help="Write it as JSON here, anew each row.")
]
FromFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--from",
        help="Read a saved benchmark, and measure nothing. Left out, it is measured.",
    ),
]
CompareWith: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--compare",
        help="A saved benchmark to compare with; given twice and without an endpoint, "
        "the two are compared.",
    ),
]
