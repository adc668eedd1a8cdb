import type { Db } from '../../db/connect/client.ts'
import { PAGE_BYTES_MAX } from '../../db/limits.ts'
import {
  listNewestRemoteSteps,
  listRemoteEntries,
  type OfferColumns,
  type RemoteEntryRow,
  type RemoteRecordRow,
  type RemoteStepRow,
} from '../../db/peers/remote-records.ts'
import type { Lookups } from '../../db/records/lookups.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import type { JsonObject } from '../../proof/json/json-value.ts'
import type { GatedRecord } from '../../proof/ledger/gated-record.ts'
import type { StepKind } from '../../proof/statement/kinds.ts'
import { otherMembersOf } from '../../proof/statement/record-members.ts'
import { parseRemoteAgent } from '../../proof/statement/remote-agents.ts'
import type { ParsedStatement } from '../../proof/statement/statement.ts'
import { integrityFault } from '../../records/gated/verify-state.ts'
import { type LifecycleState, nextEvents, waitsForWorker } from '../../records/lifecycle.ts'
import type { FoundRecord } from '../../records/read/read.ts'
import { type ErasureView, quotePlain, renderRecord } from '../../records/read/render.ts'
import { type OfferView, renderGated, type Step, type Steps } from '../../records/read/step-view.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'
import { toBase64Url, toHex } from '../../signing/text-of-bytes.ts'

/*
 * The functions below read records of other ledgers that were received here, in the form of this ledger's own records.
 *
 * Each seq is the position of our receiving entry in this ledger's chain. Agents are named from this ledger's view:
 * `agt_…` is an agent of this ledger, `led_…/agt_…` an agent of another ledger. All other values are those that the
 * home signed.
 */

export type RemoteReadDeps = {
  readonly readPool: Db
  readonly lookups: Lookups
  readonly envelopeKeys: EnvelopeKeys
}

/**
 * Query for a record on behalf of an agent.
 *
 * - `ledger`: id of this ledger, as text.
 * - `agentId`: the caller, or the agent that the caller acts for.
 * - `peerId`: the peer that sent the record. If absent, the first peer that sent it.
 */
type RemoteRecordQuery = {
  readonly ledger: string
  readonly ledgerId: Uuid
  readonly recordId: Uuid
  readonly peerId?: Uuid | undefined
  readonly agentId: Uuid
}

/** A record of another ledger: its database row, with the columns parsed. */
export type RemoteRecord = {
  readonly row: RemoteRecordRow
  /** Id of this ledger, as text: `led_…`. */
  readonly ledger: string
  readonly home: string
  readonly gated: GatedRecord
}

/**
 * Finds a record that a peer has sent. Returns null if there is no such record. Also returns null if `peerId` is absent
 * and this ledger has a record of its own with that id.
 */
export async function findRemoteRecord(
  { lookups }: Pick<RemoteReadDeps, 'lookups'>,
  { ledger, ledgerId, recordId, peerId, agentId }: RemoteRecordQuery,
): Promise<RemoteRecord | null> {
  const row = await lookups.findRemoteClaim({ ledgerId, recordId, peerId: peerId ?? null, agentId })
  if (!row) return null
  const gated = JSON.parse(row.standing) as GatedRecord
  return { row, ledger, home: formatId('led', row.homeId), gated }
}

/**
 * Finds a record that the agent may see. Returns null if there is none. `ownOnly`: true if the agent may see only
 * records that it performs or has offered a step for.
 */
export async function findVisibleRemoteRecord(
  deps: RemoteReadDeps,
  about: RemoteRecordQuery & { readonly ownOnly: boolean },
): Promise<FoundRecord | null> {
  const record = await findVisible(deps, about)
  if (!record) return null
  const { row, gated } = record
  return {
    version: row.version,
    waitsForWorker: waitsForWorker({ state: row.state, gate: gated.gate }),
    peerId: row.peerId,
    render: async () => renderRemote(deps, record, await readRemoteSteps(deps, about.ledgerId, record)),
  }
}

/**
 * Lists the home's entries about a record after `afterVersion`. Each is shown as the entry by which this ledger
 * received it. Returns null if the agent may not see the record.
 */
