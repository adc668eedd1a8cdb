import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { environmentOf } from '../system/deployment/environment.ts'
import { ProductProcess } from '../system/deployment/product-process.ts'
import { type TestApp, testConfig } from './app.ts'
import { TEST_MASTER_KEY } from './database.ts'
import { freePort } from './free-port.ts'
import { temporaryDir } from './postgres.ts'
import { openSocket } from './raw-http.ts'

/** So that garbage which V8 has not collected yet is not taken for what is held. */
const HEAP = '--max-old-space-size=192'
/** Between questions: on a busy machine those who ask without a pause would be the load. */
const PAUSE_MS = 20

/** A server as a process of its own, whose memory is nobody else's, on the database of `app`. */
export class ServerProcess {
  readonly url: string
  readonly #server: ProductProcess

  private constructor(url: string, server: ProductProcess) {
    this.url = url
    this.#server = server
  }

  /** Ended when `use` is over, or the database would not be given back. */
  static async use(app: TestApp, use: (server: ServerProcess) => Promise<void>): Promise<void> {
    const server = await ServerProcess.#start(app)
    try {
      await use(server)
    } finally {
      await server.#server.end('SIGKILL')
    }
  }

  static async #start(app: TestApp): Promise<ServerProcess> {
    const [port, metricsPort] = [await freePort(), await freePort()]
    const env = environmentOf(
      { ...app.database, dataDir: temporaryDir(), masterKey: TEST_MASTER_KEY },
      {
        TALLYSTICK_PUBLIC_URL: testConfig(app.database.apiUrl).publicUrl,
        TALLYSTICK_PORT: port,
        TALLYSTICK_METRICS_PORT: metricsPort,
        TALLYSTICK_LOG_LEVEL: 'silent',
      },
    )
    const server = new ProductProcess({ script: 'server', env, nodeArgs: [HEAP], output: 'errors' })
    const url = `http://127.0.0.1:${port}`
    await server.isReadyAt(url)
    return new ServerProcess(url, server)
  }

  get isAlive(): boolean {
    return !this.#server.hasEnded
  }

  /** Resident, as the kernel counts it; 0 when it has ended. */
  get memoryMiB(): number {
    if (!this.isAlive) return 0
    const status = readFileSync(`/proc/${this.#server.pid}/status`, 'utf8')
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) / 1024
  }

  /** A connection that reads nothing unless it is told to. */
  open(t: TestContext): Socket {
    return openSocket(t, Number(new URL(this.url).port))
  }
}

/** Asks again and again, one after another, until it is ended; `end` returns how long each answer took, sorted. */
export function askMeanwhile(t: TestContext, ask: () => Promise<Response>): { end(): Promise<number[]> } {
  let isOver = false
  t.after(() => {
    isOver = true
  })
  const tookMs: number[] = []
  const asking = (async () => {
    while (!isOver) {
      const startedAt = performance.now()
      const response = await ask()
      const text = await response.text()
      if (!response.ok)
        throw new Error(`${response.url} answered ${response.status} in the middle of the attack: ${text}`)
      tookMs.push(performance.now() - startedAt)
      await sleep(PAUSE_MS)
    }
  })()
  asking.catch(() => {}) // said by `end`
  return {
    async end() {
      isOver = true
      await asking
      return tookMs.sort((a, b) => a - b)
    },
  }
}

export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!
}
