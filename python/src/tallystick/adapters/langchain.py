"""Adapter for LangChain and LangGraph.

`create_agent(..., middleware=[tallystick_middleware()])`, `config={'callbacks': [TallystickCallbackHandler()]}`.
"""

from __future__ import annotations

import weakref
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NotRequired
from uuid import UUID

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import LLMResult
from langchain_core.tracers.context import register_configure_hook
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp, GraphInterrupt
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from ..actions import Action, Actions, Call, Told, current_action
from ..actions.action import Kind
from ..actions.content import MISSING
from ..actions.following import current, is_later
from ..errors import TallystickError
from .runs import Runs

FRAMEWORK = 'langchain-python'


class _State(AgentState[Any]):
    _tallystick_run: NotRequired[str]


@dataclass
class _Run:
    """A run of an agent."""

    action: Action
    called: set[str] = field(default_factory=set)
    """Ids of the tool calls that reached this middleware."""


def tallystick_middleware(actions: Actions | None = None, *, agent: str | None = None) -> AgentMiddleware[Any, Any, Any]:
    """Records what an agent of LangChain does: its run and its calls of tools and models, as a tree.

    Put it first in the list of middleware, so that it sees the decisions of the others. The agent
    does not wait for records, unless `actions` has `fail_closed`. Then a tool is called only when
    the ledger has the record; otherwise the model gets an error text.

    `agent`: name of the agent, which the library does not pass to a middleware.
    """
    _watch_graphs()
    return _Middleware(actions or Actions(), agent)


class _Middleware(AgentMiddleware[Any, Any, Any]):
    state_schema = _State

    def __init__(self, actions: Actions, agent: str | None) -> None:
        super().__init__()
        self.tools = []
        self._actions = actions
        self._agent = agent
        self._runs: Runs[_Run] = Runs()

    @property
    def name(self) -> str:
        return 'Tallystick'

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        action = self._actions.begin(self._call(None, kind='agent', name=self._agent or 'agent', arguments=_values_of(state['messages'])))
        run = _Run(action)
        self._runs.add(action.handle, run)
        _graphs.attach(run)
        return {'_tallystick_run': action.handle}

    def after_agent(self, state: Any, runtime: Any) -> None:
        run = self._runs.take(state.get('_tallystick_run'))
        if run is not None:
            self._tell_denied(run, state['messages'])
            messages = state['messages']
            run.action.end(result=messages[-1].content if messages else MISSING)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[Any], Any]) -> Any:
        action = self._actions.begin(self._model_call(request))
        with _telling(action):
            answer = handler(request)
        _end_model(action, answer)
        return answer

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Callable[[Any], Awaitable[Any]]) -> Any:
        action = await self._actions.abegin(self._model_call(request))
        with _telling(action):
            answer = await handler(request)
        _end_model(action, answer)
        return answer

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[Any], Any]) -> Any:
        action = self._actions.begin(self._tool_call(request), self._actions.told_first)
        try:
            action.wait_permitted()
        except TallystickError as error:
            return _refusal(request, error)
        with _telling(action, is_tool=True):
            answer = handler(request)
        if _graphs.was_called(action):
            _end_tool(action, answer)
        else:
            _deny(action, result=answer.content if isinstance(answer, ToolMessage) else MISSING)
        return answer

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        action = await self._actions.abegin(self._tool_call(request), self._actions.told_first)
        try:
            await action.permitted()
        except TallystickError as error:
            return _refusal(request, error)
        with _telling(action, is_tool=True):
            answer = await handler(request)
        if _graphs.was_called(action):
            _end_tool(action, answer)
        else:
            _deny(action, result=answer.content if isinstance(answer, ToolMessage) else MISSING)
        return answer

    def _model_call(self, request: ModelRequest[Any]) -> Call:
        run = self._find_run(request)
        if run is not None:
            self._tell_denied(run, request.state['messages'])
        return self._call(run, kind='model', name=_name_of_model(request.model), arguments=_values_of(request.messages))

    def _tool_call(self, request: ToolCallRequest) -> Call:
        call = request.tool_call
        run = self._find_run(request)
        if run is not None:
            run.called.add(call['id'] or '')
        return self._call(run, kind='tool', name=call['name'], call_id=call['id'], arguments=call['args'])

    def _find_run(self, request: ModelRequest[Any] | ToolCallRequest) -> _Run | None:
        run = self._runs.find(request.state.get('_tallystick_run'))
        if run is not None:
            # If a run asks a person for input, it continues later in another graph run.
            _graphs.attach(run)
        return run

    def _call(self, run: _Run | None, *, kind: Kind, name: str, arguments: Any, call_id: str | None = None) -> Call:
        return Call(
            kind=kind,
            name=name,
            arguments=arguments,
            call_id=call_id,
            agent=self._agent,
            session=_thread(),
            framework=FRAMEWORK,
            parent=current_action.get() if run is None else run.action,
        )

    def _tell_denied(self, run: _Run, messages: Sequence[BaseMessage]) -> None:
        """Records tool calls that were denied by a person or a rule. For such a call, another
        middleware answered with an error, and the tool was not called.
        """
        for call, answer in _last_answers(messages):
            if call['id'] in run.called or answer.status != 'error':
                continue
            run.called.add(call['id'])
            denied = self._call(run, kind='tool', name=call['name'], call_id=call['id'], arguments=call['args'])
            action = self._actions.begin(denied)
            action.decide('deny', by='unknown')
            action.end(status='denied', result=answer.content)


