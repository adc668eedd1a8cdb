import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fromBase64, toBase64, toHex } from '../../../src/proof/bytes.ts'
import { parseEntryLine } from '../../../src/proof/entry/entry-line.ts'
import { verifyEntry } from '../../../src/proof/entry/verify-entry.ts'
import { parseIdBytes } from '../../../src/proof/ids.ts'
import { parsePublicKey } from '../../../src/proof/keys.ts'
import { LedgerVerifier } from '../../../src/proof/ledger/verify-ledger.ts'
import { frontierRoot, leafHash } from '../../../src/proof/tree/merkle.ts'
import {
  makeChain,
  makeId,
  makeRecordIds,
  makeSigner,
  providers,
  sha256,
  type TestChain,
  type TestLine,
} from '../../helpers/test-chain.ts'
import { assertRefused, makeFindKey } from '../../helpers/verify-chain.ts'

const verify = (chain: TestChain, line: TestLine) =>
  verifyEntry(parseEntryLine(JSON.stringify(line)), makeFindKey(chain), providers)

test('accepts an entry of each kind, and returns its step for the ledger’s verification', () => {
  const chain = makeChain()
  const agent = makeId('agt')
  const notarized = chain.notarize({ onBehalfOf: agent })
  const { step, items } = verify(chain, notarized)
  assert.equal(items, null)
  assert.equal(step.statement, null)
  assert.deepEqual(step.actedFor, [agent])
  assert.deepEqual(step.types, ['generic/1'])
  assert.equal(step.recordIds.length, 16)
  assert.equal(step.digestWords[0], Number.parseInt(notarized.documents[0]!.digest.slice(0, 8), 16))
  assert.equal(toHex(step.leaf), notarized.leaf)

  const batch = verify(chain, chain.notarizeBatch(500, { item: { onBehalfOf: agent } }))
  assert.equal(batch.items?.length, 500)
  const ids = batch.items!.map(({ record }) => [...parseIdBytes('rec', record)])
  assert.deepEqual([...batch.step.recordIds], ids.flat())
  assert.deepEqual(batch.step.actedFor, [agent])
  for (const line of chain.lines) assert.equal(verify(chain, line).step.seq, line.seq)
  const rotation = chain.rotateServerKey()
  assert.equal(verify(chain, rotation).step.kind, 'server-key-rotated')
})

test('accepts every entry of the vectors, and their ledger verifies', () => {
  const vectors = JSON.parse(readFileSync(new URL('../../vectors/vectors.json', import.meta.url), 'utf8'))
  const key = parsePublicKey('EdDSA', fromBase64(vectors.key.spki))
  const verifier = new LedgerVerifier(providers, { storedCheckpoints: [vectors.checkpoint.note] })
  for (const vector of vectors.entries) {
    const subjects: { name: string }[] = vector.items
      ? vector.items.map(({ record }: { record: string }) => ({ name: record }))
      : JSON.parse(vector.statement).subject
    const line = {
      seq: vector.seq,
      kind: vector.kind,
      recordedAt: JSON.parse(vector.statement).predicate.recordedAt,
      leaf: vector.leaf,
      chain: vector.chain,
      envelope: Buffer.from(vector.envelope, 'hex').toString('base64'),
      documents: (vector.documents ?? []).map(
        (d: { document: unknown; salt: string; digest: string; references?: string[] }, i: number) => ({
          subject: subjects[i]!.name,
          digest: d.digest,
          salt: d.salt,
          document: d.document,
          references: d.references ?? null,
          erasedBy: null,
        }),
      ),
      items: vector.items ?? null,
    }
    const entry = verifyEntry(parseEntryLine(JSON.stringify(line)), () => key, providers)
    verifier.append(entry.step)
  }
  verifier.finish()
  assert.equal(verifier.summary.size, 6)
  assert.equal(verifier.summary.records, 8)
  assert.equal(verifier.summary.outsideSize, 6)
  assert.equal(toHex(frontierRoot(sha256, verifier.frontier)), vectors.entries.at(-1).merkleRoot)
})

