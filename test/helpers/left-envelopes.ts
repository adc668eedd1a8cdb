import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { genericBody, type TestApp } from './app.ts'
import { buildReleasedApp } from './released-app.ts'

type Released = Awaited<ReturnType<typeof buildReleasedApp>>

export const errorsOf = ({ logged }: Released) =>
  logged.filter(({ level }) => level === 'error').map(({ err }) => String(err))

export async function notarizeSingles(app: TestApp, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i += 50)
    ids.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(50, count - i) }, async (_, n) => {
          const made = await app.notarize({ ...genericBody({ n: i + n }), references: [`order ${n}`] })
          return made.id as string
        }),
      )),
    )
  return ids
}

/** Builds a ledger of `count` records whose envelopes are in the archive and no longer in Postgres. */
export async function buildLeft(t: Parameters<typeof buildReleasedApp>[0], count = 3) {
  const released = await buildReleasedApp(t)
  const ids = await notarizeSingles(released.app, count)
  await released.leave()
  assert.deepEqual([errorsOf(released), await released.leftEnvelopes()], [[], { 'record-notarized': count }])
  return { ...released, released, ids }
}

/**
 * Calls every GET route that reads a ledger, for these records, entries and tiles. Returns the status of each answer.
 * For status 200, also returns the digest of the answer.
 */
export async function answersOf(
  app: TestApp,
  {
    ids,
    seqs,
    tiles,
  }: { readonly ids: readonly string[]; readonly seqs: readonly number[]; readonly tiles: readonly string[] },
): Promise<Record<string, string>> {
  const addresses = app.routes
    .filter(
      ({ method, url, config }) => method === 'GET' && url.startsWith('/') && config?.reads !== 'nothing',
    )
    .flatMap(({ url }) => {
      if (url.startsWith('/v1/records/:id')) return ids.map((id) => url.replace(':id', id))
      if (url.includes(':seq')) return seqs.map((seq) => url.replace(':seq', `${seq}`))
      if (url.includes('tile/*'))
        return tiles.map((tile) => url.replace(':ledger', app.ledger.ledger.id).replace('tile/*', tile))
      if (['/v1/records', '/v1/events'].includes(url)) return [`${url}?limit=100`]
      return [url.replace(/:\w+/g, '1')]
    })
    .flatMap((address) => (address.endsWith('/receipt') ? [address, `${address}?statement=true`] : [address]))
  const found: Record<string, string> = {}
  for (const address of addresses) {
    const { statusCode, rawPayload } = await app.send('GET', address)
    // Only answers with status 200 are compared by digest. Other answers contain the request's id, so their bytes
    // differ each time.
    const digest = createHash('sha256').update(rawPayload).digest('hex')
    found[address] = statusCode === 200 ? `200 ${digest}` : `${statusCode}`
  }
  return found
}
