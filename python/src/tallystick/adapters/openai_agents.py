"""OpenAI Agents SDK: `add_trace_processor(TallystickTracingProcessor())`."""

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypedDict, TypeVar

from agents import FunctionTool
from agents.tool_guardrails import ToolGuardrailFunctionOutput, ToolInputGuardrail, ToolInputGuardrailData
from agents.tracing import Span, Trace, TracingProcessor, get_current_span

from ..actions import Action, Actions, Call, Told, current_action
from ..actions.action import Status
from ..actions.content import MISSING
from ..errors import TallystickError
from .runs import Runs

FRAMEWORK = 'openai-agents-python'
FLUSH_S_MAX = 30.0
_TRACE_ID = re.compile(r'trace_([0-9a-f]{32})\Z')
_THROWN = re.compile(r'(\w*Error): (.*)\Z', re.DOTALL)
Tool = TypeVar('Tool', bound=FunctionTool)


@dataclass
class _Node:
    """A trace or a span that has begun."""

    action: Action | None
    """None: of a kind that is no action. Its children hang at the action around it."""
    above: '_Node | None'
    agent: str | None
    """Name of the agent that acts in it."""
    session: str | None
    is_denied: bool = False
    is_guarded: bool = False
    """The tool's guardrail was asked, which is right before it is called."""
    error: str | None = None
    """Why the run failed."""


