import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { test } from 'node:test'
import { runAlone } from '../../helpers/run-command.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'
import { makeChain } from '../../helpers/test-chain.ts'

/* A hostile server answers `verify --server` with an endless export, which would fill the disk of TMPDIR. */

const MIB = 1024 * 1024
/**
 * Maximum number of bytes that the server sends. It is larger than the limit of the command (2 MiB), because pipes and
 * sockets buffer bytes that the command has not read. On a busy machine they buffer the most.
 */
const SENT_BYTES_MAX = 16 * MIB

test('verify gives up an endless export at --spool-mib with 69, and removes its temporary file', async (t) => {
  const chain = makeChain()
  const [head] = chain.exportLines()
  const line = `${JSON.stringify(chain.notarize())}\n`.repeat(64)
  let sent = 0
  let closed = 0
  async function* pour() {
    yield `${head}\n`
    for (; sent < SENT_BYTES_MAX; sent += line.length) yield line
  }
  const server = createServer((_request, response) => {
    response.once('close', () => closed++)
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    pipeline(pour, response).catch(() => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { directory } = temporaryFiles(t)
  const env = { TMPDIR: directory }
  const options = ['--server', url, '--api-key', 'tly_test', '--spool-mib', '2']
  const { code, stderr } = await runAlone(['verify', ...options], { env })
  assert.equal(code, 69, stderr)
  assert.match(stderr, /is longer than 2 MiB: .*--spool-mib/)
  assert.ok(sent < SENT_BYTES_MAX, `${sent} bytes were taken`)
  assert.equal(closed, 1, 'the connection was not given up')
  assert.deepEqual(readdirSync(directory), [])
})

test('verify gives up endless standard input at the same bound, and accepts an honest export', async (t) => {
  const chain = makeChain()
  while (chain.lines.length < 50) chain.notarize()
  const text = `${chain.exportLines().join('\n')}\n`
  const env = { TMPDIR: temporaryFiles(t).directory }
  const endless = await runAlone(['verify', '-', '--spool-mib', '1'], { env, input: text.repeat(40) })
  assert.equal(endless.code, 69)
  const honest = await runAlone(['verify', '-', '--spool-mib', '1'], { env, input: text })
  assert.equal(honest.code, 0, honest.stdout)
  assert.equal((await runAlone(['verify', '-', '--spool-mib', '0'], { env })).code, 64)
})