export async function listRemoteRecordEntries(
  deps: RemoteReadDeps,
  about: RemoteRecordQuery & { readonly ownOnly: boolean },
  page: { readonly afterVersion: number; readonly limit: number },
): Promise<{ readonly entries: readonly string[]; readonly nextVersion: number | null } | null> {
  const record = await findVisible(deps, about)
  if (!record) return null
  const rows = await listRemoteEntries(deps.readPool, about.ledgerId, record.row, {
    ...page,
    bytesMax: PAGE_BYTES_MAX,
  })
  const last = rows.at(-1)
  const isWhole = last === undefined || last.version >= record.row.version
  return {
    entries: rows.map((row) => renderEntryLine(deps.envelopeKeys, row)),
    nextVersion: isWhole ? null : last.version,
  }
}

async function findVisible(
  deps: RemoteReadDeps,
  about: RemoteRecordQuery & { readonly ownOnly: boolean },
): Promise<RemoteRecord | null> {
  const record = await findRemoteRecord(deps, about)
  return record && (!about.ownOnly || isOwn(record, about.agentId)) ? record : null
}

/** Returns true if the agent of this ledger performs the record, or has offered a step for it. */
export function isOwn({ row, ledger, gated }: RemoteRecord, agentId: Uuid): boolean {
  return row.hasOffered || gated.performer === remoteName(ledger, agentId)
}

/** Returns the name of an agent of this ledger in statements of other ledgers. */
export function remoteName(ledger: string, agentId: Uuid): string {
  return `${ledger}/${formatId('agt', agentId)}`
}

export function remoteStatusOf({ gated, row }: RemoteRecord): LifecycleState {
  return {
    state: row.state,
    version: row.version,
    gate: gated.gate as 'principal' | 'auto',
    revisionsLeft: gated.maxRevisions - gated.revisions,
    hasDeadline: gated.deadlineMs !== null,
  }
}

/** Reads the newest step of each kind. Leaves out unreadable steps, as is done for the ledger's own records. */
export async function readRemoteSteps(
  { readPool, envelopeKeys }: RemoteReadDeps,
  ledgerId: Uuid,
  record: RemoteRecord,
): Promise<Steps> {
  const rows = record.row.version === 1 ? [] : await listNewestRemoteSteps(readPool, ledgerId, record.row)
  return Object.fromEntries(
    rows.flatMap((row) => {
      const statement = findStatement(envelopeKeys, row)
      return statement ? [[row.kind, readStep(record, row, statement)]] : []
    }),
  )
}

function findStatement({ known }: EnvelopeKeys, row: RemoteStepRow): ParsedStatement | null {
  try {
    const statement = known.read(row.envelope)
    return statement.kind === row.kind ? statement : null
  } catch (error) {
    if (error instanceof ProofError) return null
    throw error
  }
}

function readStep(record: RemoteRecord, row: RemoteStepRow, statement: ParsedStatement): Step {
  const { actor, onBehalfOf, predicate } = statement
  const digested = digestedBy(statement)
  return {
    kind: row.kind as StepKind,
    version: row.version,
    seq: row.seq,
    recordedAt: statement.recordedAt,
    predicate: {
      ...predicate,
      actor: localAgentName(record, onBehalfOf ?? actor),
      onBehalfOf: null,
    } as JsonObject,
    document: digested && {
      digest: Buffer.from(digested.sha256, 'hex'),
      salt: row.salt,
      content: row.content?.toString('utf8') ?? null,
      erasedBy: row.erasedSeq,
    },
  }
}

/**
 * Renders our receiving entry as JSON, with the received envelope. Adds the document that the received entry digests. A
 * payload is never added.
 */
function renderEntryLine(keys: EnvelopeKeys, row: RemoteEntryRow): string {
  return (
    `{"seq":${row.seq},"kind":"${row.entryKind}","recordedAt":"${row.recordedAt.toISOString()}",` +
    `"leaf":"${toHex(row.leaf)}","chain":"${toHex(row.chain)}","envelope":"${row.entryEnvelope.toString('base64')}",` +
    `"document":${renderDocument(keys, row)},"received":"${row.envelope.toString('base64')}"}`
  )
}

function renderDocument(keys: EnvelopeKeys, row: RemoteEntryRow): string {
  const statement = findStatement(keys, row)
  const digested = statement && digestedBy(statement)
  if (!digested) return 'null'
  return (
    `{"subject":"${digested.name}","digest":"${digested.sha256}","salt":${quotePlain(row.salt && toBase64Url(row.salt))},` +
    `"document":${row.content?.toString('utf8') ?? 'null'},"erasedBy":${row.erasedSeq ?? 'null'}}`
  )
}