class TallystickTracingProcessor(TracingProcessor):
    """Writes down what agents of the OpenAI Agents SDK do: runs, agents, hand-overs, calls of tools and models, as the tree that they are.

    It never waits for the server, and never raises: the agents run on while it is away, and what they did is recorded later. A tool that
    must not run unrecorded goes through `guard`.
    """

    def __init__(self, actions: Actions | None = None) -> None:
        self.actions = actions or Actions()
        # A trace stays when it has ended: a run that asked somebody goes on under it, and its start is not told again.
        self._nodes: Runs[_Node] = Runs()
        self._guarded: set[str] = set()

    def on_trace_start(self, trace: Trace) -> None:
        session = getattr(trace, 'group_id', None)
        call = Call(
            kind='other',
            name=trace.name,
            session=session,
            framework=FRAMEWORK,
            traceparent=_traceparent_of(trace.trace_id),
            parent=current_action.get(),
        )
        self._nodes.add(trace.trace_id, _Node(self.actions.begin(call), None, None, session))

    def on_trace_end(self, trace: Trace) -> None:
        run = self._nodes.find(trace.trace_id)
        if run is not None and run.action is not None:
            run.action.end(error=run.error)

    def on_span_start(self, span: Span[Any]) -> None:
        # A tool's input is known once the library goes on, and so is a guarded tool's call.
        if span.span_data.type == 'function':
            try:
                asyncio.get_running_loop().call_soon(lambda: span.ended_at is None and self._begin(span))
                return
            except RuntimeError:
                pass
        self._begin(span)

    def on_span_end(self, span: Span[Any]) -> None:
        node = self._begin(span)
        self._nodes.take(span.span_id)
        data, error = span.span_data, _error_of(span)
        top = _top_of(node)
        if error is not None and top is not None:
            top.error = error
        if data.type == 'guardrail':
            around = _action_around(node.above)
            if around is not None:
                around.decide('deny' if data.triggered else 'allow', by='policy', by_id=data.name)
        elif node.action is None:
            self._tell_after(span, node)
        else:
            is_rejected = _is_rejected(span)
            if is_rejected:
                node.action.decide('deny', by='person')
            status: Status | None = 'denied' if node.is_denied or is_rejected else None
            if status is None and error is None and data.type == 'function' and data.output is None and not node.is_guarded:
                # The library tells a call that waits for a person's approval like one whose result it does not show.
                status = 'unknown'
                if data.name in self._guarded:
                    node.action.decide('escalate', by='unknown')
            node.action.end(status=status, **_outcome_of(span))

    def force_flush(self) -> None:
        # The notarizer has told it.
        with suppress(TallystickError):
            self.actions.flush(FLUSH_S_MAX)

    def shutdown(self) -> None:
        """A record that is not sent by then is still in the spool, if there is one."""
        with suppress(TallystickError):
            self.actions.close(FLUSH_S_MAX)

    def guard(self, tool: Tool) -> Tool:
        """The tool, with a guardrail before its others that records the call with its id, and what the others decide. With `fail_closed`
        the tool is called only when the ledger has the record; otherwise the model hears that it was not.
        """
        self._guarded.add(tool.name)
        others = [self._observed(guardrail) for guardrail in tool.tool_input_guardrails or []]
        tool.tool_input_guardrails = [ToolInputGuardrail(self._record_intent, name='tallystick'), *others]
        return tool

    async def _record_intent(self, data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        span = get_current_span()
        if span is None or span.trace_id == 'no-op':
            return self._without_span()
        context = data.context
        node = self._begin(span, {'call_id': context.tool_call_id, 'arguments': context.tool_arguments}, self.actions.told_first)
        node.is_guarded = True
        if node.action is None:
            return ToolGuardrailFunctionOutput.allow()
        try:
            await node.action.permitted()
        except TallystickError as error:
            return ToolGuardrailFunctionOutput.reject_content(str(error))
        if context.is_tool_approved(context.tool_name, context.tool_call_id) is True:
            node.action.decide('allow', by='person')
        return ToolGuardrailFunctionOutput.allow()

    def _without_span(self) -> ToolGuardrailFunctionOutput:
        """Tracing is off, so nothing is recorded: who wants a record or no deed must not get the deed."""
        if not self.actions.fail_closed:
            return ToolGuardrailFunctionOutput.allow()
        message = 'the tool was not called, because its call cannot be recorded: tracing is disabled'
        return ToolGuardrailFunctionOutput.reject_content(message)

    def _observed(self, guardrail: ToolInputGuardrail[Any]) -> ToolInputGuardrail[Any]:
        async def run(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
            output = await guardrail.run(data)
            span = get_current_span()
            node = None if span is None else self._nodes.find(span.span_id)
            if node is not None and node.action is not None:
                is_allowed = output.behavior['type'] == 'allow'
                node.is_denied = node.is_denied or not is_allowed
                why = output.behavior.get('message')
                node.action.decide(
                    'allow' if is_allowed else 'deny',
                    by='policy',
                    by_id=guardrail.get_name(),
                    why=why if isinstance(why, str) else None,
                )
            return output

        return replace(guardrail, guardrail_function=run, name=guardrail.get_name())

    def _begin(self, span: Span[Any], call: '_CallMembers | None' = None, told: Told = 'before') -> _Node:
        """Once for each span, by whichever of its callers comes first."""
        known = self._nodes.find(span.span_id)
        if known is not None:
            return known
        described = _describe_start(span.span_data)
        above = self._above(span)
        action = None if described is None else self.actions.begin(self._call(span, above, {**described, **(call or {})}), told)
        agent, session = (above.agent, above.session) if above is not None else (None, None)
        node = _Node(action, above, span.span_data.name if span.span_data.type == 'agent' else agent, session)
        self._nodes.add(span.span_id, node)
        return node

    def _tell_after(self, span: Span[Any], node: _Node) -> None:
        described = _describe_end(span.span_data)
        if described is None:
            return
        result = described.pop('result', MISSING)
        ended_at = None if span.ended_at is None else datetime.fromisoformat(span.ended_at)
        action = self.actions.begin(self._call(span, node.above, {**described, 'occurred_at': ended_at}), 'after')
        action.end(result=result, error=_error_of(span), duration_ms=_duration_ms(span), occurred_at=ended_at)

    def _call(self, span: Span[Any], above: _Node | None, members: dict[str, Any]) -> Call:
        return Call(
            **members,
            parent=_action_around(above),
            agent=None if above is None else above.agent,
            session=None if above is None else above.session,
            framework=FRAMEWORK,
            traceparent=_traceparent_of(span.trace_id),
        )

    def _above(self, span: Span[Any]) -> _Node | None:
        return self._nodes.find(span.parent_id) or self._nodes.find(span.trace_id)


class _CallMembers(TypedDict):
    call_id: str
    arguments: str


def _action_around(node: _Node | None) -> Action | None:
    """The action that a part of it has as its parent."""
    while node is not None and node.action is None:
        node = node.above
    return None if node is None else node.action


def _top_of(node: _Node) -> _Node | None:
    """The trace, or None where there is an action in between: what fails in it, that action tells."""
    above = node.above
    while above is not None and above.above is not None and above.action is None:
        above = above.above
    return above if above is not None and above.above is None else None


def _describe_start(data: Any) -> dict[str, Any] | None:
    """Begins with its span: nobody need wait for the end to know what it is. None: it does not."""
    if data.type == 'agent':
        return {'kind': 'agent', 'name': data.name}
    if data.type == 'function':
        return {'kind': 'tool', 'name': data.name, 'arguments': data.input or MISSING}
    if data.type == 'custom':
        return {'kind': 'other', 'name': data.name, 'arguments': data.data}
    return None


def _describe_end(data: Any) -> dict[str, Any] | None:
    """Told when the span has ended, because only then its name is known. None: no action, but a frame around others."""
    kind = data.type
    if kind == 'generation':
        said = {'arguments': _known(data.input), 'result': _known(data.output), 'attributes': _usage_of(data.usage)}
        return {'kind': 'model', 'name': data.model or 'model', **said}
    if kind == 'response':
        response = data.response
        usage = getattr(response, 'usage', None)
        attributes = {'response': getattr(response, 'id', None), **_usage_of(usage and usage.model_dump())}
        said = {'arguments': _known(data.input), 'result': _known(getattr(response, 'output', None)), 'attributes': attributes}
        return {'kind': 'model', 'name': str(getattr(response, 'model', None) or 'model'), **said}
    if kind == 'handoff':
        return {'kind': 'agent', 'name': data.to_agent or 'agent', 'attributes': {'handoff': True, 'from': data.from_agent}}
    if kind == 'mcp_tools':
        return {'kind': 'other', 'name': 'tools/list', 'server': data.server, 'result': _known(data.result)}
    if kind == 'transcription':
        return {'kind': 'model', 'name': data.model or 'transcription', 'result': _known(data.output)}
    if kind == 'speech':
        return {'kind': 'model', 'name': data.model or 'speech', 'arguments': _known(data.input)}
    return None


def _outcome_of(span: Span[Any]) -> dict[str, Any]:
    """How an action ended that began with its span."""
    data, error = span.span_data, _error_of(span)
    if data.type == 'function':
        return {'error': error, 'result': data.output or MISSING}
    if data.type == 'agent':
        return {'error': error, 'attributes': {'tools': data.tools, 'handoffs': data.handoffs}}
    return {'error': error}


def _is_rejected(span: Span[Any]) -> bool:
    """Somebody was asked and said no: the library tells it in these words alone."""
    thrown = (span.error.get('data') or {}).get('error') if span.error else None
    return isinstance(thrown, str) and 'manually rejected by user' in thrown


def _error_of(span: Span[Any]) -> str | None:
    """The one that was raised, where the library kept it; by default it tells neither its type nor its text."""
    if span.error is None:
        return None
    thrown = (span.error.get('data') or {}).get('error')
    return thrown if isinstance(thrown, str) else span.error['message']


def _known(value: Any) -> Any:
    return MISSING if value is None else value


def _usage_of(usage: Any) -> dict[str, Any]:
    found = usage if isinstance(usage, dict) else {}
    return {'inputTokens': found.get('input_tokens'), 'outputTokens': found.get('output_tokens')}


def _duration_ms(span: Span[Any]) -> float | None:
    if span.started_at is None or span.ended_at is None:
        return None
    took = datetime.fromisoformat(span.ended_at) - datetime.fromisoformat(span.started_at)
    return took.total_seconds() * 1000


def _traceparent_of(trace_id: str) -> str | None:
    """W3C Trace Context: by the trace's id all of its records are found (`GET /v1/records?traceId=`)."""
    found = _TRACE_ID.match(trace_id)
    if found is None or found[1][16:] == '0' * 16:
        return None
    return f'00-{found[1]}-{found[1][16:]}-01'
