import { failSpan } from '../../observe/tracing/fail-span.ts'
import type { Tracing } from '../../observe/tracing/tracing.ts'
import { formatId } from '../../proof/ids.ts'
import type { AttemptResult, AttemptTracer } from './attempt.ts'

/**
 * Makes a tracer. The span of a delivery attempt belongs to the trace that wrote the entry, or else to the trace that
 * created the entry's record. The span does not contain the path and query of the endpoint's URL, because they are
 * often a secret of the tenant.
 */
export function makeAttemptTracer(tracing: Tracing): AttemptTracer {
  return (endpoint, delivery) => {
    const url = URL.parse(endpoint.url)
    const span = tracing.start(`deliver ${delivery.event}`, {
      kind: 'client',
      parent: tracing.parentOf(delivery.traceparent),
      attributes: {
        'http.request.method': 'POST',
        'server.address': url?.hostname ?? '',
        'server.port': Number(url?.port) || (url?.protocol === 'http:' ? 80 : 443),
        'tallystick.ledger.id': formatId('led', endpoint.ledgerId),
        'tallystick.webhook.id': formatId('whk', endpoint.webhookId),
        'tallystick.event.type': delivery.event,
        ...(delivery.recordId && { 'tallystick.record.id': formatId('rec', delivery.recordId) }),
        ...(delivery.attempts > 0 && { 'http.request.resend_count': delivery.attempts }),
      },
    })
    return span && ((result) => endAttempt(span, result))
  }
}

function endAttempt(
  span: NonNullable<ReturnType<Tracing['start']>>,
  { outcome, attempt }: AttemptResult,
): void {
  span.setAttribute('tallystick.delivery.outcome', outcome)
  if (attempt.status !== null) span.setAttribute('http.response.status_code', attempt.status)
  if (outcome !== 'delivered') failSpan(span, attempt.error ?? String(attempt.status))
  span.end()
}
