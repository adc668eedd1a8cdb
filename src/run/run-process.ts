import { EventEmitter, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { isHangupIgnored } from '../hangup.ts'
import { writeLine } from '../observe/standard-output.ts'
import { connectDirectly } from './connect-directly.ts'
import { isHelp, refuseArguments } from './run-to-end.ts'

/**
 * A running service. `drain` continues to serve requests until load balancers have had time to send new work to other
 * servers.
 */
export type Service = { drain?(): Promise<void>; close(): Promise<void> }

/**
 * Time in ms within which several signals count as one stop. systemd signals every process of a unit, and npm and
 * tools/run.mjs pass signals on, so one stop arrives up to three times.
 */
const SAME_STOP_MS = 1_000

/** Time in ms after which a shutdown is aborted. No request may take so long. */
export const CLOSE_MS_MAX = 25_000

/**
 * Runs a service until SIGTERM, SIGINT or SIGHUP, closes it and exits with 0. Accepts no arguments except --help.
 *
 * SIGTERM comes from an orchestrator with load balancers, so the service is drained before it is closed. The next
 * signal ends draining early. If a service can't start, prints the reason in one line and exits with 1.
 */
export async function runProcess(
  name: string,
  args: readonly string[],
  start: () => Promise<Service>,
): Promise<void> {
  if (isHelp(args)) {
    console.log(
      `usage: ${name}\n\n  It takes no arguments: environment variables configure it (docs/operate/settings.md)`,
    )
    return
  }
  connectDirectly()
  let service: Service
  try {
    refuseArguments(args)
    service = await start()
  } catch (error) {
    writeLine(`tallystick ${name}: ${(error as Error).message}`)
    process.exit(1)
  }
  const signals = new EventEmitter()
  // The handlers are added with `on` and not with `once`, because under npm a Ctrl-C arrives twice. Without a handler,
  // the second signal would end the process while it closes.
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    const isIgnored = name === 'SIGHUP' && isHangupIgnored()
    process.on(name, () => !isIgnored && signals.emit('signal', name))
  }
  const [signal] = await once(signals, 'signal')
  if (signal === 'SIGTERM' && service.drain) await Promise.race([service.drain(), anotherStop(signals)])
  const givenUp = setTimeout(() => {
    writeLine(`tallystick ${name}: not stopped ${CLOSE_MS_MAX} ms after ${signal}; exiting now`)
    process.exit(1)
  }, CLOSE_MS_MAX)
  await service.close()
  clearTimeout(givenUp)
  process.exit(0)
}

async function anotherStop(signals: EventEmitter): Promise<void> {
  await sleep(SAME_STOP_MS)
  await once(signals, 'signal')
}
