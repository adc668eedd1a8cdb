import type { Span, SpanStatusCode } from '@opentelemetry/api'

/** SpanStatusCode.ERROR as a number, because its module must not be loaded while tracing is off. */
const ERROR = 2 as SpanStatusCode

/** Marks a span as failed. `type`: one of few values. It is never a message, which may contain text of a client. */
export function failSpan(span: Span, type: string): Span {
  return span.setAttribute('error.type', type).setStatus({ code: ERROR })
}
