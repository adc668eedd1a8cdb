import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Ends } from './tcp-proxy.ts'

export type RefusingProxy = {
  readonly url: string
  /**
   * Returns the status with which the proxy itself answers a body, or null if the proxy forwards the body. The proxy's
   * answer is HTML, like that of a gateway. With status 200 it is an empty JSON object. A test may replace this
   * function.
   */
  refuse: (body: string, path: string) => number | null
  cut: () => boolean
  /** Size and answer of each body. The answer is the status. A star follows if this proxy gave the answer. */
  readonly log: { readonly path: string; readonly bytes: number; readonly answer: string }[]
}

/** Starts a proxy that acts like a gateway or firewall and forwards bodies and headers unchanged. */
export async function startRefusingProxy(t: Ends, target: string): Promise<RefusingProxy> {
  const server = createServer(async (incoming, outgoing) => {
    const body = Buffer.concat(await incoming.toArray())
    const path = incoming.url!
    const refusal = proxy.refuse(body.toString('latin1'), path)
    if (refusal !== null) {
      proxy.log.push({ path, bytes: body.length, answer: `${refusal}*` })
      const [type, text] =
        refusal === 200 ? ['application/json', '{}'] : ['text/html', `<html><h1>${refusal}</h1></html>`]
      outgoing.writeHead(refusal, { 'content-type': type }).end(text)
      return
    }
    const headers = Object.entries(incoming.headers).filter(([name]) => !HOP_BY_HOP.has(name))
    const answer = await fetch(new URL(path, target), {
      method: incoming.method!,
      headers: Object.fromEntries(headers) as Record<string, string>,
      ...(body.length > 0 && { body }),
    }).catch(() => null)
    proxy.log.push({ path, bytes: body.length, answer: String(answer?.status ?? 502) })
    if (answer === null) return void outgoing.writeHead(502).end()
    const said = Buffer.from(await answer.arrayBuffer())
    const type = answer.headers.get('content-type') ?? 'text/plain'
    outgoing.writeHead(answer.status, { 'content-type': type, 'content-length': said.length })
    if (!proxy.cut()) return void outgoing.end(said)
    outgoing.write(said.subarray(0, said.length / 2), () => outgoing.socket?.destroySoon())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.closeAllConnections()
    server.close()
  })
  const proxy: RefusingProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refuse: () => null,
    cut: () => false,
    log: [],
  }
  return proxy
}

const HOP_BY_HOP = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive'])
