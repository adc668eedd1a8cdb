"""LangChain and LangGraph: `create_agent(..., middleware=[tallystick_middleware()])`, `config={'callbacks':
[TallystickCallbackHandler()]}`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NotRequired
from uuid import UUID

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import LLMResult
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest

from ..actions import Action, Actions, Call, Told, current_action
from ..actions.action import Kind
from ..actions.content import MISSING
from ..errors import TallystickError
from .runs import Runs

FRAMEWORK = 'langchain-python'


class _State(AgentState[Any]):
    _tallystick_run: NotRequired[str]


@dataclass
class _Run:
    """An agent's run."""

    action: Action
    called: set[str] = field(default_factory=set)
    """Calls of tools that came this way."""


def tallystick_middleware(actions: Actions | None = None, *, agent: str | None = None) -> AgentMiddleware[Any, Any, Any]:
    """Writes down what an agent of LangChain does: its run, its calls of tools and models, as the tree that they are.

    The first of the middleware, so that it sees what the others decide. Nobody waits for it, unless its actions fail closed: then a tool is
    called only when the ledger has the record, and the model hears that it was not. `agent`: its name, which the library does not tell to a
    middleware.
    """
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
        action = self._begin(None, kind='agent', name=self._agent or 'agent', arguments=_values_of(state['messages']))
        self._runs.add(action.handle, _Run(action))
        return {'_tallystick_run': action.handle}

    def after_agent(self, state: Any, runtime: Any) -> None:
        run = self._runs.take(state.get('_tallystick_run'))
        if run is not None:
            self._tell_denied(run, state['messages'])
            run.action.end(result=state['messages'][-1].content)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[Any], Any]) -> Any:
        run, action = self._begin_model(request)
        with self._telling(run, action):
            answer = handler(request)
        _end_model(action, answer)
        return answer

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Callable[[Any], Awaitable[Any]]) -> Any:
        run, action = self._begin_model(request)
        with self._telling(run, action):
            answer = await handler(request)
        _end_model(action, answer)
        return answer

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[Any], Any]) -> Any:
        run, action = self._begin_tool(request)
        try:
            action.wait_permitted()
        except TallystickError as error:
            return _refusal(request, error)
        with self._telling(run, action):
            answer = handler(request)
        _end_tool(action, answer)
        return answer

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        run, action = self._begin_tool(request)
        try:
            await action.permitted()
        except TallystickError as error:
            return _refusal(request, error)
        with self._telling(run, action):
            answer = await handler(request)
        _end_tool(action, answer)
        return answer

    def _begin_model(self, request: ModelRequest[Any]) -> tuple[_Run | None, Action]:
        run = self._runs.find(request.state.get('_tallystick_run'))
        if run is not None:
            self._tell_denied(run, request.state['messages'])
        name, arguments = _name_of_model(request.model), _values_of(request.messages)
        return run, self._begin(run, kind='model', name=name, arguments=arguments)

    def _begin_tool(self, request: ToolCallRequest) -> tuple[_Run | None, Action]:
        call = request.tool_call
        run = self._runs.find(request.state.get('_tallystick_run'))
        if run is not None:
            run.called.add(call['id'] or '')
        told = self._actions.told_first
        return run, self._begin(run, told, kind='tool', name=call['name'], call_id=call['id'], arguments=call['args'])

    def _begin(
        self, run: _Run | None, told: Told = 'before', *, kind: Kind, name: str, arguments: Any, call_id: str | None = None
    ) -> Action:
        parent = current_action.get() if run is None else run.action
        call = Call(
            kind=kind,
            name=name,
            arguments=arguments,
            call_id=call_id,
            agent=self._agent,
            session=_thread(),
            framework=FRAMEWORK,
            parent=parent,
        )
        return self._actions.begin(call, told)

    def _telling(self, run: _Run | None, action: Action) -> _Telling:
        return _Telling(self._runs, run, action)

    def _tell_denied(self, run: _Run, messages: Sequence[BaseMessage]) -> None:
        """Calls that another middleware answered, in the place of the tool: a person or a rule said no."""
        for call, answer in _last_answers(messages):
            if call['id'] in run.called or answer.status != 'error':
                continue
            run.called.add(call['id'])
            action = self._begin(run, kind='tool', name=call['name'], call_id=call['id'], arguments=call['args'])
            action.decide('deny', by='unknown')
            action.end(status='denied', result=answer.content)


