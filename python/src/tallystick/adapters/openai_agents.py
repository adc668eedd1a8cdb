"""Adapter for the OpenAI Agents SDK: `add_trace_processor(TallystickTracingProcessor())`."""

import asyncio
import re
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypedDict, TypeVar

from agents import FunctionTool
from agents.exceptions import ToolInputGuardrailTripwireTriggered, ToolOutputGuardrailTripwireTriggered
from agents.tool_guardrails import (
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolInputGuardrailData,
    ToolOutputGuardrail,
    ToolOutputGuardrailData,
)
from agents.tracing import Span, Trace, TracingProcessor, get_current_span

from ..actions import Action, Actions, Call, Told, current_action
from ..actions.content import MISSING, Missing
from ..actions.following import is_later
from ..errors import TallystickError
from .runs import Runs

FRAMEWORK = 'openai-agents-python'
FLUSH_S_MAX = 30.0
_TRACE_ID = re.compile(r'trace_([0-9a-f]{32})\Z')
CANCELLED = 'Tool execution cancelled'
"""The library's text for a cancelled tool."""
_TIMED_OUT = re.compile(r"Tool '.*' timed out after [\d.e+-]+ seconds\.\Z", re.DOTALL)
"""The library's text in place of the result of a tool that timed out."""
Tool = TypeVar('Tool', bound=FunctionTool)


@dataclass
class _Node:
    """A trace or a span that has begun."""

    action: Action | None
    """None: a span of this kind is no action. The children of the span belong to the action around it."""
    above: '_Node | None'
    agent: str | None
    """Name of the agent that acts in the span."""
    session: str | None
    is_denied: bool = False
    is_guarded: bool = False
    """True once the tool's guardrail ran, right before the tool is called."""
    result: Any = MISSING
    """Result of a guarded tool. MISSING: the tool has not returned a result that is known."""
    error: str | None = None
    """Why the run failed."""
    around: BaseException | None = field(default_factory=sys.exception)
    """Exception that the program was handling when the span began."""
    began_at: float = field(default_factory=time.monotonic)


