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

/**
 * Option that limits the heap to 192 MiB. The heap is small, so that garbage that V8 has not yet collected does not
 * count as used memory.
 */
const HEAP = '--max-old-space-size=192'
/** Pause between requests in ms. Without a pause, the clients themselves would overload a busy machine. */
const PAUSE_MS = 20

/** Runs a server on the database of `app` in its own process, so that the server's memory can be measured. */
export class ServerProcess {
  readonly url: string
  readonly #server: ProductProcess

  private constructor(url: string, server: ProductProcess) {
    this.url = url
    this.#server = server
  }

  /** Starts a server, and kills it after `use`, so that the database can be returned. */
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

  /** Resident memory in MiB as the kernel counts it. It is 0 after the process has ended. */
  get memoryMiB(): number {
    if (!this.isAlive) return 0
    const status = readFileSync(`/proc/${this.#server.pid}/status`, 'utf8')
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) / 1024
  }

  open(t: TestContext): Socket {
    return openSocket(t, Number(new URL(this.url).port))
  }
}

/** Sends requests one after another until `end` is called. `end` returns the sorted latencies. */
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
  asking.catch(() => {}) // The caller gets this error from `end`.
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
