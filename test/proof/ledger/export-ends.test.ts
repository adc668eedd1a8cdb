import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseExportHead, parseExportTail } from '../../../src/proof/ledger/export-ends.ts'
import { makeChain } from '../../helpers/test-chain.ts'
import { refuses } from '../refuses.ts'

const chain = makeChain()
const first = JSON.parse(chain.exportLines()[0]!)

test('reads the first line: the ledger, its keys, and whether documents are shown', () => {
  const [key] = chain.keys()
  const head = parseExportHead(JSON.stringify(first))
  assert.deepEqual([head.ledger, head.documents], [chain.ledger, 'all'])
  assert.deepEqual(head.keys, [key])
  const compromisedAt = '2026-11-20T12:00:00.000Z'
  const keys = [null, { kid: 1 }, { kid: 'x', alg: 1 }, { kid: 'x', alg: 'EdDSA' }, { ...key, compromisedAt }]
  const other = parseExportHead(JSON.stringify({ ...first, keys, documents: 'withheld' }))
  assert.deepEqual([other.documents, other.keys], ['withheld', [{ ...key, compromisedAt }]])
  const { compromisedAt: _, ...old } = key!
  assert.equal(parseExportHead(JSON.stringify({ ...first, keys: [old] })).keys[0]!.compromisedAt, null)
})

test('refuses what is no first line', () => {
  for (const text of ['', 'hello', 'null', '[1]', '{"export":2}', '{"export":1}'])
    refuses('export_incomplete', () => parseExportHead(text))
  for (const changes of [{ ledger: null }, { ledger: {} }, { keys: {} }])
    refuses('export_incomplete', () => parseExportHead(JSON.stringify({ ...first, ...changes })))
})

test('reads the last line, and refuses an export that ends before it', () => {
  assert.equal(parseExportTail('{"checkpoint":"a note"}'), 'a note')
  assert.equal(parseExportTail('{"checkpoint":null}'), null)
  for (const text of ['', '{"check', '[]', '{}', '{"checkpoint":1}', '{"checkpoint":"a note","seq":3}'])
    refuses('export_incomplete', () => parseExportTail(text))
})