class TallystickTracingProcessor(TracingProcessor):
    """Records what agents of the OpenAI Agents SDK do: runs, agents, handoffs, calls of tools and models, as a tree.

    Never waits for the server, and never raises. While the server is unreachable the agents go on, and their records are sent
    later. Use `guard` for a tool that must not run unrecorded.
    """

    def __init__(self, actions: Actions | None = None) -> None:
        self.actions = actions or Actions()
        # Traces stay here after their end. If a run asks a person for input, it continues later in
        # the same trace, without another start.
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
            run.action.end(error=_raised_in(run) or run.error)

    def on_span_start(self, span: Span[Any]) -> None:
        # The action of a tool begins later. The library sets the tool's input, and calls the
        # guardrail of a guarded tool, only after this method returns.
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
        if error is not None and error != CANCELLED and top is not None:
            top.error = error
        if data.type == 'guardrail':
            around = _action_around(node.above)
            if around is not None:
                around.decide('deny' if data.triggered else 'allow', by='policy', by_id=data.name)
        elif node.action is None:
            self._tell_after(span, node)
        else:
            self._end(node.action, node, span)

    def _end(self, action: Action, node: _Node, span: Span[Any]) -> None:
        data = span.span_data
        is_rejected = _is_rejected(span)
        if is_rejected:
            action.decide('deny', by='person')
        if node.is_denied or is_rejected or isinstance(_raised_in(node), ToolInputGuardrailTripwireTriggered):
            action.end(status='denied', error=_error_in(node, span))
        elif data.type == 'function':
            self._end_tool(action, node, span)
        else:
            attributes = {'tools': data.tools, 'handoffs': data.handoffs} if data.type == 'agent' else None
            action.end(error=_error_in(node, span), attributes=attributes)

    def _end_tool(self, action: Action, node: _Node, span: Span[Any]) -> None:
        """Ends the action of a tool: `ok` only if a result is known.

        The library may hide a result. Then the call looks like a call that waits for approval, or
        that was cancelled.
        """
        data, error = span.span_data, _error_in(node, span)
        result = data.output if isinstance(node.result, Missing) and not node.is_guarded else node.result
        is_known = result is not None if not node.is_guarded else not isinstance(result, Missing)
        if isinstance(result, str) and _TIMED_OUT.match(result):
            is_known = False
        shown = MISSING if result is None else result
        if is_known and not (error is not None and not node.is_guarded):
            action.end(status='ok', result=shown)
        elif error is not None and error != CANCELLED:
            action.end(error=error, status='unknown' if isinstance(error, ToolOutputGuardrailTripwireTriggered) else None, result=shown)
        else:
            if not node.is_guarded and data.name in self._guarded:
                action.decide('escalate', by='unknown')
            action.end(status='unknown', error=error)

    def force_flush(self) -> None:
        # The notarizer has already reported the error.
        with suppress(TallystickError):
            self.actions.flush(FLUSH_S_MAX)

    def shutdown(self) -> None:
        """Waits for open traces, at most 5 s, and then ends them as `unknown`.

        In an event loop it does not wait, because it would block the loop. Records that were not
        sent by then stay in the spool, if there is a spool.
        """
        with suppress(TallystickError):
            self.actions.close(FLUSH_S_MAX)

    def guard(self, tool: Tool) -> Tool:
        """Returns the tool with an additional guardrail, placed first.

        The guardrail records the call with its id, and the decisions of the other guardrails. With `fail_closed` the tool is called
        only when the ledger has the record; otherwise the model gets an error text.
        """
        self._guarded.add(tool.name)
        others = [self._observed(guardrail) for guardrail in tool.tool_input_guardrails or []]
        tool.tool_input_guardrails = [ToolInputGuardrail(self._record_intent, name='tallystick'), *others]
        limit = tool.timeout_seconds

        async def record_result(data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
            """Stores the result of the tool. If the tool raised or was too late, the library passes a
            text of its own instead of the result.
            """
            span = get_current_span()
            node = None if span is None else self._nodes.find(span.span_id)
            if span is not None and node is not None and span.error is None:
                is_late = limit is not None and time.monotonic() - node.began_at >= limit
                node.result = MISSING if is_late or is_later(data.output) else data.output
            return ToolGuardrailFunctionOutput.allow()

        tool.tool_output_guardrails = [ToolOutputGuardrail(record_result, name='tallystick'), *(tool.tool_output_guardrails or [])]
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
        """Tracing is off, so nothing can be recorded. With `fail_closed` the tool must then not be called."""
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
        """Returns the node of a span. The first call makes the node."""
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
        action.end(result=result, error=_error_in(node, span), duration_ms=_duration_ms(span), occurred_at=ended_at)

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
    """Returns the nearest action around a node."""
    while node is not None and node.action is None:
        node = node.above
    return None if node is None else node.action


def _top_of(node: _Node) -> _Node | None:
    """Returns the trace of a node. Returns None if an action lies between them, because that action
    reports the failure itself.
    """
    above = node.above
    while above is not None and above.above is not None and above.action is None:
        above = above.above
    return above if above is not None and above.above is None else None


def _describe_start(data: Any) -> dict[str, Any] | None:
    """Describes an action that begins with its span. Returns None if the span has no name yet or is no
    action.
    """
    if data.type == 'agent':
        return {'kind': 'agent', 'name': data.name}
    if data.type == 'function':
        return {'kind': 'tool', 'name': data.name, 'arguments': data.input or MISSING}
    if data.type == 'custom':
        return {'kind': 'other', 'name': data.name, 'arguments': data.data}
    return None


def _describe_end(data: Any) -> dict[str, Any] | None:
    """Describes an action when its span ends, because its name is known only then. Returns None if the
    span is no action.
    """
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


def _raised_in(node: _Node) -> BaseException | None:
    """Returns the exception that ends a span or a trace. The library ends spans and traces while the
    exception propagates.
    """
    raised = sys.exception()
    return None if raised is node.around else raised


def _error_in(node: _Node, span: Span[Any]) -> BaseException | str | None:
    return _raised_in(node) or _error_of(span)


def _is_rejected(span: Span[Any]) -> bool:
    """Whether a person was asked and rejected the call. The library shows this only by the text of the
    error.
    """
    thrown = (span.error.get('data') or {}).get('error') if span.error else None
    return isinstance(thrown, str) and 'manually rejected by user' in thrown


def _error_of(span: Span[Any]) -> str | None:
    """Returns the text of the exception if the library stored it. By default the library hides the
    type and text of exceptions.
    """
    if span.error is None:
        return None
    if span.error['message'] == CANCELLED:
        return CANCELLED
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
    """Returns a traceparent that contains the trace's id. Returns None if no valid traceparent can
    contain this id.

    With the id, `GET /v1/records?traceId=` finds all records of the trace.
    """
    found = _TRACE_ID.match(trace_id)
    if found is None or found[1][16:] == '0' * 16:
        return None
    return f'00-{found[1]}-{found[1][16:]}-01'
