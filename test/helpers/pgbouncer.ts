import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { resolveRunAs } from '../../src/run/postgres/run-as.ts'
import { findPort } from '../system/deployment/processes.ts'
import { temporaryDir } from './postgres.ts'
import { until } from './wait.ts'

export function whyNoPgbouncer(): string | null {
  return spawnSync('pgbouncer', ['--version']).error ? 'pgbouncer is not installed' : null
}

/**
 * Starts a PgBouncer in front of a Postgres. Its configuration is that of its package, except for the mode. Returns the
 * given URLs, changed so that they lead through PgBouncer.
 */
export async function startPgbouncer(
  t: TestContext,
  mode: 'session' | 'transaction' | 'statement',
  urls: readonly string[],
  settings: readonly string[] = ['default_pool_size = 20'],
): Promise<string[]> {
  const port = await findPort()
  const dir = temporaryDir()
  const user = resolveRunAs('/nonexistent', () => {})
  const write = (name: string, lines: readonly string[]) => {
    writeFileSync(join(dir, name), `${lines.join('\n')}\n`, { mode: 0o600 })
    if (user !== null) chownSync(join(dir, name), user.uid, user.gid)
    return join(dir, name)
  }
  const [first] = urls.map((url) => new URL(url))
  const logins = write(
    'userlist.txt',
    urls.map((url) => `"${new URL(url).username}" "${new URL(url).password}"`),
  )
  const config = write('pgbouncer.ini', [
    '[databases]',
    `* = host=${first!.hostname} port=${first!.port}`,
    '[pgbouncer]',
    `listen_addr = 127.0.0.1`,
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = scram-sha-256',
    `auth_file = ${logins}`,
    `pool_mode = ${mode}`,
    ...settings,
  ])
  const options = user === null ? {} : { uid: user.uid, gid: user.gid }
  const child = spawn('pgbouncer', ['-q', config], { ...options, cwd: '/', stdio: 'ignore' })
  const exited = once(child, 'exit')
  const kill = () => child.kill('SIGTERM')
  process.once('exit', kill)
  // Hooks run in the order of registration. This hook registers another one, so the inner hook runs after the hooks
  // that close the connections.
  t.after(() =>
    t.after(async () => {
      kill()
      await exited
    }),
  )
  await until(() => isListening(port))
  return urls.map((url) => Object.assign(new URL(url), { port: String(port) }).href)
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
