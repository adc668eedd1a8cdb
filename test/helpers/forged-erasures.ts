import assert from 'node:assert/strict'
import { sealEntry } from '../../src/append/entry.ts'
import { appendEntries, type EntryRow } from '../../src/db/chain/append-entries.ts'
import type { NewLedger } from '../../src/ledgers/create-ledger.ts'
import type { Signer } from '../../src/proof/crypto.ts'
import { parseId, type Uuid } from '../../src/proof/ids.ts'
import type { DocumentKind } from '../../src/proof/statement/document-subjects.ts'
import type { TestApp } from './app.ts'
import { leafOf } from './test-ledger.ts'

/** A row of `erasures`, and the statement that the entry of the erasure signs. The row and the statement may differ. */
export type SaidErasure = {
  readonly row: {
    readonly document: DocumentKind
    readonly subjectId: Uuid
    readonly documentSeq: number
  }
  readonly signed: { readonly subject: string; readonly digest: string; readonly seq: number }
  readonly author?: NewLedger
}

/** Seals an erasure as the route does, with the given row and statement. */
export function signErasure(app: TestApp, signer: Signer, { row, signed, author }: SaidErasure): EntryRow {
  const { ledger, agent, key } = author ?? app.ledger
  const { entry } = sealEntry(
    signer,
    {
      ledger: ledger.id,
      ledgerId: parseId('led', app.ledger.ledger.id),
      issuer: ledger.issuer,
      envelopeKid: '',
      agent: agent.id,
      agentId: parseId('agt', agent.id),
      key: key.id,
      keyId: parseId('key', key.id),
      authenticatedAtMs: Date.now(),
    },
    {
      kind: 'payload-erased',
      subject: { id: row.subjectId, name: signed.subject, digest: signed.digest },
      predicate: { seq: signed.seq, code: 'expired' },
      detail: {
        document: row.document,
        documentSeq: row.documentSeq,
        reason: null,
        recordId: row.subjectId,
        type: null,
        agents: [],
        rule: null,
      },
    },
    Date.now(),
  )
  return entry
}

export function withEnvelope(entry: EntryRow, envelope: Buffer): EntryRow {
  return { ...entry, envelope, leaf: leafOf(envelope) }
}

/** Appends with the API's login, which may append any entry. Returns the seq. */
export async function appendAsApi(app: TestApp, entry: EntryRow): Promise<number> {
  const client = await app.deps.writePool.connect()
  try {
    const [answer] = await appendEntries(client, [entry])
    assert.equal(answer?.outcome, 'appended')
    return answer.seq
  } finally {
    client.release()
  }
}

export async function envelopeAt(app: TestApp, seq: number): Promise<Buffer> {
  const [line] = await app.entries(`?after=${seq - 1}&limit=1`)
  return Buffer.from(line.envelope, 'base64')
}
