"""Hooks for the Claude Agent SDK: `ClaudeAgentOptions(hooks=tallystick_hooks())`. `tallystick hook` makes the same records."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import uuid4

from ..actions import Actions
from ..actions.content import content_of, defined, error_of, references_of, short
from ..notarizer.items import TRACEPARENT, RecordOptions
from .claude_statuses import is_told_before, status_of_end, status_of_failure, status_of_response
from .runs import Runs

FRAMEWORK = 'claude-agent-sdk'
_MCP_TOOL = re.compile(r'mcp__(.+?)__(.+)\Z')
_WITH_TOOL = ('PreToolUse', 'PostToolUse', 'PostToolUseFailure', 'PermissionRequest')
_OTHERS = ('SubagentStart', 'SubagentStop', 'Stop')

Event = Mapping[str, Any]
Hook = Callable[[Any, 'str | None', Any], Awaitable[dict[str, Any]]]


@dataclass
class HookMatcher:
    """Replaces the SDK's class of this name. Has only the members that the SDK reads."""

    matcher: str | None = None
    hooks: list[Hook] = field(default_factory=list)
    timeout: float | None = None


class HookRecord(NamedTuple):
    """The record of one event."""

    type: str
    payload: dict[str, Any]
    options: RecordOptions
    is_before: bool
    """True if the hook can still deny the deed."""


def tallystick_hooks(actions: Actions | None = None) -> dict[str, list[HookMatcher]]:
    """Records what an agent of the Claude Agent SDK does: tool calls with their outcomes, subagents,
    permission requests.

    `actions`: the `Actions` object that writes the records; its options `content`, `framework` and
    `fail_closed` apply. With `fail_closed`, a tool is called only when the ledger has the record,
    and denied otherwise. A hook never raises.
    """
    writer = actions or Actions(framework=FRAMEWORK)
    hook = hook_of(writer)
    return {name: [HookMatcher(hooks=[hook])] for name in (*_WITH_TOOL, *_OTHERS)}


def hook_of(actions: Actions) -> Hook:
    """Returns a hook for all events. When an agent stops, its open calls end as `unknown`."""
    open_calls: Runs[tuple[str, HookRecord]] = Runs()

    def end(handle: str, made: HookRecord, status: str) -> None:
        open_calls.take(handle)
        payload = {name: value for name, value in made.payload.items() if name in _CALL_MEMBERS}
        options: RecordOptions = {'references': made.options.get('references'), 'traceparent': made.options.get('traceparent')}
        outcome: RecordOptions = {**options, 'type': 'agent-outcome/1', 'parent_handle': handle}
        actions.record_later({**payload, 'status': status}, outcome)

    def follow(event: Event, made: HookRecord) -> None:
        """Updates the open calls."""
        name, handle = event['hook_event_name'], made.options.get('parent_handle')
        if name == 'PreToolUse' and (own := made.options.get('handle')) is not None:
            open_calls.add(own, (_agent_of(event), made))
        elif made.type == 'agent-outcome/1':
            open_calls.take(handle)
        elif name == 'PermissionDenied' and handle is not None and (found := open_calls.find(handle)) is not None:
            end(handle, found[1], 'denied')

    def end_open(event: Event) -> None:
        for handle, (agent, made) in open_calls.items():
            if agent == _agent_of(event):
                end(handle, made, 'unknown')

    async def record(event: Any, _tool_use_id: str | None, _context: Any) -> dict[str, Any]:
        made = record_of(event, keep=actions.content, held=actions.fail_closed, framework=actions.framework or FRAMEWORK)
        if made is None:
            return {}
        if event['hook_event_name'] in ('Stop', 'SubagentStop', 'SessionEnd'):
            end_open(event)
        if event['hook_event_name'] == 'Stop':
            return {}
        options: RecordOptions = {**made.options, 'type': made.type}
        if not made.is_before or not actions.fail_closed:
            actions.record_later(made.payload, options)
            follow(event, made)
            return {}
        handle = options.setdefault('handle', f'hook:{uuid4().hex}') or ''
        try:
            await asyncio.wait_for(asyncio.wrap_future(actions._hold(made.payload, options, handle)), actions.hold_s_max)
            follow(event, made)
            return {}
        except Exception as cause:
            why = f'no confirmation after {actions.hold_s_max * 1000:g} ms' if isinstance(cause, TimeoutError) else str(cause)
            error = f'the action was not started, because it is not in the ledger: {why}'
            actions.record_later({'status': 'denied', 'error': short(error, 4096)}, {'type': 'agent-outcome/1', 'parent_handle': handle})
            return _denial(event['hook_event_name'], error)
        except asyncio.CancelledError:
            actions.record_later({'status': 'denied'}, {'type': 'agent-outcome/1', 'parent_handle': handle})
            raise

    return record


