import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { UsageError } from '../../sdk/errors.ts'
import * as verify from '../../sdk/verify/index.ts'
import { END_LINE_BYTES_MAX } from '../../src/proof/limits.ts'
import { exportFile } from '../../src/verify/export-file.ts'
import { verifyLedger } from '../../src/verify/verify-ledger.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { makeChain, makeId, makeSigner } from '../helpers/test-chain.ts'
import { makeGated } from '../helpers/test-gated.ts'
import { receiptFileOf } from '../helpers/test-proof.ts'
import { refusesVerification } from './refuses-verification.ts'
import { pretend, RUNTIMES } from './runtimes.ts'

/**
 * Makes a ledger with a small number of entries of many kinds. The number is small because verification without native
 * code takes 5 ms per entry.
 */
function makeLedger() {
  const chain = makeChain()
  const erased = chain.notarize()
  chain.notarizeBatch(3)
  const gated = makeGated(chain)
  gated.activate()
  gated.submit()
  gated.verify()
  gated.judge()
  chain.erase(erased)
  chain.rotateServerKey()
  chain.notarize()
  return chain
}

const chain = makeLedger()
const text = textOf(chain.exportLines())
const bytes = new TextEncoder().encode(text)
const [firstKid, secondKid] = chain.signers.map(({ kidHex }) => kidHex) as [string, string]
const entries = chain.lines.length

