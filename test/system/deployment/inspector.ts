import { readFileSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { killIfAlive } from './processes.ts'

/** Node option for inspectable processes: Node opens its inspector on SIGUSR1, at any port. */
export const INSPECTABLE = '--inspect-port=127.0.0.1:0'
const OPENS_MS_MAX = 60_000
const MIB = 2 ** 20

/** V8's inspector in one of our processes, through the Chrome DevTools Protocol. */
export class Inspector {
  readonly pid: number
  readonly #socket: WebSocket
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>()
  #lastId = 0

  private constructor(pid: number, socket: WebSocket) {
    this.pid = pid
    this.#socket = socket
    socket.onmessage = ({ data }) => {
      const { id, result, error } = JSON.parse(data)
      const answer = this.#waiting.get(id)
      this.#waiting.delete(id)
      if (error) answer?.reject(new Error(`the inspector answered: ${error.message}`))
      else answer?.resolve(result)
    }
    socket.onclose = () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the inspector is gone'))
    }
  }

  /**
   * Opens the inspector of a process. `log` is the file in which the process prints its inspector's address. The
   * process must have been started with INSPECTABLE.
   */
  static async open(pid: number, log: string): Promise<Inspector> {
    const { size } = statSync(log)
    killIfAlive(pid, 'SIGUSR1')
    for (const giveUpAt = performance.now() + OPENS_MS_MAX; performance.now() < giveUpAt; await sleep(25)) {
      const said = readFileSync(log).subarray(size).toString()
      const url = /Debugger listening on (ws:\S+)\n/.exec(said)?.[1]
      if (!url) continue
      const socket = new WebSocket(url)
      await new Promise((resolve, reject) => {
        socket.onopen = resolve
        socket.onerror = () => reject(new Error(`there is no inspector at ${url}`))
      })
      return new Inspector(pid, socket)
    }
    throw new Error(`process ${pid} opens no inspector`)
  }

  /** Returns the MiB of live objects and buffers in the main thread, after a garbage collection. */
  async liveMiB(): Promise<number> {
    await this.#ask('HeapProfiler.collectGarbage')
    const { usedSize, backingStorageSize } = (await this.#ask('Runtime.getHeapUsage')) as {
      usedSize: number
      backingStorageSize: number
    }
    return (usedSize + backingStorageSize) / MIB
  }

  close(): void {
    this.#socket.close()
  }

  async #ask(method: string): Promise<unknown> {
    const id = ++this.#lastId
    const answer = Promise.withResolvers<unknown>()
    this.#waiting.set(id, answer)
    this.#socket.send(JSON.stringify({ id, method }))
    return answer.promise
  }
}
