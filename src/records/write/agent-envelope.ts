import { type AgentSigned, mismatch, refuseChosenId } from '../../append/agent-signature.ts'
import { ApiError } from '../../errors.ts'
import type { Caller } from '../../ledgers/caller.ts'
import { fromBase64, toHex } from '../../proof/bytes.ts'
import { verifySignedStatement } from '../../proof/entry/verify-entry.ts'
import { parseEnvelope } from '../../proof/envelope/cose.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId, parseId, type Uuid } from '../../proof/ids.ts'
import { isOfBatch, ownRecordId } from '../../proof/statement/batch-ids.ts'
import type { EnvelopeKeys } from '../../signing/envelope-keys.ts'
import { nativeProviders } from '../../signing/native.ts'

type Deps = { readonly envelopeKeys: EnvelopeKeys; readonly now: () => number }

/**
 * Opens the envelope of an agent that signs its own entries. Returns null if the request has no envelope.
 *
 * The server builds the statement that it would have signed itself, and refuses an envelope with any other statement.
 * So only the signature comes from the agent. `append_entries` decides whether the key is revoked, in the order of the
 * chain. Throws `envelope_refused` and `signing_key_refused`.
 */
export async function openEnvelope(
  { envelopeKeys, now }: Deps,
  caller: Caller,
  text: string | undefined,
): Promise<AgentSigned | null> {
  if (text === undefined) return null
  try {
    const envelope = fromBase64(text)
    const { kid, issuer } = parseEnvelope(envelope)
    const key = await envelopeKeys.findAgentKey(caller.ledgerId, toHex(kid))
    if (key?.agent.agent !== caller.agent)
      throw new ApiError('signing_key_refused', `${toHex(kid)} is not a signing key of ${caller.agent}`)
    const { statement } = verifySignedStatement(envelope, () => key, nativeProviders)
    if (issuer !== caller.issuer) throw mismatch('/issuer', caller.issuer)
    return { envelope, kid, statement, now }
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    throw new ApiError('envelope_refused', error.detail, { members: { reason: error.code } })
  }
}

/**
 * Throws `invalid_request` if a request has an envelope but no salt for its document. The digest in the envelope
 * depends on the salt, so the agent must send the salt that it chose.
 */
export function requireSalt(signed: AgentSigned | null, salt: string | undefined, path = '/salt'): void {
  if (signed === null || salt !== undefined) return
  throw new ApiError('invalid_request', `${path}: send the salt of the document that the envelope signs`, {
    members: { path },
  })
}

/**
 * Returns the id that the agent chose for the record. Throws `statement_mismatch` if the envelope neither notarizes nor
 * creates a record, or if the record's id is invalid.
 */
export function chosenRecordId(signed: AgentSigned): Uuid {
  const { kind, predicate } = signed.statement
  if (kind !== 'record-notarized' && kind !== 'record-created')
    throw mismatch('/predicateType', 'record-notarized or record-created')
  const id = parseId('rec', predicate['record'] as string)
  refuseChosenId(id, signed, '/predicate/record')
  if (isOfBatch(id)) throw mismatch('/predicate/record', formatId('rec', ownRecordId(id)))
  return id
}

/**
 * Throws an error if the envelope of an agent is not about a batch, or if the batch's id is invalid. The id of the
 * batch must be the uuid of the batch's first record, whose low 12 bits are zero.
 */
export function refuseChosenBatch(signed: AgentSigned, { first }: { readonly first: Uuid }): void {
  const { kind, subjects } = signed.statement
  if (kind !== 'batch-notarized') throw mismatch('/predicateType', 'batch-notarized')
  if (subjects[0].name !== formatId('bat', first)) throw mismatch('/subject/0/name', formatId('bat', first))
  refuseChosenId(first, signed, '/predicate/batch')
}

/**
 * Returns the error for an agent's envelope of a shared record. Peers verify shared records with the server's key,
 * because they do not know the keys of agents.
 */
export function sharedUnsigned(path: string): ApiError {
  return new ApiError('not_signable', 'only the server signs a record that is shared with peers', {
    members: { path },
  })
}
