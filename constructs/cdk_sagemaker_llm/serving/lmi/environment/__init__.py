"""
An LMI container that is configured by environment variables.

What belongs here turns variables into the properties that the container makes of them,
has the checks of a serving.properties look at those, and says what was found in the
variables' names.
"""

from __future__ import annotations
