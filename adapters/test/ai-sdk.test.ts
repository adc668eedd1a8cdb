import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as newest from 'ai'
import * as mocksOfNewest from 'ai/test'
import * as oldest from 'ai-oldest'
import * as mocksOfOldest from 'ai-oldest/test'
import { z } from 'zod'
import { TallystickTelemetry } from '../ai-sdk/index.ts'
import { openLedger } from './ledger.ts'

type Library = { readonly ai: typeof newest; readonly mocks: typeof mocksOfNewest }

const LIBRARIES = {
  'the newest 7': { ai: newest, mocks: mocksOfNewest },
  '7.0.0': { ai: oldest, mocks: mocksOfOldest } as unknown as Library,
}

for (const [name, { ai, mocks }] of Object.entries(LIBRARIES))
  test(`the AI SDK, ${name}`, async (t) => {
    const ledger = await openLedger(t)
    const telemetry = new TallystickTelemetry(ledger.actions())
    const register = (one: TallystickTelemetry) => {
      globalThis.AI_SDK_TELEMETRY_INTEGRATIONS = []
      ai.registerTelemetry(one)
    }
    register(telemetry)
    const tree = async (from = telemetry) => {
      await from.actions.flush()
      return ledger.tree()
    }
    const { generateText, streamText, tool, isStepCount } = ai
    const model = (...answers: Part[][]) =>
      new mocks.MockLanguageModelV4({ modelId: 'fake', doGenerate: answers.map(answerOf) as never })
    const asked: string[] = []
    const lookUp = tool({
      description: 'a price',
      inputSchema: z.object({ metal: z.string() }),
      execute: async ({ metal }) => {
        asked.push(metal)
        if (metal === 'gold') throw new RangeError('no price of gold')
        return `${metal}: 9,612`
      },
    })
    const ask = (metal: string) => call('look_up', { metal }, metal)

    await t.test('a run with tools, an error and a subagent is recorded as a tree', async () => {
      const check = tool({
        inputSchema: z.object({}),
        execute: async () => {
          const { text } = await generateText({
            model: model([say('fine')]),
            prompt: 'is it?',
            telemetry: { functionId: 'checker' },
          })
          return text
        },
      })
      const { text } = await generateText({
        model: model([ask('copper'), ask('gold')], [call('check', {}, 'c')], [say('9,612 dollars')]),
        tools: { look_up: lookUp, check },
        prompt: 'How much is copper?',
        stopWhen: isStepCount(5),
        telemetry: { functionId: 'analyst' },
      })
      assert.equal(text, '9,612 dollars')
      assert.deepEqual(await tree(), [
        'agent analyst · before · ok',
        '  model fake · before · ok',
        '  tool look_up · before · ok',
        '  tool look_up · before · error · RangeError',
        '  model fake · before · ok',
        '  tool check · before · ok',
        '    agent checker · before · ok',
        '      model fake · before · ok',
        '  model fake · before · ok',
      ])
    })

    await t.test(
      'a tool denied by a person or a rule is not called, and the denier is recorded',
      async () => {
        asked.length = 0
        const generate = (messages: newest.ModelMessage[], ...answers: Part[][]) =>
          generateText({
            model: model(...answers),
            tools: { look_up: lookUp },
            toolApproval: ({ toolCall }) => {
              const { metal } = toolCall.input as { metal: string }
              if (metal === 'tin') return { type: 'denied', reason: 'not of tin' }
              return metal === 'zinc' ? { type: 'approved', reason: 'cheap' } : 'user-approval'
            },
            messages,
            stopWhen: isStepCount(5),
            telemetry: { functionId: 'buyer' },
          })
        const question: newest.ModelMessage[] = [{ role: 'user', content: 'How much?' }]
        const { responseMessages, content } = await generate(
          question,
          ['tin', 'zinc', 'lead', 'iron'].map(ask),
        )
        const answers = content.flatMap((part) => {
          if (part.type !== 'tool-approval-request' || part.isAutomatic) return []
          const approved = part.toolCall.toolCallId === 'iron'
          return [
            { type: 'tool-approval-response' as const, approvalId: part.approvalId, approved, reason: 'so' },
          ]
        })
        await generate([...question, ...responseMessages, { role: 'tool', content: answers }], [say('done')])
        assert.deepEqual(asked, ['zinc', 'iron'])
        assert.deepEqual(await tree(), [
          'agent buyer · before · ok',
          '  model fake · before · ok',
          '  tool look_up · before · ok',
          '    allow by policy',
          '  tool look_up · before · denied',
          '    deny by policy',
          'agent buyer · before · ok',
          '  tool look_up · before · denied',
          '    deny by person',
          '  tool look_up · before · ok',
          '    allow by person',
          '  model fake · before · ok',
        ])
      },
    )

    await t.test('records a failing model and an aborted stream', async () => {
      const failing = new mocks.MockLanguageModelV4({
        modelId: 'fake',
        doGenerate: async () => {
          throw new TypeError('out of order')
        },
      })
      await assert.rejects(generateText({ model: failing, prompt: 'x', maxRetries: 0 }), /out of order/)
      const abort = new AbortController()
      const { fullStream } = streamText({
        model: new mocks.MockLanguageModelV4({
          modelId: 'fake',
          doStream: async ({ abortSignal }) => ({
            stream: new ReadableStream({
              start(controller) {
                abortSignal!.addEventListener('abort', () => controller.error(abortSignal!.reason))
                abort.abort(new DOMException('enough', 'AbortError'))
              },
            }),
          }),
        }),
        prompt: 'x',
        abortSignal: abort.signal,
      })
      for await (const _part of fullStream);
      assert.deepEqual(await tree(), [
        'agent ai.generateText · before · error · TypeError',
        '  model fake · before · error · TypeError',
        'agent ai.streamText · before · unknown · AbortError',
        '  model fake · before · unknown · AbortError',
      ])
    })

    await t.test('with failClosed a tool is called only when the ledger has the record', async () => {
      const open = (holdMsMax: number) => {
        const actions = ledger.actions({ failClosed: true, holdMsMax, onError: () => {} })
        const one = new TallystickTelemetry(actions)
        register(one)
        return one
      }
      const run = async () => {
        asked.length = 0
        const { steps } = await generateText({
          model: model([ask('zinc')], [say('done')]),
          tools: { look_up: lookUp },
          prompt: 'How much?',
          stopWhen: isStepCount(5),
        })
        return steps[0]!.content.find((part) => part.type === 'tool-error')
      }
      const held = (end: string) => [
        'agent ai.generateText · before · ok',
        '  model fake · before · ok',
        `  tool look_up · held · ${end}`,
        '  model fake · before · ok',
      ]
      const there = open(30_000)
      assert.deepEqual([await run(), asked], [undefined, ['zinc']])
      assert.deepEqual(await tree(there), held('ok'))

      const away = open(100)
      ledger.proxy.refuse()
      const told = await run()
      ledger.proxy.accept()
      const why = 'the action was not started, because it is not in the ledger: no confirmation after 100 ms'
      assert.deepEqual([(told!.error as Error).message, asked], [why, []])
      assert.deepEqual(await tree(away), held(`denied · NotRecordedError · ${why}`))
    })
  })

type Part = { readonly type: string }

const say = (text: string) => ({ type: 'text', text })
const call = (toolName: string, input: object, toolCallId: string) => ({
  type: 'tool-call',
  toolCallId,
  toolName,
  input: JSON.stringify(input),
})

function answerOf(content: readonly Part[]) {
  const calls = content.some(({ type }) => type === 'tool-call')
  return {
    content,
    finishReason: { unified: calls ? 'tool-calls' : 'stop', raw: undefined },
    usage: {
      inputTokens: { total: 11, noCache: 11, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: 17, text: 17, reasoning: undefined },
    },
    warnings: [],
  }
}
