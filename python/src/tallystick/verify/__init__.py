"""A second, independent verifier of Tallystick's ledgers, written from docs/formats alone.

It shares no code with the one in TypeScript, so what both take is what the format says.
"""

from .errors import Refused, Unreadable
from .export import Report, Trust, verify_export
from .source import open_lines

__all__ = ['Refused', 'Report', 'Trust', 'Unreadable', 'open_lines', 'verify_export']
