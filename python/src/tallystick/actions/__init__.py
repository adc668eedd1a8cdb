"""Records actions of agents: `Actions`, `@accountable`. The adapters for frameworks use it."""

from .accountable import accountable, default_actions
from .action import Action, Call, Told
from .actions import Actions
from .content import matches_digest
from .following import current_action, follow, within

__all__ = ['Action', 'Actions', 'Call', 'Told', 'accountable', 'current_action', 'default_actions', 'follow', 'matches_digest', 'within']
