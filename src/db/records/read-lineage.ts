import type { Uuid } from '../../proof/ids.ts'
import { isOfBatch } from '../../proof/statement/batch-ids.ts'
import type { DocumentName } from '../chain/append-entries.ts'
import { queryEntries } from '../chain/envelopes.ts'
import type { EntryRowRead } from '../chain/read-entries.ts'
import { chunkIdOf, findChunk, recordsOfChunk } from '../chunks/read-chunks.ts'
import type { Db } from '../connect/client.ts'
import { PARENT_DEPTH_MAX } from '../limits.ts'
import { findRecords, type RecordRowRead } from './read-records.ts'

/** Finds the depth of records for one request. Reads each chunk once, and at most `chunksMax` chunks in total. */
export class Depths {
  readonly #pool: Db
  readonly #ledgerId: Uuid
  readonly #chunksMax: number
  /** Maps the id of a chunk's first record to the parent links of the chunk, for each chunk that was read. */
  readonly #chunks = new Map<Uuid, Promise<ReadonlyMap<Uuid, Link>>>()

  constructor(pool: Db, ledgerId: Uuid, chunksMax: number) {
    this.#pool = pool
    this.#ledgerId = ledgerId
    this.#chunksMax = chunksMax
  }

  /**
   * Returns the depth of the record, which is 1 for a record without a parent. Returns null if the record does not
   * exist, or `unknown` if too many chunks would have to be read.
   */
  async find(recordId: Uuid): Promise<number | 'unknown' | null> {
    const upward = await this.listUpward(recordId)
    if (upward === 'unknown') return upward
    return upward.length === 0 ? null : upward.length
  }

