import { setTimeout as sleep } from 'node:timers/promises'
import { parseId } from '../../../src/proof/ids.ts'
import { checkLedger as checkRows } from '../../helpers/check-ledger.ts'
import type { Deployment, Ledger } from '../deployment/deployment.ts'
import { withPatientClient } from '../deployment/processes.ts'
import { settle } from '../faults/federation-faults.ts'
import type { FederationReckoning, Peering } from '../faults/federation-reckoning.ts'
import { readAll } from '../faults/kill.ts'
import { countVerified, type Verified } from '../faults/kill-workers.ts'
import { checkLedger } from '../faults/ledger-contents.ts'
import { type Reckoning, reckon } from '../faults/reckoning.ts'
import {
  type Listener,
  type Reckoned,
  reckonWebhooks,
  settleWebhooks,
  type WebhookReckoning,
} from '../faults/webhook-listeners.ts'
import { reconcileAll } from './federation-lifecycle.ts'
import type { Memory } from './memory-watch.ts'

/**
 * Maximum growth of a process's live memory in the calm phase, if that phase was long enough. Live memory counts,
 * because V8 collects garbage late while there is room. Some growth is normal: known statements take 32 MiB when their
 * cache is full. At the rates of this test, some processes still fill the cache after an hour, by up to 10 MiB in 15
 * minutes. A leak of 90 bytes a record exceeds the limit. A real leak once grew by 14 MiB a minute.
 */
const LIVE_GROWTH_MIB_MAX = 24
/** Maximum growth of a Postgres, in percent of the private memory of its backends. */
const RESIDENT_GROWTH_PERCENT_MAX = 10
const GROWTH_JUDGED_FROM_MINUTES = 10
/**
 * Maximum resident memory in any run. It equals the size of the container for which `HEAP_MIB_MAX` was chosen
 * (docs/operate/image.md).
 */
const RESIDENT_MIB_MAX = 1_024
/** Time in ms without an erasure after which the remaining payloads count as not erased. */
const ERASED_QUIET_MS_MAX = 60_000
const ERASED_LOOK_EVERY_MS = 500

export type ChaosEvidence = {
  readonly dir: string
  readonly home: Deployment
  readonly guest: Deployment
  /** Ledgers with a journal of acknowledged records: the clients' ledgers and the readers' ledger. */
  readonly journaled: readonly Ledger[]
  readonly gated: readonly Ledger[]
  readonly read: Ledger
  readonly federated: { readonly home: string; readonly guest: string }
  readonly erased: ReadonlySet<string>
  readonly listeners: readonly Listener[]
  readonly peerings: readonly Peering[]
  readonly memory: Memory
}

export type ChaosReckoning = {
  readonly records: Reckoning
  readonly gated: Verified & { readonly stuck: number }
  readonly webhooks: WebhookReckoning
  readonly federation: FederationReckoning
  readonly reconciled: readonly string[]
  readonly unerased: number
  readonly entries: number
  readonly memory: Memory
  /** Checks that failed to find a fault that was made on purpose. */
  readonly blind: readonly string[]
}

/**
 * Waits until all work in progress has ended. Then compares what clients were promised with the contents of the
 * ledgers.
 */
export async function reckonChaos(evidence: ChaosEvidence): Promise<ChaosReckoning> {
  const { dir, home, guest, journaled, gated, read, federated, listeners, peerings, memory } = evidence
  const federation = await settle(peerings)
  const deliveries = await settleWebhooks(home.superuserUrl, listeners, true)
  const unerased = await countUnerased(evidence)
  const { journal, stored, entries: journaledEntries } = await readAll(home, dir, journaled)
  let entries = journaledEntries
  for (const { ledger } of [...gated, read, { ledger: federated.home }])
    entries += await checkLedger(home.ownerUrl, ledger)
  entries += await checkLedger(guest.ownerUrl, federated.guest)
  // The steps of each record must lead from its creation to its state, by the table of transitions.
  await withPatientClient(home.superuserUrl, async (client) => {
    for (const { ledger } of gated) await checkRows(client, parseId('led', ledger))
  })
  return {
    records: reckon(journal, stored),
    gated: { ...(await countVerified(home.ownerUrl, gated)), stuck: await countStuck(home.ownerUrl) },
    webhooks: reckonWebhooks(deliveries),
    federation,
    reconciled: await reconcileAll(dir, peerings),
    unerased,
    entries,
    memory,
    blind: await findBlind(evidence, deliveries, journal, stored),
  }
}

/** Counts records that are neither verified nor expired, although nothing is in progress. */
async function countStuck(url: string): Promise<number> {
  return withPatientClient(url, async (client) => {
    const { rows } = await client.query<{ stuck: number }>(
      `select count(*)::int as stuck from tallystick.gated_records
       where state = 'SUBMITTED' or (gate = 'auto' and state in ('VERIFIED', 'DISCREPANT'))
         or (ended_as = '' and deadline < now())`,
    )
    return rows[0]!.stuck
  })
}

