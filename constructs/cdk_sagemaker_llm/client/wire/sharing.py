"""
Which part of a text each of its tokens stands for.
"""

from __future__ import annotations

# What stands for a byte that is no character: of vLLM, SGLang, and everyone's decoders.
_UNREADABLE = ("\ufffd", "\\x")


def shared(written: list[str], text: str) -> list[str]:
    """
    Share a text out among its tokens, so that the shares make it up.

    A character may be made of several tokens, whose own texts are no text then, or
    nothing: the first of them has it all. Of tokens that are left out of the text, as
    the stop sequence is, none has any. What fits nowhere is all the first one's.

    Args:
        written: The tokens' own texts.

        text: What they make up.
    """
    if "".join(written) == text:
        return written
    shares, place = [""] * len(written), 0
    unread: int | None = None
    for number, token in enumerate(written):
        if not token or any(sign in token for sign in _UNREADABLE):
            unread = number if unread is None else unread
            continue
        found = place if unread is None else text.find(token, place)
        part = text[found : found + len(token)] if found >= 0 else ""
        if unread is not None and part:
            shares[unread] = text[place:found]
            place, unread = found, None
        if not token.startswith(part):
            break
        shares[number] = part
        place += len(part)
    if unread is not None:
        shares[unread] = text[place:]
    if "".join(shares) == text:
        return shares
    return [text, *[""] * (len(written) - 1)]
