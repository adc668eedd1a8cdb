"""Tests the table of outcomes with LangChain and LangGraph, with the middleware and with the callback
handler.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, ModelCallLimitMiddleware, hook_config
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from outcomes import Recorder, expected, fail, falsy, plain, require_all

from tallystick.actions import matches_digest
from tallystick.adapters.langchain import TallystickCallbackHandler, tallystick_middleware

MIDDLEWARE, CALLBACKS = 'python-langchain', 'python-langchain-callbacks'
QUESTION: Any = {'messages': [{'role': 'user', 'content': 'go'}]}


class Fake(BaseChatModel):
    """A model that gives its `answers` in order. An answer is a text, a list of tool calls, or an
    error that the model raises.
    """

    answers: list[Any]
    waits: float = 0

    @property
    def _llm_type(self) -> str:
        return 'fake'

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _message(self) -> AIMessage:
        answer = self.answers.pop(0) if self.answers else 'done'
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, str):
            return AIMessage(answer)
        return AIMessage('', tool_calls=[{'name': 'tool', 'args': {'n': n}, 'id': call_id, 'type': 'tool_call'} for n, call_id in answer])

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._message())])

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        if self.waits and not self.answers:
            await asyncio.sleep(self.waits)
        return self._generate(messages)


class Streaming(Fake):
    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        yield ChatGenerationChunk(message=AIMessageChunk('d'))
        self._message()
        yield ChatGenerationChunk(message=AIMessageChunk('one'))


class Run:
    """A run of an agent with one tool. `way`: whether the run uses the middleware or the callbacks.
    """

    def __init__(self, way: str, **options: Any) -> None:
        self.way = way
        self.recorder = Recorder(is_away=options.pop('is_away', False))
        self.actions = self.recorder.actions(**options)
        self.middleware = [tallystick_middleware(self.actions, agent='run')] if way == MIDDLEWARE else []
        self.config: Any = {} if way == MIDDLEWARE else {'callbacks': [TallystickCallbackHandler(self.actions)], 'run_name': 'run'}

    def agent(self, deed: Callable[[int], Any], *answers: Any, more: Any = (), model: Any = None, **options: Any) -> Any:
        async def tool(n: int) -> Any:
            """A tool."""
            result = deed(n)
            return await result if isinstance(result, Awaitable) else result

        made = StructuredTool.from_function(coroutine=tool, name='tool')
        script = model or Fake(answers=list(answers) or [[(1, '1')]])
        return create_agent(script, [made], middleware=[*self.middleware, *more], **options)

    async def __call__(self, deed: Callable[[int], Any], *answers: Any, config: Any = None, **options: Any) -> Any:
        return await self.agent(deed, *answers, **options).ainvoke(QUESTION, {**self.config, **(config or {})})

    def of(self, kind: str) -> list[str]:
        if kind == 'model':
            return self.recorder.ends('model')
        return self.recorder.ends(name='run') if kind == 'run' else self.recorder.ends('tool')


async def failing(run: Run, error: Exception) -> list[str]:
    def deed(n: int) -> Any:
        raise error

    with pytest.raises(type(error)):
        await run(deed)
    assert run.of('run') == ['error']
    return run.of('deed')


async def answers_error(run: Run) -> list[str]:
    await run(lambda n: ToolMessage('no', tool_call_id='1', status='error'))
    await run(lambda n: Command(update={'messages': [ToolMessage('no', tool_call_id='1', status='error')]}))
    return sorted(set(run.of('deed')))


async def model_fails(run: Run) -> list[str]:
    with pytest.raises(LookupError):
        await run(str, [(1, '1')], LookupError('late'))
    return run.of('model')[1:]


async def run_fails(run: Run) -> list[str]:
    await failing(run, LookupError('late'))
    return run.of('run')


async def denied_by_person(run: Run) -> list[str]:
    person = HumanInTheLoopMiddleware(interrupt_on={'tool': {'allowed_decisions': ['approve', 'reject']}})
    thread: Any = {'configurable': {'thread_id': 't'}}
    agent = run.agent(fail, more=[person], checkpointer=InMemorySaver())
    await agent.ainvoke(QUESTION, thread)
    assert run.of('run') == ['open']
    await agent.ainvoke(Command(resume={'decisions': [{'type': 'reject'}]}), thread)
    assert run.of('run') == ['ok']
    return run.of('deed')


async def denied_by_rule(run: Run) -> list[str]:
    class No(AgentMiddleware[Any, Any, Any]):
        @hook_config(can_jump_to=['model'])
        def after_model(self, state: Any, runtime: Any) -> Any:
            calls = state['messages'][-1].tool_calls
            return {'messages': [ToolMessage('no', tool_call_id='1', status='error')], 'jump_to': 'model'} if calls else None

    return await plain(run, fail, more=[No()])


async def not_recorded(run: Run) -> list[str]:
    away = Run(run.way, is_away=True, fail_closed=True, hold_s_max=0.01)
    try:
        await away(fail)
    except Exception as error:
        assert 'it is not in the ledger' in str(error)
    return away.of('deed')


async def cancel(run: Run, deed: Callable[[int], Any], end: str = 'open') -> None:
    working = asyncio.create_task(run(deed))
    for _ in range(1000):
        await asyncio.sleep(0.002)
        if end in run.of('deed'):
            break
    await asyncio.sleep(0.01)
    working.cancel()
    await asyncio.wait([working])
    assert working.cancelled()
    await asyncio.sleep(0.01)


async def cancelled_before(run: Run) -> list[str]:
    away = Run(run.way, is_away=True, fail_closed=True)
    await cancel(away, fail)
    return away.of('deed')


async def cancelled_during(run: Run) -> list[str]:
    await cancel(run, lambda n: asyncio.sleep(60))
    return run.of('deed')


async def run_cancelled(run: Run) -> list[str]:
    await cancel(run, lambda n: asyncio.sleep(60))
    return run.of('run')


async def cancelled_after(run: Run) -> list[str]:
    working = asyncio.create_task(run(str, model=Fake(answers=[[(1, '1')]], waits=60)))
    while run.of('deed') != ['ok']:
        await asyncio.sleep(0.002)
    working.cancel()
    await asyncio.wait([working])
    return run.of('deed')


async def stream(run: Run, *answers: Any) -> None:
    agent = run.agent(str, model=Streaming(answers=list(answers)))
    async for _ in agent.astream(QUESTION, run.config, stream_mode='messages'):
        pass


async def model_stream_ends(run: Run) -> list[str]:
    await stream(run)
    assert run.of('run') == ['ok']
    return run.of('model')


async def model_stream_fails(run: Run) -> list[str]:
    with pytest.raises(LookupError):
        await stream(run, LookupError('late'))
    return run.of('model')


async def run_stream_fails(run: Run) -> list[str]:
    await model_stream_fails(run)
    return run.of('run')


async def run_stream_abandoned(run: Run) -> list[str]:
    made = run.agent(str).astream(QUESTION, run.config)
    async for _ in made:
        break
    await made.aclose()
    return run.of('run')


async def input_required(run: Run) -> list[str]:
    thread: Any = {'configurable': {'thread_id': 't'}}
    await run(lambda n: interrupt('which?'), config=thread, checkpointer=InMemorySaver())
    assert run.of('run') == ['open' if run.way == MIDDLEWARE else 'unknown']
    return run.of('deed')


async def same_id(run: Run) -> list[str]:
    async def deed(n: int) -> Any:
        await asyncio.sleep(0.01 * n)
        return fail() if n == 2 else 'x'

    with pytest.raises(LookupError):
        await run(deed, [(1, '1'), (2, '1')])
    return run.of('deed')


async def limit_throws(run: Run) -> list[str]:
    limits = [{'more': [ModelCallLimitMiddleware(run_limit=1, exit_behavior='error')]}, {'config': {'recursion_limit': 4}}]
    for limit in limits:
        with pytest.raises(Exception, match='limit'):
            await run(str, *([[(1, '1')]] * 9), **limit)
    return sorted(set(run.of('run')))


async def limit_ends(run: Run) -> list[str]:
    await run(str, *([[(1, '1')]] * 9), more=[ModelCallLimitMiddleware(run_limit=1, exit_behavior='end')])
    return run.of('run')


class Throws(AgentMiddleware[Any, Any, Any]):
    """Another middleware, which raises in one of its hooks."""

    def __init__(self, hook: str) -> None:
        super().__init__()
        self.hook = hook

    def before_model(self, state: Any, runtime: Any) -> None:
        if self.hook == 'before_model':
            fail()

    def after_model(self, state: Any, runtime: Any) -> None:
        if self.hook == 'after_model':
            fail()

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        if self.hook == 'awrap_model_call':
            fail()
        return await handler(request)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        if self.hook == 'awrap_tool_call':
            fail()
        return await handler(request)


async def middleware_throws(run: Run) -> list[str]:
    for hook in ('before_model', 'after_model', 'awrap_model_call', 'awrap_tool_call'):
        with pytest.raises(LookupError):
            await run(str, more=[Throws(hook)])
    return sorted(set(run.of('run')))


async def middleware_jumps(run: Run) -> list[str]:
    class Jumps(AgentMiddleware[Any, Any, Any]):
        @hook_config(can_jump_to=['end'])
        def before_model(self, state: Any, runtime: Any) -> Any:
            return {'jump_to': 'end'}

    class JumpsFirst(AgentMiddleware[Any, Any, Any]):
        @hook_config(can_jump_to=['end'])
        def before_agent(self, state: Any, runtime: Any) -> Any:
            return {'jump_to': 'end'}

    await run(str, more=[Jumps()])
    await run(str, more=[JumpsFirst()])
    return sorted(set(run.of('run')))


async def in_a_chain(run: Run) -> list[str]:
    agent = run.agent(str).with_config(**run.config)
    chain = RunnableLambda(lambda question: question) | agent
    await chain.ainvoke(QUESTION)
    assert run.recorder.parents() == [None, 'run', 'run', 'run']
    return run.of('run')


async def root_first(run: Run) -> list[str]:
    """A tool fails while another one continues in its thread."""

    async def deed(n: int) -> Any:
        if n == 1:
            await asyncio.sleep(0.02)
            fail()
        return await asyncio.shield(asyncio.sleep(0.2))

    with pytest.raises(LookupError):
        await run(deed, [(1, '1'), (2, '2')])
    assert run.of('deed')[0] == 'error'
    return run.of('deed')[1:]


async def closed(run: Run) -> list[str]:
    going = asyncio.create_task(run(lambda n: asyncio.sleep(60)))
    while run.of('deed') != ['open']:
        await asyncio.sleep(0.002)
    run.actions.close()
    ends = run.of('deed')
    going.cancel()
    await asyncio.wait([going])
    assert (run.of('deed'), run.of('run')) == (ends, ['unknown'])
    return ends


BOTH: dict[str, Callable[[Run], Awaitable[list[str]]]] = {
    'returns': plain,
    'returns-nothing': lambda run: plain(run, lambda n: None),
    'returns-falsy': falsy,
    'throws-error': lambda run: failing(run, LookupError('late')),
    'throws-nothing': lambda run: failing(run, ValueError()),
    'answers-error': answers_error,
    'model-fails': model_fails,
    'run-fails': run_fails,
    'not-recorded': not_recorded,
    'cancelled-during': cancelled_during,
    'run-cancelled': run_cancelled,
    'model-stream-ends': model_stream_ends,
    'model-stream-fails': model_stream_fails,
    'run-stream-fails': run_stream_fails,
    'run-stream-abandoned': run_stream_abandoned,
    'input-required': input_required,
    'same-id': same_id,
    'limit-throws': limit_throws,
    'limit-ends': limit_ends,
    'middleware-throws': middleware_throws,
    'middleware-jumps': middleware_jumps,
    'root-ends-first': root_first,
    'closed-while-open': closed,
}
OF_MIDDLEWARE = BOTH | {
    'denied-by-person': denied_by_person,
    'denied-by-rule': denied_by_rule,
    'cancelled-before': cancelled_before,
    'cancelled-after': cancelled_after,
}
OF_CALLBACKS = BOTH | {'handler-in-a-chain': in_a_chain}
TESTED = [(MIDDLEWARE, case) for case in OF_MIDDLEWARE] + [(CALLBACKS, case) for case in OF_CALLBACKS]


def test_every_case_of_the_table_is_tested() -> None:
    require_all(MIDDLEWARE, OF_MIDDLEWARE)
    require_all(CALLBACKS, OF_CALLBACKS)


@pytest.mark.parametrize(('way', 'case'), TESTED)
def test_an_action_ends_as_the_table_says(way: str, case: str) -> None:
    cases = OF_MIDDLEWARE if way == MIDDLEWARE else OF_CALLBACKS
    found = asyncio.run(cases[case](Run(way)))  # type: ignore[arg-type]
    wanted = expected(way)[case]
    assert found == (wanted if isinstance(wanted, list) else [wanted])


def test_a_middleware_that_catches_an_error_leaves_no_error_of_the_run() -> None:
    class Retries(AgentMiddleware[Any, Any, Any]):
        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            try:
                return await handler(request)
            except LookupError:
                return await handler(request)

    failed: list[int] = []

    def deed(n: int) -> str:
        if not failed:
            failed.append(n)
            fail()
        return 'x'

    run = Run(MIDDLEWARE)
    run.middleware = [Retries(), *run.middleware]
    asyncio.run(run(deed))
    assert (run.of('run'), run.of('deed')) == (['ok'], ['error', 'ok'])


@pytest.mark.parametrize('is_async', [True, False])
def test_beside_the_middleware_the_handler_leaves_out_what_that_records(is_async: bool) -> None:
    run = Run(MIDDLEWARE)
    inner = StructuredTool.from_function(lambda n: str(n), name='inner', description='Called by the tool.')
    alone: Any = {'callbacks': [TallystickCallbackHandler(run.actions)]}

    def tool(n: int) -> str:
        """A tool."""
        Fake(answers=['inside']).invoke('x')
        RunnableLambda(lambda n: inner.invoke({'n': n})).invoke(n, alone)
        return str(inner.invoke({'n': n}))

    handler = TallystickCallbackHandler(run.actions)
    agent = create_agent(Fake(answers=[[(1, '1'), (2, '2')]]), [StructuredTool.from_function(tool)], middleware=run.middleware)
    if is_async:
        asyncio.run(agent.ainvoke(QUESTION, {'callbacks': [handler]}))
    else:
        agent.invoke(QUESTION, {'callbacks': [handler]})
    actions = [
        (payload['kind'], payload['name'], parent)
        for (payload, _), parent in zip(
            [each for each in run.recorder.records if each[1]['type'] == 'agent-action/1'], run.recorder.parents(), strict=True
        )
    ]
    assert sorted(actions, key=str) == sorted(
        [
            ('other', 'LangGraph', None),
            ('agent', 'run', None),
            *[('model', 'Fake', 'run')] * 2,
            *[('tool', 'tool', 'run')] * 2,
            *[('model', 'Fake', 'tool')] * 2,
            *[('tool', 'inner', 'tool')] * 2,
            *[('other', 'RunnableLambda', 'tool')] * 2,
            *[('tool', 'inner', 'RunnableLambda')] * 2,
        ],
        key=str,
    )
    assert set(run.recorder.ends()) == {'ok'}


def test_a_model_that_another_middleware_calls_is_recorded_beside_the_middleware() -> None:
    class Judges(AgentMiddleware[Any, Any, Any]):
        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            answer = await handler(request)
            await Fake(answers=['fine']).ainvoke('is it?')
            return answer

    run = Run(MIDDLEWARE)
    handler = TallystickCallbackHandler(run.actions)
    asyncio.run(run(str, 'done', more=[Judges()], config={'callbacks': [handler]}))
    assert run.of('model') == ['ok', 'ok']


@pytest.mark.parametrize('way', [MIDDLEWARE, CALLBACKS])
def test_a_loop_goes_on_while_tools_wait_for_a_ledger_that_is_away(way: str) -> None:
    run = Run(way, is_away=True, fail_closed=True, hold_s_max=0.5)

    async def main() -> float:
        longest, last = 0.0, time.monotonic()
        working = asyncio.create_task(run(fail, [(n, str(n)) for n in range(5)]))
        while not working.done():
            await asyncio.sleep(0.005)
            now = time.monotonic()
            longest, last = max(longest, now - last), now
        return longest

    assert asyncio.run(main()) < 0.4
    assert run.of('deed') == ['denied'] * 5


def _told_of(value: Any, arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Calls a tool without an agent. The tool returns `value`. Returns the payloads of its action and
    its outcome.
    """

    def deed(**_: Any) -> Any:
        return value

    recorder = Recorder()
    tool = StructuredTool.from_function(deed, name='tool', description='A tool.', args_schema={'type': 'object', 'properties': {'q': {}}})
    tool.invoke(arguments, {'callbacks': [TallystickCallbackHandler(recorder.actions())]})
    (action, _), (outcome, _) = recorder.records
    return action, outcome


