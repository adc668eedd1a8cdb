import { type Erasure, erasureOf } from '../../src/proof/entry/erasures.ts'
import { type VerifiedLines, verifyLines } from '../../src/proof/entry/verify-lines.ts'
import { verifyStep } from '../../src/proof/entry/verify-step.ts'
import { ProofError } from '../../src/proof/error.ts'
import type { PinnedAgents } from '../../src/proof/ledger/agent-keys.ts'
import { type CompromisedKeys, compromisedKeys } from '../../src/proof/ledger/compromised-keys.ts'
import {
  DOCUMENTS_WITHHELD,
  type ExportHead,
  NO_EXPORT,
  parseExportHead,
  parseExportTail,
} from '../../src/proof/ledger/export-ends.ts'
import { findingsOf, type LedgerFindings, verifyTrust } from '../../src/proof/ledger/findings.ts'
import { LedgerVerifier } from '../../src/proof/ledger/verify-ledger.ts'
import { findNamedKeys, makeFindKey } from '../../src/proof/offline/key-hints.ts'
import type { WitnessPolicy } from '../../src/proof/tree/cosignature.ts'
import { type Bytes, requireBytes } from '../bytes.ts'
import type { Engine } from './engine.ts'
import { refusing } from './errors.ts'
import { type ExportSource, type OpenExport, openExport } from './export-source.ts'
import {
  parseAgentKeys,
  parseCompromised,
  parseKids,
  parseWitnesses,
  requireWitnesses,
  type WitnessOptions,
} from './options.ts'
import { chooseEngine } from './providers.ts'

