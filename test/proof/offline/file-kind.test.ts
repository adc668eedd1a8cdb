import assert from 'node:assert/strict'
import { test } from 'node:test'
import { utf8Encode } from '../../../src/proof/bytes.ts'
import { fileKindOf } from '../../../src/proof/offline/file-kind.ts'

test('fileKindOf recognizes a file by its first bytes, after leading white space', () => {
  const kinds = [
    ['{"export":1', 'export'],
    ['\r\n\t {"bundle":1', 'bundle'],
    ['{"ledger":{', 'proof'],
    ['{"keys":[', 'proof'],
    ['{"entry":{', 'proof'],
    ['{"exported"', null],
    ['{ "export"', null],
    ['hello', null],
    ['  ', null],
    ['', null],
  ] as const
  for (const [text, kind] of kinds) assert.equal(fileKindOf(utf8Encode(text)), kind, text)
  assert.equal(fileKindOf(new Uint8Array([0xd2, 0x84])), 'receipt')
  assert.equal(fileKindOf(new Uint8Array([0xff])), null)
})
