import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import {
  Agent,
  defineToolInputGuardrail,
  getGlobalTraceProvider,
  type ModelRequest,
  type ModelResponse,
  Runner,
  setTraceProcessors,
  tool,
  withGenerationSpan,
} from '@openai/agents'
import {
  assistantMessage,
  functionCall,
  ScriptedModel,
  type ScriptedModelInput,
} from '@openai/agents/testing'
import { z } from 'zod'
import { TallystickTracingProcessor } from '../openai-agents/index.ts'
import { openLedger } from './ledger.ts'

test('agents of the OpenAI Agents SDK', async (t) => {
  const ledger = await openLedger(t)
  const processor = new TallystickTracingProcessor(ledger.actions())
  setTraceProcessors([processor])

  const tree = async (from = processor) => {
    await getGlobalTraceProvider().forceFlush()
    await from.forceFlush()
    return ledger.tree()
  }

  await t.test('a run with tools, an error, a subagent and a handoff is recorded as a tree', async () => {
    const { lookUp } = prices()
    const writer = new Agent({ name: 'writer', model: fake([assistantMessage('9,612 dollars.')]) })
    const checker = new Agent({ name: 'checker', model: fake([assistantMessage('fine')]) })
    const analyst = new Agent({
      name: 'analyst',
      tools: [processor.guard(lookUp), checker.asTool({ toolName: 'check', toolDescription: 'checks' })],
      handoffs: [writer],
      model: fake(
        [call('look_up', { metal: 'copper' }, '1'), call('look_up', { metal: 'gold' }, '2')],
        [call('check', { input: 'copper: 9,612' }, '3')],
        [call('transfer_to_writer', {}, '4')],
      ),
    })
    await new Runner({ workflowName: 'price', groupId: 'thread-7' }).run(analyst, 'How much is copper?')
    assert.deepEqual(await tree(), [
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
    ])
    const ofCall = await ledger.app.send('GET', '/v1/records?reference=gen_ai.tool.call.id:1&order=asc')
    const [intent, outcome] = ofCall.json().data
    const { payload, traceparent: _traceparent, ...record } = intent
    assert.deepEqual(payload, {
      kind: 'tool',
      name: 'look_up',
      callId: '1',
      session: 'thread-7',
      agent: 'analyst',
      framework: 'openai-agents-js',
      argumentsDigest: sha256('{"metal":"copper"}'),
      told: 'before',
    })
    assert.deepEqual([outcome.parent, outcome.payload.resultDigest], [record.id, sha256('copper: 9,612')])
  })

  await t.test('a tool denied by a person or a rule is not called, and the denier is recorded', async () => {
    const { lookUp, asked } = prices({ needsApproval: true })
    const noTin = defineToolInputGuardrail({
      name: 'no tin',
      run: async ({ toolCall }) =>
        toolCall.arguments.includes('tin')
          ? { behavior: { type: 'rejectContent', message: 'not of tin' } }
          : { behavior: { type: 'allow' } },
    })
    lookUp.inputGuardrails = [noTin]
    const answers = [
      ['tin', 'lead', 'iron'].map((metal) => call('look_up', { metal }, metal)),
      [assistantMessage('I could not.')],
    ]
    const agent = new Agent({ name: 'buyer', tools: [processor.guard(lookUp)], model: fake(...answers) })
    const runner = new Runner({ workflowName: 'denied' })
    const { interruptions, state } = await runner.run(agent, 'How much?')
    const [tin, lead, iron] = interruptions
    state.approve(tin!)
    state.reject(lead!)
    state.approve(iron!)
    await runner.run(agent, state)
    assert.deepEqual(asked, ['iron'])
    assert.deepEqual(await tree(), [
      'other denied · before · unknown',
      '  agent buyer · before · unknown',
      '    model fake · after · ok',
      '  agent buyer · before · ok',
      '    tool look_up · before · denied',
      '      deny by person',
      '    tool look_up · before · denied',
      '      allow by person',
      '      deny by policy no tin',
      '    tool look_up · before · ok',
      '      allow by person',
      '      allow by policy no tin',
      '    model fake · after · ok',
    ])
  })

  await t.test(
    'a run that waits for approval has the outcome unknown, whatever the form of the model’s answer',
    async () => {
      const answer = call('look_up', { metal: 'tin' }, 'tin')
      const calls = [{ id: 'tin', type: 'function', function: { name: 'look_up', arguments: '{}' } }]
      const message = { role: 'assistant', content: null, tool_calls: calls }
      const forms = [
        [answer],
        [message],
        [{ message }],
        [{ object: 'chat.completion', choices: [{ message }] }],
      ]
      for (const form of forms) {
        const { lookUp } = prices({ needsApproval: true })
        const model = new TracedModel([[answer]], form)
        const agent = new Agent({ name: 'buyer', tools: [processor.guard(lookUp)], model })
        await new Runner({ workflowName: 'asks' }).run(agent, 'How much?')
        assert.deepEqual(await tree(), [
          'other asks · before · unknown',
          '  agent buyer · before · unknown',
          '    model fake · after · ok',
        ])
      }
    },
  )

  await t.test('shutdown waits for the end of a trace that is open', async () => {
    const streaming = new TallystickTracingProcessor(ledger.actions())
    setTraceProcessors([streaming])
    const agent = new Agent({ name: 'streamer', model: new ScriptedModel([[assistantMessage('done')]]) })
    const result = await new Runner({ workflowName: 'streamed' }).run(agent, 'x', { stream: true })
    await result.completed
    await streaming.shutdown()
    assert.deepEqual(await ledger.tree(), ['other streamed · before · ok', '  agent streamer · before · ok'])
  })

  await t.test('with failClosed a tool is called only when the ledger has the record', async () => {
    const open = (holdMsMax: number) => {
      const actions = ledger.actions({ failClosed: true, holdMsMax, onError: () => {} })
      return new TallystickTracingProcessor(actions)
    }
    const run = async (processor: TallystickTracingProcessor) => {
      setTraceProcessors([processor])
      const { lookUp, asked } = prices()
      const model = fake([call('look_up', { metal: 'zinc' }, '7')], [assistantMessage('done')])
      const agent = new Agent({ name: 'careful', tools: [processor.guard(lookUp)], model })
      const { history } = await new Runner({ workflowName: 'held' }).run(agent, 'How much?')
      return { asked, told: JSON.stringify(history) }
    }
    const held = (end: string) => [
      'other held · before · ok',
      '  agent careful · before · ok',
      '    model fake · after · ok',
      `    tool look_up · held · ${end}`,
      '    model fake · after · ok',
    ]
    const there = open(30_000)
    assert.deepEqual((await run(there)).asked, ['zinc'])
    assert.deepEqual(await tree(there), held('ok'))

    const away = open(100)
    ledger.proxy.refuse()
    const { asked, told } = await run(away)
    const why = 'the action was not started, because it is not in the ledger: no confirmation after 100 ms'
    assert.deepEqual([asked, told.includes(why)], [[], true])
    ledger.proxy.accept()
    assert.deepEqual(await tree(away), held(`denied · NotRecordedError · ${why}`))
  })
})

