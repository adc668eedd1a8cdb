import { hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import { PlainChunks } from '../chunks/plain-chunks.ts'
import type { Db } from '../connect/client.ts'
import { Coalescer } from '../connect/coalescer.ts'
import { PACKED_TYPES } from '../connect/packed-bytes.ts'
import {
  LARGE_READS_MAX,
  LARGE_READS_WAITING_MAX,
  LOOKUP_CHUNK_BYTES_MAX,
  PAGE_ROWS_PER_QUERY_MAX,
  SEARCH_QUERIES_MAX,
  SEARCHES_PER_QUERY_MAX,
} from '../limits.ts'
import { LargeReads } from './large-reads.ts'
import { type ChunkKey, readChunks } from './read-chunk-keys.ts'
import { type BatchRow, RECORD_TABLES, type RenderedRow, SHOWN_COLUMNS } from './read-records.ts'

/**
 * How a statement with a given text may be used.
 *
 * - `none`: the statement is not prepared, because its text may never recur.
 * - `prepared`: the statement is prepared, because there are few texts of this kind.
 * - `shared`: the statement is prepared, and one run of the statement may serve several pages.
 */
export type Sharing = 'none' | 'prepared' | 'shared'

type PageRequest = {
  /**
   * SQL text. Each parameter is a list with one value for each page. The column `ix` of a row is the number of the page
   * that the row belongs to, counted from 1.
   */
  readonly text: string
  /**
   * Short text that identifies `text`: equal keys MUST mean equal texts. With a short key the look-up of the prepared
   * statement is cheap, because V8 need not join and hash 4 KB of SQL. Default: `text`.
   */
  readonly key?: string | undefined
  readonly values: readonly unknown[]
  readonly rowsMax: number
  readonly sharing: Sharing
}

/** `next` resolves when the event loop has time for the next piece of work of a page, such as a chunk. */
export type PageSlices = { next(ledgerId: Uuid): Promise<void> }

/** Parts that are shared by all `Searches` of a process that read from the same database server. */
export type SearchParts = {
  readonly largeReads: LargeReads
  readonly slices: PageSlices
  readonly plainChunks: PlainChunks
}

const NEXT_IMMEDIATE: PageSlices = { next: () => setImmediate() }

type Row = pg.QueryResultRow
type Page = Pick<PageRequest, 'values' | 'rowsMax'>
type Text = { readonly text: string; readonly name: string; readonly pages: Coalescer<Page, Row[]> }

/**
 * Runs the statements of searches on a search pool (pools.ts).
 *
 * Pages that are requested while other statements run share one statement. This saves time: for a page of ten records,
 * Postgres needs as long to start the plan as for everything else. Each round trip also costs the server a system call
 * and a wake-up.
 */
export class Searches {
  readonly pool: Db
  readonly plainChunks: PlainChunks
  /** Maps the key of a prepared statement to the statement. There are few texts (search-text.ts). */
  readonly #texts = new Map<string, Text>()

  readonly #chunks: Coalescer<ChunkKey, BatchRow | null>

  readonly #largeReads: LargeReads
  readonly #slices: PageSlices

  constructor(
    pool: Db,
    {
      largeReads = new LargeReads({ atOnceMax: LARGE_READS_MAX, waitingMax: LARGE_READS_WAITING_MAX }),
      slices = NEXT_IMMEDIATE,
      plainChunks = new PlainChunks(),
    }: Partial<SearchParts> = {},
  ) {
    this.pool = pool
    this.#largeReads = largeReads
    this.#slices = slices
    this.plainChunks = plainChunks
    this.#chunks = new Coalescer(
      async (keys) => {
        const found: (BatchRow | null)[] = []
        while (found.length < keys.length)
          found.push(...(await readChunks(pool, keys.slice(found.length), LOOKUP_CHUNK_BYTES_MAX)))
        return found
      },
      { keysMax: SEARCHES_PER_QUERY_MAX, queriesMax: SEARCH_QUERIES_MAX },
    )
  }

  async query<T extends Row>({ text, key = text, values, rowsMax, sharing }: PageRequest): Promise<T[]> {
    if (sharing === 'none') return (await this.#query(text, [{ values, rowsMax }])).rows as T[]
    const known = this.#texts.get(key) ?? this.#prepare(key, text)
    if (sharing === 'shared') return known.pages.find({ values, rowsMax }) as Promise<T[]>
    return (await this.#query(known.text, [{ values, rowsMax }], known.name)).rows as T[]
  }

  /**
   * Reads chunks from the start of the list, until `bytesMax` bytes of content are reached. Always reads at least one
   * chunk. The result has null for a chunk that does not exist. Most pages need a single chunk, and such pages share a
   * statement.
   */
  async readChunks(
    ledgerId: Uuid,
    chunks: readonly Omit<ChunkKey, 'ledgerId'>[],
    bytesMax: number,
  ): Promise<(BatchRow | null)[]> {
    const keys = chunks.map(({ seq, chunk }) => ({ ledgerId, seq, chunk }))
    return keys.length === 1 ? [await this.#chunks.find(keys[0]!)] : readChunks(this.pool, keys, bytesMax)
  }

  /**
   * Returns records with their own entry, in the order of the ids. `pieces`: lists of ids of existing records. One
   * statement reads each list, so that other work of the event loop runs between the lists.
   */
  async readLarge(ledgerId: Uuid, pieces: readonly (readonly Uuid[])[]): Promise<RenderedRow[]> {
    if (pieces.length === 0) return []
    return this.#largeReads.run(ledgerId, async () => {
      const found: RenderedRow[] = []
      for (const recordIds of pieces) {
        await this.#slices.next(ledgerId)
        const { rows } = await this.pool.query<RenderedRow>({
          name: 'read_large_records',
          text: `select w.* from unnest($2::uuid[]) with ordinality k (record_id, ix) cross join lateral (
              select ${SHOWN_COLUMNS} from ${RECORD_TABLES} where r.ledger_id = $1 and r.record_id = k.record_id offset 0
            ) w
            order by k.ix`,
          values: [ledgerId, recordIds],
          types: PACKED_TYPES,
        })
        found.push(...rows)
      }
      return found
    })
  }

  nextSlice(ledgerId: Uuid): Promise<void> {
    return this.#slices.next(ledgerId)
  }

  #prepare(key: string, text: string): Text {
    // The name is a hash of the text, so that different texts get different names.
    const name = `search_${hash('sha256', text, 'hex').slice(0, 16)}`
    const pages = new Coalescer<Page, Row[]>(
      async (requests) => {
        const { rows } = await this.#query(text, requests, name)
        const found: Row[][] = requests.map(() => [])
        for (const row of rows) found[row['ix'] - 1]!.push(row)
        return found
      },
      {
        keysMax: SEARCHES_PER_QUERY_MAX,
        queriesMax: SEARCH_QUERIES_MAX,
        weight: { of: ({ rowsMax }) => rowsMax, max: PAGE_ROWS_PER_QUERY_MAX },
      },
    )
    const made = { text, name, pages }
    this.#texts.set(key, made)
    return made
  }

  #query(text: string, pages: readonly Page[], name?: string): Promise<pg.QueryResult<Row>> {
    const values = pages[0]!.values.map((_, i) => pages.map((page) => page.values[i]))
    return this.pool.query<Row>({ ...(name !== undefined && { name }), text, values, types: PACKED_TYPES })
  }
}
