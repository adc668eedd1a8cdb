import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatId, uuidOfBytes } from '../../../src/proof/ids.ts'
import {
  type DocumentKind,
  formatDocumentSubject,
  parseDocumentSubject,
} from '../../../src/proof/statement/document-subjects.ts'

const ID = uuidOfBytes(new Uint8Array(16).fill(7))
const REC = formatId('rec', ID)
const CMP = formatId('cmp', ID)

test('each document has one subject name, which parses back to the document', () => {
  const names: Record<DocumentKind, string> = {
    payload: REC,
    reason: `${REC}/reason`,
    evidence: CMP,
    values: `${CMP}/values`,
  }
  for (const [document, name] of Object.entries(names) as [DocumentKind, string][]) {
    assert.equal(formatDocumentSubject(document, ID), name)
    assert.deepEqual(parseDocumentSubject(name), { document, id: ID })
  }
})

test('parseDocumentSubject returns null for any other name', () => {
  const others = [
    '',
    '/reason',
    'rec_',
    formatId('agt', ID),
    `${REC}/values`,
    `${CMP}/reason`,
    `${REC}/`,
    `${REC}/reason/reason`,
    `${REC.toUpperCase()}`,
    `x${REC}`,
  ]
  for (const name of others) assert.equal(parseDocumentSubject(name), null, name)
  fc.assert(fc.property(fc.string(), (name) => parseDocumentSubject(name) === null))
})
