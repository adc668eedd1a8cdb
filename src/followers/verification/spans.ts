import type { Tracing } from '../../observe/tracing/tracing.ts'
import { formatId } from '../../proof/ids.ts'
import type { VerificationObserver } from './verify-completions.ts'

/**
 * Wraps an observer, so that each verified completion with a `traceparent` gets a span in that trace. The span starts
 * when the completion was submitted. It links to the round or job batch that verified the completion. A completion
 * without a `traceparent` gets no span.
 */
export function traceVerification(tracing: Tracing, observe: VerificationObserver): VerificationObserver {
  return (outcome, ms, completion) => {
    observe(outcome, ms, completion)
    const parent = completion ? tracing.parentOf(completion.traceparent) : null
    if (!completion || parent === null) return
    const work = tracing.current
    const endedAt = performance.now()
    tracing
      .start('verify completion', {
        kind: 'internal',
        parent,
        links: work ? [work.spanContext()] : [],
        attributes: {
          'tallystick.ledger.id': formatId('led', completion.ledgerId),
          'tallystick.record.id': formatId('rec', completion.recordId),
          'tallystick.verification.outcome': outcome,
        },
        startedAt: endedAt - ms,
      })
      ?.end(endedAt)
  }
}
