"""
The process of the server: ``python -m cdk_sagemaker_llm.local --fd N ...``.
"""

from __future__ import annotations

import functools
import gc
import sys

from botocore import loaders


def main() -> None:
    """
    Import the server in two thirds of the time that it takes otherwise, and run it.
    """
    # Nothing of it is ever garbage.
    gc.disable()
    # moto makes sessions of boto3, each of which reads a megabyte of endpoints.
    loaders.create_loader = functools.cache(loaders.create_loader)
    from cdk_sagemaker_llm.local import server  # noqa: PLC0415 - as said above

    gc.enable()
    server.main(sys.argv[1:])


if __name__ == "__main__":
    main()
