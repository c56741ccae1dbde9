"""
Answers that come a page at a time.
"""

from __future__ import annotations

from typing import TypeVar

from moto.cloudformation.exceptions import ValidationError

_PAGE = 100  # The service's own pages are of 1 MB.
_Item = TypeVar("_Item")


def page(
    items: list[_Item], token: str | None, size: int | None = None
) -> tuple[list[_Item], str | None]:
    """
    Cut out the page that a token asks for.

    Returns:
        The page, and the token of the next one if there is one.

    Raises:
        ValidationError: If no answer has given such a token.
    """
    if token is not None and not token.isdecimal():
        raise ValidationError(message=f"Invalid NextToken: {token}")
    start = int(token or 0)
    end = start + (size or _PAGE)
    return items[start:end], str(end) if end < len(items) else None
