"""
The packaged data against the packages that it was made from.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.catalog.images import find_image
from tools.catalog import __main__ as command
from tools.catalog import cpu_instances, images, instances, sdk
from tools.catalog.recorded import EVERY_FAMILY, AddedImage, Pin, Recorded, recorded

CATALOG = command.CATALOG
# Rows and regions taken out of sagemaker-core 2.27.0, otherwise as they are there.
EXTRACT = Path(__file__).with_name("image_uri_config")
RECORD = recorded()


def shipped(name: str) -> dict[str, Any]:
    """
    Read a packaged file.
    """
    content: dict[str, Any] = json.loads((CATALOG / name).read_text(encoding="utf-8"))
    return content


def extract() -> dict[str, dict[str, sdk.Release]]:
    """
    Read the SDK's own files, cut down.
    """
    paths = sorted(EXTRACT.glob("*.json"))
    return {p.stem: sdk.read_list(json.loads(p.read_text("utf-8"))) for p in paths}


def small_record(**changes: Any) -> Recorded:  # noqa: ANN401 - as replace() takes them
    """
    Return a record for what is in the extract, with nothing to differ in.
    """
    nothing = dataclasses.replace(
        RECORD,
        families=tuple(extract()),
        added=(),
        held_back_versions={},
        held_back_regions={},
        held_back_aliases={},
        listings={},
        accounts={},
    )
    return dataclasses.replace(nothing, **changes)


def wheel_of(folder: Path, content: Mapping[str, Any], record: Recorded) -> Path:
    """
    Make a wheel whose lists lead to a catalogue, by the record.
    """
    lists: dict[str, dict[str, Any]] = {}
    for family in content["families"]:
        listing = record.listing(family)
        own = sdk_list(content, family, record)
        known = lists.setdefault(listing.name, own)
        for version, row in own["versions"].items():
            containers = known["versions"][version]["container_version"]
            if listing.processor:
                containers[listing.processor] = row["container_version"]["gpu"]
    wheel = folder / "sdk.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, data in lists.items():
            archive.writestr(
                f"sagemaker/core/image_uri_config/{name}.json", json.dumps(data)
            )
    return wheel


def sdk_list(
    content: Mapping[str, Any], family: str, record: Recorded
) -> dict[str, Any]:
    """
    Write a family as the SDK's lists have it, with what the record holds back of it.
    """
    added = {(image.family, image.version) for image in record.added}
    row = content["families"][family]
    rows = {
        version: sdk_row(content, row, release)
        for version, release in row["versions"].items()
        if (family, version) not in added
    }
    first = next(iter(rows))
    held = [v for f, v in record.held_back_versions if f == family]
    rows |= dict.fromkeys(held, rows[first])
    for name, region in record.held_back_regions:
        if name in (family, EVERY_FAMILY):
            account = content["accounts"].get(region, "000000000000")
            rows[first]["registries"][region] = account
    aliases = {"x": first} if family in record.held_back_aliases else {}
    return {"versions": rows, "version_aliases": {**aliases, **row.get("aliases", {})}}


def sdk_row(
    content: Mapping[str, Any], family: Mapping[str, Any], release: Mapping[str, str]
) -> dict[str, Any]:
    """
    Write a release as the SDK's lists do, without the kind of processor in its tag.
    """
    accounts = content["accounts"]
    if "accounts" in family:
        accounts = content["other_accounts"][family["accounts"]]
    prefix, _, rest = release["tag"].partition("-")
    return {
        "registries": {
            region: accounts[region]
            for region in content["region_sets"][release["regions"]]
        },
        "repository": family["repository"],
        "tag_prefix": prefix,
        "container_version": {"gpu": rest},
        "processor_in_tag": False,
    }


def test_instance_types_are_those_of_the_api() -> None:
    """
    Names alone: what differs from the installed botocore has a reason.
    """
    found = instances.differences(
        shipped("instances.json"), instances.api_names(), RECORD.instances
    )

    assert found == []


def test_a_new_instance_type_is_missed() -> None:
    """
    The API has it, the catalogue not.
    """
    names = instances.api_names() | {"ml.p9.48xlarge"}
    found = instances.differences(shipped("instances.json"), names, RECORD.instances)

    assert found == ["ml.p9.48xlarge is in the API only"]


def test_an_instance_type_that_was_withdrawn_is_noticed() -> None:
    """
    The catalogue has it, the API not.
    """
    names = instances.api_names() - {"ml.g5.xlarge"}
    found = instances.differences(shipped("instances.json"), names, RECORD.instances)

    assert found == ["ml.g5.xlarge is in the catalogue only"]


def test_a_type_that_hosts_by_now_is_noticed() -> None:
    """
    Its reason is of no more use either, and is to go.
    """
    names = instances.api_names() | {"ml.p3dn.24xlarge"}
    reasons = {**RECORD.instances, "ml.x.large": "left over"}
    without = {n: r for n, r in reasons.items() if n != "ml.p3dn.24xlarge"}

    assert instances.differences(shipped("instances.json"), names, without) == [
        "ml.p3dn.24xlarge hosts by the API",
        "ml.x.large differs no more",
    ]


def test_types_without_accelerators_are_what_the_api_and_ec2_say() -> None:
    """
    The file is made, and holds a line for each.
    """
    made = cpu_instances.render(cpu_instances.build())

    assert (CATALOG / "cpu_instances.json").read_text("utf-8") == made
    assert len(json.loads(made)["instances"]) == 207


def test_a_type_that_ec2_does_not_describe_is_named() -> None:
    """
    Nothing is made up of it.
    """
    with pytest.raises(ValueError, match=r"has no ml\.c99\.large, ml\.m99\.large$"):
        cpu_instances.content_of(["ml.m99.large", "ml.c99.large"], {})


def test_the_sdks_tags_are_put_together_as_the_sdk_does() -> None:
    """
    The prefix alone, with a GPU, with Neuron and its SDK, or without the processor.
    """
    releases = extract()

    assert {
        (family, version): row.tag
        for family, rows in releases.items()
        for version, row in rows.items()
    } == {
        (family, version): find_image(family, version).tag
        for family, rows in releases.items()
        for version in rows
    }


@pytest.mark.parametrize(
    ("row", "processor", "tag"),
    [
        ({"tag_prefix": "0.26.0-tensorrtllm0.7.1-cu122"}, "", None),
        (
            {
                "tag_prefix": "0.30.0",
                "py_versions": ["py312"],
                "container_version": {"gpu": "cu130-ubuntu24.04-sagemaker"},
            },
            "",
            "0.30.0-gpu-py312-cu130-ubuntu24.04-sagemaker",
        ),
        (
            {
                "tag_prefix": "server-sagemaker",
                "container_version": {"gpu": "cuda-v2.6"},
                "processor_in_tag": False,
            },
            "",
            "server-sagemaker-cuda-v2.6",
        ),
        (
            {
                "tag_prefix": "b9522",
                "container_version": {"gpu": "cu130-ubuntu24.04", "cpu": "ubuntu24.04"},
            },
            "gpu",
            "b9522-gpu-cu130-ubuntu24.04",
        ),
        (
            {
                "tag_prefix": "b9522",
                "container_version": {"gpu": "cu130-ubuntu24.04", "cpu": "ubuntu24.04"},
            },
            "cpu",
            "b9522-cpu-ubuntu24.04",
        ),
        (
            {
                "tag_prefix": "0.11.0-optimum0.4.4",
                "py_versions": ["py310"],
                "sdk_versions": ["sdk2.26.0", "sdk2.26.1"],
                "container_version": {"neuronx": "ubuntu22.04"},
            },
            "",
            "0.11.0-optimum0.4.4-neuronx-py310-sdk2.26.1-ubuntu22.04",
        ),
    ],
    ids=str,
)
def test_a_tag_is_put_together_of_its_parts(
    row: Mapping[str, Any], processor: str, tag: str | None
) -> None:
    """
    As the SDK does.
    """
    whole = {"repository": "r", "registries": {}, **row}
    found = sdk.read_list({"versions": {"1": whole}}, processor)

    assert found["1"].tag == (tag or row["tag_prefix"])


def test_fails_if_nobody_says_for_which_processor_an_image_is_wanted() -> None:
    """
    A list that begins to have two is two families.
    """
    row = {
        "repository": "r",
        "registries": {},
        "tag_prefix": "1",
        "container_version": {"gpu": "a", "cpu": "b"},
    }

    with pytest.raises(ValueError, match="unpack"):
        sdk.read_list({"versions": {"1": row}})


def test_other_names_of_versions_are_taken() -> None:
    """
    Unless they are held back.
    """
    row = sdk.Release("r", "t", {"us-east-1": "1"}, ("0.5", "latest"))
    lists = {"a": {"0.5.1": row}}
    taken = images.build(lists, small_record(families=("a",)), shipped("images.json"))
    record = small_record(families=("a",), held_back_aliases={"a": "r", "b": "r"})
    held_back = images.build(lists, record, shipped("images.json"))

    assert taken["families"]["a"]["aliases"] == {"0.5": "0.5.1", "latest": "0.5.1"}
    assert "aliases" not in held_back["families"]["a"]
    assert images.stale_records(lists, record) == [
        "b by another name is listed no more"
    ]


def test_a_family_may_have_registries_of_its_own() -> None:
    """
    Beside those of all others, in the same region.
    """
    lists = {"a": {"1": release("us-east-1")}, "b": {"1": release("us-east-1", "2")}}
    record = small_record(families=("a", "b"), accounts={"b": "own"})
    content = images.build(lists, record, shipped("images.json"))

    assert content["accounts"] == {"us-east-1": "1"}
    assert content["other_accounts"] == {"own": {"us-east-1": "2"}}
    assert "accounts" not in content["families"]["a"]
    assert content["families"]["b"]["accounts"] == "own"
    assert json.loads(images.render(content)) == content


def test_a_catalogue_is_built_of_the_sdks_lists() -> None:
    """
    Oldest version first, each set of regions once.
    """
    content = images.build(extract(), small_record(), shipped("images.json"))
    tgi = content["families"]["huggingface-llm"]

    assert content["accounts"] == {
        "cn-north-1": "727897471807",
        "me-west-1": "124382933778",
        "us-east-1": "763104351884",
    }
    assert content["region_sets"] == {
        "regions_2": ["cn-north-1", "us-east-1"],
        "regions_3": ["cn-north-1", "me-west-1", "us-east-1"],
    }
    assert tgi["repository"] == "huggingface-pytorch-tgi-inference"
    assert tgi["versions"] == {
        "1.4.5": {
            "tag": "2.1.1-tgi1.4.5-gpu-py310-cu121-ubuntu22.04",
            "regions": "regions_3",
        },
        "2.2.0": {
            "tag": "2.3.0-tgi2.2.0-gpu-py310-cu121-ubuntu22.04-v2.0",
            "regions": "regions_3",
        },
    }
    assert json.loads(images.render(content)) == content


def test_recorded_differences_are_applied() -> None:
    """
    An image more, a version and a region less.
    """
    image = AddedImage("djl-lmi", "0.36.0-lmi28", "the-tag", "0.36.0", "the reason")
    record = small_record(
        added=(image,),
        held_back_versions={("djl-lmi", "0.28.0"): "the reason"},
        held_back_regions={
            (EVERY_FAMILY, "me-west-1"): "the reason",
            ("djl-lmi", "cn-north-1"): "the reason",
        },
    )
    content = images.build(extract(), record, shipped("images.json"))

    versions = content["families"]["djl-lmi"]["versions"]
    assert list(versions) == ["0.36.0", "0.36.0-lmi28"]
    assert versions["0.36.0-lmi28"] == {
        "tag": "the-tag",
        "regions": "regions_1",
        "note": "the reason",
    }
    assert content["region_sets"]["regions_1"] == ["us-east-1"]
    assert list(content["accounts"]) == ["cn-north-1", "us-east-1"]
    assert images.stale_records(extract(), record) == []


def test_a_version_of_which_nobody_says_what_is_inside_is_noticed() -> None:
    """
    A new one, and one that is described and gone.
    """
    rows: dict[str, Any] = {
        "vllm": {"versions": {"1": {}, "2": {}}},
        "djl-lmi": {"versions": {"1": {}}},
    }
    inside: dict[str, Any] = {"families": {"vllm": {"versions": {"2": {}, "3": {}}}}}

    assert images.undescribed({"families": rows}, inside) == [
        "vllm 1 is not in engine_releases.json",
        "vllm 3 is in engine_releases.json only",
    ]
    assert (
        images.undescribed(shipped("images.json"), shipped("engine_releases.json"))
        == []
    )


def test_sets_of_as_many_regions_are_told_apart() -> None:
    """
    By a letter.
    """
    releases = {"a": {"1": release("us-east-1"), "2": release("us-west-2")}}
    content = images.build(
        releases, small_record(families=("a",)), shipped("images.json")
    )

    assert content["region_sets"] == {
        "regions_1": ["us-east-1"],
        "regions_1b": ["us-west-2"],
    }


def test_fails_if_a_region_has_two_accounts() -> None:
    """
    The catalogue has one registry a region.
    """
    releases = {"a": {"1": release("us-east-1"), "2": release("us-east-1", "2")}}

    with pytest.raises(ValueError, match="us-east-1 has two accounts: 1 and 2"):
        images.build(releases, small_record(families=("a",)), shipped("images.json"))


def test_a_record_without_a_difference_is_stale() -> None:
    """
    The SDK lists what was added, and no more what was held back.
    """
    record = small_record(
        added=(AddedImage("djl-lmi", "0.36.0", "t", "0.28.0", "r"),),
        held_back_versions={("djl-lmi", "0.99.0"): "r"},
        held_back_regions={
            (EVERY_FAMILY, "us-moon-1"): "r",
            ("djl-lmi", "me-west-1"): "r",
        },
    )

    assert images.stale_records(extract(), record) == [
        "djl-lmi 0.36.0 is listed now",
        "djl-lmi 0.99.0 is listed no more",
        "* us-moon-1 is listed no more",
        "djl-lmi me-west-1 is listed no more",
    ]


def test_the_shipped_images_are_written_by_the_command() -> None:
    """
    Nothing is edited by hand: words, order and layout are the command's.
    """
    content = shipped("images.json")
    noted = {
        (family, version): release["note"]
        for family, row in content["families"].items()
        for version, release in row["versions"].items()
        if "note" in release
    }

    assert images.render(content) == (CATALOG / "images.json").read_text("utf-8")
    assert noted == {(i.family, i.version): i.reason for i in RECORD.added}
    assert content["about"] == RECORD.about
    nowhere = {r for f, r in RECORD.held_back_regions if f == EVERY_FAMILY}
    assert not set(content["accounts"]) & nowhere


def test_the_command_agrees_with_what_is_shipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Lists that lead to the shipped catalogue change nothing.
    """
    wheel = wheel_of(tmp_path, shipped("images.json"), RECORD)

    assert command.main(["--check", "--wheel", str(wheel)]) == 0
    assert "is what sagemaker-core" in capsys.readouterr().out


