import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PostLedgersAnswer } from '../../../sdk/generated/api.ts'
import type { RunningPostgres } from '../../../src/run/postgres/start.ts'
import { post } from '../../helpers/deployment.ts'
import { freePort } from '../../helpers/free-port.ts'
import type { Image } from './build.ts'
import { type Container, type ContainerOptions, runInContainer, startContainer } from './container.ts'
import { answers, childrenOf, lastLine, statusOf, succeeded, timedStop } from './observe.ts'

const OPERATOR_KEY = `tlo_${'0'.repeat(32)}`
/** A worker publishes once a second. */
const CHECKPOINT_MS = 2_000
/** Credentials as the environment may have them: a token is signed with them, and nobody is asked. */
const FOR_RDS = {
  PGHOST: 'tallystick.cluster-abc123.eu-central-1.rds.amazonaws.com',
  PGPORT: '5432',
  PGUSER: 'tallystick_api',
  AWS_ACCESS_KEY_ID: 'AKIAIOSFODNN7EXAMPLE',
  AWS_SECRET_ACCESS_KEY: 'none',
}

type Ports = { readonly api: string; readonly apiMetrics: string; readonly workerMetrics: string }

/** Everything but Postgres by the image alone. Each method is what a platform does, in this order, and says what came of it. */
export class Deployment {
  readonly #image: Image
  readonly #postgres: RunningPostgres
  readonly #data: string
  readonly #ports: Ports
  #server: Container | undefined
  #worker: Container | undefined
  #export = ''

  private constructor(image: Image, postgres: RunningPostgres, data: string, ports: Ports) {
    this.#image = image
    this.#postgres = postgres
    this.#data = data
    this.#ports = ports
  }

  static async open(image: Image, postgres: RunningPostgres, data: string): Promise<Deployment> {
    const [api, apiMetrics, workerMetrics] = [await freePort(), await freePort(), await freePort()]
    return new Deployment(image, postgres, data, { api, apiMetrics, workerMetrics })
  }

