"""`parity import`: results of others as an archive that everything here reads."""

from __future__ import annotations

from parity.command_line.main import Command
from parity.imports.command import add_arguments, run

COMMAND = Command("import", "Take results that were measured elsewhere", add_arguments, run)
