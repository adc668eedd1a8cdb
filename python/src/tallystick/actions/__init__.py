"""Actions of agents as records: `Actions`, `@accountable`. The adapters write with it."""

from .accountable import accountable, default_actions
from .action import Action, Call, Told
from .actions import Actions, current_action, within

__all__ = ['Action', 'Actions', 'Call', 'Told', 'accountable', 'current_action', 'default_actions', 'within']