_CALL_MEMBERS = ('kind', 'name', 'server', 'callId', 'session', 'agent', 'framework', 'attributes')


def _agent_of(event: Event) -> str:
    """Returns the key of the agent: its session, and its id if it is a subagent."""
    return json.dumps([event.get('session_id'), event.get('agent_id')], default=str)


def record_of(event: Any, *, keep: bool = False, held: bool = False, framework: str | None = None) -> HookRecord | None:
    """Returns the record of an event. An unknown event becomes an action of kind `other`. Returns None
    if the value is not an event.
    """
    if not isinstance(event, Mapping) or short(event.get('hook_event_name'), 128) is None:
        return None
    made = _Events(event, keep, held, framework)
    name = str(event['hook_event_name'])
    if name == 'PreToolUse':
        return made.action(made.tool_call(), ['tool_input'])
    if name == 'PostToolUse':
        return made.outcome(made.tool_call(), status_of_response(event), ['tool_response', 'tool_output'])
    if name == 'PostToolUseFailure':
        error = event.get('error', event.get('error_message'))
        return made.outcome(made.tool_call(), {**error_of(error, keep=keep), **status_of_failure(event)}, [])
    if name == 'PermissionRequest':
        return made.approval({'decision': 'escalate'})
    if name == 'PermissionDenied':
        return made.approval({'decision': 'deny', 'why': short(event.get('reason'), 4096)})
    if name == 'SubagentStart':
        return made.action(made.subagent(), [])
    if name == 'SubagentStop':
        return made.outcome(made.subagent(), status_of_end(event), [])
    if name == 'SessionStart':
        return made.action(made.session_call(), [])
    if name == 'SessionEnd':
        return made.outcome(made.session_call(), status_of_end(event), [])
    return made.other(name)


def _denial(name: str, why: str) -> dict[str, Any]:
    """Returns the answer that denies the deed of an event, in the form that the host reads. `why`: text for the model."""
    if name == 'PreToolUse':
        return {'hookSpecificOutput': {'hookEventName': name, 'permissionDecision': 'deny', 'permissionDecisionReason': why}}
    if name == 'PermissionRequest':
        return {'hookSpecificOutput': {'hookEventName': name, 'decision': {'behavior': 'deny', 'message': why}}}
    return {'decision': 'block', 'reason': why}


class _Called(NamedTuple):
    kind: str
    name: str
    server: str | None
    call_id: str | None
    handle: str | None
    """Handle by which outcomes and children name this action. None: the event does not identify it."""
    within: str | None


