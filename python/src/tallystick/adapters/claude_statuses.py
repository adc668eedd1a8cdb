"""Derives the status of a deed from events of the Claude Agent SDK (docs/reference/outcomes.md), as `tallystick hook` does."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

Event = Mapping[str, Any]
End = dict[str, str]
"""`status`, and `errorType` if a cause is known."""

_GOES_ON = ('backgroundTaskId', 'isAsync')
"""Members of an answer that tell that the tool continues: a background command, an agent that was launched."""
_CUT_OFF = ('interrupted', 'is_interrupt', 'timedOut', 'timed_out', 'cancelled', 'canceled', 'aborted')
_EXIT_CODES = ('exitCode', 'exit_code', 'returncode')
_DIGITS = re.compile(r'-?[0-9]{1,10}')
_FAILED = ('isError', 'is_error', 'error')
_EXIT_CODE_MAX = 2**53


def status_of_response(event: Event) -> End:
    """Returns the status of a tool that answered: `ok`, unless the answer says that the tool failed,
    was cut off or continues.
    """
    asked, written = event.get('tool_input'), event.get('tool_response', event.get('tool_output'))
    answer = _parse_object(written) if isinstance(written, str) else written
    said: Event = answer if isinstance(answer, Mapping) else {}
    if _says(said, _CUT_OFF):
        return _unknown('interrupted')
    code: Any = next((code for code in map(said.get, _EXIT_CODES) if _is_exit_code(code)), 0)
    is_bad_exit = float(code) != 0
    if _says(said, _FAILED) or said.get('success') is False or is_bad_exit:
        return {'status': 'error', 'errorType': _exit_type(code) if is_bad_exit else 'isError'}
    goes_on = isinstance(asked, Mapping) and asked.get('run_in_background') is True
    return _unknown('background') if goes_on or _says(said, _GOES_ON) else {'status': 'ok'}


def status_of_failure(event: Event) -> End:
    """Returns the status of a tool whose event reports a failure."""
    if _says(event, ('is_interrupt',)):
        return _unknown('interrupted')
    kind = event.get('failure_type')
    if kind == 'permission_denied':
        return {'status': 'denied', 'errorType': 'permission_denied'}
    return _unknown('timeout') if kind == 'timeout' else {'status': 'error'}


def status_of_end(event: Event) -> End:
    """Returns the status of a session or subagent that has ended.

    Claude Code sends no status, and its reasons are not failures. Other hosts send a status; if it
    is not in the lists below, the result is `unknown`.
    """
    statuses = [str(said).lower() for said in (event.get('final_status'), event.get('status')) if said is not None]
    for word in (*statuses, str(event.get('reason')).lower()):
        if word in _ENDS:
            return dict(_ENDS[word])
    return {'status': 'ok'} if all(word in _WELL for word in statuses) else _unknown('status')


_ENDS: Mapping[str, End] = {
    **{word: {'status': 'error'} for word in ('error', 'failed', 'failure')},
    **{word: {'status': 'unknown', 'errorType': 'aborted'} for word in ('aborted', 'cancelled', 'canceled', 'interrupted')},
    **{word: {'status': 'unknown', 'errorType': word} for word in ('timeout', 'window_close', 'user_close')},
}
_WELL = frozenset(('completed', 'complete', 'success', 'succeeded', 'ok', 'done', 'finished'))

_BEFORE = frozenset(
    ('userpromptsubmit', 'userpromptexpansion', 'configchange', 'taskcreated', 'elicitation', 'elicitationresult', 'worktreecreate')
)
_WORDS = re.compile(r'[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])')


def is_told_before(name: str) -> bool:
    """Whether the host sends an event of this name before its deed and waits for the hook, such as `PreCompact`."""
    if re.sub('[^A-Za-z]', '', name).lower() in _BEFORE:
        return True
    words = [word for word in _WORDS.split(name) if word]
    if len(words) == 1:
        return re.match('before|pre', words[0], re.IGNORECASE) is not None
    return bool(words) and any(word.lower() in ('before', 'pre') for word in (words[0], words[-1]))


def _unknown(why: str) -> End:
    return {'status': 'unknown', 'errorType': why}


def _says(members: Event, names: Sequence[str]) -> bool:
    found = [members.get(name) for name in names]
    return any(value is not None and value is not False and not (isinstance(value, str) and value == '') for value in found)


def _is_exit_code(code: Any) -> bool:
    if isinstance(code, str):
        return _DIGITS.fullmatch(code) is not None
    return isinstance(code, (int, float)) and not isinstance(code, bool)


def _exit_type(code: Any) -> str:
    return f'exit:{code:g}' if isinstance(code, float) else f'exit:{code}' if abs(int(code)) < _EXIT_CODE_MAX else 'isError'


def _parse_object(text: str) -> Any:
    def refuse(_: str) -> NoReturn:
        raise ValueError

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None
