import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Loops, startLoops } from '../../../bench/load/loops.ts'
import type { Agent, Answer, Member } from '../../helpers/federation.ts'
import { FAILING, PASSING, PAYLOAD } from '../../helpers/gated-app.ts'
import { Abandoned, persist } from './persist.ts'

/** Two organisations. An agent of the guest performs the records of the home. */
export type Partners = {
  readonly home: Member
  readonly guest: Member
  readonly performer: Agent
  readonly peer: string
  /** A third organisation, with which some records are shared too; null if there is none. */
  readonly witness: { readonly peer: string; readonly organisation: Member } | null
}

export type RunningFederationClients = Loops & {
  readonly ends: Readonly<Record<string, number>>
}

type State = { begun: number; stopping: boolean; abandoned: boolean; readonly ends: Record<string, number> }

/**
 * Maximum waits in ms, so that a hang fails the test. Killed servers come back within half a minute on a busy machine.
 * A Postgres that does not stop is stopped immediately after a minute (src/run/postgres/postmaster.ts) and then
 * recovers. While faults last, peers get each other's entries even later.
 */
const ANSWER_MS_MAX = 300_000
const SHARED_MS_MAX = 600_000
const LOOK_EVERY_MS = 100

/**
 * Starts one client in a closed loop for each pair. The client acts for both parties and takes records from creation to
 * end. `recordsMax` is the total of all clients.
 */
export function startFederationClients(
  pairs: readonly Partners[],
  recordsMax = Number.POSITIVE_INFINITY,
): RunningFederationClients {
  const state: State = { begun: 0, stopping: false, abandoned: false, ends: {} }
  const run = async (first: number) => {
    for (let n = first; !state.stopping && state.begun++ < recordsMax; n++) {
      const end = await WAYS[n % WAYS.length]!(new Client(pairs[first]!, state))
      state.ends[end] = (state.ends[end] ?? 0) + 1
    }
  }
  return { ...startLoops(pairs.length, run, state), ends: state.ends }
}

/** The ways that a record can take. Each function returns the state in which its record ends. */
const WAYS: readonly ((client: Client) => Promise<string>)[] = [accepted, judgedByRules, raced, revised]

async function accepted(client: Client): Promise<string> {
  await client.create({ documents: 'whole' })
  await client.offer('activate', {})
  await client.sees('ACTIVE')
  await client.offer('completions', { evidence: PASSING })
  await client.sees('VERIFIED')
  await client.take('verdict', { verdict: 'accept' }, [200])
  return client.sees('ACCEPTED')
}

async function judgedByRules(client: Client): Promise<string> {
  await client.create({ documents: 'digests', gate: 'auto' })
  await client.offer('activate', {})
  await client.sees('ACTIVE')
  await client.offer('completions', { evidence: FAILING })
  return client.sees('REJECTED')
}

/** The principal cancels while the performer delivers. The home's chain decides. */
async function raced(client: Client): Promise<string> {
  await client.create({ documents: 'whole', withWitness: true })
  await client.offer('activate', {})
  await client.sees('ACTIVE')
  const [offered, cancelled] = await Promise.all([
    // The status is 409 if the offer was late: the performer's server already knew that the record had ended.
    client.offer('completions', { evidence: PASSING }, [202, 409]),
    sleep(Math.random() * 100).then(() => client.take('cancel', { reason: 'withdrawn' }, [200, 409])),
  ])
  if (cancelled.status === 200) return client.sees('CANCELLED')
  if (offered.status === 409)
    throw new Error(`offered and cancelled were both refused: ${JSON.stringify(offered.body)}`)
  await client.sees('VERIFIED')
  await client.take('verdict', { verdict: 'reject' }, [200])
  return client.sees('REJECTED')
}

async function revised(client: Client): Promise<string> {
  await client.create({ documents: 'whole', withWitness: true })
  await client.offer('activate', {})
  await client.sees('ACTIVE')
  await client.offer('completions', { evidence: FAILING })
  await client.sees('DISCREPANT')
  await client.take('revision', { reason: 'count again' }, [200])
  await client.sees('ACTIVE')
  await client.offer('completions', { evidence: PASSING })
  await client.sees('VERIFIED')
  await client.take('verdict', { verdict: 'accept' }, [200])
  return client.sees('ACCEPTED')
}

/** A client of one record. It repeats each request with the same idempotency key until the request is answered. */
class Client {
  readonly #partners: Partners
  readonly #state: State
  #id = ''

  constructor(partners: Partners, state: State) {
    this.#partners = partners
    this.#state = state
  }

  async create(options: {
    readonly documents: 'whole' | 'digests'
    readonly gate?: 'auto'
    readonly withWitness?: boolean
  }): Promise<void> {
    const { home, performer, peer, witness } = this.#partners
    const { documents, gate, withWitness } = options
    const share = [{ peer, documents }]
    if (withWitness && witness) share.push({ peer: witness.peer, documents: 'digests' })
    share.sort((a, b) => (a.peer < b.peer ? -1 : 1))
    const terms = { performer: performer.remote, share, ...(gate && { gate }) }
    const answer = await this.#ask(home, '', { type: 'delivery/1', payload: PAYLOAD, ...terms }, [201])
    this.#id = answer.body.id
    await this.sees('CREATED')
  }

  offer(
    step: 'activate' | 'completions',
    body: object,
    statuses: readonly number[] = [202],
  ): Promise<Answer> {
    const { guest, performer } = this.#partners
    return this.#ask(guest, `/${this.#id}/${step}`, body, statuses, performer.key)
  }

  take(step: string, body: object, statuses: readonly number[]): Promise<Answer> {
    return this.#ask(this.#partners.home, `/${this.#id}/${step}`, body, statuses)
  }

  /** Waits until the guest has received the state, and the guest's offer is decided. Returns the state. */
  async sees(state: string): Promise<string> {
    const { guest, home } = this.#partners
    // biome-ignore lint/suspicious/noExplicitAny: what the API answers
    let seen: any = null
    for (const giveUpAt = Date.now() + SHARED_MS_MAX; Date.now() < giveUpAt; await sleep(LOOK_EVERY_MS)) {
      if (this.#state.abandoned) throw new Abandoned()
      const { status, body } = await this.#persist(() => guest.send('GET', `/v1/records/${this.#id}`))
      seen = status === 404 ? null : body
      if (seen?.state === state && seen.gated.offer?.state !== 'pending') return state
    }
    const held = await home.send('GET', `/v1/records/${this.#id}`)
    throw new Error(
      `${guest.name} never saw ${this.#id} of ${home.name} as ${state}: ${JSON.stringify(seen)}; at home ${JSON.stringify(held.body)}`,
    )
  }

  async #ask(
    at: Member,
    path: string,
    body: object,
    statuses: readonly number[],
    key = at.admin.key,
  ): Promise<Answer> {
    const headers = { 'idempotency-key': randomUUID() }
    const answer = await this.#persist(() => at.send('POST', `/v1/records${path}`, { key, body, headers }))
    if (statuses.includes(answer.status)) return answer
    throw new Error(`${at.name}: POST ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
  }

  #persist(send: () => Promise<Answer>): Promise<Answer> {
    return persist(send, { msMax: ANSWER_MS_MAX, state: this.#state })
  }
}
