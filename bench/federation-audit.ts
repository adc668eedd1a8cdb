import { createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { runTallystick, runVerify } from './audit.ts'
import { countFaults, countOffers, countShared, listReceived } from './federation-reads.ts'
import { type Pair, partyOf, type Side } from './pair.ts'

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
  /** What `tallystick reconcile` said of the two exports. */
  readonly reconcile: string
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
  const reconcile = await reconcileExports([home, guest])
  // Of what the home has received, one is the guest's half of the handshake.
  const offersReceived = atHome.length - 1
  const ok =
    shared === atGuest.length &&
    shared >= records &&
    offers === offersReceived &&
    [offersOpen, receivedTwice, deadLetters, forks].every((count) => count === 0) &&
    verify.every((verdict) => verdict.startsWith('INTEGRITY_OK')) &&
    reconcile.startsWith('RECONCILED')
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
    reconcile,
    ok,
  }
}

/** Offline, as whoever has nothing but the two files does it. */
async function reconcileExports(sides: readonly Side[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-bench-exports-'))
  try {
    const files: string[] = []
    for (const side of sides) files.push(await saveExport(side, join(folder, `${side.name}.export`)))
    return await runTallystick(['reconcile', ...files], /RECONCILED/)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function saveExport(side: Side, file: string): Promise<string> {
  const { target, bearer } = partyOf(side)
  const answer = await fetch(`http://${target.host}:${target.port}/v1/export`, {
    headers: { authorization: `Bearer ${bearer}` },
  })
  if (!answer.ok) throw new Error(`the ${side.name}'s export answered ${answer.status}`)
  await pipeline(Readable.fromWeb(answer.body as ReadableStream), createWriteStream(file))
  return file
}
