import { decode, Tagged } from 'cborg'
import { parseId } from '../../../src/proof/ids.ts'
import type { Member } from '../../helpers/federation.ts'
import { leafOf } from '../../helpers/open-envelope.ts'

/*
 * Compares two ledgers only by docs/formats/federation.md and by the bytes of their entries. This module shares no code
 * and no table with the code that sends, receives and reconciles.
 */

export type Peering = { readonly id: string; readonly sides: readonly [Member, Member] }

export type FederationReckoning = {
  /** Number of entries that one side should have received from the other side. */
  readonly shared: number
  /**
   * `lost` is the number of shared entries without a receipt. `doubled` is the number of entries with several receipts.
   */
  readonly lost: number
  readonly doubled: number
  /**
   * Number of receipts for entries that are not in the other side's chain, or that the other side should not have sent.
   */
  readonly ghosts: number
  /** Number of receipts that are in another order than the entries of their record. */
  readonly disordered: number
  readonly offers: number
  readonly openOffers: number
  readonly unlike: number
  readonly records: number
  readonly deadLetters: number
  readonly forks: number
  readonly findings: readonly string[]
}

export type Entry = {
  readonly seq: number
  readonly leaf: string
  readonly kind: string
  // biome-ignore lint/suspicious/noExplicitAny: the shape is docs/formats/statements.md's
  readonly predicate: any
}

export type Side = Pick<Member, 'name' | 'ledger'>

const FINDINGS_MAX = 20

export async function reckonPeerings(peerings: readonly Peering[]): Promise<FederationReckoning> {
  const found = new Findings()
  const entriesOf = new Map<Member, Entry[]>()
  for (const organisation of new Set(peerings.flatMap(({ sides }) => sides)))
    entriesOf.set(organisation, await readEntries(organisation))
  for (const { id, sides } of peerings) {
    for (const [sender, receiver] of [sides, [...sides].reverse()] as [Member, Member][]) {
      reckonSent(found, { id, sender, receiver }, entriesOf.get(sender)!, entriesOf.get(receiver)!)
      await reckonStandings(found, id, sender, receiver)
      for (const list of ['dead-letters', 'forks'] as const)
        for (const one of await listAll(sender, `/v1/peers/${id}/${list}`))
          found.add(list === 'forks' ? 'forks' : 'deadLetters', `${sender.name}: ${JSON.stringify(one)}`)
    }
  }
  return found.reckoning()
}