def test_the_command_shows_a_change_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    A new version, with nothing recorded of it.
    """
    content = shipped("images.json")
    rows = content["families"]["djl-tensorrtllm"]["versions"]
    rows["0.34.0"] = {**rows["0.33.0"], "tag": "a-new-tag"}
    wheel = wheel_of(tmp_path, content, RECORD)

    assert command.main(["--check", "--wheel", str(wheel)]) == 1
    assert '+    "0.34.0": {"tag": "a-new-tag"' in capsys.readouterr().out


def test_the_command_writes_the_change(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    Into the catalogue, which is then what the SDK says.
    """
    names = ("images.json", "instances.json", "engine_releases.json")
    for name in (*names, "cpu_instances.json", "job_types.json", "resource_types.json"):
        (tmp_path / name).write_text((CATALOG / name).read_text("utf-8"), "utf-8")
    monkeypatch.setattr(command, "CATALOG", tmp_path)
    content = shipped("images.json")
    content["families"]["djl-lmi"]["versions"]["0.36.0"]["tag"] = "a-new-tag"
    wheel = str(wheel_of(tmp_path, content, RECORD))

    assert command.main(["--wheel", wheel]) == 0
    assert '"a-new-tag"' in (tmp_path / "images.json").read_text("utf-8")
    said = capsys.readouterr().out
    assert "\nimages.json is rebuilt" in said
    assert "cpu_instances.json is rebuilt" not in said
    assert "job_types.json is rebuilt" not in said
    assert command.main(["--check", "--wheel", wheel]) == 0


