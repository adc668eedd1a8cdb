import { toHex } from '../bytes.ts'
import type { Sha256 } from '../crypto.ts'
import type { ParsedEnvelope } from '../envelope/envelope-layout.ts'
import { parseEnvelope } from '../envelope/parse-envelope.ts'
import { ProofError } from '../error.ts'
import { canonicalize } from '../json/jcs.ts'
import { type Received, receivedOf, takenOfferOf } from '../statement/federation-statements.ts'
import { ENTRY_KINDS } from '../statement/kinds.ts'
import { type ParsedStatement, parseStatement } from '../statement/statement.ts'
import { termsOfOffer, termsOfTaken, verifyTaken } from '../statement/taken-offer.ts'
import { leafHash } from '../tree/merkle.ts'
import { verifyContent } from './verify-content.ts'

/**
 * An entry of another ledger, checked except for its signature. LedgerPeers verifies the signature, because it knows
 * the key of that ledger.
 */
export type ReceivedEntry = {
  /** Leaf hash in lower-case hex. */
  readonly leaf: string
  /** Kid of the envelope in lower-case hex. */
  readonly kid: string
  readonly envelope: ParsedEnvelope
  readonly statement: ParsedStatement
}

/** What an entry states about the entry that it receives. */
export type ReceivedClaims = Received & { readonly peer: string }

/**
 * Verifies a received entry against the entry that receives it, as far as possible without earlier entries. `bytes`:
 * the received envelope, or null if the line has none. Returns null if the entry receives nothing. Throws the codes of
 * the envelope and the statement, `received_mismatch`, `offer_mismatch` or `not_shared`.
 */
export function verifyReceived(
  sha256: Sha256,
  bytes: Uint8Array | null,
  statement: ParsedStatement,
): ReceivedEntry | null {
  const claims = receivedClaimsOf(statement)
  if ((claims === null) !== (bytes === null))
    throw new ProofError(
      'received_mismatch',
      `${statement.kind} ${bytes ? 'cannot' : 'must'} have a received entry`,
    )
  if (!claims || !bytes) return null
  const envelope = parseEnvelope(bytes)
  const received = parseStatement(envelope.payload)
  verifyContent(sha256, envelope, received)
  const leaf = toHex(leafHash(sha256, bytes))
  verifyClaims(claims, received, leaf, receivedOf(statement.predicate) ? RECEIVED_MEMBERS : OFFER_MEMBERS)
  verifyAnswer(statement, received, claims.peer)
  return { leaf, kid: toHex(envelope.kid), envelope, statement: received }
}

/**
 * Returns what the entry states about the received entry, or about the offer from which the step was made. Returns null
 * if the entry receives nothing.
 */
export function receivedClaimsOf({ kind, subjects, predicate }: ParsedStatement): ReceivedClaims | null {
  const received = receivedOf(predicate)
  if (received) {
    const peer = kind === 'peer-key-rotated' ? subjects[0].name : (predicate['peer'] as string)
    return { ...received, peer }
  }
  const offer = takenOfferOf(predicate)
  return offer && { ...offer, kind: 'step-offered', record: predicate['record'] as string, version: null }
}

const RECEIVED_MEMBERS = ['ledger', 'leaf', 'kind', 'record', 'version'] as const
/** Members of `offer` that are compared with the received entry. verifyTaken compares the record. */
const OFFER_MEMBERS = ['ledger', 'leaf', 'kind'] as const

function verifyClaims(
  claims: Received,
  { ledger, kind, predicate }: ParsedStatement,
  leaf: string,
  names: typeof RECEIVED_MEMBERS | typeof OFFER_MEMBERS,
): void {
  const { record = null, version = null } = predicate
  const found = { ledger, leaf, kind, record, version: ENTRY_KINDS[kind].movesRecord ? version : null }
  for (const name of names) {
    if (claims[name] !== found[name])
      throw new ProofError(
        'received_mismatch',
        `${name} of the received entry is ${found[name]}, but the receiving entry names ${claims[name]}`,
      )
  }
}

/** Verifies that both statements agree about the members that the receiving entry repeats. */
function verifyAnswer(statement: ParsedStatement, received: ParsedStatement, peer: string): void {
  switch (statement.kind) {
    case 'peer-key-rotated':
      verifyNewKey(statement, received)
      break
    case 'entry-received':
      verifyAddressed(received, peer)
      break
    case 'offer-refused':
      verifyOfferedTo(received, peer)
      break
    default:
      verifyTaken(termsOfOffer(received), termsOfTaken(statement))
  }
}

function verifyOfferedTo({ predicate }: ParsedStatement, peer: string): void {
  if (predicate['peer'] !== peer)
    throw new ProofError('offer_mismatch', `the offer was made to ${predicate['peer']}, not to ${peer}`)
}

function verifyNewKey({ predicate }: ParsedStatement, received: ParsedStatement): void {
  if (canonicalize(predicate['newKey']!) !== canonicalize(received.predicate['newKey']!))
    throw new ProofError('received_mismatch', 'newKey differs from the new key that the received entry names')
}

/** Throws if the received statement names another peering than `peer`. */
function verifyAddressed({ kind, subjects, predicate }: ParsedStatement, peer: string): void {
  if (kind === 'record-shared') {
    const share = predicate['share'] as readonly { readonly peer: string }[]
    if (!share.some((one) => one.peer === peer))
      throw new ProofError('not_shared', `the received entry does not share the record with ${peer}`)
    return
  }
  const named =
    kind === 'peer-added' || kind === 'peer-revoked'
      ? subjects[0].name
      : kind === 'offer-refused'
        ? predicate['peer']
        : peer
  if (named !== peer)
    throw new ProofError(
      'received_mismatch',
      `the received ${kind} names ${named}, but came through the peering ${peer}`,
    )
}
