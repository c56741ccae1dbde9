"""
Write ``docs/security.md`` from the code: ``python -m tools.security_page``.

It synthesises all templates, and says of each role what it may do and why, and what
linters find.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from cdk_sagemaker_llm import permissions
from cdk_sagemaker_llm.catalog.image_rows import accounts_of
from cdk_sagemaker_llm.catalog.images import image_families
from cdk_sagemaker_llm.catalog.instances import (
    find_instance_type,
    instance_type_names,
)
from cdk_sagemaker_llm.cli.app.assembly import read_stacks
from cdk_sagemaker_llm.cli.app.roles import (
    Holder,
    Permission,
    condition_text,
    holders_in,
)
from cdk_sagemaker_llm.permissions import Reason
from tools.engine_page.tables import code, codes, table
from tools.policies import ARGUED

_HEAD = """\
# Security

What a security team asks of a deployment: who may do what and why, where secrets and \
data lie, and what linters say.
This page is generated from the code, the reference app and the examples by \
`make docs`, and tests hold it: a statement without a reason fails them, and so does a \
reason that no template needs.

- [Reasons](#reasons): each action that the library asks for
- [Roles](#roles): each role of each template
- [Given roles and boundaries](#given-roles-and-boundaries)
- [Secrets](#secrets), [licences](#licences), [keys](#keys), [networks](#networks), \
[images](#images)
- [Linters](#linters), and [the same deployment by others](#the-same-deployment-by-\
others)
"""
GIVEN = """\
## Given roles and boundaries

A role that the app may change gets what is missing, in a policy of its own.
One that stays as it is (`iam.Role.from_role_arn(..., mutable=False)`, \
`without_policy_updates()`, `iam.Role.customize_roles`) is left alone:

| what is known of it | what synth says |
| --- | --- |
| it is made elsewhere | `LLM237`: the policy that it must have, as JSON |
| it is made in the app | `LLM821`: what of that its statements do not allow; nothing \
if they do |
| it is made in the app, and does not trust SageMaker | `LLM822` |

`sagemaker-llm permissions cdk.out --role NAME` prints that policy, and with `--trust` \
whom the role must trust, ready to be pasted.
What is denied elsewhere, in a boundary or in the organisation, is not seen.

`iam.PermissionsBoundary.of(app).apply(policy)`, and the context key \
`@aws-cdk/core:permissionsBoundary`, reach every role that is made here; none has a \
name, so that any rule for names and paths can be met by the CDK's own means.
[bring_your_own_role](../examples/bring_your_own_role/app.py) has both.
"""
SECRETS = """\
## Secrets

| where | what of a Hugging Face token is there |
| --- | --- |
| the app, its templates, assets and findings | a reference to a secret, never its \
value |
| CloudFormation | the value while it deploys, which it does not show |
| SageMaker's model | the value in the container's variables: whoever may call \
`sagemaker:DescribeModel` reads it (`LLM202`), so that no grant of this library has \
that action |
| the container | the value, in its environment |
| an `S3Model` | nothing: weights on S3 need no token |
| a `StagedModel`'s build | the value in the build's variables, masked in its log; \
templates and the build's project have the secret's name |

What looks like a credential in a variable, an option or a serving.properties is an \
error, and its message does not repeat it.
A secret that changes reaches the model with its next replacement alone.
"""
LICENCES = """\
## Licences

Weights behind a licence are accepted where they come from.
On the Hugging Face Hub that is the account of the token.
`S3Model(..., accept_eula=True)` writes \
`ModelDataSource.S3DataSource.ModelAccessConfig.AcceptEula`, which SageMaker asks for \
with gated weights of JumpStart; left out, nothing is accepted and nothing is written, \
and SageMaker refuses such weights.
"""
NETWORKS = """\
## Networks

`Network(vpc=..., subnets=..., security_groups=..., isolated=True)` is given once and \
reaches every resource that must agree on it.
An isolated container reaches nothing, S3 and the Hub included: SageMaker itself lays \
the weights down.
[in_a_vpc](../examples/in_a_vpc/app.py) has private subnets without a way out.
`PrivateAccess` makes the endpoints of AWS that a closed VPC needs, each with a policy \
of the calls that the app makes ([networks.md](networks.md)), and `StagedModel` brings \
weights into a bucket before such a VPC reads them ([weights.md](weights.md)).
"""
_IMAGES = """\
## Images

Images come from registries that AWS runs, by an address that names account, region \
and tag; a role may pull from the one repository that it runs.
An image of a registry of your own is `CustomContainer.from_ecr_repository`, or \
`image=` of the engines' classes.
`MirroredImage` copies one there by its digest ([images.md](images.md)).
"""
_KEYS = """\
## Keys

| what | whose argument | the role may then |
| --- | --- | --- |
| weights on S3 | `S3Model(..., kms_key=)`, or the bucket's own key | `kms:Decrypt` |
| adapters on S3 | `LoraAdapter(..., kms_key=)` | `kms:Decrypt` |
| volumes of the instances | `kms_key=` of `LlmEndpoint` and `EndpointConfig` | \
`kms:CreateGrant` |
| captured requests | `DataCapture(kms_key=)`, or the bucket's own key | \
`kms:Decrypt`, `kms:Encrypt`, `kms:GenerateDataKey` |
| requests and answers on S3 | `AsyncInference(kms_key=)`, or the bucket's own key | \
the same, and so may callers that are granted `grant_invoke_async` |
| notifications | the topic's own key | the same |

A role is named a key by its ARN, and one that is known by its alias by a condition on \
`kms:ResourceAliases`: IAM takes no alias as a resource.
The key's own policy must let the account's IAM policies decide, as the CDK's does; \
one that names principals has to name the role of the model too.
[customer_managed_key](../examples/customer_managed_key/app.py) uses one key for all.

Whoever calls CreateEndpoint needs `kms:CreateGrant` on the volumes' key as well \
(SageMaker developer guide, api-permissions-reference): with the CDK the role that \
CloudFormation takes.
That of `cdk bootstrap` may do everything; one that was narrowed \
(`--cloudformation-execution-policies`) needs this, in the form that AWS's own \
policies for SageMaker have (SageMakerStudioProjectRoleMachineLearningPolicy):

```json
{
  "Sid": "GrantVolumeKey",
  "Effect": "Allow",
  "Action": "kms:CreateGrant",
  "Resource": "arn:aws:kms:REGION:ACCOUNT:key/KEY-ID",
  "Condition": {"StringLike": {"kms:ViaService": "sagemaker.*.amazonaws.com"}}
}
```

The execution role's own `kms:CreateGrant` has no condition: the guide's page on \
execution roles names none, and no page of SageMaker's on hosting says whether \
`kms:GrantIsForAWSResource` is set, by which service the call comes, or which \
operations are granted.

Volumes take a key where the instance has no NVMe storage: that is encrypted in \
hardware, with a key that nobody has, and SageMaker refuses `kms_key` there (`LLM121`).
"""
_REASONS = """\
## Reasons

Every action that the library asks for, for a role that it makes or is given, or \
grants on request.
`sagemaker-llm permissions cdk.out` prints them for an app of yours.
"""
_ROLES = """\
## Roles

`Sid` is the statement's name in the template; what is granted on request has none.
`${...}` is decided at deployment.
"""
# The CDK ends a logical id in this.
_HASH = re.compile(r"(?<=[a-z])[0-9A-F]{8}(?=\b)")
# The name of an asset: it changes with each word of what is shipped.
_ASSET = re.compile(r"\b[0-9a-f]{64}\b")
_NOT_OURS = "*not of this library*"
ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "security.md"
FOUND = ROOT / "tools" / "peers" / "found.json"
_LINTERS = """\
## Linters

`make test` holds every template above before cdk-nag (AwsSolutions) and cfn-lint, \
and `make test-all` before checkov and, policy by policy, parliament and cloudsplaining.
Nothing else is found than what is listed here with its reason.
IAM Access Analyzer was not asked: it runs in an account.
"""
_POLICIES = """\
What parliament and cloudsplaining find in policies, and why it stays:
"""
_OTHERS = """\
## The same deployment by others

{deployment}, made with this library and with its two nearest peers, each as its own \
documentation has it, read on {linters}.
What linters find is counted by rule, and no acknowledgement of anybody counts.
`make peers` finds it anew, and was last run where these versions were.
"""
_AFTER = """\
No linter here reads what a managed policy of AWS allows: with \
`AmazonSageMakerFullAccess` a container may, among much else, read every bucket whose \
name has `sagemaker` in it, and create, change and delete endpoints.
That one policy is one finding of cdk-nag, and each named log group of this library \
another one.
"""
_SKIPPED = re.compile(r"^ *# checkov:skip=(CKV\w+): (.+)$", re.MULTILINE)
_ACKNOWLEDGED = "aws:cdk:acknowledged-rules"
SYNTHESIS = "tests.examples.synthesis"


def images() -> str:
    """
    Return the section of images: whose registries they are pulled from.
    """
    found: dict[str, list[str]] = {}
    for family in image_families():
        account = accounts_of(family).get("us-east-1")
        if account is not None:
            found.setdefault(account, []).append(family)
    rows = [[code(account), codes(names)] for account, names in sorted(found.items())]
    return f"{_IMAGES}\n{table(('account in us-east-1', 'families'), rows)}"


def keys() -> str:
    """
    Return the section of keys.
    """
    found: dict[bool, dict[str, None]] = defaultdict(dict)
    for name in instance_type_names():
        takes = find_instance_type(name).volume_size_supported
        found[takes][name.split(".")[1]] = None
    rows = [
        ["a volume, which takes a key", codes(sorted(found[True]))],
        ["NVMe, encrypted in hardware", codes(sorted(found[False]))],
    ]
    return f"{_KEYS}\n{table(('storage', 'families'), rows)}"


def holders_by_app(assemblies: Path) -> dict[str, list[Holder]]:
    """
    Return the roles of each app, by its name.
    """
    folders = sorted(path.parent for path in assemblies.glob("*/manifest.json"))
    return {folder.name: holders_in(read_stacks(folder)) for folder in folders}


def used(assemblies: Path) -> dict[Reason, set[str]]:
    """
    Return the apps that need each reason.
    """
    found: dict[Reason, set[str]] = defaultdict(set)
    for app, holders in holders_by_app(assemblies).items():
        for holder in holders:
            for each in holder.allowed:
                if each.reason is not None:
                    found[each.reason].add(app)
    return found


def reasons(assemblies: Path) -> str:
    """
    Return the section of reasons.
    """
    counted = used(assemblies)
    rows = (
        [
            code(one.sid),
            codes(one.actions),
            one.why,
            one.without,
            one.source,
            str(len(counted.get(one, ()))),
        ]
        for one in permissions.reasons()
    )
    head = ("Sid", "actions", "why", "without", "source", "apps below")
    return f"{_REASONS}\n{table(head, rows)}"


def roles(assemblies: Path) -> str:
    """
    Return the section of roles.
    """
    apps = (_app(name, holders) for name, holders in holders_by_app(assemblies).items())
    return "\n".join([_ROLES, *apps])


def _app(name: str, holders: Sequence[Holder]) -> str:
    where = "app.py" if name == "reference" else f"examples/{name}/app.py"
    parts = [f"### [{name}](../{where})\n", *(_holder(each) for each in holders)]
    return "\n".join(parts)


def _holder(holder: Holder) -> str:
    trusted = f", taken by {'; '.join(holder.trusted)}" if holder.trusted else ""
    boundary = f", bounded by {code(holder.boundary)}" if holder.boundary else ""
    managed = "".join(
        f", with the policy {code(arn)}" for arn in holder.managed_policies
    )
    head = ("Sid", "actions", "on", "if", "why")
    place = _HASH.sub("", holder.place)
    told = f"{holder.kind} {code(place)}{trusted}{boundary}{managed}:\n"
    return f"{told}\n{table(head, _rows(holder.allowed))}"


def _rows(allowed: Sequence[Permission]) -> Iterator[list[str]]:
    for one, group in groupby(allowed, key=_alike):
        sid, effect, resources, condition, reason = one
        denied = "" if effect == "Allow" else f"{effect}: "
        yield [
            code(sid),
            denied + codes(each.action for each in group),
            codes(_ASSET.sub("…", _HASH.sub("", each)) for each in resources),
            code(condition),
            _NOT_OURS if reason is None else reason.why,
        ]


def _alike(
    one: Permission,
) -> tuple[str, str, tuple[str, ...], str, Reason | None]:
    condition = condition_text(one.condition)
    return (one.sid, one.effect, one.resources, condition, one.reason)


def acknowledged(assemblies: Path) -> str:
    """
    Return the section of what is found in templates and stays.
    """
    found: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for folder in sorted(path.parent for path in assemblies.glob("*/manifest.json")):
        for rule, reason in _of_nag(folder):
            found["cdk-nag", rule, reason].add(folder.name)
        for rule, reason in _of_checkov(folder.name):
            found["checkov", rule, reason].add(folder.name)
    rows = [
        [linter, code(rule), reason, ", ".join(sorted(apps))]
        for (linter, rule, reason), apps in sorted(found.items())
    ]
    return f"{_LINTERS}\n{table(('linter', 'rule', 'why it stays', 'apps'), rows)}"


def policies() -> str:
    """
    Return what is found in policies and stays.
    """
    rows = [
        [linter, code(issue), code(detail), reason]
        for (linter, issue, detail), reason in sorted(ARGUED.items())
    ]
    head = ("linter", "issue", "found", "why it stays")
    return f"{_POLICIES}\n{table(head, rows)}"


def others() -> str:
    """
    Return the section of the same deployment by others.
    """
    told = json.loads(FOUND.read_text(encoding="utf-8"))
    linters = ", ".join(f"{name} {each}" for name, each in told["linters"].items())
    makers = told["makers"]
    head = ["", *(f"{code(name)} {one['version']}" for name, one in makers.items())]
    rows = [
        [kind, *(_counts(one["found"][kind]) for one in makers.values())]
        for kind in (*told["linters"], "managed policies")
    ]
    text = _OTHERS.format(deployment=told["deployment"], linters=linters)
    return f"{text}\n{table(head, rows)}\n{_AFTER}"


def _counts(found: Mapping[str, int]) -> str:
    shown = [
        f"{number} x {code(rule)}" if number > 1 else code(rule)
        for rule, number in sorted(found.items())
    ]
    return "<br>".join(shown) or "nothing"


def _of_nag(folder: Path) -> set[tuple[str, str]]:
    """
    Return the rules that are acknowledged, without the resources that they name.
    """
    found = set()
    for file in folder.rglob("*.metadata.json"):
        for entries in json.loads(file.read_text(encoding="utf-8")).values():
            for entry in entries:
                if entry["type"] == _ACKNOWLEDGED:
                    found |= {
                        (rule.partition("[")[0].rpartition("::")[2], reason)
                        for rule, reason in entry["data"].items()
                    }
    return found


def _of_checkov(name: str) -> list[tuple[str, str]]:
    where = "app.py" if name == "reference" else f"examples/{name}/app.py"
    return _SKIPPED.findall((ROOT / where).read_text(encoding="utf-8"))


def page(assemblies: Path) -> str:
    """
    Return the page's text, of a folder that has each example's assembly, and the
    reference app's, under its name.
    """
    sections = (
        reasons(assemblies),
        roles(assemblies),
        GIVEN,
        SECRETS,
        LICENCES,
        keys(),
        NETWORKS,
        images(),
        acknowledged(assemblies),
        policies(),
        others(),
    )
    return "\n".join([_HEAD, *sections])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", SYNTHESIS, folder], check=True)
        TARGET.write_text(page(Path(folder)), encoding="utf-8")
