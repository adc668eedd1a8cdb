import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromBase64Url, toHex, utf8Encode } from '../../../src/proof/bytes.ts'
import { canonicalize } from '../../../src/proof/json/jcs.ts'
import { RECORD_BYTES_MAX } from '../../../src/proof/limits.ts'
import { parseEntryProof } from '../../../src/proof/offline/entry-proof.ts'
import { verifyProof } from '../../../src/proof/offline/verify-proof.ts'
import { verifyRecord } from '../../../src/proof/offline/verify-record.ts'
import { documentDigest } from '../../../src/proof/statement/document.ts'
import { MEMBER_NAMES, RECORD_MEMBERS } from '../../../src/proof/statement/record-members.ts'
import { samplesOfItem } from '../../helpers/every-member.ts'
import {
  makeChain,
  makeId,
  providers,
  saltDocument,
  type TestChain,
  type TestLine,
} from '../../helpers/test-chain.ts'
import { proofOf, recordOf } from '../../helpers/test-proof.ts'
import { refuses } from '../refuses.ts'

const TRUST = { kids: [], noteKey: null, storedCheckpoints: [], consistency: null }

function verify(record: object | string, chain: TestChain, line: TestLine, item?: number): void {
  const text = typeof record === 'string' ? record : JSON.stringify(record)
  const proof = proofOf(chain, line, item === undefined ? {} : { item })
  verifyRecord(text, verifyProof(parseEntryProof(JSON.stringify(proof)), TRUST, providers), providers)
}

test('accepts a notarized record, single or of a batch', () => {
  const chain = makeChain()
  verify(recordOf(chain, chain.notarize()), chain, chain.lines.at(-1)!)
  const occurredAt = '2026-11-19T12:00:00.000Z'
  const onBehalfOf = makeId('agt')
  const line = chain.notarize({ occurredAt, onBehalfOf })
  verify({ ...recordOf(chain, line), occurredAt, onBehalfOf }, chain, line)
  const batch = chain.notarizeBatch(3, { item: { occurredAt, onBehalfOf } })
  for (const i of [0, 1, 2]) verify(recordOf(chain, batch, i), chain, batch, i)
  verify(recordOf(chain, chain.notarizeBatch(1)), chain, chain.lines.at(-1)!, 0)
})

test('accepts the signed parent and references, and no others', () => {
  const chain = makeChain()
  const parent = makeId('rec')
  const references = ['https://erp.example/orders/1', 'jira:OPS-7']
  const record = makeId('rec')
  const payload = saltDocument(record, { n: 1 })
  const salted = utf8Encode(canonicalize(references))
  const digest = toHex(documentDigest(providers.sha256, fromBase64Url(payload.salt!), salted))
  const line = chain.append({
    kind: 'record-notarized',
    subjects: [{ name: record, sha256: payload.digest }],
    predicate: { ...chain.acting(), record, version: 1, type: 'generic/1', parent, references: digest },
    documents: [payload],
  })
  const shown = { ...recordOf(chain, line), parent, references }
  verify(shown, chain, line)
  refuses('record_contradicts_proof', () => verify({ ...shown, parent: null }, chain, line))
  refuses('record_contradicts_proof', () => verify({ ...shown, references: null }, chain, line))
  const { references: _, ...without } = shown
  refuses('record_contradicts_proof', () => verify(without, chain, line))
  const turned = { ...shown, references: references.toReversed() }
  refuses('document_digest', () => verify(turned, chain, line))

  const batch = chain.notarizeBatch(2, { references, item: { parent } })
  const item = recordOf(chain, batch, 1)
  assert.deepEqual([item.parent, item.references], [parent, references])
  verify(item, chain, batch, 1)
  refuses('record_contradicts_proof', () => verify({ ...item, parent: null }, chain, batch, 1))
  refuses('record_contradicts_proof', () => verify({ ...item, references: null }, chain, batch, 1))
  refuses('document_digest', () => verify({ ...item, references: references.toReversed() }, chain, batch, 1))
})

test('compares every shown member with the signed one, for single records and items of a batch', () => {
  const chain = makeChain()
  const samples = samplesOfItem({
    agents: [makeId('agt'), makeId('agt')],
    records: [makeId('rec'), makeId('rec')],
  })
  for (const name of MEMBER_NAMES.filter((name) => RECORD_MEMBERS[name].shown && name !== 'references')) {
    const [signed, other] = samples[name].map((value) =>
      name === 'occurredAt' ? new Date(value as string).toISOString() : value,
    )
    const line = chain.notarize({ [name]: signed })
    const batch = chain.notarizeBatch(2, { item: { [name]: signed } })
    for (const [record, of, item] of [
      [recordOf(chain, line), line, undefined],
      [recordOf(chain, batch, 1), batch, 1],
    ] as const) {
      verify({ ...record, [name]: signed }, chain, of, item)
      refuses('record_contradicts_proof', () => verify({ ...record, [name]: other }, chain, of, item))
      refuses('record_contradicts_proof', () => verify({ ...record, [name]: null }, chain, of, item))
    }
  }
})

