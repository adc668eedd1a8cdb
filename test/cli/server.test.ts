import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runCli } from '../helpers/run-cli.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { makeChain } from '../helpers/test-chain.ts'

const KEY = 'tly_0123456789abcdef'
const env = { TALLYSTICK_API_KEY: KEY }

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function makeExport(): string {
  const chain = makeChain()
  chain.notarizeBatch(3)
  return `${chain.exportLines().join('\n')}\n`
}

const NDJSON = { 'content-type': 'application/x-ndjson' }

test('verifies and exports a running server, with the key of the environment or the option', async (t) => {
  const text = makeExport()
  const seen: (string | undefined)[] = []
  const url = await serve(t, (request, response) => {
    seen.push(request.url, request.headers.authorization)
    response.writeHead(200, NDJSON).end(text)
  })
  const verified = await runCli(['verify', '--server', url], { env })
  assert.deepEqual([verified.code, verified.stderr], [0, ''])
  assert.match(verified.stdout, /^INTEGRITY_OK entries=4 records=3/)

  const path = join(temporaryFiles(t).directory, 'ledger.ndjson')
  const exported = await runCli(['export', '--server', `${url}/`, '-o', path, '--api-key', 'tly_other'], {
    env,
  })
  assert.deepEqual(exported, { code: 0, stdout: '', stderr: '' })
  assert.equal(readFileSync(path, 'utf8'), text)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal((await runCli(['export', '--server', url], { env })).stdout, text)
  const auth = ['/v1/export', `Bearer ${KEY}`]
  assert.deepEqual(seen, [...auth, '/v1/export', 'Bearer tly_other', ...auth])
})

test('says what a server refuses, and never shows the key', async (t) => {
  const answers: [number, object | null, number, RegExp][] = [
    [401, { code: 'unauthenticated' }, 77, /refuses the API key \(401 unauthenticated\)/],
    [403, { code: 'forbidden' }, 77, /audit:read/],
    [404, null, 65, /is this a Tallystick server/],
    [503, { code: 'overloaded' }, 69, /answered 503 overloaded/],
    [302, null, 69, /answered 302/],
  ]
  for (const [status, problem, exit, pattern] of answers) {
    const url = await serve(t, (_, response) => {
      response.writeHead(status, {
        'content-type': 'application/problem+json',
        location: 'http://127.0.0.1:1/',
      })
      response.end(problem ? JSON.stringify(problem) : '')
    })
    for (const command of ['verify', 'export']) {
      const { code, stdout, stderr } = await runCli([command, '--server', url], { env })
      assert.deepEqual([code, stdout], [exit, ''])
      assert.match(stderr, pattern)
      assert.ok(!stderr.includes(KEY))
    }
  }
  const page = await serve(t, (_, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
  )
  assert.equal((await runCli(['verify', '--server', page], { env })).code, 65)
  const gone = createServer()
  await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve))
  const { port } = gone.address() as AddressInfo
  await new Promise((resolve) => gone.close(resolve))
  const nobody = await runCli(['verify', '--server', `http://127.0.0.1:${port}`], { env })
  assert.equal(nobody.code, 69)
  assert.match(nobody.stderr, /cannot be reached \(ECONNREFUSED\)/)
})

test('says that a stream broke off, and leaves no half file under the final name', async (t) => {
  const text = makeExport()
  const url = await serve(t, (_, response) => {
    response.writeHead(200, { ...NDJSON, 'content-length': text.length })
    response.write(text.slice(0, 500))
    setTimeout(() => response.destroy(), 50)
  })
  const verified = await runCli(['verify', '--server', url], { env })
  assert.equal(verified.code, 69)
  assert.match(verified.stderr, /broke off before its end/)
  const { directory } = temporaryFiles(t)
  const path = join(directory, 'ledger.ndjson')
  const exported = await runCli(['export', '--server', url, '-o', path], { env })
  assert.equal(exported.code, 69)
  assert.ok(!existsSync(path) && !existsSync(`${path}.part`))
  const nowhere = await runCli(['export', '--server', url, '-o', join(directory, 'no/dir')], { env })
  assert.equal(nowhere.code, 74)
})

test('refuses a stream that ended early without an error', async (t) => {
  const text = makeExport()
  const url = await serve(t, (_, response) => response.writeHead(200, NDJSON).end(text.slice(0, -100)))
  const { code, stdout } = await runCli(['verify', '--server', url], { env })
  assert.equal(code, 1)
  assert.match(stdout, /code=export_incomplete/)
})
