import { once } from 'node:events'
import { request as connectTo, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

type Test = { after(cleanup: () => Promise<void>): void }

/**
 * Starts a proxy in front of `target`. If `refuse` returns a status for a body, the proxy answers with this status and
 * an HTML page. Otherwise the proxy forwards the body.
 */
export async function startPickyProxy(
  t: Test,
  target: string,
  refuse: (body: string) => number | null,
): Promise<{ readonly url: string; readonly refusals: () => number }> {
  let refusals = 0
  const server = createServer(async (request, response) => {
    const body = await buffer(request)
    const status = refuse(body.toString())
    if (status !== null) {
      refusals++
      response.writeHead(status, { 'content-type': 'text/html' }).end('<html>refused</html>')
      return
    }
    const { method, headers } = request
    const onward = connectTo(new URL(request.url!, target), { method, headers })
    onward.on('error', () => response.destroy())
    onward.on('response', (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    })
    onward.end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.closeAllConnections()
    await new Promise((closed) => server.close(closed))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, refusals: () => refusals }
}
