import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AuditedRecord, RECORDS } from '../../../src/db/evidence/records.ts'
import { nativeProviders } from '../../../src/signing/native.ts'

test('other members that have no canonical JSON become “not canonical”, without an error', () => {
  const row = {
    otherMembers: JSON.parse('{"label":1e400}'),
    digest: Buffer.alloc(32),
    salt: null,
    payload: null,
  }
  const columns = RECORDS.columns(
    { referenceList: null, searchedReferences: null, ...row } as unknown as AuditedRecord,
    { sha256: nativeProviders.sha256, isErased: false },
  )
  assert.equal(columns.otherMembers, 'not canonical')
})
