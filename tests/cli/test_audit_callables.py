"""``wordveil audit`` of anybody's callable: exit codes, files and refusals."""

from __future__ import annotations
