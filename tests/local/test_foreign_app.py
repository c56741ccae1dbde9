"""
A foreign app, from its first synthesis to nothing left: what the linters say, and what
CloudFormation does at each step.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.deployments import ROOT, Deployer
from tests.linting import lint
from tests.local import foreign_app
from tests.local.foreign_app import TWELVE, Choices
from tests.local.hosting_requests import put_weights

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

CHECKOV = ROOT / ".venv-checkov" / "bin" / "checkov"
SHARED, TRAFFIC = "Prod-Shared", "Prod-Traffic"
# What each step leaves in a resource's last word.
MADE, CHANGED, GONE = "CREATE_COMPLETE", "UPDATE_COMPLETE", "DELETE_COMPLETE"


class Team:
    """
    The team that deploys the app, step by step.

    Args:
        aws: Where it is deployed.

        deployer: What deploys it.

        folder: Where the assemblies are written.
    """

    def __init__(self, aws: EmbeddedAws, deployer: Deployer, folder: Path) -> None:
        self.sagemaker = aws.client("sagemaker")
        self._scaling = aws.client("application-autoscaling")
        self._cloudformation = aws.client("cloudformation")
        self._iam = aws.client("iam")
        self._deployer = deployer
        self._folder = folder
        self._steps = 0
        self._seen: set[str] = set()

    def synth(self, choices: Choices) -> Path:
        """
        Write an assembly in a folder of its own.
        """
        self._steps += 1
        return foreign_app.synth(self._folder / f"step{self._steps}", choices)

    def deploy(self, choices: Choices, *, fails: str = "") -> dict[str, dict[str, str]]:
        """
        Deploy all stacks; return what became of each resource, by stack.

        Args:
            choices: What the team asks for now.

            fails: What the failure must say. If left out, there is none.
        """
        done = self._deployer.deploy(self.synth(choices))
        assert fails in done.events, done.events
        assert done.succeeded is not bool(fails), done.events
        return {name: self._news(name) for name in (SHARED, TRAFFIC)}

    def destroy(self, choices: Choices) -> None:
        """
        Destroy all stacks.
        """
        self._deployer.destroy(self.synth(choices)).checked()

    def component(self, name: str) -> str:
        """
        Return the name of the only component whose name has this in it.
        """
        found = self.sagemaker.list_inference_components(NameContains=name)
        (only,) = found["InferenceComponents"]
        return str(only["InferenceComponentName"])

    def policies(self) -> list[str]:
        """
        Return the inline policies of the role that all stacks share.
        """
        (role,) = (
            each["RoleName"]
            for each in self._iam.list_roles()["Roles"]
            if each["RoleName"].startswith("Prod-Ground-Role")
        )
        names: list[str] = self._iam.list_role_policies(RoleName=role)["PolicyNames"]
        return names

    def targets(self) -> list[dict[str, Any]]:
        """
        Return what is scaled.
        """
        found = self._scaling.describe_scalable_targets(ServiceNamespace="sagemaker")
        targets: list[dict[str, Any]] = found["ScalableTargets"]
        return targets

    def _news(self, stack: str) -> dict[str, str]:
        """
        Return the last status of each resource that an event speaks of since last time.
        """
        found: dict[str, str] = {}
        events = self._cloudformation.describe_stack_events(StackName=stack)
        for event in reversed(events["StackEvents"]):
            fresh = event["EventId"] not in self._seen
            self._seen.add(event["EventId"])
            if fresh and event["ResourceType"] != "AWS::CloudFormation::Stack":
                found[event["LogicalResourceId"][:-8]] = event["ResourceStatus"]
        return found


def of(news: dict[str, str], *parts: str) -> dict[str, str]:
    """
    Return what became of the resources whose names begin with one of these.
    """
    return {name: what for name, what in news.items() if name.startswith(parts)}


@pytest.fixture(name="team", scope="module")
def _team(fresh_aws: EmbeddedAws, tmp_path_factory: pytest.TempPathFactory) -> Team:
    deployer = Deployer(fresh_aws, foreign_app.QUALIFIER)
    models = (*TWELVE, "M13", "reranker", "Stable", "Canary")
    put_weights(fresh_aws, "team-weights", *(name.lower() for name in models))
    return Team(fresh_aws, deployer, tmp_path_factory.mktemp("app"))


def test_the_linters_find_nothing(tmp_path: Path) -> None:
    """
    cdk-nag ends a synthesis; what is acknowledged has its reason beside it.
    """
    outdir = foreign_app.synth(tmp_path, Choices(buckets=1))
    templates = sorted((outdir / "assembly-Prod").glob("*.template.json"))

    assert len(templates) == 3
    # The zones are the account's own: the network team names them.
    found = [m for one in templates for m in lint(one.read_text())]
    assert [str(m) for m in found if m.rule.id != "W3010"] == []


@pytest.mark.whole
def test_checkov_finds_nothing(tmp_path: Path) -> None:
    """
    What is acknowledged has its reason in the template.
    """
    # Its pins clash with the project's, so that it has an environment of its own.
    assert CHECKOV.exists(), "install checkov: make .venv-checkov/.ready"
    outdir = foreign_app.synth(tmp_path, Choices(buckets=1))
    done = subprocess.run(
        [
            CHECKOV,
            "--directory",
            outdir / "assembly-Prod",
            "--framework",
            "cloudformation",
            "--compact",
            "--output",
            "json",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    report = json.loads(done.stdout)

    assert report["summary"]["failed"] == 0
    assert report["summary"]["parsing_errors"] == 0
    assert report["summary"]["passed"] > 30
    assert all(
        check["check_result"]["suppress_comment"]
        for check in report["results"]["skipped_checks"]
    )


@pytest.mark.whole
def test_the_app_is_deployed_changed_and_destroyed(team: Team) -> None:
    """
    In each way that the service, or CloudFormation, makes difficult.
    """
    first = Choices()
    # Twelve models of one role, in one policy a stack, on one host.
    news = team.deploy(first)
    assert set(news[SHARED].values()) == {MADE}
    assert len(of(news[SHARED], "HostM")) == 24
    assert len(of(news[SHARED], "SageMakerAccess")) == 1
    assert len(team.policies()) == 2

    last = variants_change(team, component_moves(team, models_come_and_go(team, first)))

    team.destroy(last)
    assert team.sagemaker.list_endpoints()["Endpoints"] == []
    assert team.sagemaker.list_models()["Models"] == []
    components = team.sagemaker.list_inference_components()
    assert components["InferenceComponents"] == []
    assert team.targets() == []


def models_come_and_go(team: Team, now: Choices) -> Choices:
    """
    Nothing is touched but what changes.
    """
    # A construct before all others changes no id.
    now = replace(now, buckets=1)
    assert team.deploy(now) == {
        SHARED: {"Unrelated0": MADE, "Unrelated0Policy": MADE},
        TRAFFIC: {},
    }

    # A model goes and one comes: the host's configuration stays, and its driver.
    now = replace(now, models=(*TWELVE[1:], "M13"))
    news = team.deploy(now)[SHARED]
    assert of(news, "HostM", "HostConfig", "HostEndpoint") == {
        "HostM13Model": MADE,
        "HostM13Component": MADE,
        "HostM01Model": GONE,
        "HostM01Component": GONE,
    }
    assert set(of(news, "SageMakerAccess").values()) == {CHANGED}

    # All copies roll, because the hosts have room: new models are made, the components
    # change, and the old models go.
    now = replace(now, tokens=2048)
    news = team.deploy(now)[SHARED]
    assert set(of(news, "HostM").values()) == {CHANGED, GONE}
    assert of(news, "HostConfig", "HostEndpoint", "Reranker") == {}
    return now


def component_moves(team: Team, now: Choices) -> Choices:
    """
    The service can change neither endpoint nor variant nor name of a component: a new
    one is created before the old is deleted.
    """
    name = team.component("reranker")
    for moved in (
        replace(now, home="Green"),
        replace(now, home="Green", variant="Spare"),
    ):
        news = team.deploy(moved)[SHARED]
        assert sorted(of(news, "Reranker").values()) == [MADE, GONE]
        assert team.component("reranker") != name
        now, name = moved, team.component("reranker")

    # With a name of its own it can still be renamed, and cannot move: the old one still
    # has the name.
    now = replace(now, prefix=None, name="fixed")
    news = team.deploy(now)[SHARED]
    assert sorted(of(news, "Reranker").values()) == [MADE, GONE]
    team.deploy(
        replace(now, home="Blue", variant="AllTraffic"),
        fails="Cannot create already existing inference component",
    )
    assert team.component("fixed") == "fixed"
    return now


def variants_change(team: Team, now: Choices) -> Choices:
    """
    What is scaled keeps what scaling has reached, and its instance type.
    """
    (target,) = team.targets()
    assert (target["MinCapacity"], target["MaxCapacity"]) == (2, 4)

    # Edited weights take effect.
    team.sagemaker.update_endpoint_weights_and_capacities(
        EndpointName="team-traffic",
        DesiredWeightsAndCapacities=[
            {"VariantName": "Stable", "DesiredInstanceCount": 3}
        ],
    )
    now = replace(now, canary=0.5)
    assert of(team.deploy(now)[TRAFFIC], "Endpoint") == {"Endpoint": CHANGED}
    shown = team.sagemaker.describe_endpoint(EndpointName="team-traffic")
    assert {
        each["VariantName"]: (each["CurrentWeight"], each["CurrentInstanceCount"])
        for each in shown["ProductionVariants"]
    } == {"Stable": (0.5, 3), "Canary": (0.5, 2)}

    # The type of what is scaled cannot change at once, nor while scaling is dropped,
    # because that is done last; but in two steps.
    larger = replace(now, instance_type="ml.g5.2xlarge")
    for attempt in (larger, replace(larger, scaled=False)):
        team.deploy(attempt, fails="must be deregistered as scalable target")
    news = team.deploy(replace(now, scaled=False))[TRAFFIC]
    assert set(of(news, "EndpointStable").values()) == {GONE}
    assert of(team.deploy(larger)[TRAFFIC], "Endpoint") == {
        "Endpoint": CHANGED,
        "EndpointStableScaling": MADE,
        "EndpointStableScalingLoad": MADE,
    }
    return larger
