"""
The wheel, as another CDK app uses it.
"""

from __future__ import annotations

import json
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.package.conftest import constraints, run
from tools.release.api import public_names
from tools.release.installation import LOAD, unexplained

# The first of them downloads the CDK where nothing has cached it.
pytestmark = pytest.mark.timeout(600)

APP = """
from aws_cdk import App, CfnOutput, Stack
from cdk_sagemaker_llm import (
    HuggingFaceModel, InferenceComponentEndpoint, ResourceRequirements, Tgi)

app = App()
stack = Stack(app, "Theirs")
host = InferenceComponentEndpoint(stack, "Host", instance_type="ml.g5.12xlarge")
model = host.add_model(
    "Zephyr", model=HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta"),
    serving=Tgi("1.4.5"), resources=ResourceRequirements(copies=4, accelerators=1))
CfnOutput(stack, "Name", value=model.inference_component_name)
app.synth()
"""


@pytest.fixture(name="theirs", scope="module")
def _theirs(wheel: Path, root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    Install the wheel, and what it depends on, where nothing else is.
    """
    folder = tmp_path_factory.mktemp("theirs") / "venv"
    pins = constraints(root, folder.parent)
    make = ("uv", "venv", "--quiet", "--python", sys.executable, folder)
    install = ("uv", "pip", "install", "--quiet", "--python", folder)
    for command in (make, (*install, "--constraint", pins, wheel)):
        done = run(*command)
        assert done.returncode == 0, done.stderr
    return folder / "bin"


def test_the_wheel_holds_the_package_and_its_data_alone(wheel: Path) -> None:
    """
    Nothing of the checkout slips in, and no data file is forgotten.
    """
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0].split("-")[0] for name in names}

    assert tops == {"cdk_sagemaker_llm"}
    for data in ("py.typed", "catalog/images.json", "catalog/instances.json"):
        assert f"cdk_sagemaker_llm/{data}" in names


@pytest.mark.whole
def test_the_source_distribution_has_docs_and_examples(
    root: Path, tmp_path: Path
) -> None:
    """
    Each of those that are in the repository.
    """
    built = run(
        *(sys.executable, "-m", "build", "--sdist", "--no-isolation"),
        *("--outdir", tmp_path, root),
    )
    assert built.returncode == 0, built.stderr
    (path,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    pages = {f"docs/{page.name}" for page in (root / "docs").glob("*.*")}
    apps = {str(app.relative_to(root)) for app in (root / "examples").glob("*/app.py")}
    assert {"docs/command-line.md", "docs/chat.png"} < pages <= names
    assert {"examples/one_model/app.py"} < apps <= names


@pytest.mark.whole
def test_another_app_synthesises_with_it(theirs: Path, tmp_path: Path) -> None:
    """
    With aws-cdk-lib and constructs alone, in a folder that is not ours.
    """
    app = tmp_path / "app.py"
    app.write_text(APP)

    done = run(theirs / "python", app, CDK_OUTDIR=str(tmp_path / "cdk.out"))
    template = json.loads((tmp_path / "cdk.out" / "Theirs.template.json").read_text())
    kinds = [resource["Type"] for resource in template["Resources"].values()]

    assert done.returncode == 0, done.stderr
    assert "AWS::SageMaker::InferenceComponent" in kinds


def test_it_depends_on_the_cdk_and_nothing_else(theirs: Path) -> None:
    """
    Extras stay extras.
    """
    listed = run("uv", "pip", "list", "--format", "json", "--python", theirs.parent)
    names = {package["name"] for package in json.loads(listed.stdout)}

    assert "aws-cdk-lib" in names
    assert names.isdisjoint({"boto3", "moto", "typer", "rich"})


@pytest.mark.whole
def test_every_public_name_loads_or_asks_for_its_extra(
    theirs: Path, root: Path, tmp_path: Path
) -> None:
    """
    Whoever defines stacks needs no boto3.
    """
    done = run(
        *(theirs / "python", "-c", LOAD, json.dumps(public_names(root))),
        PYTHONPATH=str(tmp_path),
    )

    assert done.returncode == 0, done.stderr
    assert unexplained(json.loads(done.stdout)["extras"], extras="") == []


@pytest.mark.parametrize(
    ("subcommand", "extra"), [("local", "local"), ("check", "cli")]
)
def test_the_command_names_the_extra_that_it_needs(
    theirs: Path, subcommand: str, extra: str
) -> None:
    """
    One sentence with the way out, no traceback.
    """
    done = run(theirs / "sagemaker-llm", subcommand)

    assert done.returncode != 0
    assert f"pip install 'cdk-sagemaker-llm[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr
