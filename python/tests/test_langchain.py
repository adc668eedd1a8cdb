"""Agents of LangChain, and a graph of LangGraph, with a fake model: the tree in the ledger equals the run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from ledger import QUICK, Ledger, Proxy, ledger, needs_server, proxy

from tallystick.actions import Actions, accountable
from tallystick.adapters.langchain import TallystickCallbackHandler, tallystick_middleware

__all__ = ['ledger', 'proxy']
pytestmark = needs_server
QUESTION: Any = {'messages': [{'role': 'user', 'content': 'How much is copper?'}]}
asked: list[str] = []


class Fake(BaseChatModel):
    """A model that gives its `answers` in order, and then fails."""

    model: str = 'fake-1'
    answers: list[AIMessage]

    @property
    def _llm_type(self) -> str:
        return 'fake'

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        if not self.answers:
            raise TypeError('out of order')
        return ChatResult(generations=[ChatGeneration(message=self.answers.pop(0))])


def fake(*answers: str | list[Any]) -> Fake:
    return Fake(
        answers=[
            AIMessage(answer) if isinstance(answer, str) else AIMessage('', tool_calls=[{**call, 'type': 'tool_call'} for call in answer])
            for answer in answers
        ]
    )


def ask(metal: str) -> dict[str, Any]:
    return {'name': 'look_up', 'args': {'metal': metal}, 'id': metal}


@tool
def look_up(metal: str) -> str:
    """A price."""
    asked.append(metal)
    if metal == 'gold':
        raise LookupError('no price of gold')
    return f'{metal}: 9,612'


@pytest.mark.parametrize('is_async', [False, True])
def test_a_run_with_tools_and_a_subagent_is_the_tree_of_the_run(ledger: Ledger, is_async: bool) -> None:
    actions = Actions(ledger.client)
    checker = create_agent(fake('fine'), [], middleware=[tallystick_middleware(actions, agent='checker')])

    @accountable(actions=actions)
    def read(page: int) -> str:
        return f'page {page}'

    @tool
    def check() -> str:
        """Checks."""
        read(7)
        return str(checker.invoke(QUESTION)['messages'][-1].content)

    model = fake([ask('copper'), ask('tin')], [{'name': 'check', 'args': {}, 'id': 'c'}], '9,612 dollars')
    agent = create_agent(model, [look_up, check], middleware=[tallystick_middleware(actions, agent='analyst')])
    said = asyncio.run(agent.ainvoke(QUESTION)) if is_async else agent.invoke(QUESTION)
    assert said['messages'][-1].content == '9,612 dollars'
    actions.close()
    assert ledger.lines() == [
        'agent analyst · before · ok',
        '  model fake-1 · before · ok',
        '  tool look_up · before · ok',
        '  tool look_up · before · ok',
        '  model fake-1 · before · ok',
        '  tool check · before · ok',
        '    tool read · before · ok',
        '    agent checker · before · ok',
        '      model fake-1 · before · ok',
        '  model fake-1 · before · ok',
    ]


def test_a_person_says_no_and_the_ledger_has_it(ledger: Ledger) -> None:
    asked.clear()
    actions = Actions(ledger.client)
    asking = HumanInTheLoopMiddleware(interrupt_on={'look_up': {'allowed_decisions': ['approve', 'reject']}})
    agent = create_agent(
        fake([ask('iron')], [ask('lead')], 'done'),
        [look_up],
        checkpointer=InMemorySaver(),
        middleware=[tallystick_middleware(actions, agent='buyer'), asking],
    )
    thread: Any = {'configurable': {'thread_id': 'thread-7'}}
    agent.invoke(QUESTION, thread)
    agent.invoke(Command(resume={'decisions': [{'type': 'approve'}]}), thread)
    agent.invoke(Command(resume={'decisions': [{'type': 'reject'}]}), thread)
    actions.close()
    assert asked == ['iron']
    assert ledger.lines() == [
        'agent buyer · before · ok',
        '  model fake-1 · before · ok',
        '  tool look_up · before · ok',
        '  model fake-1 · before · ok',
        '  tool look_up · before · denied',
        '    deny by unknown',
        '  model fake-1 · before · ok',
    ]
    assert len(ledger.records(reference='gen_ai.conversation.id:thread-7')) == 13


def test_a_tool_and_a_model_that_fail_end_the_run(ledger: Ledger) -> None:
    actions = Actions(ledger.client)
    for model, error in ((fake([ask('gold')]), LookupError), (fake(), TypeError)):
        agent = create_agent(model, [look_up], middleware=[tallystick_middleware(actions, agent='hasty')])
        with pytest.raises(error):
            agent.invoke(QUESTION)
    actions.close()
    assert ledger.lines() == [
        'agent hasty · before · error · LookupError',
        '  model fake-1 · before · ok',
        '  tool look_up · before · error · LookupError',
        'agent hasty · before · error · TypeError',
        '  model fake-1 · before · error · TypeError',
    ]


@pytest.mark.parametrize('is_async', [False, True])
def test_with_fail_closed_a_tool_is_called_only_when_the_ledger_has_the_record(ledger: Ledger, proxy: Proxy, is_async: bool) -> None:
    asked.clear()
    actions = Actions(ledger.connect(proxy.url), fail_closed=True, hold_s_max=20, on_error=lambda _: None, **QUICK)

    def run() -> str:
        agent = create_agent(fake([ask('zinc')], 'done'), [look_up], middleware=[tallystick_middleware(actions)])
        said = asyncio.run(agent.ainvoke(QUESTION)) if is_async else agent.invoke(QUESTION)
        return str(said['messages'][-2].content)

    assert run() == 'zinc: 9,612'
    proxy.refuse()
    actions.hold_s_max = 0.1
    why = 'the action was not started, because it is not in the ledger: no confirmation after 100 ms'
    assert (run(), asked) == (why, ['zinc'])
    with pytest.raises(Exception, match='it is not in the ledger'):
        look_up.invoke({'metal': 'tin'}, {'callbacks': [TallystickCallbackHandler(actions)]})
    proxy.accept()
    actions.close()
    assert asked == ['zinc']
    assert [line for line in ledger.lines() if 'tool' in line] == [
        '  tool look_up · held · ok',
        f'  tool look_up · held · denied · NotRecordedError · {why}',
        f'tool look_up · held · denied · NotRecordedError · {why}',
    ]


@pytest.mark.parametrize('is_async', [False, True])
def test_a_graph_that_is_no_agent_is_told_by_callbacks(ledger: Ledger, is_async: bool) -> None:
    actions = Actions(ledger.client)
    model = fake('9,612 dollars')

    def look(state: MessagesState) -> dict[str, Any]:
        said = look_up.invoke({'metal': 'copper'})
        with pytest.raises(LookupError):
            look_up.invoke({'metal': 'gold'})
        return {'messages': [model.invoke(said)]}

    builder = StateGraph(MessagesState)
    builder.add_node('look', look)
    builder.add_edge(START, 'look')
    graph = builder.compile(name='prices')
    config: Any = {'callbacks': [TallystickCallbackHandler(actions)], 'configurable': {'thread_id': 't'}}
    if is_async:
        asyncio.run(graph.ainvoke(QUESTION, config))
    else:
        graph.invoke(QUESTION, config)
    actions.close()
    assert ledger.lines() == [
        'other prices · before · ok',
        '  tool look_up · before · ok',
        '  tool look_up · before · error · LookupError',
        '  model fake-1 · before · ok',
    ]
