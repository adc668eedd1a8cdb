import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** Stands between a server and its Postgres, and makes the network fail in the ways in which networks fail. */
export type TcpProxy = {
  /** The same URL, by way of the proxy. */
  url(databaseUrl: string): string
  /**
   * The next request that holds `text` is answered, and so carried out and committed, but its connection is lost
   * before the answer arrives. Resolves when that has happened.
   */
  loseAnswerTo(text: string): Promise<void>
  /** The next request that holds `text` is lost, with its connection, before it arrives. */
  loseRequest(text: string): Promise<void>
  /** Breaks every connection, and refuses new ones until `restore`. */
  cut(): Promise<void>
  restore(): Promise<void>
  close(): Promise<void>
}

type Fault = { readonly text: string; readonly lose: 'answer' | 'request'; readonly done: () => void }

/** ReadyForQuery, in any transaction state, ends what Postgres has to say to a request. */
const READY_FOR_QUERY = Buffer.from([0x5a, 0, 0, 0, 5])

export async function startTcpProxy(databaseUrl: string): Promise<TcpProxy> {
  const target = new URL(databaseUrl)
  const pairs = new Set<[Socket, Socket]>()
  let fault: Fault | null = null
  let server = await listen(0)
  const { port } = server.address() as AddressInfo

  function join(client: Socket): void {
    const upstream = connect({ host: target.hostname, port: Number(target.port) })
    const pair: [Socket, Socket] = [client, upstream]
    pairs.add(pair)
    const lose = () => {
      pairs.delete(pair)
      client.destroy()
      upstream.destroy()
    }
    let answerLost: (() => void) | null = null
    client.on('data', (data) => {
      if (fault && data.includes(fault.text)) {
        const { done } = fault
        const isRequest = fault.lose === 'request'
        fault = null
        if (isRequest) {
          lose()
          done()
          return
        }
        answerLost = done
      }
      upstream.write(data)
    })
    upstream.on('data', (data) => {
      if (!answerLost) {
        client.write(data)
      } else if (data.subarray(-6, -1).equals(READY_FOR_QUERY)) {
        lose()
        answerLost()
      }
    })
    for (const socket of pair) {
      socket.setNoDelay(true)
      socket.on('error', lose)
      socket.on('close', lose)
    }
  }

  function listen(onPort: number): Promise<Server> {
    return new Promise((resolve, reject) => {
      const made = createServer(join)
      made.once('error', reject)
      made.listen(onPort, '127.0.0.1', () => resolve(made))
    })
  }

  async function cut(): Promise<void> {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    for (const pair of [...pairs]) for (const socket of pair) socket.destroy()
    await closed
  }

  function arm(lose: Fault['lose'], text: string): Promise<void> {
    return new Promise((done) => {
      fault = { text, lose, done }
    })
  }

  return {
    url(databaseUrl) {
      const url = new URL(databaseUrl)
      url.hostname = '127.0.0.1'
      url.port = String(port)
      return url.href
    },
    loseAnswerTo: (text) => arm('answer', text),
    loseRequest: (text) => arm('request', text),
    cut,
    async restore() {
      server = await listen(port)
    },
    close: cut,
  }
}
