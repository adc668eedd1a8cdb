"""Tallystick: an accountability ledger for fleets of AI agents. The verifier is `tallystick.verify`."""

__version__ = '0.1.0'