/**
 * Returns the statement's last subject if this entry is the first to digest the subject's document. Otherwise returns
 * null.
 */
function digestedBy({ kind, subjects }: ParsedStatement) {
  const last = subjects.at(-1)!
  return kind === 'completion-submitted' || last.name.includes('/') ? last : null
}

/** Converts an agent's name to the name as seen from this ledger. `signed`: the name that the home signed. */
function localAgentName({ ledger, home }: Pick<RemoteRecord, 'ledger' | 'home'>, signed: string): string {
  if (signed === 'system') return signed
  const remote = parseRemoteAgent(signed)
  if (!remote) return `${home}/${signed}`
  return remote.ledger === ledger ? remote.agent : signed
}

/**
 * Renders a record as JSON, in the form of the ledger's own records. Throws `integrity_fault` if the stored creation
 * differs from the signed creation.
 */
export function renderRemote({ envelopeKeys }: RemoteReadDeps, record: RemoteRecord, steps: Steps): string {
  const { row, home, gated } = record
  const { predicate, actor, key, onBehalfOf, recordedAt } = readCreation(envelopeKeys, row)
  const claims = predicate as { readonly [name: string]: string | undefined }
  return renderRecord({
    id: formatId('rec', row.recordId),
    ledger: home,
    type: row.type,
    state: row.state,
    version: row.version,
    nextEvents: nextEvents(remoteStatusOf(record)),
    payload: row.payload?.toString('utf8') ?? null,
    salt: row.salt && toBase64Url(row.salt),
    digest: gated.payloadDigest,
    actor: localAgentName(record, actor),
    key: key!,
    onBehalfOf: onBehalfOf && localAgentName(record, onBehalfOf),
    parent: claims['parent'] ?? null,
    references: row.referenceList?.toString('utf8') ?? null,
    occurredAt: claims['occurredAt'] ?? null,
    otherMembers: otherMembersOf(predicate),
    recordedAt,
    entry: {
      seq: row.seq,
      kind: row.kind,
      leaf: toHex(row.receivedLeaf),
      chain: toHex(row.chain),
      signedBy: 'server',
    },
    batch: null,
    metadata: null,
    erasure: erasureOf(envelopeKeys, record),
    gated: renderGated(
      {
        principal: localAgentName(record, gated.principal),
        performer: gated.performer && localAgentName(record, gated.performer),
        gate: gated.gate as 'principal' | 'auto',
        deadline: gated.deadlineMs === null ? null : new Date(gated.deadlineMs).toISOString(),
        maxRevisions: gated.maxRevisions,
        revisions: gated.revisions,
        tolerances: predicate['tolerances'] === undefined ? null : JSON.stringify(predicate['tolerances']),
        share: [{ peer: formatId('peer', row.peerId), documents: row.documents }],
        offer: offerOf(row),
      },
      steps,
    ),
  })
}

function readCreation({ known }: EnvelopeKeys, row: RemoteRecordRow): ParsedStatement {
  try {
    const statement = known.read(row.created)
    if (statement.kind === 'record-created') return statement
    throw new ProofError(
      'statement_structure',
      `the first entry of a record must be record-created, not ${statement.kind}`,
    )
  } catch (error) {
    return integrityFault(error)
  }
}

function erasureOf(keys: EnvelopeKeys, record: RemoteRecord): ErasureView | null {
  const { erasedSeq, erasure } = record.row
  if (erasedSeq === null) return null
  const statement = findStatement(keys, { kind: 'payload-erased', envelope: erasure! } as RemoteStepRow)
  return {
    code: (statement?.predicate['code'] as string | undefined) ?? null,
    by: localAgentName(record, statement?.actor ?? 'system'),
    recordedAt: statement?.recordedAt ?? '',
    seq: erasedSeq,
  }
}

/** Returns the newest offer of an agent of this ledger. Returns null if there is no offer. */
export function offerOf(row: OfferColumns | { [Name in keyof OfferColumns]: null }): OfferView | null {
  if (row.offerSeq === null) return null
  return {
    state: row.offerState,
    step: row.offerStep,
    version: row.offerVersion,
    completion: row.offerCompletionId && formatId('cmp', row.offerCompletionId),
    by: formatId('agt', row.offerAgentId),
    recordedAt: row.offerRecordedAt.toISOString(),
    seq: row.offerSeq,
    code: row.offerCode,
    decidedBy: row.offerDecidedSeq,
  }
}
