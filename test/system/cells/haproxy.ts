import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { endsWithTests } from '../../helpers/children.ts'
import { freePort } from '../../helpers/free-port.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { until } from '../../helpers/wait.ts'

const CONFIGURATION = join(import.meta.dirname, '../../../examples/haproxy/haproxy.cfg')
const BINARY = '/usr/sbin/haproxy'

export const isHaproxyThere = existsSync(BINARY)

export type Name = 'a' | 'b' | 'c'

export type Haproxy = {
  readonly url: string
  readonly socket: string
  /** Answer of the runtime API. */
  command(line: string): Promise<string>
}

/** The example's HAProxy in front of three servers (`http://host:port`), as a process that ends with the tests. */
export async function startHaproxy(
  servers: Readonly<Record<Name, string>>,
  map: Readonly<Record<string, Name>> = {},
  free?: string,
): Promise<Haproxy> {
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
  endsWithTests(spawn(BINARY, ['-db', '-f', CONFIGURATION], { env, stdio: ['ignore', 'ignore', 'ignore'] }))
  const url = `http://127.0.0.1:${port}`
  await until(async () => (await fetch(`${url}/readyz`).catch(() => null))?.status === 200)
  return { url, socket, command: (line) => tell(socket, `${line}\n`) }
}

async function tell(socket: string, text: string): Promise<string> {
  const connection = connect(socket)
  let answer = ''
  connection.setEncoding('utf8').on('data', (part: string) => {
    answer += part
  })
  connection.write(text)
  await once(connection, 'end')
  return answer
}
