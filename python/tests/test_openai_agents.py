"""Agents of the OpenAI Agents SDK with a scripted model: the tree in the ledger equals the run."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, function_tool, generation_span, set_trace_processors
from agents.testing import ScriptedModel, assistant_message, function_call
from agents.tool_guardrails import ToolGuardrailFunctionOutput, ToolInputGuardrailData, tool_input_guardrail
from ledger import QUICK, Ledger, Proxy, ledger, needs_server, proxy

from tallystick.actions import Actions
from tallystick.adapters.openai_agents import TallystickTracingProcessor

__all__ = ['ledger', 'proxy']
pytestmark = needs_server


class TracedModel(ScriptedModel):
    """Makes spans, as the library's own models do."""

    async def get_response(self, *args: Any, **kwargs: Any) -> Any:
        with generation_span(model='fake') as span:
            response = await super().get_response(*args, **kwargs)
            span.span_data.output = [item.model_dump() for item in response.output]
            span.span_data.usage = {'input_tokens': 11, 'output_tokens': 17}
            return response


def fake(*answers: Any) -> ScriptedModel:
    """Returns a model that gives `answers` in order."""
    return TracedModel([answer if isinstance(answer, list) else [answer] for answer in answers])


def call(name: str, arguments: dict[str, Any], call_id: str) -> Any:
    return function_call(name, arguments, call_id=call_id)


def prices(**options: Any) -> tuple[Any, list[str]]:
    asked: list[str] = []

    @function_tool(failure_error_function=lambda _context, error: f'failed: {error}', **options)
    def look_up(metal: str) -> str:
        """A price."""
        asked.append(metal)
        if metal == 'gold':
            raise LookupError('no price of gold')
        return f'{metal}: 9,612'

    return look_up, asked


def test_a_run_with_tools_an_error_a_subagent_and_a_hand_over_is_the_tree_of_the_run(ledger: Ledger) -> None:
    processor = TallystickTracingProcessor(Actions(ledger.client))
    set_trace_processors([processor])
    look_up, _ = prices()
    writer = Agent(name='writer', model=fake(assistant_message('9,612 dollars.')))
    checker = Agent(name='checker', model=fake(assistant_message('fine')))
    analyst = Agent(
        name='analyst',
        tools=[processor.guard(look_up), checker.as_tool('check', 'checks')],
        handoffs=[writer],
        model=fake(
            [call('look_up', {'metal': 'copper'}, '1'), call('look_up', {'metal': 'gold'}, '2')],
            call('check', {'input': 'copper: 9,612'}, '3'),
            call('transfer_to_writer', {}, '4'),
        ),
    )
    asyncio.run(Runner.run(analyst, 'How much?', run_config=RunConfig(workflow_name='price', group_id='thread-7')))
    processor.force_flush()
    assert ledger.lines() == [
        'other price · before · ok',
        '  agent analyst · before · ok',
        '    model fake · after · ok',
        '    tool look_up · before · ok',
        '    tool look_up · before · error',
        '    model fake · after · ok',
        '    tool check · before · ok',
        '      agent checker · before · ok',
        '        model fake · after · ok',
        '    model fake · after · ok',
        '    agent writer · after · ok',
        '  agent writer · before · ok',
        '    model fake · after · ok',
    ]
    intent, outcome = ledger.records(reference='gen_ai.tool.call.id:1')
    assert intent['payload'] == {
        'kind': 'tool',
        'name': 'look_up',
        'callId': '1',
        'session': 'thread-7',
        'agent': 'analyst',
        'framework': 'openai-agents-python',
        'argumentsDigest': digest('{"metal":"copper"}'),
        'told': 'before',
    }
    assert (outcome['parent'], outcome['payload']['resultDigest']) == (intent['id'], digest('copper: 9,612'))
    processor.shutdown()


def test_a_person_and_a_rule_say_no_and_the_ledger_has_who_it_was(ledger: Ledger) -> None:
    processor = TallystickTracingProcessor(Actions(ledger.client))
    set_trace_processors([processor])

    @tool_input_guardrail(name='no tin')
    def no_tin(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        if 'tin' in data.context.tool_arguments:
            return ToolGuardrailFunctionOutput.reject_content('not of tin')
        return ToolGuardrailFunctionOutput.allow()

    look_up, asked = prices(needs_approval=True, tool_input_guardrails=[no_tin])
    model = fake([call('look_up', {'metal': metal}, metal) for metal in ('tin', 'lead', 'iron')], assistant_message('I could not.'))
    agent = Agent(name='buyer', tools=[processor.guard(look_up)], model=model)

    async def main() -> None:
        config = RunConfig(workflow_name='denied')
        paused = await Runner.run(agent, 'How much?', run_config=config)
        state = paused.to_state()
        tin, lead, iron = paused.interruptions
        state.approve(tin)
        state.reject(lead)
        state.approve(iron)
        await Runner.run(agent, state, run_config=config)

    asyncio.run(main())
    processor.shutdown()
    assert asked == ['iron']
    waits = ['    tool look_up · before · unknown', '      escalate by unknown']
    # The library does not report that the waiting call was rejected after the pause. So the outcome
    # of this call stays `unknown`.
    assert ledger.lines() == [
        'other denied · before · ok',
        '  agent buyer · before · ok',
        '    model fake · after · ok',
        *(waits * 3),
        '  agent buyer · before · ok',
        '    tool look_up · before · denied',
        '      allow by person',
        '      deny by policy no tin',
        '    tool look_up · before · ok',
        '      allow by person',
        '      allow by policy no tin',
        '    model fake · after · ok',
    ]


@pytest.mark.parametrize('is_there', [True, False])
def test_with_fail_closed_a_tool_is_called_only_when_the_ledger_has_the_record(ledger: Ledger, proxy: Proxy, is_there: bool) -> None:
    hold_s_max = 20 if is_there else 0.1
    actions = Actions(ledger.connect(proxy.url), fail_closed=True, hold_s_max=hold_s_max, on_error=lambda _: None, **QUICK)
    processor = TallystickTracingProcessor(actions)
    set_trace_processors([processor])
    look_up, asked = prices()
    model = fake(call('look_up', {'metal': 'zinc'}, '7'), assistant_message('done'))
    agent = Agent(name='careful', tools=[processor.guard(look_up)], model=model)
    if not is_there:
        proxy.refuse()
    result = asyncio.run(Runner.run(agent, 'How much?', run_config=RunConfig(workflow_name='held')))
    if not is_there:
        proxy.accept()
    processor.shutdown()
    why = 'the action was not started, because it is not in the ledger: no confirmation after 100 ms'
    assert (asked, why in str(result.to_input_list())) == ((['zinc'], False) if is_there else ([], True))
    assert ledger.lines() == [
        'other held · before · ok',
        '  agent careful · before · ok',
        '    model fake · after · ok',
        f'    tool look_up · held · {"ok" if is_there else f"denied · NotRecordedError · {why}"}',
        '    model fake · after · ok',
    ]


def digest(text: str) -> dict[str, Any]:
    return {'sha256': sha256(text.encode()).hexdigest(), 'of': 'bytes', 'length': len(text)}
