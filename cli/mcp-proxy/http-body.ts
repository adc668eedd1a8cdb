import { withoutBom } from '../../src/proof/json/json-text.ts'
import { PROXY_MESSAGE_BYTES_MAX } from './limits.ts'

/** Returns the body of an answer as text. Throws if the body is longer than PROXY_MESSAGE_BYTES_MAX. */
export async function readText(response: Response): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of (response.body ?? []) as unknown as AsyncIterable<Uint8Array>) {
    bytes += piece.length
    if (bytes > PROXY_MESSAGE_BYTES_MAX)
      throw new Error(`its answer is longer than ${PROXY_MESSAGE_BYTES_MAX} bytes`)
    pieces.push(piece)
  }
  return withoutBom(Buffer.concat(pieces).toString('utf8'))
}

/** Parses a JSON text. Returns undefined if the text is not JSON. */
export function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
