"""
Chat templates: which travel in a variable, and which in a file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from cdk_sagemaker_llm.tokens import is_unresolved

TEMPLATE_FILE = "chat_template.jinja"
# What SageMaker takes as a variable's value (CreateModel).
_LONGEST = 1024
# supervisord takes what follows these for a comment.
_HALF = re.compile(r"[\ud800-\udfff]")
_COMMENTS = (" #", " ;", "\t#", "\t;")


def is_told_in_line(template: str) -> bool:
    """
    Whether a template can stand in a variable: a path, or one short line.
    """
    # Half a pair of surrogates is in no file either: what checks variables refuses it.
    if is_unresolved(template) or _HALF.search(template):
        return True
    if "\n" in template or any(mark in template for mark in _COMMENTS):
        return False
    return len(template.encode()) <= _LONGEST


def with_template(
    files: Mapping[str, bytes], template: str | None
) -> Mapping[str, bytes]:
    """
    Return what goes into the model tarball, with the template if that travels there.
    """
    if template is None or is_told_in_line(template):
        return files
    return {**files, TEMPLATE_FILE: template.encode()}
