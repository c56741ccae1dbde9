"""
The worker of a build: writes what is ordered, and signals that it has.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request

import boto3


def main() -> int:
    """
    Do as the order says.
    """
    order, key = os.environ["STAGING_ORDER"].split()
    # With what a log must not show.
    sys.stdout.write(f"working with {os.environ['TOKEN']}\n")
    if order == "break":
        return 3
    if order == "refuse":
        signal("FAILURE", Reason="the Hub knows no such revision")
        return 0
    boto3.client("s3").put_object(
        Bucket=os.environ["BUCKET"], Key=f"{key}/config.json", Body=b"{}"
    )
    signal("SUCCESS", Data="1 file")
    return 0


def signal(status: str, **words: str) -> None:
    """
    Send a signal to the wait condition's handle.
    """
    told = {"Status": status, "UniqueId": os.environ["CODEBUILD_BUILD_ID"], **words}
    request = urllib.request.Request(  # noqa: S310 - the embedded AWS's address
        os.environ["STAGING_HANDLE"],
        data=json.dumps(told).encode(),
        method="PUT",
        headers={"Content-Type": ""},
    )
    urllib.request.urlopen(request).close()  # noqa: S310 - the same


if __name__ == "__main__":
    sys.exit(main())
