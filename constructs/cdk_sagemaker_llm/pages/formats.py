"""
The formats that a picture can be drawn in.
"""

from __future__ import annotations

from pathlib import Path


def refuse_ending(path: Path) -> None:
    """
    Refuse a file of no format that can be drawn, before anything is computed.

    Raises:
        ValueError: If matplotlib is missing, or the ending is of no known format.
    """
    try:
        from matplotlib.backend_bases import FigureCanvasBase  # noqa: PLC0415 - an extra
    except ImportError as fault:
        raise ValueError(
            "--png needs matplotlib; install it with: "
            "pip install 'cdk-sagemaker-llm[plot]'"
        ) from fault
    known = FigureCanvasBase.get_supported_filetypes()
    if path.suffix.lower().removeprefix(".") not in known:
        raise ValueError(
            f"--png {path} must end in the name of a format: {', '.join(sorted(known))}"
        )
