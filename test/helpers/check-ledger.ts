import assert from 'node:assert/strict'
import type pg from 'pg'
import type { Uuid } from '../../src/proof/ids.ts'
import { genesisOf, leafOf, linkOf } from './test-ledger.ts'

/*
 * Verifies a whole ledger from the stored rows. Tests call it after nearly every step, especially after failed steps.
 * It needs a login that may read idempotency keys: the owner's or a superuser's.
 */

/** Throws if rows of the ledger contradict each other. Returns the ledger's size. */
export async function checkLedger(db: pg.Pool | pg.ClientBase, ledgerId: Uuid): Promise<number> {
  const id = ledgerId
  const size = await checkChain(db, ledgerId)
  for (const [wrong, sql] of Object.entries(NOTHING_SHOULD)) {
    const { rows } = await db.query(sql, [id])
    assert.deepEqual(rows, [], `ledger ${id}: ${wrong}`)
  }
  return size
}

export async function checkAllLedgers(db: pg.Pool | pg.ClientBase): Promise<number> {
  const { rows } = await db.query<{ id: Uuid }>(
    `select ledger_id as id from (
       select ledger_id from tallystick.chain_heads union select ledger_id from tallystick.entries
       union select ledger_id from tallystick.records union select ledger_id from tallystick.idempotency_keys
       union select ledger_id from tallystick.ledgers) l`,
  )
  for (const row of rows) await checkLedger(db, row.id)
  return rows.length
}

async function checkChain(db: pg.Pool | pg.ClientBase, ledgerId: Uuid): Promise<number> {
  const id = ledgerId
  // One query reads everything in one snapshot, because the ledger may be growing.
  const { rows } = await db.query<{
    seq: number
    leaf: Buffer
    chain: Buffer
    envelope: Buffer
    headSize: number
    headChain: Buffer
  }>(
    `select e.seq::int4, e.leaf, e.chain, e.envelope, h.size::int4 as "headSize", h.chain as "headChain"
     from tallystick.chain_heads h left join tallystick.entries e on e.ledger_id = h.ledger_id
     where h.ledger_id = $1 order by e.seq`,
    [id],
  )
  let chain: Buffer = genesisOf(ledgerId)
  for (const [seq, row] of rows.entries()) {
    assert.equal(row.seq, seq, `ledger ${id} has a gap at ${seq}`)
    assert.deepEqual(row.leaf, leafOf(row.envelope), `ledger ${id}: leaf of entry ${seq}`)
    chain = linkOf(chain, row.leaf)
    assert.deepEqual(row.chain, chain, `ledger ${id}: chain of entry ${seq}`)
  }
  assert.notEqual(rows.length, 0, `ledger ${id} has no head, or an empty one`)
  assert.equal(rows[0]!.headSize, rows.length, `ledger ${id}: size of the head`)
  assert.deepEqual(rows[0]!.headChain, chain, `ledger ${id}: chain of the head`)
  return rows.length
}

