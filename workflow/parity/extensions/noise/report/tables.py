"""The tables that are shown of noise, made when figures are drawn."""

from parity.analysis.tables import Added
from parity.extensions.noise.analysis import study

ADDED = Added(study.SHOWN, study.shown)
