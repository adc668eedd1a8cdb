import type { SignatureAlgorithm } from '../crypto.ts'
import type { ProofErrorCode } from '../error.ts'
import { AGENT_KEYS_MAX, ISSUER_KEYS_MAX } from '../limits.ts'

type KeyUse = {
  /**
   * How a key is named: `thumbprint` (RFC 9679), `note` (c2sp.org/signed-note), or `issuer`, the issuer's own choice.
   */
  readonly kid: 'thumbprint' | 'note' | 'issuer'
  readonly algorithms: readonly SignatureAlgorithm[]
  readonly holder: string
  /** How a holder's first key is introduced. */
  readonly first: string
  /**
   * How a current key of the holder endorses a further one.
   *
   * - `signs the entry`: it signs the entry that introduces the further key.
   * - `signs a text`: it signs a text of its own.
   * - null: keys endorse no other keys. The introducing entry replaces all earlier keys, or no entry introduces keys.
   */
  readonly further: 'signs the entry' | 'signs a text' | null
  /** How many keys of one holder may be current at a time. If only one may, a further key ends the key before it. */
  readonly currentMax: number
  /**
   * `twice`: error code for a kid that was introduced before. `unendorsed`: error code for a key without endorsement.
   * If they are absent, the chain does not track keys of this use.
   */
  readonly twice?: ProofErrorCode
  readonly unendorsed?: ProofErrorCode
}

/**
 * Uses of keys. A key signs entries after the entry that introduces the key, up to the entry that ends it. A holder's
 * first key may be introduced by anyone who may make such an entry. Each further key is endorsed by a current key of
 * the same holder (ledger/key-ring.ts).
 */
export const KEY_USES = {
  envelope: {
    kid: 'thumbprint',
    algorithms: ['EdDSA', 'ES256'],
    holder: 'ledger',
    first: 'the definition, which it signs',
    further: 'signs the entry',
    currentMax: 1,
    twice: 'key_not_current',
    unendorsed: 'key_not_current',
  },
  note: {
    kid: 'note',
    algorithms: ['EdDSA'],
    holder: 'ledger',
    first: 'the definition',
    further: null,
    currentMax: 1,
  },
  agent: {
    kid: 'thumbprint',
    algorithms: ['EdDSA', 'ES256'],
    holder: 'agent',
    first: 'whoever manages agents',
    further: 'signs a text',
    currentMax: AGENT_KEYS_MAX,
    twice: 'duplicate_subject',
    unendorsed: 'agent_key_refused',
  },
  peer: {
    kid: 'thumbprint',
    algorithms: ['EdDSA', 'ES256'],
    holder: 'peering',
    first: 'the handshake',
    further: 'signs the entry',
    currentMax: 1,
    twice: 'key_not_current',
    unendorsed: 'key_not_current',
  },
  issuer: {
    kid: 'issuer',
    algorithms: ['EdDSA', 'ES256'],
    holder: 'issuer',
    first: 'whoever sets policies',
    further: null,
    currentMax: ISSUER_KEYS_MAX,
  },
  witness: {
    kid: 'note',
    algorithms: ['EdDSA'],
    holder: 'witness',
    first: 'whoever verifies',
    further: null,
    currentMax: 1,
  },
} as const satisfies Record<string, KeyUse>

export type KeyUseName = keyof typeof KEY_USES
