import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Span, SpanData } from '@openai/agents'
import type { Notarizer } from '@tallystick/sdk'
import { TallystickTracingProcessor } from '../../../examples/openai-agents/tracing-processor.ts'
import type { Notarizer as SdkNotarizer } from '../../../sdk/notarizer/notarizer.ts'
import { sendJson, startHostile } from '../../sdk/hostile-server.ts'

test('whatever a tool answers, its call is recorded: text that no record can hold is kept as a digest', async (t) => {
  const said = ['page\u0000one', '\u0001'.repeat(16_000), '\ud800', '"'.repeat(16_000)]
  const server = await startHostile(t, (response) =>
    sendJson(response, { batch: 'bat_1', entry: { seq: 1 }, records: Array(ledger.stats.buffered).fill({}) }),
  )
  const ledger: SdkNotarizer = server.client().notarizer({ lingerMs: 60_000 })
  const lost: unknown[] = []
  const processor = new TallystickTracingProcessor(ledger as unknown as Notarizer, {
    content: true,
    onError: (error) => lost.push(error),
  })
  for (const text of said) {
    const spanData: SpanData = { type: 'function', name: 'read', input: text, output: text }
    const span = { traceId: 'trace_1', spanId: 'span_1', parentId: null, startedAt: null, endedAt: null }
    await processor.onSpanEnd({ ...span, spanData, error: null } as unknown as Span<SpanData>)
  }
  await processor.shutdown()
  assert.deepEqual([lost, ledger.stats.recorded], [[], said.length])
})
