import { runVerify } from './audit.ts'
import { countFaults, countOffers, countShared, listReceived } from './federation-reads.ts'
import type { Pair } from './pair.ts'

/** Every shared entry of each chain is in the other one, once, and both verify. */
export type FederationAudit = {
  /** Entries of shared records in the home's chain, and offers in the guest's. */
  readonly shared: number
  readonly offers: number
  readonly offersOpen: number
  /** By the guest of the home's, and by the home of the guest's; each leaf is the sender's own. */
  readonly received: number
  readonly offersReceived: number
  readonly receivedTwice: number
  readonly deadLetters: number
  readonly forks: number
  readonly verify: readonly string[]
  readonly ok: boolean
}

/** `records`: that were acknowledged. */
export async function auditPair({ home, guest }: Pair, records: number): Promise<FederationAudit> {
  const shared = await countShared(home)
  const { offers, open: offersOpen } = await countOffers(guest)
  const atGuest = await listReceived(home, guest)
  const atHome = await listReceived(guest, home)
  const twice = [atGuest, atHome].map(
    (received) => received.length - new Set(received.map(({ remoteSeq }) => remoteSeq)).size,
  )
  const receivedTwice = twice[0]! + twice[1]!
  const faults = [await countFaults(home), await countFaults(guest)]
  const deadLetters = faults.reduce((sum, one) => sum + one.deadLetters, 0)
  const forks = faults.reduce((sum, one) => sum + one.forks, 0)
  const verify = [await runVerify(home.system), await runVerify(guest.system)]
  // Of what the home has received, one is the guest's half of the handshake.
  const offersReceived = atHome.length - 1
  const ok =
    shared === atGuest.length &&
    shared >= records &&
    offers === offersReceived &&
    [offersOpen, receivedTwice, deadLetters, forks].every((count) => count === 0) &&
    verify.every((verdict) => verdict.startsWith('INTEGRITY_OK'))
  return {
    shared,
    offers,
    offersOpen,
    received: atGuest.length,
    offersReceived,
    receivedTwice,
    deadLetters,
    forks,
    verify,
    ok,
  }
}
