import type { Logger } from 'pino'
import type { Ignored, TracingOptions } from './options.ts'
import type { TraceObserver } from './span-sender.ts'
import type { Tracing } from './tracing.ts'

/**
 * Opens tracing. Returns null if tracing is off; OpenTelemetry is not loaded then. `process`: default for the
 * service's name.
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
 * Logs variables that are ignored. It does not fail, because they are usually set for all programs of a cluster and
 * not only for this one.
 */
export function warnOfIgnored(ignored: readonly Ignored[], log: Pick<Logger, 'warn'>): void {
  for (const each of ignored)
    log.warn(each, 'a variable of OpenTelemetry is ignored: see docs/operate/observe.md#traces')
}