_recorded: ContextVar[Action | None] = ContextVar('tallystick_recorded', default=None)
"""The action that a middleware recorded for the tool or model call around this code."""


@contextmanager
def _telling(action: Action, *, is_tool: bool = False) -> Generator[None]:
    """Ends the action if an exception is raised inside the `with` block."""
    if is_tool:
        _graphs.watch(action)
    before = _recorded.set(action)
    with current(action):
        try:
            yield
        except BaseException as error:
            if isinstance(error, GraphBubbleUp) or not is_tool or _graphs.was_called(action):
                _end_raised(action, error)
            else:
                _deny(action, error=error)
            raise
        finally:
            _recorded.reset(before)


def _deny(action: Action, *, result: Any = MISSING, error: BaseException | None = None) -> None:
    """Ends an action as `denied`. Another middleware answered or raised, and the tool was not called.
    """
    action.decide('deny', by='unknown')
    action.end(status='denied', result=result, error=error)


class _Graphs(BaseCallbackHandler):
    """Observes how graphs end. The hooks of a middleware do not show every end, because a limit or
    another middleware may raise while no hook of this middleware runs.
    """

    run_inline = True
    # `ignore_agent` stays False, because LangChain calls handlers for tools only if they do not
    # ignore agents.
    ignore_llm = ignore_chat_model = ignore_retriever = True  # pyright: ignore

    def __init__(self) -> None:
        self._parents: Runs[UUID | None] = Runs()
        self._runs: Runs[_Run] = Runs()
        """Runs of agents, by their current graph run."""
        self._waiting: Runs[Action] = Runs()
        """Actions of tool calls whose tool has not begun yet."""

    def attach(self, run: _Run) -> None:
        """Attaches `run` to the graph run whose node calls this method."""
        with suppress(RuntimeError, KeyError, AttributeError):
            node: Any = get_config()['callbacks'].parent_run_id  # type: ignore[union-attr]
            self._runs.add(self._parents.find(node) or node, run)

    def watch(self, action: Action) -> None:
        """Registers the action of a tool call, so that `was_called` can return False until the tool
        begins.

        If the graph's node is unknown, LangChain does not call this handler for the tool. Then the
        action is not registered, and `was_called` returns True.
        """
        with suppress(RuntimeError, KeyError, AttributeError):
            if self._parents.find(get_config()['callbacks'].parent_run_id) is not None:  # type: ignore[union-attr]
                self._waiting.add(action.handle, action)

    def was_called(self, action: Action) -> bool:
        """Whether the action's tool, or a runnable in the tool's place, has begun."""
        return self._waiting.take(action.handle) is None

    def on_tool_start(self, serialized: Any, input_str: str, **kwargs: Any) -> None:
        self._begun()

    def _begun(self) -> None:
        action = current_action.get()
        if action is not None:
            self._waiting.take(action.handle)

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> None:
        self._parents.add(run_id, parent_run_id)
        self._begun()

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Does not end the agent's run. Either `after_agent` has ended the run, or the run continues
        after a person answers.
        """
        self._parents.take(run_id)
        self._runs.take(run_id)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._parents.take(run_id)
        run = self._runs.take(run_id)
        if run is not None and not isinstance(error, GraphBubbleUp):
            run.action.end(error=error)


_graphs = _Graphs()
_heard: ContextVar[_Graphs | None] = ContextVar('tallystick_graphs', default=_graphs)
"""LangChain adds the handler of this variable to every run of the process."""
_is_watching = False


def _watch_graphs() -> None:
    global _is_watching
    if not _is_watching:
        _is_watching = True
        register_configure_hook(_heard, inheritable=True)


class TallystickCallbackHandler(BaseCallbackHandler):
    """Records chains and graphs of LangChain. Agents of `create_agent` are recorded by
    `tallystick_middleware` instead.

    In a run of such an agent, this handler leaves out the tool and model calls that the middleware
    records. If its actions have `fail_closed` and the ledger does not have the record of a tool
    call, the handler raises and the tool is not called.
    """

    def __init__(self, actions: Actions | None = None) -> None:
        self.actions = actions or Actions()
        self.raise_error = self.actions.fail_closed
        # A handler that runs inline would block the event loop while it waits. If `run_inline` is
        # False, LangChain runs the handler in a thread and awaits it.
        self.run_inline = not self.actions.may_wait
        self._runs: Runs[_Part] = Runs()
        self._left_out: weakref.WeakSet[Action] = weakref.WeakSet()
        """Calls that a middleware records and whose tool or model has begun."""

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, metadata: Any = None, **kwargs: Any
    ) -> None:
        above = self._runs.find(parent_run_id)
        if above is None:
            # The chain is a root, or a child of a chain that this handler does not observe.
            name = kwargs.get('name') or _name_of(serialized)
            self._begin(run_id, None, metadata, kind='other', name=name, arguments=inputs)
        else:
            self._runs.add(run_id, _Part(above.action, above.root, is_own=False))

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        part = self._runs.take(run_id)
        if part is not None and part.is_own:
            _end_chain(part, outputs)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._end_raised(run_id, error)

    def on_tool_start(
        self,
        serialized: Any,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: Any = None,
        inputs: Any = None,
        **kwargs: Any,
    ) -> None:
        action = self._begin(
            run_id,
            parent_run_id,
            metadata,
            self.actions.told_first,
            kind='tool',
            name=kwargs.get('name') or _name_of(serialized),
            call_id=kwargs.get('tool_call_id'),
            # If a tool has named arguments, `input_str` is their `repr`. Different values can have
            # the same `repr`.
            arguments=input_str if inputs is None else inputs,
        )
        if action is not None:
            action.wait_permitted()

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self._end(run_id, lambda action: _end_tool(action, output))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._end_raised(run_id, error)

    def on_chat_model_start(
        self,
        serialized: Any,
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: Any = None,
        **kwargs: Any,
    ) -> None:
        arguments = [_values_of(each) for each in messages]
        self._begin(run_id, parent_run_id, metadata, kind='model', name=_name_of(serialized, metadata), arguments=arguments)

    def on_llm_start(
        self,
        serialized: Any,
        prompts: list[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: Any = None,
        **kwargs: Any,
    ) -> None:
        self._begin(run_id, parent_run_id, metadata, kind='model', name=_name_of(serialized, metadata), arguments=prompts)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        first = next((each for group in response.generations for each in group), None)
        message = getattr(first, 'message', None)
        text = getattr(first, 'text', None)
        self._end(run_id, lambda action: action.end(result=text) if message is None else _end_model(action, message))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._end_raised(run_id, error)

    def _begin(self, run_id: UUID, parent_run_id: UUID | None, metadata: Any, told: Told = 'before', **members: Any) -> Action | None:
        """Begins an action. Returns None if a middleware records the call."""
        session = (metadata or {}).get('thread_id')
        above = self._runs.find(parent_run_id)
        recorded = _recorded.get()
        if above is not None and recorded is not None and self._is_recorded(recorded, above, members['kind']):
            self._left_out.add(recorded)
            self._runs.add(run_id, _Part(recorded, above.root, is_own=False))
            return None
        parent = above.action if above is not None else current_action.get()
        call = Call(**members, session=session if isinstance(session, str) else None, framework=FRAMEWORK, parent=parent)
        action = self.actions.begin(call, told)
        part = _Part(action, above.root if above is not None else None)
        self._runs.add(run_id, part)
        return action

    def _is_recorded(self, recorded: Action, above: _Part, kind: Kind) -> bool:
        """Whether a new call of a tool or model below `above` is the call `recorded`, which a
        middleware already records.

        True for the first new call of the same kind, if the chain of the new call began before
        `recorded`.
        """
        return recorded.call.kind == kind and recorded not in self._left_out and above.root.recorded is not recorded

    def _end(self, run_id: UUID, end: Callable[[Action], None]) -> None:
        part = self._runs.take(run_id)
        if part is not None and part.is_own:
            end(part.action)

    def _end_raised(self, run_id: UUID, error: BaseException) -> None:
        part = self._runs.take(run_id)
        if part is None:
            return
        if isinstance(error, GraphInterrupt):
            part.root.is_asking = True
        if part.is_own:
            _end_raised(part.action, error)


class _Part:
    """A running step of a chain. `action`: the action of the step or, if it has none, the action of
    the step around it.
    """

    def __init__(self, action: Action, root: _Part | None, *, is_own: bool = True) -> None:
        self.action = action
        self.root = root or self
        self.is_own = is_own
        self.recorded = _recorded.get()
        """The call around this step that a middleware records."""
        self.is_asking = False
        """True after a step below this root asked for input: the end of the chain is then not the end of the root."""


def _end_chain(part: _Part, outputs: Any) -> None:
    is_asking = part.is_asking or (isinstance(outputs, dict) and bool(outputs.get('__interrupt__')))
    if is_asking:
        part.action.decide('escalate', by='unknown')
    part.action.end(status='unknown' if is_asking or is_later(outputs) else None, result=MISSING if is_later(outputs) else outputs)


def _end_raised(action: Action, error: BaseException) -> None:
    """Ends an action with an exception. LangGraph raises a GraphInterrupt to ask for input, and calls the tool again with the answer."""
    if isinstance(error, GraphInterrupt):
        action.decide('escalate', by='unknown')
    action.end(status='unknown' if isinstance(error, GraphBubbleUp) else None, error=error)


def _end_tool(action: Action, answer: Any) -> None:
    """Ends the action of a tool. If the answer is a command to the graph, its messages have the status of the tool."""
    messages = list(_tool_messages(answer))
    failed = next((message for message in messages if message.status == 'error'), None)
    if failed is not None:
        action.end(status='error', result=failed.content)
    elif is_later(answer):
        action.end(status='unknown')
    elif isinstance(answer, ToolMessage):
        action.end(result=answer.content)
    else:
        # A tool that is called directly returns its value and no message.
        action.end(result=MISSING if messages or _has_command(answer) else answer)


def _has_command(answer: Any) -> bool:
    return isinstance(answer, Command) or (isinstance(answer, list) and any(_has_command(each) for each in answer))


def _tool_messages(answer: Any) -> Iterator[ToolMessage]:
    if isinstance(answer, ToolMessage):
        yield answer
    elif isinstance(answer, list):
        for each in answer:
            yield from _tool_messages(each)
    elif isinstance(answer, Command) and isinstance(answer.update, dict):
        yield from _tool_messages(answer.update.get('messages'))


def _end_model(action: Action, answer: Any) -> None:
    """Ends the action of a model. `answer`: a message, or an object of a middleware that contains one."""
    found = getattr(answer, 'result', None) or [getattr(answer, 'model_response', answer)]
    message = found[0] if isinstance(found, list) else found
    if not isinstance(message, AIMessage):
        action.end()
        return
    usage = message.usage_metadata
    attributes = {'inputTokens': usage and usage['input_tokens'], 'outputTokens': usage and usage['output_tokens']}
    action.end(result={'content': message.content, 'toolCalls': message.tool_calls}, attributes=attributes)


def _refusal(request: ToolCallRequest, error: TallystickError) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(content=str(error), tool_call_id=call['id'] or '', name=call['name'], status='error')


def _values_of(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Returns messages as plain values. Their own JSON contains the import path of the class."""
    return [
        {
            'type': message.type,
            'content': message.content,
            **({'toolCalls': message.tool_calls} if isinstance(message, AIMessage) and message.tool_calls else {}),
            **({'toolCall': message.tool_call_id} if isinstance(message, ToolMessage) else {}),
        }
        for message in messages
    ]


