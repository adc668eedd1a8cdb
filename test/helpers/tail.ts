import { get, type IncomingMessage } from 'node:http'
import { SseParser } from '../../sdk/http/sse.ts'

export type TestTail = {
  readonly response: IncomingMessage
  /** Events that were received so far, each with its cursor and time of arrival (performance.now()). */
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
  readonly events: { cursor: string; atMs: number; event: any }[]
  readonly text: () => string
  readonly lastEventId: () => string
  /** Resolves when the server ends the stream. The value is the time in ms since the stream was opened. */
  readonly ended: Promise<number>
  close(): void
}

type Cleanup = { after(cleanup: () => void): void }

/** Opens `GET /v1/events` as a stream. Returns the response even if it is not a stream. */
export async function openTail(
  t: Cleanup,
  origin: string,
  key: string,
  { query = '', lastEventId }: { query?: string; lastEventId?: string } = {},
): Promise<TestTail> {
  const startedAt = performance.now()
  const headers = {
    authorization: `Bearer ${key}`,
    accept: 'text/event-stream',
    ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
  }
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${origin}/v1/events${query}`, { headers, agent: false }, resolve).on('error', reject)
  })
  t.after(() => response.destroy())
  const parser = new SseParser(1_000_000)
  const events: TestTail['events'] = []
  let text = ''
  const ended = new Promise<number>((resolve) => {
    response.on('data', (piece: Buffer) => {
      text += piece
      const atMs = performance.now()
      for (const { data, lastEventId: cursor } of parser.push(piece))
        events.push({ cursor, atMs, event: JSON.parse(data) })
    })
    response.on('error', () => {})
    response.on('close', () => resolve(performance.now() - startedAt))
  })
  return {
    response,
    events,
    text: () => text,
    lastEventId: () => parser.lastEventId,
    ended,
    close: () => void response.destroy(),
  }
}