test('refuses a line with a member too many, too few or of another form', () => {
  const chain = makeChain()
  const line = chain.notarize()
  const refused = (changes: object, pattern?: RegExp) =>
    assertRefused('line_syntax', () => parseEntryLine(JSON.stringify({ ...line, ...changes })), pattern)
  refused({ note: 1 }, /note/)
  refused({ chain: undefined }, /chain/)
  refused({ items: 1 }, /items/)
  refused({ seq: -1 })
  refused({ seq: 1.5 })
  refused({ kind: 1 })
  refused({ recordedAt: '2026-11-20T12:00:00Z' })
  refused({ leaf: line.leaf.toUpperCase() })
  refused({ envelope: null })
  refused({ documents: {} })
  refused({ documents: [null] })
  refused({ documents: [{ ...line.documents[0], more: 1 }] })
  refused({ documents: [{ ...line.documents[0], salt: 'AAAA' }] }, /a salt has 3 bytes/)
  refused({ documents: [{ ...line.documents[0], erasedBy: '7' }] })
  const { items: _, ...without } = line
  assert.deepEqual(parseEntryLine(JSON.stringify(without)), parseEntryLine(JSON.stringify(line)))
  const withNulls = { ...line, received: null, signer: null }
  assert.deepEqual(parseEntryLine(JSON.stringify(withNulls)), parseEntryLine(JSON.stringify(line)))
  const bare = { subject: 'x', digest: '0'.repeat(64) }
  assert.deepEqual(parseEntryLine(JSON.stringify({ ...line, documents: [bare] })).documents, [
    { ...bare, salt: null, document: null, erasedBy: null },
  ])
  assertRefused('line_syntax', () => parseEntryLine('[]'))
  assertRefused('json_syntax', () => parseEntryLine(''))
  assertRefused('json_duplicate_member', () => parseEntryLine('{"seq":1,"seq":1}'))
  assertRefused('json_depth', () => parseEntryLine('['.repeat(40) + ']'.repeat(40)))
  assertRefused('bad_base64', () =>
    parseEntryLine(JSON.stringify({ ...line, envelope: `${line.envelope}=` })),
  )
  assertRefused('bad_base64url', () =>
    parseEntryLine(JSON.stringify({ ...line, documents: [{ ...line.documents[0], salt: '=' }] })),
  )
})

test('refuses an envelope that was not signed by the key of its kid', () => {
  const chain = makeChain()
  const line = chain.notarize()
  const envelope = fromBase64(line.envelope)
  envelope[envelope.length - 1]! ^= 1
  const leaf = toHex(leafHash(sha256, envelope))
  assertRefused('signature_invalid', () => verify(chain, { ...line, envelope: toBase64(envelope), leaf }))

  const stranger = makeSigner()
  const foreign = chain.append({
    kind: 'type-registered',
    subjects: [{ name: 'a/1', sha256: 'aa'.repeat(32) }],
    predicate: chain.acting(),
    signer: stranger,
  })
  assertRefused('key_unknown', () => verify(chain, foreign), new RegExp(stranger.kidHex))
  assertRefused('algorithm_mismatch', () =>
    verifyEntry(
      parseEntryLine(JSON.stringify(line)),
      () => ({ ...chain.firstSigner.key, alg: 'ES256' }),
      providers,
    ),
  )
})

test('refuses claims that contradict the statement', () => {
  const chain = makeChain()
  const entry = {
    kind: 'type-registered',
    subjects: [{ name: 'a/1', sha256: 'aa'.repeat(32) }],
    predicate: chain.acting(),
  } as const
  const claims = 'claims_contradict_statement'
  assertRefused(claims, () => verify(chain, chain.append({ ...entry, subject: 'b/1' })), /subject is b\/1/)
  assertRefused(
    claims,
    () => verify(chain, chain.append({ ...entry, issuedAtSeconds: 1 })),
    /issued at second 1,/,
  )
})

test('refuses a line whose kind, time or leaf contradicts its envelope', () => {
  const chain = makeChain()
  const line = chain.notarize()
  const refused = (changes: Partial<TestLine>, pattern: RegExp) =>
    assertRefused('line_contradicts_envelope', () => verify(chain, { ...line, ...changes }), pattern)
  refused({ leaf: 'ab'.repeat(32) }, /^leaf/)
  refused({ kind: 'record-created' }, /^kind/)
  refused({ recordedAt: '2026-11-20T12:00:00.001Z' }, /^recordedAt/)
})

test('refuses a definition, agent or key that does not match its digest', () => {
  const chain = makeChain()
  const agent = makeId('agt')
  const key = makeId('key')
  const wrong = (
    kind: 'agent-registered' | 'agent-disabled' | 'key-created' | 'key-revoked',
    more: object,
  ) => {
    const name = kind.startsWith('agent') ? agent : key
    const line = chain.append({
      kind,
      subjects: [{ name, sha256: 'ab'.repeat(32) }],
      predicate: { ...chain.acting(), ...more },
    })
    assertRefused('definition_mismatch', () => verify(chain, line), new RegExp(name))
  }
  wrong('agent-registered', { agent, name: 'x' })
  wrong('agent-disabled', { agent, name: 'x' })
  wrong('key-created', { agent, scopes: ['records:write'], expiresAt: null })
  wrong('key-revoked', { agent, scopes: ['records:write'], expiresAt: null })
  const other = makeChain({ empty: true })
  const created = other.create({ definition: { ...other.definition, name: 'other' } })
  assertRefused('definition_mismatch', () => verify(other, created))
})

