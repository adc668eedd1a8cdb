import { sealEntry } from '../../../src/append/entry.ts'
import { type AppendAnswer, appendEntries, type EntryRow } from '../../../src/db/chain/append-entries.ts'
import { withClient } from '../../../src/db/connect/client.ts'
import type { Caller } from '../../../src/ledgers/caller.ts'
import type { NewLedger } from '../../../src/ledgers/create-ledger.ts'
import { utf8Encode } from '../../../src/proof/bytes.ts'
import { formatId, parseId } from '../../../src/proof/ids.ts'
import { ownRecordId } from '../../../src/proof/statement/batch-ids.ts'
import { documentDigest } from '../../../src/proof/statement/document.ts'
import { NOTARIZED } from '../../../src/records/write/new-record.ts'
import { nativeProviders } from '../../../src/signing/native.ts'
import type { TestApp } from '../../helpers/app.ts'
import { testDatabase } from '../../helpers/connect.ts'
import { makeRecord, type TestLedger } from '../../helpers/test-ledger.ts'

/** Appends as an attacker who has stolen the API's login and the master key. */
export function appendAsApi(app: TestApp, entries: readonly EntryRow[]): Promise<AppendAnswer[]> {
  return withClient(testDatabase(app.database.apiUrl), (client) => appendEntries(client, entries))
}

/** Returns the ids of a real ledger in the form that the helpers of database tests need. */
export async function asTestLedger(app: TestApp, ledger: NewLedger = app.ledger): Promise<TestLedger> {
  return {
    id: parseId('led', ledger.ledger.id),
    agentId: parseId('agt', ledger.agent.id),
    keyId: parseId('key', ledger.key.id),
    kid: Buffer.from((await app.deps.signers.load()).kid),
  }
}

/** Signs a record of `ledger` as a server does. */
export async function signRecord(app: TestApp, ledger: NewLedger = app.ledger): Promise<EntryRow> {
  const recordId = ownRecordId(app.deps.entropy.uuidv7(Date.now()))
  const payload = '{"signed":true}'
  const salt = app.deps.entropy.bytes16().slice()
  const digest = documentDigest(nativeProviders.sha256, salt, utf8Encode(payload))
  const { id, agentId, keyId } = await asTestLedger(app, ledger)
  const caller = {
    ledgerId: id,
    ledger: ledger.ledger.id,
    issuer: ledger.ledger.issuer,
    agent: ledger.agent.id,
    agentId,
    key: ledger.key.id,
    keyId,
    authenticatedAtMs: Date.now(),
  } as unknown as Caller
  const said = {
    kind: 'record-notarized',
    event: NOTARIZED,
    subject: {
      id: recordId,
      name: formatId('rec', recordId),
      digest: Buffer.from(digest).toString('hex'),
    },
    predicate: {
      record: formatId('rec', recordId),
      version: 1,
      type: 'generic/1',
    },
    idempotency: null,
    records: [makeRecord(recordId, { digest, salt, payload })],
  } as const
  return sealEntry(await app.deps.signers.load(), caller, said, Date.now()).entry
}