def test_a_tool_that_is_called_by_itself_has_the_digests_of_its_values() -> None:
    class Odd:
        def __repr__(self) -> str:
            return "'1'"

    action, outcome = _told_of({'price': [1, None]}, {'q': '1'})
    assert matches_digest({'q': '1'}, action['argumentsDigest'])
    assert matches_digest({'price': [1, None]}, outcome['resultDigest'])
    action, outcome = _told_of(Odd(), {'q': Odd()})
    assert action['argumentsDigest'] == outcome['resultDigest'] == {'of': 'none', 'why': 'no-form'}
    assert 'resultDigest' not in _told_of(Command(update={}), {'q': '1'})[1]
    assert 'resultDigest' not in _told_of([Command(update={})], {'q': '1'})[1]


def test_of_several_answers_the_one_that_failed_is_the_result() -> None:
    answers = [ToolMessage('well', tool_call_id='c1'), ToolMessage('badly', tool_call_id='c2', status='error')]
    _, outcome = _told_of(Command(update={'messages': answers}), {'q': '1'})
    assert (outcome['status'], matches_digest('badly', outcome['resultDigest'])) == ('error', True)


@pytest.mark.parametrize('status', ['success', 'error', None])
def test_a_tool_that_a_middleware_inside_did_not_call_is_denied(status: Any) -> None:
    class InItsPlace(AgentMiddleware[Any, Any, Any]):
        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            if status is None:
                fail()
            return ToolMessage('in its place', tool_call_id=request.tool_call['id'], status=status)

    async def main() -> list[str]:
        run = Run(MIDDLEWARE)
        with suppress(LookupError):
            await run(fail, more=[InItsPlace()])
        return run.of('tool')

    assert asyncio.run(main()) == ['denied']
