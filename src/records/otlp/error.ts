/**
 * Thrown for bytes or a value that are not OTLP. Inside a span, a log, a resource or a scope only that item is
 * rejected (`Isolating`). Elsewhere the request is answered 400, and exporters do not send it again.
 */
export class OtlpError extends Error {}
