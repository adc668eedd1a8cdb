import { parseChecked } from '../../proof/json/json-text.ts'
import type { JsonObject, JsonValue } from '../../proof/json/json-value.ts'
import { JSON_THREAD_MS_MAX, JSON_TOKENS_MAX, JSON_TOKENS_PER_FRAGMENT_MAX } from '../limits.ts'
import { Slice } from '../slice.ts'
import type { JsonFragment } from './cut-json.ts'
import type { ThreadPool } from './pool.ts'
import type { JsonRefusal, readJson } from './read-json.ts'
import type { WorkOptions } from './thread-work.ts'

export type JsonThreads = Pick<ThreadPool<{ readJson: typeof readJson }>, 'run'>

/**
 * Parses a JSON object that a client sent. A thread reads and checks the whole text. Then the calling thread parses it
 * piece by piece, and yields between pieces. The bytes are transferred to the thread, so the caller MUST NOT use them
 * any more. Throws ThreadError.
 */
export async function parseJsonInThread(
  threads: JsonThreads,
  bytes: Buffer,
  { depthMax, ...owners }: Pick<WorkOptions, 'owner' | 'ofAll'> & { readonly depthMax: number },
): Promise<{ readonly value: JsonObject } | { readonly refused: JsonRefusal }> {
  const own = ownBuffer(bytes)
  const bounds = { depthMax, tokensMax: JSON_TOKENS_MAX, tokensInPieceMax: JSON_TOKENS_PER_FRAGMENT_MAX }
  const read = await threads.run(
    'readJson',
    { bytes: own, bounds },
    {
      ...owners,
      bytes: own.byteLength,
      msMax: JSON_THREAD_MS_MAX,
      transfer: [own.buffer],
    },
  )
  return 'code' in read ? { refused: read } : { value: await join(read) }
}

/**
 * Returns the bytes in an ArrayBuffer of their own. A Buffer of Node may be a view of a larger ArrayBuffer that is also
 * used for other bytes.
 */
export function ownBuffer(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const isWhole = bytes.buffer instanceof ArrayBuffer && bytes.buffer.byteLength === bytes.byteLength
  return isWhole ? new Uint8Array(bytes.buffer as ArrayBuffer) : new Uint8Array(bytes)
}

async function join(pieces: readonly JsonFragment[]): Promise<JsonObject> {
  const members = new Map<string, JsonValue>()
  const slice = new Slice()
  for (const { name: nameText, text, isElements } of pieces) {
    const name = JSON.parse(nameText) as string
    if (slice.isOver) await slice.next()
    if (isElements) {
      const list = (members.get(name) ?? []) as JsonValue[]
      for (const element of parseChecked(`[${text}]`) as JsonValue[]) list.push(element)
      members.set(name, list)
    } else members.set(name, parseChecked(text))
  }
  return Object.fromEntries(members) // fromEntries sets a member named __proto__ like any other member.
}
