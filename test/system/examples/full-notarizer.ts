import { Span, type SpanData } from '@openai/agents'
import { BufferFullError, Tallystick } from '@tallystick/sdk'
import { TallystickTracingProcessor } from '../../../examples/openai-agents/tracing-processor.ts'

/* Imported when the SDK is built: the library is taken as it is installed. */

export const LONG_TEXT = 'x'.repeat(17 * 1024)

/** Ends three spans, of which the notarizer has room for the first and the last. Answers how often it heard of one that was lost. */
export async function endSpansWithoutRoom(
  traceId: string,
  server: { baseUrl: string; apiKey: string },
): Promise<number> {
  const ledger = new Tallystick(server).notarizer({ bufferedRecordsMax: 1 })
  let lost = 0
  const onError = (error: unknown) => {
    if (!(error instanceof BufferFullError)) throw error
    lost++
  }
  const processor = new TallystickTracingProcessor(ledger, { content: true, onError })
  const end = (data: SpanData) => {
    const span = new Span({ traceId, spanId: `span_${'0'.repeat(24)}`, data }, processor)
    span.start()
    span.end()
  }
  end({ type: 'function', name: 'read', input: 'page 1', output: LONG_TEXT })
  end({ type: 'guardrail', name: 'no secrets', triggered: false })
  await processor.forceFlush()
  end({ type: 'guardrail', name: 'no secrets', triggered: true })
  await processor.shutdown()
  return lost
}