async function countUnerased({ home, read, erased }: ChaosEvidence): Promise<number> {
  const count = () =>
    withPatientClient(home.superuserUrl, async (client) => {
      const { rows } = await client.query<{ left: number }>(
        `select count(*)::int as left from tallystick.records
         where ledger_id = $1 and record_id = any ($2::uuid[]) and payload is not null`,
        [parseId('led', read.ledger), [...erased].map((id) => parseId('rec', id))],
      )
      return rows[0]!.left
    })
  let left = await count()
  for (let at = performance.now(); left > 0 && performance.now() - at < ERASED_QUIET_MS_MAX; ) {
    await sleep(ERASED_LOOK_EVERY_MS)
    const now = await count()
    if (now < left) at = performance.now()
    left = now
  }
  return left
}

/**
 * Runs the same checks on copies of the evidence with one error each. Returns the checks that do not find their error.
 * The last error is a record that is permanently deleted from the database.
 */
async function findBlind(
  { home, journaled }: ChaosEvidence,
  deliveries: readonly Reckoned[],
  journal: Parameters<typeof reckon>[0],
  stored: Parameters<typeof reckon>[1],
): Promise<string[]> {
  const acked = journal.find(({ outcome }) => outcome === 'acked')!
  const neverSent = { ...acked, intent: 'never sent' }
  const taken = stored.findIndex(({ intent }) => intent === acked.intent)
  const deaf = deliveries.map((one) => {
    const [unheard] = one.expected.keys()
    return { ...one, received: one.received.filter(({ name }) => name !== unheard) }
  })
  const haunted = deliveries.map((one) => ({
    ...one,
    stored: { ...one.stored, events: new Map([...one.stored.events].slice(1)) },
  }))
  const controls: Record<string, boolean> = {
    'an acknowledged id that was never sent':
      reckon([...journal, neverSent], stored).lost === acked.ids.length,
    'a record that is gone': reckon(journal, stored.toSpliced(taken, 1)).lost === 1,
    'an event that was not heard': reckonWebhooks(deaf).lost === deliveries.length,
    'an event that is not in the ledger': reckonWebhooks(haunted).ghosts >= deliveries.length,
    'a record that was taken from the database': await isTakenFound(home, journaled[0]!),
  }
  return Object.keys(controls).filter((name) => !controls[name])
}

async function isTakenFound({ superuserUrl, ownerUrl }: Deployment, { ledger }: Ledger): Promise<boolean> {
  await withPatientClient(superuserUrl, async (client) => {
    await client.query('set session_replication_role = replica')
    const { rowCount } = await client.query(
      `delete from tallystick.records where ctid = (
         select ctid from tallystick.records where ledger_id = $1 order by first_seq limit 1)`,
      [parseId('led', ledger)],
    )
    if (rowCount !== 1) throw new Error('there is no record to take')
  })
  return checkLedger(ownerUrl, ledger).then(
    () => false,
    () => true,
  )
}

export function findFaults(reckoning: ChaosReckoning): string[] {
  const { records, gated, webhooks, federation, reconciled, unerased, memory, blind } = reckoning
  const { shared, offers, records: sharedRecords, findings, ...unequal } = federation
  const zeros = {
    ...prefixed('records', pick(records, ['lost', 'doubled', 'ghosts', 'torn'])),
    ...prefixed('gated', pick(gated, ['doubled', 'unverified', 'unjudged', 'deadLetters', 'stuck'])),
    ...prefixed('webhooks', pick(webhooks, ['lost', 'disordered', 'unstable', 'ghosts'])),
    ...prefixed('federation', unequal),
    unerased,
    'controls that found nothing': blind.length,
  }
  const some = {
    acked: records.acked,
    completions: gated.completions,
    events: webhooks.events,
    shared,
    offers,
    sharedRecords,
  }
  const grown = Object.entries(memory).filter(
    ([, { minutes, resident, live }]) =>
      resident.max > RESIDENT_MIB_MAX ||
      (minutes >= GROWTH_JUDGED_FROM_MINUTES &&
        (live
          ? live.last - live.first > LIVE_GROWTH_MIB_MAX
          : resident.percent > RESIDENT_GROWTH_PERCENT_MAX)),
  )
  return [
    ...Object.entries(zeros).flatMap(([name, count]) => (count === 0 ? [] : [`${name}=${count}`])),
    ...Object.entries(some).flatMap(([name, count]) =>
      count > 0 ? [] : [`${name}=0: the run has shown nothing`],
    ),
    ...findings,
    ...reconciled.filter((said) => !/: RECONCILED records=[1-9].* inFlight=0 keys=given/.test(said)),
    ...grown.map(
      ([name, { resident, live }]) =>
        `memory of ${name}: ${live ? `${live.first.toFixed(0)} → ${live.last.toFixed(0)} MiB live` : `${resident.percent.toFixed(1)} % more`}, ${resident.max.toFixed(0)} MiB at most`,
    ),
  ]
}

function pick<T extends object, K extends keyof T & string>(
  from: T,
  names: readonly K[],
): Record<string, number> {
  return Object.fromEntries(names.map((name) => [name, Number(from[name])]))
}

function prefixed(prefix: string, counts: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [`${prefix}: ${name}`, count]))
}
