"""
The worker as it is shipped: the package ``staging``, and the versions that it needs.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Mapping
from pathlib import Path

from aws_cdk import AssetHashType
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from cdk_sagemaker_llm import staging
from cdk_sagemaker_llm.hosting.artifact import content_hash

REQUIREMENTS = "requirements.txt"
_PACKAGE = "cdk_sagemaker_llm"


def worker_asset(scope: Construct, id: str) -> s3_assets.Asset:
    """
    Make the asset that builds and the function run; its hash is of its contents.
    """
    files = worker_files()
    with tempfile.TemporaryDirectory() as folder:
        for name, contents in files.items():
            target = Path(folder) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(contents)
        return s3_assets.Asset(
            scope,
            id,
            path=folder,
            asset_hash=content_hash(files),
            asset_hash_type=AssetHashType.CUSTOM,
            display_name=f"{scope.node.path} staging worker",
        )


@functools.cache
def worker_files() -> Mapping[str, bytes]:
    """
    Return the worker's files by their paths in the asset.
    """
    source = Path(staging.__path__[0])
    modules = {
        f"{_PACKAGE}/staging/{path.name}": path.read_bytes()
        for path in sorted(source.glob("*.py"))
    }
    return {
        # Without it another copy of the library, where there is one, would be taken.
        f"{_PACKAGE}/__init__.py": b"",
        REQUIREMENTS: (source / REQUIREMENTS).read_bytes(),
        **modules,
    }
