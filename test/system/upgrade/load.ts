import { setTimeout as sleep } from 'node:timers/promises'

const PAUSE_MS = 5

/**
 * Loads all servers of both versions one after another, with requests of agents. Counts answers by method, route and
 * status.
 */
export class Load {
  readonly answers: Record<string, number> = {}
  readonly #servers: string[] = []
  readonly #bearer: string
  readonly #stop = new AbortController()
  #running: Promise<void> | null = null
  #round: Promise<void> = Promise.resolve()

  constructor(bearer: string) {
    this.#bearer = bearer
  }

  start(url: string): void {
    this.#servers.push(url)
    this.#running ??= this.#run()
  }

  /**
   * Takes a server out of the load before it stops, as a load balancer does. Resolves when no request is on its way
   * to the server.
   */
  async leave(url: string): Promise<void> {
    this.#servers.splice(this.#servers.indexOf(url), 1)
    await this.#round
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    for (let i = 0; !this.#stop.signal.aborted; i++) {
      const url = this.#servers[i % this.#servers.length]
      const other = this.#servers[(i + 1) % this.#servers.length]
      if (url !== undefined) this.#round = this.#work(url, other!)
      await this.#round
      await sleep(PAUSE_MS)
    }
  }

  /** Writes at one server. Then reads and continues the same records at the other server. */
  async #work(url: string, other: string): Promise<void> {
    const payload = { step: 1, tool: 'search' }
    const notarized = await this.#send('POST', url, '/v1/records', { type: 'generic/1', payload })
    await this.#send('GET', other, `/v1/records/${notarized['id']}`)
    await this.#send('POST', url, '/v1/records/batch', {
      records: [
        { type: 'generic/1', payload },
        { type: 'generic/1', payload },
      ],
    })
    const gated = await this.#send('POST', url, '/v1/records', { type: 'task/1', payload })
    await this.#send('GET', other, `/v1/records/${gated['id']}`)
    await this.#send('GET', other, '/v1/records?limit=5')
    await this.#send('GET', url, '/v1/entries?limit=5')
    await this.#send('POST', other, '/v1/keys', { name: 'made meanwhile', scopes: ['records:write'] })
  }

  async #send(method: string, url: string, path: string, body?: object): Promise<Record<string, unknown>> {
    const route = path.split('?')[0]!.replace(/rec_\w+/, '{id}')
    const count = (end: string | number) => {
      const answer = `${method} ${route} ${end}`
      this.answers[answer] = (this.answers[answer] ?? 0) + 1
    }
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${this.#bearer}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    }).catch((error: Error) => {
      count(error.message)
      return null
    })
    if (response === null) return {}
    const text = await response.text()
    count(response.status)
    return response.ok && text.startsWith('{') && !text.includes('\n{') ? JSON.parse(text) : {}
  }
}
