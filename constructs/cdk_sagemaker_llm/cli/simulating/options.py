"""
The options of ``sagemaker-llm simulate``, in the groups that its help shows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cdk_sagemaker_llm.cli.simulating.traffics import SHAPES

_TRAFFIC, _SERVING, _TIMES, _OUTPUT, _COMPARING = (
    "Traffic",
    "Serving",
    "How long things take",
    "Output",
    "Comparing",
)

App = Annotated[Path, typer.Argument(help="cdk.out, or a single template in JSON.")]
Endpoint = Annotated[
    str | None,
    typer.Option(help="Only endpoints with this in their name; left out, all."),
]
Traffic = Annotated[
    str | None,
    typer.Option(
        help=f"{', '.join(SHAPES)}, or a CSV file of requests; left out, spike.",
        rich_help_panel=_TRAFFIC,
    ),
]
Rate = Annotated[
    str | None,
    typer.Option(
        help="Requests, as 20/min or 5/s: before and after a spike, at first, or "
        "at the quietest hour; left out, it follows from the target of scaling.",
        rich_help_panel=_TRAFFIC,
    ),
]
Peak = Annotated[
    str | None,
    typer.Option(
        help="Requests at most; left out, four times the rate or the target.",
        rich_help_panel=_TRAFFIC,
    ),
]
Begin = Annotated[
    str | None,
    typer.Option(
        help="When a spike or a ramp begins, as 10m; left out, after ten minutes or a "
        "sixth of the duration.",
        rich_help_panel=_TRAFFIC,
    ),
]
Lasting = Annotated[
    str | None,
    typer.Option(
        help="How long a spike lasts or a ramp takes; left out, a third or a half "
        "of the duration.",
        rich_help_panel=_TRAFFIC,
    ),
]
Scale = Annotated[
    float,
    typer.Option(
        min=0, max=1e6, help="How many times the requests.", rich_help_panel=_TRAFFIC
    ),
]
Users = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Users who wait for each answer; left out, there is a rate.",
        rich_help_panel=_TRAFFIC,
    ),
]
Think = Annotated[
    str | None,
    typer.Option(help="How long they think; left out, 20s.", rich_help_panel=_TRAFFIC),
]
PromptTokens = Annotated[
    int, typer.Option(min=1, help="Tokens of a prompt.", rich_help_panel=_TRAFFIC)
]
AnswerTokens = Annotated[
    int, typer.Option(min=1, help="Tokens of an answer.", rich_help_panel=_TRAFFIC)
]
Spread = Annotated[
    float,
    typer.Option(
        min=0,
        max=3,
        help="How much lengths differ: 0 not at all, 1 as chats do.",
        rich_help_panel=_TRAFFIC,
    ),
]
Even = Annotated[
    bool,
    typer.Option(
        "--even",
        help="Requests come in even steps, not at random.",
        rich_help_panel=_TRAFFIC,
    ),
]
Busiest = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=23,
        help="The busiest hour of a day; left out, 14.",
        rich_help_panel=_TRAFFIC,
    ),
]
TimeZone = Annotated[
    str | None,
    typer.Option(help="Whose hours they are; left out, UTC.", rich_help_panel=_TRAFFIC),
]
Timeout = Annotated[
    str,
    typer.Option(
        help="How long a client waits for an answer.", rich_help_panel=_TRAFFIC
    ),
]
Duration = Annotated[
    str, typer.Option(help="How much time is played out.", rich_help_panel=_TRAFFIC)
]
Start = Annotated[
    str | None,
    typer.Option(
        help="When it begins, as 2026-03-02T08:00+01:00, for schedules and days; "
        "left out, a Monday at midnight UTC.",
        rich_help_panel=_TRAFFIC,
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, help="What chance follows.", rich_help_panel=_TRAFFIC)
]
ServiceTimes = Annotated[
    list[Path] | None,
    typer.Option(
        help="A file of measured service times, one for each model; left out, they "
        "are estimated from the accelerators' bandwidth and arithmetic.",
        rich_help_panel=_SERVING,
    ),
]
Method = Annotated[
    str | None,
    typer.Option(
        help="requests or aggregate; left out, whichever suits the rate.",
        rich_help_panel=_SERVING,
    ),
]
Available = Annotated[
    list[str] | None,
    typer.Option(
        help="How many instances of a type can be had, as ml.g5.xlarge=2; left out, as "
        "many as are asked for.",
        rich_help_panel=_SERVING,
    ),
]
InstanceStart = Annotated[
    str | None,
    typer.Option(
        help="Until an instance runs, as 4m; left out, 201s.", rich_help_panel=_TIMES
    ),
]
ImagePull = Annotated[
    str | None,
    typer.Option(
        help="Until an instance has the image; left out, 213s, and 333s on an "
        "ml.g6.2xlarge.",
        rich_help_panel=_TIMES,
    ),
]
ModelStart = Annotated[
    str | None,
    typer.Option(
        help="From the container's start until it serves; left out, estimated from "
        "the model's bytes.",
        rich_help_panel=_TIMES,
    ),
]
Drain = Annotated[
    str | None,
    typer.Option(
        help="What a copy takes to finish and end; left out, 30s.",
        rich_help_panel=_TIMES,
    ),
]
Release = Annotated[
    str | None,
    typer.Option(
        help="How long an instance without copies is kept; left out, 12m.",
        rich_help_panel=_TIMES,
    ),
]
Refusal = Annotated[
    str | None,
    typer.Option(
        help="Until missing capacity is an error; left out, 31m.",
        rich_help_panel=_TIMES,
    ),
]
MetricDelay = Annotated[
    str | None,
    typer.Option(
        help="How late metrics by the minute can be read; left out, 120s.",
        rich_help_panel=_TIMES,
    ),
]
FastMetricDelay = Annotated[
    str | None,
    typer.Option(
        help="The same of metrics in ten seconds; left out, 30s.",
        rich_help_panel=_TIMES,
    ),
]
Setting = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Another setting than the app's, as target=8, max=6, "
        "scale-out-cooldown=30s; left out, the app's.",
        rich_help_panel=_COMPARING,
    ),
]
Compare = Annotated[
    Path | None,
    typer.Option(
        help="Another app, to set beside this one; left out, none.",
        rich_help_panel=_COMPARING,
    ),
]
CompareWith = Annotated[
    list[str] | None,
    typer.Option(
        help="The same app with other settings beside it, as target=8; several "
        "go together; left out, none.",
        rich_help_panel=_COMPARING,
    ),
]
Prices = Annotated[
    str | None,
    typer.Option(
        help="A JSON file of US dollars an hour, or aws for its list; left out, no "
        "costs are told.",
        rich_help_panel=_OUTPUT,
    ),
]
Region = Annotated[
    str, typer.Option(help="The region of the prices.", rich_help_panel=_OUTPUT)
]
PngFile = Annotated[
    Path | None, typer.Option(help="Draw it to a file.", rich_help_panel=_OUTPUT)
]
HtmlFile = Annotated[
    Path | None,
    typer.Option(help="Write a web page.", rich_help_panel=_OUTPUT),
]
CsvFile = Annotated[
    Path | None,
    typer.Option(
        help="Write a line for each minute to a file.", rich_help_panel=_OUTPUT
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON.", rich_help_panel=_OUTPUT)
]
