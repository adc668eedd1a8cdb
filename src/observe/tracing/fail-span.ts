import type { Span, SpanStatusCode } from '@opentelemetry/api'

/**
 * The value of SpanStatusCode.ERROR. It is a number here, because the module of SpanStatusCode must not be loaded while
 * tracing is off.
 */
const ERROR = 2 as SpanStatusCode

/**
 * Marks a span as failed. `type` has one of a few values. It is never a message, because a message may contain text
 * from a client.
 */
export function failSpan(span: Span, type: string): Span {
  return span.setAttribute('error.type', type).setStatus({ code: ERROR })
}
