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

/** `none`: a text that may never come again. `prepared`: one of few. `shared`: several pages of it may be asked for at once. */
export type Sharing = 'none' | 'prepared' | 'shared'

type Asked = {
  /** SQL, whose parameters are lists: one value for each page. Its rows say of which page they are: `ix`, from 1 on. */
  readonly text: string
  readonly values: readonly unknown[]
  /** Rows that the page has at most. */
  readonly rowsMax: number
  readonly sharing: Sharing
}

type Row = pg.QueryResultRow
type Page = Pick<Asked, 'values' | 'rowsMax'>
type Text = { readonly name: string; readonly pages: Coalescer<Page, Row[]> }

/**
 * Statements of searches, on a search pool (pools.ts). Pages that are asked for while others are under way share one: starting the
 * plan of a page of ten takes Postgres as long as the rest of it, and each round trip costs the server a system call and a wake-up.
 */
export class Searches {
  readonly pool: Db
  /** By text. There are few: each has its place in the code (search-text.ts). */
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

  /** Rows of one page. */
  async ask<T extends Row>({ text, values, rowsMax, sharing }: Asked): Promise<T[]> {
    if (sharing === 'none') return (await this.#query(text, [{ values, rowsMax }])).rows as T[]
    const known = this.#texts.get(text) ?? this.#prepare(text)
    if (sharing === 'shared') return known.pages.find({ values, rowsMax }) as Promise<T[]>
    return (await this.#query(text, [{ values, rowsMax }], known.name)).rows as T[]
  }

  /**
   * The first of the chunks, as many as `bytesMax` bytes of content hold and one at least; null where there is none. A page that needs
   * one shares the statement, as most do.
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
    // A name says its text, so that no two have one.
    const name = `search_${hash('sha256', text, 'hex').slice(0, 16)}`
    const pages = new Coalescer<Page, Row[]>(
      async (asked) => {
        const { rows } = await this.#query(text, asked, name)
        const found: Row[][] = asked.map(() => [])
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
