import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { checkBundle } from '../../../../sdk/verify/bundle.ts'
import { VerificationError } from '../../../../sdk/verify/errors.ts'
import { receipt } from '../../../../sdk/verify/receipt.ts'
import { statement } from '../../../../sdk/verify/statement.ts'
import { toHex, utf8Decode } from '../../../../src/proof/bytes.ts'
import type { PublicKey, SignatureAlgorithm } from '../../../../src/proof/crypto.ts'
import { verifySignedStatement } from '../../../../src/proof/entry/verify-entry.ts'
import { ProofError } from '../../../../src/proof/error.ts'
import { canonicalize } from '../../../../src/proof/json/jcs.ts'
import { parseJsonText } from '../../../../src/proof/json/json-text.ts'
import { parsePublicKey } from '../../../../src/proof/keys.ts'
import { verifyConsistencyReceipt } from '../../../../src/proof/receipt/verify-receipt.ts'
import { verifyIssuer } from '../../../../src/proof/scitt/registration-policy.ts'
import { parseSignedStatement } from '../../../../src/proof/scitt/signed-statement.ts'
import { parseStatement } from '../../../../src/proof/statement/statement.ts'
import { parseVerifierKey, verifyCheckpoint } from '../../../../src/proof/tree/checkpoint.ts'
import { countCosignatures, parseWitnessPolicy } from '../../../../src/proof/tree/cosignature.ts'
import { leafHash } from '../../../../src/proof/tree/merkle.ts'
import { parseNote, parseNoteKey } from '../../../../src/proof/tree/note.ts'
import { nativeProviders } from '../../../../src/signing/native.ts'
import { archiveLedger } from '../../../../src/verify/archive/archive-ledger.ts'
import { directoryStore } from '../../../../src/verify/archive/directory-store.ts'
import { parseArchiveKeys } from '../../../../src/verify/archive/key-file.ts'
import { exportFile } from '../../../../src/verify/export-file.ts'
import { checkProof, applyStrictToProof as strictlyProved } from '../../../../src/verify/proof.ts'
import { reconcileLedgers } from '../../../../src/verify/reconcile.ts'
import { applyStrict, type VerifyReport } from '../../../../src/verify/report.ts'
import { type LedgerSource, SourceError } from '../../../../src/verify/source.ts'
import { verifyLedger } from '../../../../src/verify/verify-ledger.ts'
import type { Trust } from './case.ts'
import { type Case, type Kind, knownKeys } from './cases.ts'

/**
 * Verdict of a verifier on a case. `facts` is what the verifier found in an accepted case. The facts of both verifiers
 * are compared.
 */
export type Verdict = {
  readonly outcome: 'ok' | 'refused' | 'unreadable' | 'crash'
  readonly code: string
  readonly seq: number | null
  readonly facts: Facts
  readonly cpuMs: number
}
type Facts = Readonly<Record<string, unknown>> | null

const { sha256, verifySignature } = nativeProviders
const { keys, issuers } = knownKeys()
const keyOfKid = new Map<string, PublicKey>(
  keys.map(({ kid, spki }) => [kid, parsePublicKey('EdDSA', Buffer.from(spki, 'base64'))]),
)

export const DIRECTORY = mkdtempSync(join(tmpdir(), 'tallystick-fuzz-'))
process.on('exit', () => rmSync(DIRECTORY, { recursive: true, force: true }))

export function writeArchive({ archive }: Case, name: string): string {
  const directory = join(DIRECTORY, name)
  for (const [object, data] of archive!.objects) {
    const path = join(directory, object)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, data)
  }
  return directory
}

export async function verdictOf(given: Case): Promise<Verdict> {
  const started = process.threadCpuUsage()
  const said = await judge(given).catch((error: Error): Omit<Verdict, 'cpuMs'> => {
    const refused = error instanceof ProofError || error instanceof VerificationError
    if (refused) return { outcome: 'refused', code: error.code, seq: seqOf(error), facts: null }
    if (error instanceof SourceError) return { outcome: 'unreadable', code: '', seq: null, facts: null }
    return { outcome: 'crash', code: error.stack ?? String(error), seq: null, facts: null }
  })
  const { user, system } = process.threadCpuUsage(started)
  return { ...said, cpuMs: (user + system) / 1_000 }
}

