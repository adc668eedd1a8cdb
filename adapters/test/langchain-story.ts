import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, ToolMessage } from '@langchain/core/messages'
import type { ChatResult } from '@langchain/core/outputs'
import { Command, MemorySaver, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import type { Actions } from '@tallystick/sdk/actions'
import { createAgent, createMiddleware, humanInTheLoopMiddleware, tool } from 'langchain'
import { z } from 'zod'
import { TallystickCallbackHandler, tallystickMiddleware } from '../langchain/index.ts'
import { openLedger } from './ledger.ts'

/* Tests for any version of LangChain. The importing file decides which version `langchain` is. */

/**
 * Tests one version. `isOldest`: true for the oldest supported version, which ends the run after a person's denial and
 * passes no thread to a middleware.
 */
export function testAgents(name: string, isOldest: boolean): void {
  test(name, async (t) => {
    const ledger = await openLedger(t)
    const actions = ledger.actions()
    const tree = async (from = actions) => {
      await from.flush()
      return ledger.tree()
    }
    const asked: string[] = []
    const lookUp = tool(
      async ({ metal }: { metal: string }) => {
        asked.push(metal)
        if (metal === 'gold') throw new RangeError('no price of gold')
        return `${metal}: 9,612`
      },
      { name: 'look_up', description: 'a price', schema: z.object({ metal: z.string() }) },
    )
    /** A typical middleware, which keeps the run going when a tool throws. */
    const tolerant = createMiddleware({
      name: 'tolerant',
      wrapToolCall: async (request, handler) => {
        try {
          return await handler(request)
        } catch (error) {
          const { id = '', name } = request.toolCall
          return new ToolMessage({ content: `${error}`, tool_call_id: id, name, status: 'error' })
        }
      },
    })
    // The types of this middleware use zod 3, which does not compile with this project's strict options.
    const asking = humanInTheLoopMiddleware({
      interruptOn: { look_up: { allowedDecisions: ['approve', 'reject'] } },
    } as never) as never
    const ask = (metal: string) => ({ name: 'look_up', args: { metal }, id: metal })
    const question = { messages: [{ role: 'user', content: 'How much is copper?' }] }

    await t.test('a run with tools, an error and a subagent is the tree of the run', async () => {
      const checker = createAgent({
        model: fake('fine'),
        tools: [],
        middleware: [tallystickMiddleware({ actions, agent: 'checker' })],
      })
      const check = tool(
        async () => {
          const { messages } = await checker.invoke(question)
          return messages.at(-1)!.text
        },
        { name: 'check', description: 'checks', schema: z.object({}) },
      )
      const agent = createAgent({
        model: fake([ask('copper'), ask('gold')], [{ name: 'check', args: {}, id: 'c' }], '9,612 dollars'),
        tools: [lookUp, check],
        middleware: [tallystickMiddleware({ actions, agent: 'analyst' }), tolerant],
      })
      const { messages } = await agent.invoke(question)
      assert.equal(messages.at(-1)!.text, '9,612 dollars')
      assert.deepEqual(await tree(), [
        'agent analyst · before · ok',
        '  model fake-1 · before · ok',
        '  tool look_up · before · ok',
        '  tool look_up · before · error',
        '  model fake-1 · before · ok',
        '  tool check · before · ok',
        '    agent checker · before · ok',
        '      model fake-1 · before · ok',
        '  model fake-1 · before · ok',
      ])
    })

    await t.test('a person says no: the tool is not called, and the ledger has it', async () => {
      asked.length = 0
      const agent = createAgent({
        model: fake([ask('iron')], [ask('lead')], 'done'),
        tools: [lookUp],
        checkpointer: new MemorySaver(),
        middleware: [tallystickMiddleware({ actions, agent: 'buyer' }), asking],
      })
      const thread = { configurable: { thread_id: 'thread-7' } }
      const decide = (type: string) => new Command({ resume: { decisions: [{ type }] } })
      await agent.invoke(question as never, thread)
      await agent.invoke(decide('approve'), thread)
      await agent.invoke(decide('reject'), thread)
      assert.deepEqual(asked, ['iron'])
      assert.deepEqual(await tree(), [
        'agent buyer · before · ok',
        '  model fake-1 · before · ok',
        '  tool look_up · before · ok',
        '  model fake-1 · before · ok',
        '  tool look_up · before · denied',
        '    deny by unknown',
        ...(isOldest ? [] : ['  model fake-1 · before · ok']),
      ])
      const ofThread = '/v1/records?reference=gen_ai.conversation.id:thread-7'
      const { data } = (await ledger.app.send('GET', ofThread)).json()
      assert.equal(data.length, isOldest ? 0 : 13)
    })

    await t.test('a tool and a model that fail end the run', async () => {
      const run = (model: Fake) => {
        const middleware = [tallystickMiddleware({ actions, agent: 'hasty' })]
        return createAgent({ model, tools: [lookUp], middleware }).invoke(question)
      }
      await assert.rejects(run(fake([ask('gold')])), /no price of gold/)
      await assert.rejects(run(fake()), /out of order/)
      assert.deepEqual(await tree(), [
        'agent hasty · before · error · RangeError',
        '  model fake-1 · before · ok',
        '  tool look_up · before · error · RangeError',
        'agent hasty · before · error · TypeError',
        '  model fake-1 · before · error · TypeError',
      ])
    })

    await t.test('with failClosed a tool is called only when the ledger has the record', async () => {
      const run = async (actions: Actions) => {
        asked.length = 0
        const middleware = [tallystickMiddleware({ actions })]
        const { messages } = await createAgent({
          model: fake([ask('zinc')], 'done'),
          tools: [lookUp],
          middleware,
        }).invoke(question)
        return messages.at(-2)!.text
      }
      const held = (end: string) => [
        'agent agent · before · ok',
        '  model fake-1 · before · ok',
        `  tool look_up · held · ${end}`,
        '  model fake-1 · before · ok',
      ]
      const there = ledger.actions({ failClosed: true, holdMsMax: 30_000 })
      assert.deepEqual([await run(there), asked], ['zinc: 9,612', ['zinc']])
      assert.deepEqual(await tree(there), held('ok'))

      const away = ledger.actions({ failClosed: true, holdMsMax: 100, onError: () => {} })
      ledger.proxy.refuse()
      const told = await run(away)
      ledger.proxy.accept()
      const why = 'the action was not started, because it is not in the ledger: no confirmation after 100 ms'
      assert.deepEqual([told, asked], [why, []])
      assert.deepEqual(await tree(away), held(`denied · NotRecordedError · ${why}`))
    })

    await t.test('a graph that is no agent is told by callbacks', async () => {
      const model = fake('9,612 dollars')
      const graph = new StateGraph(MessagesAnnotation)
        .addNode('look', async () => {
          const said = await lookUp.invoke(ask('copper').args)
          await lookUp.invoke(ask('gold').args).catch(() => {})
          return { messages: [await model.invoke(said)] }
        })
        .addEdge(START, 'look')
        .compile({ name: 'prices' })
      await graph.invoke(question, { callbacks: [new TallystickCallbackHandler(actions)] })
      assert.deepEqual(await tree(), [
        'other prices · before · ok',
        '  tool look_up · before · ok',
        '  tool look_up · before · error · RangeError',
        '  model Fake · before · ok',
      ])
      asked.length = 0
      const away = ledger.actions({ failClosed: true, holdMsMax: 100, onError: () => {} })
      ledger.proxy.refuse()
      const callbacks = [new TallystickCallbackHandler(away)]
      await assert.rejects(lookUp.invoke(ask('tin').args, { callbacks }), /it is not in the ledger/)
      ledger.proxy.accept()
      assert.deepEqual(asked, [])
      assert.equal((await tree(away)).length, 1)
    })
  })
}

class Fake extends BaseChatModel {
  readonly model = 'fake-1'
  readonly #answers: AIMessage[]

  constructor(answers: readonly AIMessage[]) {
    super({})
    this.#answers = [...answers]
  }

  _llmType(): string {
    return 'fake'
  }

  override bindTools(): this {
    return this
  }

  async _generate(): Promise<ChatResult> {
    const message = this.#answers.shift()
    if (!message) throw new TypeError('out of order')
    return { generations: [{ text: message.text, message }] }
  }
}

type Asked = { readonly name: string; readonly args: Record<string, unknown>; readonly id: string }

/** Returns a model that gives these answers in order, and then fails. */
function fake(...answers: (string | Asked[])[]): Fake {
  return new Fake(
    answers.map((answer) =>
      typeof answer === 'string'
        ? new AIMessage(answer)
        : new AIMessage({ content: '', tool_calls: answer.map((call) => ({ ...call, type: 'tool_call' })) }),
    ),
  )
}
