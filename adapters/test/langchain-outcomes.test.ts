import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BaseCallbackHandler } from '@langchain/core/callbacks/base'
import { CallbackManager } from '@langchain/core/callbacks/manager'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, AIMessageChunk, ToolMessage } from '@langchain/core/messages'
import { ChatGenerationChunk } from '@langchain/core/outputs'
import { RunnableLambda, RunnableSequence } from '@langchain/core/runnables'
import { Command, interrupt, MemorySaver } from '@langchain/langgraph'
import type { Actions } from '@tallystick/sdk/actions'
import { createAgent, createMiddleware, modelCallLimitMiddleware, tool } from 'langchain'
import { z } from 'zod'
import { TallystickCallbackHandler, tallystickMiddleware } from '../langchain/index.ts'
import { outcomeOfTool } from '../langchain/values.ts'
import { type Happens, testOutcomes } from './outcomes.ts'

const LATE = new RangeError('late')
const WELL = new ToolMessage({ content: 'well', tool_call_id: '1' })
const BADLY = new ToolMessage({ content: 'badly', tool_call_id: '1', status: 'error' })
const QUESTION = { messages: [{ role: 'user', content: 'x' }] }

type Setting = {
  readonly execute?: (input: { n: number }, config: { signal?: AbortSignal }) => unknown
  /** The tool is called once for each id. */
  readonly ids?: readonly string[]
  readonly more?: readonly unknown[]
  readonly config?: object
  readonly model?: Fake
  readonly isAsking?: boolean
}

for (const way of ['langchain', 'langchain-callbacks'])
  test(`outcomes with LangChain, ${way}`, (t) => testOutcomes(t, way, casesOf(way === 'langchain')))

function casesOf(isMiddleware: boolean): Record<string, Happens> {
  const agentOf = (
    actions: Actions,
    { execute = () => 'done', ids = ['1'], more = [], model, isAsking }: Setting,
  ) => {
    const deed = tool(execute as never, {
      name: 'deed',
      description: 'x',
      schema: z.object({ n: z.number() }),
    })
    return createAgent({
      model: model ?? new Fake([ids, 'done']),
      tools: [deed],
      middleware: [...(isMiddleware ? [tallystickMiddleware({ actions })] : []), ...more] as never,
      ...(isAsking && { checkpointer: new MemorySaver() }),
    })
  }
  const configOf = (actions: Actions, { config }: Setting) => ({
    ...(!isMiddleware && { callbacks: [new TallystickCallbackHandler(actions)] }),
    ...config,
  })
  const invoke =
    (setting: Setting): Happens =>
    (actions) =>
      agentOf(actions, setting).invoke(QUESTION as never, configOf(actions, setting) as never)
  const stream =
    (setting: Setting, isLeft = false): Happens =>
    async (actions) => {
      const config = { ...configOf(actions, setting), streamMode: 'messages' }
      for await (const _ of await agentOf(actions, setting).stream(QUESTION as never, config as never))
        if (isLeft) break
    }
  const tells = (execute: Setting['execute']) => invoke({ execute: execute! })
  /** The first tool waits. All other tools return. */
  const cancelled =
    (ids = ['1'], reason?: Error): Happens =>
    (actions) => {
      const abort = new AbortController()
      const execute: Setting['execute'] = ({ n }, { signal }) => {
        if (n > 0) return 'done'
        setTimeout(() => abort.abort(reason), 20)
        return new Promise((_yes, no) => signal!.addEventListener('abort', () => no(signal!.reason)))
      }
      return invoke({ execute: execute!, ids, config: { signal: abort.signal } })(actions)
    }
  const jumps = createMiddleware({
    name: 'jumps',
    beforeModel: { canJumpTo: ['end'], hook: () => ({ jumpTo: 'end' as const }) },
  })
  const throws = createMiddleware({ name: 'throws', afterModel: () => fail() })
  const refuses = createMiddleware({
    name: 'refuses',
    wrapToolCall: ({ toolCall }) =>
      new ToolMessage({ content: 'no', tool_call_id: toolCall.id!, name: toolCall.name, status: 'error' }),
  })
  const limit = (exitBehavior: 'error' | 'end') =>
    invoke({
      model: new Fake([['1'], ['2'], ['3']]),
      more: [modelCallLimitMiddleware({ runLimit: 2, exitBehavior } as never)],
    })

  const both: Record<string, Happens> = {
    returns: tells(() => 'done'),
    'returns-nothing': tells(() => undefined),
    'returns-falsy': tells(() => 0),
    'returns-falsy:text': tells(() => ''),
    'throws-error': tells(() => Promise.reject(LATE)),
    'throws-nothing': tells(() => Promise.reject()),
    'throws-nothing:null': tells(() => Promise.reject(null)),
    'answers-error': tells(() => new ToolMessage({ content: 'no', tool_call_id: '1', status: 'error' })),
    'answers-error:in a command': tells(() => new Command({ update: { messages: [WELL, BADLY] } })),
    'answers-error:in a command with pairs': tells(() => new Command({ update: [['messages', BADLY]] })),
    'returns:a command': tells(() => new Command({ update: { messages: [WELL] } })),
    'model-fails': invoke({ model: new Fake([]) }),
    'run-fails': invoke({ model: new Fake([]) }),
    'not-recorded': tells(() => 'done'),
    'cancelled-during': cancelled(),
    'run-cancelled': cancelled(),
    'model-stream-ends': stream({ model: new Streaming() }),
    'model-stream-fails': stream({ model: new Streaming(LATE) }),
    'run-stream-fails': stream({ model: new Streaming(LATE) }),
    'run-stream-abandoned': stream({}, true),
    'input-required': invoke({
      execute: () => interrupt('how?'),
      isAsking: true,
      config: { configurable: { thread_id: '1' } },
    }),
    'same-id': invoke({ execute: ({ n }) => (n === 0 ? 'done' : failLater()), ids: ['1', '1'] }),
    'limit-throws': invoke({ model: new Fake([['1'], ['2'], ['3'], ['4']]), config: { recursionLimit: 4 } }),
    'limit-throws:calls of the model': limit('error'),
    'limit-ends': limit('end'),
    'middleware-throws': invoke({ more: [throws] }),
    'middleware-jumps': invoke({ more: [jumps] }),
    'root-ends-first': async (actions) => {
      const abort = new AbortController()
      const execute = () => {
        setTimeout(() => abort.abort(), 5)
        return new Promise(() => {})
      }
      await invoke({ execute, config: { signal: abort.signal } })(actions)
    },
    'closed-while-open': (actions) =>
      new Promise((begun) => {
        void invoke({ execute: () => new Promise(() => begun(1)) })(actions)
      }),
  }
  if (!isMiddleware)
    return {
      ...both,
      'handler-in-a-chain': async (actions) => {
        const graph = agentOf(actions, {}).withConfig({
          callbacks: [new TallystickCallbackHandler(actions)],
        } as never)
        const part = new RunnableLambda({ func: (input: unknown) => graph.invoke(input as never) })
        const same = new RunnableLambda({ func: (input: unknown) => input })
        await RunnableSequence.from([same, part]).invoke(QUESTION, { callbacks: [new Other()] })
      },
    }
  const reason = new TypeError('the user pressed stop')
  return {
    ...both,
    // These cases are only for the middleware, because the callback handler does not get the abort signal.
    'cancelled-during:with a reason': cancelled(['1'], reason),
    'run-cancelled:with a reason': cancelled(['1', '2'], reason),
    'returns:handlers are taken away': withoutHandlers(tells(() => 'done')),
    'throws-error:handlers are taken away': withoutHandlers(tells(() => Promise.reject(LATE))),
    'run-fails:handlers are taken away': withoutHandlers(invoke({ model: new Fake([]) })),
    'denied-by-person': invoke({ more: [refuses] }),
    'denied-by-rule': invoke({ more: [refuses] }),
    'cancelled-after': async (actions) => {
      const abort = new AbortController()
      await invoke({ config: { signal: abort.signal } })(actions)
      abort.abort()
    },
  }
}

