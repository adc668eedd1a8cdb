import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { runScript } from '../helpers/run-script.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const sourceOf = (file: string) => readFileSync(join(ROOT, file), 'utf8')

test('requests of the server ignore the proxy of the environment', async (t) => {
  let proxied = 0
  const proxy = createTcpServer((socket) => {
    proxied++
    socket.destroy()
  }).listen(0, '127.0.0.1')
  const server = createServer((_request, response) => response.end('direct')).listen(0, '127.0.0.1')
  await Promise.all([once(proxy, 'listening'), once(server, 'listening')])
  t.after(() => [proxy.close(), server.close()])
  const urlOf = (listening: { address(): AddressInfo | string | null }) =>
    `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
  const { write } = temporaryFiles(t)
  const script = (setting: string) =>
    write(
      'script.mjs',
      `import { get } from 'node:http'
       import { connectDirectly } from '${new URL('../../src/run/connect-directly.ts', import.meta.url)}'
       ${setting}
       console.log(await fetch('${urlOf(server)}').then((answer) => answer.text(), () => 'no answer'))
       await new Promise((done) => get('${urlOf(server)}', done).on('error', done))
       process.exit()`,
    )
  const env = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: urlOf(proxy), HTTPS_PROXY: urlOf(proxy) }
  const found = await runScript(script('connectDirectly()'), [], { env })
  assert.deepEqual([found.stdout, proxied], ['direct\n', 0], found.stderr)
  // Without `connectDirectly()`, both requests go to the proxy.
  const without = await runScript(script(''), [], { env })
  assert.equal(without.stdout, 'no answer\n', without.stderr)
  assert.ok(proxied > 0)
})

test('each server process calls connectDirectly, and no other file sends requests through the environment’s proxy', () => {
  const begins = ['all-in-one.ts', 'run-process.ts', 'smoke.ts', 'local/worker-process.ts']
  for (const file of begins) assert.match(sourceOf(`src/run/${file}`), /^ *connectDirectly\(\)$/m, file)
  const files = ['src', 'worker'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(folder, name)),
  )
  const sending = files.filter((file) =>
    /(?<![.\w]|async )fetch\((?!store\b)|\bhttps?\.(request|get)\(|import \{[^}]*\b(request|get)\b[^}]*\} from 'node:https?'/.test(
      sourceOf(file),
    ),
  )
  // http-reader.ts reads archives from the web for the command line. So it uses the proxy that the user has set.
  assert.deepEqual(sending.sort(), [
    'src/run/local/first-ledger.ts',
    'src/run/local/http-port.ts',
    'src/verify/archive/http-reader.ts',
  ])
})
