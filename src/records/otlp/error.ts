import { StacklessError } from '../../stackless-error.ts'

/**
 * Error for bytes or a value that are not OTLP. If the fault is inside of a span, a log, a resource or a scope, only
 * that part is rejected (`Isolating`). For any other fault the whole request is answered 400, and exporters do not send
 * it again.
 */
export class OtlpError extends StacklessError {}
