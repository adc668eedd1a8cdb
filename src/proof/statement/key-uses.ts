import type { SignatureAlgorithm } from '../crypto.ts'
import type { ProofErrorCode } from '../error.ts'
import { AGENT_KEYS_MAX, ISSUER_KEYS_MAX } from '../limits.ts'

type KeyUse = {
  /**
   * Form of a key's name: `thumbprint` (RFC 9679), `note` (c2sp.org/signed-note), or `issuer` if the issuer chooses the
   * name.
   */
  readonly kid: 'thumbprint' | 'note' | 'issuer'
  readonly algorithms: readonly SignatureAlgorithm[]
  readonly holder: string
  /** The entry, person or definition that introduces a holder's first key. */
  readonly first: string
  /**
   * How a current key of the holder endorses a further key.
   *
   * - `signs the entry`: the current key signs the entry that introduces the further key.
   * - `signs a text`: the current key signs a separate text.
   * - null: keys do not endorse other keys. Either the introducing entry replaces all earlier keys, or no entry
   *   introduces keys.
   */
  readonly further: 'signs the entry' | 'signs a text' | null
  /** Maximum number of current keys of one holder. If it is 1, a further key ends the previous key. */
  readonly currentMax: number
  /**
   * Error code for a kid that was introduced before. `unendorsed`: error code for a key without endorsement. Both are
   * absent if the chain does not track keys of this use.
   */
  readonly twice?: ProofErrorCode
  readonly unendorsed?: ProofErrorCode
}

/**
 * Uses of keys. A key signs the entries after the entry that introduces the key, up to the entry that ends the key.
 * Anyone who may make the introducing entry may introduce a holder's first key. A current key of the same holder must
 * endorse each further key (ledger/key-ring.ts).
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
