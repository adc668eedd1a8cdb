import { EventEmitter, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { isHangupIgnored } from '../hangup.ts'
import { say } from '../observe/standard-output.ts'
import { connectDirectly } from './connect-directly.ts'
import { isHelp, refuseArguments } from './run-to-end.ts'

/**
 * Something that runs until it is closed. `drain`, where there is one: works as before and sees to it that new work goes
 * elsewhere; it returns when that should have happened.
 */
export type Service = { drain?(): Promise<void>; close(): Promise<void> }

/**
 * systemd signals every process of a unit, and npm and tools/run.mjs pass on what they get: one stop arrives up to three times, at once.
 */
const SAME_STOP_MS = 1_000

/** After the drain, beyond this a shutdown is given up: longer than any request may take. */
export const CLOSE_MS_MAX = 25_000

/**
 * Runs a service as a process: until SIGTERM, SIGINT or the end of its terminal, then closes it and exits with 0. SIGTERM comes from an orchestrator, which
 * balances load over the others: before it is closed the service is drained, until that is done or the next signal. A service that can't
 * start says why in one line and exits with 1. It takes no arguments but --help.
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
    say(`tallystick ${name}: ${(error as Error).message}`)
    process.exit(1)
  }
  const signals = new EventEmitter()
  // Not `once`: under npm a Ctrl-C arrives twice, and the second would end the process while it closes.
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    const isIgnored = name === 'SIGHUP' && isHangupIgnored()
    process.on(name, () => !isIgnored && signals.emit('signal', name))
  }
  const [signal] = await once(signals, 'signal')
  if (signal === 'SIGTERM' && service.drain) await Promise.race([service.drain(), anotherStop(signals)])
  const givenUp = setTimeout(() => {
    say(`tallystick ${name}: not closed ${CLOSE_MS_MAX} ms after ${signal}; giving up`)
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
