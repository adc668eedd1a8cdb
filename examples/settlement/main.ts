/*
 * npm run example -- settlement [--port 8787] [--folder settlement]
 *
 * Moves money when a ledger signs that it may be moved. Receives webhooks of the event `signal.emitted`, trusts only
 * signed statements, and acts once for each signal. WEBHOOK_SECRET and WEBHOOK_PUBLIC_KEY come from the answer that
 * created the webhook. Runs until it is stopped.
 */
import { mkdirSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { verify, webhooks } from '@tallystick/sdk'
import { Book } from './book.ts'
import { keptTrust } from './trust.ts'

/**
 * Maximum size of a request. A signal usually takes a few KiB. In the worst case its envelope has 32 KiB plus Base64,
 * and the members that repeat the envelope's content have another 32 KiB.
 */
const BODY_BYTES_MAX = 256 * 1024

const { values } = parseArgs({
  options: { port: { type: 'string', default: '8787' }, folder: { type: 'string', default: 'settlement' } },
})
mkdirSync(values.folder, { recursive: true, mode: 0o700 })
const { ledger, keys } = await keptTrust(join(values.folder, 'trust.json'))
const book = new Book(join(values.folder, 'book.ndjson'))
const endpoint = { secret: setting('WEBHOOK_SECRET'), publicKey: setting('WEBHOOK_PUBLIC_KEY') }

const server = createServer((request, response) => {
  void receive(request).then((status) => response.writeHead(status).end())
})
server.listen(Number(values.port), '127.0.0.1', () => {
  console.log(`settles what ${ledger} says, on ${JSON.stringify(server.address())}`)
})

/**
 * Handles a request and returns the status. 2xx: the event was handled, or is not relevant. After any other status, the
 * event is delivered again for more than a day, which leaves time to fix the cause.
 */
async function receive(request: IncomingMessage): Promise<number> {
  try {
    const event = await webhooks.verify(await readBody(request), request.headers, endpoint)
    if (event.type === 'signal.emitted') await settle(event)
    return 204
  } catch (error) {
    console.error(`${error}`)
    const isForged =
      error instanceof webhooks.WebhookVerificationError || error instanceof verify.VerificationError
    return isForged ? 400 : 500
  }
}

async function settle(event: webhooks.VerifiedWebhook<'signal.emitted'>): Promise<void> {
  try {
    const signal = await verify.signal(event, { keys, ledger })
    console.log(`${signal.decision} ${signal.once}: ${book.take(signal)}`)
  } catch (error) {
    if (!(error instanceof verify.SignalExpiredError)) throw error
    // The server gets no error for an expired signal, because a repeated delivery would be expired too.
    console.error(`${error}: somebody must look`)
  }
}

/** Returns the bytes as received, because the signature covers them. */
async function readBody(request: IncomingMessage): Promise<Uint8Array> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > BODY_BYTES_MAX) throw new Error(`a body of more than ${BODY_BYTES_MAX} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

function setting(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set: the answer that made the endpoint has it`)
  return value
}
