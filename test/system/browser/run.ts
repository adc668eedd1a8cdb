/*
 * npm run drill -- browser
 *
 * Makes Chromium verify the export of a real ledger, with the verifier as applications bundle it. The verifier must
 * refuse the same export with one bit changed. Prints the bundle's size and the time per entry, and fails if either is
 * too high.
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { bundleForBrowser, bundleVerifier } from './bundle.ts'
import { findChromium, withPage } from './chromium.ts'
import { fillLedger } from './ledger.ts'
import { makeTampered, type Tampered } from './tampered.ts'
import type { PageResult, Task } from './tasks.ts'

const RUN_MS_MAX = 120_000

findChromium()
const [verifier, page, ledger] = await Promise.all([
  bundleVerifier(),
  bundleForBrowser('test/system/browser/page.ts'),
  fillLedger(),
])
const kib = (bytes: number) => `${(bytes / 1024).toFixed(1)} KiB`
console.log(
  `ok   the verifier: ${kib(verifier.code.length)} minified, ${kib(verifier.gzipBytes)} gzip, ${kib(verifier.brotliBytes)} brotli`,
)

const trust = { kids: ledger.kids, checkpoints: [ledger.checkpoint] }
const whole = `${ledger.lines.join('\n')}\n`
// Contains only the entries up to the verdict, because without WebCrypto each entry takes milliseconds.
const beginning = ledger.lines.slice(0, 1 + ledger.verdictSeq + 1)
const tampered = makeTampered(ledger)
const exports = new Map([
  ['a file', whole],
  ['a stream', whole],
  ['without WebCrypto', `${beginning.join('\n')}\n{"checkpoint":null}\n`],
  ...tampered.map(({ name, text }): [string, string] => [name, text]),
])
const tasks: Task[] = [
  { name: 'a file', kind: 'file', options: trust },
  { name: 'a stream', kind: 'stream', options: trust },
  ...ledger.proofs.map(({ proof, record }, i): Task => {
    return { name: `proof ${i}`, kind: 'proof', proof, options: { record, kids: ledger.kids } }
  }),
  ...tampered.map(({ name }): Task => ({ name, kind: 'file', options: {} })),
  { name: 'without WebCrypto', kind: 'stream', options: { kids: ledger.kids }, withoutWebCrypto: true },
]

let failures = 0
for (const result of await runPage()) {
  try {
    judge(result)
    console.log(`ok   ${result.name}, ${Math.round(result.ms)} ms: ${summaryOf(result)}`)
  } catch (error) {
    failures++
    console.log(`FAIL ${result.name}: ${(error as Error).message}\n${JSON.stringify(result)}`)
  }
}
if (failures > 0) process.exitCode = 1

function judge({ name, found, refused }: PageResult): void {
  const changed = tampered.find((one) => one.name === name)
  if (changed) {
    refusesAt(changed, refused)
    return
  }
  assert.equal(refused, null)
  const report = found as Record<string, unknown>
  assert.equal(report['keys'], 'given')
  if (name.startsWith('proof')) {
    assert.equal(report['record'], 'same')
    return
  }
  const entries = exports.get(name)!.split('\n').length - 3
  assert.equal(report['entries'], entries)
  if (name === 'without WebCrypto') return
  assert.equal(report['checkpoint'], 'given')
  assert.equal((report['erasures'] as unknown[]).length, 1)
}

function refusesAt(expected: Tampered, refused: PageResult['refused']): void {
  const { name, code, seq } = refused ?? {}
  assert.deepEqual([name, code, seq], ['VerificationError', expected.code, expected.seq])
}

function summaryOf({ found, refused, ms }: PageResult): string {
  if (refused) return `refused, ${refused.message}`
  const { entries, signal, subject } = found as {
    entries?: number
    signal?: { decision: string }
    subject?: string
  }
  if (entries === undefined) return `${subject} ${signal?.decision ?? ''}`.trimEnd()
  return `${entries} entries, ${Math.round((ms * 1000) / entries)} µs an entry`
}

async function runPage(): Promise<PageResult[]> {
  const results = Promise.withResolvers<PageResult[]>()
  const files = new Map<string, [type: string, body: string]>([
    [
      '/',
      ['text/html', '<!doctype html><meta charset="utf-8"><script type="module" src="/page.js"></script>'],
    ],
    ['/page.js', ['text/javascript', page.code]],
    ['/verify.js', ['text/javascript', verifier.code]],
    ['/tasks', ['application/json', JSON.stringify(tasks)]],
    ...[...exports].map(([name, text]): [string, [string, string]] => [
      `/exports/${encodeURIComponent(name)}`,
      ['application/x-ndjson', text],
    ]),
  ])
  const server = createServer(async (request, response) => {
    if (request.method === 'POST') {
      results.resolve(JSON.parse(await new Response(request as unknown as ReadableStream).text()))
      return void response.end()
    }
    const [type, body] = files.get(request.url!) ?? []
    response
      .writeHead(type ? 200 : 404, { 'content-type': `${type ?? 'text/plain'}; charset=utf-8` })
      .end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const timer = setTimeout(() => results.reject(new Error('the page has said nothing')), RUN_MS_MAX)
  try {
    return await withPage(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, results.promise)
  } finally {
    clearTimeout(timer)
    server.close()
  }
}
