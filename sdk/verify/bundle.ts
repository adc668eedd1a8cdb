import {
  type BundleEntry,
  type VerifiedBundleEntry,
  verifyBundleLine,
} from '../../src/proof/bundle/bundle-entry.ts'
import { parseBundleEnd, parseBundleHead, parseBundleLine } from '../../src/proof/bundle/bundle-lines.ts'
import {
  type BundleFindings,
  type BundleTrust,
  BundleVerifier,
} from '../../src/proof/bundle/verify-bundle.ts'
import { utf8Decode } from '../../src/proof/bytes.ts'
import { type VerifiedLines, verifyEachLine } from '../../src/proof/entry/verify-lines.ts'
import { parseConsistencyProof } from '../../src/proof/offline/entry-proof.ts'
import { makeFindKey } from '../../src/proof/offline/key-hints.ts'
import type { WitnessPolicy } from '../../src/proof/tree/cosignature.ts'
import { UsageError } from '../errors.ts'
import type { Engine } from './engine.ts'
import { refusing } from './errors.ts'
import { type ExportSource, openExport } from './export-source.ts'
import {
  type Answer,
  parseAgentKeys,
  parseCompromised,
  parseKids,
  parseWitnesses,
  requireWitnesses,
  textOf,
  type WitnessOptions,
} from './options.ts'
import { chooseEngine } from './providers.ts'

/**
 * Trusted values from other sources than the bundle. Either `kids` or `noteKey` is enough, because the ledger's first
 * entry connects them.
 */
export type BundleOptions = {
  /**
   * Trusted kids. They must include the kid of the ledger's first entry. Each of these keys must have signed entries of
   * this ledger.
   */
  readonly kids?: readonly string[] | undefined
  /** The ledger's note key: `noteVerifierKey` of `GET /v1/ledger`. */
  readonly noteKey?: string | undefined
  /**
   * Notes stored earlier. The bundle's checkpoint must be one of these notes, or `consistency` must connect the
   * checkpoint to one of these notes.
   */
  readonly checkpoints?: readonly string[] | undefined
  /**
   * Proof that connects the bundle's checkpoint to one of `checkpoints`: an answer of `GET
   * /v1/checkpoints/consistency`.
   */
  readonly consistency?: Answer | undefined
  /**
   * Maps the kid of each compromised key to the time since when the key is compromised (RFC 3339), or to null. The list
   * must come from another source than the bundle.
   */
  readonly compromised?: Readonly<Record<string, string | null>> | undefined
  /**
   * Trusted agent keys. Maps the id of an agent to its trusted kids. Each entry of such an agent must be signed by a
   * key with one of these kids, or by a key that such a key endorsed (`agent_signature_missing`, `agent_key_refused`).
   */
  readonly agentKeys?: Readonly<Record<string, string | readonly string[]>> | undefined
  /**
   * Witnesses, and the minimum number of them that must have cosigned the bundle's checkpoint. With fewer, verification
   * fails with `witnesses_too_few`.
   */
  readonly witnesses?: WitnessOptions | undefined
}

/** Called for each verified entry of a bundle. */
export type OnBundleEntry = (entry: VerifiedBundleEntry) => void

/**
 * The verified facts, and the assumptions on which they depend. `notices` are texts that state the limits of the
 * result.
 */
export type BundleReport = BundleFindings & { readonly notices: readonly string[] }

/**
 * Verifies a bundle (docs/formats/bundles.md): the entries of a record, a run or a range, with their documents.
 *
 * Throws VerificationError at the first refused entry, with that entry's `seq`. Needs memory for a few blocks of the
 * file, and for the ids of a run's records.
 */
export async function bundle(source: ExportSource, options: BundleOptions = {}): Promise<BundleReport> {
  const witnesses = parseWitnesses(options.witnesses, chooseEngine().providers)
  const report = await checkBundle(source, { ...options, witnesses })
  if (witnesses) await refusing(() => requireWitnesses(report.cosigned!, witnesses))
  return report
}