  async migrate(): Promise<string> {
    const first = await this.#run(['migrate'], { env: this.#asOwner })
    assert.match(first, /^applied functions, 0001-rules-and-keys/)
    assert.equal(await this.#run(['migrate'], { env: this.#asOwner }), 'the database is up to date\n')
    return first.trim()
  }

  async start(): Promise<string> {
    const beganAtMs = performance.now()
    this.#server = startContainer(this.#image, ['server'], {
      env: {
        ...this.#shared,
        TALLYSTICK_API_DATABASE_URL: this.#urlAs('tallystick_api', ''),
        TALLYSTICK_DATABASE_PASSWORD_COMMAND: JSON.stringify(['node', '--print', '"tallystick_api"']),
        TALLYSTICK_OPERATOR_KEY: OPERATOR_KEY,
        TALLYSTICK_PORT: this.#ports.api,
        TALLYSTICK_METRICS_PORT: this.#ports.apiMetrics,
        TALLYSTICK_DRAIN_SECONDS: '1',
      },
    })
    await answers(`${this.#url}/readyz`, this.#server)
    const ms = Math.round(performance.now() - beganAtMs)
    this.#worker = startContainer(this.#image, ['worker'], {
      mounts: { '/data': this.#data },
      env: {
        ...this.#shared,
        TALLYSTICK_WORKER_DATABASE_URL: this.#urlAs('tallystick_worker'),
        TALLYSTICK_METRICS_PORT: this.#ports.workerMetrics,
      },
    })
    await answers(`http://127.0.0.1:${this.#ports.apiMetrics}/metrics`, this.#server)
    assert.equal((await statusOf(this.#server, 'NSpid')).at(-1), '1')
    assert.deepEqual(new Set(await statusOf(this.#server, 'Uid')), new Set(['65532']))
    assert.equal(await childrenOf(this.#server), '', 'the password command is reaped')
    return `ready after ${ms} ms, as PID 1 and user 65532`
  }

  async smoke(): Promise<string> {
    const env = { TALLYSTICK_URL: this.#url, TALLYSTICK_OPERATOR_KEY: OPERATOR_KEY }
    return lastLine(await this.#run(['smoke'], { env }))
  }

  async verifyElsewhere(): Promise<string> {
    const request = { name: 'of the image' }
    const { key } = await post<PostLedgersAnswer>(`${this.#url}/v1/ledgers`, OPERATOR_KEY, request)
    const env = { TALLYSTICK_URL: this.#url, TALLYSTICK_API_KEY: key.key }
    const payload = JSON.stringify({ tool: 'search' })
    assert.match(
      await this.#run(['tallystick', 'notarize', '--payload', payload], { env }),
      /"tool":"search"/,
    )
    await sleep(CHECKPOINT_MS)
    this.#export = await this.#run(['tallystick', 'export'], { env })
    return lastLine(await this.#run(['verify', '-'], { input: this.#export }))
  }

  async refuseTampered(): Promise<string> {
    const input = this.#export.replace('"search"', '"seArch"')
    assert.notEqual(input, this.#export)
    const { code, stdout } = await runInContainer(this.#image, ['verify', '-'], { input })
    assert.equal(code, 1)
    return lastLine(stdout)
  }

  async askAsOwner(): Promise<string> {
    assert.match(await this.#run(['operate', 'faults'], { env: this.#asOwner }), /^no ledger has a fault$/m)
    assert.match(await this.#run(['rotate-key'], { env: this.#asOwner }), /^new key {2}[0-9a-f]{64}$/m)
    const measured = await runInContainer(this.#image, ['preflight', '--connections', '1'], {
      env: this.#asOwner,
    })
    return measured.stdout.split('\n')[0]!.trim()
  }

  async signToken(): Promise<string> {
    const [token] = (await this.#run(['rds-token'], { env: FOR_RDS })).trim().split('?')
    assert.equal(token, `${FOR_RDS.PGHOST}:5432/`)
    return 'signed'
  }

  /** Paths that its user may write to, as Node inside sees it. */
  async tryToWrite(): Promise<string> {
    const paths = ['/data/x', '/tmp/x', '/x', '/app/src/x', '/app/.compile-cache/x', '/etc/x']
    const code = `
      const { rmSync, writeFileSync } = require('node:fs')
      const attempt = (path) => { try { writeFileSync(path, ''); rmSync(path); return 'ok' } catch ({ code }) { return code } }
      console.log(${JSON.stringify(paths)}.map(attempt).join())`
    const { stage } = this.#image
    const node = { ...this.#image, stage: { ...stage, entrypoint: ['/usr/local/bin/node', '--eval', code] } }
    const written = succeeded(await runInContainer(node, [], { mounts: { '/data': this.#data } }))
    assert.equal(written, 'ok,ok,EROFS,EROFS,EROFS,EROFS\n')
    const kept = readdirSync(join(this.#data, 'checkpoints'))
    assert.equal(kept.length, 2, 'the worker keeps a checkpoint of each ledger')
    return `${kept.length} checkpoints in /data; else only /tmp`
  }

  async stop(): Promise<string> {
    const ms = await Promise.all([timedStop(this.#worker!, 0), timedStop(this.#server!, 0)])
    return `worker ended after ${ms[0]} ms, server after ${ms[1]} ms`
  }

  /** A database that takes the connection and says nothing: a start that would wait for long. */
  async stopStarting(): Promise<string> {
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as { port: number }
    const url = `postgres://tallystick_api:none@127.0.0.1:${port}/none?sslmode=disable`
    const env = { ...this.#shared, TALLYSTICK_API_DATABASE_URL: url }
    const container = startContainer(this.#image, ['server'], { env })
    await once(silent, 'connection')
    const ms = await timedStop(container, 128 + 15)
    silent.close()
    return `ended after ${ms} ms`
  }

  async close(): Promise<void> {
    for (const container of [this.#server, this.#worker])
      if (container?.isRunning()) await container.stop('SIGKILL')
  }

  get #url(): string {
    return `http://127.0.0.1:${this.#ports.api}`
  }

  get #shared() {
    const masterKey = 'ab'.repeat(32)
    return {
      TALLYSTICK_MASTER_KEY: masterKey,
      TALLYSTICK_PUBLIC_URL: this.#url,
      TALLYSTICK_LOG_LEVEL: 'warn',
    }
  }

  get #asOwner() {
    return {
      ...this.#shared,
      DATABASE_URL: this.#postgres.ownerUrl,
      TALLYSTICK_API_DATABASE_URL: this.#urlAs('tallystick_api'),
      TALLYSTICK_WORKER_DATABASE_URL: this.#urlAs('tallystick_worker'),
    }
  }

  #urlAs(username: string, password = username): string {
    return Object.assign(new URL(this.#postgres.ownerUrl), { username, password }).href
  }

  async #run(args: string[], options: ContainerOptions): Promise<string> {
    return succeeded(await runInContainer(this.#image, args, options))
  }
}
