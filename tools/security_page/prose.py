"""
What the page says in words: of given roles, secrets, licences, networks and images.
"""

from __future__ import annotations

from cdk_sagemaker_llm.catalog.image_rows import accounts_of
from cdk_sagemaker_llm.catalog.images import image_families
from tools.engine_page.tables import code, codes, table

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