/**
 * Like `bundle`, but only counts the witnesses that cosigned, and requires no minimum. Calls `onEntry` for each
 * verified entry, in order. Use those entries only after this function has returned.
 */
export async function checkBundle(
  source: ExportSource,
  options: Omit<BundleOptions, 'witnesses'> & { readonly witnesses?: WitnessPolicy | undefined },
  onEntry: OnBundleEntry = () => {},
): Promise<BundleReport> {
  const { checkpoints = [], consistency, noteKey = null, witnesses } = options
  if (consistency !== undefined && checkpoints.length === 0)
    throw new UsageError('`consistency` needs a checkpoint that you stored: give it in `checkpoints`')
  const kids = parseKids(options.kids ?? [])
  const compromised = parseCompromised(options.compromised ?? {})
  const joined = await refusing(() =>
    consistency === undefined ? null : parseConsistencyProof(textOf(consistency, 'a consistency proof')),
  )
  const pinnedAgents = parseAgentKeys(options.agentKeys)
  const trust = {
    kids,
    noteKey,
    storedCheckpoints: checkpoints,
    compromised,
    consistency: joined,
    witnesses,
    pinnedAgents,
  }
  const findings = await readBundle(source, trust, onEntry)
  const { documents, completeness, statements, issuersJudged } = findings
  const notices = [
    ...(completeness === 'selection' ? [IS_SELECTION] : []),
    ...(statements > issuersJudged ? [ISSUERS_UNJUDGED] : []),
    ...(documents === 'withheld' ? [IS_WITHHELD] : []),
  ]
  return { ...findings, notices }
}

const IS_SELECTION =
  'it is a selection: everything in it is genuine, and the ledger may have more (other children of a run, later steps of a record)'
const ISSUERS_UNJUDGED =
  'it has registered statements without their registration policy: it was not checked whether their issuers signed them'
const IS_WITHHELD = 'it was made without documents: it was not checked whether they are intact'

type Reading = {
  readonly verifier: BundleVerifier
  readonly verify: (lines: Uint8Array) => Promise<VerifiedLines<BundleEntry>>
}

async function readBundle(
  source: ExportSource,
  trust: Trust,
  onEntry: OnBundleEntry,
): Promise<BundleFindings> {
  const engine = chooseEngine()
  let reading: Reading | null = null
  for await (const { lines, isLast } of openExport(source).blocks()) {
    const headEnd: number = reading === null ? lines.indexOf(NEWLINE) + 1 || lines.length : 0
    const head: Uint8Array = lines.subarray(0, lines[headEnd - 1] === NEWLINE ? headEnd - 1 : headEnd)
    const { verifier, verify }: Reading = reading ?? (await refusing(() => begin(head, trust, engine)))
    reading = { verifier, verify }
    const rest = lines.subarray(headEnd)
    if (isLast) return refusing(() => verifier.finish(parseBundleEnd(rest)))
    await follow(verifier, await verify(rest), onEntry)
  }
  throw new Error('internal error: a source always has a last line')
}

const NEWLINE = 0x0a

type Trust = Omit<BundleTrust, 'idSeed'>

function begin(line: Uint8Array, trust: Trust, engine: Engine): Reading {
  const head = parseBundleHead(utf8Decode(line))
  const idSeed = crypto.getRandomValues(new Uint32Array(1))[0]!
  const verifier = new BundleVerifier(head, { ...trust, idSeed }, engine.providers)
  const findKey = makeFindKey(head.keys, engine.providers)
  const verify = (lines: Uint8Array) =>
    engine.run((providers) =>
      verifyEachLine(lines, (text) =>
        verifyBundleLine(parseBundleLine(text, head.of), findKey, providers, head.documents),
      ),
    )
  return { verifier, verify }
}

function follow(
  verifier: BundleVerifier,
  { steps, failure }: VerifiedLines<BundleEntry>,
  onEntry: OnBundleEntry,
): Promise<void> {
  let seq: number | null = null
  return refusing(
    () => {
      for (const entry of steps) {
        seq = entry.seq
        onEntry(verifier.append(entry))
      }
      seq = null
      if (failure) throw failure
    },
    () => seq,
  )
}
