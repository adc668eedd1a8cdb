import assert from 'node:assert/strict'
import { test } from 'node:test'
import { utf8Encode } from '../../../src/proof/bytes.ts'
import { parseExportHead, parseExportTail } from '../../../src/proof/ledger/export-ends.ts'
import type { KeyHint } from '../../../src/proof/ledger/key-hint.ts'
import { END_LINE_BYTES_MAX } from '../../../src/proof/limits.ts'
import { makeChain } from '../../helpers/test-chain.ts'
import { refuses } from '../refuses.ts'

const chain = makeChain()
const first = JSON.parse(chain.exportLines()[0]!)
const head = (changes: object) => parseExportHead(utf8Encode(JSON.stringify({ ...first, ...changes })))

test('parseExportHead returns the ledger, its keys and the documents mode', () => {
  const [{ kid, alg, spki }] = chain.keys() as readonly KeyHint[] as [KeyHint]
  const key = { kid, alg, spki, compromisedAt: null }
  assert.deepEqual(head({}), { ledger: chain.ledger, keys: [key], documents: 'all' })
  const compromisedAt = '2026-11-20T12:00:00.000Z'
  const keys = [{ ...key, compromisedAt, use: 'envelope', unknown: 1 }]
  const other = head({ keys, documents: 'withheld', unknown: {} })!
  assert.deepEqual([other.documents, other.keys], ['withheld', [{ ...key, compromisedAt }]])
  assert.deepEqual(head({ keys: [{ kid, alg, spki }] })!.keys, [key])
})

test('refuses a malformed key in the first line with line_syntax', () => {
  const [key] = chain.keys()
  for (const name of ['kid', 'alg', 'spki'])
    refuses('line_syntax', () => head({ keys: [{ ...key, [name]: undefined }] }))
  for (const bad of [null, 1, [], { ...key, kid: 'x' }, { ...key, alg: 1 }, { ...key, spki: 1 }])
    refuses('line_syntax', () => head({ keys: [key, bad] }))
  for (const compromisedAt of ['yesterday', 1, true, '2026-11-31T12:00:00.000Z'])
    refuses('line_syntax', () => head({ keys: [{ ...key, compromisedAt }] }))
})

test('returns null for a file of another format, and throws for a damaged first line', () => {
  for (const text of [
    '',
    'hello',
    'null',
    '[1]',
    '{"export":2}',
    '{"export":1}',
    '{"export":true}',
    '{"x":1,"x":2}',
  ])
    assert.equal(parseExportHead(utf8Encode(text)), null, text)
  assert.equal(parseExportHead(new Uint8Array([0xff, 0xd8])), null)
  for (const changes of [{ ledger: null }, { ledger: {} }, { ledger: 1 }, { keys: {} }])
    assert.equal(head(changes), null)
  const long = JSON.stringify({ ...first, x: 'x'.repeat(END_LINE_BYTES_MAX) })
  assert.equal(parseExportHead(utf8Encode(long)), null)
  refuses('json_duplicate_member', () => parseExportHead(utf8Encode('{"export":1,"export":1}')))
  refuses('json_syntax', () => parseExportHead(utf8Encode('{"export":1')))
  refuses('bad_utf8', () => parseExportHead(new Uint8Array([...utf8Encode('{"export":1,"x":"'), 0xff])))
})

test('parses the last line, and refuses any other with export_incomplete', () => {
  const tail = (text: string) => parseExportTail(utf8Encode(text))
  assert.equal(tail('{"checkpoint":"a note"}'), 'a note')
  assert.equal(tail('{"checkpoint":null}'), null)
  for (const text of ['', '{"check', '[]', '{}', '{"checkpoint":1}', '{"checkpoint":"a note","seq":3}'])
    refuses('export_incomplete', () => tail(text))
  refuses('export_incomplete', () => tail('{"checkpoint":"a","checkpoint":"a"}'))
  refuses('export_incomplete', () => tail(`{"checkpoint":"${'x'.repeat(END_LINE_BYTES_MAX)}"}`))
  refuses('export_incomplete', () =>
    parseExportTail(new Uint8Array([...utf8Encode('{"checkpoint":"'), 0xc3])),
  )
})
