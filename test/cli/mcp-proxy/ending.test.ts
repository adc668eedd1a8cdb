import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { CLI } from '../../helpers/run-cli.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'
import { until } from '../../helpers/wait.ts'

/** Source of a server that writes its pid, and does not exit when its input ends or when it gets SIGTERM. */
const SERVER = `import { writeFileSync } from 'node:fs'
process.on('SIGTERM', () => {})
process.stdin.resume()
setInterval(() => {}, 1000)
writeFileSync(process.argv[2], String(process.pid))
console.log('{"jsonrpc":"2.0","method":"ready"}')`

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGKILL'] as const
const WAYS = ['end of stdin', ...SIGNALS] as const
/** Shell scripts that start the server; null if the server is started without a shell. */
const SHELLS = [
  ['directly', null, ['end of stdin', 'SIGKILL']],
  ['below a shell', '"$@"; true', WAYS],
  ['left behind by its parent', '"$@" & sleep 1', ['end of stdin']],
] as const

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}

test('proxy and server end however the client stops the proxy, also behind shells', {
  skip: process.platform === 'win32',
}, async (t) => {
  const { directory, write } = temporaryFiles(t)
  const script = write('server.mjs', SERVER)
  const started = await Promise.all(
    SHELLS.flatMap(([depth, shell, ways]) =>
      ways.map(async (way) => {
        const file = join(directory, `${depth} ${way}`)
        const args = [CLI, 'mcp-proxy', '--spool', join(directory, `spool ${depth} ${way}`), '--']
        const below = shell === null ? [] : ['sh', '-c', shell, 'sh']
        const proxy = spawn(process.execPath, [...args, ...below, process.execPath, script, file], {
          stdio: ['pipe', 'pipe', 'ignore'],
          env: { ...process.env, TALLYSTICK_URL: 'http://127.0.0.1:9', TALLYSTICK_API_KEY: 'tly_x' },
        })
        t.after(() => proxy.kill('SIGKILL'))
        await once(proxy.stdout, 'data')
        const pid = Number(readFileSync(file, 'utf8'))
        t.after(() => isAlive(pid) && process.kill(pid, 'SIGKILL'))
        return { what: `${depth}, ${way}`, proxy, pid, way }
      }),
    ),
  )
  const left = await Promise.all(
    started.map(async ({ what, proxy, pid, way }) => {
      if (way === 'end of stdin') proxy.stdin.end()
      else proxy.kill(way)
      await until(() => hasEnded(proxy) && !isAlive(pid)).catch(() => {})
      return [...(hasEnded(proxy) ? [] : [`${what}: proxy`]), ...(isAlive(pid) ? [`${what}: server`] : [])]
    }),
  )
  assert.deepEqual(left.flat(), [])
})

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}
