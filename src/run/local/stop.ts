import { isHangupIgnored } from '../../hangup.ts'
import { say } from '../../observe/standard-output.ts'

export type Stop = {
  /** Resolves with the signal. */
  readonly requested: Promise<NodeJS.Signals>
  isRequested(): boolean
  /** Between the steps of a start: a Ctrl-C there ends it like any other. */
  throwIfRequested(): void
  /** Everything is closed: nothing must keep the process any longer. */
  done(): void
}

/** One Ctrl-C often arrives twice: from the terminal, and passed on by npm. Later than this it is a second one. */
const SAME_REQUEST_MS_MAX = 1_000
/** Longer than any request may take. */
const CLOSE_MS_MAX = 30_000

/** Ctrl-C, SIGTERM and a closed terminal (unless `nohup` is wanted) ask for an orderly stop; a second one, or too long a wait, forces it. */
export function listenForStop(): Stop {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>()
  let requestedAt = 0
  const force = (why: string) => {
    say(`tallystick: ${why}; stopping at once`)
    process.exit(1)
  }
  const ignoresHangup = isHangupIgnored()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (signal === 'SIGHUP' && ignoresHangup) return
      if (requestedAt === 0) {
        requestedAt = Date.now()
        setTimeout(() => force(`not closed after ${CLOSE_MS_MAX / 1000} s`), CLOSE_MS_MAX).unref()
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
