import type { NotarizerOptions } from '../../sdk/notarizer/options.ts'
import { type ChunkDocument, decodeChunk } from '../../src/db/chunks/chunk-content.ts'
import type { TestApp } from '../helpers/app.ts'

/** Retries that lose no time, and no callback that writes to the console. */
export const QUICK: NotarizerOptions = {
  lingerMs: 1,
  delayMsMin: 1,
  delayMsMax: 8,
  blockedDelayMs: 5,
  timeoutMs: 2_000,
  onError: () => {},
}

type Chunk = { readonly content: Buffer; readonly count: number }
type Payload = { readonly group: string; readonly i: number }

/** Records of the batches whose payloads are of a group, in the order of the ledger. */
export async function recordsOfGroup({ sql, ledgerId }: Pick<TestApp, 'sql' | 'ledgerId'>, group: string) {
  const chunks = await sql<Chunk>(
    'select content, count from tallystick.batch_chunks where ledger_id = $1 order by seq, chunk',
    [ledgerId],
  )
  return chunks
    .flatMap(({ content, count }) => decodeChunk(content, count))
    .map((record) => ({
      ...record,
      payload: JSON.parse(String((record.document as ChunkDocument).payload)) as Payload,
    }))
    .filter(({ payload }) => payload.group === group)
}

/** The member `i` of the payloads of a group, in the order of the ledger. */
export async function recordedNumbers(
  app: Pick<TestApp, 'sql' | 'ledgerId'>,
  group: string,
): Promise<number[]> {
  return (await recordsOfGroup(app, group)).map(({ payload }) => payload.i)
}

export const numbers = (count: number, from = 0): number[] =>
  Array.from({ length: count }, (_, i) => from + i)