def test_fails_if_the_sdk_lists_a_family_no_more(tmp_path: Path) -> None:
    """
    It moved, or it was given up.
    """
    wheel = tmp_path / "sdk.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("sagemaker/core/image_uri_config/vllm.json", "{}")

    with pytest.raises(ValueError, match=r"sdk\.whl lists no djl-lmi"):
        sdk.read_wheel(wheel, ["djl-lmi"])


def test_the_pinned_wheel_is_downloaded_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    By pip, from where it is told to; what it depends on is not looked for.
    """
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    wheel = tmp_path / "small-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        about = "Metadata-Version: 2.1\nName: small\nVersion: 1.0\n"
        archive.writestr(
            "small-1.0.dist-info/METADATA", about + "Requires-Dist: not-there\n"
        )
        archive.writestr("small-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\n")
    right = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (tmp_path / "to").mkdir()

    found = sdk.download(Pin("small", "1.0", right), tmp_path / "to")

    assert found.read_bytes() == wheel.read_bytes()
    with pytest.raises(subprocess.CalledProcessError):
        sdk.download(Pin("small", "1.0", "0" * 64), tmp_path / "to")


def test_the_pin_is_written_with_its_hash() -> None:
    """
    Pip then takes that file and no other.
    """
    package, _, pinned_hash = RECORD.pin.requirement().partition(" --hash=sha256:")

    assert package == f"sagemaker-core=={RECORD.pin.version}"
    assert len(pinned_hash) == 64


def release(region: str, account: str = "1") -> sdk.Release:
    """
    Return a release in one region.
    """
    return sdk.Release("repository", "tag", {region: account})
