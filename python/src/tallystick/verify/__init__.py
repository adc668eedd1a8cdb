"""A second, independent verifier of ledgers, written from docs/formats alone.

It shares no code with the verifier in TypeScript. So a file that both verifiers accept follows
docs/formats.
"""

from .errors import Refused, Unreadable
from .export import Report, Trust, verify_export
from .source import open_lines

__all__ = ['Refused', 'Report', 'Trust', 'Unreadable', 'open_lines', 'verify_export']
