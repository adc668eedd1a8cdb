import type { Uuid } from '../../proof/ids.ts'
import { CHUNK_RECORDS } from '../chunks/chunk-content.ts'
import { PAGE_PIECE_BYTES, SEARCH_CHUNK_BYTES_MAX, SEARCH_CHUNKS_MAX } from '../limits.ts'
import { type RenderedRow, readBatchRecords } from './read-records.ts'
import { earlierOf, isBeyond, type RecordPosition, type RecordSearch } from './search.ts'
import { type FoundCandidates, findCandidates, type OwnMatch } from './search-candidates.ts'
import { chooseWalks } from './search-choice.ts'
import { type ChunkMatch, matchesOf, positionBefore } from './search-chunks.ts'
import { cutPage, type Page } from './search-page.ts'
import { findSeqRange } from './search-range.ts'
import type { Searches } from './searches.ts'

/**
 * A page of found records. `next`: position up to which the search has read, or null if the search has read to its end.
 * If `next` is not null, there may be more records, even if this page has few or none.
 */
type RecordPage = { readonly rows: readonly RenderedRow[]; readonly next: RecordPosition | null }

/**
 * Returns one page of the records that match all filters, in search order.
 *
 * Records have two sources. Records with their own entry are filtered by Postgres. Chunks of batches are decompressed
 * and filtered here. For each source, a request reads at most SEARCH_CANDIDATES_MAX rows and keys, and it reads at most
 * SEARCH_CHUNKS_MAX chunks. A page that reaches a limit ends there.
 */
export async function searchRecords(
  searches: Searches,
  ledger: Uuid,
  search: RecordSearch,
): Promise<RecordPage> {
  const range = await findSeqRange(searches.pool, ledger, search)
  if (range === null) return NOTHING
  const choice = await chooseWalks(searches, ledger, search, range)
  if (choice.makeStreams === null && choice.walk === null) return NOTHING
  const candidates = await findCandidates(searches, ledger, search, range, choice)
  const { found, next } = await fillPage(searches, ledger, search, candidates)
  return { rows: await readRows(searches, ledger, found), next }
}

const NOTHING: RecordPage = { rows: [], next: null }

type Match = OwnMatch | ChunkMatch

/**
 * Fills the page from both sources. Chunks are read in steps until the page is full. The first step has as many
 * chunks as would fill the page if all records matched, and each further step has four times as many.
 */
async function fillPage(
  searches: Searches,
  ledger: Uuid,
  search: RecordSearch,
  { own, chunks }: FoundCandidates,
): Promise<Page<Match>> {
  const { order, limit, chunksMax = SEARCH_CHUNKS_MAX } = search
  const mayRead = chunks.allMatch ? chunks.found.length : chunksMax
  let atATime = chunks.allMatch ? mayRead : Math.ceil(limit / CHUNK_RECORDS)
  const ofBatches: ChunkMatch[] = []
  for (let read = 0, bytes = 0; ; atATime *= 4) {
    const unread = chunks.found.slice(read)
    const chunksEnd = unread.length > 0 ? positionBefore(unread[0]!, order) : chunks.end
    const page = cutPage<Match>([own.found, ofBatches], earlierOf(own.end, chunksEnd, order), order, limit)
    const isBeyondOwn = chunksEnd !== null && own.end !== null && isBeyond(chunksEnd, own.end, order)
    const isSpent = read >= mayRead || bytes >= SEARCH_CHUNK_BYTES_MAX
    if (page.isFull || unread.length === 0 || isBeyondOwn || isSpent) return page

    const wanted = unread.filter(({ before }) => before < limit).slice(0, Math.min(atATime, mayRead - read))
    if (wanted.length === 0) return page
    const rows = await searches.readChunks(ledger, wanted, SEARCH_CHUNK_BYTES_MAX - bytes)
    for (const row of rows) {
      if (bytes >= SEARCH_CHUNK_BYTES_MAX || ofBatches.length > limit) break
      await searches.nextSlice(ledger)
      read++
      if (row === null) continue
      const { matches, bytes: held } = await matchesOf(searches, row, search)
      ofBatches.push(...matches)
      bytes += held
    }
  }
}

/** Returns the rows of the found records, in the same order. */
async function readRows(searches: Searches, ledger: Uuid, found: readonly Match[]): Promise<RenderedRow[]> {
  const ofBatches = found.filter((match) => 'record' in match)
  const unread = found.filter((match) => 'own' in match && match.own === null) as OwnMatch[]
  const read = (await readBatchRecords(searches.pool, ofBatches)).values()
  const large = (await searches.readLarge(ledger, cutPieces(unread))).values()
  return found.map((match) => ('record' in match ? read.next().value! : (match.own ?? large.next().value!)))
}

/** Returns the ids of the records, in lists of about PAGE_PIECE_BYTES of documents. */
function cutPieces(matches: readonly OwnMatch[]): Uuid[][] {
  const pieces: Uuid[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const match of matches) {
    bytes += match.bytes
    if (bytes > PAGE_PIECE_BYTES) {
      pieces.push([])
      bytes = match.bytes
    }
    pieces.at(-1)!.push(match.recordId)
  }
  return pieces
}
