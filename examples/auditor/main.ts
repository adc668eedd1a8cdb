/*
 * npm run example -- auditor [--record rec_…] [--kid HEX] [--note-key VKEY] [--folder FOLDER]
 *
 * An outside auditor runs this program once a day, with an API key that has only the scope `audit:read`. The program
 * stores the ledger's checkpoints and compares each with the one before. It verifies the whole ledger against them, and
 * verifies the settlement of a record. It does not trust the server. It exits with 1 if something contradicts the
 * signed or stored evidence, and with 2 if that could not be checked.
 */
import { createWriteStream, openAsBlob } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { Tallystick, verify } from '@tallystick/sdk'
import { credentials } from '../credentials.ts'
import { KeptCheckpoints } from './checkpoints.ts'
import { findVerdict } from './find-verdict.ts'

try {
  await audit()
} catch (error) {
  const isContradiction = error instanceof verify.VerificationError
  console.error(`${isContradiction ? 'CONTRADICTION' : 'not checked:'} ${(error as Error).message}`)
  process.exitCode = isContradiction ? 1 : 2
}

async function audit(): Promise<void> {
  const { record, kid: kids, folder, 'note-key': givenNoteKey } = readOptions()
  const tallystick = new Tallystick(credentials())
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const ledger = await tallystick.ledger.get()
  const trust = { kids, noteKey: givenNoteKey ?? ledger.noteVerifierKey }
  const kept = await KeptCheckpoints.open(join(folder, 'checkpoints.ndjson'), trust.noteKey, tallystick)
  const isFirst = kept.notes.length === 0
  const newest = await tallystick.checkpoints.latest()
  if (newest !== null) await kept.keep(newest)
  console.log(
    isFirst
      ? `${ledger.name}: its first checkpoint is kept; what came before it is the ledger's own word`
      : `${ledger.name}: ${kept.notes.length} checkpoints are kept, each an extension of the one before`,
  )
  const copy = join(folder, 'ledger.ndjson')
  await verifyLedger(tallystick, copy, { kids, checkpoints: kept.notes })
  if (record === undefined) return
  const seq = await findVerdict(copy, record)
  if (seq === null) console.log(`${record} has no verdict yet`)
  else await verifySettlement(tallystick, { record, seq }, kept, trust)
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      record: { type: 'string' },
      // Trusted values that come from another source than the server, on paper if necessary: the ledger's first
      // envelope key, and the key of its checkpoints.
      kid: { type: 'string', multiple: true, default: [] },
      'note-key': { type: 'string' },
      folder: { type: 'string', default: 'audit' },
    },
  })
  return values
}

type LedgerTrust = { readonly kids: readonly string[]; readonly checkpoints: readonly string[] }

/** Verifies every entry in a copy of the ledger. The copy is stored, so that later answers can be compared with it. */
async function verifyLedger(tallystick: Tallystick, copy: string, trust: LedgerTrust): Promise<void> {
  const stream = Readable.fromWeb(await tallystick.exports.stream())
  await pipeline(stream, createWriteStream(copy, { mode: 0o600 }))
  const { entries, records, keys, checkpoint } = await verify.export(await openAsBlob(copy), trust)
  console.log(`INTEGRITY_OK entries=${entries} records=${records} keys=${keys} checkpoint=${checkpoint}`)
}

type ProofTrust = { readonly kids: readonly string[]; readonly noteKey: string }

/**
 * Verifies the value on which a payer acts: the signal of the signed verdict, in the ledger of the stored checkpoints.
 */
async function verifySettlement(
  tallystick: Tallystick,
  { record, seq }: { record: string; seq: number },
  kept: KeptCheckpoints,
  trust: ProofTrust,
): Promise<void> {
  const proof = await tallystick.records.proof(record, { seq })
  await kept.keep(proof.checkpoint)
  const found = await verify.proof(proof, { ...trust, checkpoints: kept.notes })
  if (found.subject !== record || found.seq !== seq)
    throw new Error(`the proof is of entry ${found.seq} and ${found.subject}, not of ${seq} and ${record}`)
  console.log(`${record} version=${found.version} signal=${JSON.stringify(found.signal)}`)
}
