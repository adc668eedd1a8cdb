/**
 * Error without a stack, for refusals. The client gets the message, and nobody reads a stack.
 *
 * Making this error takes 0.3 µs. Capturing a stack would take 5 µs more, a fifth of the time of a 404. An object that
 * only inherits from Error.prototype would take 0.07 µs, but its structured clone would not be an error.
 */
export class StacklessError extends Error {
  constructor(message?: string, options?: ErrorOptions) {
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    super(message, options)
    Error.stackTraceLimit = limit
  }
}
