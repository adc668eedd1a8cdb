import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const PROJECT_DIR = resolve(import.meta.dirname, '..', '..')
const READY_MS_MAX = 120_000
const SHARED_MS_MAX = 60_000
const LOOK_EVERY_MS = 50
const WAIT_SECONDS = 20

// biome-ignore lint/suspicious/noExplicitAny: answers of our own servers
type Answer = any

/**
 * A server of `npm start` in a folder of its own. It may send requests to addresses of this machine, where the other
 * organisation's server runs.
 */
export class Organisation {
  readonly name: string
  readonly url: string
  /** Id of the ledger (`led_…`), set by `ready`. */
  ledger = ''
  #key = ''
  readonly #dataDir: string
  readonly #process: ChildProcess
  #said = ''

  private constructor(name: string, url: string, dataDir: string, process: ChildProcess) {
    this.name = name
    this.url = url
    this.#dataDir = dataDir
    this.#process = process
    for (const stream of [process.stdout!, process.stderr!])
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#said += text
      })
  }

  static async start(name: string, dataDir: string): Promise<Organisation> {
    const port = await findFreePort()
    const url = `http://127.0.0.1:${port}`
    const child = spawn(process.execPath, [join(PROJECT_DIR, 'src', 'run', 'all-in-one.ts')], {
      cwd: PROJECT_DIR,
      env: {
        ...withoutSettings(process.env),
        TALLYSTICK_DATA: dataDir,
        TALLYSTICK_HOST: '127.0.0.1',
        TALLYSTICK_PORT: String(port),
        TALLYSTICK_PUBLIC_URL: url,
        TALLYSTICK_OUTBOUND_ALLOW: '127.0.0.0/8',
        TALLYSTICK_DRAIN_SECONDS: '0',
        TALLYSTICK_LOG_LEVEL: 'warn',
      },
      // The server has a process group of its own. Ctrl-C therefore reaches only the example, which then stops the
      // server.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const organisation = new Organisation(name, url, dataDir, child)
    const kill = () => child.kill('SIGTERM')
    process.once('exit', kill)
    child.once('exit', () => process.off('exit', kill))
    return organisation
  }

  /** Resolves when the server has a ledger and its key. */
  async ready(): Promise<void> {
    const giveUpAt = Date.now() + READY_MS_MAX
    while (!this.#said.includes('Ctrl-C stops it')) {
      if (this.#hasEnded() || Date.now() > giveUpAt)
        throw new Error(`${this.name} does not start:\n${this.#said}`)
      await sleep(LOOK_EVERY_MS)
    }
    const { ledger, key } = JSON.parse(readFileSync(join(this.#dataDir, 'credentials.json'), 'utf8'))
    this.ledger = ledger
    this.#key = key
  }

  async stop(): Promise<void> {
    if (this.#hasEnded()) return
    this.#process.kill('SIGTERM')
    await once(this.#process, 'exit')
  }

  /** Sends a request and returns its answer. Throws if the request fails. `key`: by default the ledger's first key. */
  async ask(
    method: string,
    path: string,
    { key = this.#key, body }: { readonly key?: string; readonly body?: object } = {},
  ): Promise<Answer> {
    const { status, text } = await this.#send(method, path, key, {}, body)
    if (status >= 200 && status < 300) return JSON.parse(text)
    throw new Error(`${this.name}: ${method} ${path} answered ${status}: ${text}`)
  }

  /**
   * Returns a record as soon as it is in the state. Each request waits at the server for a change. Until the record has
   * arrived from the other side, the server answers 404.
   */
  async untilRecord(id: string, state: string, signal: AbortSignal): Promise<Answer> {
    const known: { etag?: string } = {}
    for (const giveUpAt = Date.now() + SHARED_MS_MAX; ; ) {
      signal.throwIfAborted()
      const { status, text, etag } = await this.#send(
        'GET',
        `/v1/records/${id}?wait=${WAIT_SECONDS}`,
        this.#key,
        {
          ...(known.etag && { 'if-none-match': known.etag }),
        },
      )
      if (status === 200 && JSON.parse(text).state === state) return JSON.parse(text)
      if (Date.now() > giveUpAt)
        throw new Error(`${this.name}: ${id} is still ${status} ${text}\n${this.#said}`)
      if (status === 200) known.etag = etag!
      else if (status !== 304) await sleep(LOOK_EVERY_MS, undefined, { signal })
    }
  }

  /** Polls an address until `isIt` accepts its answer. Returns the answer. */
  async until(path: string, isIt: (answer: Answer) => boolean, signal: AbortSignal): Promise<Answer> {
    for (const giveUpAt = Date.now() + SHARED_MS_MAX; ; await sleep(LOOK_EVERY_MS, undefined, { signal })) {
      const { status, text } = await this.#send('GET', path, this.#key)
      if (status === 200 && isIt(JSON.parse(text))) return JSON.parse(text)
      if (Date.now() > giveUpAt)
        throw new Error(`${this.name}: ${path} is still ${status} ${text}\n${this.#said}`)
    }
  }

  async export(): Promise<string> {
    const { status, text } = await this.#send('GET', '/v1/export', this.#key)
    if (status !== 200) throw new Error(`${this.name}: the export answered ${status}: ${text}`)
    return text
  }

  /** Returns the kid of the server's first key. An auditor would get it from the operator. */
  async firstKid(): Promise<string> {
    const { keys } = await this.ask('GET', '/.well-known/tallystick-keys.json')
    return keys.find(({ use }: { use: string }) => use === 'envelope').kid
  }

  async #send(
    method: string,
    path: string,
    key: string,
    headers: Record<string, string> = {},
    body?: object,
  ): Promise<{ status: number; text: string; etag: string | null }> {
    const response = await fetch(this.url + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, text: await response.text(), etag: response.headers.get('etag') }
  }

  #hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null
  }
}

/** Runs the command line like a user. Returns exit code and output of both streams. */
export async function runTallystick(args: readonly string[]): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, [join(PROJECT_DIR, 'cli', 'tallystick.ts'), ...args], {
    cwd: PROJECT_DIR,
    env: withoutSettings(process.env),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const [code] = await once(child, 'close')
  return { code, output }
}

/** Returns the environment without the variables that configure the user's own Tallystick. */
function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^(TALLYSTICK_|OTEL_|DATABASE_URL$)/.test(name)),
  )
}

function findFreePort(): Promise<number> {
  return new Promise((found, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => found(port))
    })
  })
}