/**
 * Simulates the instrumentation of OpenLLMetry (0.27), whose handler replaces all other handlers of the runs below a
 * root run.
 */
function withoutHandlers(happens: Happens): Happens {
  return async (actions) => {
    const managers = CallbackManager as unknown as { _configureSync: (...args: unknown[]) => unknown }
    const original = managers._configureSync
    managers._configureSync = function (inherited, ...more) {
      return original.call(
        this,
        Array.isArray(inherited) ? [...inherited, new Other()] : [new Other()],
        ...more,
      )
    }
    try {
      await happens(actions)
    } finally {
      managers._configureSync = original
    }
  }
}

class Other extends BaseCallbackHandler {
  readonly name = 'other'
  override handleChainStart(): void {}
}

/** A model that calls the tool once for each id of an answer, and fails after the last answer. */
class Fake extends BaseChatModel {
  readonly #answers: (string | readonly string[])[]

  constructor(answers: readonly (string | readonly string[])[]) {
    super({})
    this.#answers = [...answers]
  }

  _llmType(): string {
    return 'fake'
  }

  override bindTools(): this {
    return this
  }

  async _generate() {
    const answer = this.#answers.shift()
    if (answer === undefined) throw new TypeError('out of order')
    const calls = typeof answer === 'string' ? [] : answer
    const message = new AIMessage({
      content: typeof answer === 'string' ? answer : '',
      tool_calls: calls.map((id, n) => ({ id, name: 'deed', args: { n }, type: 'tool_call' })),
    })
    return { generations: [{ text: message.text, message }] }
  }
}

class Streaming extends Fake {
  readonly #error: unknown

  constructor(error?: unknown) {
    super(['done'])
    this.#error = error
  }

  override async *_streamResponseChunks(): AsyncGenerator<ChatGenerationChunk> {
    yield new ChatGenerationChunk({ text: 'some', message: new AIMessageChunk('some') })
    if (this.#error) throw this.#error
  }
}

function fail(): never {
  throw LATE
}

function failLater(): Promise<never> {
  return new Promise((_yes, no) => setTimeout(no, 20, LATE))
}

test('of several messages of one tool call, the failed one decides the outcome', () => {
  const command = new Command({ update: { messages: [WELL, BADLY] } })
  assert.deepEqual(outcomeOfTool(command), { status: 'error', result: 'badly' })
  assert.deepEqual(outcomeOfTool([WELL, command]), { status: 'error', result: 'badly' })
  assert.deepEqual(outcomeOfTool(new Command({ update: null as never })), { status: 'ok' })
})
