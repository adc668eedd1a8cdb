"""Tests the table of outcomes with the OpenAI Agents SDK, with and without `guard`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrail,
    RunConfig,
    Runner,
    default_tool_error_function,
    function_tool,
    set_trace_processors,
    trace,
)
from agents.exceptions import AgentsException
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from agents.tool_guardrails import ToolGuardrailFunctionOutput, tool_input_guardrail, tool_output_guardrail
from outcomes import Recorder, expected, fail, falsy, plain, require_all

from tallystick.adapters.openai_agents import TallystickTracingProcessor

WAY = 'python-openai-agents'


class Run:
    """A run of an agent with one tool. The agent calls the tool once or more."""

    def __init__(self, guarded: bool = True, **options: Any) -> None:
        self.recorder = Recorder(is_away=options.pop('is_away', False))
        self.processor = TallystickTracingProcessor(self.recorder.actions(**options))
        self.guarded = guarded
        set_trace_processors([self.processor])

    def agent(self, deed: Callable[[int], Any], *steps: Any, calls: list[Any] | None = None, **options: Any) -> Agent[Any]:
        @function_tool(**{'failure_error_function': default_tool_error_function, **options})
        async def tool(n: int) -> Any:
            """A tool."""
            result = deed(n)
            return await result if isinstance(result, Awaitable) else result

        used = self.processor.guard(tool) if self.guarded else tool
        script = [calls or [function_call('tool', {'n': 1}, call_id='1')], *(steps or ([assistant_message('done')],))]
        return Agent(name='agent', tools=[used], model=ScriptedModel(script, emit_traces=True))

    async def __call__(self, deed: Callable[[int], Any], *steps: Any, calls: list[Any] | None = None, **options: Any) -> Any:
        return await Runner.run(self.agent(deed, *steps, calls=calls, **options), 'go', run_config=RunConfig(workflow_name='run'))

    def of(self, kind: str) -> list[str]:
        name = {'deed': 'tool', 'run': 'run', 'part': 'tool'}.get(kind)
        return self.recorder.ends('model' if kind == 'model' else None, name=name)


async def failing(run: Run, error: BaseException) -> list[str]:
    def deed(n: int) -> Any:
        raise error

    return await plain(run, deed)


async def model_fails(run: Run) -> list[str]:
    with pytest.raises(LookupError):
        await run(str, LookupError('late'))
    assert run.of('deed') == ['ok']
    assert run.recorder.ends(name='agent') == ['error']
    assert run.of('run') == ['error']
    return run.of('model')[1:]


async def run_fails(run: Run) -> list[str]:
    with pytest.raises(AgentsException):
        await run(fail, failure_error_function=None)
    assert run.of('deed') == ['error']
    return run.of('run')


async def denied_by_person(run: Run) -> list[str]:
    """The library does not report the rejection of the waiting call. It reports the rejection of the
    next call, so the test checks the outcome of the next call.
    """
    again = [function_call('tool', {'n': 1}, call_id='2')]
    agent = run.agent(fail, again, [assistant_message('done')], needs_approval=True)
    config = RunConfig(workflow_name='run')
    paused = await Runner.run(agent, 'go', run_config=config)
    assert run.of('deed') == ['unknown']
    state = paused.to_state()
    state.reject(paused.interruptions[0], always_reject=True)
    await Runner.run(agent, state, run_config=config)
    return run.of('deed')[1:]


async def denied_by_rule(run: Run) -> list[str]:
    @tool_input_guardrail(name='no')
    def no(data: Any) -> ToolGuardrailFunctionOutput:
        return ToolGuardrailFunctionOutput.reject_content('no')

    return await plain(run, fail, tool_input_guardrails=[no])


async def not_recorded(run: Run) -> list[str]:
    away = Run(is_away=True, fail_closed=True, hold_s_max=0.01)
    await away(fail)
    return away.of('deed')


async def cancelled_before(run: Run) -> list[str]:
    away = Run(is_away=True, fail_closed=True)
    await cancel(away, fail)
    return away.of('deed')


async def cancel(run: Run, deed: Callable[[int], Any], **options: Any) -> None:
    working = asyncio.create_task(run(deed, **options))
    for _ in range(500):
        await asyncio.sleep(0.002)
        if 'open' in run.of('deed'):
            break
    await asyncio.sleep(0.01)
    working.cancel()
    await asyncio.wait([working])
    assert working.cancelled()
    await asyncio.sleep(0.02)


async def cancelled_during(run: Run) -> list[str]:
    await cancel(run, lambda n: asyncio.sleep(60))
    assert run.recorder.ends(name='agent') == ['unknown']
    return run.of('deed')


async def cancelled_after(run: Run) -> list[str]:
    async def step(call: Any) -> Any:
        await asyncio.sleep(60)

    working = asyncio.create_task(run(str, ModelStep.respond(step)))
    for _ in range(500):
        await asyncio.sleep(0.002)
        if run.of('deed') == ['ok']:
            break
    working.cancel()
    await asyncio.wait([working])
    return run.of('deed')


async def run_cancelled(run: Run) -> list[str]:
    await cancel(run, lambda n: asyncio.sleep(60))
    return run.of('run')


async def stream(run: Run, *steps: Any) -> None:
    result = Runner.run_streamed(run.agent(str, *steps), 'go', run_config=RunConfig(workflow_name='run'))
    async for _ in result.stream_events():
        pass


async def model_stream_ends(run: Run) -> list[str]:
    await stream(run)
    assert run.of('run') == ['ok']
    return sorted(set(run.of('model')))


async def model_stream_fails(run: Run) -> list[str]:
    with pytest.raises(LookupError):
        await stream(run, LookupError('late'))
    return run.of('model')[1:]


async def run_stream_fails(run: Run) -> list[str]:
    await model_stream_fails(run)
    return run.of('run')


async def run_stream_abandoned(run: Run) -> list[str]:
    agent = run.agent(lambda n: asyncio.sleep(60))
    result = Runner.run_streamed(agent, 'go', run_config=RunConfig(workflow_name='run'))
    async for _ in result.stream_events():
        break
    result.cancel()
    await asyncio.sleep(0.05)
    assert run.of('deed') in ([], ['unknown'])
    return run.of('run')


async def limit_throws(run: Run) -> list[str]:
    agent = run.agent(str, *[[function_call('tool', {'n': 1}, call_id=str(n))] for n in range(9)])
    with pytest.raises(AgentsException):
        await Runner.run(agent, 'go', max_turns=2, run_config=RunConfig(workflow_name='run'))
    return run.of('run')


async def guardrail_trips(run: Run) -> list[str]:
    async def trip(context: Any, agent: Any, said: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)

    agent = run.agent(str)
    agent.input_guardrails = [InputGuardrail(trip, run_in_parallel=False)]
    with pytest.raises(AgentsException):
        await Runner.run(agent, 'go', run_config=RunConfig(workflow_name='run'))
    return run.of('run')


async def root_first(run: Run) -> list[str]:
    going = None

    async def deed(n: int) -> str:
        with trace('inner'):
            return 'x'

    with trace('run'):
        going = asyncio.create_task(Runner.run(run.agent(lambda n: asyncio.sleep(60)), 'go'))
        while run.of('deed') != ['open']:
            await asyncio.sleep(0.002)
    ends = run.of('part')
    going.cancel()
    await asyncio.wait([going])
    assert run.of('part') == ends
    return ends


async def closed(run: Run) -> list[str]:
    going = asyncio.create_task(run(lambda n: asyncio.sleep(60)))
    while run.of('deed') != ['open']:
        await asyncio.sleep(0.002)
    monkey = pytest.MonkeyPatch()
    monkey.setattr('tallystick.actions.actions.OPEN_S_MAX', 0.05)
    await asyncio.to_thread(run.processor.shutdown)
    monkey.undo()
    ends = run.of('part')
    going.cancel()
    await asyncio.wait([going])
    assert run.of('run') == ['unknown']
    return ends


CASES: dict[str, Callable[[Run], Awaitable[list[str]]]] = {
    'returns': plain,
    'returns-nothing': lambda run: plain(run, lambda n: None),
    'returns-falsy': falsy,
    'throws-error': lambda run: failing(run, LookupError('late')),
    'throws-nothing': lambda run: failing(run, ValueError()),
    'model-fails': model_fails,
    'run-fails': run_fails,
    'denied-by-person': denied_by_person,
    'denied-by-rule': denied_by_rule,
    'not-recorded': not_recorded,
    'cancelled-before': cancelled_before,
    'cancelled-during': cancelled_during,
    'cancelled-after': cancelled_after,
    'run-cancelled': run_cancelled,
    'model-stream-ends': model_stream_ends,
    'model-stream-fails': model_stream_fails,
    'run-stream-fails': run_stream_fails,
    'run-stream-abandoned': run_stream_abandoned,
    'limit-throws': limit_throws,
    'guardrail-trips': guardrail_trips,
    'root-ends-first': root_first,
    'closed-while-open': closed,
}
GUARDED_ONLY = ('returns-nothing', 'denied-by-rule', 'not-recorded', 'cancelled-before')
"""Cases that the library does not report without `guard` (python/README.md)."""


def test_every_case_of_the_table_is_tested() -> None:
    require_all(WAY, CASES)


@pytest.mark.parametrize('guarded', [True, False])
@pytest.mark.parametrize('case', CASES)
def test_an_action_ends_as_the_table_says(case: str, guarded: bool) -> None:
    if not guarded and case in GUARDED_ONLY:
        return
    found = asyncio.run(CASES[case](Run(guarded)))  # type: ignore[arg-type]
    wanted = expected(WAY)[case]
    assert found == (wanted if isinstance(wanted, list) else [wanted])


@pytest.mark.parametrize('guarded', [True, False])
def test_a_tool_that_took_too_long_is_no_ok(guarded: bool) -> None:
    run = Run(guarded)
    asyncio.run(run(lambda n: asyncio.sleep(60), timeout=0.02))
    assert run.of('deed') == ['unknown']


@pytest.mark.parametrize('guarded', [True, False])
def test_a_tool_whose_result_was_refused_is_no_error(guarded: bool) -> None:
    @tool_output_guardrail(name='trips')
    def trips(data: Any) -> ToolGuardrailFunctionOutput:
        return ToolGuardrailFunctionOutput.raise_exception()

    run = Run(guarded)
    with pytest.raises(AgentsException):
        asyncio.run(run(str, tool_output_guardrails=[trips]))
    assert run.of('deed') == ['ok' if guarded else 'unknown']


def test_a_run_inside_an_exception_handler_has_its_own_outcome() -> None:
    run = Run()
    try:
        raise KeyError('handled')
    except KeyError:
        asyncio.run(run(str))
    assert (run.of('run'), run.of('deed')) == (['ok'], ['ok'])