export class Findings {
  readonly #counts = {
    shared: 0,
    lost: 0,
    doubled: 0,
    ghosts: 0,
    disordered: 0,
    offers: 0,
    openOffers: 0,
    unlike: 0,
    records: 0,
    deadLetters: 0,
    forks: 0,
  }
  readonly #texts: string[] = []

  count(what: 'shared' | 'offers' | 'records'): void {
    this.#counts[what]++
  }

  add(
    what: 'lost' | 'doubled' | 'ghosts' | 'disordered' | 'openOffers' | 'unlike' | 'deadLetters' | 'forks',
    text: string,
  ): void {
    this.#counts[what]++
    if (this.#texts.length < FINDINGS_MAX) this.#texts.push(`${what}: ${text}`)
  }

  reckoning(): FederationReckoning {
    return { ...this.#counts, findings: this.#texts }
  }
}

export function reckonSent(
  found: Findings,
  { id, sender, receiver }: { id: string; sender: Side; receiver: Side },
  sent: readonly Entry[],
  held: readonly Entry[],
): void {
  const name = ({ seq, kind }: Entry) => `${sender.name} → ${receiver.name}, seq ${seq}, ${kind}`
  const receiptsOf = new Map<number, Entry[]>()
  for (const entry of held) {
    const of = receivedOf(entry)
    if (of?.ledger !== sender.ledger) continue
    receiptsOf.set(of.seq, [...(receiptsOf.get(of.seq) ?? []), entry])
    if (sent[of.seq]?.leaf !== of.leaf) found.add('ghosts', `${receiver.name}, seq ${entry.seq}: ${of.seq}`)
  }
  const isShared = sharedWith(id, sent)
  const lastOf = new Map<string, number>()
  for (const entry of sent) {
    const receipts = receiptsOf.get(entry.seq) ?? []
    if (receipts.length > 1) found.add('doubled', name(entry))
    if (entry.kind === 'peer-added') continue // The two peer-added entries of a handshake are not compared, because one of them is in an answer and is not sent.
    if (!isShared(entry)) {
      if (receipts.length > 0) found.add('ghosts', name(entry))
      continue
    }
    found.count('shared')
    if (receipts.length === 0) found.add('lost', name(entry))
    const { record, version } = entry.predicate
    if (version !== undefined && receipts.length > 0) {
      const at = receipts[0]!.seq
      if (at < (lastOf.get(record) ?? -1)) found.add('disordered', name(entry))
      lastOf.set(record, at)
    }
    if (entry.kind !== 'step-offered') continue
    found.count('offers')
    const decided = receipts.filter(({ kind }) => kind !== 'entry-received')
    if (decided.length !== 1) found.add('openOffers', name(entry))
  }
}

/** Returns a function that is true for those entries of the sender that the peer `id` should receive. */
function sharedWith(id: string, sent: readonly Entry[]): (entry: Entry) => boolean {
  const records = new Set<string>()
  const names = ({ predicate }: Entry) =>
    (predicate.share ?? []).some(({ peer }: { peer: string }) => peer === id)
  for (const entry of sent) if (names(entry)) records.add(entry.predicate.record)
  return (entry) => {
    const { kind, predicate } = entry
    if (kind === 'server-key-rotated') return true
    if (kind === 'step-offered' || kind === 'offer-refused') return predicate.peer === id
    if (kind === 'record-shared') return names(entry)
    return predicate.version !== undefined && records.has(predicate.record)
  }
}

function receivedOf({ kind, predicate }: Entry): { ledger: string; seq: number; leaf: string } | null {
  if (kind === 'entry-received' || kind === 'offer-refused' || kind === 'peer-key-rotated')
    return predicate.received
  return kind === 'step-offered' ? null : (predicate.offer ?? null)
}

async function reckonStandings(found: Findings, id: string, home: Member, guest: Member): Promise<void> {
  const standings = async (side: Member, role: 'home' | 'guest') => {
    const records = await listAll(side, `/v1/peers/${id}/records`)
    return new Map(
      records.filter((one) => one.role === role).map((one) => [one.id, `${one.state} ${one.version}`]),
    )
  }
  const [there, here] = await Promise.all([standings(home, 'home'), standings(guest, 'guest')])
  for (const record of new Set([...there.keys(), ...here.keys()])) {
    found.count('records')
    if (there.get(record) !== here.get(record))
      found.add('unlike', `${record}: ${home.name} ${there.get(record)}, ${guest.name} ${here.get(record)}`)
  }
}

// biome-ignore lint/suspicious/noExplicitAny: what the API answers
async function listAll(side: Member, path: string): Promise<any[]> {
  const all = []
  for (let cursor = ''; ; ) {
    const page = await side.ask('GET', `${path}?limit=100${cursor}`)
    all.push(...page.data)
    if (page.nextCursor === null) return all
    cursor = `&cursor=${page.nextCursor}`
  }
}

/**
 * Returns all entries of the ledger by seq. Signatures and links are not checked here, because the verifier checks
 * them.
 */
async function readEntries(organisation: Member): Promise<Entry[]> {
  const rows = await organisation.sql<{ seq: string; envelope: Buffer }>(
    'select seq, envelope from tallystick.entries where ledger_id = $1 order by seq',
    [parseId('led', organisation.ledger)],
  )
  return rows.map(({ seq, envelope }, i) => {
    if (Number(seq) !== i) throw new Error(`${organisation.name}: seq ${seq} stands where ${i} should`)
    const tagged = decode(envelope, { useMaps: true, tags: Tagged.preserve(18) }) as Tagged
    const payload = (tagged.value as Uint8Array[])[2]!
    const { predicateType, predicate } = JSON.parse(Buffer.from(payload).toString('utf8'))
    const kind = predicateType.split('/').at(-2)
    return { seq: i, leaf: leafOf(envelope).toString('hex'), kind, predicate }
  })
}

export function formatFederationReckoning(reckoning: FederationReckoning): string {
  const { findings, ...counts } = reckoning
  const text = Object.entries(counts).map(([name, count]) => `${name}=${count}`)
  return [text.join(' '), ...findings].join('\n  ')
}
