"""
A bearer token of the official generator, and one of this library.
"""

from __future__ import annotations

import json

from sagemaker.core.token_generator import generate_token

from cdk_sagemaker_llm.client import bearer_token

# Both have the second in them: one of a few tries is within one.
TRIES = 5


def main() -> None:
    """
    Make both.
    """
    token = own = ""
    for _ in range(TRIES):
        token, own = generate_token(region="us-east-1"), bearer_token("us-east-1")
        if token == own:
            break
    print(json.dumps({"token": token, "own": own}))


if __name__ == "__main__":
    main()
