import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { Tallystick } from '../../../sdk/client.ts'
import { TallystickError } from '../../../sdk/errors.ts'
import type { Ledger } from '../deployment/deployment.ts'

const CLIENTS = 2
const PAUSE_MS_MAX = 100
const PAGE = 100

export type RunningSdkClients = {
  readonly calls: number
  /** Number of attempts that were refused or had no answer, by status or error. */
  readonly refused: Readonly<Record<string, number>>
  readonly failed: number
  /** Resolves when all clients have ended. Rejects when a client has failed. */
  ended(): Promise<unknown>
  /** Starts no new calls. Then checks that each written record is in the list of all records. */
  finish(): Promise<void>
  abandon(): Promise<void>
}

type State = {
  readonly written: Set<string>
  readonly refused: Record<string, number>
  calls: number
  failed: number
  stopping: boolean
}

/** Starts applications that use the SDK with its defaults. Each alternately writes and reads a record. */
export function startSdkClients(urls: readonly string[], { bearer }: Ledger): RunningSdkClients {
  const state: State = { written: new Set(), refused: {}, calls: 0, failed: 0, stopping: false }
  const clients = urls.flatMap((baseUrl) =>
    Array.from(
      { length: CLIENTS },
      () => new Tallystick({ baseUrl, apiKey: bearer, fetch: countingFetch(state.refused) }),
    ),
  )
  const running = Promise.all(clients.map((client) => run(state, client)))
  running.catch(() => {}) // The error is reported by `finish`.
  const stop = async () => {
    state.stopping = true
    await running
  }
  return {
    get calls() {
      return state.calls
    },
    get failed() {
      return state.failed
    },
    refused: state.refused,
    ended: () => running,
    async finish() {
      await stop()
      const missing = new Set(state.written)
      for await (const { id } of clients[0]!.records.list({ limit: PAGE })) missing.delete(id)
      assert.equal(missing.size, 0, `records that are not listed: ${[...missing].slice(0, 5).join(', ')}`)
    },
    abandon: stop,
  }
}

async function run(state: State, client: Tallystick): Promise<void> {
  for (let n = 0; !state.stopping; n++) {
    try {
      const { id } = await client.records.notarize({ payload: { n } })
      state.written.add(id)
      const { payload } = await client.records.get(id)
      assert.deepEqual(payload, { n })
      state.calls += 2
    } catch (error) {
      if (!(error instanceof TallystickError) || !error.retryable) throw error
      state.failed++
    }
    await sleep(Math.random() * PAUSE_MS_MAX)
  }
}

function countingFetch(refused: Record<string, number>): typeof fetch {
  const count = (label: string) => {
    refused[label] = (refused[label] ?? 0) + 1
  }
  return async (...args) => {
    try {
      const answer = await fetch(...args)
      if (!answer.ok) count(String(answer.status))
      return answer
    } catch (error) {
      count((error as Error).name)
      throw error
    }
  }
}
