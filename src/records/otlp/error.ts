/** A request that is no OTLP: answered 400, and never sent again. */
export class OtlpError extends Error {}