export type ExportOptions = {
  /**
   * Trusted kids. They must include the kid of the ledger's first entry. Each of these keys must have signed entries of
   * this ledger.
   */
  readonly kids?: readonly string[] | undefined
  /** Maps a ledger's id to the pinned kid of its first entry, which is `firstKid` of an earlier report. */
  readonly pinned?: Readonly<Record<string, string>> | undefined
  /** Notes stored outside the export. The ledger must extend each of these notes. */
  readonly checkpoints?: readonly string[] | undefined
  /**
   * Answers of `GET /v1/records/{id}/receipt?statement=true` that were stored outside the export. The ledger must
   * contain their entries and extend their trees (`receipt_mismatch`, `checkpoint_beyond_chain`). Each receipt is also
   * used as a checkpoint of its size.
   */
  readonly receipts?: readonly Bytes[] | undefined
  /**
   * Maps the kids of compromised keys to the time since when the key is compromised (RFC 3339), or to null. The list
   * must come from outside, because the export itself could hide that a key is compromised.
   */
  readonly compromised?: Readonly<Record<string, string | null>> | undefined
  /**
   * Trusted agent keys. Maps the id of an agent to its trusted kids. Each entry of such an agent must be signed by a
   * key with one of these kids, or by a key that such a key endorsed (`agent_signature_missing`, `agent_key_refused`).
   */
  readonly agentKeys?: Readonly<Record<string, string | readonly string[]>> | undefined
  /**
   * Witnesses, and the minimum number of them that must have cosigned one of the ledger's checkpoints or one of
   * `checkpoints`.
   */
  readonly witnesses?: WitnessOptions | undefined
  /** Called from time to time. `done` and `total` are numbers of bytes. */
  readonly onProgress?: ((progress: { entries: number; done: number; total: number }) => void) | undefined
  /** Aborts the verification, which throws the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/**
 * The verified facts, and the assumptions on which they depend. `notices` are texts that state what could not be
 * checked.
 */
export type ExportReport = LedgerFindings & { readonly notices: readonly string[] }

/**
 * Verifies a whole ledger (an answer of `GET /v1/export`): each entry, then the order of the entries.
 *
 * Throws VerificationError at the first refused entry, with that entry's `seq`. Needs memory for a few blocks of the
 * export, and about 30 bytes per record.
 */
export async function verifyExport(source: ExportSource, options: ExportOptions = {}): Promise<ExportReport> {
  const trust = {
    kids: parseKids(options.kids ?? []),
    pinned: new Map(Object.entries(options.pinned ?? {})),
    witnesses: parseWitnesses(options.witnesses, chooseEngine().providers),
    pinnedAgents: parseAgentKeys(options.agentKeys),
  }
  const receipts = options.receipts?.map((file) => requireBytes(file, 'a receipt')) ?? []
  const opened = openExport(source)
  const note = await refusing(async () => parseExportTail(await opened.readLastLine()))
  const { head, verifier, erasures } = await readEntries(opened, note, { ...options, receipts }, trust)
  return refusing(() => {
    verifier.finish()
    verifyTrust(verifier.summary, head.ledger, trust)
    if (trust.witnesses && verifier.summary.witnessedSize === 0) requireWitnesses(0, trust.witnesses)
    const { documents } = head
    return {
      ...findingsOf(verifier.summary, trust, { documents, erasures }),
      notices: documents === 'withheld' ? [DOCUMENTS_WITHHELD] : [],
    }
  })
}

type LedgerTrust = {
  readonly witnesses: WitnessPolicy | undefined
  readonly pinnedAgents: PinnedAgents | undefined
}

type Verification = {
  readonly head: ExportHead
  readonly verifier: LedgerVerifier
  readonly erasures: Erasure[]
  /** Verifies the next block of lines. */
  readonly verify: (lines: Uint8Array) => Promise<VerifiedLines>
}

async function readEntries(
  opened: OpenExport,
  note: string | null,
  {
    checkpoints = [],
    receipts,
    compromised = {},
    onProgress,
    signal,
  }: ExportOptions & { readonly receipts: readonly Uint8Array[] },
  trust: LedgerTrust,
): Promise<Verification> {
  const engine = chooseEngine()
  const known = parseCompromised(compromised)
  let verification: Verification | null = null
  /** Verification of the previous block. Its signatures are checked while the next block is read. */
  let ahead: Promise<VerifiedLines> | null = null
  let done = 0
  for await (const { lines, isLast } of opened.blocks()) {
    signal?.throwIfAborted()
    const isFirst = verification === null
    const { head, rest } = isFirst ? await splitHead(lines) : { head: null, rest: lines }
    verification ??= begin(engine, head!, { checkpoints, receipts, known, note, ...trust })
    const begun = isLast ? null : verification.verify(rest)
    // Prevents an unhandled rejection. The promise is awaited later, after the previous block, which may fail first.
    begun?.catch(() => {})
    if (ahead) await follow(verification, await ahead)
    ahead = begun
    if (isLast) await refusing(() => parseExportTail(rest))
    done += lines.length
    onProgress?.({ entries: verification.verifier.summary.size, done, total: opened.bytesTotal() })
  }
  return verification!
}

const NEWLINE = 0x0a

function splitHead(lines: Uint8Array): Promise<{ head: ExportHead; rest: Uint8Array }> {
  return refusing(() => {
    const end = lines.indexOf(NEWLINE)
    const head = parseExportHead(end < 0 ? lines : lines.subarray(0, end))
    if (head === null) throw new ProofError('export_incomplete', NO_EXPORT)
    findNamedKeys(head.keys, chooseEngine().providers.sha256)
    return { head, rest: end < 0 ? lines.subarray(lines.length) : lines.subarray(end + 1) }
  })
}

function begin(
  engine: Engine,
  head: ExportHead,
  given: LedgerTrust & {
    readonly checkpoints: readonly string[]
    readonly receipts: readonly Uint8Array[]
    readonly known: CompromisedKeys
    readonly note: string | null
  },
): Verification {
  const { note } = given
  const verifier = new LedgerVerifier(engine.providers, {
    storedCheckpoints: given.checkpoints,
    storedReceipts: given.receipts,
    witnesses: given.witnesses,
    pinnedAgents: given.pinnedAgents,
    compromised: compromisedKeys(head.keys, given.known),
    idSeed: crypto.getRandomValues(new Uint32Array(1))[0]!,
  })
  if (note !== null) verifier.expectCheckpoint(note)
  const findKey = makeFindKey(head.keys, engine.providers)
  const { documents } = head
  const verify = (lines: Uint8Array) =>
    engine.run((providers) => verifyLines(lines, (line) => verifyStep(line, findKey, providers, documents)))
  return { head, verifier, erasures: [], verify }
}

function follow({ verifier, erasures }: Verification, { steps, failure }: VerifiedLines): Promise<void> {
  return refusing(
    () => {
      for (const step of steps) {
        verifier.append(step)
        const erasure = erasureOf(step)
        if (erasure) erasures.push(erasure)
      }
      if (failure) throw failure
    },
    () => verifier.summary.size,
  )
}
