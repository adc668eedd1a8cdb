import { isHangupIgnored } from '../../hangup.ts'
import { writeLine } from '../../observe/standard-output.ts'

export type Stop = {
  readonly requested: Promise<NodeJS.Signals>
  isRequested(): boolean
  /** Throws if a stop was requested. Call it between the steps of a start, so that Ctrl-C ends the start there. */
  throwIfRequested(): void
  /** Ends the process. Call it when everything is closed. */
  done(): void
}

/**
 * Time in ms within which several signals count as one request. One Ctrl-C often arrives twice: from the terminal, and
 * again from npm.
 */
const SAME_REQUEST_MS_MAX = 1_000
/** Maximum time in ms for a stop. It is longer than any request may take. */
const CLOSE_MS_MAX = 30_000

/**
 * Handles SIGINT, SIGTERM and SIGHUP (unless `nohup` is used) as a request for an orderly stop. A second request ends
 * the process at once. So does a stop that takes too long.
 */
export function listenForStop(): Stop {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>()
  let requestedAt = 0
  const force = (why: string) => {
    writeLine(`tallystick: ${why}; stopping at once`)
    process.exit(1)
  }
  const ignoresHangup = isHangupIgnored()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (signal === 'SIGHUP' && ignoresHangup) return
      if (requestedAt === 0) {
        requestedAt = Date.now()
        setTimeout(() => force(`not stopped after ${CLOSE_MS_MAX / 1000} s`), CLOSE_MS_MAX).unref()
        resolve(signal)
      } else if (Date.now() - requestedAt > SAME_REQUEST_MS_MAX) {
        force(`${signal} again`)
      }
    })
  }
  return {
    requested: promise,
    isRequested: () => requestedAt !== 0,
    throwIfRequested() {
      if (requestedAt !== 0) throw new Error('stopped while starting')
    },
    done: () => process.exit(),
  }
}
