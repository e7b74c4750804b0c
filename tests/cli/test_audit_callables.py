"""``wordveil audit`` of anybody's callable: exit codes, files and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_commands import run
from wordveil.audit import cases
