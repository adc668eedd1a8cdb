import { type Organisation, peer, startOrganisations } from './federation.ts'
import { type RefusingProxy, startRefusingProxy } from './refusing-proxy.ts'
import { until } from './wait.ts'

/** Maximum size of a body that the proxy accepts, in bytes. Only the large record exceeds it. */
const PROXY_BYTES_MAX = 40_000
const LARGE = 'x'.repeat(60_000)
/** A word that a firewall could block. */
const WORD = '<script>'
const WRITERS = 8

export async function startRefused(t: Parameters<typeof startOrganisations>[0]) {
  let proxy: RefusingProxy | null = null
  const [home, guest] = (await startOrganisations(t, 2, {
    through: async (url, index) => {
      if (index === 0) return url
      proxy = await startRefusingProxy(t, url)
      return proxy.url
    },
  })) as [Organisation, Organisation]
  const id = await peer(home, guest)
  const makeRecord = async (text: string): Promise<string> => {
    const body = { type: 'task/1', payload: { text }, share: [{ peer: id, documents: 'whole' }] }
    return (await home.ask('POST', '/v1/records', { body })).id
  }
  const has = async (record: string) => (await guest.send('GET', `/v1/records/${record}`)).status === 200
  return { home, guest, id, proxy: proxy!, makeRecord, has }
}

/**
 * Shares `records` records with the guest, through the proxy. The proxy refuses bodies above PROXY_BYTES_MAX and bodies
 * that contain WORD. So one record never passes because of its size, and another record never passes because of WORD.
 */
export async function refuseBetween(
  { home, id, proxy, makeRecord, has }: Awaited<ReturnType<typeof startRefused>>,
  { records, patienceMs }: { readonly records: number; readonly patienceMs: number },
) {
  await home.ask('POST', `/v1/peers/${id}/suspend`, { body: { code: 'maintenance' } })
  const texts = Array.from({ length: records }, (_, i) => `record ${i}`)
  const [large, poisoned] = [Math.floor(records / 3), Math.floor((2 * records) / 3)]
  texts[large] = LARGE
  texts[poisoned] = WORD
  const ids: string[] = []
  let next = 0
  const write = async () => {
    for (let at = next++; at < texts.length; at = next++) ids[at] = await makeRecord(texts[at]!)
  }
  await Promise.all(Array.from({ length: WRITERS }, write))
  const listMissing = async () => {
    const missing: string[] = []
    for (const record of ids) if (!(await has(record))) missing.push(record)
    return missing
  }
  const drain = async () => (await home.ask('GET', `/v1/peers/${id}`)).drain
  const arrived = () => until(async () => (await drain()).behind === 0, patienceMs)
  proxy.refuse = (body) => (body.length > PROXY_BYTES_MAX ? 413 : body.includes(WORD) ? 403 : null)
  proxy.log.length = 0
  await home.ask('POST', `/v1/peers/${id}/resume`, { body: {} })
  await arrived()
  const letters = (await home.ask('GET', `/v1/peers/${id}/dead-letters`)).data
  const [cursor] = await home.sql<{ bytes: number | null }>(
    'select request_bytes as bytes from tallystick.peer_cursors',
  )
  return {
    refused: [ids[large]!, ids[poisoned]!],
    missing: await listMissing(),
    codes: letters.map(({ code }: { code: string }) => code).sort(),
    drain: await drain(),
    requestBytes: cursor!.bytes,
    requests: proxy.log.length,
    refusals: proxy.log.filter(({ answer }) => answer.endsWith('*')).length,
    listMissing,
    async mend() {
      proxy.refuse = () => null
      await home.ask('POST', `/v1/peers/${id}/replay`, { body: {} })
      await until(async () => (await listMissing()).length === 0, patienceMs)
    },
  }
}
