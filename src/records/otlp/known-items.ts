import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { Turn } from '../../append/turn.ts'
import { decodeChunk } from '../../db/chunks/chunk-content.ts'
import { keysOfChunk } from '../../db/chunks/chunk-keys.ts'
import { findChunksOfKeys } from '../../db/chunks/find-chunks-of-keys.ts'
import { fillReleased } from '../../db/chunks/released-chunks.ts'
import { LOOKUP_CHUNK_BYTES_MAX } from '../../db/limits.ts'
import { readChunks } from '../../db/records/read-chunk-keys.ts'
import { ApiError } from '../../errors.ts'
import type { Uuid } from '../../proof/ids.ts'
import { toHex } from '../../signing/text-of-bytes.ts'
import { identityOf } from './identity.ts'
import {
  OTLP_CHUNKS_PER_QUERY,
  OTLP_KNOWN_GROUPS_MAX,
  OTLP_KNOWN_GROUPS_OF_LEDGER_MAX,
  OTLP_KNOWN_ITEMS_MAX,
  OTLP_KNOWN_ITEMS_OF_GROUP_MAX,
  OTLP_KNOWN_ITEMS_OF_LEDGER_MAX,
  OTLP_LOOKS_MAX,
  OTLP_WAIT_MS_MAX,
  OTLP_WAITING_MAX,
} from './limits.ts'

/** Identities, by the group that they are of. */
export type Grouped = ReadonlyMap<string, readonly string[]>

/** An agent of a ledger: one does not keep another's spans out. */
type Sender = { readonly ledgerId: Uuid; readonly agentId: Uuid }

/** Part of the memory that a ledger has. */
type Share = {
  /** The one that was asked for last is the last. */
  readonly groups: Map<string, Group>
  items: number
}

type Group = {
  readonly share: Share
  /** Somebody may still hold it, and add to it: that does not count. */
  isForgotten: boolean
  /** Everything before this seq is in `items`. */
  size: number
  readonly items: Set<string>
  /** Entries behind it that this process has made, and whose items are there. */
  readonly own: Set<number>
}

/**
 * Spans and logs that ledgers have (docs/decisions/0030-a-span-is-one-record.md). Nothing is stored for it: a trace is a key of
 * batch_keys already, and leads to the chunks that have spans of it. A process remembers them, and reads only those that came since.
 */