const NOTHING_SHOULD = {
  'an entry is not the one that its ledger begins with': `
    select seq, kind from tallystick.entries
    where ledger_id = $1 and (seq = 0) <> (kind = 'ledger-created')`,
  'a record is not explained by its first entry': `
    select r.record_id, r.first_seq, e.kind
    from tallystick.records r
    left join tallystick.entries e on e.ledger_id = r.ledger_id and e.seq = r.first_seq
    where r.ledger_id = $1 and (e.version is distinct from 1 or e.prev_seq is not null
      or e.actor_id is distinct from r.actor_id or e.subject_id is distinct from r.record_id)`,
  'a gated record is not as it was created, or a record that was created is not gated': `
    select e.seq, g.record_id from (select * from tallystick.entries where ledger_id = $1) e
    full join (select * from tallystick.gated_records where ledger_id = $1) g on g.first_seq = e.seq
    left join tallystick.records r on r.ledger_id = $1 and r.record_id = g.record_id and r.first_seq = g.first_seq
    where (e.kind = 'record-created' or g.first_seq is not null)
      and (e.kind is distinct from 'record-created' or g.record_id is distinct from e.subject_id
        or g.principal_id is distinct from coalesce(r.on_behalf_of, r.actor_id))`,
  "a gated record's last entry is not its last, or does not lead to its state": `
    select g.record_id, g.version, g.last_seq
    from tallystick.gated_records g
    left join tallystick.entries e on e.ledger_id = g.ledger_id and e.seq = g.last_seq
    where g.ledger_id = $1 and (g.version <> coalesce(e.version, 0) or e.subject_id is distinct from g.record_id
      or (g.last_seq = g.first_seq) <> (g.version = 1)
      or not exists (select from tallystick.record_transitions t where t.kind = e.kind and t.to_state = g.state))`,
  "a record's steps do not lead back to its first entry, or its revisions are not those that were asked for": `
    with recursive step as (
      select record_id, first_seq, version, last_seq as seq from tallystick.gated_records where ledger_id = $1
      union all
      select s.record_id, s.first_seq, s.version - 1, e.prev_seq
      from step s join tallystick.entries e on e.ledger_id = $1 and e.seq = s.seq and e.version = s.version
      where s.version > 1
    )
    select record_id from step s join tallystick.entries e on e.ledger_id = $1 and e.seq = s.seq
    group by record_id
    having count(*) <> max(s.version) or min(s.version) <> 1 or min(s.seq) <> min(first_seq)
      or count(*) filter (where e.kind = 'revision-requested') <> (
        select revisions from tallystick.gated_records g where g.ledger_id = $1 and g.record_id = s.record_id)`,
  'a step is of no gated record, or was passed over': `
    select e.seq, e.version from tallystick.entries e
    left join tallystick.gated_records g on g.ledger_id = e.ledger_id and g.record_id = e.subject_id
    where e.ledger_id = $1 and e.version > 1 and (g.version is null or g.version < e.version
      or exists (select from tallystick.entries twin where twin.ledger_id = $1 and twin.version > 1
        and twin.version = e.version and twin.subject_id = e.subject_id and twin.seq <> e.seq))`,
  'a step lacks its document, or a document its step': `
    select e.seq, e.kind, d.document
    from (select * from tallystick.entries where ledger_id = $1) e
    full join (select * from tallystick.documents where ledger_id = $1) d on d.seq = e.seq
    where case
      when e.kind = 'completion-submitted' then d.document is distinct from 'evidence'
      when e.kind = 'completion-verified' then d.document is distinct from 'values'
      else d.document is not null and (d.document <> 'reason' or d.subject_id is distinct from e.subject_id
        or e.version is null or e.version = 1) end`,
  'an entry lacks records, or has too many': `
    select e.seq, e.kind, r.count
    from tallystick.entries e
    cross join lateral (
      select count(*) from tallystick.records r where r.ledger_id = e.ledger_id and r.first_seq = e.seq
    ) r
    cross join lateral (
      select count(*) as chunks, coalesce(sum(c.count), 0) as count
      from tallystick.batch_chunks c where c.ledger_id = e.ledger_id and c.seq = e.seq
    ) b
    where e.ledger_id = $1 and case
      when e.kind = 'batch-notarized' then r.count <> 0 or b.count <> e.item_count or b.chunks <> (b.count + 63) / 64
      when e.version = 1 then r.count <> 1 or b.count <> 0
      else r.count <> 0 or b.count <> 0 end`,
  'a chunk has no key of its actor, or a key no chunk': `
    select coalesce(c.seq, k.seq) from (select * from tallystick.batch_chunks where ledger_id = $1) c
    full join (
      select seq, chunk, count(*) filter (where get_byte(key, 0) = ascii('A')) as actors
      from tallystick.batch_keys where ledger_id = $1 group by seq, chunk
    ) k using (seq, chunk)
    where c.seq is null or k.actors is distinct from 1`,
  'an idempotency key names an entry that is not its actor’s': `
    select k.seq from tallystick.idempotency_keys k
    left join tallystick.entries e on e.ledger_id = k.ledger_id and e.seq = k.seq
    where k.ledger_id = $1 and e.actor_id is distinct from k.actor_id`,
  'an administrative entry has no row': `
    select e.seq, e.kind from tallystick.entries e
    where e.ledger_id = $1 and (
      (e.kind = 'ledger-created' and not exists (
        select from tallystick.ledgers l where l.ledger_id = e.ledger_id and l.ledger_id = e.subject_id))
      or (e.kind = 'agent-registered' and not exists (
        select from tallystick.agents a
        where a.ledger_id = e.ledger_id and a.agent_id = e.subject_id and a.registered_seq = e.seq))
      or (e.kind = 'key-created' and not exists (
        select from tallystick.api_keys k
        where k.ledger_id = e.ledger_id and k.key_id = e.subject_id and k.created_seq = e.seq))
      or (e.kind = 'payload-erased' and not exists (
        select from tallystick.erasures x
        where x.ledger_id = e.ledger_id and x.subject_id = e.subject_id and x.seq = e.seq)))`,
  'a payload is gone that no erasure took away, or not all that lay with it': `
    select r.record_id, r.payload_erased_seq from tallystick.records r
    left join tallystick.erasures x on x.ledger_id = r.ledger_id and x.subject_id = r.record_id and x.document = 'payload'
      and x.document_seq = r.first_seq
    left join tallystick.idempotency_keys k on k.ledger_id = r.ledger_id and k.seq = r.first_seq
    where r.ledger_id = $1 and (r.payload is null or r.payload_erased_seq is not null) and (
      x.seq is distinct from r.payload_erased_seq or x.erased_at is null
      or num_nonnulls(r.payload, r.salt, r.metadata, r.reference_list, k.salt, k.fingerprint) > 0)`,
  'a chunk lacks a payload that no erasure took away, or not all that lay with it': `
    select c.seq, c.chunk from tallystick.batch_chunks c
    left join tallystick.erasures x on x.ledger_id = c.ledger_id and x.seq = c.erased_seq
    left join tallystick.idempotency_keys k on k.ledger_id = c.ledger_id and k.seq = c.seq
    where c.ledger_id = $1 and c.erased_seq is not null and (
      x.document is distinct from 'payload' or x.document_seq is distinct from c.seq or x.erased_at is null
      or num_nonnulls(k.salt, k.fingerprint) > 0)`,
  'a step’s document is gone that no erasure took away, or not all that lay with it': `
    select d.seq, d.erased_seq from tallystick.documents d
    left join tallystick.erasures x on x.ledger_id = d.ledger_id and x.subject_id = d.subject_id
      and x.document = d.document and x.document_seq = d.seq
    left join tallystick.idempotency_keys k on k.ledger_id = d.ledger_id and k.seq = d.seq
    where d.ledger_id = $1 and d.erased_seq is not null and (
      x.seq is distinct from d.erased_seq or x.erased_at is null
      or num_nonnulls(d.content, d.salt, k.salt, k.fingerprint) > 0)`,
}
