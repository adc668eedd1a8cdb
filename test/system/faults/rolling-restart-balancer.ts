import http from 'node:http'
import net, { type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export type Balancer = {
  readonly url: string
  /**
   * Resolves once the balancer has put the backend `in` or taken it `out`. An operator also waits for this before
   * restarting the next backend.
   */
  until(backend: number, state: 'in' | 'out'): Promise<void>
  stop(): Promise<void>
}

type Backend = { readonly host: string; readonly port: number; in: boolean }

const CHECK_EVERY_MS = 200
const CHECK_MS_MAX = 1_000
const STATE_MS_MAX = 30_000

/**
 * Starts a minimal load balancer, which sends new connections to the backends round-robin. A backend that fails its
 * check gets no new connections. A backend that refuses a connection is skipped. The balancer forwards bytes without
 * parsing them. So it can neither repeat a request nor wait for the end of a request. Only the servers can prevent
 * failed requests.
 */
export async function startBalancer(urls: readonly string[]): Promise<Balancer> {
  const backends = urls.map((url) => ({
    host: new URL(url).hostname,
    port: Number(new URL(url).port),
    in: true,
  }))
  const open = new Set<Socket>()
  let turn = 0
  const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    track(open, client)
    void carry(client, inTurn(backends, turn++), open)
  })
  const stopped = new AbortController()
  const checks = backends.map((backend) => check(backend, stopped.signal))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    until: (backend, state) => untilState(backends[backend]!, state),
    async stop() {
      stopped.abort()
      await Promise.all(checks)
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Returns the backends in the order in which they are tried: first those that are `in`, then the others. */
function inTurn(backends: readonly Backend[], turn: number): Backend[] {
  const ordered = backends.map((_, i) => backends[(turn + i) % backends.length]!)
  return [...ordered.filter((backend) => backend.in), ...ordered.filter((backend) => !backend.in)]
}

async function carry(client: Socket, candidates: readonly Backend[], open: Set<Socket>): Promise<void> {
  client.on('error', () => client.destroy())
  for (const backend of candidates) {
    const upstream = await connect(backend)
    if (upstream === null) continue
    track(open, upstream)
    if (client.destroyed) return void upstream.destroy()
    // Each direction ends separately, because a server that has closed its side may still have an answer on its way
    // to the client.
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.on('close', () => void (from.readableEnded || to.destroy()))
    }
    return
  }
  client.destroy()
}

function connect({ host, port }: Backend): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = net.connect({ host, port, allowHalfOpen: true, noDelay: true })
    socket.once('connect', () => resolve(socket))
    socket.once('error', () => resolve(null))
  })
}

/** Checks a backend repeatedly. One failed check takes the backend out. One successful check puts it back in. */
async function check(backend: Backend, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    backend.in = await isReady(backend)
    await sleep(CHECK_EVERY_MS, undefined, { signal }).catch(() => {})
  }
}

/** Returns the result of a check. A check uses its own connection, as in other balancers. */
function isReady({ host, port }: Backend): Promise<boolean> {
  return new Promise((resolve) => {
    const request = http.get(
      { host, port, path: '/readyz', agent: false, timeout: CHECK_MS_MAX },
      (answer) => {
        answer.resume()
        resolve(answer.statusCode === 200)
      },
    )
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(false))
  })
}

async function untilState(backend: Backend, state: 'in' | 'out'): Promise<void> {
  const giveUpAt = Date.now() + STATE_MS_MAX
  while (backend.in !== (state === 'in')) {
    if (Date.now() > giveUpAt) throw new Error(`the balancer never saw port ${backend.port} ${state}`)
    await sleep(20)
  }
}

function track(open: Set<Socket>, socket: Socket): void {
  open.add(socket)
  socket.once('close', () => open.delete(socket))
}
