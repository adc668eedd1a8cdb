import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestChain } from './test-chain.ts'
import { verifierKeyOf } from './test-proof.ts'

type CheckpointTest = { after(cleanup: () => void): void }

/** Answers of the server. A test may change them. */
export type ShownCheckpoint = { note: string; proof: () => { status: number; body: object } }

/**
 * Starts a server that may show any checkpoint to its clients, like a server whose operator lies. Returns its address.
 */
export async function serveCheckpoints(
  t: CheckpointTest,
  chain: TestChain,
  shown: ShownCheckpoint,
): Promise<string> {
  const about = { origin: chain.origin, noteVerifierKey: verifierKeyOf(chain) }
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, 'http://x')
    if (pathname === '/v1/checkpoints/latest') {
      response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(shown.note)
      return
    }
    const { status, body } = pathname === '/v1/ledger' ? { status: 200, body: about } : shown.proof()
    const type = status === 200 ? 'application/json' : 'application/problem+json'
    response.writeHead(status, { 'content-type': type, 'retry-after': '600' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
