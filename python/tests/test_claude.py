"""Hooks for the Claude Agent SDK make the same records as `tallystick hook`. Also runs a session of
events on a real server.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from typing import Any

import pytest
from ledger import QUICK, Ledger, Proxy, ledger, needs_server, proxy
from oracle import ROOT
from outcomes import Recorder

from tallystick.actions import Actions
from tallystick.adapters.claude import record_of, tallystick_hooks

__all__ = ['ledger', 'proxy']
SESSION = {'session_id': 's-é', 'cwd': '/work', 'permission_mode': 'default'}
BASH = {**SESSION, 'tool_name': 'Bash', 'tool_use_id': 't1', 'tool_input': {'command': 'ls', 'n': 1.5}}
MCP = {
    **SESSION,
    'tool_name': 'mcp__files__read_all',
    'tool_use_id': 't2',
    'tool_input': 'a text',
    'agent_id': 'a1',
    'agent_type': 'reader',
}
WHY = 'the action was not started, because it is not in the ledger: no confirmation after 10 ms'
ANSWERS: list[Any] = [
    {'stdout': '', 'interrupted': True},
    {'stdout': '', 'backgroundTaskId': 'b1'},
    {'isAsync': True, 'status': 'async_launched', 'agentId': 'a1'},
    {'content': [], 'isError': True},
    {'llmContent': 'x', 'error': {'message': 'no such file'}},
    {'success': False},
    {'exitCode': -9},
    {'exitCode': 2.5},
    json.dumps({'exitCode': 1, 'stdout': ''}),
    json.dumps({'exitCode': 0, 'stdout': ''}),
    {'success': True, 'error': None, 'isError': False},
    {'exitCode': True},
    {'exit_code': 1},
    {'returncode': '2'},
    {'exitCode': '0'},
    {'exitCode': 'none', 'returncode': 3},
    {'timedOut': True},
    {'cancelled': True},
    '{ no JSON',
    '{"isError": NaN}',
    '',
    [{'type': 'text', 'text': 'error'}],
    None,
]
FAILURES: list[dict[str, Any]] = [
    {},
    {'is_interrupt': True},
    {'is_interrupt': False},
    {'failure_type': 'permission_denied'},
    {'failure_type': 'timeout'},
]
ENDS = ['completed', 'Done', 'error', 'failure', 'aborted', 'interrupted', 'timeout', 'user_close', 'paused']
EVENTS: list[dict[str, Any]] = [
    {**SESSION, 'hook_event_name': 'SessionStart', 'source': 'startup'},
    {**BASH, 'hook_event_name': 'PreToolUse'},
    {**BASH, 'hook_event_name': 'PostToolUse', 'tool_response': {'stdout': 'a\n'}, 'duration_ms': 12},
    {**SESSION, 'hook_event_name': 'SubagentStart', 'agent_id': 'a1', 'agent_type': 'reader'},
    {**MCP, 'hook_event_name': 'PreToolUse'},
    {**MCP, 'hook_event_name': 'PermissionRequest'},
    {**MCP, 'hook_event_name': 'PostToolUseFailure', 'error': 'no such file'},
    {**SESSION, 'hook_event_name': 'SubagentStop', 'agent_id': 'a1', 'agent_type': 'reader'},
    {**BASH, 'tool_use_id': 't3', 'hook_event_name': 'PermissionDenied', 'reason': 'not that'},
    {**SESSION, 'hook_event_name': 'UserPromptSubmit', 'prompt': 'Käse'},
    {**SESSION, 'hook_event_name': 'PreCompact', 'trigger': 'auto'},
    {**SESSION, 'hook_event_name': 'Notification', 'message': 'waits'},
    {'hook_event_name': 'PreToolUse', 'tool_name': 'Read'},
    *({**BASH, 'hook_event_name': 'PostToolUse', 'tool_response': answer} for answer in ANSWERS),
    *({**BASH, 'hook_event_name': 'PostToolUseFailure', 'error': 'no', **how} for how in FAILURES),
    *({**SESSION, 'hook_event_name': 'SubagentStop', 'agent_id': 'a1', 'status': status} for status in ENDS),
    {**SESSION, 'hook_event_name': 'SessionEnd', 'reason': 'other'},
]


def test_records_are_those_of_the_command() -> None:
    command = ['node', 'tools/run.mjs', 'test/system/python/hook.ts']
    said = subprocess.run(command, cwd=ROOT, input=json.dumps(EVENTS), capture_output=True, text=True, check=True, timeout=60).stdout
    ours = []
    for event in EVENTS:
        made = record_of(event, framework='claude-agent-sdk')
        assert made is not None
        options: dict[str, Any] = dict(made.options)
        if 'parent_handle' in options:
            options['parentHandle'] = options.pop('parent_handle')
        ours.append({'type': made.type, 'payload': made.payload, 'options': options, 'isBefore': made.is_before})
    assert json.loads(said) == ours
    assert record_of({}) is None


@needs_server
def test_a_session_with_a_subagent_an_error_and_a_denial_is_the_tree_of_it(ledger: Ledger) -> None:
    actions = Actions(ledger.client)
    asyncio.run(_tell(actions, EVENTS[:9] + EVENTS[-1:]))
    actions.close()
    assert ledger.lines() == [
        'agent session · before · ok',
        '  tool Bash · before · ok',
        '  agent reader · before · ok',
        '    tool read_all · before · error',
        '      escalate by policy',
        'deny by policy',
    ]
    assert [record['payload']['decision'] for record in ledger.records(type='approval/1')] == ['escalate', 'deny']


@pytest.mark.parametrize(
    ('name', 'denial'),
    [
        (
            'PermissionRequest',
            {'hookSpecificOutput': {'hookEventName': 'PermissionRequest', 'decision': {'behavior': 'deny', 'message': WHY}}},
        ),
        ('UserPromptSubmit', {'decision': 'block', 'reason': WHY}),
        ('PreCompact', {'decision': 'block', 'reason': WHY}),
        ('Notification', {}),
    ],
)
def test_with_fail_closed_each_event_before_a_deed_is_denied_in_the_form_of_its_host(name: str, denial: dict[str, Any]) -> None:
    actions = Recorder(is_away=True).actions(fail_closed=True, hold_s_max=0.01)
    assert asyncio.run(_tell(actions, [{**BASH, 'hook_event_name': name}])) == [denial]


@needs_server
def test_with_fail_closed_a_tool_call_is_denied_that_the_ledger_does_not_have(ledger: Ledger, proxy: Proxy) -> None:
    actions = Actions(ledger.connect(proxy.url), fail_closed=True, hold_s_max=20, on_error=lambda _: None, **QUICK)
    assert asyncio.run(_tell(actions, EVENTS[1:2])) == [{}]
    proxy.refuse()
    actions.hold_s_max = 0.1
    (answer,) = asyncio.run(_tell(actions, EVENTS[4:5]))
    why = 'the action was not started, because it is not in the ledger: no confirmation after 100 ms'
    output = {'hookEventName': 'PreToolUse', 'permissionDecision': 'deny', 'permissionDecisionReason': why}
    assert answer == {'hookSpecificOutput': output}
    proxy.accept()
    actions.close()
    assert ledger.lines() == ['tool Bash · held', f'tool read_all · held · denied · {why}']


async def _tell(actions: Actions, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    hooks = tallystick_hooks(actions)
    anything = hooks['PreToolUse']
    return [
        await hook(event, event.get('tool_use_id'), None)
        for event in events
        for matcher in hooks.get(event['hook_event_name'], anything)
        for hook in matcher.hooks
    ]
