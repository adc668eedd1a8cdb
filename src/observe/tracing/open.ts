import type { Logger } from 'pino'
import type { Ignored, TracingOptions } from './options.ts'
import type { TraceObserver } from './span-sender.ts'
import type { Tracing } from './tracing.ts'

/**
 * Opens tracing. Returns null, without loading OpenTelemetry, if tracing is off. `process`: name of the service if the
 * options set no name.
 */
export async function openTracing(
  options: TracingOptions | null,
  process: 'tallystick-server' | 'tallystick-worker',
  makeObserver: () => TraceObserver,
): Promise<Tracing | null> {
  if (options === null) return null
  const { Tracing } = await import('./tracing.ts')
  return new Tracing(options, process, makeObserver())
}

/**
 * Logs the variables that are ignored. Does not throw, because these variables are usually set for all programs of a
 * cluster and not only for this one.
 */
export function warnOfIgnored(ignored: readonly Ignored[], log: Pick<Logger, 'warn'>): void {
  for (const each of ignored)
    log.warn(each, 'a variable of OpenTelemetry is ignored: see docs/operate/observe.md#traces')
}