const seqOf = (error: ProofError | VerificationError) =>
  error instanceof VerificationError ? error.seq : null

async function judge({ kind, parts, trust }: Case): Promise<Omit<Verdict, 'cpuMs'>> {
  const facts = await JUDGES[kind](parts, trust)
  if (facts instanceof Refusal) return { outcome: 'refused', code: facts.code, seq: facts.seq, facts: null }
  return { outcome: 'ok', code: '', seq: null, facts }
}

class Refusal {
  readonly code: string
  readonly seq: number | null

  constructor({ code, seq = null }: { readonly code: string; readonly seq?: number | null }) {
    this.code = code
    this.seq = seq
  }
}

type Judge = (parts: readonly Uint8Array[], trust: Trust) => Facts | Refusal | Promise<Facts | Refusal>

/** Each judge verifies as the command line does. */
const JUDGES: Readonly<Record<Kind, Judge>> = {
  json: ([data], { depth }) => ({
    canonical: canonicalize(parseJsonText(utf8Decode(data!), { depthMax: depth! })),
  }),
  statement: ([data]) => {
    const { kind, ledger, subjects } = parseStatement(data!)
    return { kind, ledger, subjects: subjects.map(({ name, sha256 }) => [name, sha256]) }
  },
  envelope: ([data]) => {
    const { envelope, statement } = verifySignedStatement(
      data!,
      (kid) => keyOfKid.get(kid) ?? null,
      nativeProviders,
    )
    return { kid: toHex(envelope.kid), issuer: envelope.issuer, kind: statement.kind }
  },
  registered: ([data]) => {
    const said = parseSignedStatement(data!)
    const key = issuers.find(({ kid }) => kid === said.kid)
    if (key) verifyIssuer(said, key, nativeProviders)
    const { alg, kid, issuer, subject, contentType, bytes } = said
    return { alg, kid, issuer, subject, contentType, leaf: toHex(leafHash(sha256, bytes)) }
  },
  note: ([data], { noteKey, witnesses }) => {
    const note = JSON.parse(utf8Decode(data!)) as string
    const { size, root, chain } = verifyCheckpoint(
      note,
      parseVerifierKey(noteKey!, sha256),
      sha256,
      verifySignature,
    )
    const policy = parseWitnessPolicy(witnesses!, 1, sha256)
    const { cosigned, unknown } = countCosignatures(parseNote(note), policy, nativeProviders)
    return { size, root: toHex(root), chain: toHex(chain), cosigned, unknown }
  },
  'verifier key': ([data], { alg }) => {
    const text = JSON.parse(utf8Decode(data!)) as string
    if (alg === '1') return { name: parseVerifierKey(text, sha256).origin }
    return { name: parseNoteKey(text, 'cosignature', sha256).name }
  },
  signature: ([spki, message, signature], { alg }) => {
    const key = parsePublicKey(alg as SignatureAlgorithm, spki!)
    return { isSigned: verifySignature(key, message!, signature!) }
  },
  receipt: async ([data], { noteKey, alg }) => {
    const known = keys.map((key) => ({
      ...key,
      use: 'envelope',
      activatedAt: '',
      retiredAt: null,
      compromisedAt: null,
    }))
    const found = await receipt(data!, { noteKey: noteKey!, ...(alg === 'keys' && { keys: known as never }) })
    const { seq, size, root, subject } = found
    return { seq, size, root, subject }
  },
  transparent: async ([data], { noteKey, issuerKey }) => {
    const { seq, size, root, issuer, subject, contentType, kid } = await statement(data!, {
      noteKey: noteKey!,
      issuerKey: issuerKey as never,
    })
    return { seq, size, root, issuer, subject, contentType, kid }
  },
  'consistency receipt': ([data], { noteKey, checkpoints }) => {
    const kept = verifyCheckpoint(
      checkpoints![0]!,
      parseVerifierKey(noteKey!, sha256),
      sha256,
      verifySignature,
    )
    const { size, root } = verifyConsistencyReceipt(data!, kept, noteKey!, nativeProviders)
    return { size, root: toHex(root) }
  },
  proof: async ([data, record, consistency], trust) => {
    const found = await checkProof({
      proof: data!,
      record: record!.length > 0 ? record! : null,
      consistency: consistency!.length > 0 ? consistency! : null,
      storedCheckpoints: trust.checkpoints ?? [],
      kids: trust.kids ?? [],
      noteKey: trust.noteKey ?? null,
      ...knownOf(trust),
    })
    const report = trust.strict ? strictlyProved(found, knownOf(trust).witnesses) : found
    if (!report.ok) return new Refusal(report)
    const { seq, kind, subject, keys, noteKey, checkpoint, covered, cosigned, version } = report
    return { seq, kind, subject, keys, noteKey, checkpoint, covered, cosigned, version }
  },
  export: ([data], trust) => withFiles([data!], ([path]) => judgeLedger(exportFile(path!), trust)),
  kept: ([data, receipt], trust) =>
    withFiles([data!], ([path]) => judgeLedger(exportFile(path!), trust, [receipt!])),
  bundle: async ([data], trust) => {
    const { kids, noteKey, checkpoints, agentKeys, compromised } = trust
    const { witnesses } = knownOf(trust)
    const given = { kids, noteKey, checkpoints, agentKeys, compromised, witnesses }
    const found = await checkBundle(data!, given)
    const { ledger, entries, keys, checkpoint, covered, cosigned, erased, statements } = found
    return {
      ledger,
      entries,
      keys,
      noteKey: found.noteKey,
      checkpoint,
      covered,
      cosigned,
      erased,
      statements,
    }
  },
  archive: ([keyFile], { directory }) => {
    const keys = keyFile ? parseArchiveKeys(textOf(keyFile)) : null
    return judgeLedger(archiveLedger(directoryStore(directory!), keys), {})
  },
  reconcile: (parts) =>
    withFiles(parts, async ([one, other]) => {
      const options = { kids: [], checkpoints: [], strict: false, threads: 0 }
      const { ok, failure } = await reconcileLedgers([exportFile(one!), exportFile(other!)], options)
      return ok ? {} : new Refusal(failure!)
    }),
}