def _last_answers(messages: Sequence[BaseMessage]) -> Iterator[tuple[Any, ToolMessage]]:
    """Yields the answers to the last tool calls of the model."""
    calls: dict[str | None, Any] = {}
    answers: list[ToolMessage] = []
    for message in messages:
        if isinstance(message, AIMessage) and message.tool_calls:
            calls, answers = {call['id']: call for call in message.tool_calls}, []
        elif isinstance(message, ToolMessage):
            answers.append(message)
    for answer in answers:
        if answer.tool_call_id in calls:
            yield calls[answer.tool_call_id], answer


def _name_of_model(model: Any) -> str:
    """Returns the model's name at its provider, or the name of its class."""
    for name in ('model', 'model_name'):
        found = getattr(model, name, None)
        if isinstance(found, str) and found:
            return found
    return type(model).__name__


def _name_of(serialized: Any, metadata: Any = None) -> str:
    model = (metadata or {}).get('ls_model_name')
    if isinstance(model, str) and model:
        return model
    found = serialized or {}
    return str(found.get('name') or (found.get('id') or ['unknown'])[-1])


def _thread() -> str | None:
    """Returns the id of the conversation in which the current graph runs. Returns None if no graph
    runs or it has no conversation.
    """
    try:
        found = get_config().get('configurable', {}).get('thread_id')
    except RuntimeError:
        return None
    return found if isinstance(found, str) else None
