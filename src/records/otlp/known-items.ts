import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { decodeChunk } from '../../db/chunks/chunk-content.ts'
import { findChunksOfKeys, readSubjectsOfChunks } from '../../db/chunks/find-chunks-of-keys.ts'
import { readContent } from '../../db/chunks/read-chunks.ts'
import { LOOKUP_CHUNK_BYTES_MAX } from '../../db/limits.ts'
import { readChunks } from '../../db/records/read-chunk-keys.ts'
import { ApiError } from '../../errors.ts'
import { Counts } from '../../load/shares.ts'
import { Slice } from '../../load/slice.ts'
import type { Uuid } from '../../proof/ids.ts'
import { erasedIdentity, identityOf } from './identity.ts'
import { type KnownGroup, KnownGroups, type Sender } from './known-groups.ts'
import {
  OTLP_CHUNKS_PER_QUERY,
  OTLP_GROUPS_AT_ONCE_MAX,
  OTLP_READS_MAX,
  OTLP_WAIT_MS_MAX,
  OTLP_WAITING_MAX,
} from './limits.ts'

/** Maps the name of a group to the identities of its items. */
export type Grouped = ReadonlyMap<string, readonly string[]>

/**
 * Finds spans and logs that ledgers already have (docs/decisions/0025-storage-of-batches.md#opentelemetry-spans). No
 * special table is needed: batch_keys already contains the trace, and leads to the chunks with the trace's spans. Each
 * process caches spans that it has read. Later it reads only the spans that were added since.
 */
export class KnownItems {
  readonly #pool: pg.Pool
  readonly #known = new KnownGroups()
  /**
   * Maps ledger and agent to their reserved groups, each with a promise. The promise settles when the request that
   * reserved the group has ended.
   */
  readonly #reserved = new Map<string, Map<string, Promise<void>>>()
  readonly #waiting = new Counts()

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  /**
   * Runs `work` while no other request of this process adds items to the groups `names`. Otherwise two concurrent
   * requests with the same item would both find that the item is new.
   *
   * Some items may still be added meanwhile: by other servers, or to groups beyond the first OTLP_GROUPS_AT_ONCE_MAX,
   * which are not reserved. append_entries detects such items. Throws `overloaded`.
   */
  async whileReserved<Result>(
    { ledgerId, agentId }: Sender,
    names: Iterable<string>,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const groups = firstOf(names, OTLP_GROUPS_AT_ONCE_MAX)
    const sender = `${ledgerId} ${agentId}`
    const deadlineMs = performance.now() + OTLP_WAIT_MS_MAX
    // No await may come between the last check of the loop and the reservation. Otherwise another request could
    // reserve the groups in between.
    for (
      let reserved = this.#reservedOf(sender, groups);
      reserved;
      reserved = this.#reservedOf(sender, groups)
    )
      await this.#waitFor(ledgerId, reserved, deadlineMs)
    const { promise, resolve } = Promise.withResolvers<void>()
    const ofSender = this.#reserved.get(sender) ?? new Map<string, Promise<void>>()
    this.#reserved.set(sender, ofSender)
    for (const name of groups) ofSender.set(name, promise)
    try {
      return await work()
    } finally {
      for (const name of groups) ofSender.delete(name)
      if (ofSender.size === 0) this.#reserved.delete(sender)
      resolve()
    }
  }

  /** Returns whether any group of `sent` is cached. */
  remembers(sender: Sender, sent: Grouped): boolean {
    return this.#known.find(sender, sent.keys()).size > 0
  }

  /**
   * Returns those items of `sent` that the ledger already has from this agent, and the size of the ledger when they
   * were searched. The identity of an erased item is shortened (erasedIdentity).
   */
  async find(sender: Sender, sent: Grouped): Promise<{ readonly size: number; readonly repeated: Grouped }> {
    const groups = this.#known.find(sender, sent.keys())
    try {
      const size = await this.#catchUp(sender, [...sent.keys()], groups)
      const repeated = new Map<string, string[]>()
      for (const [name, group] of groups) {
        const known = sent
          .get(name)!
          .flatMap((one) => [one, erasedIdentity(one)])
          .filter((one) => group.has(one))
        if (known.length > 0) repeated.set(name, known)
      }
      return { size, repeated }
    } finally {
      this.#known.forgetOldest(sender.ledgerId)
    }
  }

