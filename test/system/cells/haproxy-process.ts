import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../helpers/free-port.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { until } from '../../helpers/wait.ts'

/* Starts the example's HAProxy for tests and benchmarks. This module imports no test runner. */

const CONFIGURATION = join(import.meta.dirname, '../../../examples/haproxy/haproxy.cfg')
const BINARY = '/usr/sbin/haproxy'

export const isHaproxyThere = existsSync(BINARY)

export type Name = 'a' | 'b' | 'c'

export type HaproxyProcess = {
  readonly url: string
  readonly socket: string
  readonly child: ChildProcess
}

/**
 * Starts the example's HAProxy in front of three servers (`http://host:port`). `watch` is called with the process
 * before HAProxy is ready. Throws if HAProxy does not answer in time.
 */
export async function spawnHaproxy(
  servers: Readonly<Record<Name, string>>,
  map: Readonly<Record<string, Name>>,
  free: string | undefined,
  watch: (child: ChildProcess) => void,
): Promise<HaproxyProcess> {
  const dir = temporaryDir()
  const port = free ?? (await freePort())
  const socket = join(dir, 'haproxy.sock')
  const mapFile = join(dir, 'ledgers.map')
  writeFileSync(
    mapFile,
    Object.entries(map)
      .map(([ledger, name]) => `${ledger} ${name}\n`)
      .join(''),
  )
  const env = {
    BIND: `127.0.0.1:${port}`,
    DEPLOYMENT_A: new URL(servers.a).host,
    DEPLOYMENT_B: new URL(servers.b).host,
    DEPLOYMENT_C: new URL(servers.c).host,
    NEW_LEDGERS: 'a',
    LEDGERS_MAP: mapFile,
    RUNTIME_SOCKET: socket,
  }
  execFileSync(BINARY, ['-c', '-f', CONFIGURATION], { env, stdio: 'pipe' })
  const child = spawn(BINARY, ['-db', '-f', CONFIGURATION], { env, stdio: ['ignore', 'ignore', 'ignore'] })
  watch(child)
  const url = `http://127.0.0.1:${port}`
  await until(async () => (await fetch(`${url}/readyz`).catch(() => null))?.status === 200)
  return { url, socket, child }
}
