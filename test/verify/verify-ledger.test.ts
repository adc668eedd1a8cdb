import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { exportFile } from '../../src/verify/export-file.ts'
import { applyStrict, formatReport } from '../../src/verify/report.ts'
import { SourceError } from '../../src/verify/source.ts'
import { spooledExport } from '../../src/verify/spool.ts'
import { type VerifyOptions, verifyLedger } from '../../src/verify/verify-ledger.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { makeChain, makeSigner, type TestChain } from '../helpers/test-chain.ts'

const textOf = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('')

function verifyText(t: TestContext, text: string, options?: VerifyOptions) {
  const path = temporaryFiles(t).write('export.ndjson', text)
  return verifyLedger(exportFile(path, 'export.ndjson'), options)
}

const verify = (t: TestContext, chain: TestChain, options?: VerifyOptions) =>
  verifyText(t, textOf(chain.exportLines()), options)

function makeLedger(entries = 5): TestChain {
  const chain = makeChain()
  for (let i = 0; i < entries; i++) chain.notarize()
  return chain
}

test('verifies an export, and reports own checkpoint and self-asserted keys', async (t) => {
  const chain = makeLedger()
  chain.notarizeBatch(3)
  const report = await verify(t, chain)
  assert.equal(
    formatReport(report),
    'INTEGRITY_OK entries=9 records=8 keys=self-asserted checkpoint=own covered=9 own=9 of 9',
  )
  const { ledger, firstKid, source, notices, failure } = report
  assert.deepEqual(
    { ledger, firstKid, source, notices, failure },
    {
      ledger: chain.ledger,
      firstKid: chain.firstSigner.kidHex,
      source: 'export.ndjson',
      notices: [],
      failure: null,
    },
  )
  assert.equal(applyStrict(report).failure?.code, 'keys_not_given')
})

test('reports keys and checkpoints as given only if the caller gave them', async (t) => {
  const chain = makeLedger()
  const kid = chain.firstSigner.kidHex
  const given = await verify(t, chain, { kids: [kid], checkpoints: [chain.checkpoint(4)] })
  assert.equal(
    formatReport(given),
    'INTEGRITY_OK entries=8 records=5 keys=given checkpoint=given covered=4 own=8 of 8',
  )
  assert.equal(applyStrict(given).failure, null)
  assert.equal(applyStrict({ ...given, documents: 'withheld' }).failure?.code, 'documents_withheld')
  const keysOnly = await verify(t, chain, { kids: [kid] })
  assert.equal(applyStrict(keysOnly).failure?.code, 'checkpoint_not_given')
  const pinned = await verify(t, chain, { pinned: new Map([[chain.ledger, kid]]) })
  assert.equal(pinned.keys, 'pinned')
})

test('follows a key rotation, but trusts nothing before a key that was given alone', async (t) => {
  const chain = makeLedger()
  chain.rotateServerKey()
  chain.notarize()
  const later = chain.signers[1]!.kidHex
  assert.equal((await verify(t, chain, { kids: [later] })).keys, 'self-asserted')
  assert.equal((await verify(t, chain, { kids: [later, chain.firstSigner.kidHex] })).keys, 'given')
})