  /**
   * Caches the items of a written batch. If the batch has more than OTLP_GROUPS_AT_ONCE_MAX groups, only items of
   * cached groups are added. Most traces of such a batch have ended, so they need no cache. If another trace gets more
   * spans, its earlier spans are read from their chunks.
   */
  note(sender: Sender, written: Grouped, seq: number): void {
    const groups = this.#known.find(sender, written.keys())
    const isWide = written.size > OTLP_GROUPS_AT_ONCE_MAX
    if (isWide && groups.size === 0) return
    for (const [name, identities] of written) {
      const group = groups.get(name) ?? (isWide ? null : this.#known.make(sender, name))
      if (group === null) continue
      group.own.push(seq)
      for (const identity of identities) this.#known.add(group, identity)
    }
    this.#known.forgetOldest(sender.ledgerId)
  }

  get figures(): { readonly items: number; readonly groups: number } {
    return this.#known.figures
  }

  /**
   * Reads the items that were added since the groups were last read. Returns the ledger's size. Throws `overloaded` if
   * OTLP_READS_MAX reads are not enough.
   */
  async #catchUp(sender: Sender, names: readonly string[], groups: Map<string, KnownGroup>): Promise<number> {
    for (let reads = 0; reads < OTLP_READS_MAX; reads++) {
      const keys = names.map((name) => ({ key: name, since: groups.get(name)?.size ?? 0 }))
      const { size, chunks, upTo } = await findChunksOfKeys(this.#pool, sender, keys)
      const isWhole = upTo === size
      // A group without items in the ledger is cached only if another read is needed. The cached group then stores the
      // position at which that read begins.
      for (const name of isWhole ? chunks.map(({ index }) => names[index]!) : names)
        if (!groups.has(name)) groups.set(name, this.#known.make(sender, name))
      const unread = chunks.filter(({ index, seq }) => !groups.get(names[index]!)!.own.includes(seq))
      await this.#read(sender, groups, unread)
      for (const group of groups.values()) {
        group.size = Math.max(group.size, upTo)
        if (group.own.length > 0) group.own = group.own.filter((seq) => seq >= group.size)
      }
      if (isWhole) return size
    }
    throw tooMuch()
  }

  async #read(
    { ledgerId }: Sender,
    groups: ReadonlyMap<string, KnownGroup>,
    found: readonly { readonly seq: number; readonly chunk: number }[],
  ): Promise<void> {
    const distinct = [...new Map(found.map((chunk) => [`${chunk.seq} ${chunk.chunk}`, chunk])).values()]
    const slice = new Slice()
    for (let read = 0; read < distinct.length; ) {
      const keys = distinct
        .slice(read, read + OTLP_CHUNKS_PER_QUERY)
        .map(({ seq, chunk }) => ({ ledgerId, seq, chunk }))
      const chunks = await readChunks(this.#pool, keys, LOOKUP_CHUNK_BYTES_MAX)
      const subjects = await readSubjectsOfChunks(this.#pool, keys.slice(0, chunks.length))
      for (const [i, row] of chunks.entries()) {
        if (row === null) continue
        const content = await readContent(this.#pool, row)
        for (const [index, record] of decodeChunk(content, row.count).entries()) {
          const known = identityOf(record, subjects[i]!.get(index) ?? null)
          if (known === null) continue
          for (const name of known.groups) {
            const group = groups.get(name)
            if (group) this.#known.add(group, known.identity)
          }
        }
        if (slice.isOver) await slice.next()
      }
      read += chunks.length
    }
  }

  async #waitFor(ledgerId: Uuid, reserved: Promise<void>, deadlineMs: number): Promise<void> {
    const leftMs = deadlineMs - performance.now()
    if (this.#waiting.of(ledgerId) >= OTLP_WAITING_MAX || leftMs <= 0) throw tooMany()
    this.#waiting.add(ledgerId, 1)
    const end = new AbortController()
    await Promise.race([reserved, sleep(leftMs, null, { signal: end.signal }).catch(() => {})])
    end.abort()
    this.#waiting.add(ledgerId, -1)
  }

  #reservedOf(sender: string, groups: Iterable<string>): Promise<void> | undefined {
    const reserved = this.#reserved.get(sender)
    if (!reserved) return undefined
    for (const name of groups) {
      const other = reserved.get(name)
      if (other) return other
    }
    return undefined
  }
}

function firstOf(names: Iterable<string>, countMax: number): Set<string> {
  const first = new Set<string>()
  for (const name of names) {
    first.add(name)
    if (first.size === countMax) break
  }
  return first
}

function tooMany(): ApiError {
  return later('too many requests about the same traces: nothing was written')
}

function tooMuch(): ApiError {
  return later('these traces have very many spans, which must be read first: send the request again')
}

function later(message: string): ApiError {
  return new ApiError('overloaded', message, { retryable: true, retryAfterMs: 1_000 })
}
