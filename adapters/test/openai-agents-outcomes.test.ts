import { test } from 'node:test'
import {
  Agent,
  createGenerationSpan,
  defineToolInputGuardrail,
  type ModelRequest,
  type ModelResponse,
  Runner,
  type StreamEvent,
  setTraceProcessors,
  tool,
  withGenerationSpan,
  withTrace,
} from '@openai/agents'
import {
  assistantMessage,
  functionCall,
  ScriptedModel,
  type ScriptedModelInput,
} from '@openai/agents/testing'
import type { Actions } from '@tallystick/sdk/actions'
import { z } from 'zod'
import { TallystickTracingProcessor } from '../openai-agents/index.ts'
import { type Happens, testOutcomes } from './outcomes.ts'

const LATE = new RangeError('late')

type Setting = {
  readonly execute?: (input: { n: number }, context: unknown, details: { signal?: AbortSignal }) => unknown
  readonly ids?: readonly string[]
  readonly isGuarded?: boolean
  readonly model?: ScriptedModel
  readonly tool?: object
  readonly agent?: object
  readonly run?: object
}

test('outcomes with the OpenAI Agents SDK', (t) => testOutcomes(t, 'openai-agents', cases()))

function cases(): Record<string, Happens> {
  const processorOf = (actions: Actions) => {
    const processor = new TallystickTracingProcessor(actions)
    setTraceProcessors([processor])
    return processor
  }
  const agentOf = (processor: TallystickTracingProcessor, setting: Setting) => {
    const { execute = () => 'done', ids = ['1'], isGuarded = true } = setting
    const deed = tool({
      name: 'deed',
      description: 'x',
      parameters: z.object({ n: z.number() }),
      execute: execute as never,
      errorFunction: null,
      ...setting.tool,
    })
    const calls = ids.map((callId, n) => functionCall('deed', { n }, { callId }))
    const model = setting.model ?? new TracedModel([calls, [assistantMessage('done')]])
    return new Agent({
      name: 'a',
      model,
      tools: [isGuarded ? processor.guard(deed) : deed],
      ...setting.agent,
    })
  }
  const run =
    (setting: Setting): Happens =>
    async (actions) => {
      const processor = processorOf(actions)
      await new Runner()
        .run(agentOf(processor, setting), 'x', setting.run as never)
        .finally(() => processor.forceFlush())
    }
  const stream =
    (setting: Setting, isLeft = false): Happens =>
    async (actions) => {
      const processor = processorOf(actions)
      const result = await new Runner().run(agentOf(processor, setting), 'x', { stream: true })
      for await (const _ of result) if (isLeft) return
      await result.completed
    }
  const tells = (execute: Setting['execute'], more: Setting = {}) => run({ execute: execute!, ...more })
  const cancelled: Happens = (actions) => {
    const abort = new AbortController()
    const execute: Setting['execute'] = (_input, _context, { signal }) => {
      setTimeout(() => abort.abort(), 5)
      return new Promise((_yes, no) => signal!.addEventListener('abort', () => no(signal!.reason)))
    }
    return tells(execute, { run: { signal: abort.signal } })(actions)
  }
  const refuses = defineToolInputGuardrail({
    name: 'no',
    run: async () => ({ behavior: { type: 'rejectContent', message: 'no' } }),
  })
  const trips = { name: 'trips', execute: async () => ({ tripwireTriggered: true, outputInfo: {} }) }
  return {
    returns: tells(() => 'done'),
    'returns:without a guard': tells(() => 'done', { isGuarded: false }),
    'returns-nothing': tells(() => undefined),
    'returns-falsy': tells(() => ''),
    'returns-falsy:number': tells(() => 0, { isGuarded: false }),
    'throws-error': tells(() => Promise.reject(LATE)),
    'throws-error:and the model is told': run({
      execute: () => Promise.reject(LATE),
      tool: { errorFunction: undefined },
    }),
    'throws-nothing': tells(() => Promise.reject()),
    'throws-nothing:null': tells(() => Promise.reject(null)),
    'model-fails': run({ model: new TracedModel([]) }),
    'run-fails': run({ model: new TracedModel([]) }),
    'denied-by-person': async (actions) => {
      const processor = processorOf(actions)
      const agent = agentOf(processor, { tool: { needsApproval: true } })
      const { interruptions, state } = await new Runner().run(agent, 'x')
      state.reject(interruptions[0]!)
      await new Runner().run(agent, state)
    },
    'denied-by-rule': run({ tool: { inputGuardrails: [refuses] } }),
    'not-recorded': tells(() => 'done'),
    'cancelled-during': cancelled,
    'run-cancelled': cancelled,
    'cancelled-after': async (actions) => {
      const abort = new AbortController()
      await run({ run: { signal: abort.signal } })(actions)
      abort.abort()
    },
    'model-stream-ends': stream({ model: new TracedModel([[assistantMessage('done')]]) }),
    'model-stream-fails': stream({ model: new TracedModel([]) }),
    'run-stream-fails': stream({ model: new TracedModel([]) }),
    'limit-throws': run({ run: { maxTurns: 1 } }),
    'guardrail-trips': run({ agent: { inputGuardrails: [trips] } }),
    'run-stream-abandoned': stream({ execute: () => new Promise(() => {}) }, true),
    'root-ends-first': (actions) => {
      const processor = processorOf(actions)
      return withTrace('ends first', () =>
        begunOf((execute) => new Runner().run(agentOf(processor, { execute }), 'x')),
      )
    },
    'closed-while-open': (actions) => begunOf((execute) => run({ execute })(actions)),
  }
}

/** Calls `run` with a tool that never ends. Resolves when the tool was called. */
function begunOf(run: (execute: () => Promise<never>) => unknown): Promise<unknown> {
  return new Promise((begun) => {
    void run(() => new Promise(() => begun(1)))
  })
}

/** A model whose calls are traced like those of the library's own models. */
class TracedModel extends ScriptedModel {
  constructor(answers: ScriptedModelInput[]) {
    super(answers)
  }

  override getResponse(request: ModelRequest): Promise<ModelResponse> {
    return withGenerationSpan(async ({ spanData }) => {
      const response = await super.getResponse(request)
      spanData.output = response.output as never
      return response
    })
  }

  override async *getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    const span = createGenerationSpan()
    span.start()
    try {
      for await (const event of super.getStreamedResponse(request)) {
        if (event.type === 'response_done') span.spanData.output = event.response.output as never
        yield event
      }
    } catch (error) {
      span.setError({ message: 'Error streaming response', data: { error: `${error}` } })
      throw error
    } finally {
      span.end()
    }
  }
}
