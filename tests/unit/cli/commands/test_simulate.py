"""
The command that says what scaling will do.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.cli.commands.simulate import TrafficOptions
from tests.unit.cli.app.templates import (
    components,
    target,
    template,
    tracking,
    variant,
)
from tests.unit.cli.commands.simulations import facts, simulate

BUSY = ("--traffic", "constant", "--rate", "20/min", "--even", "--duration", "30m")


@pytest.fixture(name="app", scope="module")
def _app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    Write an app with one variant that scales between 1 and 4 instances.
    """
    folder = tmp_path_factory.mktemp("app")
    return template(folder, {**variant(), **target(), **tracking()})


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """
    Run the installed command as a user does.
    """
    command = [Path(sys.executable).with_name("sagemaker-llm"), "simulate", *arguments]
    return subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )


def test_an_app_alone_is_enough(app: Path) -> None:
    """
    A table by time, curves, the log, and the report, without a single option.
    """
    done = run(app)

    assert done.returncode == 0, done.stderr
    for part in (
        "Host/Host (AllTraffic): 1 x ml.g5.xlarge, 1 to 4",
        "0:00:00 is Monday, 2026-01-05 00:00 UTC",
        "traffic of AllTraffic: 2.5/min, and 20/min for 40 minutes from minute 10 on",
        "requests/min",
        "█",
        "desired instances",
        "monitor alarm TargetTracking-Track-AlarmHigh in state ALARM",
        "ESTIMATES: no service times were measured (--service-times)",
        "From load to capacity",
        "Assumed or estimated",
        "instance hours, ml.g5.xlarge",
    ):
        assert part in done.stdout


def test_a_row_of_the_table_has_its_minutes(app: Path) -> None:
    """
    Of two minutes each in an hour, the first from its beginning on.
    """
    done = simulate(app, *BUSY[:-1], "1h")
    written = re.findall(r"^ *(\d:\d\d:00) +([\d.]+) ", done.stdout, re.MULTILINE)

    assert len(written) == 30
    assert written[:3] == [(f"0:0{minute}:00", "20.0") for minute in (0, 2, 4)]


def test_the_same_seed_gives_the_same_words(app: Path) -> None:
    """
    And another one other requests.
    """
    short = ("--duration", "20m")
    first, again, other = (
        simulate(app, *short, "--seed", seed).stdout for seed in ("1", "1", "2")
    )

    assert first == again != other


def test_everything_is_in_json_and_csv(app: Path, tmp_path: Path) -> None:
    """
    A line for each minute, and the totals beside the report.
    """
    path = tmp_path / "minutes.csv"
    prices = tmp_path / "prices.json"
    prices.write_text('{"ml.g5.xlarge": 2}')
    done = simulate(app, *BUSY, "--csv", path, "--json", "--prices", prices)
    (only,) = json.loads(done.stdout)["runs"][0]["variants"]
    rows = list(csv.DictReader(path.read_text().splitlines()))

    assert len(rows) == 30
    assert sum(float(row["arrived"]) for row in rows) == 600
    assert rows[-1]["desired"] == "4"
    assert rows[0]["time"] == "2026-01-05T00:00:00+00:00"
    figures = only["models"]["AllTraffic"]["figures"]
    assert figures["requests"] == 600
    # Each has 150 tokens of 30 ms, and a place at once.
    for share in ("p50", "p95", "p99"):
        assert figures[f"{share} of all, s"] == pytest.approx(4.5)
    assert only["models"]["AllTraffic"]["is_estimate"]
    assert only["usd"] == pytest.approx(2 * only["instance_hours"]["ml.g5.xlarge"])
    assert [part["title"] for part in only["report"]][-1] == "Assumed or estimated"


