import assert from 'node:assert/strict'
import { findPort } from '../system/deployment/processes.ts'
import type { Test } from './app.ts'
import { createTestDatabase } from './database.ts'
import {
  type Agent,
  type Answer,
  type Member,
  Organisation,
  type OwnDatabase,
} from './federation-organisation.ts'
import { DELIVERY, PASSING, PAYLOAD } from './gated-app.ts'
import { until } from './wait.ts'

export type { Agent, Answer, Organisation, OwnDatabase } from './federation-organisation.ts'
export { Member } from './federation-organisation.ts'

export type OrganisationsOptions = {
  /** True if each API and worker is a process that can be killed. False if they run in this process. */
  readonly processes?: boolean
  /** Starts a proxy in front of each server. Takes the server's URL and returns the proxy's URL. */
  readonly through?: (url: string, index: number) => Promise<string>
  /** One database for each organisation. Default: copies of the suite's template. */
  readonly databases?: readonly OwnDatabase[]
  readonly environment?: Record<string, string>
}

const NAMES = ['Acme', 'Bolt', 'Crate', 'Dock'] as const
const SHARED_MS_MAX = 20_000

/** Starts organisations without peerings. They are stopped at the end of the test. */
export async function startOrganisations(
  t: Test,
  count: number,
  { processes = false, through = async (url) => url, databases, environment = {} }: OrganisationsOptions = {},
): Promise<Organisation[]> {
  const starting = NAMES.slice(0, count).map(async (name, i) => {
    const port = await findPort()
    const organisation = new Organisation({
      name,
      database: databases?.[i] ?? (await createTestDatabase(t)),
      masterKey: new Uint8Array(32).fill(0x40 + i),
      port,
      publicUrl: await through(`http://127.0.0.1:${port}`, i),
      processes,
      environment,
    })
    return organisation.open(t)
  })
  // All starts are awaited before an error is thrown, so that the end of the test can stop all organisations.
  const started = await Promise.allSettled(starting)
  return started.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
}

/**
 * Makes a peering by an invitation of the first member. When the peering is active on both sides, returns its id,
 * `peer_…`.
 */
export async function peer(inviter: Member, invited: Member, msMax = SHARED_MS_MAX): Promise<string> {
  const { id, invitation } = await inviter.ask('POST', '/v1/peers', { body: { name: invited.name } })
  await invited.ask('POST', '/v1/peers', { body: { name: inviter.name, invitation } })
  for (const side of [inviter, invited]) await untilPeer(side, id, 'active', msMax)
  return id
}

export async function untilPeer(
  side: Member,
  id: string,
  state: string,
  msMax = SHARED_MS_MAX,
): Promise<void> {
  const get = () => side.ask('GET', `/v1/peers/${id}`)
  await until(async () => (await get()).state === state, msMax).catch(async (error) => {
    throw new Error(`${side.name}: not ${state}, but ${JSON.stringify(await get())}`, { cause: error })
  })
}

export type SharedRecord = {
  readonly id: string
  readonly peer: string
  readonly home: Member
  readonly guest: Member
  /** Agent of the guest that performs the record; null if the performer is an agent of the home ledger. */
  readonly performer: Agent | null
}

export async function registerDelivery(home: Member): Promise<void> {
  await home.ask('POST', '/v1/types', { body: DELIVERY })
}

/** Creates a shared `delivery/1` that `performer` performs. `body` adds or replaces members. */
export async function share(
  {
    home,
    guest,
    peer,
    performer,
    documents = 'whole',
  }: Omit<SharedRecord, 'id'> & { readonly documents?: 'whole' | 'digests' },
  body: object = {},
): Promise<SharedRecord> {
  const { id } = await home.ask('POST', '/v1/records', {
    body: {
      type: 'delivery/1',
      payload: PAYLOAD,
      share: [{ peer, documents }],
      ...(performer && { performer: performer.remote }),
      ...body,
    },
  })
  return { id, peer, home, guest, performer }
}

/** Reads the record at one side. Returns null if the answer is 404. */
// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
export async function look(side: Member, { id }: Pick<SharedRecord, 'id'>): Promise<any> {
  const { status, body } = await side.send('GET', `/v1/records/${id}`)
  if (status === 404) return null
  if (status === 200) return body
  throw new Error(`${side.name}: GET /v1/records/${id} answered ${status}: ${JSON.stringify(body)}`)
}

/** Waits until the record has this state on both sides. Returns the guest's view. */
// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
export async function untilBoth(record: SharedRecord, state: string, msMax = SHARED_MS_MAX): Promise<any> {
  const { home, guest } = record
  for (const side of [home, guest]) {
    await until(async () => (await look(side, record))?.state === state, msMax).catch(async (error) => {
      const found = JSON.stringify(await look(side, record))
      throw new Error(`${side.name}: ${record.id} is not ${state}: ${found}`, { cause: error })
    })
  }
  return look(guest, record)
}

/** Takes the performer's step at the guest's server. Throws unless the answer is 202. */
export async function offer(
  { id, guest, performer }: SharedRecord,
  step: 'activate' | 'completions',
  body: object = step === 'activate' ? {} : { evidence: PASSING },
): Promise<Answer> {
  const answer = await guest.send('POST', `/v1/records/${id}/${step}`, { key: performer!.key, body })
  if (answer.status === 202) return answer
  throw new Error(`${guest.name}: ${step} of ${id} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
}

/** Takes a step of the principal at the home server. */
// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
export function take({ id, home }: SharedRecord, step: string, body: object): Promise<any> {
  return home.ask('POST', `/v1/records/${id}/${step}`, { body })
}

/** Takes all steps of the record from its creation to acceptance. Returns the guest's view. */
// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
export async function live(record: SharedRecord): Promise<any> {
  await untilBoth(record, 'CREATED')
  await offer(record, 'activate')
  await untilBoth(record, 'ACTIVE')
  await offer(record, 'completions')
  await untilBoth(record, 'VERIFIED')
  await take(record, 'verdict', { verdict: 'accept' })
  return untilBoth(record, 'ACCEPTED')
}

// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
export async function reconciliation(side: Member, id: string): Promise<any> {
  return side.ask('GET', `/v1/peers/${id}/reconciliation`)
}

export async function askAnew(side: Member, id: string) {
  const asked = await side.ask('POST', `/v1/peers/${id}/reconciliation`, { body: {} })
  assert.equal(asked.asking, true)
  await until(async () => !(await reconciliation(side, id)).asking, SHARED_MS_MAX)
  return reconciliation(side, id)
}

export async function untilQuiet(side: Member, id: string): Promise<void> {
  await until(async () => {
    const { sent, offers } = await reconciliation(side, id)
    return sent.inFlight === 0 && offers.made.pending === 0
  }, SHARED_MS_MAX)
}