class _Telling:
    """Says how an action ended that raises. If nobody inside has caught it, it ends the run too."""

    def __init__(self, runs: Runs[_Run], run: _Run | None, action: Action) -> None:
        self._runs = runs
        self._run = run
        self._action = action

    def __enter__(self) -> None:
        self._token = current_action.set(self._action)

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        current_action.reset(self._token)
        if error is None:
            return
        _end_raised(self._action, error)
        if self._run is not None and not isinstance(error, GraphBubbleUp):
            self._runs.take(self._run.action.handle)
            self._run.action.end(error=error)


class TallystickCallbackHandler(BaseCallbackHandler):
    """Writes down what chains and graphs of LangChain do that are no agents of `create_agent`, which have `tallystick_middleware`.

    If its actions fail closed, a tool whose call the ledger does not have raises instead of being called: the library waits for it.
    """

    run_inline = True

    def __init__(self, actions: Actions | None = None) -> None:
        self.actions = actions or Actions()
        self.raise_error = self.actions.fail_closed
        self._runs: Runs[tuple[Action | None, bool]] = Runs()
        """Something that runs: the action around it, and whether that is its own."""

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, metadata: Any = None, **kwargs: Any
    ) -> None:
        if parent_run_id is None:
            name = kwargs.get('name') or _name_of(serialized)
            self._begin(run_id, None, metadata, kind='other', name=name, arguments=inputs)
        else:
            self._runs.add(run_id, (self._around(parent_run_id), False))

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self._end(run_id, lambda action: action.end(result=outputs))

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._end(run_id, lambda action: _end_raised(action, error))

    def on_tool_start(
        self, serialized: Any, input_str: str, *, run_id: UUID, parent_run_id: UUID | None = None, metadata: Any = None, **kwargs: Any
    ) -> None:
        action = self._begin(
            run_id,
            parent_run_id,
            metadata,
            self.actions.told_first,
            kind='tool',
            name=kwargs.get('name') or _name_of(serialized),
            call_id=kwargs.get('tool_call_id'),
            arguments=input_str,
        )
        action.wait_permitted()

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self._end(run_id, lambda action: _end_tool(action, output))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._end(run_id, lambda action: _end_raised(action, error))

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
        self._end(run_id, lambda action: _end_raised(action, error))

    def _begin(self, run_id: UUID, parent_run_id: UUID | None, metadata: Any, told: Told = 'before', **members: Any) -> Action:
        session = (metadata or {}).get('thread_id')
        parent = self._around(parent_run_id) or current_action.get()
        call = Call(**members, session=session if isinstance(session, str) else None, framework=FRAMEWORK, parent=parent)
        action = self.actions.begin(call, told)
        self._runs.add(run_id, (action, True))
        return action

    def _around(self, run_id: UUID | None) -> Action | None:
        found = self._runs.find(run_id)
        return found[0] if found else None

    def _end(self, run_id: UUID, end: Callable[[Action], None]) -> None:
        action, is_own = self._runs.take(run_id) or (None, False)
        if action is not None and is_own:
            end(action)


def _end_raised(action: Action, error: BaseException) -> None:
    """Says how an action ended that raised. Some is raised to ask somebody: the tool is called again with the answer."""
    if isinstance(error, GraphBubbleUp):
        action.decide('escalate', by='unknown')
        action.end(status='unknown', error=error)
    else:
        action.end(error=error)


def _end_tool(action: Action, answer: Any) -> None:
    """A command to the graph is no message, and stays with it."""
    if not isinstance(answer, ToolMessage):
        action.end(result=answer if isinstance(answer, str) else MISSING)
    else:
        action.end(status='error' if answer.status == 'error' else None, result=answer.content)


def _end_model(action: Action, answer: Any) -> None:
    """`answer`: a message, or what a middleware answers with one in it."""
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
    """Messages as values: their classes' own JSON says where the class lies."""
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
    """The answers to the last calls that the model made."""
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
    """Its name at its provider, or that of its class."""
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
    """The conversation that the graph runs in, if there is one."""
    try:
        found = get_config().get('configurable', {}).get('thread_id')
    except RuntimeError:
        return None
    return found if isinstance(found, str) else None
