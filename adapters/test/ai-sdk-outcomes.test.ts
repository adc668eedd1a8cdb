import { test } from 'node:test'
import type { Actions } from '@tallystick/sdk/actions'
import * as newest from 'ai'
import * as mocksOfNewest from 'ai/test'
import * as oldest from 'ai-oldest'
import * as mocksOfOldest from 'ai-oldest/test'
import { z } from 'zod'
import { TallystickTelemetry } from '../ai-sdk/index.ts'
import { type Happens, testOutcomes } from './outcomes.ts'

type Library = { readonly ai: typeof newest; readonly mocks: typeof mocksOfNewest }
type Part = Record<string, unknown>

const LIBRARIES = {
  'the newest 7': { ai: newest, mocks: mocksOfNewest },
  '7.0.0': { ai: oldest, mocks: mocksOfOldest } as unknown as Library,
}
const LATE = new RangeError('late')

for (const [name, library] of Object.entries(LIBRARIES))
  test(`outcomes with the AI SDK, ${name}`, (t) => testOutcomes(t, 'ai-sdk', casesOf(library)))

function casesOf({ ai, mocks }: Library): Record<string, Happens> {
  const model = (...answers: Part[][]) =>
    new mocks.MockLanguageModelV4({
      modelId: 'fake',
      doGenerate: answers.map((parts) => answerOf(parts)) as never,
    })
  const streaming = (parts: readonly Part[], more: object = {}) =>
    new mocks.MockLanguageModelV4({
      modelId: 'fake',
      doStream: async () => ({
        stream: new ReadableStream({
          start(controller) {
            for (const part of parts) controller.enqueue(part)
            controller.close()
          },
          ...more,
        }),
      }),
    } as never)
  let telemetry: TallystickTelemetry
  let callId = ''
  const register = (actions: Actions) => {
    globalThis.AI_SDK_TELEMETRY_INTEGRATIONS = []
    telemetry = new TallystickTelemetry(actions)
    const { onStart } = telemetry
    telemetry.onStart = (event) => {
      callId = event.callId
      onStart(event)
    }
    ai.registerTelemetry(telemetry)
  }
  /**
   * Runs a generation. Its model calls the tool once for each id, and then answers. `execute`: function of the tool.
   */
  const generate = (actions: Actions, execute: unknown, ids = ['1'], more: object = {}) => {
    register(actions)
    const deed = ai.tool({ inputSchema: z.object({ n: z.number() }), execute: execute as never })
    const calls = ids.map((toolCallId, n) => ({
      type: 'tool-call',
      toolCallId,
      toolName: 'deed',
      input: JSON.stringify({ n }),
    }))
    return ai.generateText({
      model: model(calls, [SAY]),
      tools: { deed },
      prompt: 'x',
      stopWhen: ai.isStepCount(3),
      maxRetries: 0,
      ...more,
    } as never) as Promise<{ responseMessages: newest.ModelMessage[]; content: Part[] }>
  }
  const tool =
    (execute: unknown): Happens =>
    (actions) =>
      generate(actions, execute)
  const stream = (actions: Actions, parts: readonly Part[], more: object = {}) => {
    register(actions)
    return ai.streamText({
      model: streaming(parts),
      prompt: 'x',
      maxRetries: 0,
      onError() {},
      ...more,
    } as never)
  }
  const readAll = async ({ fullStream }: { fullStream: AsyncIterable<unknown> }) => {
    for await (const _ of fullStream);
  }
  const aborted = async (actions: Actions) => {
    const abort = new AbortController()
    const waits = (_input: unknown, { abortSignal }: { abortSignal: AbortSignal }) =>
      new Promise((_yes, no) => {
        abortSignal.addEventListener('abort', () => no(abortSignal.reason))
        setTimeout(() => abort.abort(), 1)
      })
    await generate(actions, waits, ['1'], { abortSignal: abort.signal })
  }
  const failsInStream: Happens = (actions) => readAll(stream(actions, [...TEXT, ERROR, finish('error')]))
  const modelFails: Happens = (actions) => {
    register(actions)
    const doGenerate = () => Promise.reject(LATE)
    const failing = new mocks.MockLanguageModelV4({ modelId: 'fake', doGenerate } as never)
    return ai.generateText({ model: failing, prompt: 'x', maxRetries: 0 })
  }
  return {
    returns: tool(() => 'done'),
    'returns-nothing': tool(() => undefined),
    'returns-falsy': tool(() => 0),
    'returns-falsy:text': tool(() => ''),
    'throws-error': tool(() => Promise.reject(LATE)),
    'throws-nothing': tool(() => Promise.reject()),
    'throws-nothing:null': tool(() => Promise.reject(null)),
    'model-fails': modelFails,
    'run-fails': modelFails,
    'denied-by-person': async (actions) => {
      const more = { toolApproval: () => 'user-approval' }
      const { responseMessages, content } = await generate(actions, () => 'done', ['1'], more)
      const approvalId = content.find(({ type }) => type === 'tool-approval-request')!['approvalId'] as string
      const answer = { type: 'tool-approval-response' as const, approvalId, approved: false }
      const prompt = [
        { role: 'user', content: 'x' },
        ...responseMessages,
        { role: 'tool', content: [answer] },
      ] as newest.ModelMessage[]
      await ai.generateText({ model: model([SAY]), messages: prompt })
    },
    'denied-by-rule': (actions) => generate(actions, () => 'done', ['1'], { toolApproval: () => 'denied' }),
    'not-recorded': tool(() => 'done'),
    'cancelled-during': aborted,
    'run-cancelled': (actions) => {
      register(actions)
      const abort = new AbortController()
      const doGenerate = () => {
        abort.abort()
        return Promise.reject(abort.signal.reason)
      }
      const waiting = new mocks.MockLanguageModelV4({ modelId: 'fake', doGenerate } as never)
      return ai.generateText({ model: waiting, prompt: 'x', maxRetries: 0, abortSignal: abort.signal })
    },
    'cancelled-after': async (actions) => {
      const abort = new AbortController()
      await generate(actions, () => 'done', ['1'], { abortSignal: abort.signal })
      abort.abort()
    },
    'async-generator-ends': tool(async function* () {
      yield 'some'
      yield 'done'
    }),
    'async-generator-fails': tool(async function* () {
      yield 'some'
      throw LATE
    }),
    'model-stream-ends': (actions) => readAll(stream(actions, [...TEXT, finish('stop')])),
    'model-stream-fails': failsInStream,
    'model-stream-fails:the connection breaks': async (actions) => {
      const breaks = {
        start: undefined,
        pull: (controller: ReadableStreamDefaultController) => controller.error(LATE),
      }
      await readAll(stream(actions, [], { model: streaming([], breaks) }))
    },
    'model-stream-fails:a reason follows the error part': (actions) =>
      readAll(stream(actions, [...TEXT, ERROR, finish('stop')])),
    'run-stream-fails': failsInStream,
    'run-stream-fails:a reason follows the error part': (actions) =>
      readAll(stream(actions, [...TEXT, ERROR, finish('length')])),
    'run-stream-fails:no reason follows': (actions) => readAll(stream(actions, [...TEXT, ERROR])),
    'model-stream-cut': (actions) => readAll(stream(actions, [...TEXT, finish('interrupted')])),
    'model-stream-cut:no reason': (actions) => readAll(stream(actions, TEXT)),
    'run-stream-cut': (actions) => readAll(stream(actions, [...TEXT, finish('interrupted')])),
    'run-stream-cut:no reason': (actions) => readAll(stream(actions, TEXT)),
    'run-stream-abandoned': async (actions) => {
      const start = (controller: ReadableStreamDefaultController) => {
        for (const part of TEXT) controller.enqueue(part)
      }
      const { fullStream } = stream(actions, [], { model: streaming([], { start }) })
      for await (const _ of fullStream) break
    },
    'same-id': (actions) =>
      generate(actions, ({ n }: { n: number }) => (n === 0 ? wait('done') : fail()), ['1', '1']),
    'limit-ends': (actions) => generate(actions, () => 'done', ['1'], { stopWhen: ai.isStepCount(1) }),
    'root-ends-first': async (actions) => {
      await new Promise((begun) => {
        void generate(actions, () => new Promise(() => begun(1)))
      })
      telemetry.onError({ callId, error: LATE })
    },
    'closed-while-open': async (actions) => {
      await new Promise((begun) => {
        void generate(actions, () => new Promise(() => begun(1)))
      })
    },
  }
}

const SAY = { type: 'text', text: 'done' }
const TEXT: Part[] = [
  { type: 'stream-start', warnings: [] },
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta: 'some' },
]
const ERROR = { type: 'error', error: new Error('overloaded') }
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
}

function finish(unified: string): Part {
  return { type: 'finish', finishReason: { unified, raw: undefined }, usage }
}

function answerOf(content: readonly Part[]) {
  const unified = content.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop'
  return { content, finishReason: { unified, raw: undefined }, usage, warnings: [] }
}

function wait(value: string): Promise<string> {
  return new Promise((yes) => setTimeout(yes, 20, value))
}

function fail(): Promise<never> {
  return Promise.reject(LATE)
}
