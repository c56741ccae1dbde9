"""
A bearer token of the official generator.
"""

from __future__ import annotations

import json

from sagemaker.core.token_generator import generate_token

if __name__ == "__main__":
    print(json.dumps({"token": generate_token(region="us-east-1")}))
