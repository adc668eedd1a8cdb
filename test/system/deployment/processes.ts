import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { withClient } from '../../../src/db/connect/client.ts'
import { ConnectError } from '../../../src/db/connect/connect-error.ts'

/**
 * Maximum number of attempts to connect. Each attempt takes at most 5 s. A lower number was once too low: two cores had
 * a load average of 42 and a slow disk.
 */
const CONNECTS_MAX = 12
const CONNECT_AGAIN_AFTER_MS = 250

/** Repeats `work` while it cannot connect. A repetition is safe, because nothing was sent without a connection. */
export async function connecting<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof ConnectError) || tries === CONNECTS_MAX) throw error
      await sleep(CONNECT_AGAIN_AFTER_MS)
    }
  }
}

/**
 * Does the same as `withClient`, but repeats attempts to connect. It is for tests that break a deployment and then
 * inspect it.
 */
export function withPatientClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  return connecting(() => withClient(url, work))
}

export async function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/readyz`).then(
    async (response) => {
      await response.arrayBuffer()
      return response.ok
    },
    () => false,
  )
}

export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill(signal)
  await exited
}

export function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((child) => parentOf(child) === pid)
}

function parentOf(pid: number): number {
  try {
    // The name in parentheses may contain any character. So the fields are read behind the last parenthesis. They are
    // the state and then the parent.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return -1
  }
}

/** Returns the pid of the backend that appends, or that appended last. */
export async function findWriter(url: string): Promise<number> {
  return withPatientClient(url, async (client) => {
    const { rows } = await client.query<{ pid: number }>(
      `select pid from pg_stat_activity where application_name = 'tallystick write'
       order by state = 'active' desc, query_start desc limit 1`,
    )
    if (!rows[0]) throw new Error('there is no backend that appends')
    return rows[0].pid
  })
}

export function killIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/**
 * Finds a port below the range for outgoing connections. A client that repeatedly connects to a closed port of that
 * range sooner or later connects to itself.
 */
export async function findPort(): Promise<number> {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 15_000)
    const free = await new Promise<boolean>((resolve) => {
      const server = createServer()
      server.once('error', () => resolve(false))
      server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
    })
    if (free) return port
  }
}

/** Awaits a promise that does not keep the event loop alive, such as the end of a process after `unref`. */
export async function stayFor(promise: Promise<unknown>): Promise<void> {
  const stay = setInterval(() => {}, 1_000)
  await promise
  clearInterval(stay)
}
