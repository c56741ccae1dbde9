"""
What is found under a path, and what is wrong with it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.cli.commands import MisuseError
from cdk_sagemaker_llm.cli.commands.check import Target, reports_of

GOOD = "engine=MPI\noption.model_id=a/b\noption.rolling_batch=auto\n"
TRTLLM = "engine=MPI\noption.model_id=a/b\noption.rolling_batch=trtllm\n"
SPLIT = f"{GOOD}option.tensor_parallel_degree=8\n"


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    return folder / "serving.properties"


@pytest.mark.parametrize(
    ("text", "target", "codes", "images"),
    [
        (
            GOOD,
            Target(),
            [],
            [
                *("djl-tensorrtllm 0.25.0", "djl-tensorrtllm 0.26.0"),
                *("djl-tensorrtllm 0.27.0", "djl-tensorrtllm 0.28.0"),
                *("djl-tensorrtllm 0.29.0", "djl-tensorrtllm 0.30.0"),
                *("djl-tensorrtllm 0.32.0", "djl-tensorrtllm 0.33.0"),
                *("djl-lmi 0.28.0", "djl-lmi 0.29.0", "djl-lmi 0.30.0"),
                *("djl-lmi 0.31.0", "djl-lmi 0.32.0"),
                *("djl-deepspeed 0.25.0", "djl-deepspeed 0.26.0"),
                "djl-deepspeed 0.27.0",
            ],
        ),
        # One family, or one version, of them.
        (
            GOOD,
            Target(container="djl-deepspeed"),
            [],
            ["djl-deepspeed 0.25.0", "djl-deepspeed 0.26.0", "djl-deepspeed 0.27.0"],
        ),
        (
            GOOD,
            Target(version="0.27.0"),
            [],
            ["djl-tensorrtllm 0.27.0", "djl-deepspeed 0.27.0"],
        ),
        # No image of the family takes it: the newest has the findings.
        (TRTLLM, Target(container="djl-lmi"), ["LLM133", "LLM223"], []),
        # One image is asked for, and which others would take it is not.
        (GOOD, Target(container="djl-lmi", version="0.30.0"), [], []),
        (
            TRTLLM,
            Target(container="djl-lmi", version="0.30.0"),
            ["LLM133"],
            [],
        ),
        # That its family has ended is said of one that is asked for.
        (GOOD, Target(container="djl-tensorrtllm", version="0.30.0"), ["LLM201"], []),
        (
            SPLIT,
            Target(container="djl-lmi", version="0.30.0", accelerators=8),
            [],
            [],
        ),
        (
            SPLIT,
            Target(container="djl-lmi", version="0.30.0", accelerators=4),
            ["LLM154"],
            [],
        ),
    ],
)
def test_a_file_is_held_against_the_images_that_may_run_it(
    file: Path, text: str, target: Target, codes: list[str], images: list[str]
) -> None:
    """
    All that fit the question; what is not known is not checked.
    """
    file.write_text(text)
    (report,) = reports_of(file, target)

    assert report.subject == str(file)
    assert [finding.code for finding in report.findings] == codes
    assert list(report.images) == images


@pytest.mark.parametrize(
    ("target", "codes"),
    [
        (Target(backend="vllm"), ["LLM134"]),
        (Target(backend="trtllm"), []),
    ],
)
def test_the_backend_that_must_run_is_checked(
    file: Path, target: Target, codes: list[str]
) -> None:
    """
    Against every image.
    """
    file.write_text(TRTLLM)
    (report,) = reports_of(file, target)

    assert [f.code for f in report.findings if f.code != "LLM209"] == codes


DRIVER = "al2-ami-sagemaker-inference-gpu-3-1"


def test_a_folder_is_found_by_its_file(file: Path) -> None:
    """
    The folder itself, or those in it, in order; others are passed over.
    """
    file.write_text(GOOD)
    other = file.parent.parent / "another"
    other.mkdir()
    (other / "serving.properties").write_text(GOOD)
    (file.parent.parent / "empty").mkdir()
    (file.parent.parent / "README").write_text("")

    (report,) = reports_of(file.parent, Target())
    both = reports_of(file.parent.parent, Target())

    assert report.subject == str(file.parent)
    assert [one.subject for one in both] == [str(other), str(file.parent)]


def test_fails_if_no_image_has_the_version(file: Path) -> None:
    """
    The question was wrong, not the file.
    """
    file.write_text(GOOD)

    with pytest.raises(MisuseError, match="no LMI image of any family has version '9'"):
        reports_of(file, Target(version="9"))


def template(kind: str, **properties: object) -> dict[str, Any]:
    """
    Write a resource of SageMaker's.
    """
    return {"Type": f"AWS::SageMaker::{kind}", "Properties": properties}


def assembly(folder: Path, resources: dict[str, dict[str, Any]]) -> Path:
    """
    Write an assembly of one stack.
    """
    stack = {
        "type": "aws:cloudformation:stack",
        "properties": {"templateFile": "Prod.template.json"},
    }
    (folder / "manifest.json").write_text(json.dumps({"artifacts": {"Prod": stack}}))
    (folder / "Prod.template.json").write_text(json.dumps({"Resources": resources}))
    return folder


def tgi(version: str, **environment: str) -> dict[str, Any]:
    """
    Write a model on an image of TGI.
    """
    uri = find_image("huggingface-llm", version).uri("us-east-1")
    return template(
        "Model", PrimaryContainer={"Image": uri, "Environment": environment}
    )


@pytest.mark.parametrize(
    ("others", "codes"),
    [
        # Nothing says how many accelerators a copy has.
        ({}, ["LLM201"]),
        # A component reserves two of them: four shards are too many.
        (
            {
                "Component": template(
                    "InferenceComponent",
                    Specification={
                        "ModelName": {"Fn::GetAtt": ["Model", "ModelName"]},
                        "ComputeResourceRequirements": {
                            "NumberOfAcceleratorDevicesRequired": 2
                        },
                    },
                )
            },
            ["LLM201", "LLM174"],
        ),
        # How many it reserves may be known at deployment only.
        (
            {
                "Component": template(
                    "InferenceComponent",
                    Specification={
                        "ModelName": {"Ref": "Model"},
                        "ComputeResourceRequirements": {
                            "NumberOfAcceleratorDevicesRequired": {"Ref": "Count"}
                        },
                    },
                )
            },
            ["LLM201"],
        ),
        # They still are beside an endpoint whose instances have four.
        (
            {
                "Component": template(
                    "InferenceComponent",
                    Specification={
                        "ModelName": {"Fn::GetAtt": ["Model", "ModelName"]},
                        "ComputeResourceRequirements": {
                            "NumberOfAcceleratorDevicesRequired": 2
                        },
                    },
                ),
                "Config": template(
                    "EndpointConfig",
                    ProductionVariants=[
                        {
                            "ModelName": {"Ref": "Model"},
                            "InstanceType": "ml.g5.12xlarge",
                            "InferenceAmiVersion": DRIVER,
                        }
                    ],
                ),
            },
            ["LLM201", "LLM174"],
        ),
        # The variant's instances have four, or one.
        *(
            (
                {
                    "Config": template(
                        "EndpointConfig",
                        ProductionVariants=[
                            {"ModelName": {"Ref": "Other"}},
                            {
                                "ModelName": {"Ref": "Model"},
                                "InstanceType": name,
                                "InferenceAmiVersion": DRIVER,
                            },
                        ],
                    )
                },
                codes,
            )
            for name, codes in (
                ("ml.g5.12xlarge", ["LLM201"]),
                ("ml.g5.xlarge", ["LLM201", "LLM174"]),
                ("ml.g99.xlarge", ["LLM201"]),
            )
        ),
        # A pool may be of a type that nobody knows: one beside it has one all the same.
        *(
            (
                {
                    "Config": template(
                        "EndpointConfig",
                        ProductionVariants=[
                            {
                                "ModelName": {"Ref": "Model"},
                                "InferenceAmiVersion": DRIVER,
                                "InstancePools": [
                                    {"InstanceType": name, "Priority": 1},
                                    {"InstanceType": "ml.g99.xlarge", "Priority": 2},
                                ],
                            },
                        ],
                    )
                },
                codes,
            )
            for name, codes in (
                ("ml.g5.12xlarge", ["LLM201"]),
                ("ml.g5.xlarge", ["LLM201", "LLM174"]),
                ("ml.g98.xlarge", ["LLM201"]),
            )
        ),
        # Another model's component says nothing of this one.
        (
            {
                "Component": template(
                    "InferenceComponent",
                    Specification={
                        "ModelName": {"Ref": "Other"},
                        "ComputeResourceRequirements": {
                            "NumberOfAcceleratorDevicesRequired": 2
                        },
                    },
                )
            },
            ["LLM201"],
        ),
        # A component may say nothing at all, or not how many devices it reserves.
        ({"Component": template("InferenceComponent")}, ["LLM201"]),
        (
            {
                "Component": template(
                    "InferenceComponent", Specification={"ModelName": {"Ref": "Model"}}
                ),
                "Config": template("EndpointConfig"),
            },
            ["LLM201"],
        ),
    ],
)
def test_accelerators_come_from_where_the_model_runs(
    tmp_path: Path, others: dict[str, dict[str, Any]], codes: list[str]
) -> None:
    """
    A component's reservation, or the instance that a model fills.
    """
    model = tgi("3.3.6", HF_MODEL_ID="a/b", NUM_SHARD="4")
    # Models come first; what the others lack are reports of their own.
    report, *_ = reports_of(assembly(tmp_path, {"Model": model, **others}), Target())

    assert report.subject == "Prod/Model"
    assert [finding.code for finding in report.findings] == codes


def test_a_template_is_checked_by_itself(tmp_path: Path) -> None:
    """
    Who has no app has templates; other JSON is none.
    """
    out = assembly(
        tmp_path, {"Model": tgi("1.4.5", MAX_INPUT_LENGTH="9", MAX_TOTAL_TOKENS="8")}
    )
    (file,) = out.glob("*.template.json")
    alone = tmp_path / "alone.template"
    alone.write_bytes(file.read_bytes())
    (inside,) = reports_of(out, Target())
    (found,) = reports_of(alone, Target())

    assert found.is_checked
    assert found.findings == inside.findings
    assert "LLM112" in {finding.code for finding in found.findings}
    assert found.subject == "alone/Model"
    with pytest.raises(MisuseError, match="manifest.json is neither a template,"):
        reports_of(out / "manifest.json", Target())


def test_an_image_of_ones_own_is_not_checked(tmp_path: Path) -> None:
    """
    Nothing is known of it, nor of a model without a container.
    """
    own = template("Model", PrimaryContainer={"Image": "registry.test/mine:1"})
    path = assembly(tmp_path, {"Own": own, "Several": template("Model")})

    assert [(one.subject, one.findings) for one in reports_of(path, Target())] == [
        ("Prod/Own", []),
        ("Prod/Several", []),
    ]