class _Events:
    def __init__(self, event: Event, keep: bool, held: bool, framework: str | None) -> None:
        self._event = event
        self._keep = keep
        self._framework = framework
        self._session = short(event.get('session_id'), 256)
        self._told_first = 'held' if held else 'before'

    def tool_call(self) -> _Called:
        tool = short(self._event.get('tool_name'), 512) or 'unknown'
        mcp = _MCP_TOOL.match(tool)
        call_id = short(self._event.get('tool_use_id'), 256)
        within = self._handle('agent', short(self._event.get('agent_id'), 256)) or self._session_handle()
        server, name = (mcp[1], mcp[2]) if mcp else (None, tool)
        return _Called('tool', name, server, call_id, self._handle('tool', call_id), within)

    def subagent(self) -> _Called:
        call_id = short(self._event.get('agent_id'), 256)
        name = short(self._event.get('agent_type'), 512) or 'subagent'
        return _Called('agent', name, None, call_id, self._handle('agent', call_id), self._session_handle())

    def session_call(self) -> _Called:
        return _Called('agent', 'session', None, None, self._session_handle(), None)

    def action(self, call: _Called, members: Sequence[str]) -> HookRecord:
        payload = {**self._members(call), **self._content('arguments', members), 'told': self._told_first}
        options = {**self._options(call), 'handle': call.handle, 'parent_handle': call.within}
        return HookRecord('agent-action/1', payload, _given(options), is_before=True)

    def outcome(self, call: _Called, end: Mapping[str, Any], members: Sequence[str]) -> HookRecord:
        took = self._event.get('duration_ms')
        is_duration = isinstance(took, (int, float)) and not isinstance(took, bool) and took >= 0
        payload = {
            **self._members(call),
            **defined(end),
            **self._content('result', members),
            **({'durationMs': took} if is_duration else {}),
        }
        return self._following('agent-outcome/1', call, payload)

    def approval(self, decided: Mapping[str, Any]) -> HookRecord:
        call = self.tool_call()
        content = self._content('arguments', ['tool_input'], decided.get('why') or '')
        payload = {**self._members(call), **defined(decided), 'by': {'kind': 'policy'}, **content}
        # A permission request comes before the deed, so the deed can still be denied.
        return self._following('approval/1', call, payload, is_before=decided['decision'] == 'escalate')

    def other(self, name: str) -> HookRecord:
        call = _Called('other', short(name, 128) or name, None, None, None, self._session_handle())
        content = content_of('arguments', dict(self._event), keep=self._keep)
        is_before = is_told_before(name)
        payload = {**self._members(call), **content, 'told': self._told_first if is_before else 'after'}
        return self._following('agent-action/1', call, payload, is_before=is_before)

    def _following(self, kind: str, call: _Called, payload: dict[str, Any], *, is_before: bool = False) -> HookRecord:
        """Returns a record whose parent is its action. If the event does not identify the action, the
        record's parent is the action's parent.
        """
        options = {**self._options(call), 'parent_handle': call.handle or call.within}
        return HookRecord(kind, payload, _given(options), is_before=is_before)

    def _content(self, name: Any, members: Sequence[str], besides: str = '') -> dict[str, Any]:
        """Returns the payload members for the first of `members` that the event has."""
        for member in members:
            if member in self._event:
                return content_of(name, self._event[member], keep=self._keep, besides=besides)
        return {}

    def _members(self, call: _Called) -> dict[str, Any]:
        get = self._event.get
        attributes = {
            'event': short(get('hook_event_name'), 128),
            'cwd': short(get('cwd'), 1024),
            'permissionMode': short(get('permission_mode'), 128),
            'source': short(get('source'), 128),
            'reason': short(get('reason'), 1024),
        }
        members = {
            'kind': call.kind,
            'name': call.name,
            'server': call.server,
            'callId': call.call_id,
            'session': self._session,
            'agent': short(get('agent_type'), 256),
            'framework': self._framework,
            'attributes': defined(attributes),
        }
        return defined(members)

    def _options(self, call: _Called) -> dict[str, Any]:
        named = {'gen_ai.conversation.id': self._session}
        if call.kind == 'tool':
            named['gen_ai.tool.call.id'] = call.call_id
            named['gen_ai.agent.id'] = short(self._event.get('agent_id'), 256)
        else:
            named['gen_ai.agent.id'] = call.call_id
        found = os.environ.get('TRACEPARENT', '')
        return {'references': references_of(named) or None, 'traceparent': found if TRACEPARENT.match(found) else None}

    def _session_handle(self) -> str | None:
        return self._handle('session', self._session)

    def _handle(self, kind: str, name: str | None) -> str | None:
        """Returns a handle of fixed form and length: ids of other programs may contain anything."""
        if name is None:
            return None
        text = json.dumps([self._session, kind, name], ensure_ascii=False, separators=(',', ':'))
        return f'hook:{sha256(text.encode()).hexdigest()[:32]}'


def _given(options: Mapping[str, Any]) -> RecordOptions:
    found: RecordOptions = defined(options)  # type: ignore[assignment]
    return found