test('refuses a ledger without the given or pinned keys with trusted_key_absent', async (t) => {
  const chain = makeLedger()
  const other = makeSigner().kidHex
  for (const options of [{ kids: [other] }, { pinned: new Map([[chain.ledger, other]]) }]) {
    const report = await verify(t, chain, options)
    assert.equal(report.failure?.code, 'trusted_key_absent')
    assert.match(formatReport(report), /^INTEGRITY_FAILED code=trusted_key_absent reason="/)
  }
})

test('reports the first bad entry with code and reason, with any number of threads', async (t) => {
  const chain = makeLedger(200)
  const lines = chain.exportLines()
  lines[150] = lines[150]!.replace('"n":149', '"n":999')
  lines[180] = lines[180]!.replace('"seq":179', '"seq":17')
  for (const threads of [0, 1, 2, 3]) {
    const report = await verifyText(t, textOf(lines), { threads })
    assert.equal(report.entries, 149)
    assert.equal(report.failure?.seq, 149)
    assert.equal(report.failure?.code, 'document_digest')
    assert.match(formatReport(report), /^INTEGRITY_FAILED seq=149 code=document_digest reason="rec_/)
  }
})

test('reads ranges in order on several threads, and reports progress to the end', async (t) => {
  const chain = makeChain()
  for (let i = 0; i < 900; i++) chain.notarize({}, undefined, { text: 'x'.repeat(1000), i })
  const seen: { entries: number; done: number; total: number }[] = []
  const report = await verify(t, chain, { threads: 2, onProgress: (progress) => seen.push(progress) })
  assert.ok(report.ok, formatReport(report))
  assert.ok(seen.length >= 5)
  assert.deepEqual(
    seen,
    seen.toSorted((a, b) => a.entries - b.entries),
  )
  assert.equal(seen.at(-1)?.done, seen.at(-1)?.total)
  assert.equal(seen.at(-1)?.entries, 903)
})

test('an empty ledger verifies as empty, and fails against a given checkpoint or key', async (t) => {
  const empty = makeChain({ empty: true })
  const report = await verifyText(t, textOf(empty.exportLines(null)), { pinned: new Map([['led_x', 'y']]) })
  assert.equal(
    formatReport(report),
    'INTEGRITY_OK entries=0 records=0 keys=self-asserted checkpoint=none covered=0 own=0 of 0 (the ledger is empty)',
  )
  const kept = await verifyText(t, textOf(empty.exportLines(null)), {
    checkpoints: [makeLedger().checkpoint()],
  })
  assert.equal(kept.failure?.code, 'checkpoint_beyond_chain')
  const kid = makeSigner().kidHex
  const keyed = await verifyText(t, textOf(empty.exportLines(null)), { kids: [kid] })
  assert.equal(keyed.failure?.code, 'trusted_key_absent')
})

test('accepts a ledger without a checkpoint, and a file without a last newline', async (t) => {
  const chain = makeLedger()
  const report = await verifyText(t, textOf(chain.exportLines(null)).trimEnd())
  assert.match(formatReport(report), /checkpoint=none covered=0 own=0 of 8$/)
})

test('refuses an export that is cut off anywhere', async (t) => {
  const text = textOf(makeLedger(2).exportLines())
  const lines = text.split('\n')
  const cuts = [
    lines[0]!.length + 1,
    lines[0]!.length + 20,
    text.length - 5,
    text.length - lines.at(-2)!.length - 1,
  ]
  for (const cut of cuts) {
    const report = await verifyText(t, text.slice(0, cut))
    assert.equal(report.failure?.code, 'export_incomplete', text.slice(0, cut).slice(-40))
    assert.match(
      formatReport(report),
      /^INTEGRITY_FAILED code=export_incomplete reason=".*export the ledger again"$/,
    )
  }
  for (let cut = 1; cut < text.length - 1; cut += 61) {
    const report = await verifyText(t, text.slice(0, cut)).catch((error) => error)
    assert.ok(report instanceof SourceError || !report.ok)
  }
})

test('refuses a file with a checkpoint, ledger id or keys of another ledger', async (t) => {
  const chain = makeLedger()
  const lines = chain.exportLines(makeLedger(9).checkpoint())
  assert.equal((await verifyText(t, textOf(lines))).failure?.code, 'checkpoint_foreign')
  const renamed = chain
    .exportLines()
    .with(0, chain.exportLines()[0]!.replace(chain.ledger, makeLedger().ledger))
  const report = await verifyText(t, textOf(renamed))
  assert.deepEqual([report.failure?.code, report.failure?.seq], ['ledger_foreign', null])
  const keys = chain.exportLines().with(0, makeLedger().exportLines()[0]!)
  assert.equal((await verifyText(t, textOf(keys))).failure?.code, 'key_unknown')
  const first = JSON.parse(chain.exportLines()[0]!)
  const codeOf = async (changes: object) => {
    const keys = [...first.keys, { ...first.keys[0], ...changes }]
    const text = textOf(chain.exportLines().with(0, JSON.stringify({ ...first, keys })))
    return (await verifyText(t, text)).failure?.code
  }
  assert.equal(await codeOf({ kid: undefined }), 'line_syntax')
  assert.equal(await codeOf({ kid: '0'.repeat(64) }), 'kid_mismatch')
  assert.equal(await codeOf({ alg: 'RS256' }), 'bad_key')
  assert.equal(await codeOf({ spki: '!' }), 'bad_base64')
  assert.equal(await codeOf({ unknown: 1 }), undefined)
})

test('refuses entries of a compromised key, except up to a kept checkpoint', async (t) => {
  const chain = makeLedger()
  const head = JSON.parse(chain.exportLines()[0]!)
  head.keys[0].compromisedAt = '2026-11-20T12:00:00.000Z'
  const text = textOf(chain.exportLines().with(0, JSON.stringify(head)))
  assert.equal((await verifyText(t, text)).failure?.code, 'key_compromised')
  assert.ok((await verifyText(t, text, { checkpoints: [chain.checkpoint()] })).ok)
})

test('accepts an export that withholds documents, with a notice', async (t) => {
  const chain = makeLedger()
  chain.notarizeBatch(2)
  const head = { ...JSON.parse(chain.exportLines()[0]!), documents: 'withheld' }
  for (const { documents } of chain.lines)
    for (const d of documents) Object.assign(d, { salt: null, document: null })
  const report = await verifyText(t, textOf(chain.exportLines().with(0, JSON.stringify(head))))
  assert.match(formatReport(report), /covered=9 own=9 of 9 documents=withheld$/)
  assert.match(report.notices[0]!, /has no documents/)
  assert.equal((await verify(t, chain)).failure?.code, 'document_presence')
})

test('reports what cannot be read, and why', async (t) => {
  const files = temporaryFiles(t)
  const fails = async (path: string, kind: string, pattern: RegExp) =>
    assert.rejects(verifyLedger(exportFile(path)), (error) => {
      assert.ok(error instanceof SourceError)
      assert.equal(error.kind, kind)
      assert.match(error.message, pattern)
      return true
    })
  await fails('/nowhere/x', 'io', /no such file/)
  await fails(files.directory, 'io', /is not a file/)
  await fails(files.write('a', 'hello\n'), 'not_a_ledger', /is not an export/)
  await fails(files.write('b', '{"export":2}\n'), 'not_a_ledger', /is not an export/)
  await fails(files.write('c', '{"export":1}\n'), 'not_a_ledger', /is not an export/)
  await fails(files.write('d', ''), 'not_a_ledger', /is not an export/)
  await fails(files.write('e', 'null\n'), 'not_a_ledger', /is not an export/)
})

test('verifies a stream through a temporary file, and removes the file', async () => {
  const text = textOf(makeLedger().exportLines())
  async function* pieces() {
    for (let at = 0; at < text.length; at += 777) yield new TextEncoder().encode(text.slice(at, at + 777))
  }
  assert.ok((await verifyLedger(spooledExport('standard input', async () => pieces()))).ok)
  async function* broken() {
    yield new TextEncoder().encode(text.slice(0, 3000))
    throw new Error('terminated')
  }
  await assert.rejects(
    verifyLedger(spooledExport('a server', async () => broken())),
    /a server ended too early \(terminated\)/,
  )
})
