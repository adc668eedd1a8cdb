import { hash } from 'node:crypto'
import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'
import { Coalescer } from '../connect/coalescer.ts'
import {
  LOOKUP_CHUNK_BYTES_MAX,
  PAGE_ROWS_PER_QUERY_MAX,
  SEARCH_QUERIES_MAX,
  SEARCHES_PER_QUERY_MAX,
} from '../limits.ts'
import { type ChunkKey, readChunks } from './read-chunk-keys.ts'
import type { BatchRow } from './read-records.ts'

/**
 * How a statement text is used.
 *
 * - `none`: the text may never recur, so it is not prepared.
 * - `prepared`: the text is one of few, so it is prepared.
 * - `shared`: the text is prepared, and one statement may serve several pages.
 */
export type Sharing = 'none' | 'prepared' | 'shared'

type PageRequest = {
  /**
   * SQL whose parameters are lists with one value for each page. Column `ix` of a row is the number of the row's
   * page, from 1.
   */
  readonly text: string
  readonly values: readonly unknown[]
  readonly rowsMax: number
  readonly sharing: Sharing
}

type Row = pg.QueryResultRow
type Page = Pick<PageRequest, 'values' | 'rowsMax'>
type Text = { readonly name: string; readonly pages: Coalescer<Page, Row[]> }

/**
 * Runs statements of searches on a search pool (pools.ts).
 *
 * Pages share a statement if they are requested while other statements are running. This saves time, because starting
 * the plan of a ten-record page takes Postgres as long as the rest, and each round trip costs the server a system
 * call and a wake-up.
 */
export class Searches {
  readonly pool: Db
  /** Prepared statements by text. There are few texts (search-text.ts). */
  readonly #texts = new Map<string, Text>()

  readonly #chunks: Coalescer<ChunkKey, BatchRow | null>

  constructor(pool: Db) {
    this.pool = pool
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

  async query<T extends Row>({ text, values, rowsMax, sharing }: PageRequest): Promise<T[]> {
    if (sharing === 'none') return (await this.#query(text, [{ values, rowsMax }])).rows as T[]
    const known = this.#texts.get(text) ?? this.#prepare(text)
    if (sharing === 'shared') return known.pages.find({ values, rowsMax }) as Promise<T[]>
    return (await this.#query(text, [{ values, rowsMax }], known.name)).rows as T[]
  }

  /**
   * Reads the first of the chunks, up to `bytesMax` bytes of content but at least one chunk; null: the chunk does not
   * exist. Most pages need a single chunk, and these pages share a statement.
   */
  async readChunks(
    ledgerId: Uuid,
    chunks: readonly Omit<ChunkKey, 'ledgerId'>[],
    bytesMax: number,
  ): Promise<(BatchRow | null)[]> {
    const keys = chunks.map(({ seq, chunk }) => ({ ledgerId, seq, chunk }))
    return keys.length === 1 ? [await this.#chunks.find(keys[0]!)] : readChunks(this.pool, keys, bytesMax)
  }

  #prepare(text: string): Text {
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
    const made = { name, pages }
    this.#texts.set(text, made)
    return made
  }

  #query(text: string, pages: readonly Page[], name?: string): Promise<pg.QueryResult<Row>> {
    const values = pages[0]!.values.map((_, i) => pages.map((page) => page.values[i]))
    return this.pool.query<Row>({ ...(name !== undefined && { name }), text, values })
  }
}