test('refuses a kid that is not the thumbprint of its key', () => {
  const chain = makeChain()
  const next = makeSigner()
  assertRefused('kid_mismatch', () =>
    verify(chain, chain.rotateServerKey({ ...next, kidHex: 'ab'.repeat(32) })),
  )
})

test('refuses a batch with another item, order, or number of items than was signed', () => {
  const chain = makeChain()
  const line = chain.notarizeBatch(3)
  const [a, b, c] = line.items!
  const refused = (items: TestLine['items'], pattern: RegExp) =>
    assertRefused('batch_contradicts_statement', () => verify(chain, { ...line, items }), pattern)
  refused(null, /batch-notarized must have items/)
  refused([a!, b!], /2 items, but 3 were signed/)
  refused([b!, a!, c!], /root/)
  refused([a!, b!, { ...c!, type: 'generic/2' }], /root/)
  assertRefused('batch_item', () => verify(chain, { ...line, items: [a!, b!, { ...c!, more: 1 } as never] }))
  assertRefused('batch_contradicts_statement', () => verify(chain, { ...chain.notarize(), items: [] }))
})

test('refuses a batch whose ids are not consecutive, from one on whose low 12 bits are zero', () => {
  const chain = makeChain()
  const refused = (records: readonly string[], pattern: RegExp) =>
    assertRefused(
      'batch_item',
      () => verify(chain, chain.notarizeBatch(records.length, { records: [...records] })),
      pattern,
    )
  const ids = makeRecordIds(2_048)
  verify(chain, chain.notarizeBatch(ids.length, { records: ids }))
  refused([ids[0]!, ids[0]!], /item 1 is .*next id of the batch/)
  refused([ids[0]!, ids[2]!], /item 1 is/)
  refused(ids.with(1_500, makeId('rec')), /item 1500 is/)
  refused(ids.with(2_047, ids[2_046]!), /item 2047 is/)
  refused(ids.slice(1, 3), /item 0 is .* which is the id of item 1 /)
  refused([ids[0]!, makeRecordIds(2)[1]!], /item 1 is/)
  refused([makeRecordIds(2_049)[2_048]!], /item 0 is .* item 2048 /)
})

test('returns parent, references and traceparent of each item of a batch', () => {
  const chain = makeChain()
  const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`
  const records = makeRecordIds(3)
  const item = { parent: records[0]!, traceparent }
  const { items } = verify(chain, chain.notarizeBatch(3, { records, item, references: ['jira:OPS-7'] }))
  assert.equal(items![2]!.parent, records[0])
  assert.equal(items![2]!.traceparent, traceparent)
  const bad = chain.notarizeBatch(1, { item: { parent: makeId('agt') } })
  assertRefused('batch_item', () => verify(chain, bad), /parent/)
})

test('refuses a document that is not the one that was signed', () => {
  const chain = makeChain()
  const line = chain.notarize()
  const [document] = line.documents
  const changed = (changes: object) => ({ ...line, documents: [{ ...document!, ...changes }] })
  const refused = (code: 'document_digest' | 'document_presence', changes: object) =>
    assertRefused(code, () => verify(chain, changed(changes)))
  refused('document_digest', { document: { n: 4 } })
  refused('document_digest', { salt: 'AAAAAAAAAAAAAAAAAAAAAA' })
  refused('document_digest', { digest: 'ab'.repeat(32) })
  refused('document_digest', { digest: 'ab'.repeat(32), salt: null, document: null, erasedBy: 9 })
  refused('document_presence', { subject: makeId('rec') })
  refused('document_presence', { document: null })
  refused('document_presence', { salt: null })
  refused('document_presence', { salt: null, document: null })
  refused('document_presence', { erasedBy: 9 })
  assertRefused(
    'document_presence',
    () => verify(chain, { ...line, documents: [] }),
    /0 documents, but 1 were signed/,
  )
  const erased = verify(chain, changed({ salt: null, document: null, erasedBy: 9 }))
  assert.deepEqual(erased.step.erased, [
    { subject: document!.subject, sha256: document!.digest, erasedBy: 9 },
  ])
})

test('accepts a line without documents only if they are withheld, and then refuses documents', () => {
  const chain = makeChain()
  const line = chain.notarize()
  const [document] = line.documents
  const bare = { ...line, documents: [{ ...document!, salt: null, document: null }] }
  const verifyWithheld = (line: TestLine) =>
    verifyEntry(parseEntryLine(JSON.stringify(line)), makeFindKey(chain), providers, 'withheld')
  assert.deepEqual(verifyWithheld(bare).step.erased, [])
  assertRefused('document_presence', () => verify(chain, bare))
  assertRefused('document_presence', () => verifyWithheld(line))
  const swapped = { ...bare, documents: [{ ...bare.documents[0]!, digest: 'ab'.repeat(32) }] }
  assertRefused('document_digest', () => verifyWithheld(swapped))
})
