import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { withClient } from '../../../src/db/connect/client.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { bareEnvironment } from '../../helpers/bare-environment.ts'
import { listPayloads } from '../../helpers/batch-records.ts'
import { until } from '../../helpers/wait.ts'
import { Deployment, type Ledger } from '../deployment/deployment.ts'
import { end } from '../deployment/processes.ts'
import { checkLedger } from './ledger-contents.ts'

type Plan = {
  readonly victims: readonly ('agent' | 'api')[]
  readonly workMs: { readonly min: number; readonly max: number }
}

/** Counts of records. `lost`, `doubled`, `ghosts` and `disordered` must be 0. */
export type AgentReckoning = {
  /** Number of records for which `record` had returned. */
  readonly taken: number
  readonly lost: number
  readonly doubled: number
  /** Number of records in the ledger that the agent had not started to record. */
  readonly ghosts: number
  /** Number of records that stand directly behind a record which the agent recorded later. */
  readonly disordered: number
  /** Number of batches that each killed agent left in its spool. A kill that leaves none tests nothing. */
  readonly filesLeft: readonly number[]
  readonly entries: number
}

/** Kills an agent with a spool, and its server, in the middle of their work. Then another agent finishes the work. */
export async function killAgent(dir: string, plan: Plan): Promise<AgentReckoning> {
  const deployment = await Deployment.start({ dir, apis: 1, worker: false })
  let agent: ChildProcess | null = null
  try {
    const ledger = await deployment.createLedger('agents')
    const lives = new Lives(dir, deployment.urls[0]!, ledger)
    const filesLeft: number[] = []
    agent = await lives.begin()
    for (const victim of plan.victims) {
      await sleep(plan.workMs.min + Math.random() * (plan.workMs.max - plan.workMs.min))
      if (victim === 'agent') {
        await end(agent, 'SIGKILL')
        filesLeft.push(lives.batchFiles())
        agent = await lives.begin()
      } else {
        await deployment.killApi(0)
        await deployment.startApi(0)
      }
    }
    await sleep(plan.workMs.min)
    await end(agent, 'SIGTERM')
    if (agent.exitCode !== 0) throw new Error(`the last agent ended with ${agent.exitCode}`)
    if (lives.batchFiles() > 0) throw new Error(`${lives.batchFiles()} batches are left when all is recorded`)
    const stored = await readStored(deployment.ownerUrl, ledger.ledger)
    const entries = await checkLedger(deployment.ownerUrl, ledger.ledger)
    return { ...reckon(lives.taken(), stored), filesLeft, entries }
  } finally {
    if (agent) await end(agent, 'SIGKILL')
    await deployment.stop()
  }
}

/** Maximum time in ms of an agent's start on a busy machine. Normally a start takes half a second. */
const BEGIN_MS_MAX = 60_000
const AGENT = new URL('./agent.ts', import.meta.url).pathname

class Lives {
  readonly #journals: string
  readonly #spool: string
  readonly #url: string
  readonly #ledger: Ledger
  #count = 0

  constructor(dir: string, url: string, ledger: Ledger) {
    this.#journals = join(dir, 'journals')
    this.#spool = join(dir, 'spool')
    this.#url = url
    this.#ledger = ledger
    mkdirSync(this.#journals)
  }

  async begin(): Promise<ChildProcess> {
    const life = this.#count++
    const journal = join(this.#journals, `${life}`)
    const args = [AGENT, this.#url, this.#ledger.bearer, this.#spool, journal, `${life}`]
    const child = spawn(process.execPath, args, {
      env: bareEnvironment(),
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    const kill = () => child.kill('SIGKILL')
    process.once('exit', kill)
    once(child, 'exit').then(() => process.off('exit', kill))
    const begun = until(() => {
      if (child.exitCode !== null) throw new Error(`agent ${life} ended with ${child.exitCode}`)
      return sizeOf(journal) > 0
    }, BEGIN_MS_MAX)
    // The caller does not know the child yet, and the child would keep this process alive. So it is killed here.
    await begun.catch((error) => {
      kill()
      throw error
    })
    return child
  }

  batchFiles(): number {
    return readdirSync(this.#spool).filter((name) => /^\d{16}\.ndjson$/.test(name)).length
  }

  taken(): number[] {
    return Array.from({ length: this.#count }, (_, life) => sizeOf(join(this.#journals, `${life}`)))
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

type Stored = { readonly life: number; readonly i: number }

async function readStored(url: string, ledger: string): Promise<Stored[]> {
  return withClient(url, async (client) => {
    const stored = await listPayloads(client, parseId('led', ledger))
    return stored.map(({ payload }) => JSON.parse(payload) as Stored)
  })
}

type Counts = Omit<AgentReckoning, 'filesLeft' | 'entries'>

function reckon(taken: readonly number[], stored: readonly Stored[]): Counts {
  const times = taken.map(() => new Map<number, number>())
  let disordered = 0
  let last: Stored = { life: 0, i: -1 }
  for (const record of stored) {
    const seen = times[record.life]!
    seen.set(record.i, (seen.get(record.i) ?? 0) + 1)
    if (record.life < last.life || (record.life === last.life && record.i <= last.i)) disordered++
    last = record
  }
  const counts = { taken: 0, lost: 0, doubled: 0, ghosts: 0, disordered }
  for (const [life, seen] of times.entries()) {
    const promised = taken[life]!
    counts.taken += promised
    for (let i = 0; i < promised; i++) if (!seen.has(i)) counts.lost++
    // The ledger may contain one record more than the agent promised: the record during which the agent was killed.
    for (const [i, count] of seen) {
      counts.doubled += count - 1
      if (i > promised) counts.ghosts++
    }
  }
  return counts
}

export function formatAgentReckoning(r: AgentReckoning): string {
  return (
    `taken=${r.taken} lost=${r.lost} doubled=${r.doubled} ghosts=${r.ghosts} disordered=${r.disordered} ` +
    `entries=${r.entries} verified; batches left by each killed agent: ${r.filesLeft.join(', ')}`
  )
}
