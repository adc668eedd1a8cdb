import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Member, startOrganisations } from '../../helpers/federation.ts'
import { runCli } from '../../helpers/run-cli.ts'
import { startFederationClients } from '../faults/federation-clients.ts'
import { freshDatabases, pairsOf, peerAll, settle } from '../faults/federation-faults.ts'
import type { FederationReckoning, Peering } from '../faults/federation-reckoning.ts'
import { checkLedger } from '../faults/ledger-contents.ts'

export type LifecyclePlan = {
  readonly organisations: 2 | 3
  /** Number of clients for each pair of organisations. In a pair, one organisation performs records of the other. */
  readonly clients: number
  readonly records: number
}

export type LifecycleOutcome = {
  readonly reckoning: FederationReckoning
  readonly entries: number
  readonly ends: Readonly<Record<string, number>>
  /** Output of `tallystick reconcile` on the exports of each pair of ledgers. */
  readonly reconciled: readonly string[]
  readonly livedMs: number
}

/**
 * Runs organisations that all have peerings and share records. The records end in all ways. Then each pair of ledgers
 * is reconciled offline, from only the exports and the kids of public keys.
 */
export async function liveFederation(dir: string, plan: LifecyclePlan): Promise<LifecycleOutcome> {
  const cleanups: (() => Promise<void>)[] = []
  const after = (cleanup: () => Promise<void>) => void cleanups.push(cleanup)
  try {
    return await live({ name: 'federation-lifecycle', after }, dir, plan)
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup()
  }
}

type Ends = { readonly name: string; after(cleanup: () => Promise<void>): void }

async function live(t: Ends, dir: string, plan: LifecyclePlan): Promise<LifecycleOutcome> {
  const databases = await freshDatabases(t, dir, plan.organisations)
  const organisations = await startOrganisations(t, plan.organisations, { processes: true, databases })
  const peerings = await peerAll(organisations)
  const pairs = await pairsOf(organisations, peerings)
  const beganAt = performance.now()
  const clients = startFederationClients(Array(plan.clients).fill(pairs).flat(), plan.records)
  t.after(() => clients.abandon())
  await clients.ended()
  const livedMs = Math.round(performance.now() - beganAt)
  const reckoning = await settle(peerings)
  let entries = 0
  for (const { database, ledger } of organisations)
    entries += await checkLedger(database.superuserUrl, ledger)
  return { reckoning, entries, ends: clients.ends, reconciled: await reconcileAll(dir, peerings), livedMs }
}

/** Reconciles each pair of ledgers from their exports. The servers are not needed. */
export async function reconcileAll(dir: string, peerings: readonly Peering[]): Promise<string[]> {
  const files = new Map<Member, string>()
  for (const side of new Set(peerings.flatMap(({ sides }) => sides))) {
    const file = join(dir, `${side.name}.ndjson`)
    writeFileSync(file, (await side.send('GET', '/v1/export')).body)
    files.set(side, file)
  }
  const said: string[] = []
  for (const { id, sides } of peerings) {
    const [one, other] = sides
    const kids = [await firstKid(one, id), await firstKid(other, id)]
    const args = ['reconcile', files.get(one)!, files.get(other)!, ...kids.flatMap((kid) => ['--key', kid])]
    const { code, stdout, stderr } = await runCli(args)
    const last = stdout.trimEnd().split('\n').at(-1)!
    assert.equal(code, 0, `${one.name}, ${other.name}: ${last} ${stderr}`)
    said.push(`${one.name}, ${other.name}: ${last}`)
  }
  return said
}

/** Returns the kid of the other side's key, from the handshake. */
async function firstKid(side: Member, peer: string): Promise<string> {
  return (await side.ask('GET', `/v1/peers/${peer}`)).remote.envelopeKey.kid
}

export function formatLifecycle({ entries, ends, reconciled, livedMs }: LifecycleOutcome): string {
  const list = Object.entries(ends).map(([name, count]) => `${count} ${name}`)
  return [`records: ${list.join(', ')} in ${livedMs} ms; entries=${entries} verified`, ...reconciled].join(
    '\n  ',
  )
}

/** Throws unless every record is in both chains exactly once, with the same content. */
export function requireReconciled(
  { reckoning, ends, reconciled }: LifecycleOutcome,
  { records }: LifecyclePlan,
): void {
  const { shared, offers, records: sharedRecords, findings, ...bad } = reckoning
  assert.deepEqual(findings, [])
  for (const [name, count] of Object.entries(bad)) assert.equal(count, 0, name)
  assert.ok(shared > 0 && offers > 0 && sharedRecords >= records)
  assert.equal(
    Object.values(ends).reduce((sum, count) => sum + count, 0),
    records,
  )
  for (const said of reconciled) assert.match(said, /: RECONCILED records=[1-9].* inFlight=0 keys=given/)
}
