"""Tests the table of outcomes with the Claude Agent SDK. Also tests calls for which no event reports
the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from outcomes import Recorder, expected, require_all

from tallystick.adapters.claude import tallystick_hooks

WAY = 'python-claude'
CALL = {'session_id': 's', 'tool_name': 'Bash', 'tool_use_id': 't1', 'tool_input': {'command': 'ls'}}
BEFORE: dict[str, Any] = {**CALL, 'hook_event_name': 'PreToolUse'}
AFTER: dict[str, Any] = {**CALL, 'hook_event_name': 'PostToolUse', 'tool_response': {'stdout': 'a'}}
FAILURE: dict[str, Any] = {**CALL, 'hook_event_name': 'PostToolUseFailure', 'error': 'no'}
STOP: dict[str, Any] = {'session_id': 's', 'hook_event_name': 'Stop'}


def tell(*events: dict[str, Any], recorder: Recorder | None = None, **options: Any) -> list[str]:
    recorder = recorder or Recorder()
    hooks = tallystick_hooks(recorder.actions(**options))

    async def main() -> None:
        for event in events:
            for matcher in hooks.get(event['hook_event_name'], hooks['PreToolUse']):
                await matcher.hooks[0](event, None, None)

    asyncio.run(main())
    return recorder.ends('tool')


CASES: dict[str, Callable[[], list[str]]] = {
    'returns': lambda: tell(BEFORE, AFTER, STOP),
    'throws-error': lambda: tell(BEFORE, FAILURE, STOP),
    'denied-by-person': lambda: tell(BEFORE, {**CALL, 'hook_event_name': 'PermissionDenied', 'reason': 'no'}, STOP),
    'not-recorded': lambda: tell(BEFORE, recorder=Recorder(is_away=True), fail_closed=True, hold_s_max=0.01),
    'cancelled-during': lambda: tell(BEFORE, {**FAILURE, 'is_interrupt': True}, STOP),
}


def test_every_case_of_the_table_is_tested() -> None:
    require_all(WAY, CASES)


@pytest.mark.parametrize('case', CASES)
def test_a_call_ends_as_the_table_says(case: str) -> None:
    assert CASES[case]() == [expected(WAY)[case]]


@pytest.mark.parametrize(
    'answer',
    [
        {**AFTER, 'tool_response': {'stdout': '', 'interrupted': True}},
        {**AFTER, 'tool_input': {'command': 'ls', 'run_in_background': True}},
        {**AFTER, 'tool_response': {'backgroundTaskId': 'b1'}},
        {**AFTER, 'tool_response': {'isAsync': True, 'agentId': 'a1'}},
    ],
)
def test_a_call_that_was_interrupted_or_goes_on_is_no_ok(answer: dict[str, Any]) -> None:
    assert tell(BEFORE, answer) == ['unknown']


@pytest.mark.parametrize('answer', [{'isError': True, 'content': []}, {'success': False}, {'error': 'no'}, '{"exitCode": 1}'])
def test_an_answer_that_says_it_is_an_error_is_one(answer: Any) -> None:
    assert tell(BEFORE, {**AFTER, 'tool_response': answer}) == ['error']


def test_an_agent_that_stops_ends_its_open_calls_and_no_others() -> None:
    within = {**BEFORE, 'tool_use_id': 't2', 'agent_id': 'a1'}
    ends = {'session_id': 's', 'agent_id': 'a1', 'hook_event_name': 'SubagentStop'}
    assert tell(BEFORE, within, ends) == ['open', 'unknown']
    assert tell(BEFORE, within, ends, STOP) == ['unknown', 'unknown']
    assert tell(BEFORE, {**BEFORE, 'session_id': 'other', 'tool_use_id': 't3'}, STOP) == ['unknown', 'open']


def test_a_call_whose_wait_is_cancelled_is_denied() -> None:
    recorder = Recorder(is_away=True)
    hook = tallystick_hooks(recorder.actions(fail_closed=True))['PreToolUse'][0].hooks[0]

    async def main() -> None:
        waiting = asyncio.ensure_future(hook(BEFORE, None, None))
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.wait([waiting])

    asyncio.run(main())
    assert recorder.ends('tool') == ['denied']
