"""
``docs/security.md``: what is allowed is reasoned, and what is reasoned is allowed.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cdk_sagemaker_llm.permissions import reasons
from tests.examples.synthesis import EXAMPLES, REFERENCE
from tools.policies import ARGUED, Found, lint
from tools.security_page import FOUND, TARGET, holders_by_app, page, used

APPS = [*sorted(app.parent.name for app in EXAMPLES.glob("*/app.py")), REFERENCE]
# A role that the library makes, by the end of its logical id.
OURS = re.compile(r"(ModelRole|HostRole|StableRole|CanaryRole)[0-9A-F]{8}\Z")

# What an example's own function is let do, as Lambda's guide has it for one in a VPC.
EXPLAINED = {
    ("private_vpc", "ec2:AssignPrivateIpAddresses"),
    ("private_vpc", "ec2:CreateNetworkInterface"),
    ("private_vpc", "ec2:DeleteNetworkInterface"),
    ("private_vpc", "ec2:DescribeNetworkInterfaces"),
    ("private_vpc", "ec2:DescribeSubnets"),
    ("private_vpc", "ec2:UnassignPrivateIpAddresses"),
    ("private_vpc", "logs:CreateLogStream"),
    ("private_vpc", "logs:PutLogEvents"),
}


@pytest.fixture(name="linted", scope="session")
def _linted(assemblies: Path) -> list[Found]:
    return lint(sorted(path.parent for path in assemblies.glob("*/manifest.json")))


def test_the_page_is_the_one_the_code_makes(assemblies: Path) -> None:
    """
    ``make docs`` writes it anew.
    """
    assert TARGET.read_text(encoding="utf-8") == page(assemblies)


def test_every_app_is_on_the_page(assemblies: Path) -> None:
    """
    An app without a role would be missed silently.
    """
    holders = holders_by_app(assemblies)

    assert sorted(holders) == sorted(APPS)
    assert all(holders.values())


def test_every_statement_has_a_reason(assemblies: Path) -> None:
    """
    The library's roles may do nothing that nobody can explain, and neither may the
    examples' own: what other constructs allow is listed here.
    """
    unexplained = {
        (app, each.action)
        for app, holders in holders_by_app(assemblies).items()
        for holder in holders
        for each in holder.allowed
        if each.reason is None
    }

    assert unexplained == EXPLAINED


def test_every_reason_is_needed(assemblies: Path) -> None:
    """
    One that no template uses explains nothing.
    """
    needed = used(assemblies)

    assert [one for one in reasons() if one not in needed] == []


def test_the_librarys_roles_are_sagemakers_alone(assemblies: Path) -> None:
    """
    Acting for the account; no policy of AWS's is attached to them.
    """
    ours = [
        holder
        for holders in holders_by_app(assemblies).values()
        for holder in holders
        if OURS.search(holder.place)
    ]

    assert len(ours) > len(APPS)
    for holder in ours:
        assert holder.trusted == (
            (
                "sagemaker.amazonaws.com if StringEquals aws:SourceAccount = "
                "${AWS::AccountId}"
            ),
        )
        assert holder.managed_policies == ()


@pytest.mark.whole
@pytest.mark.parametrize("name", APPS)
def test_policies_pass_parliament_and_cloudsplaining(
    name: str, linted: list[Found]
) -> None:
    """
    What they find is argued, rule by rule.
    """
    assert [each for each in linted if each.app == name and not each.argument] == []


@pytest.mark.whole
def test_what_is_argued_is_found(linted: list[Found]) -> None:
    """
    An argument that outlived its finding would hide the next one.
    """
    assert {(each.linter, each.issue, each.detail) for each in linted} == set(ARGUED)


@pytest.mark.whole
def test_the_linters_of_policies_do_look(tmp_path: Path) -> None:
    """
    A policy for everything is found by each: the tests above are no empty promise.
    """
    folder = tmp_path / "open"
    folder.mkdir()
    (folder / "manifest.json").write_text(
        '{"version": "1", "artifacts": {"It": {"type": "aws:cloudformation:stack",'
        ' "properties": {"templateFile": "It.template.json"}}}}'
    )
    (folder / "It.template.json").write_text(
        '{"Resources": {"Open": {"Type": "AWS::IAM::Policy", "Properties": {'
        '"PolicyName": "Open", "Roles": ["it"], "PolicyDocument": {'
        '"Version": "2012-10-17", "Statement": [{"Effect": "Allow",'
        ' "Action": ["s3:GetObjekt", "iam:PassRole", "s3:*"], "Resource": "*"}]}}}}}'
    )
    found = {(each.linter, each.issue) for each in lint([folder])}

    assert ("parliament", "UNKNOWN_ACTION") in found
    assert ("cloudsplaining", "service_wildcard") in found
    assert ("cloudsplaining", "allows_data_exfiltration_actions") in found


def test_the_peers_results_name_the_linters_that_are_installed() -> None:
    """
    ``make peers`` is run again where a lock changes.
    """
    text = FOUND.read_text(encoding="utf-8")
    locked = (EXAMPLES.parent / "tools" / "checkov" / "requirements.txt").read_text()

    for name in ("checkov", "cloudsplaining", "parliament"):
        (version,) = re.findall(rf"^{name}==(\S+)", locked, re.MULTILINE)
        assert f'"{name}": "{version}"' in text