const call = (name: string, args: Record<string, unknown>, callId: string) =>
  functionCall(name, args, { callId })

/** Returns a model that gives these answers in order, traced like the library's own models. */
function fake(...answers: ScriptedModelInput[]): ScriptedModel {
  return new TracedModel(answers)
}

class TracedModel extends ScriptedModel {
  readonly #told: unknown[] | undefined

  /** `told`: output that the span of each answer gets, in place of the answer itself. */
  constructor(answers: ScriptedModelInput[], told?: unknown[]) {
    super(answers)
    this.#told = told
  }

  override getResponse(request: ModelRequest): Promise<ModelResponse> {
    return withGenerationSpan(async ({ spanData }) => {
      const response = await super.getResponse(request)
      spanData.model = 'fake'
      spanData.output = (this.#told ?? response.output) as typeof response.output
      spanData.usage = { input_tokens: 11, output_tokens: 17 }
      return response
    })
  }
}

function prices({ needsApproval = false } = {}) {
  const asked: string[] = []
  const lookUp = tool({
    needsApproval,
    name: 'look_up',
    description: 'a price',
    parameters: z.object({ metal: z.string() }),
    execute: async ({ metal }) => {
      asked.push(metal)
      if (metal === 'gold') throw new RangeError('no price of gold')
      return `${metal}: 9,612`
    },
  })
  return { lookUp, asked }
}

function sha256(text: string): object {
  return { sha256: createHash('sha256').update(text).digest('hex'), of: 'bytes', length: text.length }
}