function textOf(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`
}

function withEntry(seq: number, change: (line: (typeof chain.lines)[number]) => object): string {
  const line = JSON.stringify({ ...chain.lines[seq]!, ...change(chain.lines[seq]!) })
  return textOf(chain.exportLines().with(seq + 1, line))
}

function inPieces(bytes: Uint8Array, size: number): () => AsyncGenerator<Uint8Array> {
  return async function* () {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  }
}

const flip = (envelope: string, at: number) => {
  const changed = Buffer.from(envelope, 'base64')
  changed[changed.length + at]! ^= 1
  return changed.toString('base64')
}

describe('an export', () => {
  for (const [name, runtime] of Object.entries(RUNTIMES)) {
    test(`verifies ${name}, and is refused if one bit is changed`, async (t) => {
      pretend(t, runtime)
      const report = await verify.export(text)
      assert.deepEqual([report.entries, report.records, report.erasures.length], [entries, 6, 1])
      const changed = withEntry(8, ({ envelope }) => ({ envelope: flip(envelope, -1) }))
      await refusesVerification('signature_invalid', () => verify.export(changed), 8)
      // The seq of this entry is wrong too, but the invalid signature before it must be reported.
      const twice = changed.replace('"seq":9,', '"seq":10,')
      await refusesVerification('signature_invalid', () => verify.export(twice), 8)
    })
  }

  test('gives the same report as the command line', async (t) => {
    const path = temporaryFiles(t).write('ledger.ndjson', text)
    const receipts = [receiptFileOf(chain, chain.lines[5]!, { size: 7 })]
    const options = { kids: [firstKid], checkpoints: [chain.checkpoint(5)], receipts }
    const { ok, failure, source, ...report } = await verifyLedger(exportFile(path), options)
    assert.deepEqual(await verify.export(text, options), report)
    assert.deepEqual([report.keys, report.checkpoint, report.covered], ['given', 'given', 7])
  })

  test('may be text, bytes, a file, or streams in pieces of any size', async () => {
    const sources: verify.ExportSource[] = [
      text.trimEnd(),
      bytes,
      new Blob([text]),
      () => new Blob([text]).stream(),
      async () => new Blob([text]).stream(),
      inPieces(bytes, 100),
      inPieces(bytes, 65_536),
    ]
    const expected = await verify.export(text)
    for (const source of sources) assert.deepEqual(await verify.export(source), expected)
    const small = makeChain()
    const single = inPieces(new TextEncoder().encode(textOf(small.exportLines())), 1)
    assert.equal((await verify.export(single)).entries, 3)
    for (const source of [null, new Blob([text]).stream()])
      await assert.rejects(verify.export(source as unknown as string), UsageError)
  })

  test('reports progress up to the last entry', async () => {
    const seen: { entries: number; done: number; total: number }[] = []
    await verify.export(bytes, { onProgress: (progress) => void seen.push(progress) })
    assert.equal(seen.at(-1)!.entries, entries)
    assert.ok(seen.at(-1)!.done > bytes.length - 2 && seen.at(-1)!.total === bytes.length)
  })

  test('stops at an aborted signal with its reason', async () => {
    const reason = new Error('enough')
    const stop = new AbortController()
    const onProgress = () => stop.abort(reason)
    const long = makeChain()
    for (let i = 0; i < 150; i++) long.notarize()
    const source = textOf(long.exportLines())
    await assert.rejects(verify.export(source, { signal: stop.signal, onProgress }), reason)
  })
})

test('is refused with its first bad entry, wherever a block of lines ends', async () => {
  const long = makeChain()
  for (let i = 0; i < 300; i++) long.notarize()
  for (const seq of [0, 90, 200, 302]) {
    const line = { ...long.lines[seq]!, leaf: '00'.repeat(32) }
    const changed = textOf(long.exportLines().with(seq + 1, JSON.stringify(line)))
    await refusesVerification('line_contradicts_envelope', () => verify.export(changed), seq)
  }
  const noText = new TextEncoder().encode(textOf(long.exportLines()))
  noText[textOf(long.exportLines().slice(0, 102)).length - 9] = 0xff
  await refusesVerification('bad_utf8', () => verify.export(noText), 100)
})

test('is refused if an entry, the last line or the first line is missing', async () => {
  const lines = chain.exportLines()
  await refusesVerification('seq_not_dense', () => verify.export(textOf(lines.toSpliced(5, 1))), 4)
  await refusesVerification('export_incomplete', () => verify.export(textOf(lines.slice(0, -1))))
  await refusesVerification('export_incomplete', () => verify.export(textOf(lines.slice(1))))
  await refusesVerification('export_incomplete', () => verify.export(''))
  const tailless = textOf(lines.toSpliced(-3, 2))
  await refusesVerification('checkpoint_beyond_chain', () => verify.export(tailless))
})

test('may have a last line of the maximum length, not counting its newline', async () => {
  const lines = chain.exportLines()
  const last = lines.at(-1)!
  const long = last + ' '.repeat(END_LINE_BYTES_MAX - Buffer.byteLength(last))
  for (const end of ['', '\n'])
    assert.equal(
      (await verify.export([...lines.slice(0, -1), long].join('\n') + end)).entries,
      chain.lines.length,
    )
  await refusesVerification('export_incomplete', () =>
    verify.export(textOf([...lines.slice(0, -1), `${long} `])),
  )
})

test('a stream that ends sooner the second time is refused with export_incomplete', async () => {
  let opened = 0
  const source = () => new Blob([++opened === 1 ? text : textOf(chain.exportLines().slice(0, -2))]).stream()
  await refusesVerification('export_incomplete', () => verify.export(source))
})

test('a ledger that has grown between two reads is verified as of the second', async () => {
  const growing = makeChain()
  const first = textOf(growing.exportLines())
  growing.notarize()
  const texts = [first, textOf(growing.exportLines())]
  const report = await verify.export(() => new Blob([texts.shift()!]).stream())
  assert.deepEqual([report.entries, report.checkpoint, report.covered], [4, 'own', 3])
})

test('is reported under given or pinned keys, and refused if it contradicts them', async () => {
  const trusting = async (options: verify.ExportOptions) => (await verify.export(text, options)).keys
  assert.equal(await trusting({ kids: [firstKid.toUpperCase(), secondKid] }), 'given')
  assert.equal(await trusting({ kids: [secondKid] }), 'self-asserted')
  assert.equal(await trusting({ pinned: { [chain.ledger]: firstKid } }), 'pinned')
  const refuses = (code: verify.VerificationErrorCode, options: verify.ExportOptions) =>
    refusesVerification(code, () => verify.export(text, options))
  await refuses('trusted_key_absent', { kids: ['00'.repeat(32)] })
  await refuses('trusted_key_absent', { pinned: { [chain.ledger]: secondKid } })
  await assert.rejects(verify.export(text, { kids: ['first'] }), UsageError)
  const forged = chain.checkpoint(4, { chain: new Uint8Array(32) })
  await refusesVerification('checkpoint_mismatch', () => verify.export(text, { checkpoints: [forged] }), 3)
  const foreign = chain.checkpoint(4, { signer: makeSigner() })
  const { ledger, noteSigner } = chain
  const other = makeChain({ ledger, noteSigner })
  const receipts = [receiptFileOf(other, other.notarize())]
  await refusesVerification('receipt_mismatch', () => verify.export(text, { receipts }), 3)
  await assert.rejects(verify.export(text, { receipts: ['x' as unknown as Uint8Array] }), UsageError)
  await refusesVerification('note_unsigned', () => verify.export(text, { checkpoints: [foreign] }), 0)
  const renamed = text.replace(chain.ledger, makeId('led'))
  await refusesVerification('ledger_foreign', () => verify.export(renamed))
})

test('entries of a compromised key are accepted only up to a kept checkpoint', async () => {
  const other = makeChain()
  const head = JSON.parse(other.exportLines()[0]!)
  head.keys[0].compromisedAt = '2026-11-20T12:00:00.000Z'
  const compromised = textOf(other.exportLines().with(0, JSON.stringify(head)))
  await refusesVerification('key_compromised', () => verify.export(compromised))
  assert.ok(await verify.export(compromised, { checkpoints: [other.checkpoint()] }))
})

test('may be declared without documents, which a notice reports', async () => {
  const other = makeChain()
  const line = other.notarize()
  Object.assign(line.documents[0]!, { salt: null, document: null })
  await refusesVerification('document_presence', () => verify.export(textOf(other.exportLines())), 3)
  const head = { ...JSON.parse(other.exportLines()[0]!), documents: 'withheld' }
  const report = await verify.export(textOf(other.exportLines().with(0, JSON.stringify(head))))
  assert.equal(report.documents, 'withheld')
  assert.match(report.notices[0]!, /has no documents/)
})

test('an endless line is refused with line_syntax before it fills the memory', async () => {
  async function* endless() {
    yield new TextEncoder().encode(`${chain.exportLines()[0]!}\n`)
    const spaces = new Uint8Array(1024 * 1024).fill(0x20)
    for (;;) yield spaces
  }
  await refusesVerification('line_syntax', () => verify.export(endless))
})
