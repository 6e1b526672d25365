"""The same texts against a live judge: ask for a duel, tell who won, stop when enough is known."""

from .evidence import interval, log_evidence
from .session import Duel, Known, Live

__all__ = ["Duel", "Known", "Live", "interval", "log_evidence"]
