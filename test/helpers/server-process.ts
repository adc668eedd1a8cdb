import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type TestApp, testConfig } from './app.ts'
import { bareEnvironment } from './bare-environment.ts'
import { endsWithTests } from './children.ts'
import { TEST_MASTER_KEY } from './database.ts'
import { freePort } from './free-port.ts'
import { openSocket } from './raw-http.ts'
import { until } from './wait.ts'

const PROJECT_DIR = join(import.meta.dirname, '../..')
/** So that garbage which V8 has not collected yet is not taken for what is held. */
const HEAP = '--max-old-space-size=192'
/** Between questions: on a busy machine those who ask without a pause would be the load. */
const PAUSE_MS = 20
/** A server that starts while other test files have the cores. */
const START_MS_MAX = 60_000

/** A server as a process of its own, whose memory is nobody else's, on the database of `app`. */
export class ServerProcess {
  readonly url: string
  readonly #child: ChildProcess

  private constructor(url: string, child: ChildProcess) {
    this.url = url
    this.#child = child
  }

  /** Ended when `use` is over, or the database would not be given back. */
  static async use(app: TestApp, use: (server: ServerProcess) => Promise<void>): Promise<void> {
    const server = await ServerProcess.#start(app)
    try {
      await use(server)
    } finally {
      server.#child.kill('SIGKILL')
      await until(() => !server.isAlive)
    }
  }

  static async #start(app: TestApp): Promise<ServerProcess> {
    const port = await freePort()
    const metricsPort = await freePort()
    const child = spawn(process.execPath, [HEAP, join(PROJECT_DIR, 'src/run/server.ts')], {
      env: {
        ...bareEnvironment(),
        TALLYSTICK_API_DATABASE_URL: app.database.apiUrl,
        TALLYSTICK_MASTER_KEY: Buffer.from(TEST_MASTER_KEY).toString('hex'),
        TALLYSTICK_PUBLIC_URL: testConfig(app.database.apiUrl).publicUrl,
        TALLYSTICK_PORT: port,
        TALLYSTICK_METRICS_PORT: metricsPort,
        TALLYSTICK_LOG_LEVEL: 'silent',
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const server = new ServerProcess(`http://127.0.0.1:${port}`, endsWithTests(child))
    await until(() => server.isReady(), START_MS_MAX)
    return server
  }

  async isReady(): Promise<boolean> {
    try {
      return (await fetch(`${this.url}/readyz`)).status === 200
    } catch {
      return false
    }
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Resident, as the kernel counts it; 0 when it has ended. */
  get memoryMiB(): number {
    if (!this.isAlive) return 0
    const status = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8')
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
