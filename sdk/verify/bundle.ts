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
import { type VerifiedLines, verifyTexts } from '../../src/proof/entry/verify-lines.ts'
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
} from './given.ts'
import { chooseEngine } from './providers.ts'

/** Knowledge from elsewhere. One of `kids` and `noteKey` is enough: the ledger's first entry ties the two. */
export type BundleOptions = {
  /** Kids that are trusted, the ledger's first above all. Each must have signed in this ledger. */
  readonly kids?: readonly string[] | undefined
  /** `noteVerifierKey` of `GET /v1/ledger`. */
  readonly noteKey?: string | undefined
  /** Notes that were kept: the bundle's must be one of them, or joined to one by `consistency`. */
  readonly checkpoints?: readonly string[] | undefined
  /** An answer of `GET /v1/checkpoints/consistency`. */
  readonly consistency?: Answer | undefined
  /** Keys that others say are compromised, as of `verify.export`. */
  readonly compromised?: Readonly<Record<string, string | null>> | undefined
  /**
   * Kids of agents that sign for themselves, known from elsewhere, by agent: all that such an agent did it has signed by one of these, or by a key
   * that one of these endorsed (`agent_signature_missing`, `agent_key_refused`).
   */
  readonly agentKeys?: Readonly<Record<string, string | readonly string[]>> | undefined
  /** So many of these must have cosigned the bundle's checkpoint; otherwise `witnesses_too_few`. */
  readonly witnesses?: WitnessOptions | undefined
}

/** Called for each entry of a bundle that was verified. */
export type OnBundleEntry = (entry: VerifiedBundleEntry) => void

/** Findings, and their basis. `notices`: limits of the finding, for people. */
export type BundleReport = BundleFindings & { readonly notices: readonly string[] }

/**
 * Verifies a bundle (docs/formats/bundles.md): the entries of a record, of a run, or of a range, with their documents. Throws
 * VerificationError at the first entry that is refused, with its `seq`. Needs the memory of a few blocks, and of the ids of a run.
 */
export async function bundle(source: ExportSource, options: BundleOptions = {}): Promise<BundleReport> {
  const witnesses = parseWitnesses(options.witnesses, chooseEngine().providers)
  const report = await checkBundle(source, { ...options, witnesses })
  if (witnesses) await refusing(() => requireWitnesses(report.cosigned!, witnesses))
  return report
}

/**
 * `bundle`, which here counts the witnesses and asks for no number of them. `onEntry` is called for each entry that was verified, in order; what
 * it was told counts once this has returned.
 */
export async function checkBundle(
  source: ExportSource,
  options: Omit<BundleOptions, 'witnesses'> & { readonly witnesses?: WitnessPolicy | undefined },
  onEntry: OnBundleEntry = () => {},
): Promise<BundleReport> {
  const { checkpoints = [], consistency, noteKey = null, witnesses } = options
  if (consistency !== undefined && checkpoints.length === 0)
    throw new UsageError('consistency joins the bundle to a checkpoint that you kept: name it in checkpoints')
  const kids = parseKids(options.kids ?? [])
  const compromised = parseCompromised(options.compromised ?? {})
  const joined = await refusing(() =>
    consistency === undefined ? null : parseConsistencyProof(textOf(consistency, 'a consistency proof')),
  )
  const pinnedAgents = parseAgentKeys(options.agentKeys)
  const trust = {
    kids,
    noteKey,
    keptCheckpoints: checkpoints,
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
  'it is a selection: everything in it is genuine, and the ledger may hold more (of a run other children, of a record later steps)'
const ISSUERS_UNJUDGED =
  'it holds registered statements of which the registration policy is not in it: whether their issuers signed them was not judged'
const IS_WITHHELD = 'it was made without documents: whether they are intact was not checked'

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
  throw new Error('a source has a last line, if an empty one')
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
      verifyTexts(lines, (text) =>
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
