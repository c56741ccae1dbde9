"""
Write ``docs/security.md`` from the code: ``python -m tools.security_page``.
"""

from __future__ import annotations

from pathlib import Path

from tools.security_page import keys, linters, prose, roles

TARGET = Path(__file__).parents[2] / "docs" / "security.md"
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


def page(assemblies: Path) -> str:
    """
    Return the page's text.

    Args:
        assemblies: The folder that has each example's assembly, and the reference
            app's, under its name.
    """
    sections = (
        roles.reasons(assemblies),
        roles.roles(assemblies),
        prose.GIVEN,
        prose.SECRETS,
        prose.LICENCES,
        keys.keys(),
        prose.NETWORKS,
        prose.images(),
        linters.acknowledged(assemblies),
        linters.policies(),
        linters.others(),
    )
    return "\n".join([_HEAD, *sections])
