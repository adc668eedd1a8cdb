import { Tallystick } from '@tallystick/sdk'
import { Actions, type ActionsOptions } from '@tallystick/sdk/actions'
import { startWorker } from '../../src/run/worker.ts'
import type { Test } from '../../test/helpers/app.ts'
import { buildTestApp, type TestApp, testConfig } from '../../test/helpers/app.ts'
import { temporaryDir } from '../../test/helpers/postgres.ts'
import { startTcpProxy, type TcpProxy } from '../../test/helpers/tcp-proxy.ts'
import { assertVerifies } from '../../test/helpers/verify-app.ts'

/** A ledger behind a real server, with a connection that can be cut. */
export type TestLedger = {
  readonly app: TestApp
  readonly proxy: TcpProxy
  readonly tallystick: Tallystick
  /** Returns actions that are closed at the end of the test, before the server. */
  actions(options?: ActionsOptions): Actions
  /**
   * Verifies the chain. Returns the records since the last call as a tree by `parent`: one indented line per record.
   */
  tree(): Promise<string[]>
  /** Returns actions since the last call, in the order of their start, with the statuses of their outcomes. */
  ended(): Promise<Ended[]>
}

export type Ended = {
  readonly kind: string
  readonly name: string
  readonly isRoot: boolean
  readonly statuses: string[]
}

const CLOSE_MS_MAX = 5_000

// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
type Found = any

export async function openLedger(t: Test, { hasWorker = false } = {}): Promise<TestLedger> {
  const opened: Actions[] = []
  t.after(async () => {
    // Errors are ignored: if records are still not sent, the test has failed already.
    for (const actions of opened) await actions.close({ timeoutMs: CLOSE_MS_MAX }).catch(() => {})
  })
  const app = await buildTestApp(t)
  const url = await app.app.listen({ port: 0, host: '127.0.0.1' })
  const proxy = await startTcpProxy(t, url)
  if (hasWorker) {
    const { apiUrl, workerUrl } = app.database
    const worker = await startWorker({ ...testConfig(apiUrl), workerUrl, dataDir: temporaryDir() })
    t.after(() => worker.close())
  }
  const tallystick = new Tallystick({ baseUrl: proxy.url, apiKey: app.ledger.key.key })
  const seen = new Set<string>()
  const look = async () => {
    const { data } = (await app.send('GET', '/v1/records?order=desc&limit=200')).json()
    const fresh = data.reverse().filter(({ id }: Found) => !seen.has(id))
    for (const { id } of fresh) seen.add(id)
    return fresh
  }
  return {
    app,
    proxy,
    tallystick,
    actions(options) {
      const actions = new Actions({ tallystick, ...options })
      opened.push(actions)
      return actions
    },
    async tree() {
      const fresh = await look()
      await assertVerifies(app)
      return linesBelow(fresh, null)
    },
    async ended() {
      const fresh = await look()
      return fresh.flatMap(({ id, type, parent, payload }: Found) => {
        if (type !== 'agent-action/1') return []
        const outcomes = fresh.filter((one: Found) => one.type === 'agent-outcome/1' && one.parent === id)
        const statuses = outcomes.map(({ payload }: Found) => payload.status)
        return [{ kind: payload.kind, name: payload.name, isRoot: parent === null, statuses }]
      })
    },
  }
}

/**
 * Returns the lines of the records below a parent. Outcomes are part of their action's line, because their order
 * depends on the framework.
 */
function linesBelow(records: readonly Found[], parent: string | null): string[] {
  return records
    .filter((record) => record.parent === parent && record.type !== 'agent-outcome/1')
    .flatMap((record) => [
      lineOf(
        record,
        records.filter(({ parent, type }) => parent === record.id && type === 'agent-outcome/1'),
      ),
      ...linesBelow(records, record.id).map((line) => `  ${line}`),
    ])
}

function lineOf({ type, payload }: Found, outcomes: readonly Found[]): string {
  if (type === 'approval/1') return `${payload.decision} by ${payload.by.kind} ${payload.by.id ?? ''}`.trim()
  const ends = outcomes.map(({ payload: { status, errorType, error } }) => [status, errorType, error])
  return [`${payload.kind} ${payload.name}`, payload.told, ...ends.flat()].filter((text) => text).join(' · ')
}
