/*
 * npm run example -- openai-agents
 *
 * Two agents of the OpenAI Agents SDK answer a question: one looks a price up with a tool, and hands over to one that writes the answer.
 * The ledger holds their actions, without a word of what they said. The model is a fake.
 */
import { Agent, getGlobalTraceProvider, Runner, setTraceProcessors, tool } from '@openai/agents'
import { assistantMessage, functionCall } from '@openai/agents/testing'
import { Tallystick } from '@tallystick/sdk'
import { z } from 'zod'
import { credentials } from '../credentials.ts'
import { FakeModel } from './fake-model.ts'
import { TallystickTracingProcessor, traceparentOf } from './tracing-processor.ts'

const tallystick = new Tallystick(credentials())

// The two lines. `addTraceProcessor` instead keeps the library's own exporter as well.
const processor = new TallystickTracingProcessor(tallystick.notarizer(), { onError: console.error })
setTraceProcessors([processor])

const lookUpPrice = tool({
  name: 'look_up_price',
  description: 'The price of a metal, in dollars a ton',
  parameters: z.object({ metal: z.string() }),
  execute: async ({ metal }) => `${metal}: 9,612`,
})

const writer = new Agent({
  name: 'writer',
  instructions: 'Write one sentence.',
  model: new FakeModel('fake-writer', () => assistantMessage('Copper costs 9,612 dollars a ton.')),
})

const analyst = new Agent({
  name: 'analyst',
  instructions: 'Look the price up, then hand over to the writer.',
  tools: [lookUpPrice],
  handoffs: [writer],
  model: new FakeModel('fake-analyst', ({ input }) =>
    hasToolResult(input)
      ? functionCall('transfer_to_writer', {}, { callId: 'call-2' })
      : functionCall('look_up_price', { metal: 'copper' }, { callId: 'call-1' }),
  ),
})

const traceId = getGlobalTraceProvider().generateTraceId()
const runner = new Runner({ workflowName: 'price of copper', traceId })
const { finalOutput } = await runner.run(analyst, 'How much is copper?')
console.log(`the agents say: ${finalOutput}`)
await getGlobalTraceProvider().forceFlush()

const id = traceparentOf(traceId).slice(3, 35)
for await (const { payload, entry } of tallystick.records.list({ traceId: id, order: 'asc' })) {
  const { kind, name, to, model, usage } = payload as Record<string, unknown>
  console.log(
    `  entry ${entry.seq}  ${kind}  ${[name, to, model, usage && JSON.stringify(usage)].filter(Boolean).join(' ')}`,
  )
}
console.log(`all of it: tallystick list --trace-id ${id}`)
await getGlobalTraceProvider().shutdown()

function hasToolResult(input: unknown): boolean {
  return Array.isArray(input) && input.some((item) => item.type === 'function_call_result')
}