export class KnownItems {
  readonly #pool: pg.Pool
  /** The one that was asked last is the last. */
  readonly #shares = new Map<Uuid, Share>()
  #items = 0
  #groups = 0
  readonly #held = new Map<string, Promise<void>>()
  readonly #waiting = new Map<Uuid, number>()

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  /**
   * Does `work` while no other request of this process adds to these groups: two that came at once would both find nothing.
   * append_entries finds those that other servers add meanwhile. Throws `overloaded`.
   */
  async holding<Result>(
    { ledgerId, agentId }: Sender,
    groups: Iterable<string>,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const names = Array.from(groups, (group) => `${ledgerId} ${agentId} ${group}`)
    const deadlineMs = performance.now() + OTLP_WAIT_MS_MAX
    // Nothing may happen between the last look and taking them.
    for (let held = this.#heldOf(names); held; held = this.#heldOf(names))
      await this.#waitFor(ledgerId, held, deadlineMs)
    const { promise, resolve } = Promise.withResolvers<void>()
    for (const name of names) this.#held.set(name, promise)
    try {
      return await work()
    } finally {
      for (const name of names) this.#held.delete(name)
      resolve()
    }
  }

  /** All of `sent` that the ledger has from this agent, and how large the ledger was then. */
  async find(sender: Sender, sent: Grouped): Promise<{ readonly size: number; readonly repeated: Grouped }> {
    const groups = new Map(Array.from(sent.keys(), (name) => [name, this.#groupOf(sender, name)]))
    try {
      const size = await this.#catchUp(sender, groups)
      const repeated = new Map<string, string[]>()
      for (const [name, identities] of sent) {
        const { items } = groups.get(name)!
        const known = items.size === 0 ? [] : identities.filter((one) => items.has(one))
        if (known.length > 0) repeated.set(name, known)
      }
      return { size, repeated }
    } finally {
      this.#forgetOldest(sender)
    }
  }

  /** Remembers a batch that was written. */
  note(sender: Sender, written: Grouped, seq: number): void {
    for (const [name, identities] of written) {
      const group = this.#groupOf(sender, name)
      group.own.add(seq)
      for (const identity of identities) this.#add(group, identity)
    }
    this.#forgetOldest(sender)
  }

  /** Items and groups that are remembered. */
  get figures(): { readonly items: number; readonly groups: number } {
    return { items: this.#items, groups: this.#groups }
  }

  #groupOf({ ledgerId, agentId }: Sender, name: string): Group {
    const key = `${agentId} ${name}`
    const share = this.#shares.get(ledgerId) ?? { groups: new Map(), items: 0 }
    this.#shares.delete(ledgerId)
    this.#shares.set(ledgerId, share)
    const known = share.groups.get(key)
    const group = known ?? { share, isForgotten: false, size: 0, items: new Set(), own: new Set() }
    share.groups.delete(key)
    share.groups.set(key, group)
    if (!known) this.#groups++
    return group
  }

  #add(group: Group, identity: string): void {
    const { items } = group
    if (items.has(identity)) return
    items.add(identity)
    if (items.size > OTLP_KNOWN_ITEMS_OF_GROUP_MAX) items.delete(items.keys().next().value!)
    else this.#count(group, 1)
  }

  #count({ isForgotten, share }: Group, items: number): void {
    if (isForgotten) return
    share.items += items
    this.#items += items
  }

  /** Reads what came since the groups were looked at, and returns the ledger's size then. Throws `overloaded`: not all of it. */
  async #catchUp(sender: Sender, groups: ReadonlyMap<string, Group>): Promise<number> {
    const asked = [...groups]
    for (let looks = 0; looks < OTLP_LOOKS_MAX; looks++) {
      const keys = asked.map(([name, { size }]) => ({ key: Buffer.from(name, 'hex'), since: size }))
      const { size, places, upTo } = await findChunksOfKeys(this.#pool, sender, keys)
      const unread = places.filter(({ index, seq }) => !asked[index]![1].own.has(seq))
      await this.#read(sender, groups, unread)
      for (const [, group] of asked) {
        group.size = Math.max(group.size, upTo)
        for (const seq of group.own) if (seq < group.size) group.own.delete(seq)
      }
      if (upTo === size) return size
    }
    throw tooMuch()
  }

  async #read(
    { ledgerId, agentId }: Sender,
    groups: ReadonlyMap<string, Group>,
    places: readonly { readonly seq: number; readonly chunk: number }[],
  ): Promise<void> {
    const distinct = [...new Map(places.map((place) => [`${place.seq} ${place.chunk}`, place])).values()]
    const turn = new Turn()
    for (let read = 0; read < distinct.length; ) {
      const keys = distinct
        .slice(read, read + OTLP_CHUNKS_PER_QUERY)
        .map(({ seq, chunk }) => ({ ledgerId, seq, chunk }))
      const chunks = await readChunks(this.#pool, keys, LOOKUP_CHUNK_BYTES_MAX)
      read += chunks.length
      for (const row of chunks) {
        if (row === null) continue
        await fillReleased(this.#pool, [row])
        for (const record of decodeChunk(row.content, row.count)) {
          const identity = identityOf(record)
          if (identity === null) continue
          for (const key of keysOfChunk(agentId, [record])) {
            const group = groups.get(toHex(key))
            if (group) this.#add(group, identity)
          }
        }
        if (turn.isOver) await turn.next()
      }
    }
  }

  async #waitFor(ledgerId: Uuid, held: Promise<void>, deadlineMs: number): Promise<void> {
    const waiting = this.#waiting.get(ledgerId) ?? 0
    const leftMs = deadlineMs - performance.now()
    if (waiting >= OTLP_WAITING_MAX || leftMs <= 0) throw tooMany()
    this.#waiting.set(ledgerId, waiting + 1)
    const end = new AbortController()
    await Promise.race([held, sleep(leftMs, null, { signal: end.signal }).catch(() => {})])
    end.abort()
    const others = this.#waiting.get(ledgerId)! - 1
    if (others === 0) this.#waiting.delete(ledgerId)
    else this.#waiting.set(ledgerId, others)
  }

  #heldOf(names: readonly string[]): Promise<void> | undefined {
    for (const name of names) {
      const held = this.#held.get(name)
      if (held) return held
    }
    return undefined
  }

  #forgetOldest({ ledgerId }: Sender): void {
    const own = this.#shares.get(ledgerId)
    while (own && exceeds(own)) this.#forgetGroup(own)
    for (const [ledger, share] of this.#shares) {
      while (this.#exceeds && this.#forgetGroup(share));
      if (share.groups.size > 0) return
      this.#shares.delete(ledger)
    }
  }

  get #exceeds(): boolean {
    return this.#items > OTLP_KNOWN_ITEMS_MAX || this.#groups > OTLP_KNOWN_GROUPS_MAX
  }

  /** The one that was asked for the longest ago. */
  #forgetGroup(share: Share): boolean {
    for (const [key, group] of share.groups) {
      share.groups.delete(key)
      this.#count(group, -group.items.size)
      group.isForgotten = true
      this.#groups--
      return true
    }
    return false
  }
}

function exceeds({ items, groups }: Share): boolean {
  return items > OTLP_KNOWN_ITEMS_OF_LEDGER_MAX || groups.size > OTLP_KNOWN_GROUPS_OF_LEDGER_MAX
}

function tooMany(): ApiError {
  return later('too many requests about the same traces: nothing was written')
}

function tooMuch(): ApiError {
  return later('these traces have very many spans that are read first: send the request again')
}

function later(message: string): ApiError {
  return new ApiError('overloaded', message, { retryable: true, retryAfterMs: 1_000 })
}