test('ignores members that the entry does not sign', () => {
  const chain = makeChain()
  const line = chain.notarize()
  verify({ ...recordOf(chain, line), state: 'X', version: 7, metadata: { a: 1 }, more: 1 }, chain, line)
})

test('accepts a record without its null members, as stored by older versions', () => {
  const chain = makeChain()
  const line = chain.notarize()
  const batch = chain.notarizeBatch(2)
  for (const [record, of, item] of [
    [recordOf(chain, line), line, undefined],
    [recordOf(chain, batch, 1), batch, 1],
  ] as const) {
    const members = Object.entries(record)
    const nulls = members.filter(([, member]) => member === null)
    assert.ok(nulls.length > 3)
    for (const [name] of nulls)
      verify(Object.fromEntries(members.filter(([other]) => other !== name)), chain, of, item)
    verify(Object.fromEntries(members.filter(([, member]) => member !== null)), chain, of, item)
  }
})

test('refuses a record with any signed member changed', () => {
  const chain = makeChain()
  const line = chain.notarize()
  const batch = chain.notarizeBatch(2)
  for (const [record, of, item] of [
    [recordOf(chain, line), line, undefined],
    [recordOf(chain, batch, 1), batch, 1],
  ] as const) {
    const changes = {
      id: makeId('rec'),
      ledger: makeId('led'),
      type: 'generic/2',
      digest: '00'.repeat(32),
      actor: makeId('agt'),
      key: makeId('key'),
      onBehalfOf: makeId('agt'),
      parent: makeId('rec'),
      references: ['jira:OPS-7'],
      occurredAt: '2026-11-19T12:00:00.000Z',
      recordedAt: '2026-11-19T12:00:00.000Z',
      batch: makeId('bat'),
    }
    for (const [name, value] of Object.entries(changes))
      refuses('record_contradicts_proof', () => verify({ ...record, [name]: value }, chain, of, item))
    refuses('document_digest', () => verify({ ...record, payload: { n: 'other' } }, chain, of, item))
    refuses('document_digest', () => verify({ ...record, salt: 'A'.repeat(22) }, chain, of, item))
  }
})

test('refuses a record without payload and salt; the error names the erasure', () => {
  const chain = makeChain()
  const line = chain.notarize()
  const record = recordOf(chain, line)
  refuses('document_presence', () => verify({ ...record, payload: null, salt: null }, chain, line))
  refuses('record_contradicts_proof', () => verify({ ...record, salt: null }, chain, line))
  const { payload, ...withoutPayload } = record
  refuses('record_contradicts_proof', () => verify(withoutPayload, chain, line))
  const { salt: _, ...withoutBoth } = withoutPayload
  refuses('document_presence', () => verify(withoutBoth, chain, line))
  refuses('record_contradicts_proof', () => verify({ ...record, salt: 'AAAA' }, chain, line))
  refuses('bad_base64url', () => verify({ ...record, salt: '!' }, chain, line))
})

test('refuses a proof of another entry with record_contradicts_proof', () => {
  const chain = makeChain()
  const line = chain.notarize()
  const batch = chain.notarizeBatch(2)
  refuses('record_contradicts_proof', () => verify(recordOf(chain, batch, 0), chain, batch))
  refuses('record_contradicts_proof', () => verify(recordOf(chain, line), chain, chain.lines[0]!))
  refuses('record_contradicts_proof', () => verify(recordOf(chain, line), chain, chain.erase(line)))
})

test('an entry of a later step proves id and payload of a record, but not its actor', () => {
  const chain = makeChain()
  const line = chain.notarize()
  const { subject, digest } = line.documents[0]!
  const cancelled = chain.append({
    kind: 'record-cancelled',
    subjects: [{ name: subject, sha256: digest }],
    predicate: {
      ...chain.acting(),
      record: subject,
      version: 2,
      previous: line.leaf,
      from: 'CREATED',
      to: 'CANCELLED',
    },
  })
  const cancellation = { by: chain.agent, recordedAt: cancelled.recordedAt, seq: cancelled.seq }
  const shown = { state: 'CANCELLED', version: 2, gated: { cancellation } }
  const record = { ...recordOf(chain, line), ...shown, actor: makeId('agt'), type: 'task/1' }
  verify(record, chain, cancelled)
  refuses('record_contradicts_proof', () => verify({ ...record, id: makeId('rec') }, chain, cancelled))
  refuses('document_digest', () => verify({ ...record, payload: {} }, chain, cancelled))
})

test('refuses malformed JSON, a non-object, and a record above RECORD_BYTES_MAX', () => {
  const chain = makeChain()
  const line = chain.notarize()
  refuses('record_contradicts_proof', () => verify('[]', chain, line))
  refuses('json_syntax', () => verify('{', chain, line))
  const text = JSON.stringify(recordOf(chain, line))
  const room = RECORD_BYTES_MAX - Buffer.byteLength(text)
  verify(text + ' '.repeat(room), chain, line)
  refuses('record_contradicts_proof', () => verify(`${text}${' '.repeat(room)} `, chain, line))
  refuses('json_duplicate_member', () => verify(`{"id":1,${text.slice(1)}`, chain, line))
  assert.ok(text.length < RECORD_BYTES_MAX)
})