  /**
   * Returns the record, followed by its ancestors from its parent upwards. Returns `unknown` if too many chunks would
   * have to be read.
   *
   * Each read follows the parents within one chunk, or through records that are not in batches. The length is limited
   * to the maximum depth, because somebody with write access to the tables could have made a cycle of parents.
   */
  async listUpward(recordId: Uuid): Promise<Uuid[] | 'unknown'> {
    const upward: Uuid[] = []
    let next: Uuid | null = recordId
    while (next !== null && upward.length <= PARENT_DEPTH_MAX) {
      const links: Link[] | 'unknown' = isOfBatch(next)
        ? await this.#listLinksOfChunk(next)
        : await listOwnLinks(this.#pool, this.#ledgerId, next)
      if (links === 'unknown') return links
      upward.push(...links.map((link) => link.recordId))
      next = links.at(-1)?.parentId ?? null
    }
    return upward.slice(0, PARENT_DEPTH_MAX + 1)
  }

  async #listLinksOfChunk(recordId: Uuid): Promise<Link[] | 'unknown'> {
    const chunk = chunkIdOf(recordId)
    if (!this.#chunks.has(chunk) && this.#chunks.size === this.#chunksMax) return 'unknown'
    const read = this.#chunks.get(chunk) ?? readLinks(this.#pool, this.#ledgerId, recordId)
    this.#chunks.set(chunk, read)
    const known = await read
    const links: Link[] = []
    for (let at = known.get(recordId); at && links.length <= PARENT_DEPTH_MAX; at = known.get(at.parentId!)) {
      links.push(at)
      if (at.parentId === null) break
    }
    return links
  }
}

type Link = { recordId: Uuid; parentId: Uuid | null }

/**
 * Returns a map from record ids to parent links, for all records of the chunk that would contain `recordId`. The map is
 * empty if the chunk does not exist.
 */
async function readLinks(pool: Db, ledgerId: Uuid, recordId: Uuid): Promise<Map<Uuid, Link>> {
  const row = await findChunk(pool, ledgerId, recordId)
  const links = row === null ? [] : await recordsOfChunk(pool, row)
  return new Map(links.map(({ recordId: id, parentId }) => [id, { recordId: id, parentId }]))
}

/** Returns the record's ancestors, beginning with its parent. */
export async function listAncestors(pool: Db, ledgerId: Uuid, recordId: Uuid): Promise<RecordRowRead[]> {
  const upward = await new Depths(pool, ledgerId, PARENT_DEPTH_MAX + 1).listUpward(recordId)
  const ids = upward === 'unknown' ? [] : upward.slice(1)
  const found = await findRecords(
    pool,
    ids.map((id) => ({ ledgerId, recordId: id })),
  )
  return found.filter((record) => record !== null)
}

async function listOwnLinks(pool: Db, ledgerId: Uuid, recordId: Uuid): Promise<Link[]> {
  const { rows } = await pool.query<Link>({
    name: 'list_upward',
    text: `with recursive upward (record_id, parent_id, depth) as (
        select r.record_id, r.parent_id, 1 from tallystick.records r where r.ledger_id = $1 and r.record_id = $2
        union all
        select p.record_id, p.parent_id, u.depth + 1 from upward u
        cross join lateral (
          select r.record_id, r.parent_id from tallystick.records r
          where r.ledger_id = $1 and r.record_id = u.parent_id offset 0
        ) p
        where u.depth <= ${PARENT_DEPTH_MAX}
      )
      select record_id, parent_id from upward order by depth`,
    values: [ledgerId, recordId],
  })
  return rows
}

/** One of the record's own entries, with the document whose digest the entry contains. The payload is not read. */
export type RecordStepRow = Omit<EntryRowRead, 'signer'> & {
  readonly signedBy: 'agent' | 'server'
  readonly version: number
  readonly document: DocumentName | null
  readonly subjectId: Uuid | null
  readonly digest: Buffer | null
  /** Salt of the document. null as soon as the entry at `erasedSeq` erases the document. */
  readonly salt: Buffer | null
  readonly content: Buffer | null
  readonly erasedSeq: number | null
}

/**
 * Lists at most `limit` entries of the record, oldest first. Begins after `afterVersion`.
 *
 * Envelopes and documents take at most `bytesMax` bytes, but at least one entry is returned. Uses the index
 * entries_by_record. Postgres knows the lengths without reading values that are stored out of line.
 */
export async function listEntriesOfRecord(
  pool: Db,
  ledgerId: Uuid,
  recordId: Uuid,
  page: { afterVersion: number; limit: number; bytesMax: number },
): Promise<RecordStepRow[]> {
  return queryEntries<RecordStepRow>(pool, ledgerId, {
    name: 'list_entries_of_record',
    text: `with place as (
        select r.first_seq as seq, 1 as version from tallystick.records r
        where r.ledger_id = $1 and r.record_id = $2 and $3 < 1
        union all
        select c.seq, 1 from tallystick.batch_chunks c where c.ledger_id = $1 and c.first_record_id = $6 and $3 < 1
        union all (
          select s.seq, s.version from tallystick.entries s
          where s.ledger_id = $1 and s.subject_id = $2 and s.version > 1 and s.version > $3
          order by s.version limit $4
        )
      ), sized as (
        select p.version, e.seq, e.kind, e.recorded_at, e.leaf, e.chain, e.envelope, e.signer_kid,
          d.document, d.subject_id, d.digest, d.salt, d.content,
          sum(coalesce(length(e.envelope), 0) + coalesce(length(d.content), 0)) over w as bytes, row_number() over w as nth
        from place p
        cross join lateral (
          select * from tallystick.entries e where e.ledger_id = $1 and e.seq = p.seq offset 0
        ) e
        left join lateral (
          select * from tallystick.documents d where d.ledger_id = $1 and d.seq = p.seq offset 0
        ) d on true
        window w as (order by p.version)
      )
      select case when z.signer_kid is null then 'server' else 'agent' end as signed_by, z.version, z.seq, z.kind, z.recorded_at, z.leaf, z.chain, z.envelope, z.document, z.subject_id, z.digest,
        case when x.seq is null then z.salt end as salt, case when x.seq is null then z.content end as content,
        x.seq as erased_seq
      from sized z
      left join lateral (
        select x.seq from tallystick.erasures x
        where x.ledger_id = $1 and x.subject_id = z.subject_id and x.document = z.document and x.document_seq = z.seq
        offset 0
      ) x on true
      where z.nth <= $4 and (z.bytes <= $5 or z.nth = 1)
      order by z.version`,
    values: [
      ledgerId,
      recordId,
      page.afterVersion,
      page.limit,
      page.bytesMax,
      isOfBatch(recordId) ? chunkIdOf(recordId) : null,
    ],
  })
}
