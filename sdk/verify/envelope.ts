import { fromBase64, toHex } from '../../src/proof/bytes.ts'
import { type KnownKey, verifySignedStatement } from '../../src/proof/entry/verify-entry.ts'
import type { ParsedEnvelope } from '../../src/proof/envelope/cose.ts'
import { ProofError } from '../../src/proof/error.ts'
import { findNamedKey } from '../../src/proof/offline/key-hints.ts'
import { gatedVersion, type Signal, signalOf } from '../../src/proof/offline/proof-findings.ts'
import type { EntryKind, Subject } from '../../src/proof/statement/kinds.ts'
import type { ParsedStatement } from '../../src/proof/statement/statement.ts'
import { leafHash } from '../../src/proof/tree/merkle.ts'
import { type Bytes, requireBytes } from '../bytes.ts'
import { UsageError } from '../errors.ts'
import type { PublishedKey, SigningKey } from '../generated/api.ts'
import { refusing } from './errors.ts'
import { chooseEngine } from './providers.ts'

/**
 * Signing key of an agent: an item of `agents.listSigningKeys(agent)`, with the agent and its ledger. Do not trust the
 * server for this key: get the key from the agent, or compare it with the agent's own copy.
 */
export type AgentPublicKey = Pick<SigningKey, 'kid' | 'alg' | 'spki'> & {
  readonly ledger: string
  readonly agent: string
}

/** Keys of servers and of agents. The key that signed the envelope is searched among them. */
export type EnvelopeKeys = readonly (PublishedKey | AgentPublicKey)[]

/** Contents of a verified entry, and its signer. */
export type VerifiedEnvelope = {
  readonly kid: string
  /** Owner of the key that signed the envelope, according to the given keys. null if the caller gave no keys. */
  readonly signedBy: 'agent' | 'server' | null
  readonly issuer: string
  readonly ledger: string
  readonly kind: EntryKind
  /** Id of an agent, or `system`. */
  readonly actor: string
  readonly key: string | null
  readonly onBehalfOf: string | null
  readonly recordedAt: string
  /** Subjects of the entry, with the digests of their documents. */
  readonly subjects: readonly Subject[]
  /** The whole predicate of the statement. */
  readonly predicate: Readonly<Record<string, unknown>>
  /** Version of the gated record after the step. null if the entry is not a step. */
  readonly version: number | null
  /** Settlement signal of a verdict or of an overturned verdict. null for other entries. */
  readonly signal: Signal | null
  /** Hash of the envelope, in hex. It identifies the entry in the chain. */
  readonly leaf: string
}

/**
 * Verifies one envelope, such as that of a webhook. One of `keys` must have signed it. Returns the envelope's contents.
 * Throws VerificationError if the verification fails.
 *
 * `keys` are the keys of `/.well-known/tallystick-keys.json`, from another source than the envelope. A server's key
 * signs for all ledgers of the server. So pass the expected `ledger`, or check it in the result.
 *
 * This does not prove that the entry is in the ledger. Use a proof for that.
 */
export async function envelope(
  envelope: Bytes | string,
  { keys, ledger }: { readonly keys: EnvelopeKeys; readonly ledger?: string | undefined },
): Promise<VerifiedEnvelope> {
  if (!Array.isArray(keys))
    throw new UsageError('the option `keys` must be the list `keys` of /.well-known/tallystick-keys.json')
  return refusing(async () => {
    const bytes = typeof envelope === 'string' ? fromBase64(envelope) : requireBytes(envelope, 'an envelope')
    return chooseEngine().run((providers) => {
      const findKey = (kid: string) => findEnvelopeKey(keys, kid, providers.sha256)
      const { envelope, statement } = verifySignedStatement(bytes, findKey, providers)
      if (ledger !== undefined && ledger !== statement.ledger)
        throw new ProofError(
          'ledger_foreign',
          `the entry belongs to ${statement.ledger}, not to the given ledger ${ledger}`,
        )
      const signedBy = signerOf(keys, envelope)
      return verifiedEnvelope(envelope, statement, {
        leaf: toHex(leafHash(providers.sha256, bytes)),
        signedBy,
      })
    })
  })
}

/**
 * Finds a key by its kid. Throws `key_compromised` for a compromised key. Anybody who has such a key can sign anything,
 * so an envelope alone proves nothing.
 */
export function findEnvelopeKey(
  keys: EnvelopeKeys,
  kid: string,
  sha256: (data: Uint8Array) => Uint8Array,
): KnownKey | null {
  const own = keys.filter((key) => 'agent' in key).find((key) => key.kid === kid)
  if (own) {
    const key = findNamedKey([own], kid, sha256)
    return key && { ...key, agent: { ledger: own.ledger, agent: own.agent } }
  }
  const ofEnvelopes = keys.filter((key) => 'use' in key).filter(({ use }) => use === 'envelope')
  if (ofEnvelopes.some((key) => key.kid === kid && key.compromisedAt !== null))
    throw new ProofError(
      'key_compromised',
      `${kid} is compromised: only a proof can show that the entry was signed before that`,
    )
  return findNamedKey(ofEnvelopes, kid, sha256)
}

/** Returns the owner of the key that signed a verified envelope. */
export function signerOf(keys: EnvelopeKeys, { kid }: ParsedEnvelope): 'agent' | 'server' {
  const name = toHex(kid)
  return keys.some((key) => 'agent' in key && key.kid === name) ? 'agent' : 'server'
}

export function verifiedEnvelope(
  { kid, issuer }: ParsedEnvelope,
  statement: ParsedStatement,
  { leaf, signedBy }: Pick<VerifiedEnvelope, 'leaf' | 'signedBy'>,
): VerifiedEnvelope {
  const { recordedAtMs: _, ...said } = statement
  const { kind, predicate } = statement
  return {
    ...said,
    kid: toHex(kid),
    signedBy,
    issuer,
    version: gatedVersion(kind, predicate),
    signal: signalOf(predicate),
    leaf,
  }
}