/** Decodes as the command line does for a text file. */
const textOf = (data: Uint8Array): string => Buffer.from(data).toString('utf8')

function knownOf({ witnesses, agentKeys, compromised }: Trust) {
  return {
    witnesses: witnesses ? parseWitnessPolicy(witnesses, 1, sha256) : undefined,
    pinnedAgents:
      agentKeys && new Map(Object.entries(agentKeys).map(([agent, kids]) => [agent, new Set(kids)])),
    compromised: new Map(
      Object.entries(compromised ?? {}).map(([kid, time]) => [kid, time === null ? null : Date.parse(time)]),
    ),
  }
}

async function judgeLedger(source: LedgerSource, trust: Trust, receipts: readonly Uint8Array[] = []) {
  const { kids = [], checkpoints = [], strict } = trust
  const found = await verifyLedger(source, { kids, checkpoints, receipts, threads: 0, ...knownOf(trust) })
  return factsOf(strict ? applyStrict(found) : found)
}

function factsOf(report: VerifyReport): Facts | Refusal {
  if (!report.ok) return new Refusal(report.failure!)
  const { entries, records, agentSigned, statements, documents, keys, checkpoint, covered, own, witnessed } =
    report
  const erased = report.erasures.length
  return {
    entries,
    records,
    agentSigned,
    statements,
    documents,
    keys,
    checkpoint,
    covered,
    own,
    witnessed,
    erased,
  }
}

let files = 0

async function withFiles<T>(
  contents: readonly Uint8Array[],
  use: (paths: readonly string[]) => Promise<T>,
): Promise<T> {
  const paths = contents.map(() => join(DIRECTORY, `${++files}`))
  for (const [i, content] of contents.entries()) writeFileSync(paths[i]!, content)
  try {
    return await use(paths)
  } finally {
    for (const path of paths) rmSync(path)
  }
}