class _Reader(HTMLParser):
    """
    Notes what a page asks others for, and whether its tags are closed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.images: list[dict[str, str | None]] = []

    def handle_starttag(
        self, tag: str, attrs: Sequence[tuple[str, str | None]]
    ) -> None:
        given = dict(attrs)
        self.addresses += [str(given[k]) for k in ("src", "href") if k in given]
        if given.get("role") == "img":
            self.images.append(given)
        if tag not in {"meta", "link", "path"}:
            self.open.append(tag)

    def handle_startendtag(
        self, tag: str, attrs: Sequence[tuple[str, str | None]]
    ) -> None:
        assert tag == "path", attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_needs_nothing_from_elsewhere(app: Path, tmp_path: Path) -> None:
    """
    It is whole, fits narrow screens, and says what each picture shows.
    """
    path = tmp_path / "page.html"
    done = simulate(app, *BUSY, "--html", path, "--compare-with", "max=2")
    text = path.read_text(encoding="utf-8")
    page = _Reader()
    page.feed(text)

    assert done.exit_code == 0, done.stderr
    assert page.open == []
    assert page.addresses == ["data:,"]
    assert "url(" not in text
    assert len(page.images) == 8
    assert all(image["aria-label"] for image in page.images)
    assert 'name="viewport"' in text
    assert '<html lang="en">' in text
    # The numbers of both runs stand side by side before anything else.
    assert text.index(f">{app}<") < text.index(">with max=2<") < text.index("<svg")


def test_a_picture_is_drawn(app: Path, tmp_path: Path) -> None:
    """
    In the format of its ending; one that is not known is refused.
    """
    path = tmp_path / "run.png"
    done = simulate(app, *BUSY, "--png", path)

    assert done.exit_code == 0, done.stderr
    assert path.read_bytes().startswith(b"\x89PNG")
    assert simulate(app, *BUSY, "--png", tmp_path / "run.xyz").exit_code == 2


def test_what_is_compared_gets_the_same_traffic(app: Path, tmp_path: Path) -> None:
    """
    Whatever its own targets are: another app, and other settings.
    """
    (tmp_path / "other").mkdir()
    other = template(
        tmp_path / "other",
        {**variant(), **target(MaxCapacity=2), **tracking(TargetValue=50)},
    )
    done = simulate(app, "--compare", other, "--compare-with", "target=10", "--json")
    runs = json.loads(done.stdout)["runs"]

    def of(one: Any) -> tuple[float, float]:  # noqa: ANN401 - JSON
        figures = one["variants"][0]["models"]["AllTraffic"]["figures"]
        return figures["requests"], figures["most copies"]

    requests = of(runs[0])[0]
    assert [one["name"] for one in runs] == [str(app), str(other), "with target=10"]
    assert [of(one)[0] for one in runs] == [requests] * 3
    assert of(runs[0])[1] == 4
    assert of(runs[1])[1] == 1

    side_by_side = simulate(app, "--compare", other)
    heads = [line for line in side_by_side.stdout.splitlines() if str(other) in line]
    assert str(app) in heads[0]


def test_what_is_set_counts_for_what_is_set_beside_it_too(app: Path) -> None:
    """
    Two runs that differ in more than one setting would say nothing of it.
    """
    done = simulate(
        app, *BUSY, "--set", "max=2", "--compare-with", "target=1", "--json"
    )
    runs = json.loads(done.stdout)["runs"]
    models = [one["variants"][0]["models"]["AllTraffic"] for one in runs]

    assert [one["name"] for one in runs] == [f"{app} max=2", "with max=2 target=1"]
    assert [one["figures"]["most copies"] for one in models] == [2, 2]


def test_settings_of_the_app_can_be_changed(app: Path) -> None:
    """
    A maximum of 2 is not passed.
    """
    done = simulate(
        app, *BUSY, "--set", "max=2", "--set", "scale-out-cooldown=0s", "--json"
    )
    (only,) = json.loads(done.stdout)["runs"][0]["variants"]

    assert only["models"]["AllTraffic"]["figures"]["most copies"] == 2
    assert "too high at the maximum of 2" in json.dumps(only["report"])


def test_how_it_is_computed_can_be_told(app: Path) -> None:
    """
    In aggregate the same instances come at the same time, and the report says how.
    """
    each, rates = (
        facts(app, *BUSY, "--method", method) for method in ("requests", "aggregate")
    )

    def of(found: Any) -> list[dict[str, object]]:  # noqa: ANN401 - JSON
        return [
            step
            for step in found["runs"][0]["variants"][0]["steps"]
            if step["what"] == "running instances"
        ]

    assert of(each) == of(rates) != []
    assert "computed in aggregate" in json.dumps(rates)
    assert "p50 of all, s" in json.dumps(each)
    assert "p50 of all, s" not in json.dumps(rates)
    assert "computed in aggregate" not in json.dumps(each)


def test_times_can_be_told(app: Path) -> None:
    """
    An instance in 4 minutes, its image in 2, the model in 1.
    """
    times = ("--instance-start", "4m", "--image-pull", "2m", "--model-start", "1m")
    done = simulate(app, *BUSY, *times, "--metric-delay", "60s")

    # Three minutes of points and one of delay, from the start on.
    assert "was decided at 0:04:00, 4.0 min later" in done.stdout
    assert (
        "then 4.0 min until the instance ran, 2.0 min until its image was there, 1.0 "
        "min until the model had started: the first new copy served at 0:11:00"
    ) in done.stdout


def test_capacity_that_is_not_there_is_told(app: Path) -> None:
    """
    Two instances can be had, and four are wanted.
    """
    done = simulate(
        app, *BUSY, "--available", "ml.g5.xlarge=2", "--refusal", "5m", "--json"
    )
    (only,) = json.loads(done.stdout)["runs"][0]["variants"]

    assert only["models"]["AllTraffic"]["figures"]["most copies"] == 2
    assert re.search(r"apacity", json.dumps(only["report"]))


MISUSES: dict[str, tuple[tuple[str, ...], str]] = {
    "a rate without a unit": (("--rate", "20"), "--rate must be a rate such as 20/min"),
    "a time without a unit": (("--duration", "2"), "--duration must be a time with"),
    "no time at all": (("--duration", "0s"), "duration must be above 0"),
    "a shape": (("--traffic", "wave"), "--traffic must be constant, ramp, spike, day"),
    "a setting": (("--set", "size=1"), "--set must be one of target=8"),
    "a setting's value": (("--set", "target=x"), "--set target must be a number above"),
    "an endpoint": (
        ("--endpoint", "nobody"),
        "--endpoint must be in one of these names: Host/Host; got 'nobody'",
    ),
    "a method": (("--method", "guess"), "--method must be requests or aggregate"),
    "a number of instances": (
        ("--available", "2"),
        "--available must be such as ml.g5.xlarge=2",
    ),
    "a start": (("--start", "monday"), "--start must be a moment such as"),
    "a file of times": (
        ("--service-times", "gone.json"),
        (
            "--service-times gone.json cannot be read: No such file or directory; "
            "leave it out to estimate them"
        ),
    ),
    "another app": (("--compare", "gone"), "gone is neither a cloud assembly"),
    "prices": (("--prices", "gone.json"), "--prices must be a JSON file"),
    "a timeout": (("--timeout", "soon"), "--timeout must be a time with its unit"),
    "a type that nothing uses": (
        ("--available", "ml.g5.2xlarge=1"),
        "must be of an instance type that the app uses, got ml.g5.2xlarge; it uses ml.",
    ),
    "a rate of users": (
        ("--users", "4", "--rate", "1/s"),
        "--rate has no effect on --users; leave one of the two out",
    ),
    "a traffic of users": (
        ("--users", "4", "--traffic", "day"),
        "--users come instead of a traffic, got --traffic day besides",
    ),
    "what nobody thinks": (
        ("--think-time", "5s"),
        "--think-time is how long users think; say how many there are with --users",
    ),
    "the peak of what is constant": (
        ("--traffic", "constant", "--peak", "5/s"),
        "--peak has no effect on --traffic constant; it shapes ramp, spike, day",
    ),
    "the rate of a file": (
        ("--traffic", "some.csv", "--rate", "5/s"),
        "--rate has no effect on --traffic some.csv; it shapes constant, ramp, spike",
    ),
    "the hour of a spike": (
        ("--busiest", "14"),
        "--busiest has no effect on --traffic spike; it shapes day",
    ),
    "a day that is quietest at its peak": (
        ("--traffic", "day", "--rate", "1/s", "--peak", "5/min"),
        "--peak of a day must be at least --rate, got 5/min and 1/s; --busiest says",
    ),
    "what begins after the end": (
        ("--begin", "2h"),
        "--begin must be before the end, got 2h of --duration 2h",
    ),
    "years": (
        ("--duration", "5000d"),
        "--duration must be at most 92d, got 5000d: a day takes seconds to play out",
    ),
    "a second more than a quarter": (
        ("--duration", "92d1s"),
        "--duration must be at most 92d, got 92d1s",
    ),
    "a page in no folder": (
        ("--html", "gone/page.html"),
        "--html gone/page.html cannot be written: there is no folder gone",
    ),
    "a folder as a file": (("--csv", "/"), "--csv / cannot be written: it is a folder"),
    "a picture of no format": (
        ("--png", "run.xyz"),
        "--png run.xyz must end in the name of a format: ",
    ),
}


@pytest.mark.parametrize(("options", "why"), MISUSES.values(), ids=MISUSES)
def test_fails_with_what_to_write_instead(
    options: tuple[str, ...], why: str, app: Path
) -> None:
    """
    In one line on standard error, with exit status 2.
    """
    done = simulate(app, *options)

    assert done.exit_code == 2
    assert done.stdout == ""
    assert why in done.stderr
    assert "Traceback" not in done.stderr


def test_a_quarter_of_a_year_may_be_played_out() -> None:
    """
    The longest that there is.
    """
    TrafficOptions(duration="92d").check()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--users", "4"), "--users wait for answers, and nobody waits for Host/Host"),
        (("--method", "aggregate"), "--method aggregate computes no queue, which Host"),
    ],
)
def test_fails_if_a_queue_is_asked_for_what_it_cannot(
    options: tuple[str, ...], why: str, tmp_path: Path
) -> None:
    """
    Nobody waits for an asynchronous endpoint.
    """
    hosts = variant()
    hosts["Config"]["Properties"]["AsyncInferenceConfig"] = {}
    done = simulate(template(tmp_path, hosts), *options)

    assert done.exit_code == 2
    assert why in done.stderr


def test_fails_if_nothing_can_be_played_out(tmp_path: Path) -> None:
    """
    And says why of everything that there is.
    """
    done = simulate(template(tmp_path, variant(ServerlessConfig={})))

    assert done.exit_code == 2
    assert "hosts no endpoint that can be played out" in done.stderr
    assert "serverless variant AllTraffic is not simulated" in done.stderr


def test_fails_with_what_to_install(app: Path) -> None:
    """
    NumPy comes with an extra of its own.
    """
    code = (
        "import sys; sys.modules['numpy'] = None; sys.argv[1:] = sys.argv[2:];"
        "from cdk_sagemaker_llm.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "", "simulate", str(app)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "pip install 'cdk-sagemaker-llm[cli,simulate]'" in done.stderr


def test_settings_that_change_nothing_are_refused(tmp_path: Path) -> None:
    """
    A target where nothing tracks one, bounds where nothing scales.
    """
    app = template(tmp_path, variant())

    for setting in ("target=8", "max=3"):
        done = simulate(app, "--set", setting)
        assert done.exit_code == 2
        assert "and the app" in done.stderr


def test_what_is_not_simulated_is_printed(tmp_path: Path) -> None:
    """
    At the end, where it is seen.
    """
    app = template(tmp_path, variant(RoutingConfig={"RoutingStrategy": "PREFIX_AWARE"}))
    done = simulate(app, *BUSY)

    assert "Not simulated" in done.stdout
    assert "routing by 'PREFIX_AWARE' is simulated as" in done.stdout


def test_shared_instances_are_counted_and_paid_once(tmp_path: Path) -> None:
    """
    Two components on one host cost one host, in the terminal, on the page and beside
    other settings.
    """
    app = components()
    app["Other"] = app["Llama"]
    app["Config"]["Properties"]["ProductionVariants"][0]["InstanceType"] = (
        "ml.g5.12xlarge"
    )
    path = template(tmp_path, app)
    prices, page = tmp_path / "prices.json", tmp_path / "page.html"
    prices.write_text('{"ml.g5.12xlarge": 7}')
    done = simulate(path, *BUSY, "--prices", prices, "--html", page)
    compared = simulate(path, *BUSY, "--prices", prices, "--compare-with", "copies=2")

    assert done.exit_code == compared.exit_code == 0, done.stderr
    assert done.stdout.count("US dollars") == compared.stdout.count("US dollars") == 1
    assert page.read_text().count("US dollars") == 1
    (hours, dollars) = done.stdout.split("\nall models\n")[1].splitlines()[:2]
    assert hours.split() == ["instance", "hours,", "ml.g5.12xlarge", "0.50"]
    assert dollars.split() == ["US", "dollars", "3.50"]


def test_endpoints_are_summed_up(tmp_path: Path) -> None:
    """
    What an app costs is what all its variants cost.
    """
    app = variant()
    variants = app["Config"]["Properties"]["ProductionVariants"]
    variants.append({**variants[0], "VariantName": "Green"})
    path, prices = template(tmp_path, app), tmp_path / "prices.json"
    prices.write_text('{"ml.g5.xlarge": 2}')
    done = simulate(path, *BUSY, "--prices", prices)

    # Two variants of one instance, half an hour each.
    assert "US dollars of all endpoints and variants: 2.00" in done.stdout
    (run,) = facts(path, *BUSY, "--prices", prices)["runs"]
    assert run["usd"] == pytest.approx(2.0)
    prices.write_text('{"ml.g5.12xlarge": 7}')
    unknown = simulate(path, *BUSY, "--prices", prices)
    assert "all endpoints and variants: no price known" in unknown.stdout
    prices.write_text("{}")
    none = simulate(path, *BUSY, "--prices", prices)
    assert f"--prices {prices} has no price of any instance type" in none.stderr


def test_an_absurd_target_is_refused_with_the_way_out(tmp_path: Path) -> None:
    """
    No traffic follows from it; one that is given is played out.
    """
    app = template(tmp_path, {**variant(), **target(), **tracking(TargetValue=1e308)})
    done = simulate(app)

    assert done.exit_code == 2
    assert "--rate must be given: AllTraffic meets its target at 1.67e+306" in (
        done.stderr
    )
    assert simulate(app, *BUSY).exit_code == 0


def test_a_suspended_scale_out_adds_nothing(tmp_path: Path) -> None:
    """
    And the report says why.
    """
    state = {"DynamicScalingOutSuspended": True}
    app = {**variant(), **target(SuspendedState=state), **tracking()}
    (only,) = facts(template(tmp_path, app), *BUSY)["runs"][0]["variants"]

    assert only["models"]["AllTraffic"]["figures"]["most copies"] == 1
    assert "of its scaling, DynamicScalingOut is suspended" in json.dumps(only)


def test_a_picture_of_too_many_models_is_refused(tmp_path: Path) -> None:
    """
    No format has the pixels; the page draws any number.
    """
    app = components(InitialInstanceCount=25)
    app |= {f"Copy{number}": app["Llama"] for number in range(24)}
    path, short = template(tmp_path, app), (*BUSY[:4], "--duration", "1m")
    done = simulate(path, *short, "--png", tmp_path / "run.png")

    assert done.exit_code == 2
    assert "--png has room for 24 models, got 25; choose an endpoint" in done.stderr
    assert simulate(path, *short, "--html", tmp_path / "run.html").exit_code == 0
