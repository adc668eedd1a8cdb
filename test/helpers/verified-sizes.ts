import type { Uuid } from '../../src/proof/ids.ts'
import type { TestApp } from './app.ts'

/**
 * Raises the verified size of all ledgers to their current size, as if the audit follower had verified all entries. A
 * test can then change an entry that counts as verified.
 */
export async function raiseVerifiedSizes(app: Pick<TestApp, 'sql' | 'deps'>): Promise<void> {
  const heads = await app.sql<{ ledger_id: Uuid; size: string; chain: Buffer; envelope_kid: Buffer }>(
    'select ledger_id, size, chain, envelope_kid from tallystick.chain_heads where size > 0',
  )
  const macs = heads.map(({ ledger_id, size, chain, envelope_kid }) =>
    app.deps.cursorMac.of({
      ledgerId: ledger_id,
      nextSeq: Number(size),
      chain,
      envelopeKid: envelope_kid,
      agentKeys: null,
    }),
  )
  await app.sql(
    `insert into tallystick.audit_cursors (ledger_id, next_seq, chain, envelope_kid, mac)
     select * from unnest($1::uuid[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[])
     on conflict (ledger_id) do update
     set next_seq = excluded.next_seq, chain = excluded.chain, envelope_kid = excluded.envelope_kid, mac = excluded.mac
     where audit_cursors.mac <> excluded.mac`,
    [
      heads.map((head) => head.ledger_id),
      heads.map((head) => head.size),
      heads.map((head) => head.chain),
      heads.map((head) => head.envelope_kid),
      macs,
    ],
  )
}
